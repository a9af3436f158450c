"""The page: sections in, one self-contained HTML text out."""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import resources

from vocap.report.blocks import Section, leaves
from vocap.report.explorer import Explorer
from vocap.report.figures import (
    DARK,
    LIGHT,
    Figure,
    json_for_page,
    page_specification,
    page_svg,
    specification,
)

EXPLORING = ("allocation.js", "bound.js", "overlap.js", "solution.js", "explorer.js")


def render(title: str, sections: Sequence[Section]) -> str:
    """The whole page. Same sections, same bytes.

    Vega, Vega-Lite and vega-embed stand in it once. The content security policy allows these scripts by their
    hash and nothing from outside; Vega's expressions are interpreted, so not even they need `eval`.
    """
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_part),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["json_for_page"] = lambda value: Markup(json_for_page(value))
    blocks = [block for section in sections for block in leaves(section.blocks)]
    figures = [block for block in blocks if isinstance(block, Figure)]
    drawn = {figure.name: _draw(figure) for figure in figures}
    explores = any(isinstance(block, Explorer) for block in blocks)
    scripts = [_vega()] if figures else []
    scripts += [_part(name) for name in ("widgets.js", *(EXPLORING if explores else ()), "page.js")]
    return environment.get_template("page.html").render(
        title=title,
        sections=sections,
        drawn=drawn,
        style=Markup(_palette() + _part("page.css")),
        scripts=[Markup(script) for script in scripts],
        hashes=" ".join(f"'sha256-{_hash(script)}'" for script in scripts),
        light=LIGHT["surface"],
        dark=DARK["surface"],
    )


def _draw(figure: Figure) -> dict:
    """A figure's inline SVG, its live specification and its controls, ready for the template."""
    from markupsafe import Markup

    still = specification(figure.still())
    live = page_specification((figure.live or figure.still)())
    return {
        "svg": Markup(page_svg(still, figure.name)),
        "spec": Markup(json_for_page(live)),
        "controls": Markup(json_for_page(figure.controls)) if figure.controls else None,
    }


def _palette() -> str:
    """Both palettes as custom properties; print is always light."""

    def properties(colours: dict[str, str]) -> str:
        return "".join(f"--{name}:{value};" for name, value in colours.items())

    light = f":root{{color-scheme:light dark;{properties(LIGHT)}}}\n"
    return light + f"@media screen and (prefers-color-scheme:dark){{:root{{{properties(DARK)}}}}}\n"


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _vega() -> str:
    """Vega, Vega-Lite and vega-embed as vl-convert carries them; about 0.9 MB."""
    import vl_convert

    bundle = vl_convert.javascript_bundle()
    # inside a script element these would end it, or open a comment; in JavaScript strings the escapes are equal
    return bundle.replace("</script", "<\\/script").replace("<!--", "\\x3c!--").replace("\r\n", "\n")


def _part(name: str) -> str:
    return resources.files("vocap.report").joinpath("template", name).read_text(encoding="utf-8")
