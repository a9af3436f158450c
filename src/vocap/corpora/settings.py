"""The `corpora` section of the configuration."""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from vocap.corpora import MIN_CHARACTERS
from vocap.corpora.source_kinds import AnySource, PathPattern, check_url
from vocap.files.paths import PlainPath
from vocap.languages import default_table

PACKAGES = ("mediawiki", "homeassistant", "gramps", "weblate", "plone.app.locales", "django")


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
        """Of the file."""
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
