"""The configuration: one typed section a stage, checked as a whole before anything runs."""

import copy
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields as fields_of
from itertools import chain
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, field_validator, model_validator

from vocap.allocation.settings import Allocation, rows_beside_pieces
from vocap.config_errors import describe, yaml_booleans
from vocap.corpora.settings import Corpora, Download, Resolved, resolve_all
from vocap.correlation.study import Correlation
from vocap.errors import UsageError, VocapError
from vocap.files.paths import PlainPath
from vocap.files.plain_data import read_yaml
from vocap.files.tsv import number
from vocap.finetuning.published import ARCHIVES
from vocap.finetuning.reading import parse
from vocap.finetuning.settings import Finetuning
from vocap.finetuning.tasks import TASKS
from vocap.languages import Language, natural, read_languages, select
from vocap.options import CODE
from vocap.pretraining.settings import Pretraining
from vocap.report.settings import Report
from vocap.tokenizer_files import XLMR_ROWS
from vocap.tokenizer_files.id_layout import ROLES, SHORTHAND, XLM_R_LAYOUT, IdLayout
from vocap.tokenizers.settings import Joint, Kind, Vocap, tokenizer_type
from vocap.unigram.text_settings import NORMALIZATIONS, PRESETS, XLM_R, TextSettings, text_settings
from vocap.vocabularies.settings import Vocabularies
from vocap.wording import one_line

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

RESULTS = "results"  # folder of a run that names none
OF_THE_PROJECT = ("benchmarks", "config", "dev", "docs", "envs", "profiles", "rules", "slurm", "src", "tests")
RESERVED = ("tokens", "tokenizers", "downloads")  # folders of results/pretraining that are no model's
TUNING_RESERVED = ("checks", "inputs")  # likewise of results/finetuning
UNLIMITED = {"max_characters"}  # keys whose null is no default
SHOWN = 50  # mistakes that a message names
DIFFS = "diff"  # the folder of results/tokenizers that holds comparisons


def _text_keys() -> dict[str, Any]:
    """`preset`, and the fields of `TextSettings`; a key that is not given has the value of the preset."""
    preset = Field("xlm-r", description="settings that the other keys change")
    found: dict[str, Any] = {"preset": (Literal[tuple(PRESETS)], preset)}
    for one in fields_of(TextSettings):
        kind = list[str] if one.default == () else one.type
        help = one.metadata["help"]
        found[one.name] = (kind | None, Field(None, description=f"{help[0].lower()}{help[1:-1]}"))
    return found


class Text(create_model("TextKeys", __config__=ConfigDict(extra="forbid", strict=True), **_text_keys())):
    """How text is normalised and cut, of all languages and stages.

    >>> Text(preset="lossless", split_digits=False).settings.changed()["normalization"]
    'identity'
    """

    @model_validator(mode="after")
    def _usable(self) -> "Text":
        try:
            self.settings  # noqa: B018 - raises for values that contradict each other
        except UsageError as error:
            raise ValueError(str(error)) from None
        return self

    @property
    def settings(self) -> TextSettings:
        """The preset with the given keys."""
        given = self.model_dump(exclude={"preset"}, exclude_none=True)
        lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
        return text_settings(self.preset, **{**given, **lists})


class Settings(BaseModel):
    """The whole configuration: the files of `--configfile`, or `config/config.yaml` where none is given."""

    model_config = ConfigDict(extra="forbid", strict=True)

    results: PlainPath = Field(RESULTS, description="folder that the run writes")
    seed: int = Field(
        1, ge=0, le=2**63 - 1, description="of every random choice: samples, held-out lines, shuffles"
    )
    languages: Literal["all"] | list[str] = Field(
        "all",
        description="codes of corpora.table, or all of them but those of the groups code, math and chat",
    )
    downloads: dict[str, Download] = Field({}, description="files besides text that can be fetched, by name")
    text: Text = Text()
    layout: IdLayout = XLM_R_LAYOUT
    corpora: Corpora = Field(default_factory=Corpora)
    vocabularies: Vocabularies = Vocabularies()
    allocation: dict[str, Allocation] = {}
    tokenizers: dict[str, tokenizer_type()] = {}
    pretraining: Pretraining = Pretraining()
    finetuning: Finetuning = Finetuning()
    correlation: Correlation = Correlation()
    report: Report = Report()

    @field_validator("results")
    @classmethod
    def _of_its_own(cls, results: str) -> str:
        normal = os.path.normpath(results)
        if os.path.basename(normal) in ("", ".", "..") or normal.partition("/")[0] in OF_THE_PROJECT:
            raise ValueError("a run has a folder of its own; name one, as results/mine")
        return normal

    @field_validator("layout", mode="before")
    @classmethod
    def _by_name(cls, layout: Any) -> Any:
        if isinstance(layout, str) and layout != SHORTHAND:
            raise ValueError(f"write {SHORTHAND}, or a map such as {{mask: false, reserved: 8}}")
        return XLM_R_LAYOUT if layout == SHORTHAND else layout

    @model_validator(mode="after")
    def _rows_beside_pieces(self) -> "Settings":
        """Allocations leave the rows free that special tokens, and byte fallback and symbols of the text, take."""
        for name, entry in self.allocation.items():
            rows = {
                "special_tokens": self.layout.rows,
                "other_rows": rows_beside_pieces(self.text.settings, entry.rule),
            }
            new = {key: value for key, value in rows.items() if key not in entry.model_fields_set}
            self.allocation[name] = entry.model_copy(update=new)
        return self

    @property
    def logs(self) -> str:
        """Folder of the run's logs and benchmark files: in that of the results, but for the default one."""
        return "logs" if self.results == RESULTS else f"{self.results}/logs"

    def selected(self) -> list[Language]:
        """The languages of this run, in the order in which the configuration names them."""
        table = read_languages(self.corpora.table)
        return select(table, natural(table) if self.languages == "all" else self.languages)

    def rows(self, tokenizer: str) -> int:
        """T of a tokenizer, the rows of its embedding table; XLM-R's where only its file knows."""
        return self.tokenizers[tokenizer].rows(self) or XLMR_ROWS

    def pretraining_sources(self) -> dict[str, Resolved]:
        """Where each language's pre-training text comes from; empty where it is the vocabularies' own text.

        Raises UsageError as `resolve_all` does.
        """
        own = self.pretraining
        if own.corpus is None or not own.models:
            return {}
        corpora = self.corpora.model_copy(update={"source": own.corpus, "languages": own.languages})
        return resolve_all(corpora, self.selected())


def load(config: Mapping[str, Any]) -> Settings:
    """Check a merged configuration; entries that a later file set to null are gone.

    Raises UsageError with one line for every mistake: the key, what is wrong, and what would be right.
    """
    config = _without_nulls(config)
    mistakes = list(yaml_booleans(config))
    if not mistakes:
        try:
            settings = Settings.model_validate(config)
        except ValidationError as error:
            schema = Settings.model_json_schema()
            mistakes = list(dict.fromkeys(describe(detail, schema) for detail in error.errors()))
        else:
            mistakes = list(_loose_ends(settings))
    if mistakes:
        more = [f"and {len(mistakes) - SHOWN} more"] if len(mistakes) > SHOWN else []
        lines = [*map(one_line, mistakes[:SHOWN]), *more]
        raise UsageError("the configuration cannot be used:\n" + "\n".join(f"  {line}" for line in lines))
    return settings


def read_files(paths: Iterable[str | os.PathLike]) -> dict[str, Any]:
    """YAML files merged key by key, later ones over earlier ones, as Snakemake merges `--configfile`.

    Raises UsageError for a file that is not there, or is no YAML map, and as `read_yaml`.
    """
    merged: dict[str, Any] = {}
    for path in paths:
        content = read_yaml(path, "name a configuration file, and call from the project's root")
        if not isinstance(content, Mapping):
            raise UsageError(f"{path}: not a map of keys to values; docs/configuration.md lists the keys")
        _merge(merged, content)
    return merged


def _merge(base: dict[str, Any], changes: Mapping[str, Any]) -> None:
    for key, value in changes.items():
        if isinstance(value, Mapping) and isinstance(base.get(key), dict):
            _merge(base[key], value)
        else:
            base[key] = copy.deepcopy(value)


def _without_nulls(value: Any) -> Any:
    """Drop `NAME: null` entries of named maps, which is how a file merged later removes one."""
    if isinstance(value, Mapping):
        return {
            key: _without_nulls(entry) for key, entry in value.items() if entry is not None or key in UNLIMITED
        }
    return value


def _loose_ends(settings: Settings) -> list[str]:
    """Names of one section that another must know."""
    try:
        table = read_languages(settings.corpora.table)
    except VocapError as error:
        return [f"corpora.table: {error}"]
    chosen = list(natural(table)) if settings.languages == "all" else settings.languages
    mistakes = [
        *_languages(settings, table, chosen),
        *_weights(settings, table, chosen),
        *_names(settings),
        *_text(settings),
        *_allocations(settings, chosen),
        *_tokenizers(settings, chosen),
        *_models(settings, table),
        *_tuned(settings),
        *_studied(settings, chosen),
    ]
    return list(dict.fromkeys(mistakes))


def _languages(settings: Settings, table: Mapping[str, Language], chosen: list[str]) -> Iterator[str]:
    """Codes that the table does not have, and sources that are not there."""
    own, where = settings.corpora, settings.corpora.table
    if not chosen:
        yield "languages: the list is empty; name at least one, or write: languages: all"
    for code in chosen:
        if code not in table:
            yield f"languages: unknown code {code!r}; {where} lists the known ones, add a row for a new one"
        elif chosen.count(code) > 1:
            yield f"languages: {code!r} is given {chosen.count(code)} times; keep one"
        elif not CODE.fullmatch(code):
            yield f"corpora.table: {where}: {code!r} is not a language code; use letters, digits, - and _"
    for code, source in own.languages.items():
        if code not in table:
            yield f"corpora.languages.{code}: unknown code; {where} lists the known ones"
        if source not in own.sources:
            yield f"corpora.languages.{code}: no source {source!r} under corpora.sources"
    if own.source not in own.sources:
        yield f"corpora.source: no source {own.source!r} under corpora.sources ({', '.join(own.sources)})"


def _names(settings: Settings) -> Iterator[str]:
    """Names that cannot be folders."""
    sections = {
        "allocation": settings.allocation,
        "tokenizers": settings.tokenizers,
        "pretraining.models": settings.pretraining.models,
        "finetuning.models": settings.finetuning.tuned([]),
        "downloads": settings.downloads,
        "corpora.sources": [
            name for name, source in settings.corpora.sources.items() if source and source.url_of("en")
        ],
    }
    for section, entries in sections.items():
        for name in entries:
            if not NAME.fullmatch(name):
                yield f"{section}.{name}: names become folders: use letters, digits, dots, - and _"


def _text(settings: Settings) -> Iterator[str]:
    """Keys of the text that a stage of this run cannot keep."""
    text = settings.text.settings
    if settings.vocabularies.seeds == "words" and text != XLM_R:
        yield (
            f"vocabularies.seeds: words knows the text of preset xlm-r alone; write classic, or leave out "
            f"{', '.join(f'text.{key}' for key in text.changed())}"
        )
    if text.rule_file and not os.path.isfile(text.rule_file):
        known = ", ".join(NORMALIZATIONS)
        yield f"text.normalization: {text.rule_file}: no such file; take {known}, or a file *.tsv"


def _allocations(settings: Settings, chosen: list[str]) -> Iterator[str]:
    """Languages that an allocation leaves out."""
    for name, entry in settings.allocation.items():
        for code in entry.without:
            if code not in chosen:
                yield f"allocation.{name}.without: {code!r} is not among the languages of this run"
        if chosen and set(entry.without).issuperset(chosen):
            yield f"allocation.{name}.without: no language is left to allocate to; name fewer"


def _tokenizers(settings: Settings, chosen: list[str]) -> Iterator[str]:
    """Contradictions of tokenizers with other sections, and names of comparisons that clash."""
    for name, entry in settings.tokenizers.items():
        key = f"tokenizers.{name}"
        if name == DIFFS:
            yield f"{key}: results/tokenizers/{name} holds comparisons; give the tokenizer another name"
        yield from (f"{key}{mistake}" for mistake in entry.mistakes(settings, chosen))
    made = {
        name: entry
        for name, entry in settings.tokenizers.items()
        if entry.kind != "vocap" or entry.allocation in settings.allocation
    }
    folders: dict[str, tuple[str, str]] = {}
    for pair in compared_pairs(made, settings.allocation):
        if (other := folders.setdefault("-".join(pair), pair)) != pair:
            yield (
                f"tokenizers.{pair[1]}: {' with '.join(pair)} and {' with '.join(other)} would both be compared "
                f"in results/tokenizers/{DIFFS}/{'-'.join(pair)}; give one another name"
            )


def _models(settings: Settings, table: Mapping[str, Language]) -> Iterator[str]:
    """References of the pretraining section to other sections."""
    own = settings.pretraining
    for name, entry in own.models.items():
        key = f"pretraining.models.{name}"
        if name in RESERVED:
            yield f"{key}: results/pretraining/{name} holds something else; give the model another name"
        if entry.tokenizer not in settings.tokenizers:
            yield f"{key}.tokenizer: no tokenizer is named {entry.tokenizer!r}"
        else:
            rows = settings.tokenizers[entry.tokenizer].rows(settings)  # None: only its file knows
            if reason := entry.loss.check(math.inf if rows is None else rows - settings.layout.rows):
                yield f"{key}.loss.{reason}"
            if settings.tokenizers[entry.tokenizer].kind != "file" and (lacking := _lacking(settings.layout)):
                yield (
                    f"{key}: a masked language model needs special tokens of every role, and the layout has none "
                    f"of role {lacking}; add them under layout.special (layout.mask: true for the mask)"
                )
    for code, source in [("", own.corpus), *own.languages.items()]:
        key = f"pretraining.languages.{code}" if code else "pretraining.corpus"
        if code and code not in table:
            yield f"{key}: unknown code; {settings.corpora.table} lists the known ones"
        if source is not None and source not in settings.corpora.sources:
            known = ", ".join(settings.corpora.sources)
            yield f"{key}: no source {source!r} under corpora.sources ({known})"


def _lacking(layout: IdLayout) -> str:
    """The roles without a special token, comma-separated; the mask among them."""
    return ", ".join([role for role in ROLES if layout.token(role) is None] + ["mask"] * (not layout.mask))


def _tuned(settings: Settings) -> Iterator[str]:
    """References of the finetuning section to the pretraining section."""
    try:
        parse(settings.finetuning.stand_ins)
    except UsageError as error:
        yield f"finetuning.{error}"
    if settings.finetuning.download:
        if settings.finetuning.xtreme is None:
            yield "finetuning.download: name the folder that files are fetched to, finetuning.xtreme"
        for name in dict.fromkeys(chain(*ARCHIVES.values())):
            if name not in settings.downloads:
                yield f"finetuning.download: no file {name!r} under downloads; config/sources.yaml has them"
    known = settings.pretraining.models
    for name, entry in settings.finetuning.tuned(known).items():
        key = f"finetuning.models.{name}"
        if name in TUNING_RESERVED:
            yield f"{key}: results/finetuning/{name} holds something else; give the model another name"
        if entry.path is not None:
            continue
        origin = entry.model or name
        if origin not in known:
            yield f"{key}.model: no model of pretraining is named {origin!r}; name one, or give a path"
        elif entry.step is not None and entry.step not in known[origin].export_steps:
            yield f"{key}.step: {entry.step} is not among export_steps of pretraining.models.{origin}"


def _studied(settings: Settings, chosen: list[str]) -> Iterator[str]:
    """References of the correlation section to other sections."""
    own = settings.correlation
    for code in own.languages:
        if code not in chosen:
            yield f"correlation.languages: {code!r} is not among the languages of this run"
        yield from (
            f"correlation.tasks: {task} has no language {code!r}; take one of them out"
            for task in own.tasks
            if code not in TASKS[task].languages
        )
    if own.languages:
        yield from (
            f"correlation.sizes: {size} is not among vocabularies.sizes"
            for size in own.sizes
            if size not in settings.vocabularies.sizes
        )
        if own.model.shape.positions < settings.pretraining.block:
            yield f"correlation.model.shape.positions: below pretraining.block, {settings.pretraining.block}"


def _weights(settings: Settings, table: Mapping[str, Language], chosen: list[str]) -> list[str]:
    """A column of the table that is to weigh the languages must have a number above 0 for each."""
    column = settings.corpora.weights
    if column in ("lines", "bytes"):
        return []
    mistakes = []
    for code in chosen:
        facts = table[code].facts if code in table else {column: "1"}
        if column not in facts:
            numeric = [name for name in facts if name.startswith("paper_")]
            return [
                f"corpora.weights: {settings.corpora.table} has no column {column!r}; "
                f"lines, bytes, or a numeric column such as {', '.join(numeric)}"
            ]
        if not 0 < number(facts[column]) < math.inf:
            mistakes.append(
                f"corpora.weights: {settings.corpora.table}, language {code}: {column} is {facts[column]!r}, "
                "not a number above 0; fill it in, or leave the language out"
            )
    return mistakes


def compared_pairs(tokenizers: Mapping[str, Kind], allocations: Mapping[str, Allocation]) -> list[tuple[str, str]]:
    """Names of A and B, smallest T first, then in the order of `tokenizers`.

    A: the first JOINT tokenizer of its T. B: of each rule of allocation, the first VOCAP tokenizer of that T. Each
    comparison takes about 10 s at T = 100,000 and 86 languages, so further ones are left to `vocap diff`.
    """
    joint: dict[int, str] = {}
    chosen: dict[tuple[int, str], str] = {}
    for name, entry in tokenizers.items():
        if isinstance(entry, Joint):
            joint.setdefault(entry.total, name)
        elif isinstance(entry, Vocap):
            allocation = allocations[entry.allocation]
            chosen.setdefault((allocation.total, allocation.rule), name)
    pairs = [(total, joint[total], b) for (total, _), b in chosen.items() if total in joint]
    return [(a, b) for _, a, b in sorted(pairs, key=lambda pair: pair[0])]
