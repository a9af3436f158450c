"""Sources of a configuration from the files of a folder: language by name, format by content."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from vocap.errors import VocapError, system_error
from vocap.files.paths import check_path
from vocap.languages import Language
from vocap.text_files.content import Content
from vocap.text_files.corpus import detect_file
from vocap.text_files.patterns import expand

OWN = {"results", "config.yaml"}  # files of this command and of a run
FILES = 100_000  # at most
ENDINGS = {".gz", ".xz", ".zst", ".bz2", ".txt", ".text", ".jsonl", ".ndjson", ".json", ".tsv", ".parquet", ".csv"}
SCRIPT = re.compile(r"[A-Z][a-z]{3}")  # ISO 15924
# Two-letter codes that are English words too: taken only alone, or as the last part of a name (corpus.it.txt).
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


@dataclass(frozen=True)
class TextFile:
    """A file of one language: its path, the part of its relative path that names the language, its format."""

    path: Path
    relative: PurePath
    language: str
    said: str
    content: Content

    @property
    def pattern(self) -> str:
        """The path with `{lang}` where the language is said, if it is said once."""
        text = str(self.relative)
        varies = text.replace(self.said, "{lang}") if text.count(self.said) == 1 else text
        return str(self.path.parents[len(self.relative.parts) - 1] / varies)


@dataclass
class Source:
    """An entry of `corpora.sources`: patterns of paths, format, and the languages that it is the source of."""

    paths: tuple[str, ...]
    format: str
    split_sentences: bool
    codes: dict[str, str] = field(default_factory=dict)  # language to the text in the place of {lang}


def find_files(folder: Path, table: Mapping[str, Language]) -> tuple[list[TextFile], dict[str, str]]:
    """The files of text in `folder` and its folders, and those left out, with the reason.

    Hidden files, `results` and `config.yaml` are skipped. Raises VocapError for more than 100,000 files.
    """
    names = Names(table)
    found, left_out = [], {}
    for relative in _walk(folder):
        path = folder / relative
        try:
            check_path(str(path))
            language = names.of(relative)
            if language is None:
                left_out[str(relative)] = "its name has no language of the table"
                continue
            if relative.name.lower().endswith(".csv"):
                left_out[str(relative)] = "CSV is not read; save it with tabs (.tsv)"
                continue
            content = detect_file(path)
        except ValueError as error:
            left_out[str(relative)] = str(error)
            continue
        except (OSError, VocapError) as error:
            system = system_error(error)
            left_out[str(relative)] = system.strerror if system else str(error).removeprefix(f"{path}: ")
            continue
        if content.problem or not content.format:
            left_out[str(relative)] = content.problem or "no text found in it"
        elif not os.path.getsize(path):
            left_out[str(relative)] = "empty"
        else:
            found.append(TextFile(path, relative, *language, content))
    return found, left_out


def _walk(folder: Path) -> list[PurePath]:
    paths = []
    for parent, folders, files in os.walk(folder):
        top = Path(parent) == folder
        folders[:] = sorted(name for name in folders if not name.startswith(".") and not (top and name in OWN))
        paths += [
            (Path(parent) / name).relative_to(folder)
            for name in sorted(files)
            if not name.startswith(".") and not (top and name in OWN)
        ]
        if len(paths) > FILES:
            raise VocapError(f"{folder}: more than {FILES:,} files; name a folder that holds only text")
    return paths


def group(files: Iterable[TextFile]) -> tuple[list[Source], dict[str, str]]:
    """Sources that together have every language once, and the files left out, with the reason.

    A language whose files have several formats keeps the one with most bytes.
    """
    by_language: dict[str, dict[tuple[str, bool], list[TextFile]]] = {}
    for file in files:
        kind = (file.content.format, file.content.split_sentences)
        by_language.setdefault(file.language, {}).setdefault(kind, []).append(file)
    sources: dict[tuple, Source] = {}
    left_out = {}
    for language, kinds in by_language.items():
        kind = max(kinds, key=lambda kind: sum(file.path.stat().st_size for file in kinds[kind]))
        for other in kinds.keys() - {kind}:
            reason = f"{language} has more text as {kind[0]}; one format a language"
            left_out |= {str(file.relative): reason for file in kinds[other]}
        chosen = kinds[kind]
        said = {file.said for file in chosen}
        one = said.pop() if len(said) == 1 else ""
        paths = _paths(chosen, bool(one))
        code = one if all("{lang}" in path for path in paths) else ""
        key = (paths, *kind, "" if code else language)
        source = sources.setdefault(key, Source(paths, *kind))
        source.codes[language] = code
    return list(sources.values()), left_out


def _paths(files: Sequence[TextFile], varying: bool) -> tuple[str, ...]:
    """The paths of one language's files, with `{lang}` if `varying`; the folder where it holds no other file."""
    in_folder: dict[Path, list[TextFile]] = {}
    for file in files:
        in_folder.setdefault(file.path.parent, []).append(file)
    paths = []
    for folder, own in in_folder.items():
        patterns = [file.pattern if varying else str(file.path) for file in own]
        parents = {str(Path(pattern).parent) for pattern in patterns if "{lang}" not in Path(pattern).name}
        whole = len(own) > 1 and len(own[0].relative.parts) > 1
        if whole and len(parents) == 1 and set(expand(str(folder))) == {str(file.path) for file in own}:
            patterns = [*parents]
        paths += patterns
    return tuple(paths)


class Names:
    """Looks up languages of a table by ISO 639 code or English name, in any case."""

    def __init__(self, table: Mapping[str, Language]) -> None:
        self.table = table
        self.known: dict[str, str] = {name: code for name, code in OTHERS.items() if code in table}
        for code, language in table.items():
            for column in ("name", "iso639_3", "iso639_3_individual"):
                if name := language.facts.get(column, ""):
                    self.known[name.casefold()] = code
        self.known |= {code.casefold(): code for code in table}

    def of(self, path: PurePath) -> tuple[str, str] | None:
        """The code and the part of the path that names it: of the file's name, or of the nearest folder's.

        `path` is relative to the folder of all text. Raises ValueError where names contradict each other, or
        name a script other than the table's.

        >>> from vocap.languages import read_languages
        >>> names = Names(read_languages())
        >>> [names.of(PurePath(path)) for path in ("german.txt", "eng_Latn.jsonl.xz", "hi/1.txt", "notes.txt")]
        [('de', 'german'), ('en', 'eng_Latn'), ('hi', 'hi'), None]
        """
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
                self._check_script(part, code, script)
                said = part[match.start() : words[number + 1].end()]
            found.setdefault(code, said)
        if len(found) > 1:
            raise ValueError(f"its name says {' and '.join(found)}")
        return next(iter(found.items()), None)

    def _check_script(self, part: str, code: str, script: str) -> None:
        """Refuse text in another script than the language has in the table; others are words."""
        scripts = {language.script for language in self.table.values()} | {"Hant"}
        if script in scripts and script != self.table[code].script:
            raise ValueError(f"its name says script {script}; {code} has {self.table[code].script} in the table")


def stem(name: str) -> str:
    """The name of a file without the endings of its format.

    >>> stem("corpus.de.txt.gz")
    'corpus.de'
    """
    while "." in name and name[name.rindex(".") :].lower() in ENDINGS:
        name = name[: name.rindex(".")]
    return name
