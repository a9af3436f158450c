"""VOCAP tokenizers against JOINT of the same T, by language and by resource group (the paper's Figure 4)."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from vocap.report.results import Results, Tokenizer
from vocap.tokenizers.evaluation import by_resource

FEWEST = 0.5  # share of the languages that a tokenizer must serve to be compared with others
UNKNOWN_LIMIT = 0.01  # share of <unk> from which ALP and token counts flatter: one <unk> stands for a run of text


@dataclass(frozen=True)
class Difference:
    """One language: held-out ALP of both tokenizers, in nats per line; `gain` is VOCAP minus JOINT."""

    language: str
    resource: str
    vocap: float
    joint: float
    apart: str = ""  # why it is in no mean; empty where it is

    @property
    def gain(self) -> float:
        return self.vocap - self.joint

    @property
    def percent(self) -> float:
        """The difference in percent of JOINT's ALP; 0 where that is 0."""
        return 100 * self.gain / abs(self.joint) if self.joint else 0.0


@dataclass(frozen=True)
class Pair:
    """A VOCAP and a JOINT tokenizer with the same number of ids."""

    vocap: str
    joint: str
    total: int
    differences: list[Difference]
    q: dict[str, float]  # by language, of VOCAP's allocation; empty where it is not known
    by_sizes: bool = True  # whether VOCAP's allocation chooses sizes, as the paper's does
    alone: bool = True  # whether it is the only pair of its T with such a rule
    only: bool = True  # whether its two are the only tokenizers of their kinds and T

    @property
    def compared(self) -> list[Difference]:
        """The languages that means count."""
        return [one for one in self.differences if not one.apart]

    @property
    def label(self) -> str:
        """T, with the names of the two where that does not say which pair it is."""
        return self.size if self.alone else f"{self.size}, {self.vocap} and {self.joint}"

    @property
    def names(self) -> tuple[str, str]:
        """VOCAP and JOINT, or the names of the two where the kinds do not say which tokenizers they are."""
        return ("VOCAP", "JOINT") if self.only and self.by_sizes else (self.vocap, self.joint)

    @property
    def size(self) -> str:
        """T as people say it."""
        return spoken(self.total)


@dataclass(frozen=True)
class Group:
    """One resource group of one pair: means over its languages of held-out ALP, plain and weighted by q."""

    pair: Pair
    resource: str
    languages: int
    vocap: float
    joint: float
    weighted_gain: float | None  # VOCAP minus JOINT, each language weighted by q as in Equation 2
    better: int  # languages whose ALP is higher under VOCAP

    @property
    def gain(self) -> float:
        return self.vocap - self.joint


def spoken(total: int) -> str:
    """T as people say it.

    >>> spoken(100000), spoken(1234)
    ('100K', '1,234')
    """
    return f"{total // 1000}K" if total % 1000 == 0 else f"{total:,}"


def pairs(results: Results) -> list[Pair]:
    """Every VOCAP tokenizer with the first JOINT tokenizer of the same T, smallest T first.

    The first in the order of the configuration; the others are compared in `same_size`.
    """
    ordered = [results.tokenizers[name] for name in results.configured("tokenizers", results.tokenizers)]
    first: dict[int | None, Tokenizer] = {}
    counts: Counter[int | None] = Counter()
    for tokenizer in ordered:
        if tokenizer.kind == "joint" and tokenizer.evaluation:
            first.setdefault(tokenizer.total, tokenizer)
            counts[tokenizer.total] += 1
    found = []
    for vocap in ordered:
        if vocap.kind != "vocap" or vocap.total is None or vocap.total not in first:
            continue
        joint = first[vocap.total]
        rule = results.rule_of(vocap)
        if differences := _differences(results, vocap, joint):
            by_sizes = not (rule and rule.needs_text)
            q = results.probabilities(vocap)
            found.append(Pair(vocap.name, joint.name, vocap.total, differences, q, by_sizes=by_sizes))
    counts.update(pair.total for pair in found)
    alike = Counter((pair.total, pair.by_sizes) for pair in found)
    found = [
        replace(pair, alone=alike[pair.total, pair.by_sizes] == 1, only=counts[pair.total] == 2) for pair in found
    ]
    return sorted(found, key=lambda pair: (pair.total, pair.vocap, pair.joint))


def groups(pair: Pair) -> list[Group]:
    """The resource groups of a pair in the page's order, and `all`; empty where no language is compared."""
    rows = [
        {
            "language": one.language,
            "resource": one.resource,
            "vocap": one.vocap,
            "joint": one.joint,
            "gain": one.gain,
        }
        for one in pair.compared
    ]
    plain = by_resource(rows, ("vocap", "joint"))
    weighted = by_resource(rows, ("gain",), pair.q)
    return [
        Group(
            pair,
            mean["resource"],
            mean["languages"],
            mean["vocap"],
            mean["joint"],
            by_q["gain"],
            sum(one.gain > 0 for one in pair.compared if mean["resource"] in ("all", one.resource)),
        )
        for mean, by_q in zip(plain, weighted, strict=True)
    ]


def _differences(results: Results, vocap: Tokenizer, joint: Tokenizer) -> list[Difference]:
    other = {row["language"]: row["alp"] for row in joint.evaluation}
    reasons = [unfit(results, tokenizer) for tokenizer in (vocap, joint)]
    return [
        Difference(
            row["language"],
            results.resource(row["language"]),
            row["alp"],
            other[row["language"]],
            "; ".join(found[row["language"]] for found in reasons if row["language"] in found),
        )
        for row in vocap.evaluation
        if row["language"] in results.languages
        and row["alp"] is not None
        and other.get(row["language"]) is not None
    ]


def comparable(
    results: Results, tokenizers: Iterable[Tokenizer], codes: list[str]
) -> tuple[list[Tokenizer], dict[str, str], list[str]]:
    """Of tokenizers that are to be measured on the same languages: those that can be, and on which of `codes`.

    Gives those that serve at least `FEWEST` of `codes`; the languages that one of them does not serve, with the
    reason; and the names of the others.
    """
    chosen, apart, others = [], {}, []
    for tokenizer in tokenizers:
        reasons = unfit(results, tokenizer)
        has = {row["language"] for row in tokenizer.evaluation if row["alp"] is not None}
        reasons |= {code: f"not measured with {tokenizer.name}" for code in codes if code not in has}
        reasons = {code: reason for code, reason in reasons.items() if code in codes}
        if len(reasons) <= (1 - FEWEST) * len(codes):
            chosen.append(tokenizer)
            for code, reason in reasons.items():
                apart.setdefault(code, reason)
        else:
            others.append(tokenizer.name)
    return chosen, apart, others


def unfit(results: Results, tokenizer: Tokenizer) -> dict[str, str]:
    """Languages whose ALP and token counts under this tokenizer say little, with the reason.

    ALP and counts reward <unk>, which stands for any run of unknown text; so does a vocabulary whose allocation
    left the language out. The limit is `UNKNOWN_LIMIT` of the held-out tokens.
    """
    reasons = {}
    allocation = results.allocation_of(tokenizer) if tokenizer.kind == "vocap" else None
    if allocation is not None:
        named = allocation.summary.get("left_out")
        out = set(named) if isinstance(named, dict | list) else set()
        has = {share.language for share in allocation.shares}
        for row in tokenizer.evaluation:
            if row["language"] in out or (has and row["language"] not in has):
                reasons[row["language"]] = f"left out by allocation {allocation.name}"
    for row in tokenizer.evaluation:
        rate = row.get("unk_rate")
        if rate is not None and rate > UNKNOWN_LIMIT and row["language"] not in reasons:
            reasons[row["language"]] = f"{100 * rate:.1f} % <unk> in {tokenizer.name}"
    return reasons
