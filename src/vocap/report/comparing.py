"""VOCAP against JOINT at the same T, by language and by resource group (the paper's Figure 4)."""

from dataclasses import dataclass

from vocap.report.results import Results, Tokenizer
from vocap.tokenizers.evaluation import by_resource


@dataclass(frozen=True)
class Difference:
    """One language: held-out ALP of both tokenizers, in nats per line; `gain` is VOCAP minus JOINT."""

    language: str
    resource: str
    vocap: float
    joint: float

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
    return sorted(found, key=lambda pair: (pair.total, pair.vocap, pair.joint))


def groups(pair: Pair) -> list[Group]:
    """The resource groups of a pair in the page's order, and `all`."""
    rows = [
        {
            "language": one.language,
            "resource": one.resource,
            "vocap": one.vocap,
            "joint": one.joint,
            "gain": one.gain,
        }
        for one in pair.differences
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
            sum(one.gain > 0 for one in pair.differences if mean["resource"] in ("all", one.resource)),
        )
        for mean, by_q in zip(plain, weighted, strict=True)
    ]


def _differences(results: Results, vocap: Tokenizer, joint: Tokenizer) -> list[Difference]:
    other = {row["language"]: row["alp"] for row in joint.evaluation}
    return [
        Difference(row["language"], results.resource(row["language"]), row["alp"], other[row["language"]])
        for row in vocap.evaluation
        if row["language"] in results.languages
        and row["alp"] is not None
        and other.get(row["language"]) is not None
    ]
