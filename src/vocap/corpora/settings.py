"""The `corpora` section of the configuration."""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from vocap.corpora import MIN_CHARACTERS
from vocap.corpora.patterns import HUB_REMEDY, check_local
from vocap.languages import default_table
from vocap.paths import PlainPath, check_path

PACKAGES = ("mediawiki", "homeassistant", "gramps", "weblate", "plone.app.locales", "django")


def check_format(value: str) -> str:
    """`text`, `jsonl:FIELD`, `tsv:COLUMN` or `parquet:COLUMN`; raises ValueError for anything else."""
    kind, colon, field = value.partition(":")
    if (kind == "text" and not colon) or (kind in ("jsonl", "tsv", "parquet") and field):
        return value
    raise ValueError(
        "write text, jsonl:FIELD (as in jsonl:text), tsv:COLUMN (its number from 1, or its name) or parquet:COLUMN"
    )


def check_pattern(value: str) -> str:
    """A path or URL with no placeholders but `{lang}` and `{date}`; raises ValueError for another one."""
    for placeholder in re.findall(r"\{[^{}]*\}", value):
        if placeholder not in ("{lang}", DATE):
            raise ValueError(f"{placeholder} has no meaning here; the code of the language is written {{lang}}")
    if not value:
        raise ValueError("the text is empty; give a path or an address")
    return value


def check_varies(value: str) -> str:
    """Raises ValueError for a pattern that is one file for all languages."""
    if "{lang}" not in value:
        raise ValueError("write {lang} where the code of the language stands; each has a file of its own")
    return value


def check_url(value: str) -> str:
    """Raises ValueError for anything but http and https."""
    if value.startswith("hf://"):
        raise ValueError(HUB_REMEDY)
    if not re.match(r"https?://[^/]", value):
        raise ValueError("an address starts with http:// or https://; for a file on this machine use path")
    return value


def as_list(value: object) -> object:
    """One text becomes a list of one."""
    return [value] if isinstance(value, str) else value


def check_path_pattern(value: str) -> str:
    """A pattern of paths on this machine: as `check_path`, but for `{lang}`."""
    check_local(value)
    check_path(value.replace("{lang}", "lang"))
    return value


DATE = "{date}"

Pattern = Annotated[str, AfterValidator(check_pattern)]
PathPattern = Annotated[Pattern, AfterValidator(check_path_pattern)]


class Source(BaseModel):
    """Where the text of some languages comes from: exactly one of `url`, `path` and `starter`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    url: Annotated[Pattern, AfterValidator(check_url)] | None = Field(
        None, description="address of one file, with {lang} for the source's own code"
    )
    path: Annotated[list[PathPattern], BeforeValidator(as_list), Field(min_length=1)] | None = Field(
        None,
        description="files, folders (all files in them) or patterns (`/data/{lang}/*.gz`), with {lang}",
    )
    starter: Literal[True] | None = Field(None, description="the starter corpus")
    date: str | None = Field(
        None,
        pattern=r"^[0-9A-Za-z.-]+$",
        description="stands for {date} in url; whether such files are there is asked before the first job",
    )
    codes: dict[str, str] = Field({}, description="our code: theirs, where they differ")
    code_column: str | None = Field(None, description="column of the table of languages that holds their codes")
    missing: list[str] = Field([], description="codes of languages that this source lacks")
    format: Annotated[str, AfterValidator(check_format)] = Field(
        "text", description="text (a sentence a line), jsonl:FIELD, tsv:COLUMN, or parquet:COLUMN"
    )
    split_sentences: bool = Field(False, description="cut each line into sentences: for whole articles")
    escaped_newlines: bool = Field(False, description=r"a backslash and an n in the text stand for a line end")

    @model_validator(mode="after")
    def _one_place(self) -> "Source":
        given = [name for name in ("url", "path", "starter") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"a source has exactly one of url, path and starter; this one has {len(given)}")
        if (DATE in (self.url or "")) != (self.date is not None):
            raise ValueError("date stands for {date} in url; give both, or neither")
        if self.path and any(DATE in pattern for pattern in self.path):
            raise ValueError("{date} has no meaning in a path; write the file's name")
        if self.starter and self.model_fields_set != {"starter"}:
            raise ValueError("starter: true stands alone; the starter corpus has no other settings here")
        return self


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
    sources: dict[str, Source | None] = Field({}, description="the sources, by name")
    max_sentences: int = Field(1_000_000, ge=20, description="valid lines sampled of each language")
    max_characters: int | None = Field(
        75_000_000,
        ge=MIN_CHARACTERS,
        description="characters that the sample of a language holds at most; null: no limit",
    )
    scan_bytes: int | None = Field(
        None, ge=1, description="bytes of a language's files, as stored, to read; the rest is extrapolated"
    )
    weights: str = Field(
        "lines", min_length=1, description="n_i of Equation 3: lines, bytes, or a numeric column of the table"
    )
    mix: Mix = Mix()
    parallel: Annotated[PathPattern, AfterValidator(check_varies)] | None = Field(
        None, description="path, with {lang}, of line-aligned files that tokenizers are evaluated on"
    )
    starter: Starter = Starter()

    @model_validator(mode="after")
    def _packaged_table(self) -> "Corpora":
        """Elsewhere than in the project's folder, the table that ships with the package."""
        if "table" not in self.model_fields_set and not Path(self.table).exists():
            self.table = str(default_table())
        return self
