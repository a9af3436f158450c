"""The configuration: one typed section a stage, checked as a whole before anything
runs.
"""

import copy
import math
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from vocap.allocation.settings import Allocation, rows_beside_pieces
from vocap.config_errors import describe_all, with_lines
from vocap.corpora.settings import Corpora, Download, resolve_all
from vocap.corpora.sources import Resolved
from vocap.correlation.study import Correlation
from vocap.errors import UsageError, VocapError, listed
from vocap.files.io import read_yaml
from vocap.files.paths import PlainPath
from vocap.finetuning.published import ARCHIVES
from vocap.finetuning.settings import Finetuning
from vocap.finetuning.tasks import TASKS
from vocap.languages import CODE, Language, natural, read_languages, select
from vocap.pretraining.settings import Pretraining
from vocap.report import Report
from vocap.section import ConfigSection
from vocap.tables.sampling_probabilities import column_weight
from vocap.tokenizer_files import XLMR_ROWS
from vocap.tokenizer_files.id_layout import ROLES, SHORTHAND, XLM_R_LAYOUT, IdLayout
from vocap.tokenizers.settings import tokenizer_type
from vocap.unigram.training_settings import TextSection
from vocap.vocabularies.settings import Vocabularies

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

RESULTS = "results"  # folder of a run that names none
# no folder of a run's own: a root, and the folders of the project
TAKEN = re.compile(
    r"(.*/)?\.{0,2}|(benchmarks|config|dev|docs|envs|profiles|rules|slurm|src|tests)(/.*)?"
)
UNLIMITED = {"max_characters", "model_max_length"}  # keys whose null is no default
# keys of paths: one that begins with ./ or ../ lies beside its configuration file
PATHS = {"results", "table", "path", "parallel", "development", "chat_template", "xtreme"}
SHOWN = 50  # mistakes that a message names
OF_THIS_RUN = "the languages of this run"


class Settings(ConfigSection):
    """The whole configuration: the files of `--configfile`, or `config/config.yaml`
    where none is given.
    """

    results: PlainPath = Field(RESULTS, description="folder that the run writes")
    seed: int = Field(
        1,
        ge=0,
        le=2**63 - 1,
        description="seed of all random choices: samples, held-out lines, shuffles",
    )
    languages: Literal["all"] | list[str] = Field(
        "all",
        description="codes of corpora.table, or all of them but those of the groups code, math "
        "and chat",
    )
    memory: int | None = Field(
        None,
        ge=1,
        description="megabytes of memory that a ladder, PIECES, JOINT and byte-pair encoding may "
        "take, as far as they can; the results are the same. By default memory has no limit",
    )
    downloads: dict[str, Download] = Field(
        {}, description="files besides text that can be fetched, by name"
    )
    text: TextSection = TextSection()
    layout: IdLayout = XLM_R_LAYOUT
    corpora: Corpora = Field(default_factory=Corpora)
    vocabularies: Vocabularies = Vocabularies()
    allocation: dict[str, Allocation] = Field({})
    tokenizers: dict[str, tokenizer_type()] = Field({})  # type: ignore[valid-type]  # known kinds
    pretraining: Pretraining = Pretraining()
    finetuning: Finetuning = Finetuning()
    correlation: Correlation = Correlation()
    report: Report = Report()

    @field_validator("results")
    @classmethod
    def _of_its_own(cls, results: str) -> str:
        normal = os.path.normpath(results)
        if TAKEN.fullmatch(normal):
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
        """Allocations leave the rows free that special tokens, and byte fallback and
        symbols of the text, take.
        """
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
        """Folder of the run's logs and benchmark files: in that of the results, but for
        the default one.
        """
        return "logs" if self.results == RESULTS else f"{self.results}/logs"

    def selected(self) -> list[Language]:
        """The languages of this run, in the order in which the configuration names
        them.
        """
        table = read_languages(self.corpora.table)
        return select(table, natural(table) if self.languages == "all" else self.languages)

    def rows(self, tokenizer: str) -> int:
        """T of a tokenizer, the rows of its embedding table; XLM-R's where only its
        file knows.
        """
        return self.tokenizers[tokenizer].rows(self) or XLMR_ROWS

    def pretraining_sources(self) -> dict[str, Resolved]:
        """Where each language's pre-training text comes from; empty where it is the
        vocabularies' own text.

        Raises UsageError as `resolve_all` does.
        """
        own = self.pretraining
        if own.corpus is None or not own.models:
            return {}
        corpora = self.corpora.model_copy(update={"source": own.corpus, "languages": own.languages})
        return resolve_all(corpora, self.selected())


def load(config: Mapping[str, Any], files: Sequence[str | Path] = ()) -> Settings:
    """Check a merged configuration; entries that a later file set to null are gone.

    Paths that begin with ./ or ../ are those from the folder of the file that gives
    them. Raises UsageError with one line for every mistake: the key, what is wrong, and
    what would be right; before it the line of that one of `files`, which were merged,
    that gives the key.
    """
    config = _without_nulls(config)
    for path in reversed(files):
        config = place_beside(config, Path(path).parent, read_yaml(path))
    try:
        settings = Settings.model_validate(config)
        mistakes = _loose_ends(settings)
    except ValidationError as error:
        mistakes = describe_all(error.errors(), config)
    if mistakes:
        said = listed(with_lines(mistakes, files), SHOWN, "\n  ")
        raise UsageError(f"the configuration cannot be used:\n  {said}")
    return settings


def read_files(paths: Iterable[str | Path]) -> dict[str, Any]:
    """YAML files merged key by key, later ones over earlier ones, as Snakemake merges
    `--configfile`.

    Raises UsageError for a file that is not there, or is no YAML map, and as
    `read_yaml`.
    """
    merged: dict[str, Any] = {}
    for path in paths:
        content = read_yaml(path, "name a configuration file, and call from the project's root")
        if not isinstance(content, Mapping):
            raise UsageError(
                f"{path}: not a map of keys to values; docs/configuration.md lists the keys"
            )
        _merge(merged, content)
    return merged


def place_beside(value: Any, folder: Path, given: Any, key: str = "") -> Any:
    """A configuration with the paths in `folder` that its file gives with ./ or ../ at
    the beginning; `given`: what the file holds.

    They are paths from the working directory, where they lie in it.

    >>> given = {"results": "./results", "report": {"title": "./"}}
    >>> place_beside(given, Path("my-text"), given)
    {'results': 'my-text/results', 'report': {'title': './'}}
    """
    if isinstance(value, Mapping) and isinstance(given, Mapping):
        return {
            name: place_beside(entry, folder, given.get(name), name)
            for name, entry in value.items()
        }
    if isinstance(value, list) and value == given:
        return [place_beside(entry, folder, entry, key) for entry in value]
    if key in PATHS and value == given and str(value).startswith(("./", "../")):
        path, here = os.path.abspath(folder / value), os.getcwd()
        return os.path.relpath(path, here) if path.startswith(f"{here}/") else path
    return value


def _merge(base: dict[str, Any], changes: Mapping[str, Any]) -> None:
    for key, value in changes.items():
        if isinstance(value, Mapping) and isinstance(base.get(key), dict):
            _merge(base[key], value)
        else:
            base[key] = copy.deepcopy(value)


def _without_nulls(value: Any) -> Any:
    """Drop `NAME: null` entries of named maps, which is how a file merged later removes
    one.
    """
    if isinstance(value, Mapping):
        return {
            key: _without_nulls(entry)
            for key, entry in value.items()
            if entry is not None or key in UNLIMITED
        }
    return value


def _loose_ends(settings: Settings) -> list[str]:
    """Names of one section that another must know, names that cannot be folders, and
    contradictions.
    """
    try:
        table = read_languages(settings.corpora.table)
    except VocapError as error:
        return [f"corpora.table: {error}"]
    chosen = list(natural(table)) if settings.languages == "all" else settings.languages
    if not chosen:
        return ["languages: the list is empty; name at least one, or write: languages: all"]
    mistakes = [
        *_languages(settings, table, chosen),
        *_references(settings, chosen),
        *_names(settings, chosen),
        *_weights(settings, table, chosen),
        *_template(settings),
        *_tokenizers(settings, chosen),
        *_models(settings),
        *_tuned(settings),
    ]
    return list(dict.fromkeys(mistakes))


def _among(key: str, name: object, known: Collection[object], where: str) -> Iterator[str]:
    """The line for a name under a key that is not one of those `known`, listed in `where`."""
    if name not in known:
        yield f"{key}: {name!r} is not among {where}"


def _languages(
    settings: Settings, table: Mapping[str, Language], chosen: list[str]
) -> Iterator[str]:
    """Languages, and the sources of their text."""
    corpora, pretraining = settings.corpora, settings.pretraining
    rows = f"the languages of {corpora.table}; add a row for a new one"
    sources = f"corpora.sources ({', '.join(corpora.sources)})"
    by_iso = {language.facts.get("iso639_3"): code for code, language in table.items()}
    for code in chosen:
        meant = f" (did you mean {by_iso[code]}?)" if code in by_iso else ""
        yield from _among("languages", code, table, rows + meant)
        if chosen.count(code) > 1:
            yield f"languages: {code!r} is given more than once; keep one"
    yield from _among("corpora.source", corpora.source, corpora.sources, sources)
    if pretraining.corpus is not None:
        yield from _among("pretraining.corpus", pretraining.corpus, corpora.sources, sources)
    for section, given in (("corpora", corpora.languages), ("pretraining", pretraining.languages)):
        for code, source in given.items():
            key = f"{section}.languages.{code}"
            yield from _among(key, code, table, rows)
            yield from _among(key, source, corpora.sources, sources)
    for name, allocation in settings.allocation.items():
        for code in allocation.without:
            yield from _among(f"allocation.{name}.without", code, chosen, OF_THIS_RUN)


def _references(settings: Settings, chosen: list[str]) -> Iterator[str]:
    """Tokenizers of models, models that are fine-tuned, and the correlation study."""
    models, study = settings.pretraining.models, settings.correlation
    for name, model in models.items():
        key = f"pretraining.models.{name}.tokenizer"
        yield from _among(key, model.tokenizer, settings.tokenizers, "tokenizers")
    for name, tuned in settings.finetuning.tuned(models).items():
        if tuned.path is not None:
            continue
        key, origin = f"finetuning.models.{name}", tuned.model or name
        where = "pretraining.models; name one of them, or give a path"
        yield from _among(f"{key}.model", origin, models, where)
        if tuned.step is not None and origin in models:
            where = f"export_steps of pretraining.models.{origin}"
            yield from _among(f"{key}.step", tuned.step, models[origin].export_steps, where)
    for code in study.languages:
        yield from _among("correlation.languages", code, chosen, OF_THIS_RUN)
        for task in study.tasks:
            where = f"the languages of {task}; take one out"
            yield from _among("correlation.tasks", code, TASKS[task].languages, where)
    if study.languages:
        for size in study.sizes:
            sizes = settings.vocabularies.sizes
            yield from _among("correlation.sizes", size, sizes, "vocabularies.sizes")


def _names(settings: Settings, chosen: list[str]) -> Iterator[str]:
    """Names that cannot be folders, and those that are folders of something else."""
    for code in chosen:
        if not CODE.fullmatch(code):
            where = f"corpora.table: {settings.corpora.table}"
            yield f"{where}: {code!r} is not a language code; use letters, digits, - and _"
    sections = {
        "allocation": (settings.allocation, ()),
        "tokenizers": (settings.tokenizers, ()),
        "pretraining.models": (settings.pretraining.models, ("tokens", "tokenizers", "listings")),
        "finetuning.models": (settings.finetuning.tuned([]), ("inputs",)),
        "downloads": (settings.downloads, ()),
    }
    for section, (entries, reserved) in sections.items():
        for name in entries:
            if not NAME.fullmatch(name):
                yield f"{section}.{name}: names become folders: use letters, digits, dots, - and _"
            if name in reserved:
                yield f"{section}.{name}: this folder holds something else; take another name"


def _template(settings: Settings) -> Iterator[str]:
    """A chat template that cannot be read, or names tokens that the layout and the text
    do not have.
    """
    text = settings.text.settings
    own = chain.from_iterable(
        getattr(one, "user_defined_symbols", None) or () for one in settings.tokenizers.values()
    )
    try:
        settings.layout.read_template([*text.control_symbols, *text.user_defined_symbols, *own])
    except UsageError as error:
        yield str(error)


def _tokenizers(settings: Settings, chosen: list[str]) -> Iterator[str]:
    """Contradictions of allocations and tokenizers with other sections."""
    for name, entry in settings.allocation.items():
        if set(entry.without).issuperset(chosen):
            yield f"allocation.{name}.without: no language is left to allocate to; name fewer"
    for name, entry in settings.tokenizers.items():
        yield from (f"tokenizers.{name}{mistake}" for mistake in entry.mistakes(settings, chosen))


def _models(settings: Settings) -> Iterator[str]:
    """Contradictions of models with their tokenizers, and of the study with its
    text.
    """
    for name, entry in settings.pretraining.models.items():
        key = f"pretraining.models.{name}"
        tokenizer = settings.tokenizers.get(entry.tokenizer)
        if tokenizer is None:
            continue
        rows = tokenizer.rows(settings)  # None: only its file knows
        if reason := entry.loss.check(math.inf if rows is None else rows - settings.layout.rows):
            yield f"{key}.loss.{reason}"
        needed = ["eos"] if entry.causal else [*ROLES, "mask"]
        lacking = ", ".join(role for role in needed if role not in settings.layout.roles)
        if lacking and tokenizer.made:
            kind = "causal" if entry.causal else "masked"
            yield (
                f"{key}: a {kind} model needs a token of role {lacking}; add it under "
                "layout.special (layout.mask: true for the mask), or change objective: causal "
                "takes eos alone"
            )
    for name, tuned in (settings.finetuning.models or {}).items():
        source = settings.pretraining.models.get(tuned.model or name)
        if tuned.path is None and source is not None and source.causal:
            yield (
                f"finetuning.models.{name}: a causal model, and XTREME's tasks take masked "
                "ones; leave it out"
            )
    study, block = settings.correlation, settings.pretraining.block
    if study.languages and study.model.shape.positions < block:
        yield f"correlation.model.shape.positions: below pretraining.block, {block}"


def _tuned(settings: Settings) -> Iterator[str]:
    """Files of XTREME that are to be fetched."""
    key = "finetuning.download"
    if settings.finetuning.download:
        if settings.finetuning.xtreme is None:
            yield f"{key}: name the folder that files are fetched to, finetuning.xtreme"
        for name in chain(*ARCHIVES.values()):
            where = "downloads; config/sources.yaml has them"
            yield from _among(key, name, settings.downloads, where)


def _weights(settings: Settings, table: Mapping[str, Language], chosen: list[str]) -> Iterator[str]:
    """A column of the table that is to weigh the languages must have a number above 0
    for each.
    """
    column = settings.corpora.weights
    if column in ("lines", "bytes"):
        return
    for code in chosen:
        try:
            if code in table:
                column_weight(table, code, column, settings.corpora.table)
        except VocapError as error:
            yield f"corpora.weights: {error}"
