"""All tokenizers of one T on the same held-out lines, each against one of them, in percent and in nats."""

from dataclasses import dataclass

from vocap.report.comparing import comparable, spoken
from vocap.report.learnt import weights
from vocap.report.results import Results, Tokenizer
from vocap.tokenizers.evaluation import ALL, by_resource

APART = ("mono", "file")  # kinds of another purpose: one language, or from elsewhere, of any T


@dataclass(frozen=True)
class Standing:
    """One tokenizer in one resource group: means over the group's languages of held-out ALP, and of differences.

    A difference is this tokenizer minus the reference, above 0 where it is better: `nats` a line, `percent` of the
    reference's ALP in each language; `_q`: weighted by q, None where no allocation says q.
    """

    tokenizer: str
    group: str
    languages: int
    alp: float
    nats: float
    percent: float
    nats_q: float | None
    percent_q: float | None
    better: int  # languages with a higher ALP than under the reference
    best: int  # languages with the highest ALP of all tokenizers of the comparison


@dataclass(frozen=True)
class Comparison:
    """The tokenizers of one T; `apart`: languages in no mean, with the reason; `others`: tokenizers left out."""

    total: int
    reference: Tokenizer
    tokenizers: list[Tokenizer]  # the reference among them, in the order of the configuration
    languages: int
    apart: dict[str, str]
    others: list[str]
    weighed_by: str  # the allocation whose q weighs the means; empty where there is none
    standings: list[Standing]
    changes: dict[
        str, dict[str, float]
    ]  # tokenizer to language to the difference in percent; without the reference

    @property
    def size(self) -> str:
        """T as people say it."""
        return spoken(self.total)

    def of(self, group: str) -> list[Standing]:
        """The tokenizers in one group."""
        return [one for one in self.standings if one.group == group]

    @property
    def groups(self) -> list[str]:
        """The resource groups in the page's order, last `all`."""
        return list(dict.fromkeys(one.group for one in self.standings))


def comparisons(results: Results) -> list[Comparison]:
    """One for each T of at least two tokenizers that were measured on the same languages, smallest T first."""
    sizes: dict[int, list[Tokenizer]] = {}
    for name in results.configured("tokenizers", results.tokenizers):
        tokenizer = results.tokenizers[name]
        if tokenizer.kind not in APART and tokenizer.total is not None and tokenizer.evaluation:
            sizes.setdefault(tokenizer.total, []).append(tokenizer)
    found = [_compare(results, total, sizes[total]) for total in sorted(sizes) if len(sizes[total]) > 1]
    return [one for one in found if one is not None]


def _compare(results: Results, total: int, candidates: list[Tokenizer]) -> Comparison | None:
    alp = {one.name: {row["language"]: row["alp"] for row in one.evaluation} for one in candidates}
    groups = {row["language"]: row.get("resource") or "unknown" for one in candidates for row in one.evaluation}
    codes = [code for code in results.languages if code in groups]
    tokenizers, apart, others = comparable(results, candidates, codes)
    if len(tokenizers) < 2:
        return None
    reference = next((one for one in tokenizers if one.kind == "joint"), tokenizers[0])
    apart |= {code: "its ALP is 0" for code in codes if code not in apart and not alp[reference.name][code]}
    counted = [code for code in codes if code not in apart]
    if not counted:
        return None
    weighed_by, q = _weights(results, tokenizers)
    base = alp[reference.name]
    best = {code: max(alp[one.name][code] for one in tokenizers) for code in counted}
    standings, changes = [], {}
    for tokenizer in tokenizers:
        own = alp[tokenizer.name]
        rows = [
            {
                "language": code,
                "resource": groups[code],
                "alp": own[code],
                "nats": own[code] - base[code],
                "percent": 100 * (own[code] - base[code]) / -base[code],
                "better": int(own[code] > base[code]),
                "best": int(own[code] == best[code]),
            }
            for code in counted
        ]
        if tokenizer is not reference:
            changes[tokenizer.name] = {row["language"]: row["percent"] for row in rows}
        for mean, by_q in zip(
            by_resource(rows, ("alp", "nats", "percent")), by_resource(rows, ("nats", "percent"), q), strict=True
        ):
            group = mean.pop("resource")
            members = [row for row in rows if group in (ALL, row["resource"])]
            standings.append(
                Standing(
                    tokenizer=tokenizer.name,
                    group=group,
                    **mean,
                    nats_q=by_q["nats"],
                    percent_q=by_q["percent"],
                    better=sum(row["better"] for row in members),
                    best=sum(row["best"] for row in members),
                )
            )
    return Comparison(total, reference, tokenizers, len(counted), apart, others, weighed_by, standings, changes)


def _weights(results: Results, tokenizers: list[Tokenizer]) -> tuple[str, dict[str, float]]:
    """The first allocation of these tokenizers that has q, and q by language; nothing where none has."""
    for tokenizer in tokenizers:
        allocation = results.allocation_of(tokenizer) if tokenizer.kind == "vocap" else None
        if allocation and (q := results.probabilities(tokenizer)):
            return allocation.name, q
    return "", {}


def method(results: Results, tokenizer: Tokenizer) -> str:
    """How a tokenizer's pieces were chosen: by a rule of allocation, or by one training."""
    if rule := results.rule_of(tokenizer):
        return f"allocation, {rule.label} rule"
    if tokenizer.kind == "joint":
        return ", ".join(filter(None, ["one training on all languages", weights(tokenizer)]))
    return {"vocap": "allocation"}.get(tokenizer.kind, tokenizer.kind)


def leaders(comparison: Comparison) -> dict[str, str]:
    """The tokenizer of the highest mean over all languages, by unit and weight: percent, nats, percent_q, nats_q.

    Measures that are not known are left out.
    """
    every = comparison.of(ALL)
    found = {}
    for unit in ("percent", "nats", "percent_q", "nats_q"):
        values = {one.tokenizer: getattr(one, unit) for one in every}
        if None not in values.values():
            found[unit] = max(values, key=values.__getitem__)
    return found


def rival(comparison: Comparison) -> str:
    """The tokenizer to set beside the reference: the best of the others by the mean in percent."""
    others = [one for one in comparison.of(ALL) if one.tokenizer != comparison.reference.name]
    return max(others, key=lambda one: one.percent).tokenizer
