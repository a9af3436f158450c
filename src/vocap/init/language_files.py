"""The text of a folder, or below an address of another machine: its language files by
name, their lines, parallel text, and the sources that they make.

Of files of another machine the listing gives the sizes; the beginning of one of each
language is read, and the sources are patterns.

Lines are compared by their bytes under bzip2. In these the longest mean line of the 80
languages of NTREX-128 is 1.4 times the shortest (85 of FLORES-200: 1.5), in plain bytes
3.6 (3.8).
"""

import bz2
import fnmatch
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path, PurePath

from vocap.corpora.sampling import markup_warnings
from vocap.corpora.sources import MB, PROBE_BYTES, Volume
from vocap.errors import UsageError, VocapError, system_error
from vocap.files.paths import COMPRESSED, check_path, expand
from vocap.languages import DOMAINS, UNICODE_SCRIPTS, Language
from vocap.storage.listing import list_shards, local_shard
from vocap.storage.remote import Shard, address_of, is_remote
from vocap.text_files import KINDS, RECORDS, Layout, kind_of
from vocap.text_files.lines import LineFile, split_sentences, survey
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
# Codes that are English words too: as a folder's name they may mean something else.
WORDS = {"am", "an", "as", "be", "ha", "he", "hi", "ho", "id", "is", "it", "la", "lo", "me"}
WORDS |= {"mi", "ml", "my", "no", "or", "pa", "so", "to", "uk"}
# Codes that are in use and in no column of the table.
OTHERS = {
    "nb": "no",
    "nob": "no",
    "fil": "tl",
    "iw": "he",
    "cmn": "zh",
    "chi": "zh",
    "ger": "de",
    "fre": "fr",
    "dut": "nl",
    "cze": "cs",
    "slo": "sk",
    "gre": "el",
    "per": "fa",
    "rum": "ro",
    "farsi": "fa",
    "arb": "ar",
}

# in a path
PARALLEL = re.compile(r"(?i)(?<![a-z])(parallel|aligned|ntrex|flores|dev|development)(?![a-z])")
DEVELOPMENT = re.compile(r"(?i)(?<![a-z])(dev|development)(?![a-z])")  # that trainers may look at
SAMPLE_BYTES = 1 << 18  # of a language's text, from the beginning of each file
UNEVEN = 2  # longest mean line over the shortest, from which lines are cut or characters counted
PARAGRAPH = 2  # sentences of a mean line, from which it is a paragraph
OVERLONG = 0.1  # share of overlong lines, above which lines are cut
DOCUMENTS = 0.1  # line ends in a record's part, from which records are documents


@dataclass(frozen=True)
class LanguageFile:
    """A file of one language, as it was listed; `relative`: its path in `folder`;
    `home`: the folder in it that is named by the language, or the file that is; `said`:
    the name.
    """

    shard: Shard
    folder: str
    relative: PurePath
    language: str
    home: PurePath
    said: str

    @property
    def path(self) -> str:
        """Its path; of a data set without the commit that was listed."""
        return f"{self.folder}/{self.relative}"

    def varying(self, path: PurePath) -> str:
        """A path in the folder with `{lang}` where the language is said."""
        varied = re.sub(rf"(?<![^\W\d_]){re.escape(self.said)}(?![^\W\d_])", "{lang}", str(path))
        return f"{self.folder}/{varied}"

    @property
    def shards_pattern(self) -> str:
        """The pattern of this file and of the others of its folder that are called alike:
        `data/{lang}/*.parquet`, `c4-{lang}.*.json.gz`.
        """
        folder, _, name = self.varying(self.relative).rpartition("/")
        first = ENDING.sub("", name)
        alike = "*" if "{lang}" in folder else re.sub(r"(\{lang\}[\W_]).*", r"\1*", first)
        return f"{folder}/{alike}{name.removeprefix(first)}"


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


def source_paths(files: Sequence[LanguageFile], varying: bool) -> list[str]:
    """The paths of one language's files, with `{lang}` if `varying`: the folder named by
    the language, where it holds no other file; of other machines a pattern.
    """
    if varying and is_remote(files[0].folder):
        return list(dict.fromkeys(file.shards_pattern for file in files))
    homes: dict[PurePath, list[LanguageFile]] = defaultdict(list)
    for file in files:
        homes[file.home].append(file)
    paths = []
    for home, own in homes.items():
        whole = set(expand(f"{own[0].folder}/{home}")) == {file.path for file in own}
        relative = [home] if whole else [file.relative for file in own]
        folder = own[0].folder
        paths += [own[0].varying(one) if varying else f"{folder}/{one}" for one in relative]
    return paths


@dataclass(frozen=True)
class Lines:
    """Means of the lines of a language's sample: characters, bytes under bzip2,
    sentences, bytes; its characters; `growth`: bytes of text for a stored byte of the
    last file; shares of lines that are `overlong`, and that hold the line `ends` of a
    document; `warnings` of mark-up.
    """

    characters: float
    compressed: float
    sentences: float
    distinct: frozenset[str]
    bytes: float = 0
    growth: float = 1
    overlong: float = 0
    ends: float = 0
    warnings: Sequence[str] = ()

    @classmethod
    def of(cls, files: Sequence[LanguageFile], layout: Layout) -> "Lines":
        """Measure the beginning of each file, so much of it that all together hold
        about `SAMPLE_BYTES`; of files of another machine that of the first alone.
        """
        files = files[:1] if is_remote(files[0].folder) else files
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
            overlong=survey(sample).overlong / lines,
            ends=len(re.findall(r"(?<!\\)\\n.", text)) / lines,
            warnings=() if layout.documents else markup_warnings(sample.splitlines()),
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

    `folder` may be an address of another machine, or a pattern of one, in which
    `{lang}` stands for the languages. There is no parallel text then.
    """
    left_out: dict[str, str] = {}
    parallel: dict[str, str] = {}
    found = find_files(folder, table, left_out)
    if not is_remote(folder):
        found, parallel = take_parallel(found, left_out)
    texts = FolderTexts(folder, {}, {}, parallel, left_out)
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
    base, shards = list_folder(folder)
    # an address as an expression that finds the language in the place of {lang}
    given = fnmatch.translate(folder).replace(r"\{lang\}", "(?P<lang>[^/]+?)", 1)
    given = given.replace(r"\{lang\}", "(?P=lang)")
    for relative, shard in shards.items():
        try:
            check_path(shard.path)
            if NO_TEXT.fullmatch(relative.name):
                raise ValueError("a copy, or notes on the files, and no language's text")
            place = relative
            if "{lang}" in folder:
                match = re.fullmatch(given, f"{base}/{relative}")
                place = PurePath(match["lang"] if match else "")
            file = LanguageFile(shard, base, relative, *names.of(place))
            if relative.suffix.lower() == ".csv":
                raise ValueError("CSV is not read; save it with tabs (.tsv)")
            if not shard.size:
                raise ValueError("empty")
            found.append(file)
        except ValueError as error:
            left_out[str(relative)] = str(error)
    return found


def list_folder(folder: str) -> tuple[str, dict[PurePath, Shard]]:
    """The folder of a path, an address or a pattern of one, as it is written there, and
    its files by relative path.

    Raises UsageError for an address that a configuration is not to hold, VocapError as
    `list_shards`.
    """
    if not is_remote(folder):
        base, shards = folder, tuple(map(local_shard, expand(folder)))
    else:
        if (shown := address_of(folder)) != folder:
            raise UsageError(
                f"{shown}: its user, password or query would be in the configuration; give them "
                "to the client by its variables of the environment"
            )
        base = re.split(r"[^/]*[*?\[{]", folder, maxsplit=1)[0].rstrip("/")
        shards = list_shards([folder.replace("{lang}", "*")]).shards
        if len(_parts(shards[0].path)) == len(_parts(base)):  # one file
            base = base.rpartition("/")[0]
    depth = len(_parts(base))
    files = {PurePath(*_parts(shard.path)[depth:]): shard for shard in shards}
    return base, {name: shard for name, shard in files.items() if not OWN.fullmatch(name.parts[0])}


def _parts(path: str) -> tuple[str, ...]:
    """The parts of a path; a revision of a data set is one, as the commit that it names."""
    return PurePath(re.sub(r"@refs/\w+/", "@", path)).parts


def take_parallel(
    files: Sequence[LanguageFile], left_out: dict[str, str]
) -> tuple[list[LanguageFile], dict[str, str]]:
    """Files of text, and the paths of parallel text by key of `corpora`; adds files to
    those left out, with the reason.

    Parallel text lies in a folder with one of `PARALLEL` in its path: a file of lines
    for each language, named by code, with equal numbers of lines.
    """
    sets: dict[str, list[LanguageFile]] = defaultdict(list)
    texts: list[LanguageFile] = []
    for file in files:
        aside = PARALLEL.search(str(file.relative.parent))
        (sets[file.varying(file.relative)] if aside else texts).append(file)
    found: dict[str, str] = {}
    for pattern, own in sets.items():
        key = "development" if DEVELOPMENT.search(str(own[0].relative)) else "parallel"
        counts = [sum(block.count(b"\n") for block in LineFile(file.shard)) for file in own]
        usual = Counter(counts).most_common(1)[0][0]
        for file, lines in zip(own, counts, strict=True):
            if lines != usual:
                reason = f"parallel text has equal numbers of lines, not {lines:,} and {usual:,}"
            elif kind_of(file.path) != "text" or file.said != file.language:
                reason = f"parallel text is a file of lines named {file.language}.txt"
            elif found.setdefault(key, pattern) != pattern:
                reason = f"{found[key]} is the {key} text"
            else:
                continue
            left_out[str(file.relative)] = reason
    return texts, found


def choose_format(language: str, files: Sequence[LanguageFile], texts: FolderTexts) -> None:
    """Add the files of one language to `texts` that can be read in one format and field,
    those of most bytes, and the others to those left out, with the reason.

    On another machine the first file of each ending is read, which others are like.
    """
    known: dict[str, Layout | str] = {}  # or the reason why there is none
    amounts: Counter[Layout] = Counter()
    for file in files:
        found = known.get(_alike(file)) or probe(file.shard)
        known[_alike(file)] = found
        if isinstance(found, Layout):
            amounts[found] += file.shard.size
    layout = max(amounts, key=amounts.__getitem__, default=None)
    for file in files:
        found = known[_alike(file)]
        if layout and isinstance(found, Layout) and found != layout:
            found = f"{language} has more text as {layout.kind}; one format a language"
            if kind_of(file.path) == layout.kind:  # its likeliest field is another
                found = probe(file.shard, layout)
        if isinstance(found, str):
            texts.left_out[str(file.relative)] = found
        else:
            texts.files.setdefault(language, []).append(file)
            texts.layouts[language] = found


def _alike(file: LanguageFile) -> str:
    name = file.relative.name
    return name.removeprefix(ENDING.sub("", name)) if is_remote(file.folder) else file.path


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
        self.known = {name: code for name, code in OTHERS.items() if code in table}
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
        if others and place != path and said.casefold() in WORDS:
            raise ValueError(
                f"its folder {said} is the code of {self.table[code].name}, and a word; another "
                f"name says {others[-1]}: rename one of them"
            )
        return code, place, said


def _key(name: str) -> str:
    return re.sub("[ -]", "_", name.casefold())
