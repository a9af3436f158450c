"""One self-contained HTML page from sections, and the files of the report."""

import re
from base64 import b64encode
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import jinja2
import vl_convert
import yaml
from markupsafe import Markup, escape

from vocap.errors import VocapError, listed
from vocap.files.io import replacing_directory, write_text, write_tsv
from vocap.report.page import figures
from vocap.report.page.blocks import (
    PageBlock,
    Script,
    Section,
    leaves,
)
from vocap.report.page.tables import (
    Table,
    counted,
    for_latex,
    for_markdown,
    in_thousands,
    latex_heading,
    signed,
)

# these elements stay as they are, and all tags
WHOLE = r"<(a|code|strong)\b.*?</\1>|<[^>]*>"
PROGRAMS = {  # files of the scripts
    "why": ("why.js",),
    "model": ("model.js",),
    "explorer": ("allocation.js", "overlap.js", "explorer.js"),
}
LIMIT = 8_000_000  # bytes of the page
RESULTS = "$results"  # the folder in texts of the package: no path of a user has it
Named = TypeVar("Named", Table, figures.Figure)


def render(title: str, sections: Sequence[Section], folder: str) -> str:
    """The whole page about the results in `folder`. Same sections, same bytes.

    Vega, Vega-Lite and vega-embed are included once. The content security policy allows
    these scripts by their hash and nothing from outside; Vega's expressions are
    interpreted, so not even they need `eval`.
    """
    blocks = list(leaves(sections))
    drawn = {block.name for block in blocks if isinstance(block, Script)}
    programs = [name for one, names in PROGRAMS.items() if one in drawn for name in names]
    scripts = (
        [vega().result()] if any(isinstance(block, figures.Figure) for block in blocks) else []
    )
    scripts += [
        figures.read_template(name) for name in ("widgets.js", "picture.js", *programs, "page.js")
    ]
    return rendered(
        "page.html",
        title=title,
        sections=sections,
        terms=list(terms().values()),
        marker=partial(Marker, folder),
        style=Markup(figures.read_template("page.css")),
        scripts=[Markup(script) for script in scripts],
        hashes=[b64encode(sha256(script.encode()).digest()).decode() for script in scripts],
        light=figures.LIGHT,
        dark=figures.DARK,
    )


@cache
def _environment() -> jinja2.Environment:
    """The templates: of the page with escaped text, of a table's files without."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(figures.read_template),
        autoescape=jinja2.select_autoescape(["html"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.policies["json.dumps_kwargs"] = {
        "ensure_ascii": False,
        "separators": (",", ":"),
        "sort_keys": True,
        "allow_nan": False,
    }
    environment.filters |= {
        "svg": lambda figure: Markup(figures.page_svg(figure)),
        "specification": figures.page_specification,
        "latex": for_latex,
        "latex_heading": latex_heading,
        "markdown": for_markdown,
        "counted": counted,
        "listed": listed,
        "signed": signed,
        "thousands": in_thousands,
    }
    return environment


def sentence(name: str, /, **values: Any) -> Markup:
    """A text of sentences.html: its macro of this name, of plain values."""
    macro = getattr(_environment().get_template("sentences.html").module, name)
    return Markup(re.sub(r"[ \n]+", " ", macro(**values)).strip())


def rendered(name: str, /, **values: Any) -> str:
    """A template with these values."""
    return _environment().get_template(name).render(values)


@cache
def vega() -> Future[str]:
    """Vega, Vega-Lite and vega-embed as vl-convert carries them, about 0.9 MB; made
    once in a process, by a thread of its own.
    """
    return ThreadPoolExecutor(1).submit(_bundle)


def _bundle() -> str:
    bundle = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its argument is optional
    # inside a script element these would end it, or open a comment; in JavaScript
    # strings the escapes are equal
    return (
        bundle.replace("</script", "<\\/script").replace("<!--", "\\x3c!--").replace("\r\n", "\n")
    )


def write_report(out: str | Path, title: str, sections: Sequence[Section], folder: str) -> int:
    """Write `index.html`, `figures/` and `tables/` under `out`, each whole or not at
    all; the page's bytes. `folder` is that of the results, as texts name it.

    Raises VocapError for two blocks of one name, or a page over the limit; UsageError
    where `out` has no page but folders of these names that hold something.
    """
    out = Path(out)
    blocks = list(leaves(sections))
    tables, charts = _by_name(blocks, Table), _by_name(blocks, figures.Figure)
    page = render(title, sections, folder)
    size = len(page.encode())
    if size > LIMIT:
        raise VocapError(
            f"{out / 'index.html'} would take {size:,} bytes, over {LIMIT:,}; report on fewer "
            "tokenizers"
        )
    # only folders of an earlier page are replaced
    owned = None if (out / "index.html").exists() else ()
    with (
        replacing_directory(out / "figures", owned) as drawn,
        replacing_directory(out / "tables", owned) as written,
    ):
        for name, chart in charts.items():
            for file, data in figures.files(chart.still, name).items():
                (drawn / file).write_bytes(data)
        for name, table in tables.items():
            whole = table.on("files")
            keys = [column.key for column in whole.columns]
            rows = (tuple(map(row.get, keys)) for row in table.rows)
            write_tsv(written / f"{name}.tsv", keys, rows)
            caption = table.caption.replace(RESULTS, folder)
            for form, part in ("md", whole), ("tex", table.on("paper")):
                text = rendered(f"table.{form}", table=part, caption=caption)
                write_text(written / f"{name}.{form}", text)
    write_text(out / "index.html", page)
    return size


def _by_name(blocks: Sequence[PageBlock], kind: type[Named]) -> dict[str, Named]:
    named: dict[str, Named] = {}
    for block in blocks:
        if isinstance(block, kind) and named.setdefault(block.name, block) is not block:
            raise VocapError(
                f"two parts of the report are named {block.name}; rename an allocation or a "
                "tokenizer"
            )
    return named


@dataclass(frozen=True)
class Term:
    """A word of the glossary; `words` is a regular expression of its forms, `concept`
    the section of docs/concepts.md that explains it at length.
    """

    term: str
    text: str
    words: str = ""
    concept: str = ""

    @property
    def id(self) -> str:
        """Of its text on the page."""
        return "term-" + re.sub(r"\W+", "-", self.term)


@cache
def terms() -> dict[str, Term]:
    """All words in the order of the file, by the names of their groups in `_forms`."""
    return {
        f"t{k}": Term(**entry)
        for k, entry in enumerate(
            yaml.safe_load((resources.files("vocap.report") / "glossary.yaml").read_bytes())
        )
    }


@cache
def _forms() -> re.Pattern[str]:
    """What stays whole, or a form of a word, in the group of its name."""
    forms = (
        f"(?P<{name}>{one.words or re.escape(escape(one.term))})" for name, one in terms().items()
    )
    return re.compile(rf"{WHOLE}|(?<![\w/.-])(?:{'|'.join(forms)})(?![\w/.-]*\w)")


@dataclass
class Marker:
    """Marks each term once in the texts of one section, and names the folder of the results."""

    folder: str
    marked: set[str] = field(default_factory=set)

    def __call__(self, text: str) -> Markup:
        """The text, escaped where it is not Markup, with a button for each new term."""
        named = escape(text).replace(RESULTS, escape(self.folder))
        return Markup(_forms().sub(self._replaced, named))

    def _replaced(self, match: re.Match[str]) -> str:
        name = match.lastgroup
        if name is None or name in self.marked:
            return match[0]
        self.marked.add(name)
        term = terms()[name]
        return (
            f'<button type="button" class="term" popovertarget="{term.id}" '
            f'title="{escape(term.text)}">{match[0]}</button>'
        )
