"""The text of a folder, or below an address of another machine: its language files by
name, their lines, parallel text, and the sources that they make.

Of files of another machine the listing gives the sizes; the beginning of one of each
language is read, and the sources are patterns.

Lines are compared by their bytes under bzip2. In these the longest mean line of the 80
languages of NTREX-128 is 1.4 times the shortest (85 of FLORES-200: 1.5), in plain bytes
3.6 (3.8).
"""

import bz2
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path, PurePath
from typing import Any

from vocap.corpora.sampling import markup_warnings
from vocap.corpora.sources import MB, PROBE_BYTES, Volume
from vocap.errors import UsageError, VocapError, system_error
from vocap.files.paths import COMPRESSED, check_path, expand
from vocap.languages import DOMAINS, Language
from vocap.storage.listing import list_shards, local_shard
from vocap.storage.remote import Shard, address_of, is_remote
from vocap.text_files import KINDS, RECORDS, Layout
from vocap.text_files.lines import LineFile, split_sentences
from vocap.text_files.records import TextFile, detect_file

LEFT_OUT_SHOWN = 20  # files left out that are named
OWN = {"results", "config.yaml"}  # files of this command and of a run
SCRIPT = re.compile(r"[A-Z][a-z]{3}")  # ISO 15924
# Two-letter codes that are English words too: taken only alone, or as the last part of
# a name (corpus.it.txt).
WORDS = {"am", "as", "be", "he", "id", "is", "it", "la", "my", "no", "or"}
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


@dataclass(frozen=True)
class LanguageFile:
    """A file of one language, as it was listed; `relative`: its path in `folder`, of
    which `said` names the language.
    """

    shard: Shard
    folder: str
    relative: PurePath
    language: str
    said: str
    layout: Layout

    @property
    def path(self) -> str:
        """Its path; of a data set without the commit that was listed."""
        return f"{self.folder}/{self.relative}"

    @property
    def pattern(self) -> str:
        """The path with `{lang}` where the language is said; of a file of this machine
        if it is said once.
        """
        text = str(self.relative)
        parts = re.split(rf"(?<![^\W\d_]){re.escape(self.said)}(?![^\W\d_])", text)
        varies = "{lang}".join(parts) if len(parts) == 2 or is_remote(self.folder) else text
        return f"{self.folder}/{varies}"

    @property
    def shards_pattern(self) -> str:
        """The pattern of this file and of the others of its folder that are called alike:
        `data/{lang}/*.parquet`, `c4-{lang}.*.json.gz`.
        """
        folder, _, name = self.pattern.rpartition("/")
        first = stem(name)
        ending = name[len(first) :]
        if "{lang}" in first:
            first = re.sub(r"(\{lang\}[\W_]).*", r"\1*", first)
        elif "{lang}" in folder:
            first = "*"
        return f"{folder}/{first}{ending}"


@dataclass
class FolderSource:
    """An entry of `corpora.sources`: patterns of paths, format, and the languages that
    it is the source of.
    """

    paths: tuple[str, ...]
    layout: Layout
    # language to the text in the place of {lang}
    codes: dict[str, str] = field(default_factory=dict)

    def entry(self) -> dict[str, Any]:
        """Its keys in a configuration."""
        path = self.paths[0] if len(self.paths) == 1 else list(self.paths)
        entry: dict[str, Any] = {"path": path}
        if codes := {code: said for code, said in self.codes.items() if said and said != code}:
            entry["codes"] = codes
        if self.layout.kind != "text":
            entry["format"] = self.layout.format
        if self.layout.split_sentences:
            entry["split_sentences"] = True
        if self.layout.documents:
            entry["documents"] = True
        return entry


@dataclass(frozen=True)
class FolderTexts:
    """The text of `folder`: `files` of every language, the patterns of `parallel` text
    by key of `corpora`, and the files `left_out`, with the reason.
    """

    folder: str
    files: dict[str, list[LanguageFile]]
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


@dataclass(frozen=True)
class Lines:
    """Means of the lines of a language's sample: characters, bytes under bzip2,
    sentences, bytes; its characters; `growth`: bytes of text for a stored byte of the
    last file; `warnings` of mark-up.
    """

    characters: float
    compressed: float
    sentences: float
    distinct: frozenset[str]
    bytes: float = 0
    growth: float = 1
    warnings: Sequence[str] = ()

    @classmethod
    def of(cls, files: Sequence[LanguageFile]) -> "Lines":
        """Measure the beginning of each file, so much of it that all together hold
        about `SAMPLE_BYTES`; of files of another machine that of the first alone.
        """
        if is_remote(files[0].folder):
            files = files[:1]
        share = max(SAMPLE_BYTES // len(files), 1 << 14)
        blocks = []
        for file in files:
            text_file = TextFile(file.shard, file.layout, PROBE_BYTES)
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
            warnings=() if files[0].layout.documents else markup_warnings(sample.splitlines()),
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
    texts, unread = find_files(folder, table)
    parallel: dict[str, str] = {}
    if not is_remote(folder):
        texts, parallel, unequal = take_parallel(texts)
        unread |= unequal
    files, others = choose_formats(texts)
    return FolderTexts(folder, files, parallel, unread | others)


def find_files(
    folder: str, table: Mapping[str, Language]
) -> tuple[list[LanguageFile], dict[str, str]]:
    """The files of text in `folder` and its folders, and those left out, with the reason.

    Hidden files, `results` and `config.yaml` are skipped. Files of one language and
    ending on another machine are taken to be alike.
    """
    names = Names(table)
    found: list[LanguageFile] = []
    left_out: dict[str, str] = {}
    known: dict[tuple[str, ...], Layout | str] = {}  # or the reason why there is none
    base, shards = list_folder(folder)
    for relative, shard in shards.items():
        name = relative.name
        try:
            check_path(shard.path)
            language = names.of(relative)
            if language is None:
                raise ValueError("its name has no language of the table")
            if name.lower().endswith(".csv"):
                raise ValueError("CSV is not read; save it with tabs (.tsv)")
            if not shard.size:
                raise ValueError("empty")
            file = LanguageFile(shard, base, relative, *language, Layout())
            if "{lang}" in folder and not fnmatchcase(file.pattern, folder):
                raise ValueError("no language of the table in the place of {lang}")
            ending = name.removeprefix(stem(name))
            alike = (*language, ending) if is_remote(base) else (shard.path,)
            if alike not in known:
                known[alike] = _layout_or_reason(shard)
            layout = known[alike]
            if isinstance(layout, str):
                raise ValueError(layout)
            found.append(replace(file, layout=layout))
        except ValueError as error:
            left_out[str(relative)] = str(error)
    return found, left_out


def _layout_or_reason(shard: Shard) -> Layout | str:
    """The layout of a file, or why it cannot be read."""
    try:
        return detect_file(shard, PROBE_BYTES) if is_remote(shard.path) else detect_file(shard)
    except (OSError, VocapError) as error:
        system = system_error(error)
        said = system.strerror if system else None
        return said or str(error).removeprefix(f"{address_of(shard.path)}: ")


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
    return base, {name: shard for name, shard in files.items() if name.parts[0] not in OWN}


def _parts(path: str) -> tuple[str, ...]:
    """The parts of a path; a revision of a data set is one, as the commit that it names."""
    return PurePath(re.sub(r"@refs/\w+/", "@", path)).parts


def take_parallel(
    files: Sequence[LanguageFile],
) -> tuple[list[LanguageFile], dict[str, str], dict[str, str]]:
    """Files of text, the paths of parallel text by key of `corpora`, and the files left
    out, with the reason.

    Parallel text has one of `PARALLEL` in its path, a file of lines for each of several
    languages, named by code, with equal numbers of lines, and is not all text of them.
    """
    sets: dict[str, list[LanguageFile]] = {}
    for file in files:
        if (
            file.layout.kind == "text"
            and "{lang}" in file.pattern
            and PARALLEL.search(str(file.relative))
        ):
            sets.setdefault(file.pattern, []).append(file)
    found: dict[str, str] = {}
    left_out: dict[str, str] = {}
    texts = list(files)
    for pattern, own in sets.items():
        rest = [file for file in texts if file not in own]
        if len(own) < 2 or not {file.language for file in rest} & {file.language for file in own}:
            continue
        key = "development" if DEVELOPMENT.search(str(own[0].relative)) else "parallel"
        counts = [sum(block.count(b"\n") for block in LineFile(file.shard)) for file in own]
        for file, lines in zip(own, counts, strict=True):
            if lines != counts[0]:
                reason = (
                    f"parallel text has equal numbers of lines, not {lines:,} and {counts[0]:,}"
                )
            elif file.said != file.language:
                reason = (
                    f"parallel text is found by code: {file.language} in the place of {file.said}"
                )
            elif found.setdefault(key, pattern) != pattern:
                reason = f"{found[key]} is the {key} text"
            else:
                continue
            left_out[str(file.relative)] = reason
        texts = rest
    return texts, found, left_out


def choose_formats(
    files: Iterable[LanguageFile],
) -> tuple[dict[str, list[LanguageFile]], dict[str, str]]:
    """The files of every language, all of one format, and those left out, with the reason.

    A language whose files have several formats keeps the one with most bytes.
    """
    kinds: dict[str, dict[Layout, list[LanguageFile]]] = {}
    for file in files:
        kinds.setdefault(file.language, {}).setdefault(file.layout, []).append(file)
    chosen: dict[str, list[LanguageFile]] = {}
    left_out: dict[str, str] = {}
    for language, layouts in kinds.items():
        most = max(layouts, key=lambda layout: sum(file.shard.size for file in layouts[layout]))
        chosen[language] = layouts.pop(most)
        reason = f"{language} has more text as {most.format}; one format a language"
        left_out |= {str(file.relative): reason for others in layouts.values() for file in others}
    return chosen, left_out


def measure_lines(
    chosen: dict[str, list[LanguageFile]], code: Collection[str]
) -> tuple[dict[str, Lines], dict[str, Lines]]:
    """The lines of every language as they are and as they will be read; where uneven,
    `chosen` cuts paragraphs.

    Records of the languages `code` become documents.
    """
    for language in code:
        if chosen[language][0].layout.kind in RECORDS:
            layout = replace(chosen[language][0].layout, documents=True, split_sentences=False)
            chosen[language] = [replace(file, layout=layout) for file in chosen[language]]
    before = {language: Lines.of(files) for language, files in chosen.items()}
    if not is_uneven(before.values()):
        return before, before
    after = dict(before)
    for language, lines in before.items():
        if lines.sentences >= PARAGRAPH and language not in code:
            layout = replace(chosen[language][0].layout, split_sentences=True)
            chosen[language] = [replace(file, layout=layout) for file in chosen[language]]
            after[language] = Lines.of(chosen[language])
    return before, after


def listed_volumes(
    files: Mapping[str, Sequence[LanguageFile]], lines: Mapping[str, Lines]
) -> dict[str, Volume]:
    """The amount of text of the languages whose `files` are on other machines, by their
    sizes and the `lines` at the beginning of one.
    """
    volumes = {}
    for language, own in files.items():
        if is_remote(own[0].folder):
            one, stored = lines[language], sum(file.shard.size for file in own)
            count = stored * one.growth / max(one.bytes, 1)
            volumes[language] = Volume(
                "listing", stored / MB, one.growth, count, one.bytes, one.characters
            )
    return volumes


def group(chosen: Mapping[str, Sequence[LanguageFile]]) -> list[FolderSource]:
    """Sources that together have every language once."""
    sources: dict[tuple[tuple[str, ...], Layout, str], FolderSource] = {}
    for language, files in chosen.items():
        said = {file.said for file in files}
        one = said.pop() if len(said) == 1 else ""
        paths = _paths(files, bool(one))
        code = one if all("{lang}" in path for path in paths) else ""
        key = (paths, files[0].layout, "" if code else language)
        source = sources.setdefault(key, FolderSource(paths, files[0].layout))
        source.codes[language] = code
    return list(sources.values())


def _paths(files: Sequence[LanguageFile], varying: bool) -> tuple[str, ...]:
    """The paths of one language's files, with `{lang}` if `varying`; the folder where
    it holds no other file, of other machines the pattern of shards.
    """
    if varying and is_remote(files[0].folder):
        return tuple(dict.fromkeys(file.shards_pattern for file in files))
    in_folder: dict[str, list[LanguageFile]] = {}
    for file in files:
        in_folder.setdefault(str(PurePath(file.path).parent), []).append(file)
    paths = []
    for folder, own in in_folder.items():
        patterns = [file.pattern if varying else file.path for file in own]
        parents = {
            str(Path(pattern).parent) for pattern in patterns if "{lang}" not in Path(pattern).name
        }
        whole = len(own) > 1 and len(own[0].relative.parts) > 1
        if whole and len(parents) == 1 and set(expand(folder)) == {file.path for file in own}:
            patterns = [*parents]
        paths += patterns
    return tuple(paths)


class Names:
    """Looks up languages of a table by ISO 639 code or English name, in any case."""

    def __init__(self, table: Mapping[str, Language]) -> None:
        self.table = table
        self.scripts = {language.script for language in table.values()} | {"Hant"}
        self.known: dict[str, str] = {name: code for name, code in OTHERS.items() if code in table}
        for code, language in table.items():
            for column in ("name", "iso639_3", "iso639_3_individual"):
                if name := language.facts.get(column, ""):
                    self.known[name.casefold()] = code
        self.known |= {code.casefold(): code for code in table}

    def of(self, path: PurePath) -> tuple[str, str] | None:
        """The code and the part of the path that names it: of the file's name, or of
        the nearest folder's.

        `path` is relative to the folder of all text. Raises ValueError where names
        contradict each other, or name a script other than the table's.

        Files in a folder of code have names of their own: python/it/de.py is Python.

        >>> from vocap.languages import read_languages
        >>> names = Names(read_languages())
        >>> paths = ("german.txt", "eng_Latn.jsonl.xz", "hi/1.txt", "notes.txt")
        >>> [names.of(PurePath(path)) for path in paths]
        [('de', 'german'), ('en', 'eng_Latn'), ('hi', 'hi'), None]
        """
        for part in path.parts[:-1]:
            code = self.known.get(part.casefold())
            if code and self.table[code].resource in DOMAINS:
                return code, part
        for part in (stem(path.name), *reversed(path.parts[:-1])):
            if found := self._of_part(part):
                return found
        return None

    def _of_part(self, part: str) -> tuple[str, str] | None:
        if code := self.known.get(part.casefold()):
            return code, part
        found: dict[str, str] = {}
        words = list(re.finditer(r"[^\W\d_]+", part))
        for number, match in enumerate(words):
            word = match[0]
            code = self.known.get(word.casefold())
            last = number == len(words) - 1
            if code is None or (word.casefold() in WORDS and not last):
                continue
            said = word
            if not last and SCRIPT.fullmatch(script := words[number + 1][0]):
                own = self.table[code].script
                if (
                    script in self.scripts and script != own
                ):  # other words of this form are no scripts
                    raise ValueError(
                        f"its name says script {script}; {code} has {own} in the table"
                    )
                said = part[match.start() : words[number + 1].end()]
            found.setdefault(code, said)
        if len(found) > 1:
            raise ValueError(f"its name says {' and '.join(found)}")
        return next(iter(found.items()), None)


def stem(name: str) -> str:
    """The name of a file without the endings of its format.

    >>> stem("corpus.de.txt.gz")
    'corpus.de'
    """
    endings = (*COMPRESSED, ".txt", ".text", ".csv", *chain.from_iterable(KINDS.values()))
    while "." in name and name[name.rindex(".") :].lower() in endings:
        name = name[: name.rindex(".")]
    return name
