"""The results of the stages as plain data, without paths."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas

from vocap.allocation.inputs import LanguageInput
from vocap.allocation.rules import RULES, Rule
from vocap.correlation.study import StudyPoint
from vocap.finetuning.scores import ALL as MEAN
from vocap.languages import RESOURCES, Language
from vocap.report.page.tables import Column, format_number
from vocap.report.paper import paper_languages
from vocap.tables.curve import Point, Sizes
from vocap.tables.frames import build_frame, records
from vocap.tokenizers.settings import KINDS, Kind

Records = list[dict[str, Any]]  # rows of a table, by column
SCORES = ("task", "language", "metric", "mean", "std")  # columns of `Finetuned.scores`
ALL = "all"  # every language, beside the resource groups
NO_AMOUNT = "n unknown"


def look_up(value: Any, *path: str) -> Any:
    """A value inside nested objects by its keys; None where it is not there.

    >>> found = look_up({"settings": {"total": 5}}, "settings", "total")
    >>> found, look_up({"settings": "none"}, "settings", "total")
    (5, None)
    """
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


@dataclass(frozen=True)
class AllocationResults:
    """One named allocation: its rows, its summary as written, and the rows of its
    merged vocabulary.
    """

    name: str
    shares: pandas.DataFrame  # allocation.tsv by language, with nullable numbers
    summary: dict[str, Any]
    pieces: int | None  # rows of vocabulary.tsv, None where the file is not there
    # of a rule that makes models: each language's own
    models: dict[str, Point]

    @property
    def rule(self) -> Rule | None:
        """The rule of its settings; None for an unknown one."""
        return RULES.get(str(self.setting("rule")))

    @property
    def text_rule(self) -> Rule | None:
        """`rule` where that reads the text of the languages, else None."""
        return self.rule if self.rule and self.rule.needs_text else None

    @property
    def settings(self) -> dict[str, Any]:
        """Its settings by the summary; empty where that lacks them."""
        return look_up(self.summary, "settings") or {}

    @property
    def sizes(self) -> dict[str, int]:
        """The size of each language that has one."""
        return self.shares["size"].dropna().to_dict()

    @property
    def warnings(self) -> list[str]:
        """The stage's warnings."""
        return self.summary.get("warnings") or []

    def setting(self, name: str) -> Any:
        """One of its settings by the summary; None where that lacks it."""
        return self.settings.get(name)


@dataclass(frozen=True)
class Tokenizer:
    """One named tokenizer: its description and measurements."""

    name: str
    description: dict[str, Any]
    # tables by language, NaN for an empty cell
    evaluation: pandas.DataFrame
    parallel: pandas.DataFrame
    round_trips: pandas.DataFrame  # a row a language and domain
    unknown: pandas.DataFrame  # characters that became <unk>, and their counts
    statuses: dict[str, int]  # of pieces.tsv, with their counts; empty without it
    dead: list[dict[str, str]]  # pieces that no text can produce, with the splits that score higher
    missing: tuple[str, ...]  # names of the files that are not there though its kind has them
    kind: str  # its name in vocap.tokenizers.settings.KINDS
    # that a VOCAP tokenizer was made from; None for other kinds, and where it is not known
    allocation: AllocationResults | None
    forms: tuple[
        str, ...
    ] = ()  # of sentencepiece.model, tokenizer.json and huggingface, those that are there
    # of read_lengths
    bits: dict[str, dict[str, Any]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def total(self) -> int | None:
        """T: the ids of the tokenizer; None where it is not known."""
        return self.description.get("total")

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that its command recorded; empty where it recorded none."""
        return self.description.get("settings") or {}

    @property
    def kind_class(self) -> type[Kind]:
        """The class that answers for its kind; of an unknown one the general answers."""
        return KINDS.get(self.kind, Kind)

    @property
    def text_rule(self) -> Rule | None:
        """That of its allocation."""
        return self.allocation.text_rule if self.allocation else None

    @property
    def asked(self) -> int | None:
        """T as configured; a tokenizer of little text has fewer ids."""
        said = self.allocation.summary if self.allocation else self.description
        total = look_up(said, "settings", "total")
        return total if isinstance(total, int) else self.total

    @property
    def kind_label(self) -> str:
        """The kind as a noun phrase; of an allocation by a rule that reads the text, the
        name of the rule.
        """
        if self.text_rule:
            return self.text_rule.name.upper()
        return self.kind_class.label or self.kind

    @property
    def method(self) -> str:
        """What chose its pieces: a rule of allocation, or one training."""
        if self.allocation and self.allocation.rule:
            return f"allocation, {self.allocation.rule.label} rule"
        said = self.kind_class.selection(self.settings, self.weights)
        return ", ".join(filter(None, said)) or self.kind

    @property
    def text(self) -> dict[str, Any]:
        """The numbers among `lines`, `word_types`, `alpha` and `beta` that
        `description.json` has under `text`.

        `sample` is True where the lines were drawn from more.
        """
        said = look_up(self.description, "text") or {}
        names = ("lines", "word_types", "alpha", "beta")
        known = {name: said[name] for name in names if said.get(name) is not None}
        return known | ({"sample": True} if isinstance(said.get("sentences"), int) else {})

    @property
    def weights(self) -> str:
        """The exponents that weigh languages, in words; empty where the description has
        none.
        """
        facts = self.text
        return ", ".join(f"{name} {facts[name]:g}" for name in ("alpha", "beta") if name in facts)


Stretch = tuple[str, bool]  # text of one token, and whether it is <unk>


@dataclass(frozen=True)
class CutSentence:
    """A held-out line and its cut under each of the tokenizers: stretches that make up
    the line, number of tokens.

    A token without text of its own (all but one of the bytes of a character, a space
    put before the line) has no stretch.
    """

    language: str
    text: str
    cuts: list[tuple[list[Stretch], int]]


@dataclass(frozen=True)
class ModelResults:
    """One pre-trained model: its description as written (empty without the file), and
    its lines of metrics.
    """

    name: str
    description: dict[str, Any]
    rows: list[dict[str, Any]]
    # of read_lengths
    bits: dict[str, dict[str, Any]] = field(default_factory=dict, compare=False, repr=False)

    def setting(self, *path: str) -> Any:
        """A value of the description by its keys, None where it is not there."""
        return look_up(self.description, *path)

    @property
    def parameters_mi(self) -> float | None:
        """The number of its parameters in 2^20, as the paper counts them."""
        parameters = self.setting("parameters")
        return parameters and parameters / 2**20

    @property
    def objective(self) -> str:
        """`masked` or `causal`; descriptions of earlier versions, which knew no other,
        lack it.
        """
        return self.setting("settings", "objective") or "masked"


@dataclass(frozen=True)
class Finetuned:
    """One model of the `finetuning` section.

    `selections`: selection.json by task, in the paper's order. `scores`: the rows of
    summary.tsv of all tasks, `task language metric mean std`, in percent over the seeds.
    """

    name: str
    selections: dict[str, dict[str, Any]] = field(default_factory=dict)
    scores: pandas.DataFrame = field(default_factory=partial(build_frame, SCORES, ()))
    average: float | None = None  # over the tasks with a score; None where there is none
    average_std: float | None = None  # over seeds
    # tasks without a score; where there are none the average is the paper's
    missing: tuple[str, ...] = ()

    @property
    def overall(self) -> pandas.DataFrame:
        """The rows of means over languages; none of a task whose test files had no labels."""
        return self.scores[self.scores.language == MEAN]

    @property
    def cells(self) -> dict[str, float]:
        """Means over languages and seeds, in percent, by task and measure: `xnli_acc`."""
        return {f"{row.task}_{row.metric}": row.mean for row in self.overall.itertuples()}

    def by_language(self, task: str) -> pandas.DataFrame:
        """The means of a task over seeds: a row a language, a column a measure."""
        rows = self.scores[(self.scores.task == task) & (self.scores.language != MEAN)]
        table = rows.pivot(index="language", columns="metric", values="mean")
        return table.loc[rows.language.unique()]

    @property
    def seed_range(self) -> str:
        """The number of seeds of its tasks, `1 to 5` where it differs."""
        counts = sorted({len(one["seeds"]) for one in self.selections.values()})
        return " to ".join(map(str, counts[:1] + counts[1:][-1:]))


def unknown_language(code: str) -> Language:
    """A language that no table has."""
    return Language(code, code, "", "unknown", {})


@dataclass(frozen=True, eq=False)
class Results:
    """All data of the page; an object is itself alone, so that what is computed from it
    can be kept.
    """

    languages: dict[str, Language]  # those of the run, sorted by name: the order of all rows below
    corpora: dict[str, dict[str, Any]]
    packages: list[dict[str, Any]]  # of the starter corpus, with licence and source
    weights: pandas.DataFrame  # weights.tsv by language, with nullable numbers
    line_counts: dict[str, float]  # n of `weights`, without those of none
    curves: dict[str, list[Point]]
    allocations: dict[str, AllocationResults]
    tokenizers: dict[str, Tokenizer]
    models: dict[str, ModelResults]
    training_bytes: dict[str, int]  # of the text that models are trained on, by language
    finetuned: dict[str, Finetuned]
    correlation: list[StudyPoint]
    settings: dict[str, Any]
    versions: dict[str, str]
    # by language, sizes that the study lacks
    unreached: dict[str, list[int]]
    # by kind, names of other configurations' results
    left: dict[str, list[str]]
    inputs: list[LanguageInput]  # of an allocation
    no_inputs: str  # the reason that there are none
    parallel_text: str  # the name of that of the tokenizers' evaluation
    folder: str  # of the stages' results, as the caller named it
    # curves over T, by the tokenizer that has one
    sizes: dict[str, Sizes]
    # cut by the tokenizers of the front page
    sentences: list[CutSentence] = field(default_factory=list)

    def section(self, *path: str) -> dict[str, Any]:
        """A section of the configuration by its keys; empty where there is none."""
        return look_up(self.settings, *path) or {}

    def configured(self, section: str, names: Iterable[str]) -> list[str]:
        """The names in the order of a configuration section, then those that it does
        not have, as they come.
        """
        rank = {str(name): place for place, name in enumerate(self.section(section))}
        return sorted(names, key=lambda name: rank.get(name, len(rank)))

    def configured_tokenizers(self) -> list[Tokenizer]:
        """The tokenizers in the order of the configuration."""
        return [self.tokenizers[name] for name in self.configured("tokenizers", self.tokenizers)]

    def name(self, code: str) -> str:
        """The name of a language of the run, else of the paper; the code of any
        other.
        """
        return self._language(code).name

    def resource(self, code: str) -> str:
        """The group of a language of the run, else of the paper; unknown for any
        other.
        """
        return self._language(code).resource

    def _language(self, code: str) -> Language:
        return self.languages.get(code) or paper_languages().get(code) or unknown_language(code)

    def about(self, code: str) -> dict[str, str]:
        """Code, name and group of a language, for a row of a table."""
        return {"language": code, "name": self.name(code), "resource": self.resource(code)}

    def with_names(self, table: pandas.DataFrame) -> Records:
        """The rows of a table with a column `language`, with name and group of that."""
        return [row | self.about(row["language"]) for row in records(table)]

    def rows(self, columns: Mapping[Column, Mapping[str, Any]]) -> Records:
        """A row for each language of the run that a column has a value of, with code,
        name and group. `columns`: the values of each by code.
        """
        rows = []
        for code in self.languages:
            cells = {column.key: values.get(code) for column, values in columns.items()}
            if any(cell is not None for cell in cells.values()):
                rows.append(self.about(code) | cells)
        return rows

    def lines(self, code: str) -> int | None:
        """Lines of a language's corpus, training and held out; None where its
        stats.json lacks them.
        """
        stats = self.corpora.get(code, {})
        return stats["train"] + stats["heldout"] if "train" in stats else None

    def trained(self, code: str) -> list[Point]:
        """The sizes of a language that have a model, in rising order."""
        return [point for point in self.curves.get(code, ()) if point.ok]

    def absent(self, present: Collection[str], *section: str) -> list[str]:
        """Names of a configuration section by its keys that have no results."""
        return [str(name) for name in self.section(*section) if name not in present]

    @cached_property
    def amounts(self) -> dict[str, str]:
        """How much text each language has: its third of the languages by n, named by the largest n
        there, the smallest first. Languages of the same n are in one.
        """
        n = pandas.Series(self.line_counts, dtype=float).sort_values()
        largest = n.groupby(np.ceil(3 * n.rank(method="max", pct=True))).transform("max")
        known = {
            code: f"n up to {format_number(one, Column('n', 'n'))}" for code, one in largest.items()
        }
        return known | {code: NO_AMOUNT for code in self.languages if code not in known}

    def colours(self) -> dict[str, str]:
        """The colour of each of `amounts`, a name of the palette."""
        names = zip(dict.fromkeys(self.amounts.values()), (*RESOURCES, "unknown"), strict=False)
        return {one: "unknown" if one == NO_AMOUNT else colour for one, colour in names}


def order_groups(names: Collection[str]) -> list[str]:
    """Resource groups in the page's order: low, mid, high, then any others by name."""
    return [name for name in RESOURCES if name in set(names)] + sorted(set(names) - set(RESOURCES))
