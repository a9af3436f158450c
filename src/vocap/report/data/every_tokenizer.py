"""Every tokenizer of one T on the same languages: held-out ALP, tokens on parallel text, inequality of these."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import fmean
from typing import Any

from vocap.report.data import as_number, find
from vocap.report.data.comparisons import APART, allocation_weights, comparable, is_byte_pair, method, units
from vocap.report.data.results import Results, Tokenizer, by_resource
from vocap.tables.sampling_probabilities import sampling_probabilities
from vocap.tokenizers.evaluation import gini, relative_costs
from vocap.tokenizers.settings import KINDS

DIALS = ("fairness", "from", "beta", "alpha")  # settings that members of a family differ in, one at a time
ELSEWHERE = "from elsewhere, each on text of its own"  # no regime: they do not compare with each other
PREMIUM = "ratio_to_english"


@dataclass(frozen=True)
class Mark:
    """One tokenizer; means are over the languages of its `Size`, None where nothing was measured."""

    name: str
    kind: str  # label of the kind, or of the rule that chose its pieces from the text
    total: int | None  # its ids
    method: str
    regime: str
    alp: float | None  # held out, nats per line
    alp_q: float | None  # the same, each language weighted by q
    tokens: float | None  # per held-out line
    parallel_tokens: float | None  # per sentence of parallel text, of the same content in every language
    gini: float | None  # of the tokens on parallel text
    worst_ratio: float | None  # of a language's tokens to those of English
    worst: str  # the language with it
    round_trip: float | None  # share of the held-out lines that come back
    follows_text: bool  # whether its training followed parallel text
    frontier: bool | None = None  # whether no other of its regime is as good everywhere; None: not known


@dataclass(frozen=True)
class Size:
    """The tokenizers of one configured T (None: not known), and those from elsewhere."""

    total: int | None
    marks: list[Mark]
    languages: list[str]  # of the held-out means
    parallel: list[str]  # of the means on parallel text
    apart: dict[str, str]  # languages in no mean, with the reason
    others: list[str]  # tokenizers that serve too few languages
    q_from: str  # the file of q, empty where it is not known
    families: list[list[str]]  # names, in the order of the one setting that they differ in

    @property
    def regimes(self) -> dict[str, list[str]]:
        """The names of the tokenizers of each regime."""
        return _grouped((mark.regime, mark.name) for mark in self.marks)


def sizes(results: Results) -> list[Size]:
    """One for each T, smallest first; without tokenizers of this run one of those from elsewhere."""
    groups: dict[int, list[Tokenizer]] = {}
    foreign = []
    for tokenizer in results.configured_tokenizers():
        if not tokenizer.evaluation:
            continue
        if tokenizer.kind == "file":
            foreign.append(tokenizer)
        elif tokenizer.kind not in APART and (total := asked(results, tokenizer)) is not None:
            groups.setdefault(total, []).append(tokenizer)
    found = [_size(results, total, [*groups[total], *foreign]) for total in sorted(groups)]
    if not groups and foreign:
        found = [_size(results, None, foreign)]
    return [one for one in found if one is not None]


def asked(results: Results, tokenizer: Tokenizer) -> int | None:
    """T as configured; a tokenizer of little text has fewer ids."""
    allocation = results.allocation_of(tokenizer) if tokenizer.kind == "vocap" else None
    total = allocation.setting("total") if allocation else find(tokenizer.description, "settings", "total")
    return total if isinstance(total, int) and not isinstance(total, bool) else tokenizer.total


def _size(results: Results, total: int | None, candidates: list[Tokenizer]) -> Size | None:
    measured = {row["language"] for one in candidates for row in one.evaluation}
    codes = [code for code in results.languages if code in measured]
    tokenizers, apart, others = comparable(results, candidates, codes)
    counted = [code for code in codes if code not in apart]
    if not tokenizers or not counted:
        return None
    shared = _shared(tokenizers, counted)
    q_from, q = _shares(results, tokenizers)
    marks = [_mark(results, tokenizer, counted, shared, q) for tokenizer in tokenizers]
    own = [mark for mark, one in zip(marks, tokenizers, strict=True) if one.kind != "file"]
    marks = [_placed(mark, own) if mark in own else mark for mark in marks]
    return Size(total, marks, counted, shared, apart, others, q_from, _families(results, tokenizers))


def _mark(
    results: Results, tokenizer: Tokenizer, counted: Sequence[str], shared: Sequence[str], q: dict[str, float]
) -> Mark:
    heldout = [row for row in tokenizer.evaluation if row["language"] in counted]
    plain, weighted = (by_resource(heldout, ("alp", "tokens_per_sentence"), weights)[-1] for weights in (None, q))
    rows = [row for row in _parallel(tokenizer) if row["language"] in shared]
    costs = relative_costs(rows)
    priced = [row for row in rows if row[PREMIUM] is not None]
    worst = min(priced, key=lambda row: (-row[PREMIUM], row["language"]), default=None)
    trips = [row for row in tokenizer.round_trips if row["share"] is not None and row["language"] in counted]
    lines = sum(row["texts"] or 0 for row in trips)
    dials = [find(tokenizer.description, "settings", name) for name in ("fairness", "token_fairness")]
    return Mark(
        name=tokenizer.name,
        kind=kind_label(results, tokenizer),
        total=ids_of(tokenizer) if tokenizer.kind == "file" else tokenizer.total,
        method=method(results, tokenizer),
        regime=regime(tokenizer),
        alp=plain["alp"],
        alp_q=weighted["alp"],
        tokens=plain["tokens_per_sentence"],
        parallel_tokens=fmean(costs) * _english_tokens(tokenizer) if costs else None,
        gini=gini(costs) if costs and sum(costs) else None,
        worst_ratio=worst[PREMIUM] if worst else None,
        worst=worst["language"] if worst else "",
        round_trip=sum(row["identical"] or 0 for row in trips) / lines if lines else None,
        follows_text=tokenizer.kind == "parity-bpe" or any(map(bool, dials)),
    )


def _parallel(tokenizer: Tokenizer) -> list[dict[str, Any]]:
    return [row for row in tokenizer.parallel if row["lines"] and row["tokens"] is not None]


def _shared(tokenizers: Sequence[Tokenizer], counted: Sequence[str]) -> list[str]:
    """The languages that have parallel text under all tokenizers that were measured on some."""
    found = []
    for rows in filter(None, map(_parallel, tokenizers)):
        priced = [row for row in rows if row[PREMIUM] is not None]
        found.append({row["language"] for row in priced or rows})
    return [code for code in counted if found and all(code in codes for codes in found)]


def _english_tokens(tokenizer: Tokenizer) -> float:
    """English tokens per sentence, of the language with most sentences: English itself; 1 without ratios."""
    rows = [row for row in _parallel(tokenizer) if row[PREMIUM] is not None]
    row = max(rows, key=lambda row: row["lines"], default=None)
    return row["english_tokens"] / row["lines"] if row else 1.0


def _shares(results: Results, tokenizers: Sequence[Tokenizer]) -> tuple[str, dict[str, float]]:
    """The file of q and q by language: of the first allocation, else by the first alpha of these tokenizers."""
    name, q = allocation_weights(results, tokenizers)
    if q:
        return f"results/allocation/{name}/allocation.tsv", q
    alphas = (as_number(find(tokenizer.description, "text", "alpha")) for tokenizer in tokenizers)
    alpha = next((alpha for alpha in alphas if alpha is not None), None)
    n = {code: _positive(row.get("n")) for code, row in results.weights.items()}
    n = {code: count for code, count in n.items() if count}
    if alpha is None or not n:
        return "", {}
    shares = sampling_probabilities(list(n.values()), alpha).tolist()
    return f"results/corpora/weights.tsv with alpha {alpha:g}", dict(zip(n, shares, strict=True))


def _positive(text: str | None) -> float:
    try:
        value = float(text or 0)
    except ValueError:
        return 0.0
    return value if math.isfinite(value) and value > 0 else 0.0


def kind_label(results: Results, tokenizer: Tokenizer) -> str:
    """The kind as a noun phrase; of an allocation by a rule that reads the text, the name of the rule."""
    rule = results.rule_of(tokenizer)
    if rule and rule.needs_text:
        return rule.name.upper()
    kind = KINDS.get(tokenizer.kind)
    return kind.label if kind else tokenizer.kind


def regime(tokenizer: Tokenizer) -> str:
    """The model and its cuts before merging; ALP is compared inside one regime.

    All tokenizers of a run are normalised by its section `text`; the files of those from elsewhere do not say.
    """
    if tokenizer.kind == "file":
        return ELSEWHERE
    settings = find(tokenizer.description, "settings")
    known = settings if isinstance(settings, dict) else {}
    model = "unigram"
    if is_byte_pair(tokenizer):
        model = " ".join(filter(None, [KINDS["bpe"].label, units(known)]))
    symbols = known.get("user_defined_symbols")
    return f"{model}, symbols {', '.join(map(str, symbols))}" if symbols else model


def regimes(tokenizers: Iterable[Tokenizer]) -> dict[str, list[str]]:
    """The names of the tokenizers of each regime."""
    return _grouped((regime(one), one.name) for one in tokenizers)


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, name in pairs:
        found.setdefault(key, []).append(name)
    return found


def apart_by_text(groups: Mapping[str, Sequence[str]]) -> str:
    """The limit of comparing ALP between tokenizers, by regime, in words; empty for one regime."""
    if len(groups) < 2:
        return ""
    listed = "; ".join(f"{regime} ({', '.join(names)})" for regime, names in groups.items())
    return (
        "ALP compares tokenizers that normalise text, and cut it before merging, alike. Between these groups a "
        f"difference in ALP is one of the cuts too: {listed}."
    )


def _placed(mark: Mark, marks: Sequence[Mark]) -> Mark:
    """With `frontier`: whether no other of its regime is as good in all three measures, and better in one."""

    def goods(one: Mark) -> tuple[float, float, float] | None:
        known = (one.alp, one.parallel_tokens, one.gini)
        return None if None in known else (known[0], -known[1], -known[2])

    own = goods(mark)
    if own is None:
        return mark
    rivals = [other for one in marks if one.regime == mark.regime and (other := goods(one)) and other != own]
    return replace(mark, frontier=not any(all(map(float.__ge__, other, own)) for other in rivals))


def _families(results: Results, tokenizers: Sequence[Tokenizer]) -> list[list[str]]:
    """Tokenizers of a kind that differ in one setting of `DIALS` alone, in its order."""
    found = []
    for dial in DIALS:
        groups: dict[str, dict[float, str]] = {}
        for tokenizer in tokenizers:
            if tokenizer.kind == "file":
                continue
            known = _settings(results, tokenizer)
            place = as_number(known.pop(dial, 0))
            if dial == "fairness":
                known.pop("rounds", None)
            key = json.dumps([kind_label(results, tokenizer), known], sort_keys=True, default=str)
            if place is not None:
                groups.setdefault(key, {}).setdefault(place, tokenizer.name)
        found += [[names[place] for place in sorted(names)] for names in groups.values() if len(names) > 1]
    return found


def _settings(results: Results, tokenizer: Tokenizer) -> dict[str, Any]:
    allocation = results.allocation_of(tokenizer) if tokenizer.kind == "vocap" else None
    parts = [find(tokenizer.description, "settings"), find(allocation.summary, "settings") if allocation else None]
    known = {key: value for part in parts if isinstance(part, dict) for key, value in part.items()}
    known |= {key: find(tokenizer.description, "text", key) for key in ("alpha", "sentences")}
    return {key: value for key, value in known.items() if key != "total"}


def ids_of(tokenizer: Tokenizer) -> int | None:
    """T from `vocabulary_used`, each a count over T: the least common denominator of them.

    That is T unless all counts share a factor, which is unlikely with 20 languages or more; None with fewer, and
    where the cells are no such shares.
    """
    used = [row["vocabulary_used"] for row in tokenizer.evaluation if row["vocabulary_used"]]
    shares = [Fraction(value).limit_denominator(5_000_000) for value in used]
    exact = all(share.numerator / share.denominator == value for share, value in zip(shares, used, strict=True))
    total = math.lcm(*(share.denominator for share in shares))
    return total if exact and len(set(shares)) >= 20 and total <= 5_000_000 else None
