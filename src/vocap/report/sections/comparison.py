"""VOCAP against JOINT by resource group, the paper's Figure 4, and by language."""

from collections.abc import Sequence

import altair as alt

from vocap.report.data.comparisons import UNKNOWN_LIMIT, Difference, Group, Pair, groups, pairs
from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, Fold, Note, Section, Text, counted, not_run
from vocap.report.page.figures import PAIR, WIDTH, Figure, chart, group_color, group_shape, joined_pairs, token
from vocap.report.page.tables import LONG, Column, Table, language_columns, signed


def section(results: Results) -> Section:
    """The languages of each pair, then the group means over all T."""
    return Section("comparison", "VOCAP against JOINT", "VOCAP and JOINT", _blocks(results))


def _blocks(results: Results) -> list[Block]:
    if not results.tokenizers:
        return [not_run("tokenizers", "There is no tokenizer to compare yet.")]
    found = pairs(results)
    if not found:
        return [
            Note(
                "No VOCAP and JOINT tokenizer with the same number of ids have both been evaluated. Name one of "
                "kind vocap and one of kind joint with the same total in the configuration’s tokenizers section."
            )
        ]
    blocks: list[Block] = [
        Text(
            "A tokenizer of kind VOCAP holds the pieces of an allocation, which weighs languages against each "
            "other; JOINT is one training on the text of all languages. Compared are each VOCAP tokenizer and "
            "the first JOINT tokenizer of the same number of ids T in the configuration."
        )
    ]
    blocks += [note for pair in found if (note := _apart(results, pair))]
    blocks += _languages(results, found[0])
    for pair in found[1:]:
        better = f"{sum(one.gain > 0 for one in pair.compared)} of {counted(len(pair.compared), 'language')}"
        title = f"{pair.vocap} against {pair.joint}, T = {pair.size}: better in {better}"
        blocks.append(Fold(title, _languages(results, pair)))
    if rows := [row for pair in found if pair.by_sizes for row in groups(pair)]:
        blocks.append(Fold("The paper’s Figure 4: mean ALP by resource group, in nats per line", _figure(rows)))
    return blocks


def _figure(rows: list[Group]) -> list[Block]:
    blocks: list[Block] = [_means(rows), _table(rows)]
    if any(row.weighted_gain is not None for row in rows):
        blocks.append(
            Text(
                "A plain mean counts every language once. The allocation itself weighs a language by a power of "
                "q, its share of the text (Equation 2), so the table has the mean weighted by q too."
            )
        )
    return blocks


def _moved(results: Results, pair: Pair) -> str:
    """The mean in percent, and the language with the largest loss."""
    mean = sum(one.percent for one in pair.compared) / len(pair.compared)
    worst = min(pair.compared, key=lambda one: (one.percent, one.language))
    lost = f"{results.name(worst.language)} loses most, {-worst.percent:.1f} %" if worst.gain < 0 else "none loses"
    return f"In percent of each language’s ALP the mean difference is {signed(mean)} %; {lost}."


def _finding(results: Results, pair: Pair) -> str:
    """The differences of the means, and the number of better languages; empty where none is compared."""
    rows = groups(pair)
    if not rows:
        return ""
    vocap, joint = pair.names
    apart = len(pair.differences) - len(pair.compared)
    out = f", {apart} more left out for its <unk> or by the allocation" if apart else ""
    out = out.replace(" its ", " their ") if apart > 1 else out
    everything = rows[-1]
    parts = ", ".join(f"{signed(one.gain)} for {one.resource}-resource languages" for one in rows[:-1])
    parts = f" ({parts})" if len(rows) > 2 else ""
    q = everything.weighted_gain
    weighted = "" if q is None else f" Weighted by q, as in Equation 2, the mean difference is {signed(q)}."
    side = "higher" if everything.gain >= 0 else "lower"
    return (
        f"At T = {pair.size}, {vocap}’s held-out ALP is on average {abs(everything.gain):.2f} nats per line "
        f"{side} than {joint}’s{parts}; it is higher in {everything.better} of "
        f"{counted(everything.languages, 'language')}{out}.{weighted} {_moved(results, pair)}"
    )


def _apart(results: Results, pair: Pair) -> Note | None:
    """The languages excluded from the means, with the reasons."""
    apart = [one for one in pair.differences if one.apart]
    if not apart:
        return None
    named = ", ".join(f"{results.name(one.language)} ({one.apart})" for one in apart)
    counts = "is" if len(apart) == 1 else "are"
    return Note(
        f"{pair.vocap} against {pair.joint}: {counted(len(apart), 'language')} {counts} in no mean and no "
        f"figure here: {named}. One <unk> replaces a whole run of unknown text, so ALP rewards a vocabulary "
        f"for the text that it cannot encode; languages above {100 * UNKNOWN_LIMIT:.0f} % <unk> in either "
        "tokenizer, and those that the allocation left out, are in the table by language only.",
        "warning",
    )


def _means(rows: list[Group]) -> Figure:
    words = "; ".join(f"{row.resource} at {row.pair.label}: {row.gain:+.2f}" for row in rows)
    return Figure(
        "vocap-joint-groups",
        "Mean ALP by resource group",
        "Held-out ALP in nats per line, plain mean over the languages of each of the paper’s resource groups (by "
        "CommonCrawl size); the number is VOCAP minus JOINT, positive where VOCAP is better. The paper’s Figure "
        "4.",
        f"Dot chart with one row for each group and T; VOCAP minus JOINT, in nats per line: {words}.",
        lambda: group_means(rows),
        table="vocap-joint-groups",
    )


def _table(rows: list[Group]) -> Table:
    columns = [
        Column("total", "T", "number", value=lambda row: row.pair.total),
        Column("vocap", "VOCAP", value=lambda row: row.pair.vocap),
        Column("joint", "JOINT", value=lambda row: row.pair.joint),
        Column("resource", "Group"),
        Column("languages", "Languages", "number"),
        Column("alp_vocap", "ALP, VOCAP", "number", 2, value=lambda row: row.vocap),
        Column("alp_joint", "ALP, JOINT", "number", 2, value=lambda row: row.joint),
        Column("difference", "Difference", "number", 2, value=lambda row: row.gain),
        Column("difference_q", "Difference weighted by q", "number", 2, value=lambda row: row.weighted_gain),
        Column("better", "Better in", "number"),
    ]
    caption = (
        "Plain means over the languages of a group of their held-out ALP (nats per line); the difference is "
        "VOCAP minus JOINT, plain and weighted by each language’s sampling probability q, as in the allocation’s "
        "objective (Equation 2); “better in” counts the languages with a higher ALP under VOCAP. From "
        "results/tokenizers/{name}/evaluation.tsv, q from allocation.tsv of VOCAP’s allocation."
    )
    return Table.of("vocap-joint-groups", "VOCAP and JOINT by resource group", caption, columns, rows)


def _languages(results: Results, pair: Pair) -> list[Block]:
    ordered = sorted(pair.compared, key=lambda one: (one.percent, one.language))
    said = _finding(results, pair)
    blocks: list[Block] = [Text(said), _strip(results, pair, ordered[0], ordered[-1])] if ordered else []
    return [*blocks, _by_language(results, pair)]


def _strip(results: Results, pair: Pair, worst: Difference, best: Difference) -> Figure:
    return Figure(
        _name(pair),
        f"Every language at T = {pair.size}: {pair.vocap} minus {pair.joint}",
        f"Held-out ALP under {pair.vocap} minus ALP under {pair.joint}, in percent of the latter: right of zero "
        f"{pair.vocap} is better. One mark for each language, the upright stroke is the mean of the group; each "
        "group’s extremes carry their code.",
        f"Strip chart of {counted(len(pair.compared), 'language')}. The smallest difference is "
        f"{worst.percent:+.2f} % "
        f"({results.name(worst.language)}), the largest {best.percent:+.2f} % ({results.name(best.language)}).",
        lambda: differences(results, pair),
        table=_name(pair),
    )


def _by_language(results: Results, pair: Pair) -> Table:
    columns = [
        *language_columns(results),
        Column("alp_vocap", f"ALP, {pair.vocap}", "number", 2, value=lambda one: one.vocap),
        Column("alp_joint", f"ALP, {pair.joint}", "number", 2, value=lambda one: one.joint),
        Column("difference", "Difference", "number", 2, value=lambda one: one.gain),
        Column("relative", f"of {pair.joint}’s", "number", 2, share=True, value=lambda one: one.percent / 100),
        Column("apart", "Reason for exclusion"),
    ]
    caption = (
        f"Held-out ALP of {pair.vocap} and {pair.joint} (T = {pair.total:,}) in nats per line; the "
        f"share is the difference as a share of {pair.joint}’s ALP, so that languages with long "
        f"lines compare with the others. From results/tokenizers/{{name}}/evaluation.tsv."
    )
    title = f"By language, T = {pair.size}: {pair.vocap} and {pair.joint}"
    rows = pair.differences
    return Table.of(_name(pair), title, caption, columns, rows, folded=len(rows) > LONG)


def _name(pair: Pair) -> str:
    return f"vocap-joint-{pair.vocap}-{pair.joint}"


def group_means(groups: Sequence[Group]) -> alt.LayerChart:
    """Figure 4: mean held-out ALP of each resource group, JOINT and VOCAP joined by a line."""
    rows = [
        {
            "row": f"{one.resource}, {one.pair.label}",
            "group": one.resource,
            "vocap": round(one.vocap, 3),
            "joint": round(one.joint, 3),
            "gain": round(one.gain, 3),
            "label": f"{one.gain:+.2f}".replace("-", "−"),
            "languages": one.languages,
            "best": round(max(one.vocap, one.joint), 3),
        }
        for one in groups
    ]
    extent = [value for row in rows for value in (row["vocap"], row["joint"])]
    pad = 0.08 * (max(extent) - min(extent) or 1)
    scale = alt.Scale(domain=[min(extent) - pad, max(extent) + 2.2 * pad], nice=False, zero=False)
    ends = [{**row, "kind": kind, "alp": row[kind.lower()]} for row in rows for kind in PAIR]
    title = "mean ALP on held-out lines (nats per line)"
    axis = alt.Axis(tickCount=8)
    lines, marks = joined_pairs(rows, ends, ("joint", "vocap"), "alp", scale=scale, title=title, axis=axis)
    marks = marks.encode(
        tooltip=[
            alt.Tooltip("row:N", title="group"),
            alt.Tooltip("kind:N", title="tokenizer"),
            alt.Tooltip("alp:Q", title="mean ALP", format=",.2f"),
            alt.Tooltip("gain:Q", title="VOCAP − JOINT", format="+,.2f"),
            alt.Tooltip("languages:Q", title="languages"),
        ],
    )
    text = chart(rows).mark_text(align="left", dx=10)
    text = text.encode(x=alt.X("best:Q", scale=scale), y=lines.encoding.y, text="label:N")
    return alt.layer(lines, marks, text).properties(width=WIDTH, height=30 * len(rows))


def differences(results: Results, pair: Pair) -> alt.LayerChart:
    """Every language's difference of ALP in percent of the second's, one row a group, dots spread apart."""
    difference = f"{pair.vocap} − {pair.joint}"
    groups = [name for name in results.groups() if any(one.resource == name for one in pair.compared)]
    gains = [0.0, *(one.percent for one in pair.compared)]
    extent = max(gains) - min(gains) or 1
    width = extent / 46  # width of a dot on the axis
    scale = alt.Scale(domain=[min(gains) - extent / 12, max(gains) + extent / 12], nice=False)
    rows, means = [], []
    for group in groups:
        members = sorted((one for one in pair.compared if one.resource == group), key=lambda one: one.percent)
        lanes = _lanes([one.percent for one in members], width)
        edge = {members[0].language, members[-1].language}
        rows += [
            {
                "group": group,
                "language": results.name(one.language),
                "code": one.language,
                "percent": round(one.percent, 4),
                "gain": round(one.gain, 4),
                "vocap": round(one.vocap, 3),
                "joint": round(one.joint, 3),
                "lane": lane,
                "label": one.language if one.language in edge else "",
                "left": one is members[0],
            }
            for one, lane in zip(members, lanes, strict=True)
        ]
        average = sum(one.percent for one in members) / len(members)
        means.append({"group": group, "mean": round(average, 4), "lane": 0})
    y = alt.Y("group:N", sort=groups, title=None, axis=alt.Axis(labelFontSize=12, grid=True))
    x = alt.X(
        "percent:Q",
        title=[difference, f"percent of each language’s ALP under {pair.joint}"],
        scale=scale,
        axis=alt.Axis(tickCount=8),
    )
    reach = max(4, *(abs(row["lane"]) + 1 for row in rows))
    offset = alt.YOffset("lane:Q", scale=alt.Scale(domain=[-reach, reach]))
    zero = chart([{"zero": 0}]).mark_rule(color=token("muted")).encode(x="zero:Q")
    ticks = chart(means).mark_point(
        shape="stroke", angle=90, size=3600, strokeWidth=2, color=token("muted"), opacity=1
    )
    ticks = ticks.encode(
        x="mean:Q", y=y, yOffset=offset, tooltip=["group:N", alt.Tooltip("mean:Q", format="+.3f")]
    )
    dots = chart(rows).mark_point(filled=True, size=52, opacity=1)
    dots = dots.encode(
        x=x,
        y=y,
        yOffset=offset,
        color=group_color(groups, legend=False),
        shape=group_shape(groups, legend=False),
        tooltip=[
            "language:N",
            "code:N",
            alt.Tooltip("percent:Q", title="percent", format="+.2f"),
            alt.Tooltip("gain:Q", title=f"{difference}, nats", format="+,.2f"),
            alt.Tooltip("vocap:Q", title=f"ALP, {pair.vocap}", format=",.2f"),
            alt.Tooltip("joint:Q", title=f"ALP, {pair.joint}", format=",.2f"),
        ],
    )

    def edges(left: bool) -> alt.Chart:
        values = [row for row in rows if row["label"] and row["left"] is left]
        return (
            chart(values)
            .mark_text(align="right" if left else "left", dx=-8 if left else 8)
            .encode(x=x, y=y, yOffset=offset, text="label:N")
        )

    return alt.layer(zero, ticks, dots, edges(True), edges(False)).properties(width=WIDTH, height=90 * len(groups))


def _lanes(places: list[float], width: float) -> list[int]:
    """A lane for each of the ascending places, no two in a lane nearer than `width`: 0, 1, -1, 2 ..."""
    last: list[float] = []  # of each lane
    lanes = []
    for place in places:
        lane = next((lane for lane, end in enumerate(last) if place - end >= width), len(last))
        last[lane : lane + 1] = [place]
        lanes.append((lane + 1) // 2 * (1 if lane % 2 else -1))
    return lanes
