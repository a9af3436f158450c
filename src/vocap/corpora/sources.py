"""The files or the address of one language, by the settings of a source."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from vocap.corpora.settings import Corpora
from vocap.corpora.source_kinds import Source
from vocap.errors import UsageError
from vocap.files.paths import check_path
from vocap.languages import Language
from vocap.text_files.patterns import expand


@dataclass(frozen=True)
class Resolved:
    """The text of one language in a source."""

    name: str  # of the source
    language: str  # our code
    code: str  # the source's own code
    source: Source

    @property
    def url(self) -> str | None:
        """The address to download it from, if any."""
        return self.source.url_of(self.code)

    @property
    def paths(self) -> list[str]:
        """Files, folders and patterns on this machine, as written in the configuration."""
        return self.source.paths_of(self.code)

    @property
    def absent(self) -> list[str]:
        """The paths without a file."""
        return [path for path in self.paths if not expand(path)]

    def files(self) -> list[str]:
        """The files of the paths; raises UsageError for one whose name a workflow cannot take."""
        files = [file for path in self.paths for file in expand(path)]
        for file in files:
            try:
                check_path(file)
            except ValueError as error:
                raise UsageError(f"corpora.sources.{self.name}: {file}: {error}") from None
        return files

    def inputs(self, results: str, stage: str = "corpora") -> list[str]:
        """The files and folders below `results` or of the user's that a job of `stage` reads."""
        return self.source.inputs(self, results, stage)

    def texts(self, inputs: list[str]) -> list[str]:
        """Those files as words of a command; patterns as they are written."""
        return self.source.texts(self, inputs)

    def sample_options(self) -> list[str]:
        """The options of `vocap sample` for this source, as words of a command line."""
        words = ["--language", self.language, "--source", self.name]
        if self.source.format != "text":
            words += ["--format", self.source.format]
        if self.source.split_sentences:
            words.append("--split-sentences")
        if self.source.escaped_newlines:
            words.append("--escaped-newlines")
        if self.source.documents:
            words.append("--documents")
        return [*words, *self.source.options]


def resolve(name: str, source: Source, language: Language) -> Resolved:
    """The text of `language` in `source`, called `name` in the configuration.

    Raises UsageError where it has none, or where the table lacks the column that holds its codes.
    """
    key = f"corpora.sources.{name}"
    remedy = f"give {language.code} another source under corpora.languages, or leave it out of languages"
    if language.code in source.missing:
        raise UsageError(f"{key}: it has no text in {language.name} ({language.code}): {remedy}")
    if language.code in source.codes:
        code = source.codes[language.code]
    elif source.code_column is None:
        code = language.code
    else:
        code = language.facts.get(source.code_column, "")
        if not code:
            raise UsageError(
                f"{key}.code_column: the table of languages has no {source.code_column!r} for {language.code}; "
                f"fill it in, or write the source's code under {key}.codes"
            )
    if not code or re.search(r"[/{}<>\x00-\x1f]", code) or code in (".", ".."):
        raise UsageError(f"{key}.codes.{language.code}: {code!r} cannot be a code; it becomes part of a path")
    return Resolved(name, language.code, code, source)


def resolve_all(corpora: Corpora, languages: Iterable[Language]) -> dict[str, Resolved]:
    """The source of every language, by code, in the order of `languages`.

    Raises one UsageError with a line for each language that has none, or that would read another one's file.
    """
    resolved: dict[str, Resolved] = {}
    owners: dict[str, str] = {}
    mistakes = []
    for language in languages:
        name = corpora.languages.get(language.code, corpora.source)
        source = corpora.sources.get(name)
        if source is None:
            known = ", ".join(known for known, entry in corpora.sources.items() if entry is not None) or "none"
            mistakes.append(f"corpora: {language.code} takes its text from {name!r}, no such source ({known})")
            continue
        try:
            found = resolve(name, source, language)
            places = [found.url] if found.url else found.files() or found.paths
        except UsageError as error:
            mistakes.append(str(error))
            continue
        resolved[language.code] = found
        for place in places:
            if place in owners:
                mistakes.append(
                    f"corpora.sources.{name}: {owners[place]} and {language.code} would both read {place}; "
                    "write {lang} in it, or give each its own source under corpora.languages"
                )
            owners[place] = language.code
    if mistakes:
        raise UsageError("\n".join(mistakes))
    return resolved
