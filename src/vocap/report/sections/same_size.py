"""The tokenizers of one T side by side, by resource group."""

import altair as alt

from vocap.report.data.comparisons import (
    UNKNOWN_LIMIT,
    Comparison,
    Standing,
    best_other,
    comparisons,
    leaders,
    method,
)
from vocap.report.data.every_tokenizer import apart_by_text, regimes
from vocap.report.data.results import ALL, Results
from vocap.report.page.blocks import Block, Fold, Note, Section, counted, not_run
from vocap.report.page.figures import WIDTH, Figure, chart, token
from vocap.report.page.tables import Column, Table, signed

UNITS = {
    "percent": "in percent",
    "nats": "in nats",
    "percent_q": "in percent weighted by q",
    "nats_q": "in nats weighted by q",
}
COLOURS = ("high", "low", "mid", "unknown", "ink")  # of the tokenizers in their order, again from the start
BY_Q = "all, by q"
NARROW = "width < 400"  # px of the bars and numbers: on a phone
ROW, LABEL = 19, 0.62  # height of a bar's row, px; width of the numbers beside the bars, of that of the bars


def section(results: Results) -> Section:
    """A figure and its sentences for each T, then the numbers of all."""
    found = comparisons(results)
    if not results.tokenizers:
        blocks: list[Block] = [not_run("tokenizers", "There is no tokenizer to compare yet.")]
    elif not found:
        blocks = [Note("Nothing to compare: no two tokenizers of the same T were measured on the same languages.")]
    else:
        folds = [Fold(headline(results, one), _one(results, one)) for one in found[1:]]
        blocks = [*_one(results, found[0]), *folds, _table(results, found)]
    return Section("same-size", "Tokenizers of the same size", "Same size", blocks)


def leading(comparison: Comparison) -> str:
    """The tokenizer of the highest mean over all languages, by every known unit and weight, in words."""
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
    """The best tokenizer in the mean, and the largest loss of a language under the best beside the reference."""
    name = best_other(comparison)
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
                f"replaces a whole run of unknown text, so ALP rewards it; the limit is "
                f"{100 * UNKNOWN_LIMIT:.0f} % of the tokens.",
                "warning",
            )
        )
    if said := apart_by_text(regimes(one.tokenizers)):
        blocks.append(Note(said))
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
    """A difference in percent with its sign.

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
        for row in (row for group in one.groups for row in one.of(group)):
            measured = (row.percent, row.nats, row.percent_q, row.nats_q, row.better)
            if row.tokenizer == one.reference.name:
                measured = (None,) * len(measured)
            about = (one.total, one.reference.name, row.group, row.tokenizer, methods[row.tokenizer])
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


def standings(comparison: Comparison) -> alt.LayerChart:
    """A bar for each group and tokenizer but the reference, which is the line at 0; numbers at the right."""
    reference = comparison.reference.name
    names = [one.name for one in comparison.tokenizers if one.name != reference]
    others = [one for group in comparison.groups for one in comparison.of(group) if one.tokenizer != reference]
    rows = [_row(one.group, one, one.percent, one.nats) for one in others]
    if all(one.percent_q is not None for one in comparison.of(ALL)):
        rows += [_row(BY_Q, one, one.percent_q, one.nats_q) for one in others if one.group == ALL]
    values = [0.0, *(row["percent"] for row in rows)]
    low, high = min(values), max(values)
    extent = (high - low) or 1.0
    scale = alt.Scale(domain=[low - 0.03 * extent, high + LABEL * extent], nice=False)
    order = _spaced(rows)
    names_axis = alt.Axis(labelFontSize=12, labelLimit=260, ticks=False)
    y = alt.Y("row:N", scale=alt.Scale(domain=order), title=None, axis=names_axis)
    x = alt.X(
        "percent:Q",
        scale=scale,
        title=["percent of each language’s ALP", f"({reference} at 0)"],  # lines that fit a phone
        axis=alt.Axis(values=_ticks(low, high), labelExpr="datum.value ? datum.label : '0'", format="+~g"),
    )
    colour = alt.Color(
        "tokenizer:N",
        scale=alt.Scale(domain=names, range=[token(COLOURS[k % len(COLOURS)]) for k in range(len(names))]),
        legend=None,  # each row has the name
    )
    tooltip = [
        alt.Tooltip("tokenizer:N"),
        alt.Tooltip("group:N"),
        alt.Tooltip("percent:Q", title="percent of ALP", format="+.3f"),
        alt.Tooltip("nats:Q", title="nats per line", format="+.3f"),
        alt.Tooltip("better:Q", title="better in"),
        alt.Tooltip("languages:Q", title="of languages"),
    ]
    bars = chart(rows).mark_bar(height=11).encode(x=x, y=y, color=colour, tooltip=tooltip)
    zero = chart([{"zero": 0}]).mark_rule(color=token("muted")).encode(x=alt.X("zero:Q", scale=scale))
    long = chart(rows).mark_text(align="right", dx=-2, fontSize=alt.ExprRef(f"{NARROW} ? 0 : 11"))
    short = chart(rows).mark_text(align="right", dx=-2, fontSize=alt.ExprRef(f"{NARROW} ? 11 : 0"))
    right = {"x": alt.value("width"), "y": y}
    numbers = [long.encode(**right, text="said:N"), short.encode(**right, text="short:N")]
    return alt.layer(bars, zero, *numbers).properties(width=WIDTH, height=ROW * len(order))


def _row(group: str, one, percent: float, nats: float) -> dict:
    said = f"{percent:+.2f} %, {nats:+.2f} nats"
    if group != BY_Q:
        said += f", {one.better} of {one.languages}"
    return {
        "row": f"{group}: {one.tokenizer}",
        "group": group,
        "tokenizer": one.tokenizer,
        "percent": round(percent, 4),
        "nats": round(nats, 4),
        "better": one.better,
        "languages": one.languages,
        "said": said.replace("-", "−"),
        "short": f"{percent:+.2f} %".replace("-", "−"),
    }


def _spaced(rows: list[dict]) -> list[str]:
    """The rows of the axis, an empty one between two groups."""
    order: list[str] = []
    for before, row in zip([None, *rows], rows, strict=False):
        if before and before["group"] != row["group"]:
            order.append(" " * (1 + len(order)))
        order.append(row["row"])
    return order


def _ticks(low: float, high: float) -> list[float]:
    """About five round numbers from `low` to `high`, 0 among them."""
    rough = (high - low) / 5 or 0.2
    step = next(base * 10.0**power for power in range(-6, 7) for base in (1, 2, 5) if base * 10.0**power >= rough)
    first, last = int(low / step) - 1, int(high / step) + 1
    return [round(k * step, 6) for k in range(first, last + 1) if low <= k * step <= high]
