"""From a source's settings to the files or the address of one language."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from vocap.corpora.patterns import expand
from vocap.corpora.settings import DATE, Corpora, Source
from vocap.errors import UsageError
from vocap.languages import Language
from vocap.paths import check_path


@dataclass(frozen=True)
class Resolved:
    """The text of one language: `url` (to download), `paths` (files, folders, patterns), or the starter corpus."""

    name: str  # of the source
    language: str  # our code
    code: str  # the source's own code
    url: str | None
    paths: list[str]
    starter: bool
    source: Source

    @property
    def absent(self) -> list[str]:
        """The paths that stand for no file."""
        return [path for path in self.paths if not expand(path)]

    def files(self) -> list[str]:
        """The files that the paths stand for; raises UsageError for one whose name a workflow cannot take."""
        files = [file for path in self.paths for file in expand(path)]
        for file in files:
            try:
                check_path(file)
            except ValueError as error:
                raise UsageError(f"corpora.sources.{self.name}: {file}: {error}") from None
        return files

    def sample_options(self) -> list[str]:
        """What `vocap sample` must be told of this source, as words of a command line."""
        words = ["--language", self.language, "--source", self.name]
        if self.source.format != "text":
            words += ["--format", self.source.format]
        if self.source.split_sentences:
            words.append("--split-sentences")
        if self.source.escaped_newlines:
            words.append("--escaped-newlines")
        if self.starter:
            words.append("--allow-empty")  # it has not every language; the run goes on with the others
        return words


def resolve(name: str, source: Source, language: Language) -> Resolved:
    """Where `source`, called `name` in the configuration, has the text of `language`.

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
    return Resolved(
        name=name,
        language=language.code,
        code=code,
        url=source.url and source.url.replace("{lang}", code).replace(DATE, source.date or ""),
        paths=[path.replace("{lang}", code) for path in source.path or []],
        starter=bool(source.starter),
        source=source,
    )


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
