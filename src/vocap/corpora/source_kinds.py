"""The sources of text: a class for each kind, with settings, files, licence and amount of text.

An entry of `corpora: sources` is of the kind whose own key it has (`url`, `path`, `starter`). Configuration,
rules, plan and model cards use the class alone, so that a new kind is written in one place:

>>> @register_source
... class Nothing(Source):
...     nothing: str
...     key: ClassVar[str] = "nothing"
>>> parse_source({"nothing": "at all"})
Nothing(nothing='at all')
>>> del SOURCE_KINDS["nothing"]
"""

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Annotated, Any, ClassVar, Literal, Union

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetPydanticSchema,
    TypeAdapter,
    model_validator,
)
from pydantic_core import core_schema

from vocap.errors import UsageError
from vocap.files.paths import COMPRESSED, check_local, check_path, expand
from vocap.files.tsv import number, read_tsv
from vocap.languages import Language
from vocap.text_files import Layout

MB = 1_000_000
PROBE_BYTES = 1 << 20  # of a language's first file as stored: enough lines for a mean length, in milliseconds
STORED_SHARE = 0.27  # compressed over plain: CC-100's English, 82 GB of .xz for 300.8 GB of text
PARAGRAPH = 4  # length of the web's lines, in lengths of a program's messages: a guess
UNKNOWN_GB = 1.0  # of a language without a number in the table
UNKNOWN_LINES = {"lines": 1, "bytes": 60, "characters": 40}
UNLICENSED = "licence not recorded; say it here before you publish the tokenizer"
DATE = "{date}"

Basis = Literal["earlier run", "files", "starter table", "guess"]


@dataclass(frozen=True)
class Volume:
    """The amount of text of one language, all its files: known, or estimated.

    `stored_mb`: millions of bytes as stored; `growth`: bytes of plain text for a stored byte; `line_bytes`,
    `line_characters`: mean length of a line, its end included; `reach`: the largest vocabulary of all its lines.
    """

    basis: Basis
    stored_mb: float
    growth: float
    lines: float
    line_bytes: float
    line_characters: float
    reach: int | None = None


def check_pattern(value: str) -> str:
    """A path or URL with no placeholders but `{lang}` and `{date}`; raises ValueError for another one."""
    for placeholder in re.findall(r"\{[^{}]*\}", value):
        if placeholder not in ("{lang}", DATE):
            raise ValueError(f"{placeholder} has no meaning here; the code of the language is written {{lang}}")
    if not value:
        raise ValueError("the text is empty; give a path or an address")
    return value


def check_url(value: str) -> str:
    """Raises ValueError for anything but http and https."""
    if not re.match(r"https?://[^/]", value):
        raise ValueError("an address starts with http:// or https://; for a file on this machine use path")
    return value


def check_path_pattern(value: str) -> str:
    """A pattern of paths on this machine: as `check_path`, but for `{lang}`."""
    check_local(value)
    check_path(value.replace("{lang}", "lang"))
    return value


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


Pattern = Annotated[str, AfterValidator(check_pattern)]
PathPattern = Annotated[Pattern, AfterValidator(check_path_pattern)]


class Source(BaseModel):
    """Settings of every source; a kind adds those that say where its text is.

    Attributes
    ----------
    key : the setting that tells the kind
    options : further words of `vocap sample`
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    key: ClassVar[str]
    options: ClassVar[tuple[str, ...]] = ()

    codes: dict[str, str] = Field({}, description="our code: theirs, where they differ")
    licence: str | None = Field(None, min_length=1, description="of the text, for the model cards of tokenizers")
    code_column: str | None = Field(None, description="column of the table of languages that holds their codes")
    missing: list[str] = Field([], description="codes of languages that this source lacks")
    format: str = Field("text", description="text (a sentence a line), jsonl:FIELD, tsv:COLUMN, or parquet:COLUMN")
    split_sentences: bool = Field(False, description="cut each line into sentences: for whole articles")
    escaped_newlines: bool = Field(False, description=r"a backslash and an n in the text stand for a line end")

    documents: bool = Field(
        False,
        description="records of jsonl or parquet keep their line ends, so that these are learnt too; parts of up "
        "to 4,192 bytes take the place of lines",
    )

    @property
    def layout(self) -> Layout:
        """How the text is stored in its files."""
        return Layout.parse(self.format, self.split_sentences, self.escaped_newlines, self.documents)

    @model_validator(mode="after")
    def _readable(self) -> "Source":
        try:
            self.layout  # noqa: B018
        except UsageError as error:
            raise ValueError(str(error)) from None
        return self

    def url_of(self, code: str) -> str | None:
        """The address of a language's text, by the source's own code; None for text that is not downloaded."""
        return None

    def paths_of(self, code: str) -> list[str]:
        """The files, folders and patterns of a language on this machine."""
        return []

    def inputs(self, found: "Resolved", results: str, stage: str) -> list[str]:
        """The files and folders that a job on a language's text waits for."""
        return found.files()

    def texts(self, found: "Resolved", inputs: list[str]) -> list[str]:
        """The inputs as arguments of a command: patterns as they are written."""
        return found.paths or list(inputs)

    def terms(self, packages: str) -> str:
        """The licence, for a model card; `packages`: those of the starter corpus, with theirs."""
        return self.licence or UNLICENSED

    def volume(self, found: "Resolved", language: Language, packages: Sequence[str]) -> Volume:
        """The amount of text; `packages`: those of the starter corpus. Raises OSError and VocapError.

        From the sizes of the files, and the lines and the compression at the beginning of the first.
        """
        from vocap.text_files.records import TextFile  # numpy, which the configuration does without

        files = found.files()
        stored = sum(os.path.getsize(path) for path in files)
        probe = TextFile(files[0], self.layout, PROBE_BYTES)
        lines = plain = characters = 0
        for block in probe:
            lines += block.count(b"\n")
            plain += len(block)
            characters += len(block.decode(errors="replace"))
        growth = plain / max(probe.consumed, 1)
        means = plain / max(lines, 1), characters / max(lines, 1)
        return Volume("files", stored / MB, growth, stored * growth / max(means[0], 1), *means)


SOURCE_KINDS: dict[str, type[Source]] = {}


def register_source(kind: type[Source]) -> type[Source]:
    """Make a kind of source known under its `key`; a class decorator."""
    SOURCE_KINDS[kind.key] = kind
    return kind


@register_source
class UrlSource(Source):
    """One file of each language, downloaded over http or https."""

    url: Annotated[Pattern, AfterValidator(check_url)] = Field(
        description="address of one file, with {lang} for the source's own code"
    )
    date: str | None = Field(
        None,
        pattern=r"^[0-9A-Za-z.-]+$",
        description="replaces {date} in url; a check before the first job asks whether such files exist",
    )
    key: ClassVar[str] = "url"

    @model_validator(mode="after")
    def _dated(self) -> "UrlSource":
        if (DATE in self.url) != (self.date is not None):
            raise ValueError("date stands for {date} in url; give both, or neither")
        return self

    def url_of(self, code):
        return self.url.replace("{lang}", code).replace(DATE, self.date or "")

    def inputs(self, found, results, stage):
        return [f"{results}/{stage}/downloads/{found.name}/{found.language}"]

    def volume(self, found, language, packages):
        """From the sizes of the paper's corpora in the table of languages, without a request to a server."""
        facts = language.facts
        gigabytes = number(facts.get("paper_wikipedia_gb" if "wiki" in self.url else "paper_cc_gb", ""))
        plain = (UNKNOWN_GB if math.isnan(gigabytes) else gigabytes) * 1000
        share = STORED_SHARE if found.url.endswith(COMPRESSED) else 1.0
        row = starter_table().get(language.code)
        row = row if row and row["lines"] else UNKNOWN_LINES
        means = [PARAGRAPH * row[unit] / row["lines"] for unit in ("bytes", "characters")]
        return Volume("guess", plain * share, 1 / share, plain * MB / max(means[0], 1), *means)


@register_source
class PathSource(Source):
    """Files of the user's."""

    path: Annotated[list[PathPattern], BeforeValidator(_as_list), Field(min_length=1)] = Field(
        description="files, folders (all files in them) or patterns (`/data/{lang}/*.gz`), with {lang}",
    )
    key: ClassVar[str] = "path"

    @model_validator(mode="after")
    def _undated(self) -> "PathSource":
        if any(DATE in pattern for pattern in self.path):
            raise ValueError("{date} has no meaning in a path; write the file's name")
        return self

    def paths_of(self, code):
        return [path.replace("{lang}", code) for path in self.path]


@register_source
class StarterSource(Source):
    """The starter corpus, of the packages in `corpora: starter`."""

    starter: Literal[True] = Field(description="the starter corpus; it has no other settings here")
    key: ClassVar[str] = "starter"
    options: ClassVar[tuple[str, ...]] = ("--allow-empty",)  # it lacks some languages: the run continues

    @model_validator(mode="after")
    def _alone(self) -> "StarterSource":
        if self.model_fields_set != {"starter"}:
            raise ValueError("starter: true stands alone; the starter corpus has no other settings here")
        return self

    def inputs(self, found, results, stage):
        return [f"{results}/corpora/starter/text"]

    def texts(self, found, inputs):
        return [f"{inputs[0]}/{found.language}.txt"]

    def terms(self, packages):
        return f"the interface texts of {packages}; the tokenizer holds words and word parts of them"

    def volume(self, found, language, packages):
        """Lines of the chosen packages; equal lines of two count twice, up to those of all six together."""
        row = starter_table().get(language.code) or {"lines": 0, "bytes": 0, "characters": 0, "reach": 0}
        lines = min(row["lines"], sum(row.get(package, 0) for package in packages))
        means = [row[unit] / max(row["lines"], 1) for unit in ("bytes", "characters")]
        reach = row["reach"] if lines == row["lines"] else None
        return Volume("starter table", lines * means[0] / MB, 1.0, lines, *means, reach)


@cache
def starter_table() -> dict[str, dict[str, int]]:
    """The counts of the starter corpus by language, and the lines of each package."""
    columns = ("language", "lines", "bytes", "characters", "reach")
    rows = read_tsv(str(resources.files("vocap.corpora") / "starter.tsv"), columns)
    return {row.pop("language"): {name: int(cell) for name, cell in row.items()} for row in rows}


def parse_source(value: Any) -> Source:
    """The settings of a source from keys and values; settings as they are.

    Raises ValueError unless exactly one key tells the kind, and pydantic's ValidationError for wrong values.
    """
    if isinstance(value, Source):
        return value
    if not isinstance(value, Mapping):
        raise ValueError("write keys and values, such as {path: /data/{lang}.txt}")
    given = [key for key in SOURCE_KINDS if value.get(key) is not None]
    if len(given) != 1:
        *others, last = SOURCE_KINDS
        kinds = f"{', '.join(others)} and {last}"
        raise ValueError(f"a source has exactly one of {kinds}; this one has {len(given)}")
    return SOURCE_KINDS[given[0]].model_validate(value)


# a field of any registered kind: a union of pydantic holds those that are registered before its declaration
AnySource = Annotated[
    Source,
    GetPydanticSchema(
        lambda *_: core_schema.no_info_plain_validator_function(parse_source),
        lambda _, handler: handler(TypeAdapter(Union[tuple(SOURCE_KINDS.values())]).core_schema),  # noqa: UP007
    ),
]


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
        """These inputs as arguments of a command; patterns as they are written."""
        return self.source.texts(self, inputs)

    def sample_options(self) -> list[str]:
        """The options of `vocap sample` for this source, as words of a command line."""
        words = ["--language", self.language, "--source", self.name]
        words += ["--format", self.source.format] if self.source.format != "text" else []
        flags = ("split_sentences", "escaped_newlines", "documents")
        words += [f"--{flag.replace('_', '-')}" for flag in flags if getattr(self.source, flag)]
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
