"""The `corpora` section of the configuration, the source of each language, and the parallel text of a run."""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from vocap.corpora import MIN_CHARACTERS
from vocap.corpora.source_kinds import AnySource, PathPattern, Resolved, check_url, resolve
from vocap.errors import UsageError
from vocap.files import file_sha256
from vocap.files.paths import PlainPath
from vocap.languages import Language, default_table

PACKAGES = ("mediawiki", "homeassistant", "gramps", "weblate", "plone.app.locales", "django")
VARIABLE = "VOCAP_DATA"  # of the environment: a folder with NTREX-128 (Federmann et al. 2022), among other data
NTREX = "text/ntrex/{lang}.txt.xz"


def check_varies(value: str) -> str:
    """Raises ValueError for a pattern that is one file for all languages."""
    if "{lang}" not in value:
        raise ValueError("write {lang} where the code of the language stands; each has a file of its own")
    return value


class Download(BaseModel):
    """A file besides text that some runs need, and where it is free."""

    model_config = ConfigDict(extra="forbid", strict=True)

    url: Annotated[str, AfterValidator(check_url)] = Field(description="its address; the last part names the file")
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        None, description="refuse the file unless this is its SHA-256; null: not known, and not checked"
    )
    bytes: Annotated[int, Field(ge=1)] | None = Field(None, description="its length, for the plan")

    @model_validator(mode="after")
    def _named(self) -> "Download":
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", self.name):
            raise ValueError(f"url: {self.url} does not end in the name of a file")
        return self

    @property
    def name(self) -> str:
        """The file's name."""
        return self.url.rpartition("/")[2]


class Mix(BaseModel):
    """The multilingual text that JOINT is trained on."""

    model_config = ConfigDict(extra="forbid", strict=True)

    sentences: Literal["all"] | Annotated[int, Field(ge=1)] = Field(
        "all",
        description="all: every training line, counted so often that its language has the share q_i of Equation "
        "3; or how many lines are drawn, of all languages together",
    )


class Starter(BaseModel):
    """The starter corpus."""

    model_config = ConfigDict(extra="forbid", strict=True)

    packages: Annotated[list[Literal[PACKAGES]], Field(min_length=1)] = Field(
        list(PACKAGES), description="whose translated messages it is made of, the preferred one first"
    )


class Corpora(BaseModel):
    """Where text comes from, how much of it is kept, and how much each language weighs."""

    model_config = ConfigDict(extra="forbid", strict=True)

    table: PlainPath = Field("config/languages.tsv", description="the languages: names, scripts, resource groups")
    source: str = Field("starter", description="name of the source of every language that `languages` leaves out")
    languages: dict[str, str] = Field({}, description="language: name of its source")
    sources: dict[str, AnySource | None] = Field({}, description="the sources, by name")
    max_sentences: int = Field(1_000_000, ge=20, description="valid lines sampled of each language")
    max_characters: int | None = Field(
        75_000_000,
        ge=MIN_CHARACTERS,
        description="characters that the sample of a language holds at most; null: no limit",
    )
    scan_bytes: int | None = Field(
        None,
        ge=1,
        description="bytes of a language's files, as stored, to read; counts are extrapolated to the whole",
    )
    weights: str = Field(
        "lines", min_length=1, description="n_i of Equation 3: lines, bytes, or a numeric column of the table"
    )
    mix: Mix = Mix()
    parallel: Annotated[PathPattern, AfterValidator(check_varies)] | None = Field(
        None,
        description="path, with {lang}, of line-aligned files that tokenizers are evaluated on; an empty line: no "
        "translation; null: those of the starter corpus, if all text comes from it",
    )
    development: Annotated[PathPattern, AfterValidator(check_varies)] | None = Field(
        None,
        description="the same, of files that trainers may look at and no evaluation uses",
    )
    starter: Starter = Starter()

    @model_validator(mode="after")
    def _packaged_table(self) -> "Corpora":
        """Elsewhere than in the project's folder, the table that ships with the package."""
        if "table" not in self.model_fields_set and not Path(self.table).exists():
            self.table = str(default_table())
        return self


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


@dataclass(frozen=True)
class ParallelText:
    """Line-aligned files, one a language: their `pattern`, which holds {lang}, and their `name` in messages.

    `folder`: the starter corpus's, where they are its own; Snakemake makes them with it.
    """

    pattern: str
    name: str
    folder: str | None = None

    def fingerprint(self, languages: Collection[str]) -> str:
        """The hash of the files' contents; empty where Snakemake makes them."""
        if self.folder:
            return ""
        contents = "".join(file_sha256(path) for path in self.inputs(languages))
        return hashlib.sha256(contents.encode()).hexdigest()

    def inputs(self, languages: Collection[str]) -> list[str]:
        """The files that are there, or the folder that is to be made."""
        paths = [self.pattern.replace("{lang}", language) for language in languages]
        return [self.folder] if self.folder else [path for path in paths if Path(path).exists()]


def evaluation_text(
    corpora: Corpora, languages: Collection[str], starter: str | None, environment: Mapping[str, str]
) -> ParallelText | None:
    """The text that tokenizers are evaluated on; None for none.

    Without `corpora.parallel` NTREX-128 in the folder of `VARIABLE`, if that has any of the languages, else the
    starter corpus's test text; both only where `starter` names its folder, as all text of the run comes from it.
    """
    if corpora.parallel or not starter:
        return ParallelText(corpora.parallel, corpora.parallel) if corpora.parallel else None
    if folder := environment.get(VARIABLE):
        pattern = f"{folder}/{NTREX}"
        if any(Path(pattern.replace("{lang}", language)).exists() for language in languages):
            return ParallelText(pattern, f"${VARIABLE}/{NTREX}")
    return _held_out(starter, "test")


def development_text(corpora: Corpora, starter: str | None) -> ParallelText | None:
    """The text that trainers may look at: `corpora.development`, else the starter corpus's own as above.

    It depends on no environment variable, so neither do tokenizers.
    """
    if corpora.development or not starter:
        return ParallelText(corpora.development, corpora.development) if corpora.development else None
    return _held_out(starter, "development")


def _held_out(starter: str, name: str) -> ParallelText:
    """The text that the starter corpus holds out."""
    return ParallelText(f"{starter}/parallel/{name}/{{lang}}.txt", f"the starter corpus, parallel/{name}", starter)
