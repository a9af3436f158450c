"""The text of a folder: its language files by name, their lines, parallel text, and the
sources that they make.

Lines are compared by their bytes under bzip2. In these the longest mean line of the 80
languages of NTREX-128 is 1.4 times the shortest (85 of FLORES-200: 1.5), in plain bytes
3.6 (3.8).
"""

import bz2
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path, PurePath
from typing import Any

from vocap.corpora.sampling import markup_warnings
from vocap.corpora.settings import PROBE_BYTES
from vocap.errors import VocapError, system_error
from vocap.files.paths import COMPRESSED, check_path, expand
from vocap.languages import DOMAINS, Language
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
    """A file of one language; `said`: the part of its relative path that names the
    language.
    """

    path: Path
    relative: PurePath
    language: str
    said: str
    layout: Layout

    @property
    def pattern(self) -> str:
        """The path with `{lang}` where the language is said, if it is said once."""
        text = str(self.relative)
        parts = re.split(rf"(?<![^\W\d_]){re.escape(self.said)}(?![^\W\d_])", text)
        varies = "{lang}".join(parts) if len(parts) == 2 else text
        return str(self.path.parents[len(self.relative.parts) - 1] / varies)


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
    """The text of a folder: `files` of every language, the patterns of `parallel` text
    by key of `corpora`, and the files `left_out`, with the reason.
    """

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
    sentences; its characters, and `warnings` of mark-up.
    """

    characters: float
    compressed: float
    sentences: float
    distinct: frozenset[str]
    warnings: Sequence[str] = ()

    @classmethod
    def of(cls, files: Sequence[LanguageFile]) -> "Lines":
        """Measure the beginning of each file, so much of it that all together hold
        about `SAMPLE_BYTES`.
        """
        share = max(SAMPLE_BYTES // len(files), 1 << 14)
        blocks = []
        for file in files:
            block = next(iter(TextFile(file.path, file.layout, PROBE_BYTES)), b"")
            blocks.append(block[: block.rfind(b"\n", 0, share) + 1] or block)
        sample = b"".join(blocks)
        text, lines = sample.decode(errors="replace"), max(sample.count(b"\n"), 1)
        return cls(
            len(text) / lines,
            len(bz2.compress(sample)) / lines,
            len(split_sentences(text)) / lines,
            frozenset(text),
            () if files[0].layout.documents else markup_warnings(sample.splitlines()),
        )


def is_uneven(lines: Collection[Lines]) -> bool:
    """Whether the longest mean line is `UNEVEN` times as long as the shortest, or
    more.
    """
    lengths = [one.compressed for one in lines]
    return max(lengths) >= UNEVEN * min(lengths)


def find_folder_texts(folder: Path, table: Mapping[str, Language]) -> FolderTexts:
    """The text in `folder` and its folders, in languages of `table`."""
    found, unread = find_files(folder, table)
    texts, parallel, unequal = take_parallel(found)
    files, others = choose_formats(texts)
    return FolderTexts(files, parallel, unread | unequal | others)


def find_files(
    folder: Path, table: Mapping[str, Language]
) -> tuple[list[LanguageFile], dict[str, str]]:
    """The files of text in `folder` and its folders, and those left out, with the reason.

    Hidden files, `results` and `config.yaml` are skipped.
    """
    names = Names(table)
    found: list[LanguageFile] = []
    left_out: dict[str, str] = {}
    for path in map(Path, expand(str(folder))):
        relative = path.relative_to(folder)
        if relative.parts[0] in OWN:
            continue
        try:
            check_path(str(path))
            language = names.of(relative)
            if language is None:
                left_out[str(relative)] = "its name has no language of the table"
            elif relative.name.lower().endswith(".csv"):
                left_out[str(relative)] = "CSV is not read; save it with tabs (.tsv)"
            elif not os.path.getsize(path):
                left_out[str(relative)] = "empty"
            else:
                found.append(LanguageFile(path, relative, *language, detect_file(path)))
        except (OSError, ValueError, VocapError) as error:
            system = system_error(error)
            said = system.strerror if system else None
            left_out[str(relative)] = said or str(error).removeprefix(f"{path}: ")
    return found, left_out


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
        counts = [sum(block.count(b"\n") for block in LineFile(file.path)) for file in own]
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
        most = max(
            layouts, key=lambda layout: sum(file.path.stat().st_size for file in layouts[layout])
        )
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
    it holds no other file.
    """
    in_folder: dict[Path, list[LanguageFile]] = {}
    for file in files:
        in_folder.setdefault(file.path.parent, []).append(file)
    paths = []
    for folder, own in in_folder.items():
        patterns = [file.pattern if varying else str(file.path) for file in own]
        parents = {
            str(Path(pattern).parent) for pattern in patterns if "{lang}" not in Path(pattern).name
        }
        whole = len(own) > 1 and len(own[0].relative.parts) > 1
        if (
            whole
            and len(parents) == 1
            and set(expand(str(folder))) == {str(file.path) for file in own}
        ):
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
