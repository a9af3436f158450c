"""ALP of every language at every size: the paper's Figure 1."""

import json
from collections.abc import Sequence
from typing import Any

from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, Section, Text, not_run
from vocap.report.page.figures import WIDTH, Figure, palette, template
from vocap.report.page.tables import specified
from vocap.tables.curve import outline

PAPER_FIGURE = ("hi", "fa", "it", "ru")  # the four languages of the paper's Figure 1
# of a point of the live ALP curves: title, key of its row, decimals of a number
TOOLTIP = [
    ["language", "n", None],
    ["code", "l", None],
    ["size", "s", 0],
    ["ALP, train", "a", 2],
    ["ALP, held out", "h", 2],
    ["tokens per line", "t", 2],
]


def section(results: Results) -> Section:
    """The curves, a summary by language, and every point as a file."""
    blocks: list[Block] = [not_run("vocabularies", "No monolingual vocabulary has been trained yet.")]
    if any(results.trained(code) for code in results.curves):
        said = (
            "One unigram vocabulary for each language and size. A larger vocabulary segments a language into "
            "fewer pieces and its ALP rises, steeply at first: where the curve flattens, further pieces are "
            "better spent on another language. The knee is the point farthest above the straight line between "
            "the curve’s ends."
        )
        points = (
            {"language": code, **vars(p)} for code in results.languages for p in results.curves.get(code, ())
        )
        blocks = [
            Text(said),
            _figure(results),
            specified("curve-summary", _summary(results)),
            specified("curves", points),
        ]
    return Section("curves", "ALP of every language at every size", "ALP curves", blocks)


def _figure(results: Results) -> Figure:
    chosen = _first_choice(results)
    languages = [
        {"code": code, "name": language.name, "group": language.resource}
        for code, language in results.languages.items()
        if results.trained(code)
    ]
    return Figure(
        "alp-curves",
        "ALP against vocabulary size",
        "ALP in nats per line on each language’s training lines; for the chosen languages also on their held-out "
        "lines (dashed), and a diamond at the knee. Lines of different corpora differ in length, so compare the "
        "shapes of curves; “gain” shows each curve from its smallest size on. The paper’s Figure 1.",
        f"Line chart of {len(results.curves)} languages: ALP rises with vocabulary size for all and flattens. The "
        "numbers are in the table that follows.",
        lambda: curves(results, chosen),
        lambda: curves(results, chosen, live=True),
        {"languages": languages, "chosen": chosen, "groups": results.groups(), "tooltip": TOOLTIP},
        table="curves",
    )


def _first_choice(results: Results) -> list[str]:
    """All of a few languages; of many the paper's four, or else the first two languages of each group."""
    trained = [code for code in results.languages if results.trained(code)]
    if len(trained) <= 6:
        return trained
    members = ([code for code in trained if results.resource(code) == group] for group in results.groups())
    first = [code for group in members for code in group[:2]]
    return [code for code in PAPER_FIGURE if code in trained] or first


def _summary(results: Results) -> list[dict[str, Any]]:
    """The outline of each curve."""
    rows = []
    for code in results.languages:
        points = results.curves.get(code, ())
        if (found := outline(points)) is None:
            continue
        trained = len(results.trained(code))
        row = {**results.about(code), "trained": trained, "unreachable": len(points) - trained}
        for place, point in (("smallest", found.start), ("knee", found.knee), ("largest", found.end)):
            if point:
                row |= {place: point.size, f"alp_{place}": point.alp, f"alp_heldout_{place}": point.alp_heldout}
        row |= {"start_reason": found.start_reason, "end_reason": found.end_reason}
        row["tokens_per_sentence_largest"] = found.end.tokens_per_sentence
        row["best_heldout"] = found.best_heldout and found.best_heldout.size
        rows.append(row)
    return rows


def curve_rows(results: Results) -> list[dict[str, Any]]:
    """Points of the ALP curves; thousands, so short keys: l(anguage), s(ize), a(lp), h(eld-out), k(nee)."""
    rows = []
    for code in results.curves:
        points = results.trained(code)
        found = outline(points)
        for point in points:
            row = {"l": code, "s": point.size, "a": round(point.alp, 2), "a0": round(points[0].alp, 2)}
            row |= {"n": results.name(code), "group": results.resource(code)}
            if point.alp_heldout is not None:
                row["h"] = round(point.alp_heldout, 2)
                row["h0"] = round(points[0].alp_heldout or point.alp_heldout, 2)
            if point.tokens_per_sentence is not None:
                row["t"] = round(point.tokens_per_sentence, 2)
            if point == found.knee:
                row["k"] = 1
            rows.append(row)
    return rows


def curves(results: Results, chosen: Sequence[str], live: bool = False) -> dict[str, Any]:
    """Figure 1: all languages faint, the chosen ones in full, held-out dashed, knees as diamonds.

    The page's script sets the parameters of the live one: `chosen` (codes), `shown` (groups), `gain`, `pointed`.
    """
    spec = json.loads(template("alp-curves.json"))
    groups = results.groups()
    values = {"chosen": list(chosen), "shown": groups}
    spec["data"] = {"values": curve_rows(results)}
    spec["params"] = [{**param, "value": values.get(param["name"], False)} for param in spec["params"]]
    if not live:  # points are invisible until one is pointed at
        spec["width"] = WIDTH
        spec["layer"] = [layer for layer in spec["layer"] if layer["name"] not in ("hovered", "points")]
    for layer in spec["layer"]:
        scale = palette(groups, "-faint" if layer["name"] == "faint" else "").to_dict()
        legend = {"title": "resource group"} if layer["name"] == "bold" else None
        color = {"field": "group", "type": "nominal", "scale": scale, "legend": legend}
        layer.setdefault("encoding", {})["color"] = color
    return spec
