"""Tokenizers of one T compared: VOCAP against JOINT (the paper's Figure 4), and all against one of them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from vocap.report.data import as_number, find
from vocap.report.data.results import ALL, Results, Tokenizer, by_resource
from vocap.tokenizers.settings import KINDS, BytePair

APART = tuple(name for name, kind in KINDS.items() if not kind.merged)  # of one language, or from elsewhere
FEWEST = 0.5  # share of the languages that a tokenizer must serve to be compared with others
UNKNOWN_LIMIT = 0.01  # share of <unk> from which ALP and token counts mislead: one <unk> replaces a run of text


@dataclass(frozen=True)
class Difference:
    """One language: held-out ALP of both tokenizers, in nats per line; `gain` is VOCAP minus JOINT."""

    language: str
    resource: str
    vocap: float
    joint: float
    apart: str = ""  # reason for exclusion from all means; empty if included

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
        """T, with the names of the two where T has several such pairs."""
        return self.size if self.alone else f"{self.size}, {self.vocap} and {self.joint}"

    @property
    def names(self) -> tuple[str, str]:
        """VOCAP and JOINT, or the names of the two where T has other tokenizers of these kinds."""
        return ("VOCAP", "JOINT") if self.only and self.by_sizes else (self.vocap, self.joint)

    @property
    def size(self) -> str:
        """T for titles: thousands as K."""
        return in_thousands(self.total)


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


def in_thousands(total: int) -> str:
    """T for titles: thousands as K.

    >>> in_thousands(100000), in_thousands(1234)
    ('100K', '1,234')
    """
    return f"{total // 1000}K" if total % 1000 == 0 else f"{total:,}"


def pairs(results: Results) -> list[Pair]:
    """Every VOCAP tokenizer with the first JOINT tokenizer of the same T, smallest T first.

    The first in the order of the configuration; the others are compared in `same_size`.
    """
    ordered = results.configured_tokenizers()
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
    rows = [asdict(one) | {"gain": one.gain} for one in pair.compared]
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
    """The tokenizers that serve at least `FEWEST` of `codes`, to be measured on the same languages.

    Also the languages that one of them does not serve, with the reason, and the names of the other tokenizers.
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
    """Languages whose ALP and token counts under this tokenizer are misleading, with the reason.

    ALP and counts reward <unk>, which replaces any run of unknown text; they also mislead where the allocation
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


@dataclass(frozen=True)
class Standing:
    """One tokenizer in one resource group: means over the group's languages of held-out ALP, and of differences.

    A difference is this tokenizer minus the reference, above 0 where it is better: `nats` a line, `percent` of the
    reference's ALP in each language; `_q`: weighted by q, None where no allocation has q.
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
    changes: dict[str, dict[str, float]]  # by tokenizer but the reference, by language: difference in percent

    @property
    def size(self) -> str:
        """T for titles: thousands as K."""
        return in_thousands(self.total)

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
    for tokenizer in results.configured_tokenizers():
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
    weighed_by, q = allocation_weights(results, tokenizers)
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
        plain, weighted = by_resource(rows, ("alp", "nats", "percent")), by_resource(rows, ("nats", "percent"), q)
        for mean, by_q in zip(plain, weighted, strict=True):
            group = mean.pop("resource")
            members = [row for row in rows if group in (ALL, row["resource"])]
            counts = {count: sum(row[count] for row in members) for count in ("better", "best")}
            means = mean | {"nats_q": by_q["nats"], "percent_q": by_q["percent"]}
            standings.append(Standing(tokenizer.name, group, **means, **counts))
    return Comparison(total, reference, tokenizers, len(counted), apart, others, weighed_by, standings, changes)


def allocation_weights(results: Results, tokenizers: Sequence[Tokenizer]) -> tuple[str, dict[str, float]]:
    """The first allocation of these tokenizers that has q, and q by language; nothing where none has."""
    for tokenizer in tokenizers:
        allocation = results.allocation_of(tokenizer) if tokenizer.kind == "vocap" else None
        if allocation and (q := results.probabilities(tokenizer)):
            return allocation.name, q
    return "", {}


def method(results: Results, tokenizer: Tokenizer) -> str:
    """The method that chose a tokenizer's pieces: a rule of allocation, or one training."""
    if rule := results.rule_of(tokenizer):
        return f"allocation, {rule.label} rule"
    if tokenizer.kind == "joint":
        return ", ".join(filter(None, ["one training on all languages", weights(tokenizer)]))
    if is_byte_pair(tokenizer):
        return _merges(tokenizer)
    return {"vocap": "allocation"}.get(tokenizer.kind, tokenizer.kind)


def is_byte_pair(tokenizer: Tokenizer) -> bool:
    """Whether it is of byte-pair encoding, by its kind."""
    kind = KINDS.get(tokenizer.kind)
    return kind is not None and issubclass(kind, BytePair)


def units(settings: Mapping[str, Any]) -> str:
    """The units of byte-pair encoding and its cuts before merging, by the settings of a description."""
    cut = {"words": "inside words", "spaces": "between spaces"}.get(str(settings.get("split")))
    return " ".join(filter(None, [f"of {settings['unit']}" if "unit" in settings else "", cut]))


def _merges(tokenizer: Tokenizer) -> str:
    """The method of byte-pair encoding by the settings of its description."""
    settings = find(tokenizer.description, "settings")
    known = settings if isinstance(settings, dict) else {}
    first, fairness = as_number(known.get("from")), as_number(known.get("fairness"))
    start, end = "weighted merges", f"fairness {fairness:g}" if fairness else ""
    if tokenizer.kind == "parity-bpe":
        start, end = "parity merges", f"after {first:,} weighted ones" if first else ""
    return ", ".join(filter(None, [f"{start} {units(known)}".strip(), weights(tokenizer), end]))


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


def best_other(comparison: Comparison) -> str:
    """The tokenizer to compare with the reference: the best of the others by the mean in percent."""
    others = [one for one in comparison.of(ALL) if one.tokenizer != comparison.reference.name]
    return max(others, key=lambda one: one.percent).tokenizer


def text_facts(tokenizer: Tokenizer) -> dict[str, Any]:
    """The numbers among `lines`, `word_types`, `alpha` and `beta` that `description.json` has under `text`.

    `sample` is True where the lines were drawn from more.
    """

    def stated(name: str) -> float | int | None:
        return as_number(find(tokenizer.description, "text", name))

    names = ("lines", "word_types", "alpha", "beta")
    known = {name: stated(name) for name in names if stated(name) is not None}
    return known | ({"sample": True} if stated("sentences") is not None else {})


def weights(tokenizer: Tokenizer) -> str:
    """The exponents that weigh languages, in words; empty where the description has none."""
    facts = text_facts(tokenizer)
    return ", ".join(f"{name} {facts[name]:g}" for name in ("alpha", "beta") if name in facts)
