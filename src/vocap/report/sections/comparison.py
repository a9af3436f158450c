"""The tokenizers of each T compared: measures, frontier, gains and losses by language, the cost of fairness."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from vocap.allocation.rules import RULES
from vocap.report.data.comparison import (
    ELSEWHERE,
    MEASURES,
    UNKNOWN_LIMIT,
    Size,
    TradeOff,
    apart_by_text,
    by_sizes,
    records,
    sizes,
    trade_offs,
)
from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, Fold, Note, Section, Text, counted, not_run
from vocap.report.page.figures import (
    PAIR,
    WIDTH,
    Figure,
    chart,
    group_color,
    group_shape,
    joined_pairs,
    token,
    tooltips,
)
from vocap.report.page.scatter import scatter
from vocap.report.page.tables import Column, Table, columns_of, language_columns, signed, specified
from vocap.tokenizers.settings import KINDS
from vocap.wording import listed

STYLES = {  # of a kind by its label: colour and shape
    KINDS["vocap"].label: ("high", "diamond"),
    KINDS["joint"].label: ("low", "triangle-down"),
    KINDS["bpe"].label: ("mid", "circle"),
    KINDS["parity-bpe"].label: ("muted", "square"),
    **{name.upper(): ("ink", "triangle-right") for name, rule in RULES.items() if rule.needs_text},
}
OTHER = ("unknown", "triangle-up")
AXES = (
    ("parallel_tokens", "alp"),
    ("gini", "parallel_tokens"),
    ("parallel_bits", "parallel_tokens"),
)  # of charts, by keys of measures: across, up
WITHOUT_PARALLEL = (("tokens_per_sentence", "alp"),)
CHOICES = {  # of allocations that are no tokenizers: name in the table, colour and shape
    "beta": ("by beta", ("high", "circle")),
    "fairness": ("by fairness weight", ("mid", "circle")),
    "uniform": ("the same size for all", ("muted", "square")),
    "proportional": ("in proportion to the text", ("muted", "cross")),
}
OTHER_CUTS = (
    "Bytes cut characters that other units keep whole, cuts at words forbid tokens that cuts at spaces allow, "
    "and a tokenizer whose text does not come back has less to encode. Tokens on parallel text, their Gini "
    "coefficient and the ratio to English compare all."
)


def section(results: Results) -> Section:
    """The table of all tokenizers, charts for each T, and tables by group and language."""
    found = sizes(results)
    blocks: list[Block] = []
    if not results.tokenizers:
        blocks.append(not_run("tokenizers", "There is no tokenizer to compare yet."))
    elif not found:
        blocks.append(Note("Nothing to compare: no tokenizer of several languages was measured on held-out text."))
    else:
        blocks += [Text(_introduction(results, found)), _table(results, found), *_one(results, found[0])]
        blocks += [Fold(f"Charts and languages at {one.label}", _one(results, one)) for one in found[1:]]
        blocks += [_groups(found), *_figure_4(results, found)]
    if traded := trade_offs(results, found):
        blocks.append(Fold("The cost of fairness", [Text(FAIRNESS), *_traded(results, traded)]))
    elif results.allocations:
        why = results.no_inputs or "no allocation’s smallest sizes fit its T, or no curve has held-out ALP."
        blocks.append(Note(f"No cost of fairness: {why}"))
    return Section("comparison", "The tokenizers compared", "Comparison", blocks)


def _introduction(results: Results, found: Sequence[Size]) -> str:
    said = (
        "All tokenizers of one T on the same languages. Held-out ALP: nats per line, better nearer to 0. Tokens "
        "per sentence of parallel text: the same content in every language, so fewer are cheaper. Their Gini "
        "coefficient and worst ratio to English over languages: lower is more equal."
    )
    if not any(one.parallel for one in found):
        return f"{said} This run has no measures on parallel text: name some under corpora.parallel."
    return f"{said} The text: {results.parallel_text}." if results.parallel_text else said


def headline(results: Results, one: Size) -> str:
    """The best tokenizer by each measure, and the best beside the reference with the language that it loses in."""
    of = f"{one.label}, {counted(len(one.summary), 'tokenizer')}"
    parts = []
    for measure in MEASURES:
        for regime, names in one.regimes.items() if measure.by_regime else [("", list(one.summary.index))]:
            values = one.summary[measure.key][names].dropna()
            if len(values) < 2 or not measure.said or regime == ELSEWHERE:
                continue
            name = values.idxmax() if measure.more_is_better else values.idxmin()
            group = f" of {regime}" if regime and len(one.regimes) > 1 else ""
            language = f", {results.name(one.summary.worst[name])}" if measure.key == "worst_ratio" else ""
            parts.append(f"{measure.said}{group} has {name} ({values[name]:.{measure.digits}f}{language})")
    said = f"{of}: {'; '.join(parts)}.".replace("(-", "(−") if parts else f"{of}."
    return f"{said} {against(results, one, one.compared[0])}" if one.compared else said


def against(results: Results, one: Size, name: str) -> str:
    """A tokenizer against the reference: mean differences of ALP, and the language that loses most."""
    row = one.summary.loc[name]
    changes = one.counted[one.counted.tokenizer == name].set_index("language").percent
    worst = changes.sort_index().idxmin()
    loss = f"{results.name(worst)} loses most, {-changes[worst]:.1f} %" if changes[worst] < 0 else "none loses"
    weighted = f" ({signed(row.percent_q)} % weighted by q)" if row.percent_q == row.percent_q else ""
    return (
        f"{name} against {one.reference}: {signed(row.percent)} % of ALP in the mean{weighted}, "
        f"{signed(row.nats)} nats per line, better in {row.better} of {counted(row.languages, 'language')}; "
        f"{loss}."
    )


def _table(results: Results, found: Sequence[Size]) -> Table:
    rows = [{"size": one.total, **row} for one in found for row in records(one.summary.reset_index())]
    columns = [
        Column("size", "T asked for", "number"),
        Column("tokenizer", "Tokenizer"),
        Column("kind", "Kind"),
        Column("total", "T", "number"),
        Column("languages", "Languages", "number"),
        *(Column(one.key, one.title, "number", one.digits, share=one.share) for one in MEASURES),
        Column("heldout", "Bits above the fewest, 95 %"),
        Column("parallel", "Bits above the fewest, parallel"),
        Column("worst", "of", value=lambda row: results.name(row["worst"]) if row["worst"] else ""),
        Column(
            "frontier", "On the frontier", value=lambda row: {True: "yes", False: "no"}.get(row["frontier"], "")
        ),
        Column("regime", "Text regime"),
    ]
    by_q = ", ".join(dict.fromkeys(one.q_from for one in found if one.q_from))
    by_q = f"; by q: weighted by the language’s share of the text, from {by_q}" if by_q else ""
    caption = (
        f"Plain means over languages on held-out lines; ALP in nats per line{by_q}. On parallel text tokens are "
        "the mean over languages of the ratio to English, times the tokens of English per sentence (without "
        "English, tokens per sentence); Gini is of the same, Gini per byte of tokens / bytes. Bits per byte: of a "
        "Kneser-Ney bigram of tokens, unknown characters as bytes, mean over languages; of the difference from "
        "the fewest an interval of 95 % (paired bootstrap over lines). They are a code length of the text itself "
        "only where all lines come back. On the frontier: no other tokenizer of the same "
        "regime is as good in ALP, these tokens and Gini, and better in one. T are the ids, fewer than asked for "
        "where the text has too few pieces. From results/tokenizers/{name}/evaluation.tsv, parallel.tsv, "
        "roundtrip.tsv, bits.npz."
    )
    return Table.of("comparison", "Measures of all tokenizers", caption, columns, rows)


def _one(results: Results, one: Size) -> list[Block]:
    """Charts and languages of one T, and the limits of comparison."""
    blocks: list[Block] = []
    both = one.summary.parallel_tokens.count() > 1
    for across, up in AXES if both else WITHOUT_PARALLEL:
        if (one.summary[[across, up]].notna().all(axis=1)).sum() > 1:
            blocks.append(_plane(one, across, up))
    if one.compared:
        blocks.append(_strip(results, one, one.compared[0]))
    if others := [Text(against(results, one, name)) for name in one.compared[1:]]:
        blocks.append(Fold(f"The other tokenizers against {one.reference}", others))
    return [*blocks, _languages(results, one), *_limits(results, one)]


def _name(one: Size) -> str:
    return f"comparison-{one.total or 'elsewhere'}"


def _plane(one: Size, across: str, up: str) -> Figure:
    """Two measures of every tokenizer."""
    x, y = (next(measure for measure in MEASURES if measure.key == key) for key in (across, up))
    summary = one.summary.dropna(subset=[across, up])
    order = [*STYLES, *summary.kind]
    kinds = {kind: STYLES.get(kind, OTHER) for kind in sorted(set(summary.kind), key=order.index)}
    rows = [
        {"name": row["tokenizer"], "kind": row["kind"], "x": round(row[across], 6), "y": round(row[up], 6)}
        for row in records(summary.reset_index())
    ]
    tooltip = tooltips(name="|tokenizer", kind="", y=f",.4g|{y.title}", x=f",.4g|{x.title}")
    better = "up and to the left" if y.more_is_better else "down and to the left"
    caution = " Heights compare inside one text regime alone." if y.by_regime and len(one.regimes) > 1 else ""
    return Figure(
        f"{_name(one)}-{across.replace('_', '-')}",
        f"{one.label}: {y.axis.split(' (')[0]} against {x.axis}",
        f"Better is {better}.{caution}",
        f"Chart of {counted(len(summary), 'tokenizer')}: {y.axis} against {x.axis}. The numbers are in the table.",
        lambda: scatter(rows, (x.axis, y.axis), kinds, tooltip),
        table="comparison",
    )


def _strip(results: Results, one: Size, name: str) -> Figure:
    """Every language's difference of ALP under a tokenizer from that under the reference."""
    rows = one.counted[one.counted.tokenizer == name].sort_values(["percent", "language"])
    ends = " and ".join(
        f"{end} is {percent:+.2f} % ({results.name(code)})".replace("-", "−")
        for end, code, percent in zip(
            ("smallest", "largest"), rows.language.iloc[[0, -1]], rows.percent.iloc[[0, -1]], strict=True
        )
    )
    return Figure(
        f"{_name(one)}-{name}",
        f"Every language at {one.label}: {name} minus {one.reference}",
        f"Held-out ALP under {name} minus ALP under {one.reference}, in percent of the latter: right of zero "
        f"{name} is better. One mark for each language, the upright stroke is the mean of the paper’s resource "
        "group (by CommonCrawl size); each group’s extremes carry their code.",
        f"Strip chart of {counted(len(rows), 'language')}. The {ends}.",
        lambda: strip(results, one, name),
        table=f"{_name(one)}-languages",
    )


def strip(results: Results, one: Size, name: str) -> alt.LayerChart:
    """A row for each resource group, dots that would cover each other in lanes above and below its middle."""
    found = one.counted[one.counted.tokenizer == name].sort_values(["percent", "language"])
    reference = one.counted[one.counted.tokenizer == one.reference].set_index("language").alp
    groups = [group for group in results.groups() if group in set(found.resource)]
    low, high = min(0.0, found.percent.min()), max(0.0, found.percent.max())
    extent = high - low or 1.0
    # a mark of each language, with the code of the first and the last of a group
    rows = []
    for group in groups:
        members = records(found[found.resource == group])
        lanes = _lanes([row["percent"] for row in members], extent / 46)
        for place, (row, lane) in enumerate(zip(members, lanes, strict=True)):
            code = row["language"]
            numbers = {"percent": row["percent"], "nats": row["nats"], "alp": row["alp"], "other": reference[code]}
            edge = {0: "right", len(members) - 1: "left"}.get(place)
            about = {"group": group, "language": results.name(code), "code": code, "lane": lane, "align": edge}
            rows.append(about | {key: round(float(value), 4) for key, value in numbers.items()})
    # axes, then the layers: zero, means, marks, codes
    scale = alt.Scale(domain=[low - extent / 12, high + extent / 12], nice=False)
    title = [f"{name} − {one.reference}", f"percent of each language’s ALP under {one.reference}"]
    reach = max(4, *(abs(row["lane"]) + 1 for row in rows))
    place = {
        "x": alt.X("percent:Q", title=title, scale=scale, axis=alt.Axis(tickCount=8)),
        "y": alt.Y("group:N", sort=groups, title=None, axis=alt.Axis(labelFontSize=12, grid=True)),
        "yOffset": alt.YOffset("lane:Q", scale=alt.Scale(domain=[-reach, reach])),
    }
    numbers = {"alp": f",.2f|ALP, {name}", "other": f",.2f|ALP, {one.reference}"}
    tooltip = tooltips(language="", code="", percent="+.2f", nats="+,.2f", **numbers)
    look = {"color": group_color(groups, legend=False), "shape": group_shape(groups, legend=False)}
    means = found.groupby("resource").percent.mean().round(4)
    ticks = chart([{"group": group, "percent": means[group], "lane": 0} for group in groups])
    ticks = ticks.mark_point(shape="stroke", angle=90, size=3600, strokeWidth=2, color=token("muted"), opacity=1)
    layers = [
        chart([{"zero": 0}]).mark_rule(color=token("muted")).encode(x="zero:Q"),
        ticks.encode(**place, tooltip=tooltips(group="", percent="+.3f|mean")),
        chart(rows).mark_point(filled=True, size=52, opacity=1).encode(**place, **look, tooltip=tooltip),
    ]
    for align, dx in (("right", -8), ("left", 8)):
        edges = chart([row for row in rows if row["align"] == align])
        layers.append(edges.mark_text(align=align, dx=dx).encode(**place, text="code:N"))
    return alt.layer(*layers).properties(width=WIDTH, height=90 * len(groups))


def _lanes(places: list[float], width: float) -> list[int]:
    """A lane for each of the ascending places, no two in a lane nearer than `width`: 0, 1, -1, 2 ..."""
    last: list[float] = []  # of each lane
    lanes = []
    for place in places:
        lane = next((lane for lane, end in enumerate(last) if place - end >= width), len(last))
        last[lane : lane + 1] = [place]
        lanes.append((lane + 1) // 2 * (1 if lane % 2 else -1))
    return lanes


def _languages(results: Results, one: Size) -> Table:
    """ALP of each language under all tokenizers, and the differences from the reference."""

    def wide(key: str, name: str) -> dict[str, float]:
        return one.rows[one.rows.tokenizer == name].set_index("language")[key].dropna().to_dict()

    columns = language_columns(results)
    for name in one.summary.index:
        columns.append(Column(f"alp_{name}", f"ALP, {name}", "number", 2, value=wide("alp", name).get))
    for name in one.compared:
        columns.append(Column(f"percent_{name}", f"{name}, %", "number", 2, value=wide("percent", name).get))
    columns.append(Column("apart", "Reason for exclusion", value=one.apart.get))
    caption = (
        f"Held-out ALP in nats per line, and its difference from that of {one.reference}, in percent of the "
        "latter, so that languages with long lines compare with the others: above 0 the tokenizer is better. From "
        "results/tokenizers/{name}/evaluation.tsv."
    )
    codes = sorted(set(one.rows.language), key=results.rank)
    title = f"By language, {one.label}"
    return Table.of(f"{_name(one)}-languages", title, caption, columns, codes, folded=True)


def _limits(results: Results, one: Size) -> list[Note]:
    """Notes on the limits of comparison, and on languages and tokenizers that are left out."""
    own, measured = one.summary.own, one.summary.parallel_tokens.notna()
    foreign = list(one.summary.index[~own]) if one.total else []
    followers = list(one.summary.index[one.summary.follows_text & measured])
    apart = [f"{results.name(code)} ({reason})" for code, reason in sorted(one.apart.items())]
    limit = f"the limit of <unk>, which replaces a run of text, is {100 * UNKNOWN_LIMIT:.0f} % of the tokens"
    favoured = "measures on parallel text of the same domain favour them"
    notes = {
        "Of another T, and trained on other text": foreign,
        f"Trained to follow parallel text (corpora.development; {favoured})": followers,
        f"In no mean at {one.label} ({limit})": apart,
        "Left out, since fewer than half of the languages can be counted under them": one.others,
    }
    regimes = apart_by_text(one.regimes)
    cuts = [Note(f"{regimes} {OTHER_CUTS}")] if regimes else []
    return cuts + [Note(f"{said}: {listed(names)}.") for said, names in notes.items() if names]


def _groups(found: Sequence[Size]) -> Table:
    rows = []
    for one in found:
        means = one.by_group().assign(size=one.total, reference=one.reference).astype({"better": object})
        same = means.tokenizer == one.reference
        means.loc[same, ["percent", "nats", "percent_q", "nats_q", "better"]] = None
        rows += records(means)
    return specified("comparison-groups", rows, columns_of("measures"))


def _figure_4(results: Results, found: Sequence[Size]) -> list[Block]:
    """The paper's Figure 4 of the VOCAP tokenizers by sizes; nothing without a JOINT one of their T."""
    rows = []
    for one, name in by_sizes(results, found):
        means = one.by_group()
        joint = means[means.tokenizer == one.reference].set_index("group").alp
        for row in records(means[means.tokenizer == name]):
            other, alp = joint[row["group"]], row["alp"]
            about = {"row": f"{row['group']}, {name}", "languages": row["languages"], "label": signed(row["nats"])}
            numbers = {"vocap": alp, "joint": other, "best": max(alp, other), "gain": row["nats"]}
            rows.append(about | {key: round(float(value), 3) for key, value in numbers.items()})
    if not rows:
        return []
    words = "; ".join(f"{row['row']}: {row['label']}" for row in rows)
    figure = Figure(
        "vocap-joint-groups",
        "Mean ALP by resource group",
        "Held-out ALP in nats per line, plain mean over the languages of each of the paper’s resource groups (by "
        "CommonCrawl size), under a VOCAP tokenizer and the first JOINT tokenizer of its T; the number is VOCAP "
        "minus JOINT, positive where VOCAP is better. The paper’s Figure 4.",
        f"Dot chart with one row for each group and tokenizer; VOCAP minus JOINT, in nats per line: {words}.",
        lambda: group_means(rows),
        table="comparison-groups",
    )
    return [Fold("The paper’s Figure 4: VOCAP and JOINT by resource group", [figure])]


def group_means(rows: list[dict[str, Any]]) -> alt.LayerChart:
    """JOINT's and VOCAP's mean ALP of each row, joined by a line."""
    values = [row[key] for row in rows for key in ("vocap", "joint")]
    pad = 0.08 * (max(values) - min(values) or 1)
    axis = {
        "scale": alt.Scale(domain=[min(values) - pad, max(values) + 2.2 * pad], nice=False, zero=False),
        "title": "mean ALP on held-out lines (nats per line)",
        "axis": alt.Axis(tickCount=8),
    }
    ends = [{**row, "kind": kind, "alp": row[kind.lower()]} for row in rows for kind in PAIR]
    lines, marks = joined_pairs(rows, ends, ("joint", "vocap"), "alp", **axis)
    shown = {"alp": ",.2f|mean ALP", "gain": "+,.2f|VOCAP − JOINT", "languages": "d"}
    marks = marks.encode(tooltip=tooltips(row="|group", kind="|tokenizer", **shown))
    text = chart(rows).mark_text(align="left", dx=10)
    text = text.encode(x=alt.X("best:Q", scale=axis["scale"]), y=lines.encoding.y, text="label:N")
    return alt.layer(lines, marks, text).properties(width=WIDTH, height=30 * len(rows))


FAIRNESS = (
    "Beta weighs languages by their data, the fairness weight φ by x: a language’s held-out ALP over the best "
    "held-out ALP of its own curve, a ratio without unit that does not depend on the length of lines. The lines "
    "show the effect of either on the mean held-out ALP of a line of the multilingual sample (each language "
    "weighted by q) and on the inequality of x. On the lines, and for baselines, each language is read off its "
    "own curve at its size in the last union within T. Tokenizers are measured with the pieces of all languages "
    "in one vocabulary: the distance from VOCAP’s mark to its line is the effect of merging. Compare within a "
    "run, not between runs."
)


def _traded(results: Results, found: Sequence[TradeOff]) -> list[Block]:
    blocks: list[Block] = []
    for one in found:
        ends = {point["beta"]: point for point in one.points if point["series"] == "beta"}
        fair, rich = ends[0.0], ends[1.0]
        said = (
            f"T = {one.total:,}: from beta 1 to beta 0 the mean ALP changes by "
            f"{signed(fair['alp'] - rich['alp'])} nats per line, the Gini coefficient of x from "
            f"{rich['gini']:.4f} to {fair['gini']:.4f}, and x of the worst served language from "
            f"{rich['worst_ratio']:.3f} ({rich['worst']}) to {fair['worst_ratio']:.3f} ({fair['worst']})."
        )
        figure = Figure(
            f"fairness-{one.total}",
            f"T = {one.total:,}: mean ALP against the Gini coefficient of x",
            f"Held-out ALP in nats per line; better is up and to the left. All other settings are those of "
            f"{one.reference}; {counted(len(one.languages), 'language')} counted. The fairness weight varies at "
            f"beta {one.beta:g}.",
            f"Chart of {len(one.points)} allocations and tokenizers. {said} The numbers are in the table.",
            lambda one=one: trade_off(one),
            table=f"fairness-{one.total}",
        )
        blocks += [Text(said), figure, _trade_off_table(results, one)]
        if one.apart:
            named = listed([f"{results.name(code)} ({reason})" for code, reason in sorted(one.apart.items())])
            blocks.append(Note(f"Not counted at T = {one.total:,}, in any mark: {named}.", "warning"))
    return blocks


def _trade_off_table(results: Results, one: TradeOff) -> Table:
    rows = []
    for point in one.points:
        kind = CHOICES.get(point["series"], (f"{point['series']} tokenizer",))[0]
        worst = results.name(point["worst"])
        rows.append({**point, "kind": kind, "languages": len(one.languages), "worst": worst})
    return specified("fairness", rows, of=str(one.total))


def trade_off(one: TradeOff) -> alt.LayerChart:
    """Both lines, baselines and tokenizers."""
    rows = []
    for point in one.points:
        series, value = point["series"], point.get(point["series"])
        name = "" if series in CHOICES else point["name"]
        if (series == "beta" and value in (0, 0.5, 0.7, 1)) or (series == "fairness" and value in (4, 16)):
            name = f"{'β' if series == 'beta' else 'φ'} {value:g}"
        row = {"kind": CHOICES[series][0] if series in CHOICES else series, "label": point["name"], "name": name}
        row |= {"x": round(point["gini"], 5), "y": round(point["alp"], 4), "worst": point["worst"]}
        row |= {"line": series, "place": value} if value is not None else {}
        rows.append({**row, "worst_ratio": round(point["worst_ratio"], 4)})
    numbers = {"y": ",.3f|mean ALP", "x": ".4f|Gini", "worst": "|worst served", "worst_ratio": ".3f|its x"}
    tooltip = tooltips(label="|allocation or tokenizer", **numbers)
    kinds = {**dict(CHOICES.values()), **STYLES}
    titles = ("Gini coefficient of x", "mean held-out ALP (nats per line)")
    return scatter(sorted(rows, key=lambda row: "line" in row), titles, kinds, tooltip, height=320)
