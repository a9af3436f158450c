"""From a Vega-Lite chart to the page, to SVG and to PDF: one set of colours, named once.

A chart names its colours as tokens (`var(--low)`), so that the page's style sheet draws it light or dark;
files take the light values. Charts that become files use no opacity and one font: with them vl-convert's
PDF bytes differ between runs (its resource dictionaries come out in any order).
"""

import copy
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

# Okabe and Ito's colours for the groups (told apart with every common colour blindness), darker for white paper
LIGHT = {
    "ink": "#1b1f24",
    "muted": "#5b6470",
    "line": "#d9dde2",
    "grid": "#eceff2",
    "surface": "#ffffff",
    "low": "#c4510a",
    "mid": "#00805e",
    "high": "#1f5fa8",
    "unknown": "#6b7280",
    "low-faint": "#f0d0bd",
    "mid-faint": "#bfe0d6",
    "high-faint": "#c9d9ec",
    "unknown-faint": "#dadde2",
    "accent": "#1f5fa8",
}
DARK = {
    "ink": "#e8eaed",
    "muted": "#a3abb5",
    "line": "#3a4048",
    "grid": "#2a2f36",
    "surface": "#181b20",
    "low": "#f2945a",
    "mid": "#45c9a0",
    "high": "#6fb1f2",
    "unknown": "#9aa3ad",
    "low-faint": "#54382a",
    "mid-faint": "#22493f",
    "high-faint": "#2b4058",
    "unknown-faint": "#3a3f46",
    "accent": "#6fb1f2",
}
FONT = "Liberation Sans, Arial, sans-serif"  # vl-convert carries it, so files look alike everywhere
PAGE_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif'
WIDTH = 660  # of a figure file, in px; on the page a chart takes its container's width


def token(name: str) -> str:
    """A colour of the palette, as charts write it."""
    return f"var(--{name})"


@dataclass(frozen=True)
class Figure:
    """One chart: `still` for files and for a page without scripts, `live` for the page where it differs."""

    name: str  # of its files, and its id on the page
    title: str
    caption: str
    alternative: str  # what a reader who cannot see it is told
    still: Callable[[], Any]  # gives an altair chart; called when the page is assembled
    live: Callable[[], Any] | None = None
    controls: dict[str, Any] = field(default_factory=dict)  # what page.js needs to drive it
    table: str = ""  # the table with its numbers, for who cannot point at a mark
    kind: str = "figure"


def specification(chart: Any) -> dict[str, Any]:
    """The chart's Vega-Lite specification with the house's style, the same bytes for the same data."""
    spec = chart.to_dict()
    spec["config"] = {**_style(), **{k: v for k, v in spec.get("config", {}).items() if k != "view"}}
    spec.pop("usermeta", None)
    return spec


def page_specification(chart: Any) -> dict[str, Any]:
    """The same for a live chart: as wide as its container, the page's own font."""
    spec = specification(chart)
    spec["width"] = "container"
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    spec["config"]["font"] = PAGE_FONT
    return spec


def json_for_page(value: Any) -> str:
    r"""JSON that is safe inside a `<script>` element, whatever its strings hold.

    >>> json_for_page({"piece": "</script>"})
    '{"piece":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def page_svg(spec: dict[str, Any], name: str) -> str:
    """Inline SVG that scales with the page, takes its colours from it, and shares no id with another figure."""
    import vl_convert

    svg = _stable_ids(vl_convert.vegalite_to_svg(json.dumps(spec)), name)
    return re.sub(r'^<svg ([^>]*?)width="[^"]*" height="[^"]*"', r'<svg \1aria-hidden="true"', svg, count=1)


def files(spec: dict[str, Any], name: str) -> dict[str, bytes]:
    """The figure as `{name}.svg` and `{name}.pdf`, in the light colours on white."""
    import vl_convert

    printed = _resolve(copy.deepcopy(spec))
    printed["background"] = LIGHT["surface"]
    svg = _stable_ids(vl_convert.vegalite_to_svg(json.dumps(printed)), name)
    return {f"{name}.svg": svg.encode() + b"\n", f"{name}.pdf": vl_convert.svg_to_pdf(svg)}


def _resolve(value: Any) -> Any:
    """Replace the colour tokens anywhere in a specification by the light palette's values."""
    if isinstance(value, dict):
        return {key: _resolve(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_resolve(entry) for entry in value]
    if isinstance(value, str):
        return re.sub(r"var\(--([a-z-]+)\)", lambda match: LIGHT.get(match[1], match[0]), value)
    return value


def _stable_ids(svg: str, name: str) -> str:
    """vl-convert counts its ids over a whole process: count them anew, under the figure's name."""
    numbers: dict[str, str] = {}

    def renamed(match: re.Match) -> str:
        found = numbers.setdefault(match[2], f"{name}-{len(numbers) + 1}")
        return f"{match[1]}{found}{match[3]}"

    return re.sub(r'(id="|url\(#)((?:clip|gradient_)\w+)("|\))', renamed, svg)


def _style() -> dict[str, Any]:
    axis = {
        "labelColor": token("muted"),
        "titleColor": token("ink"),
        "titleFontWeight": "normal",
        "titleFontSize": 12,
        "labelFontSize": 11,
        "titlePadding": 8,
        "labelPadding": 5,
        "domainColor": token("line"),
        "tickColor": token("line"),
        "tickSize": 4,
        "gridColor": token("grid"),
    }
    legend = {
        "labelColor": token("ink"),
        "titleColor": token("muted"),
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "orient": "top",
        "symbolSize": 70,
        "offset": 10,
    }
    return {
        "aria": False,  # the page describes each chart in words and gives its numbers as a table
        "background": None,
        "font": FONT,
        "axis": axis,
        "legend": legend,
        "view": {"stroke": None},
        "text": {"color": token("ink"), "fontSize": 11},
        "header": {"labelColor": token("ink"), "titleColor": token("muted"), "labelFontWeight": "normal"},
    }
