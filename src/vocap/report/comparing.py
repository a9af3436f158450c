"""VOCAP against JOINT at the same T, by language and by resource group (the paper's Figure 4)."""

from collections import Counter
from dataclasses import dataclass, replace

from vocap.report.results import Results, Tokenizer
from vocap.tokenizers.evaluation import by_resource

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


@dataclass(frozen=True)
class Pair:
    """A VOCAP and a JOINT tokenizer with the same number of ids."""

    vocap: str
    joint: str
    total: int
    differences: list[Difference]
    q: dict[str, float]  # by language, of VOCAP's allocation; empty where it is not known
    alone: bool = True  # whether it is the only pair of its T

    @property
    def compared(self) -> list[Difference]:
        """The languages that means count."""
        return [one for one in self.differences if not one.apart]

    @property
    def label(self) -> str:
        """T, with the names of the two where that does not say which pair it is."""
        return self.size if self.alone else f"{self.size}, {self.vocap} and {self.joint}"

    @property
    def size(self) -> str:
        """T as people say it.

        >>> Pair("a", "b", 100000, [], {}).size
        '100K'
        """
        return f"{self.total // 1000}K" if self.total % 1000 == 0 else f"{self.total:,}"


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


def pairs(results: Results) -> list[Pair]:
    """Every VOCAP tokenizer with every JOINT tokenizer of the same T, smallest T first."""
    found = []
    for vocap in results.tokenizers.values():
        for joint in results.tokenizers.values():
            same = vocap.total is not None and vocap.total == joint.total
            if vocap.kind == "vocap" and joint.kind == "joint" and same:
                differences = _differences(results, vocap, joint)
                if differences:
                    q = results.probabilities(vocap)
                    found.append(Pair(vocap.name, joint.name, vocap.total, differences, q))
    sizes = Counter(pair.total for pair in found)
    found = [replace(pair, alone=sizes[pair.total] == 1) for pair in found]
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
