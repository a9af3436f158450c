"""The tokenizers of one T side by side, by resource group: the page's first figure."""

from vocap.report.blocks import Block, Fold, Note, Section, counted, not_run
from vocap.report.comparing import UNKNOWN_LIMIT
from vocap.report.figures import Figure
from vocap.report.results import Results
from vocap.report.same_size import Comparison, Standing, comparisons, leaders, method, rival
from vocap.report.standing_charts import standings
from vocap.report.tables import Column, Table, signed
from vocap.tokenizers.evaluation import ALL

TITLE, SHORT = "Tokenizers of the same size", "Same size"
UNITS = {
    "percent": "in percent",
    "nats": "in nats",
    "percent_q": "in percent weighted by q",
    "nats_q": "in nats weighted by q",
}


def section(results: Results) -> Section:
    """A figure and its sentences for each T, then the numbers of all."""
    if not results.tokenizers:
        blocks: list[Block] = [not_run("tokenizers", "There is no tokenizer to compare yet.")]
        return Section("same-size", TITLE, SHORT, blocks)
    found = comparisons(results)
    if not found:
        blocks = [Note("Nothing to compare: no two tokenizers of the same T were measured on the same languages.")]
        return Section("same-size", TITLE, SHORT, blocks)
    blocks = []
    blocks += _one(results, found[0])
    blocks += [Fold(headline(results, one), _one(results, one)) for one in found[1:]]
    blocks.append(_table(results, found))
    return Section("same-size", TITLE, SHORT, blocks)


def leading(comparison: Comparison) -> str:
    """Which tokenizer has the highest mean over all languages, by every unit and weight that is known."""
    found = leaders(comparison)
    start = f"At T = {comparison.size}, of {counted(len(comparison.tokenizers), 'tokenizer')}, "
    if len(set(found.values())) == 1:
        known = ", plain and weighted by q" if len(found) > 2 else ""
        said = f"{found['percent']} has the highest mean held-out ALP, in percent and in nats{known}"
    else:
        by_name: dict[str, list[str]] = {}
        for unit, name in found.items():
            by_name.setdefault(name, []).append(UNITS[unit])
        said = "the highest mean held-out ALP has " + "; ".join(
            f"{name} {' and '.join(units)}" for name, units in by_name.items()
        )
    return f"{start}{said}."


def headline(results: Results, comparison: Comparison) -> str:
    """Which tokenizer leads, and what that hides: the languages that the best one beside the reference loses."""
    name = rival(comparison)
    row = next(one for one in comparison.of(ALL) if one.tokenizer == name)
    changes = comparison.changes[name]
    worst = min(changes, key=lambda code: (changes[code], code))
    loss = f"{results.name(worst)} loses most, {-changes[worst]:.1f} %" if changes[worst] < 0 else "none loses"
    return (
        f"{leading(comparison)} {name} against {comparison.reference.name}: {percent(row.percent)} in the mean, "
        f"better in {row.better} of {counted(row.languages, 'language')}; {loss}."
    )


def _one(results: Results, one: Comparison) -> list[Block]:
    reference = one.reference.name
    details = "; ".join(_against(row) for row in one.of(ALL) if row.tokenizer != reference)
    best = ", ".join(f"{row.tokenizer} {row.best}" for row in sorted(one.of(ALL), key=lambda row: -row.best))
    said = f"Mean over {counted(one.languages, 'language')}, against {reference}: {details}."
    blocks: list[Block] = [
        Figure(
            f"same-size-{one.total}",
            f"T = {one.size}: held-out ALP minus that of {reference}, percent of each language’s ALP (right: nats "
            "per line, languages better)",
            f"Means over the languages of each of the paper’s resource groups; to the right a tokenizer is better "
            f"than {reference} ({method(results, one.reference)}). “All, by q” weighs languages by their share q "
            "of the text, as the objective of an allocation does. Highest ALP of all, by number of languages: "
            f"{best}.",
            f"Bar chart of {len(one.tokenizers) - 1} tokenizers in {len(one.groups)} groups. {said}",
            lambda: standings(one),
            table="same-size",
        ),
    ]
    if one.apart:
        named = ", ".join(f"{results.name(code)} ({reason})" for code, reason in sorted(one.apart.items()))
        blocks.append(
            Note(
                f"T = {one.size}: {counted(len(one.apart), 'language')} in no mean here: {named}. One <unk> "
                f"stands for a whole run of unknown text, so ALP rewards it; the limit is "
                f"{100 * UNKNOWN_LIMIT:.0f} % of the tokens.",
                "warning",
            )
        )
    if one.others:
        blocks.append(
            Note(
                f"T = {one.size}: left out, since fewer than half of the languages can be counted under them: "
                f"{', '.join(one.others)}.",
                "warning",
            )
        )
    return blocks


def _against(row: Standing) -> str:
    parts = [f"{percent(row.percent)}, {signed(row.nats)} nats per line"]
    if row.percent_q is not None and row.nats_q is not None:
        parts.append(f"weighted by q {percent(row.percent_q)}, {signed(row.nats_q)} nats")
    return f"{row.tokenizer} {'; '.join(parts)} (better in {row.better} of {row.languages})".replace("; ", ", ")


def percent(value: float) -> str:
    """A difference in percent as people read it.

    >>> percent(-0.5)
    '−0.50 %'
    """
    return f"{signed(value)} %"


def _table(results: Results, found: list[Comparison]) -> Table:
    columns = [
        Column("total", "T", "number"),
        Column("reference", "Reference"),
        Column("group", "Group"),
        Column("tokenizer", "Tokenizer"),
        Column("method", "Pieces chosen by"),
        Column("languages", "Languages", "number"),
        Column("alp", "ALP, nats per line", "number", 2),
        Column("percent", "Difference, % of ALP", "number", 2),
        Column("nats", "Difference, nats per line", "number", 2),
        Column("percent_q", "% by q", "number", 2),
        Column("nats_q", "nats by q", "number", 2),
        Column("better", "Better in", "number"),
        Column("best", "Best of all in", "number"),
    ]
    rows = []
    for one in found:
        methods = {tokenizer.name: method(results, tokenizer) for tokenizer in one.tokenizers}
        for group in one.groups:
            for row in one.of(group):
                measured = (row.percent, row.nats, row.percent_q, row.nats_q, row.better)
                if row.tokenizer == one.reference.name:
                    measured = (None,) * len(measured)
                about = (one.total, one.reference.name, group, row.tokenizer, methods[row.tokenizer])
                rows.append((*about, row.languages, row.alp, *measured, row.best))
    weighed = sorted({one.weighed_by for one in found if one.weighed_by})
    origin = f", q from results/allocation/{{{', '.join(weighed)}}}/allocation.tsv" if weighed else ""
    caption = (
        "Held-out ALP, means over the languages of each group. A difference is the tokenizer minus the reference "
        "of its T, the first JOINT tokenizer of the configuration (without one the first tokenizer); above 0 the "
        "tokenizer is better. In percent: of the reference’s ALP in each language, so that long lines count as "
        "short ones. By q: weighted by the language’s share of the text. Better in: languages with a higher ALP "
        "than under the reference; best of all: with the highest of all tokenizers of this T. From "
        f"results/tokenizers/{{name}}/evaluation.tsv{origin}."
    )
    return Table("same-size", "Tokenizers of the same size by resource group", caption, columns, rows, folded=True)
