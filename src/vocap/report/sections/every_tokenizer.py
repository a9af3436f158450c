"""The frontier of all tokenizers of a T: mean held-out ALP, tokens on parallel text, and their inequality."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import altair as alt

from vocap.allocation.rules import RULES
from vocap.report.data.comparisons import UNKNOWN_LIMIT, in_thousands
from vocap.report.data.every_tokenizer import ELSEWHERE, Mark, Size, apart_by_text, sizes
from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, Fold, Note, Section, Text, counted, not_run
from vocap.report.page.figures import WIDTH, Figure, chart, token
from vocap.report.page.tables import Column, Table
from vocap.tokenizers.settings import KINDS

STYLES = {  # of a kind by its label: colour and shape; of another kind the last
    KINDS["vocap"].label: ("high", "diamond"),
    KINDS["joint"].label: ("low", "triangle-down"),
    KINDS["bpe"].label: ("mid", "circle"),
    KINDS["parity-bpe"].label: ("muted", "square"),
    **{name.upper(): ("ink", "triangle-right") for name, rule in RULES.items() if rule.needs_text},
    "": ("unknown", "triangle-up"),
}
AXES = {  # fields of a `Mark` on the axes of charts
    "alp": "mean held-out ALP (nats per line)",
    "tokens": "tokens per held-out line",
    "parallel_tokens": "tokens per sentence of parallel text",
    "gini": "Gini coefficient of these tokens",
}
HEIGHT, PAD = 260, 0.1  # px; of the extent of the marks, on each side
PHONE = 280  # px of the marks' area on a phone, where names are placed apart
NARROW = "width < 400"
HALO = {"color": token("surface"), "stroke": token("surface"), "strokeWidth": 4}  # names cross the lines
LETTER, LINE = 6.3, 15  # px of a letter and of a line of a name
ON = {True: "yes", False: "no"}
NAMED = 12  # languages that a note names


def section(results: Results) -> Section:
    """A figure pair, a table and the limits of comparison for each T."""
    title, short = "Frontier of all tokenizers", "Frontier"
    found = sizes(results)
    if not results.tokenizers:
        blocks: list[Block] = [not_run("tokenizers", "There is no tokenizer to compare yet.")]
    elif not found:
        blocks = [Note("Nothing to compare: no tokenizer of several languages was measured on held-out text.")]
    else:
        blocks = [Text(_introduction(results, found)), *_one(results, found[0])]
        blocks += [Fold(_best(results, one), _one(results, one, False)) for one in found[1:]]
    return Section("every-tokenizer", title, short, blocks)


def _introduction(results: Results, found: Sequence[Size]) -> str:
    said = (
        "All tokenizers of one T on the same languages. Held-out ALP: nats per line, better nearer to 0. Tokens "
        "per sentence of parallel text: the same content in every language, so fewer are cheaper. Their Gini "
        "coefficient and worst ratio to English over languages: lower is more equal."
    )
    if not any(one.parallel for one in found):
        return f"{said} This run has no measures on parallel text: name some under corpora.parallel."
    return f"{said} The text: {results.parallel_text}." if results.parallel_text else said


def _one(results: Results, one: Size, said: bool = True) -> list[Block]:
    blocks: list[Block] = [Text(_best(results, one))] if said else []
    axes = [("parallel_tokens", "alp"), ("gini", "parallel_tokens")]
    if sum(mark.parallel_tokens is not None for mark in one.marks) < 2:
        axes = [("tokens", "alp")]
    blocks += [figure for x, y in axes if (figure := _figure(one, x, y))]
    return [*blocks, _table(results, one), *_limits(results, one)]


def _size(one: Size) -> str:
    return "From elsewhere" if one.total is None else f"T = {in_thousands(one.total)}"


def _best(results: Results, one: Size) -> str:
    """The best tokenizer by each measure; by ALP the best of each regime."""
    if len(one.marks) == 1:
        return f"{_size(one)} has one tokenizer, {one.marks[0].name}: the table has its measures."
    parts = []
    for regime, names in one.regimes.items():
        members = [mark for mark in one.marks if mark.name in names and mark.alp is not None]
        if len(members) > 1 and regime != ELSEWHERE:
            best = max(members, key=lambda mark: mark.alp)
            of = f" of {regime}" if len(one.regimes) > 1 else ""
            parts.append(f"the highest mean ALP{of} has {best.name} ({best.alp:.2f})".replace("(-", "(−"))
    for key, measure, digits in (
        ("parallel_tokens", "the fewest tokens per sentence of parallel text", 2),
        ("gini", "the lowest Gini coefficient", 4),
        ("worst_ratio", "the lowest worst ratio to English", 2),
    ):
        members = [mark for mark in one.marks if getattr(mark, key) is not None]
        if len(members) > 1:
            best = min(members, key=lambda mark: getattr(mark, key))
            language = f", {results.name(best.worst)}" if key == "worst_ratio" else ""
            parts.append(f"{measure} {best.name} ({getattr(best, key):.{digits}f}{language})")
    of = f"{_size(one)}, {counted(len(one.marks), 'tokenizer')}"
    return f"{of}: {'; '.join(parts)}." if parts else f"{of}."


def _limits(results: Results, one: Size) -> list[Note]:
    """Notes on the limits of comparison, and on languages and tokenizers that are left out."""
    notes = []
    if len(one.regimes) > 1:
        notes.append(
            Note(
                f"{apart_by_text(one.regimes)} Bytes cut characters that other units keep whole, cuts at words "
                "forbid tokens that cuts at spaces allow, and a tokenizer whose text does not come back has less "
                "to encode. Tokens on parallel text, their Gini coefficient and the ratio to English compare all."
            )
        )
    if foreign := [mark.name for mark in one.marks if mark.kind == KINDS["file"].label and one.total is not None]:
        notes.append(Note(f"Of another T, and trained on other text: {', '.join(foreign)}."))
    if followers := [mark.name for mark in one.marks if mark.follows_text and mark.parallel_tokens is not None]:
        are = "was" if len(followers) == 1 else "were"
        notes.append(
            Note(
                f"{', '.join(followers)} {are} trained to follow parallel text (corpora.development); where that "
                "is of the same domain as the text measured here, these measures favour them."
            )
        )
    if one.apart:
        named = _listed([f"{results.name(code)} ({reason})" for code, reason in sorted(one.apart.items())])
        limit = f"{100 * UNKNOWN_LIMIT:.0f} %"
        notes.append(
            Note(f"In no mean at {_size(one)}: {named}. The limit of <unk> is {limit} of the tokens.", "warning")
        )
    if one.parallel and (without := [code for code in one.languages if code not in one.parallel]):
        notes.append(
            Note(f"Without parallel text, in no measure of it: {_listed(list(map(results.name, without)))}.")
        )
    if unmeasured := [mark.name for mark in one.marks if one.parallel and mark.parallel_tokens is None]:
        notes.append(Note(f"Not measured on parallel text: {', '.join(unmeasured)}."))
    if one.others:
        notes.append(
            Note(
                f"Left out, since they serve fewer than half of the languages: {', '.join(one.others)}.", "warning"
            )
        )
    return notes


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _table(results: Results, one: Size) -> Table:
    columns = [
        Column("tokenizer", "Tokenizer", value=lambda mark: mark.name),
        Column("kind", "Kind"),
        Column("total", "T", "number"),
        Column("alp", "ALP", "number", 2),
        Column("alp_q", "ALP by q", "number", 2),
        Column("tokens", "Tokens per line", "number", 2),
        Column("parallel_tokens", "Tokens per sentence, parallel", "number", 2),
        Column("gini", "Gini", "number", 4),
        Column("worst_ratio", "Worst ratio to English", "number", 2),
        Column("worst", "of", value=lambda mark: results.name(mark.worst) if mark.worst else ""),
        Column("round_trip", "Lines that come back", "number", 2, share=True),
        Column("frontier", "On the frontier", value=lambda mark: ON.get(mark.frontier, "")),
        Column("regime", "Text regime"),
    ]
    by_q = f"; by q: weighted by the language’s share of the text, from {one.q_from}" if one.q_from else ""
    parallel = (
        f"On parallel text ({counted(len(one.parallel), 'language')}): tokens are the mean over languages of the "
        "ratio to English, times the tokens of English per sentence (without English, tokens per sentence); Gini "
        "is of the same. "
        if one.parallel
        else ""
    )
    caption = (
        f"Plain means over {counted(len(one.languages), 'language')} on held-out lines; ALP in nats per "
        f"line{by_q}. {parallel}On the frontier: no other tokenizer of the same regime is as good in ALP, tokens "
        "and Gini, and better in one. T are the ids, fewer than configured where the text has too few pieces. "
        "From results/tokenizers/{name}/evaluation.tsv, parallel.tsv, roundtrip.tsv."
    )
    return Table.of(_name(one), f"{_size(one)}: measures of all tokenizers", caption, columns, one.marks)


def _name(one: Size) -> str:
    return f"every-tokenizer-{one.total or 'elsewhere'}"


def _figure(one: Size, x: str, y: str) -> Figure | None:
    shown = [mark for mark in one.marks if getattr(mark, x) is not None and getattr(mark, y) is not None]
    if len(shown) < 2:
        return None
    better = "up and to the left" if y == "alp" else "down and to the left"
    lines = " Lines join tokenizers that differ in one setting alone." if one.families else ""
    caution = " Heights compare inside one text regime alone." if y == "alp" and len(one.regimes) > 1 else ""
    return Figure(
        f"{_name(one)}-{x.replace('_', '-')}",
        f"{_size(one)}: {AXES[y].split(' (')[0]} against {AXES[x]}",
        f"Better is {better}.{caution}{lines}",
        f"Chart of {counted(len(shown), 'tokenizer')}: {AXES[y]} against {AXES[x]}. The numbers are in the table.",
        lambda: plane(shown, one.families, x, y),
        table=_name(one),
    )


def plane(marks: Sequence[Mark], families: Sequence[Sequence[str]], x: str, y: str) -> alt.LayerChart:
    """A named mark for each tokenizer, on the axes of two of its measures; lines along `families` of names."""
    rows = [_row(mark, x, y) for mark in marks]
    domains = {axis: _domain([row[axis] for row in rows]) for axis in ("x", "y")}

    def scale(axis: str) -> alt.Scale:
        return alt.Scale(domain=list(domains[axis]), nice=False, zero=False)

    across = alt.X("x:Q", title=AXES[x], scale=scale("x"), axis=alt.Axis(tickCount=6))
    up = alt.Y("y:Q", title=AXES[y], scale=scale("y"), axis=alt.Axis(tickCount=5))
    kinds = [label for label in STYLES if any(row["style"] == label for row in rows)]
    names = {label: next(row["kind"] for row in rows if row["style"] == label) for label in kinds}
    legend = alt.Legend(title=None, columns=3)
    domain = [names[label] for label in kinds]
    colors, shapes = (alt.Scale(domain=domain, range=values) for values in zip(*map(_style, kinds), strict=True))
    color = alt.Color("shown:N", scale=colors, legend=legend)
    shape = alt.Shape("shown:N", scale=shapes, legend=legend)
    for row in rows:
        row["shown"] = names[row["style"]]
    by_name = {row["name"]: row for row in rows}
    paths = [
        {**by_name[name], "family": number, "place": place}
        for number, family in enumerate(families)
        for place, name in enumerate(name for name in family if name in by_name)
    ]
    lines = chart(paths).mark_line(strokeWidth=1, color=token("muted"))
    lines = lines.encode(x=across, y=up, detail="family:N", order="place:Q")
    tooltip = [
        alt.Tooltip("name:N", title="tokenizer"),
        alt.Tooltip("kind:N"),
        alt.Tooltip("method:N", title="pieces chosen by"),
        alt.Tooltip("y:Q", title=AXES[y].split(" (")[0], format=",.4g"),
        alt.Tooltip("x:Q", title=AXES[x], format=",.4g"),
    ]
    points = chart(rows).mark_point(filled=True, size=110, opacity=1)
    points = points.encode(x=across, y=up, color=color, shape=shape, tooltip=tooltip)
    texts = []
    for width, size in ((WIDTH - 60, f"{NARROW} ? 0 : 11"), (PHONE, f"{NARROW} ? 11 : 0")):
        labels = _labels(rows, domains, width)
        for align, dx in (("left", 8), ("right", -8), ("center", 0)):
            some = [row for row in labels if row["align"] == align]
            for dy in sorted({row["dy"] for row in some}):
                drawn = chart([row for row in some if row["dy"] == dy])
                style = {"align": align, "dx": dx, "dy": dy, "baseline": "middle", "fontSize": alt.ExprRef(size)}
                for ink in (HALO, {"color": token("ink")}):
                    texts.append(drawn.mark_text(**style, **ink).encode(x=across, y=up, text="name:N"))
    return alt.layer(*([lines] if paths else []), points, *texts).properties(width=WIDTH, height=HEIGHT)


def _style(label: str) -> tuple[str, str]:
    colour, shape = STYLES[label]
    return token(colour), shape


def _row(mark: Mark, x: str, y: str) -> dict[str, Any]:
    return {
        "name": mark.name,
        "kind": mark.kind,
        "style": mark.kind if mark.kind in STYLES else "",
        "method": mark.method,
        "x": round(getattr(mark, x), 6),
        "y": round(getattr(mark, y), 6),
    }


def _domain(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    pad = PAD * (high - low) or 0.05 * abs(high) or 1.0
    return low - pad, high + pad


def _labels(
    rows: list[dict[str, Any]], domains: dict[str, tuple[float, float]], width: int
) -> list[dict[str, Any]]:
    """Names with `align` and `dy` such that none covers a mark or another name at this width, in px.

    A name without space is left out; the tooltip and the table have it.
    """

    def pixels(row: dict[str, Any]) -> tuple[float, float]:
        (left, right), (low, high) = domains["x"], domains["y"]
        return width * (row["x"] - left) / (right - left), HEIGHT * (high - row["y"]) / (high - low)

    taken = [(a - 6, a + 6, b - 6, b + 6) for a, b in map(pixels, rows)]
    labels = []
    for number, row in enumerate(rows):
        a, b = pixels(row)
        long = LETTER * len(row["name"])
        starts = {"left": a + 8, "right": a - 8 - long, "center": a - long / 2}
        for dy, align in product((0, -14, 14), starts):
            if align == "center" and not dy:
                continue
            left, middle = starts[align], b + dy
            box = (left, left + long, middle - LINE / 2, middle + LINE / 2)
            inside = left >= 0 and left + long <= width and box[2] >= 0 and box[3] <= HEIGHT
            others = [other for place, other in enumerate(taken) if place != number]
            if inside and not any(_overlap(box, other) for other in others):
                labels.append({"name": row["name"], "x": row["x"], "y": row["y"], "align": align, "dy": dy})
                taken.append(box)
                break
    return labels


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]
