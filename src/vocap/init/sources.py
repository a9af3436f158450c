"""From the files of a folder to sources of a configuration."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from vocap.corpora.content import Content
from vocap.corpora.detection import detect_file
from vocap.errors import VocapError, system_error
from vocap.init.names import Names
from vocap.languages import Language
from vocap.paths import check_path

OWN = {"results", "config.yaml"}  # what this command and a run make in the folder
FILES = 100_000  # at most


@dataclass(frozen=True)
class TextFile:
    """A file of one language: its path, the part of its relative path that says the language, and its format."""

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
    codes: dict[str, str] = field(default_factory=dict)  # language: what stands for {lang}


def find_files(folder: Path, table: Mapping[str, Language]) -> tuple[list[TextFile], dict[str, str]]:
    """The files of text in `folder` and its folders, and those left out, with the reason.

    Hidden files, `results` and `config.yaml` are not looked at. Raises VocapError for more than 100,000 files.
    """
    names = Names(table)
    found, left_out = [], {}
    for relative in _walk(folder):
        path = folder / relative
        try:
            check_path(str(path))
            language = names.of(relative)
            if language is None:
                left_out[str(relative)] = "its name says no language of the table"
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
        paths = tuple(file.pattern if one else str(file.path) for file in chosen)
        code = one if all("{lang}" in path for path in paths) else ""
        key = (paths, *kind, "" if code else language)
        source = sources.setdefault(key, Source(paths, *kind))
        source.codes[language] = code
    return list(sources.values()), left_out
