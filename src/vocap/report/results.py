"""What the stages left, as plain data: no paths here, and nothing is computed that a stage should have."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from vocap.allocation.inputs import Inputs
from vocap.allocation.rules import RULES, Rule
from vocap.correlation.points import Measured
from vocap.report.diffs import Diff
from vocap.report.finetuned import Ceiling, Finetuned
from vocap.report.models import Model
from vocap.tokenizers.evaluation import RESOURCES
from vocap.vocabularies.curve import Point


@dataclass(frozen=True)
class Share:
    """What one language got: a row of `allocation.tsv`."""

    language: str
    n: float | None
    q: float | None
    weight: float | None
    size: int | None
    gain: float | None
    own_pieces: int | None


@dataclass(frozen=True)
class Allocation:
    """One named allocation: its rows, its summary as written, and the rows of its merged vocabulary."""

    name: str
    shares: list[Share]
    summary: dict[str, Any]
    pieces: int | None  # rows of vocabulary.tsv, None where the file is not there
    models: dict[str, Point] = field(default_factory=dict)  # of a rule that makes models: each language's own

    @property
    def rule(self) -> Rule | None:
        """The rule of its settings; None where they do not say it, or the rule is not known."""
        settings = self.summary.get("settings")
        return RULES.get(str(settings.get("rule"))) if isinstance(settings, dict) else None


@dataclass(frozen=True)
class Pieces:
    """The accounting of a tokenizer's pieces: how many of each status, and the dead ones with their shadows."""

    counts: dict[str, int]
    dead: list[dict[str, str]]


@dataclass(frozen=True)
class Tokenizer:
    """One named tokenizer: its description and what was measured of it."""

    name: str
    description: dict[str, Any]
    evaluation: list[dict[str, Any]]
    parity: list[dict[str, Any]]
    parallel: list[dict[str, Any]]
    unknown: list[dict[str, str]]  # characters that became <unk>, by language, the most frequent first
    pieces: Pieces | None
    missing: tuple[str, ...]  # names of the files that are not there though its kind has them
    kind: str  # vocap, joint, mono, file
    forms: tuple[str, ...] = ()  # of sentencepiece.model and huggingface, those that are there

    @property
    def total(self) -> int | None:
        """T: the ids of the tokenizer; None where nothing says it."""
        total = self.description.get("total")
        return total if isinstance(total, int) and not isinstance(total, bool) else None


Stretch = tuple[str, bool]  # text of one token, and whether it is <unk>


@dataclass(frozen=True)
class Sentence:
    """A held-out line and its cut under each of the tokenizers: stretches that joined are the line, and a count.

    The count is of tokens. One without text of its own (all but the last of the bytes of a character, a space put
    before the line) has no stretch.
    """

    language: str
    text: str
    cuts: list[tuple[list[Stretch], int]]


@dataclass(frozen=True)
class Language:
    """A language of the run, with the paper's facts where the table has them."""

    code: str
    name: str
    script: str
    resource: str
    paper_thousands: float | None
    paper_cc_gb: float | None


@dataclass(frozen=True)
class Results:
    """All that the page shows."""

    title: str
    languages: dict[str, Language]  # those of the run, sorted by name: the order of all rows below
    outside: int  # languages of the table that are not part of this run
    corpora: dict[str, dict[str, Any]]
    packages: list[dict[str, Any]]  # of the starter corpus, as its fetching noted them
    weights: dict[str, dict[str, str]]
    curves: dict[str, list[Point]]
    allocations: dict[str, Allocation]
    tokenizers: dict[str, Tokenizer]
    models: dict[str, Model]
    training_bytes: dict[str, int]  # of the text that models are trained on, by language
    finetuned: dict[str, Finetuned]
    ceilings: list[Ceiling]  # of span extraction, by tokenizer
    correlation: list[Measured]
    settings: dict[str, Any]
    versions: dict[str, str]
    unreached: dict[str, list[int]] = field(
        default_factory=dict
    )  # the study's sizes that a language does not give
    diffs: list[Diff] = field(default_factory=list)  # pairs of tokenizers that were compared
    seconds: dict[str, float] = field(default_factory=dict)  # job time by stage, where benchmarks were given
    left: dict[str, list[str]] = field(default_factory=dict)  # by kind, what other configurations left: not shown
    inputs: Inputs = field(default_factory=lambda: Inputs([]))  # what an allocation starts from
    no_inputs: str = ""  # why there are none
    folder: str = "results"  # of the stages' results, as the caller named it
    sentences: list[Sentence] = field(default_factory=list)  # cut by the tokenizers of the front page

    def allocation_of(self, tokenizer: Tokenizer) -> Allocation | None:
        """The allocation that a VOCAP tokenizer was made from; None where it is not known.

        The configuration names it; without one it is the allocation of the tokenizer's own name.
        """
        section = self.settings.get("tokenizers")
        entry = section.get(tokenizer.name) if isinstance(section, dict) else None
        name = entry.get("allocation") if isinstance(entry, dict) else None
        return self.allocations.get(name if isinstance(name, str) else tokenizer.name)

    def probabilities(self, tokenizer: Tokenizer) -> dict[str, float]:
        """q by language of the allocation that a VOCAP tokenizer was made from; empty where it is not known."""
        allocation = self.allocation_of(tokenizer)
        shares = allocation.shares if allocation else []
        return {share.language: share.q for share in shares if share.q is not None}

    def rule_of(self, tokenizer: Tokenizer) -> Rule | None:
        """The rule of allocation that a VOCAP tokenizer was made by; None for other kinds, and where not known."""
        allocation = self.allocation_of(tokenizer) if tokenizer.kind == "vocap" else None
        return allocation.rule if allocation else None

    def configured(self, section: str, names: Iterable[str]) -> list[str]:
        """The names in the order of a configuration section, then those that it does not have, as they come."""
        named = self.settings.get(section)
        order = [str(name) for name in named] if isinstance(named, dict) else []
        rank = {name: place for place, name in enumerate(order)}
        return sorted(names, key=lambda name: rank.get(name, len(rank)))

    def rank(self, code: str) -> int:
        """The place of a language in the order of the page; behind all others where it is not of the run."""
        return next((place for place, one in enumerate(self.languages) if one == code), len(self.languages))

    def name(self, code: str) -> str:
        language = self.languages.get(code)
        return language.name if language else code

    def resource(self, code: str) -> str:
        language = self.languages.get(code)
        return language.resource if language else "unknown"

    def lines(self, code: str) -> int | None:
        """Lines of a language's corpus, training and held out; None where its stats.json does not say."""
        stats = self.corpora.get(code, {})
        counts = [stats.get(part) for part in ("train", "heldout")]
        return sum(counts) if all(isinstance(count, int) for count in counts) else None

    def trained(self, code: str) -> list[Point]:
        """The sizes of a language that have a model, in rising order."""
        return [point for point in self.curves.get(code, ()) if point.ok]

    def absent(self, section: str, present: Iterable[str]) -> list[str]:
        """Names of a configuration section that have no results."""
        named = self.settings.get(section)
        if stage := {"models": "pretraining", "finetuned": "finetuning"}.get(section):
            named = (self.settings.get(stage) or {}).get("models")
        return [str(name) for name in named if name not in set(present)] if isinstance(named, dict) else []

    def groups(self) -> list[str]:
        """Resource groups of the run: the paper's first, then any that the user's table adds."""
        present = {language.resource for language in self.languages.values()}
        return [group for group in RESOURCES if group in present] + sorted(present - set(RESOURCES))


def rank_correlation(first: list[float], second: list[float]) -> float | None:
    """Spearman's rank correlation, ties at their mean rank; None for fewer than five pairs or a constant list.

    >>> rank_correlation([1, 2, 3, 4, 5], [10, 20, 30, 40, 50])
    1.0
    """
    if len(first) < 5:
        return None
    x, y = _ranks(first), _ranks(second)
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    spread = (sum((a - mean_x) ** 2 for a in x) * sum((b - mean_y) ** 2 for b in y)) ** 0.5
    return covariance / spread if spread else None


def _ranks(values: list[float]) -> list[float]:
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in range(start, end + 1):
            ranks[order[place]] = (start + end) / 2
        start = end + 1
    return ranks
