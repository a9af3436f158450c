"""The text of a folder, or of a pattern of another machine: its language files by name,
their lines, parallel text, and the sources that they make.

Of files of another machine the listing gives the sizes; the beginning of one of each
language is read, and the source is the pattern.

Lines are compared by their bytes under bzip2. In these the longest mean line of the 80
languages of NTREX-128 is 1.4 times the shortest (85 of FLORES-200: 1.5), in plain bytes
3.6 (3.8).
"""

import bz2
import fnmatch
import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path, PurePath

import yaml

from vocap.corpora.sources import MB, PROBE_BYTES, Volume
from vocap.errors import UsageError, VocapError, system_error
from vocap.files.paths import COMPRESSED, check_path, expand
from vocap.languages import DOMAINS, UNICODE_SCRIPTS, Language
from vocap.storage.listing import list_shards, local_shard
from vocap.storage.remote import Shard, address_of, is_remote
from vocap.text_files import KINDS, RECORDS, Layout, kind_of
from vocap.text_files.lines import split_sentences, survey
from vocap.text_files.records import TextFile, detect_file

LEFT_OUT_SHOWN = 20  # files left out that are named
# of this command and of runs, in the folder of the text
OWN = re.compile(r"results(-.*)?|[^/]*\.ya?ml")
ENDINGS = [*COMPRESSED, ".txt", ".text", ".csv", *chain.from_iterable(KINDS.values())]
ENDING = re.compile(rf"(?i)({'|'.join(map(re.escape, ENDINGS))})+$")
NO_TEXT = re.compile(
    r"(?i)(readme|licen[cs]e|copying|notice|changelog|(md5|sha\d+)sums?)([._-].*)?"
    r"|.*(~|\.(bak|orig|old|tmp|swp|md5|sha\d+)|[ _]\(?copy\)?(\.[^ ]*)?)"
)
NAMES = yaml.safe_load(Path(__file__).with_name("names.yaml").read_bytes())

# in a path
PARALLEL = re.compile(r"(?i)(?<![a-z])(parallel|aligned|ntrex|flores|dev|development)(?![a-z])")
DEVELOPMENT = re.compile(r"(?i)(?<![a-z])(dev|development)(?![a-z])")  # that trainers may look at
SAMPLE_BYTES = 1 << 18  # of a language's text, from the beginning of each file
UNEVEN = 2  # longest mean line over the shortest, from which lines are cut or characters counted
PARAGRAPH = 2  # sentences of a mean line, from which it is a paragraph
OVERLONG = 0.1  # share of overlong lines, above which lines are cut
DOCUMENTS = 0.1  # line ends in a record's part, from which records are documents
# of a data set of the Hub: what names it, before its revision
HUB_REVISION = re.compile(r"(hf://\w+/[^/]+/[^/@]+)@(?:refs/\w+/)?[^/]+")


@dataclass(frozen=True)
class LanguageFile:
    """A file of one language; `name`: its path in the folder, or its address; `home`: the
    folder that is named by the language, or the file that is; `said`: the name.
    """

    shard: Shard
    name: str
    language: str
    home: str
    said: str

    def varying(self, path: str) -> str:
        """The path with `{lang}` where the language is said."""
        return re.sub(rf"(?<![^\W\d_]){re.escape(self.said)}(?![^\W\d_])", "{lang}", path)


@dataclass(frozen=True)
class FolderTexts:
    """The text of `folder`: the `files` of every language and their `layouts`, the
    patterns of `parallel` text by key of `corpora`, and the files `left_out`, with the
    reason.
    """

    folder: str
    files: dict[str, list[LanguageFile]]
    layouts: dict[str, Layout]
    parallel: dict[str, str]
    left_out: dict[str, str]

    def without_development(self) -> list[str]:
        """The languages that have no development text, where others have it."""
        pattern = self.parallel.get("development")
        if pattern is None:
            return []
        return [code for code in self.files if not Path(pattern.replace("{lang}", code)).exists()]

    def notes(self) -> list[str]:
        """What was left out, `LEFT_OUT_SHOWN` files of it, a line each."""
        files = list(self.left_out.items())
        lines = [f"left out: {name}: {reason}" for name, reason in files[:LEFT_OUT_SHOWN]]
        if len(files) > LEFT_OUT_SHOWN:
            lines.append(f"left out: {len(files) - LEFT_OUT_SHOWN} files more")
        return lines


def source_paths(folder: str, files: Sequence[LanguageFile], varying: bool) -> list[str]:
    """The paths of one language's files, with `{lang}` if `varying`: the folder named by
    the language, where it holds no other file; of other machines the pattern `folder`.
    """
    if is_remote(folder):
        said = dict.fromkeys(file.said for file in files)
        return [folder] if varying else [folder.replace("{lang}", name) for name in said]
    homes: dict[str, list[LanguageFile]] = defaultdict(list)
    for file in files:
        homes[file.home].append(file)
    paths = []
    for home, own in homes.items():
        names = [file.name for file in own]
        if set(expand(f"{folder}/{home}")) == {file.shard.path for file in own}:
            names = [home]
        paths += [f"{folder}/{own[0].varying(name) if varying else name}" for name in names]
    return paths


@dataclass(frozen=True)
class Lines:
    """Means of the lines of a language's sample: characters, bytes under bzip2,
    sentences, bytes; its characters; `growth`: bytes of text for a stored byte of the
    last file; shares of lines that are `overlong`, and that hold the line `ends` of a
    document.
    """

    characters: float
    compressed: float
    sentences: float
    distinct: frozenset[str]
    bytes: float = 0
    growth: float = 1
    overlong: float = 0
    ends: float = 0

    @classmethod
    def of(cls, files: Sequence[LanguageFile], layout: Layout) -> "Lines":
        """Measure the beginning of each file, so much of it that all together hold
        about `SAMPLE_BYTES`; of files of another machine that of the first alone.
        """
        files = files[:1] if is_remote(files[0].shard.path) else files
        share = max(SAMPLE_BYTES // len(files), 1 << 14)
        blocks = []
        for file in files:
            text_file = _beginning(file.shard, layout)
            block = next(iter(text_file), b"")
            blocks.append(block[: block.rfind(b"\n", 0, share) + 1] or block)
            growth = len(block) / max(text_file.spanned or text_file.consumed, 1)
        sample = b"".join(blocks)
        text, lines = sample.decode(errors="replace"), max(sample.count(b"\n"), 1)
        return cls(
            len(text) / lines,
            len(bz2.compress(sample)) / lines,
            len(split_sentences(text)) / lines,
            frozenset(text),
            bytes=len(sample) / lines,
            growth=growth,
            overlong=survey(sample).counts["overlong"] / lines,
            ends=len(re.findall(r"(?<!\\)\\n.", text)) / lines,
        )


def is_uneven(lines: Collection[Lines]) -> bool:
    """Whether the longest mean line is `UNEVEN` times as long as the shortest, or
    more.
    """
    lengths = [one.compressed for one in lines]
    return max(lengths) >= UNEVEN * min(lengths)


def find_folder_texts(folder: str, table: Mapping[str, Language]) -> FolderTexts:
    """The text in `folder` and its folders, in languages of `table`; raises VocapError
    as `list_shards`.

    `folder` may be a pattern of another machine, in which `{lang}` stands for the
    languages. There is no parallel text then.
    """
    texts = FolderTexts(folder, {}, {}, {}, {})
    found = find_files(folder, table, texts.left_out)
    if not is_remote(folder):
        found = take_parallel(found, texts)
    for language in dict.fromkeys(file.language for file in found):
        own = [file for file in found if file.language == language]
        choose_format(language, own, texts)
    return texts


def find_files(
    folder: str, table: Mapping[str, Language], left_out: dict[str, str]
) -> list[LanguageFile]:
    """The files in `folder` and its folders that are named by a language; adds others
    to those left out, with the reason.

    Hidden files, results and configurations are skipped.
    """
    names = Names(table)
    found = []
    for name, place, shard in list_remote(folder) if is_remote(folder) else list_folder(folder):
        try:
            check_path(shard.path)
            if not is_remote(folder) and NO_TEXT.fullmatch(PurePath(name).name):
                raise ValueError("a copy, or notes on the files, and no language's text")
            language, home, said = names.of(place)
            if name.lower().endswith(".csv"):
                raise ValueError("CSV is not read; save it with tabs (.tsv)")
            if not shard.size:
                raise ValueError("empty")
            found.append(LanguageFile(shard, name, language, str(home), said))
        except ValueError as error:
            left_out[name] = str(error)
    return found


def list_folder(folder: str) -> Iterator[tuple[str, PurePath, Shard]]:
    """The files of a folder: path in it, where the language is said, file."""
    for path in expand(folder):
        relative = PurePath(path).relative_to(folder)
        if not OWN.fullmatch(relative.parts[0]):
            yield str(relative), relative, local_shard(path)


def list_remote(pattern: str) -> Iterator[tuple[str, PurePath, Shard]]:
    """The files of a pattern of another machine: address, what stands for `{lang}`, file.

    Raises UsageError for files of several formats, and VocapError as `list_shards`.
    """
    given = fnmatch.translate(HUB_REVISION.sub(r"\1", pattern))
    given = given.replace(r"\{lang\}", "(?P<lang>[^/]+?)", 1).replace(r"\{lang\}", "(?P=lang)")
    shards = list_shards([pattern.replace("{lang}", "*")]).shards
    if len(kinds := sorted({kind_of(shard.path) for shard in shards if shard.size})) > 1:
        raise UsageError(
            f"{pattern}: files of {' and '.join(kinds)}; let it end as those of one format do"
        )
    for shard in shards:
        match = re.fullmatch(given, HUB_REVISION.sub(r"\1", shard.path))
        yield address_of(shard.path), PurePath(match["lang"] if match else ""), shard


def take_parallel(files: Sequence[LanguageFile], texts: FolderTexts) -> list[LanguageFile]:
    """The files of text; the patterns of parallel text, and files left out, go into
    `texts`.

    Parallel text lies in a folder with one of `PARALLEL` in its path: a file of lines
    for each language, named by code.
    """
    rest: list[LanguageFile] = []
    for file in files:
        if not PARALLEL.search(os.path.dirname(file.name)):
            rest.append(file)
            continue
        key = "development" if DEVELOPMENT.search(file.name) else "parallel"
        pattern = f"{texts.folder}/{file.varying(file.name)}"
        if kind_of(file.name) != "text" or file.said != file.language:
            texts.left_out[file.name] = (
                f"parallel text is a file of lines named {file.language}.txt"
            )
        elif texts.parallel.setdefault(key, pattern) != pattern:
            texts.left_out[file.name] = f"{texts.parallel[key]} is the {key} text"
    return rest


def choose_format(language: str, files: Sequence[LanguageFile], texts: FolderTexts) -> None:
    """Add the files of one language to `texts` that can be read in one format and field,
    those of most bytes, and the others to those left out, with the reason.

    On another machine the first file is read, which others are like.
    """
    remote = is_remote(texts.folder)
    known = [probe(files[0].shard)] * len(files) if remote else [probe(one.shard) for one in files]
    amounts: Counter[Layout] = Counter()
    for file, found in zip(files, known, strict=True):
        if isinstance(found, Layout):
            amounts[found] += file.shard.size
    layout = max(amounts, key=amounts.__getitem__, default=None)
    for file, found in zip(files, known, strict=True):
        if layout and isinstance(found, Layout) and found != layout:
            found = f"{language} has more text as {layout.kind}; one format a language"
            if kind_of(file.name) == layout.kind:  # its likeliest field is another
                found = probe(file.shard, layout)
        if isinstance(found, str):
            texts.left_out[file.name] = found
        else:
            texts.files.setdefault(language, []).append(file)
            texts.layouts[language] = found


def probe(shard: Shard, layout: Layout | None = None) -> Layout | str:
    """The layout of a file, if it is not given, or why no text can be read in it."""
    try:
        if layout is None:
            layout = replace(detect_file(shard), split_sentences=False)
        return layout if any(map(bytes.strip, _beginning(shard, layout))) else "no line of text"
    except (OSError, VocapError) as error:
        system = system_error(error)
        said = system.strerror if system else None
        return said or str(error).removeprefix(f"{address_of(shard.path)}: ")


def _beginning(shard: Shard, layout: Layout) -> TextFile:
    return TextFile(shard, layout, PROBE_BYTES if is_remote(shard.path) else 16 * PROBE_BYTES)


def measure_lines(texts: FolderTexts, code: Collection[str], lossless: bool) -> dict[str, Lines]:
    """The lines of every language as they will be read: long ones are cut, and
    paragraphs where lines are uneven.

    Records become documents in the languages `code`, and in `lossless` text where they
    hold line ends. Changes the layouts of `texts`.
    """
    layouts = texts.layouts

    def measured(language: str) -> Lines:
        return Lines.of(texts.files[language], layouts[language])

    for language, layout in layouts.items():
        if layout.kind in RECORDS and (lossless or language in code):
            layouts[language] = replace(layout, documents=True)
            if language not in code and measured(language).ends < DOCUMENTS:
                layouts[language] = layout
    lines = {language: measured(language) for language in layouts}
    uneven = is_uneven(lines.values())
    for language, one in lines.items():
        long = one.overlong > OVERLONG or (uneven and one.sentences >= PARAGRAPH)
        if long and language not in code and not layouts[language].documents:
            layouts[language] = replace(layouts[language], split_sentences=True)
            lines[language] = measured(language)
    return lines


def listed_volumes(texts: FolderTexts, lines: Mapping[str, Lines]) -> dict[str, Volume]:
    """The amount of text of the languages, where the files are on other machines, by
    their sizes and the `lines` at the beginning of one.
    """
    volumes = {}
    for language, own in texts.files.items():
        if is_remote(texts.folder):
            one, stored = lines[language], sum(file.shard.size for file in own)
            count = stored * one.growth / max(one.bytes, 1)
            volumes[language] = Volume(
                "listing", stored / MB, one.growth, count, one.bytes, one.characters
            )
    return volumes


class Names:
    """Looks up languages of a table by ISO 639 code or English name, in any case."""

    def __init__(self, table: Mapping[str, Language]) -> None:
        self.table = table
        self.known = {name: code for name, code in NAMES["others"].items() if code in table}
        for column in ("name", "iso639_3", "iso639_3_individual", "language"):
            for code, language in table.items():
                self.known[_key(language.facts.get(column, ""))] = code
        self.known.pop("", None)  # of empty cells
        for name, code in list(self.known.items()):
            script = table[code].script
            for one in (script, *UNICODE_SCRIPTS.get(script, ())):
                self.known[_key(f"{name}_{one}")] = code

    def of(self, path: PurePath) -> tuple[str, PurePath, str]:
        """The code, the folder or the file that is named by the language, and the name.

        A folder of code at any depth decides, else the nearest folder that is a
        language's code or name, alone or with its script, else the name of the file, or
        its last dotted part. `path` is relative to the folder of all text. Raises
        ValueError where there is none, and where the folder's name is a word of English
        too and another name says another language.

        >>> from vocap.languages import read_languages
        >>> names = Names(read_languages())
        >>> paths = ("python/it/de.py", "text/eng_Latn/fin.jsonl.xz", "a.german.txt", "my/1.txt")
        >>> [names.of(PurePath(path))[0] for path in paths]
        ['python', 'en', 'de', 'my']
        """
        name = ENDING.sub("", path.name)
        places = [(place, place.name) for place in path.parents]
        places += [(path, name), (path, name.rpartition(".")[2])]
        found = [
            (code, place, said) for place, said in places if (code := self.known.get(_key(said)))
        ]
        code_folders = [
            one for one in found if one[1] != path and self.table[one[0]].resource in DOMAINS
        ]
        if not found:
            raise ValueError(
                "its name has no language of the table; rename it, or add a row of code and name "
                "(--languages-table)"
            )
        code, place, said = [*found[:1], *code_folders][-1]
        others = [self.table[one].name for one, _, _ in found if one != code]
        if others and place != path and said.casefold() in NAMES["words"]:
            raise ValueError(
                f"its folder {said} is the code of {self.table[code].name}, and a word; another "
                f"name says {others[-1]}: rename one of them"
            )
        return code, place, said


def _key(name: str) -> str:
    return re.sub("[ -]", "_", name.casefold())
