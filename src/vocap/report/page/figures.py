"""From a Vega-Lite chart to the page, to SVG and to PDF: one set of colours, named once.

A chart is a template of its specification, filled with rows. It names its colours as
tokens (`var(--low)`), so that the page's style sheet draws it light or dark; files take
the light values. Charts that become files use no opacity and one font: with them
vl-convert's PDF bytes differ between runs (its resource dictionaries come out in any
order).
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import Any

import jinja2
import vl_convert

from vocap.report.page.tables import counted, specification
from vocap.tokenizers.settings import Joint, Vocap

PAGE_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif'
# groups differ without colour too
SHAPES = {
    "low": "circle",
    "mid": "square",
    "high": "triangle-up",
    "unknown": "diamond",
}
COLOURS = ["accent", "low", "mid", "unknown"]  # of lines and marks that are no groups
BY_TEXT = ("ink", "triangle-right")  # of an allocation by a rule that reads the text
MARKS = [
    "circle",
    "square",
    "diamond",
    "triangle-down",
    "triangle-right",
    "cross",
    "triangle-up",
    "triangle-left",
]
Chart = dict[str, Any]  # a Vega-Lite specification
Row = Mapping[str, Any]
WIDTH = 660  # of a figure file, in px; on the page a chart takes its container's width


def read_template(name: str) -> str:
    """A file of the page's templates."""
    return (
        resources.files("vocap.report.page").joinpath("template", name).read_text(encoding="utf-8")
    )


# name to its colours on light and on dark paper: Okabe and Ito's for the groups (distinct
# under every common colour blindness), darker for white paper
PALETTE: dict[str, list[str]] = json.loads(read_template("palette.json"))  # light, dark
LIGHT = {name: light for name, (light, _) in PALETTE.items()}
DARK = {name: dark for name, (_, dark) in PALETTE.items()}


def token(name: str) -> str:
    """A colour of the palette, as charts write it."""
    return f"var(--{name})"


def fill(name: str, /, **values: Any) -> Chart:
    """The specification that a template gives with these values, and the scales of groups."""
    scales = {"palette": palette, "group_shapes": group_shapes, "others": COLOURS}
    pair = Joint, Vocap  # the kinds that the paper compares
    return json.loads(_compiled(name).render(width=WIDTH, pair=pair, **scales, **values))


@cache
def _compiled(name: str) -> jinja2.Template:
    return jinja2.Template(read_template(name), undefined=jinja2.StrictUndefined)


def palette(groups: Mapping[str, str], suffix: str = "") -> dict[str, list[str]]:
    """The scale of the colour of each group; "-faint" as suffix gives the pale ones."""
    return {"domain": list(groups), "range": [token(name + suffix) for name in groups.values()]}


def group_shapes(groups: Mapping[str, str]) -> dict[str, list[str]]:
    """The scale of a shape for each group, by its colour."""
    return {"domain": list(groups), "range": [SHAPES[name] for name in groups.values()]}


PAD = 0.1  # of the extent of the marks, on each side
LEAST = 0.1  # of the largest value: an axis has at least this extent


def _domain(values: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis: not so near that values that tie stand apart."""
    low, high = min(values), max(values)
    pad = max(PAD * (high - low), (LEAST * abs(high) - (high - low)) / 2) or 1.0
    return low - pad, high + pad


@dataclass(frozen=True)
class Figure:
    """One chart: still for files and for a page without scripts; with `controls`, data for
    page.js, the chart of the page is a live one.
    """

    name: str  # of its files, and its id on the page
    title: str
    caption: str
    alternative: str  # text for readers who cannot see the chart
    table: str  # name of the table with its numbers
    template: str
    chart: Chart  # values of the template
    controls: Mapping[str, Any]

    def draw(self, live: bool) -> Chart:
        """The specification with the common style."""
        style = json.loads(read_template("chart.json"))
        return fill(self.template, live=live, **self.chart) | {"config": style}

    @cached_property
    def still(self) -> str:
        """The still chart as SVG on paper of the page's colour; page and files share it."""
        spec = self.draw(live=False) | {"background": token("surface")}
        return _stable_ids(vl_convert.vegalite_to_svg(json.dumps(spec)), self.name)


def drawn_as(
    name: str,
    rows: Sequence[Row],
    chart: Chart,
    of: str = "",
    *,
    controls: Mapping[str, Any] | None = None,
    **values: Any,
) -> Figure:
    """A figure of the specification, as `tables.specified` makes a table. Its template is
    filled with `rows`, `chart` and the `chart` of the specification.

    `of`: the subject of a figure of which there are several; `values` fill its title,
    caption, alternative text, the name of its table, axes and tooltip.
    """

    def said(texts: Mapping[str, str]) -> dict[str, str]:
        return {key: text.format(of=of, **values) for key, text in texts.items()}

    spec = specification()[name]
    told = spec["chart"]
    texts = {part: spec[part] for part in ("title", "caption", "alternative", "table")}
    texts["name"] = spec.get("name", f"{name}-{{of}}" if of else name)
    filled = {
        **told,
        "rows": rows,
        "axes": said(told.get("axes", {})),
        "tooltip": list(map(said, told.get("tooltip", ()))),
        **chart,
    }
    data = {"tooltip": told["columns"], **controls} if controls else {}
    return Figure(**said(texts), template=filled.pop("template"), chart=filled, controls=data)


def line_figure(name: str, rows: Sequence[Row], of: str = "", **values: Any) -> Figure:
    """A figure of a line for each `model` of the rows, named at its end where there are few."""
    models = counted(len({row["model"] for row in rows}), "model")
    return drawn_as(name, rows, {}, of, models=models, **values)


def scatter_figure(
    name: str,
    rows: Sequence[Row],
    kinds: Mapping[str, tuple[str, str]],
    of: str = "",
    **values: Any,
) -> Figure:
    """A figure of a mark for each of `rows`, at `x` and `y`, with its `name` beside it in a
    wide page.

    `kinds`: colour (a name of the palette) and shape by the `kind` of a row, in the order
    of the legend.
    """
    there = {row["kind"] for row in rows}
    chart = {
        "x": _domain([row["x"] for row in rows]),
        "y": _domain([row["y"] for row in rows]),
        "kinds": {kind: look for kind, look in kinds.items() if kind in there},
    }
    return drawn_as(name, rows, chart, of, **values)


def page_specification(figure: Figure) -> dict[str, Any]:
    """The specification for the page, as wide as its container, with its own font: of the live
    chart where there is one.
    """
    spec = figure.draw(live=bool(figure.controls))
    fitted = {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
    return {**spec, **fitted, "config": {**spec["config"], "font": PAGE_FONT}}


def page_svg(figure: Figure) -> str:
    """Inline SVG without paper that scales with the page and takes its colours from it."""
    svg = re.sub(r"<rect [^>]*>", "", figure.still, count=1)
    svg = re.sub(r' (d|transform)="[^"]*"', _shorter, svg)
    return re.sub(
        r'^<svg ([^>]*?)width="[^"]*" height="[^"]*"', r'<svg \1aria-hidden="true"', svg, count=1
    )


def _shorter(attribute: re.Match[str]) -> str:
    """Coordinates to a tenth of a pixel: of all charts a fourth of their bytes."""
    return re.sub(r"\d+\.\d{2,}", lambda number: f"{float(number[0]):.1f}", attribute[0])


def files(svg: str, name: str) -> dict[str, bytes]:
    """A still chart as `{name}.svg` and `{name}.pdf`, in the light colours on white."""
    svg = re.sub(r"var\(--([a-z-]+)\)", lambda match: LIGHT[match[1]], svg)
    # labels that an axis hides have an opacity, so that the PDF's bytes would differ
    shown = re.sub(r'<text[^>]* opacity="0"[^>]*>[^<]*</text>', "", svg)
    return {f"{name}.svg": svg.encode() + b"\n", f"{name}.pdf": vl_convert.svg_to_pdf(shown)}


def _stable_ids(svg: str, name: str) -> str:
    """vl-convert counts its ids over a whole process: count them anew, under the
    figure's name.
    """
    numbers: dict[str, str] = {}

    def renamed(match: re.Match[str]) -> str:
        found = numbers.setdefault(match[2], f"{name}-{len(numbers) + 1}")
        return f"{match[1]}{found}{match[3]}"

    return re.sub(r'(id="|url\(#)((?:clip|gradient_)\w+)("|\))', renamed, svg)
