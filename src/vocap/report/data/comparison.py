"""Every tokenizer on every language in one frame, of which the tables and charts of the
comparison are groups.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import pandas

from vocap.report.data.results import (
    ALL,
    Results,
    Tokenizer,
    order_groups,
)
from vocap.report.page.tables import columns_of, format_number, in_thousands
from vocap.tables.line_bits import PARTS, paired_differences
from vocap.tables.sampling_probabilities import language_shares
from vocap.tokenizers.evaluation import COLUMNS, gini
from vocap.tokenizers.settings import BytePair
from vocap.unigram.usage import with_bytes

FEWEST = 0.5  # share of the languages that a tokenizer must serve to be compared with others
UNKNOWN_LIMIT = (
    0.01  # share of <unk> from which ALP and token counts mislead: one <unk> replaces a run of text
)
REACHED = 0.95  # share of T: tokenizers of fewer ids need more tokens for that alone
# measures that decide, in their order, and the percent by which two tokenizers differ and are
# not told apart: models follow tokens, and not bits of a bigram alone
NEAR = {
    "parallel_bits": 1.0,
    "parallel_tokens": 0.5,
    "bigram_bits_per_byte": 0.0,
    "percent": 0.5,
}
INTERVALS = {"parallel_bits": "parallel", "bigram_bits_per_byte": "heldout"}  # of measures
HELD_OUT = list(COLUMNS[3:])  # columns of evaluation.tsv that have means over languages
WEIGHED = ["alp", "percent", "nats"]  # columns that have means weighted by q too


# numbers by tokenizer, columns of `Size.summary`
MEASURE = {column.key: column for column in columns_of("comparison-measures")}


@dataclass(frozen=True)
class Choice:
    """The tokenizer to take of one T, `best`.

    `deciding`: the measure of the first choice; `level`: those that it does not tell apart,
    `best` among them; `measure`: that which `best` is the best of them by.
    """

    best: str
    deciding: str
    level: list[str]
    measure: str

    @property
    def on_parallel_text(self) -> bool:
        """Whether the choice is by parallel text."""
        return self.deciding.startswith("parallel")


def recommend(summary: pandas.DataFrame, reference: str) -> Choice:
    """The tokenizer to take, by `Size.summary`:

    1. The first measure that two tokenizers of this run have decides: bits per byte of
       parallel text, its tokens, bits per byte of held-out lines. Else ALP does, in percent
       of each language's, of tokenizers of the reference's regime. Never mean nats, of which
       languages with long lines have most.
    2. It does not tell a tokenizer from the best where they differ by at most `NEAR`, nor
       do bits per byte where the interval reaches 0.
    3. Of several such ones that with the fewest tokens of the same text is taken.
    """
    own = summary[summary.own]
    deciding = next((key for key in NEAR if own[key].count() > 1), "percent")
    if deciding == "percent":
        alike = own[own.regime == summary.regime[reference]]
        own = alike if len(alike) else summary
    values = own[deciding]
    # percents are shares of ALP already
    lost = values.max() - values if deciding == "percent" else 100 * (values / values.min() - 1)
    near = lost <= NEAR[deciding]
    if deciding in INTERVALS:
        near |= own[f"{INTERVALS[deciding]}_low"] <= 0
    level, measure = list(own.index[near]), deciding
    if len(level) > 1:
        measure = "parallel_tokens" if deciding.startswith("parallel") else "tokens_per_sentence"
    best = own[measure][level].idxmin() if len(level) > 1 else level[0]
    return Choice(best, deciding, level, measure)


@dataclass(frozen=True)
class Size:
    """The tokenizers of one configured T (None: not known) and those from elsewhere, on
    the same languages.

    `rows`: the rows of `frame`, with `counted` (whether means have the language), its
    share `q` of the text, and the difference of ALP from the reference, in `nats` and
    in `percent`. `summary`: by tokenizer the means of `grouped` and the numbers of
    `MEASURE`, `worst` (the language), `kind`, `regime`, `own` (not from elsewhere),
    `follows_text` (its training followed parallel text), `byte_pair` (it is byte-pair
    encoding), `frontier` (`yes` where no other of its regime is as good),
    intervals of the bits per byte above the fewest from `heldout_low` to `heldout_high` and
    from `parallel_low` to `parallel_high`.
    """

    total: int | None
    reference: str  # the first JOINT tokenizer, without one the first
    rows: pandas.DataFrame
    summary: pandas.DataFrame
    parallel: list[str]  # languages of the means on parallel text
    apart: dict[str, str]  # languages in no mean, with the reason
    others: list[str]  # tokenizers that serve too few languages
    q_from: str  # the file of q, empty where it is not known
    choice: Choice

    @property
    def label(self) -> str:
        """T for titles."""
        return "From elsewhere" if self.total is None else f"T = {in_thousands(self.total)}"

    @property
    def key(self) -> str:
        """T for names of files."""
        return str(self.total or "elsewhere")

    @property
    def counted(self) -> pandas.DataFrame:
        """The rows that means count."""
        return self.rows[self.rows.counted]

    @property
    def regimes(self) -> dict[str, list[str]]:
        """The names of the tokenizers of each regime."""
        groups = self.summary.groupby("regime", sort=False).groups
        return {regime: list(names) for regime, names in groups.items()}

    @property
    def own(self) -> pandas.DataFrame:
        """The rows of `summary` of this run's tokenizers."""
        return self.summary[self.summary.own]

    def value(self, name: str, key: str) -> str:
        """A number of `summary` as on the page."""
        return format_number(float(self.summary[key][name]), MEASURE[key])

    @property
    def reached(self) -> bool:
        """Whether its own tokenizers have nearly as many ids as were asked for."""
        totals = self.own.total.dropna()
        return self.total is None or bool((totals >= REACHED * self.total).all())

    def losses(self) -> pandas.DataFrame:
        """By language the other tokenizer of the run that serves it best, `name`, and by how
        many percent `best` is better, `change`; the largest loss first.

        In tokens per sentence of parallel text; without them in what decides, of that
        of the other.
        """
        decisive = {"percent": "alp"}.get(self.choice.deciding, self.choice.deciding)
        key = "parallel_tokens" if self.choice.on_parallel_text else decisive
        rivals = self.own
        if key == "alp":
            rivals = rivals[rivals.regime == self.summary.regime[self.choice.best]]
        wide = self.counted.pivot(index="language", columns="tokenizer", values=key)
        wide = wide[[self.choice.best, *rivals.index.drop(self.choice.best, errors="ignore")]]
        best = wide.pop(self.choice.best)
        # ALP is negative, and more of it is better: the signs cancel
        changes = (100 * wide.sub(best, axis=0) / wide).dropna(how="all")
        found = {"change": changes.min(axis=1), "name": changes.idxmin(axis=1)}
        return pandas.DataFrame(found).sort_values("change", kind="stable")

    @property
    def compared(self) -> list[str]:
        """The tokenizers to compare with the reference, the best by mean ALP in percent
        first.
        """
        others = self.own.drop(index=self.reference, errors="ignore")
        return list(others.sort_values("percent", ascending=False, kind="stable").index)

    def by_group(self) -> pandas.DataFrame:
        """The means of `grouped` by resource group, and over all languages, with
        `group` and `tokenizer`.
        """
        rows = pandas.concat([self.counted, self.counted.assign(resource=ALL)])
        order = [*order_groups(set(self.counted.resource)), ALL]
        found = mean_by_group(
            rows.assign(group=pandas.Categorical(rows.resource, order)), ["group", "tokenizer"]
        )
        return found.reset_index().sort_values("group", kind="stable").astype({"group": str})


@lru_cache(2)
def frame(results: Results) -> pandas.DataFrame:
    """A row a tokenizer and language, in the order of configuration and page; NaN where
    a file lacks the language.

    Columns: `tokenizer`, `language`, `resource`; those of evaluation.tsv; of parallel
    text `sentences`, `tokens`, `english_tokens`, `ratio_to_english`, `parallel_bytes`,
    `parallel_bits` (per byte) and `parallel_tokens` (per sentence, of the same content
    in every language); of round trips `texts` and `identical`; `unfit`, the reason that
    ALP and counts mislead, or empty. All numbers of tokens, and their ratios, are
    `with_bytes`.
    """
    parts = [_languages(results, tokenizer) for tokenizer in results.configured_tokenizers()]
    return pandas.concat(parts, ignore_index=True) if parts else pandas.DataFrame()


def _languages(results: Results, tokenizer: Tokenizer) -> pandas.DataFrame:
    trips = tokenizer.round_trips.dropna(subset="share")[["texts", "identical"]]
    trips = trips.groupby(level=0).sum()
    rows = tokenizer.evaluation.join([on_parallel_text(tokenizer.parallel), trips], how="outer")
    rows = rows.reindex([code for code in results.languages if code in rows.index])
    lengths = rows.tokens_per_sentence
    rows["tokens_per_sentence"] = with_bytes(
        lengths, lengths * rows.unk_rate, rows.unknown_bytes / rows.lines
    )
    rows["unfit"] = [
        _misleading(tokenizer.name, alp, rate)
        for alp, rate in zip(rows.alp, rows.unk_rate, strict=True)
    ]
    if allocation := tokenizer.allocation:
        out = rows.index.isin(list(allocation.summary.get("left_out") or ()))
        if allocation.sizes:
            out |= ~rows.index.isin(list(allocation.sizes))
        rows.loc[out, "unfit"] = f"left out by allocation {allocation.name}"
    rows.insert(0, "resource", [results.resource(code) for code in rows.index])
    rows.insert(0, "tokenizer", tokenizer.name)
    return rows.rename_axis("language").reset_index()


def on_parallel_text(table: pandas.DataFrame) -> pandas.DataFrame:
    """The columns on parallel text of `frame`, of parallel.tsv by language.

    Languages with gaps have other lines, so that only their ratios to English compare:
    tokens per sentence are those of English times the ratio.
    """
    names = {
        "lines": "sentences",
        "bytes": "parallel_bytes",
        "bigram_bits_per_byte": "parallel_bits",
        "unknown_bytes": "parallel_unknown",
        "ratio_with_bytes": "ratio_to_english",
    }
    table = table.drop(columns="ratio_to_english").rename(columns=names)
    table = table[(table.sentences > 0) & table.tokens.notna()]
    table["tokens"] = with_bytes(table.tokens, table.unknown_tokens, table.parallel_unknown)
    table["english_tokens"] = (table.tokens / table.ratio_to_english).round()
    table["parallel_tokens"] = table.tokens / table.sentences
    priced = table.dropna(subset="ratio_to_english")
    if len(priced):
        english = priced.loc[priced.sentences.idxmax()]
        tokens = table.ratio_to_english * english.english_tokens
        table["parallel_tokens"] = tokens / english.sentences
    return table


def _misleading(name: str, alp: float, unk_rate: float) -> str:
    """The reason that ALP and counts mislead: they reward <unk>, which replaces any run
    of unknown text.
    """
    if pandas.isna(alp):
        return f"not measured with {name}"
    if unk_rate > UNKNOWN_LIMIT:
        return f"{100 * unk_rate:.1f} % <unk> in {name}"
    return "" if alp else "its ALP is 0"


def mean_by_group(rows: pandas.DataFrame, keys: list[str]) -> pandas.DataFrame:
    """By group the number of `languages`, plain means of the measures, and the
    `WEIGHED` by q (`*_q`).

    `better`: languages with a higher ALP than under the reference; `best`: with the
    highest of the regime.
    """
    groups = rows.groupby(keys, sort=False, observed=True)
    found = (
        groups[[*HELD_OUT, "ratio_to_english", "percent", "nats"]]
        .mean()
        .assign(languages=groups.size())
    )
    weighed = rows.assign(**rows[WEIGHED].mul(rows.q, axis=0)).groupby(
        keys, sort=False, observed=True
    )
    weighed = weighed[WEIGHED].sum().div(groups.q.sum(), axis=0).add_suffix("_q")
    return found.join([weighed, groups[["better", "best"]].sum()])


@lru_cache(2)
def sizes(results: Results) -> list[Size]:
    """One for each T, smallest first; without tokenizers of this run one of those from
    elsewhere.
    """
    measured = [one for one in results.configured_tokenizers() if len(one.evaluation)]
    if not measured:
        return []
    facts = _facts(results, measured)
    foreign = facts[~facts.own]
    groups = facts[facts.own & facts.merged].groupby("asked")
    candidates: dict[int | None, pandas.DataFrame]
    candidates = {int(total): pandas.concat([own, foreign]) for total, own in groups}
    found = [_size(results, *one) for one in (candidates or {None: foreign}).items()]
    return list(filter(None, found))


def _size(results: Results, total: int | None, candidates: pandas.DataFrame) -> Size | None:
    """The comparison of the candidates, rows of `_facts`, that serve enough languages; None
    without one, or without a language that all of them serve.
    """
    reasons = _reasons(results, list(candidates.index))
    facts = candidates[(reasons == "").mean() >= FEWEST]
    names = list(facts.index)
    said = [list(dict.fromkeys(filter(None, row))) for row in reasons[names].to_numpy()]
    apart = {code: "; ".join(why) for code, why in zip(reasons.index, said, strict=True) if why}
    counted = list(reasons.index.drop(list(apart)))
    if not names or not counted:
        return None
    reference = facts.reference.idxmax()  # without one the first
    q_from, q = _shares(results, [results.tokenizers[name] for name in names])
    rows = frame(results).set_index("tokenizer", drop=False).loc[names].reset_index(drop=True)
    # ALP beside that of the reference in the same language, and the highest of the regime
    base = rows[rows.tokenizer == reference].set_index("language").alp
    base = rows.language.map(base[base != 0])
    nats = rows.alp - base
    most = rows.groupby(["language", rows.tokenizer.map(facts.regime)]).alp.transform("max")
    rows = rows.assign(
        counted=rows.language.isin(counted),
        q=rows.language.map(q).astype(float).fillna(0.0),
        nats=nats,
        percent=100 * nats / -base,
        better=rows.alp > base,
        best=rows.alp == most,
    )
    # the languages that every tokenizer with measures on parallel text has there
    fit = rows[rows.counted]
    tokens = fit.pivot(index="language", columns="tokenizer", values="parallel_tokens")
    tokens = tokens.loc[counted].dropna(axis="columns", how="all")
    shared = list(tokens.dropna().index) if len(tokens.columns) else []
    summary = _summary(results, facts, fit, shared)
    return Size(
        total=total,
        reference=reference,
        rows=rows,
        summary=summary,
        parallel=shared,
        apart=apart,
        others=list(candidates.index.drop(names)),
        q_from=q_from,
        choice=recommend(summary, reference),
    )


def _reasons(results: Results, names: list[str]) -> pandas.DataFrame:
    """By language (that any has measured) and tokenizer the reason that its numbers
    mislead; empty where they do not.
    """
    rows = frame(results)
    rows = rows[rows.tokenizer.isin(names)]
    measured = set(rows.language[rows.alp.notna()])
    reasons = rows.pivot(index="language", columns="tokenizer", values="unfit")
    reasons = reasons.reindex(
        index=[code for code in results.languages if code in measured], columns=names
    )
    return reasons.fillna({name: f"not measured with {name}" for name in names})


def _summary(
    results: Results, facts: pandas.DataFrame, fit: pandas.DataFrame, shared: list[str]
) -> pandas.DataFrame:
    """`Size.summary` of the tokenizers of `facts`: `fit` are the rows that means count, `shared`
    has parallel text.
    """
    summary = mean_by_group(fit, ["tokenizer"])
    trips = fit.groupby("tokenizer")[["identical", "texts"]].sum()
    summary["round_trip"] = trips.identical / trips.texts
    summary = summary.join(parallel_means(fit[fit.language.isin(shared)]))
    # intervals of the bits per byte above the fewest
    for part, codes in zip(PARTS, (fit.language.unique(), shared), strict=True):
        lengths = {}
        for name in facts.index:
            bits = results.tokenizers[name].bits.get(part, {})
            if own := {code: bits[code] for code in codes if code in bits}:
                lengths[name] = own
        columns = ["mean", f"{part}_low", f"{part}_high"]
        found = pandas.DataFrame(paired_differences(lengths), columns, facts.index, dtype=float)
        summary = summary.join(found.T[columns[1:]])
    summary = summary.join(facts)
    # no other of its regime is as good in all of these and better in one; more is better
    goods = summary[["alp", "parallel_tokens", "gini"]] * [1, -1, -1]
    summary["frontier"] = ""
    for name in summary.index[summary.own & goods.notna().all(axis=1)]:
        rivals = goods[summary.own & (summary.regime == summary.regime[name])]
        beaten = rivals.ge(goods.loc[name]).all(axis=1) & rivals.gt(goods.loc[name]).any(axis=1)
        summary.at[name, "frontier"] = "no" if beaten.any() else "yes"
    return summary


def parallel_means(fit: pandas.DataFrame) -> pandas.DataFrame:
    """By tokenizer the means on parallel text, their inequality, and the language
    `worst` of the highest ratio to English.
    """

    def inequality(tokens: pandas.Series) -> float:
        return gini(tokens) if tokens.sum() > 0 else float("nan")

    fit = fit.dropna(subset="parallel_tokens")
    fit = fit.assign(by_byte=fit.tokens / fit.parallel_bytes)
    groups = fit.groupby("tokenizer")
    means = groups[["parallel_tokens", "parallel_bits"]].mean()
    means["gini"] = groups.parallel_tokens.agg(inequality)
    means["gini_bytes"] = groups.by_byte.agg(inequality)
    worst = (
        fit.dropna(subset="ratio_to_english")
        .sort_values(["ratio_to_english", "language"], ascending=[False, True])
        .drop_duplicates("tokenizer")
        .set_index("tokenizer")
    )
    return means.assign(worst_ratio=worst.ratio_to_english, worst=worst.language)


def _facts(results: Results, tokenizers: list[Tokenizer]) -> pandas.DataFrame:
    """What descriptions say of the tokenizers: columns of `Size.summary`, T as `asked` for,
    whether its vocabulary is of all languages, `merged`, can be the `reference`, and is of an
    allocation `by_sizes`.
    """
    rows = []
    for one in tokenizers:
        kind, settings = one.kind_class, one.settings
        row = {
            "kind": one.kind_label,
            "own": kind.made,
            "total": one.total,
            "regime": kind.regime(settings),
            "follows_text": kind.followed_text(settings),
            "byte_pair": issubclass(kind, BytePair),
            "asked": one.asked,
            "merged": kind.merged,
            "reference": kind.is_reference,
            "by_sizes": kind.allocated and not one.text_rule,
        }
        rows.append(row)
    facts = pandas.DataFrame(rows, index=[one.name for one in tokenizers])
    return facts.astype({"total": "Int64", "asked": "Int64"})


def _shares(results: Results, tokenizers: Sequence[Tokenizer]) -> tuple[str, dict[str, float]]:
    """The file of q and q by language: of the first allocation, else by the first alpha
    of these tokenizers.
    """
    for allocation in (one.allocation for one in tokenizers if one.allocation):
        q = allocation.shares.q.dropna().to_dict()
        if q:
            return f"$results/allocation/{allocation.name}/allocation.tsv", q
    alphas = [tokenizer.text["alpha"] for tokenizer in tokenizers if "alpha" in tokenizer.text]
    if not alphas or not results.line_counts:
        return "", {}
    q = language_shares(results.line_counts, alphas[0])
    return f"$results/corpora/weights.tsv with alpha {alphas[0]:g}", q


def front_page(results: Results) -> list[str]:
    """The tokenizers of the example sentences: of the smallest T the one to take, and beside it
    the reference or the next best.

    Without tokenizers of one T the first of the configuration; none where none has been
    made by this run.
    """
    for one in sizes(results):
        if others := [name for name in (one.reference, *one.compared) if name != one.choice.best]:
            return [one.choice.best, others[0]]
    return [one.name for one in results.configured_tokenizers() if one.kind_class.merged][:1]
