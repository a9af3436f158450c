"""The section `corpora` of the configuration: kinds of sources, a class for each, and
the text of each language.

An entry of `corpora: sources` is of the kind whose own key it has (`path`, or `url` in
its place; `starter`). Configuration, rules, plan and model cards use the class alone,
so that a new kind is written in one place:

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
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Union

import pydantic
import pydantic_core
from pydantic import Field

from vocap.corpora import MIN_CHARACTERS
from vocap.errors import UsageError
from vocap.files.io import number, read_tsv
from vocap.files.paths import COMPRESSED, check_local, check_path, expand_all
from vocap.languages import Language
from vocap.section import Alpha, ConfigSection, Seed
from vocap.storage.remote import is_remote
from vocap.text_files.filters import StoredText, check_filters

PACKAGES = ("mediawiki", "homeassistant", "gramps", "weblate", "plone.app.locales", "django")

MB = 1_000_000
# of a language's first file as stored: enough lines for a mean length, in milliseconds
PROBE_BYTES = 1 << 20
GROWTH_BYTES = 1 << 18  # of plain text, from which its growth says how the rest goes on
STORED_SHARE = 0.27  # compressed over plain: CC-100's English, 82 GB of .xz for 300.8 GB of text
PARAGRAPH = 4  # length of the web's lines, in lengths of a program's messages: a guess
UNKNOWN_GB = 1.0  # of a language without a number in the table
UNKNOWN_LINES = Counter(lines=1, bytes=60, characters=40)
UNLICENSED = "licence not recorded; say it here before you publish the tokenizer"
DATE = "{date}"

Basis = Literal["earlier run", "files", "listing", "starter table", "guess"]


@dataclass(frozen=True)
class Volume:
    """The amount of text of one language, all its files: known, or estimated.

    `stored_mb`: millions of bytes as stored; `growth`: bytes of plain text for a stored
    byte; `line_bytes`, `line_characters`: mean length of a line, its end included;
    `reach`: the largest vocabulary of all its lines; `words`: its `word_growth`. Both
    None if unknown.
    """

    basis: Basis
    stored_mb: float
    growth: float
    lines: float
    line_bytes: float
    line_characters: float
    reach: int | None = None
    words: tuple[float, float] | None = None


def check_pattern(value: str, known: Collection[str] = ("{lang}",)) -> str:
    """A path, `~` replaced by the home folder, or an address; raises ValueError for other
    placeholders than those known.
    """
    for placeholder in re.findall(r"\{[^{}]*\}", value):
        if placeholder not in known:
            raise ValueError(
                f"{placeholder} has no meaning here; the code of the language is written {{lang}}"
            )
    return os.path.expanduser(value)


def check_url(value: str) -> str:
    """An address of the web; raises ValueError for anything else."""
    if not re.match(r"https?://[^/]", value):
        raise ValueError(
            "an address starts with http:// or https://; for another file or folder use path"
        )
    return value


def check_path_pattern(value: str) -> str:
    """A pattern of paths on this machine: as `check_path`, but for `{lang}`."""
    pattern = check_pattern(value)
    check_path(check_local(pattern).replace("{lang}", "lang"))
    return pattern


def check_text_pattern(value: str) -> str:
    """A pattern of paths on this machine or another one, with `{lang}` and `{date}`;
    raises ValueError for one with a password, which listings and logs would show.
    """
    if re.match(r"[^/]*://[^/@]*:[^/@]*@", value):
        raise ValueError(
            "a password in an address would be in the results; give it to the client by its "
            "variables of the environment, or as storage_options"
        )
    pattern = check_pattern(value, ("{lang}", DATE))
    check_path(pattern.replace("{lang}", "lang").replace(DATE, "date"))
    return pattern


def check_varies(value: str) -> str:
    """Raises ValueError for a pattern that is one file for all languages."""
    if "{lang}" not in value:
        raise ValueError(
            "write {lang} where the code of the language stands; each has a file of its own"
        )
    return value


Address = Annotated[str, pydantic.AfterValidator(check_pattern), pydantic.AfterValidator(check_url)]
TextPattern = Annotated[str, Field(min_length=1), pydantic.AfterValidator(check_text_pattern)]
PathPattern = Annotated[str, Field(min_length=1), pydantic.AfterValidator(check_path_pattern)]
AlignedPattern = Annotated[PathPattern, pydantic.AfterValidator(check_varies)]


class Sampling(StoredText):
    """How `sample_corpus` reads a text, and how much of it."""

    source: str = Field("own", description="name of the source of the text, for the counts")
    max_sentences: int = Field(
        1_000_000,
        ge=1,
        description="number of lines of the sample, training and held-out lines together",
    )
    max_characters: int | None = Field(
        None,
        ge=MIN_CHARACTERS,
        description="largest number of characters in the sample. Only as many of the sampled "
        "lines are kept",
    )
    seed: Seed = Field(1, description="seed of the random choice of lines")
    scan_bytes: int | None = Field(
        None,
        ge=1,
        description="number of bytes to read of the files as stored, spread evenly over them",
    )
    allow_empty: bool = Field(
        False, description="where there is no text, write empty files and note it in the counts"
    )


class Mixing(ConfigSection):
    """How many lines the multilingual sample has, and how the languages share them."""

    alpha: Alpha = 0.7
    sentences: int = Field(1_000_000, ge=1, description="number of lines of the sample")
    seed: Seed = Field(1, description="seed of the random choice of lines")


class Source(StoredText):
    """Settings of every source; a kind adds those that say where its text is.

    Attributes
    ----------
    key : the setting that tells the kind
    allow_empty : whether it lacks some languages, without which the run continues
    folder : below the results, made by the run, with {lang}.txt of every language; None
        for text from elsewhere
    """

    key: ClassVar[str]
    allow_empty: ClassVar[bool] = False
    folder: ClassVar[str | None] = None

    codes: dict[str, str] = Field({}, description="our code: theirs, where they differ")
    licence: str | None = Field(
        None,
        min_length=1,
        description="licence of the text, which the model cards of tokenizers name",
    )
    code_column: str | None = Field(
        None, description="column of the table of languages that holds their codes"
    )
    missing: list[str] = Field([], description="codes of languages that this source lacks")

    @pydantic.model_validator(mode="after")
    def _readable(self) -> "Source":
        try:
            check_filters(self.filters, self.layout)
        except UsageError as error:
            raise ValueError(str(error)) from None
        return self

    def paths_of(self, code: str) -> list[str]:
        """The files, folders and patterns of a language, by the source's own code."""
        return []

    def terms(self, packages: str) -> str:
        """The licence, for a model card; `packages`: those of the starter corpus, with
        theirs.
        """
        return self.licence or UNLICENSED

    def volume(self, found: "Resolved", language: Language, packages: Sequence[str]) -> Volume:
        """The amount of text; `packages`: those of the starter corpus. Raises OSError
        and VocapError.

        From the sizes of the files, and the lines and the compression at the beginning
        of the first.
        """
        from vocap.text_files.records import TextFile  # numpy, which the configuration does without
        from vocap.text_files.word_growth import word_growth

        files = found.files()
        stored = sum(os.path.getsize(path) for path in files)
        probe = TextFile(files[0], self.layout, PROBE_BYTES)
        lines = plain = characters = head_bytes = 0
        head = ""
        for block in probe:
            text = block.decode(errors="replace")
            lines += block.count(b"\n")
            plain += len(block)
            characters += len(text)
            if head_bytes < PROBE_BYTES:
                head += text
                head_bytes += len(block)
        growth = plain / max(probe.consumed, 1)
        means = plain / max(lines, 1), characters / max(lines, 1)
        known = head_bytes >= GROWTH_BYTES or len(files) == 1
        return Volume(
            "files",
            stored / MB,
            growth,
            stored * growth / max(means[0], 1),
            *means,
            words=word_growth(head, head_bytes / MB) if known else None,
        )


SOURCE_KINDS: dict[str, type[Source]] = {}


def register_source(kind: type[Source]) -> type[Source]:
    """Make a kind of source known under its `key`; a class decorator."""
    SOURCE_KINDS[kind.key] = kind
    return kind


@register_source
class PathSource(Source):
    """Files, on this machine or elsewhere: `hf://`, `s3://`, `gs://`, `https://`."""

    path: Annotated[
        list[TextPattern],
        pydantic.BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
        Field(min_length=1),
    ] = Field(
        description="files, folders (all files in them) or patterns (`/data/{lang}/*.gz`), one or "
        "a list, with {lang} for the source's own code; `url: ADDRESS` is short for the path of "
        "one file of the web"
    )
    date: str | None = Field(
        None, pattern=r"^[0-9A-Za-z.-]+$", description="replaces {date} in path"
    )
    storage_options: dict[str, Any] = Field(
        {},
        exclude=True,  # the report shows the settings
        repr=False,
        description="options of the client that reads from elsewhere, such as {anon: true} for s3",
    )
    key: ClassVar[str] = "path"

    @pydantic.model_validator(mode="after")
    def _dated(self) -> "PathSource":
        if any(DATE in path for path in self.path) != (self.date is not None):
            raise ValueError("date stands for {date} in path; give both, or neither")
        return self

    def paths_of(self, code: str) -> list[str]:
        return [path.replace("{lang}", code).replace(DATE, self.date or "") for path in self.path]

    def volume(self, found: "Resolved", language: Language, packages: Sequence[str]) -> Volume:
        """Of text that is elsewhere from the sizes of the paper's corpora in the table of
        languages, without a request to a server.
        """
        if not found.remote:
            return super().volume(found, language, packages)
        facts, path = language.facts, self.path[0]
        gigabytes = number(facts.get("paper_wikipedia_gb" if "wiki" in path else "paper_cc_gb", ""))
        plain = (UNKNOWN_GB if math.isnan(gigabytes) else gigabytes) * 1000
        share = STORED_SHARE if path.endswith((*COMPRESSED, ".parquet")) else 1.0
        row = starter_table().get(language.code, Counter())
        row = row if row["lines"] else UNKNOWN_LINES
        size, length = (PARAGRAPH * row[unit] / row["lines"] for unit in ("bytes", "characters"))
        return Volume("guess", plain * share, 1 / share, plain * MB / max(size, 1), size, length)


@register_source
class StarterSource(Source):
    """The starter corpus, of the packages in `corpora: starter`."""

    starter: Literal[True] = Field(description="the starter corpus; it has no other settings here")
    key: ClassVar[str] = "starter"
    allow_empty: ClassVar[bool] = True
    folder: ClassVar[str] = "corpora/starter/text"

    @pydantic.model_validator(mode="after")
    def _alone(self) -> "StarterSource":
        if self.model_fields_set != {"starter"}:
            raise ValueError(
                "starter: true stands alone; the starter corpus has no other settings here"
            )
        return self

    def terms(self, packages: str) -> str:
        return (
            f"the interface texts of {packages}; the tokenizer holds words and word parts of them"
        )

    def volume(self, found: "Resolved", language: Language, packages: Sequence[str]) -> Volume:
        """Lines of the chosen packages; equal lines of two count twice, up to those of
        all six together.
        """
        row = starter_table().get(language.code, Counter())
        lines = min(row["lines"], sum(row[package] for package in packages))
        size, length = (row[unit] / max(row["lines"], 1) for unit in ("bytes", "characters"))
        reach = row["reach"] if lines == row["lines"] else None
        return Volume("starter table", lines * size / MB, 1.0, lines, size, length, reach)


@cache
def starter_table() -> dict[str, Counter[str]]:
    """The counts of the starter corpus by language, and the lines of each package."""
    columns = ("language", "lines", "bytes", "characters", "reach")
    rows = read_tsv(str(resources.files("vocap.corpora") / "starter.tsv"), columns)
    table = {}
    for row in rows:
        language = row.pop("language")
        table[language] = Counter({name: int(cell) for name, cell in row.items()})
    return table


def parse_source(value: Any) -> Source:
    """The settings of a source from keys and values; settings as they are.

    Raises ValueError unless exactly one key tells the kind, and pydantic's
    ValidationError for wrong values.
    """
    if isinstance(value, Source):
        return value
    if not isinstance(value, Mapping):
        raise ValueError("write keys and values, such as {path: /data/{lang}.txt}")
    given = [key for key in ("url", *SOURCE_KINDS) if value.get(key) is not None]
    if len(given) != 1:
        kinds = ", ".join(["url", *SOURCE_KINDS])
        raise ValueError(f"a source has exactly one of {kinds}; this one has {len(given)}")
    if given == ["url"]:
        value = {**value, "path": check_url(str(value["url"]))}
        del value["url"]
    return SOURCE_KINDS["path" if given == ["url"] else given[0]].model_validate(value)


# a field of any registered kind: a union of pydantic holds those that are registered
# before its declaration
AnySource = Annotated[
    Source,
    pydantic.GetPydanticSchema(
        lambda *_: pydantic_core.core_schema.no_info_plain_validator_function(parse_source),
        lambda _, handler: handler(
            pydantic.TypeAdapter(Union[tuple(SOURCE_KINDS.values())]).core_schema  # noqa: UP007
        ),
    ),
]


@dataclass(frozen=True)
class Resolved:
    """The text of one language in a source."""

    name: str  # of the source
    language: str  # our code
    code: str  # the source's own code
    source: Source
    paths: list[str]  # files, folders and patterns, as written in the configuration
    script: str = ""  # of the language, ISO 15924

    @property
    def remote(self) -> bool:
        """Whether any text is elsewhere than on this machine: a listing then stands for
        the files.
        """
        return any(map(is_remote, self.paths))

    @property
    def absent(self) -> list[str]:
        """The paths on this machine without a file, and links in them to none."""
        found = expand_all(path for path in self.paths if not is_remote(path))
        return [path for path in found if not os.path.isfile(path)]

    def files(self) -> list[str]:
        """The files of the paths, none of which is remote, without empty ones unless all
        are; raises UsageError for one whose name a workflow cannot take.
        """
        files = list(filter(os.path.isfile, expand_all(self.paths)))
        files = list(filter(os.path.getsize, files)) or files
        for file in files:
            try:
                check_path(file)
            except ValueError as error:
                raise UsageError(f"corpora.sources.{self.name}: {file}: {error}") from None
        return files

    def listing(self, results: str, stage: str = "corpora") -> str:
        """The listing of remote text that jobs of `stage` read."""
        folder = "corpora" if stage == "corpora" else f"{stage}/listings"
        return f"{results}/{folder}/{self.language}/files.json"

    def inputs(self, results: str, stage: str = "corpora") -> list[str]:
        """The files and folders below `results` or of the user's that a job of `stage`
        reads: for remote text the hash of its listing.
        """
        if self.source.folder:
            return [f"{results}/{self.source.folder}"]
        listing = Path(self.listing(results, stage))
        return [str(listing.with_suffix(".sha256"))] if self.remote else self.files()

    def versions(self) -> dict[str, list[tuple[str, int, int]]]:
        """Size and time of change of every file of a text of this machine's, which an older
        file may have in the place of a newer one; empty for text that a rule makes or lists.
        """
        files = [] if self.remote or self.source.folder else self.files()
        states = [(file, os.stat(file)) for file in files]
        return {"versions": [(file, one.st_size, one.st_mtime_ns) for file, one in states]}

    def texts(self, inputs: list[str]) -> list[str]:
        """These inputs as arguments of a command; patterns as they are written."""
        if self.source.folder:
            return [f"{inputs[0]}/{self.language}.txt"]
        return [f"--listing={Path(inputs[0]).with_suffix('.json')}"] if self.remote else self.paths

    @property
    def stored(self) -> StoredText:
        """How the text lies in its files; the filters have the script of the language."""
        own = {name: getattr(self.source, name) for name in StoredText.model_fields}
        return StoredText(**own | {"filters": self.source.filters.of_script(self.script)})

    def sampling(self, **limits: Any) -> Sampling:
        """The settings of its sample within limits, which are fields of `Sampling`."""
        own = {"source": self.name, "allow_empty": self.source.allow_empty}
        return Sampling.given(self.stored, **own, **limits)


def resolve(name: str, source: Source, language: Language) -> Resolved:
    """The text of `language` in `source`, called `name` in the configuration.

    Raises UsageError where it has none, or where the table lacks the column that holds
    its codes.
    """
    key = f"corpora.sources.{name}"
    remedy = (
        f"give {language.code} another source under corpora.languages, or leave it out of languages"
    )
    if language.code in source.missing:
        raise UsageError(f"{key}: it has no text in {language.name} ({language.code}): {remedy}")
    column = source.code_column
    own = language.facts.get(column, "") if column else language.code
    code = source.codes.get(language.code, own)
    if not code:
        raise UsageError(
            f"{key}.code_column: the table of languages has no {column!r} for {language.code}; "
            f"fill it in, or write the source's code under {key}.codes"
        )
    paths = source.paths_of(code)
    return Resolved(name, language.code, code, source, paths, language.script)
