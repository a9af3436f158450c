"""The section `corpora` of the configuration: its keys, and the text of each language
by the sources that it names.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field

from vocap.corpora import MIN_CHARACTERS
from vocap.corpora.sources import (
    PACKAGES,
    Address,
    AlignedPattern,
    AnySource,
    Resolved,
    resolve,
)
from vocap.errors import UsageError
from vocap.files.paths import PlainPath
from vocap.languages import Language, default_table
from vocap.section import ConfigSection
from vocap.storage.remote import is_remote


class Download(ConfigSection):
    """A file besides text that some runs need, and where it is free."""

    url: Address = Field(description="its address; the last part names the file")
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        None,
        description="refuse the file unless this is its SHA-256; null: not known, and not checked",
    )
    bytes: Annotated[int, Field(ge=1)] | None = Field(None, description="its length, for the plan")

    @pydantic.model_validator(mode="after")
    def _named(self) -> "Download":
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", self.name):
            raise ValueError(f"url: {self.url} does not end in the name of a file")
        return self

    @property
    def name(self) -> str:
        """The file's name."""
        return self.url.rpartition("/")[2]


class Mix(ConfigSection):
    """The multilingual text that JOINT is trained on."""

    sentences: Literal["all"] | Annotated[int, Field(ge=1)] = Field(
        "all",
        description="all: every training line, counted so often that its language has the share "
        "q_i of Equation "
        "3; or how many lines are drawn, of all languages together",
    )


class Starter(ConfigSection):
    """The starter corpus."""

    packages: Annotated[
        list[Literal[PACKAGES]],  # type: ignore[valid-type]  # the names of a table
        Field(min_length=1),
    ] = Field(
        list(PACKAGES),
        description="whose translated messages it is made of, the preferred one first",
    )


class Corpora(ConfigSection):
    """Where text comes from, how much of it is kept, and how much each language
    weighs.
    """

    table: PlainPath = Field(
        "config/languages.tsv", description="the languages: names, scripts, resource groups"
    )
    source: str = Field(
        "starter", description="name of the source of every language that `languages` leaves out"
    )
    languages: dict[str, str] = Field({}, description="language: name of its source")
    sources: dict[str, AnySource] = Field({}, description="the sources, by name")
    max_sentences: int = Field(1_000_000, ge=20, description="valid lines sampled of each language")
    max_characters: int | None = Field(
        75_000_000,
        ge=MIN_CHARACTERS,
        description="characters that the sample of a language holds at most; null: no limit",
    )
    scan_bytes: int | None = Field(
        None,
        ge=1,
        description="bytes of a language's files, as stored, to read, spread evenly over all of "
        "them; counts are extrapolated to the whole. null: all of files on this machine; of "
        "others what max_sentences needs",
    )
    fetch: bool = Field(
        False,
        description="read text that is elsewhere in jobs of the machine that Snakemake runs on, "
        "for clusters whose nodes have no network",
    )
    weights: str = Field(
        "lines",
        min_length=1,
        description="n_i of Equation 3: lines, bytes, or a numeric column of the table",
    )
    mix: Mix = Mix()
    parallel: AlignedPattern | None = Field(
        None,
        description="path, with {lang}, of line-aligned files that tokenizers are evaluated on; "
        "an empty line: no "
        "translation; null: those of the starter corpus, if all text comes from it",
    )
    development: AlignedPattern | None = Field(
        None, description="the same, of files that trainers may look at and no evaluation uses"
    )
    starter: Starter = Starter()

    @pydantic.model_validator(mode="after")
    def _packaged_table(self) -> "Corpora":
        """Elsewhere than in the project's folder, the table that ships with the
        package.
        """
        if "table" not in self.model_fields_set and not Path(self.table).exists():
            object.__setattr__(self, "table", str(default_table()))  # the section is frozen
        return self


def resolve_all(corpora: Corpora, languages: Iterable[Language]) -> dict[str, Resolved]:
    """The source of every language, by code, in the order of `languages`.

    Raises one UsageError with a line for each language that its source lacks, or that
    would read another one's file.
    """
    resolved: dict[str, Resolved] = {}
    owners: dict[str, str] = {}
    mistakes = []
    for language in languages:
        name = corpora.languages.get(language.code, corpora.source)
        try:
            found = resolve(name, corpora.sources[name], language)
            places = found.paths if found.remote else found.files() or found.paths
        except UsageError as error:
            mistakes.append(str(error))
            continue
        resolved[language.code] = found
        for place in places:
            if place in owners:
                mistakes.append(
                    f"corpora.sources.{name}: {owners[place]} and {language.code} would both read "
                    f"{place}; write {{lang}} in it, or give each its own source under "
                    "corpora.languages"
                )
            owners[place] = language.code
    if mistakes:
        raise UsageError("\n".join(mistakes))
    return resolved


def client_variables(sources: Iterable[Resolved]) -> dict[str, str]:
    """The variables of the environment that give each `storage_options` to its client,
    as JSON: fsspec reads `FSSPEC_S3` and the like when it is imported.

    Raises UsageError, without any value, where sources of one protocol differ.
    """
    first: dict[str, tuple[str, dict[str, Any]]] = {}  # of each protocol: a source, its options
    for found in sources:
        options = getattr(found.source, "storage_options", {})
        for path in filter(is_remote, found.paths):
            protocol = path.partition("://")[0].upper()
            name, known = first.setdefault(protocol, (found.name, options))
            if known != options:
                raise UsageError(
                    f"corpora.sources.{found.name}.storage_options: {protocol.lower()}:// has one "
                    f"set of options in a run, and those of {name} differ; write the same"
                )
    return {f"FSSPEC_{one}": json.dumps(options) for one, (_, options) in first.items() if options}
