"""A table, and its four forms: page cells, TSV, Markdown, LaTeX."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any, Literal

import yaml

from vocap.files.tsv import format_cell
from vocap.report.data.results import Results

ABSENT = "–"
LONG = 20  # rows; a longer table of languages is folded


@dataclass(frozen=True)
class Column:
    """One column: its key in files, its title with the unit, and the format of its cells on the page."""

    key: str
    title: str
    kind: Literal["text", "number"] = "text"
    digits: int | None = None  # decimals of a float; None writes whole numbers, and floats as short as they are
    share: bool = False  # a fraction, shown in percent
    bar: bool = False  # a faint bar under the number, as long as its share of the column's largest
    value: Callable[[Any], Any] | None = None  # the cell of an item; without it the item's own `key`


@dataclass(frozen=True)
class Table:
    """Rows under columns; `caption` names the numbers, their unit and their source."""

    name: str  # of its files
    title: str
    caption: str
    columns: Sequence[Column]
    rows: list[tuple]
    folded: bool = False  # closed at first on the page
    limit: int | None = None  # rows on the page, where the files hold more
    kind: str = "table"

    @classmethod
    def of(
        cls, name: str, title: str, caption: str, columns: Sequence[Column], items: Iterable[Any], **options: Any
    ) -> "Table":
        """A row for each item: a dict or an object, from which each column takes its cell. `options`: as above."""
        rows = [
            tuple(_own(item, column.key) if column.value is None else column.value(item) for column in columns)
            for item in items
        ]
        return cls(name, title, caption, columns, rows, **options)

    @property
    def shown(self) -> list[tuple]:
        return self.rows if self.limit is None else self.rows[: self.limit]

    def cells(self, row: tuple) -> Iterator[tuple[Column, str, str, float | None]]:
        """For the page's template each cell of a row: column, text, sort key, length of the bar in percent."""
        for place, (column, value, text) in enumerate(zip(self.columns, row, self.texts(row), strict=True)):
            # the key is left out where the text already sorts as it should, which is most cells
            plain = column.kind == "text" or value is None or text.isdigit()
            largest = max((one[place] or 0 for one in self.rows), default=0) if column.bar else 0
            bar = round(100 * max(0.0, value) / largest, 1) if value and largest else None
            yield column, text, "" if plain else format_cell(value), bar

    def texts(self, row: tuple) -> list[str]:
        """The cells of a row as text: numbers as on the page, a dash for what is not there."""
        return [
            number(value, column) if column.kind == "number" else ABSENT if value in (None, "") else str(value)
            for column, value in zip(self.columns, row, strict=True)
        ]


@cache
def specification() -> dict[str, dict[str, Any]]:
    """Titles, captions and columns of tables and figures by name: specification.yaml."""
    return yaml.safe_load(resources.files("vocap.report").joinpath("specification.yaml").read_bytes())


def caption(name: str, **values: Any) -> str:
    """The caption of a table or a figure of the specification, with values of this run."""
    text = specification()[name]["caption"]
    return text.format(**values) if values else text


def columns_of(name: str) -> list[Column]:
    """The columns of a table of the specification."""
    columns = []
    for key, form in specification()[name]["columns"].items():
        if isinstance(form, str):
            columns.append(Column(key, form))
        else:
            columns.append(Column(key, form[0], "number", *form[1:2], **dict.fromkeys(form[2:], True)))
    return columns


def specified(
    name: str, rows: Iterable[dict[str, Any]], more: Sequence[Column] = (), of: str = "", **values: Any
) -> Table:
    """A table of the specification: `rows` by its columns, then `more` columns of this run.

    `of`: the subject of a table of which there are several; `values` fill its caption.
    """
    spec = specification()[name]
    if of:
        values["of"] = of
    title, said = spec["title"].format(of=of), caption(name, **values)
    columns = [*columns_of(name), *more]
    table = Table.of(f"{name}-{of}" if of else name, title, said, columns, rows, limit=spec.get("limit"))
    folded = spec.get("folded", False)
    return replace(table, folded=len(table.rows) > LONG if folded == "long" else folded)


def _own(item: Any, key: str) -> Any:
    return item.get(key) if isinstance(item, dict) else getattr(item, key)


def language_columns(results: Results, group: bool = True) -> list[Column]:
    """Code, name and resource group of an item's `language`; an item that is text is the code itself."""

    def code(item: Any) -> str:
        return item if isinstance(item, str) else _own(item, "language")

    return [
        Column("language", "Code", value=code),
        Column("name", "Language", value=lambda item: results.name(code(item))),
        *([Column("resource", "Group", value=lambda item: results.resource(code(item)))] if group else []),
    ]


def number(value: float | int | None, column: Column) -> str:
    """A number for the page: thousands separated, a true minus, percent for shares.

    >>> number(-1234.5, Column("x", "x", "number", 1))
    '−1,234.5'
    >>> number(0.5, Column("x", "x", "number", 1, share=True))
    '50.0 %'
    """
    if value is None:
        return ABSENT
    if column.share:
        text = f"{100 * value:.{1 if column.digits is None else column.digits}f} %"
    elif column.digits is not None:
        text = f"{value:,.{column.digits}f}"
    elif float(value).is_integer():
        text = f"{int(value):,}"
    else:
        text = f"{value:,.4g}"
    if re.fullmatch(r"-[0.,]+( %)?", text):
        text = text[1:]  # no minus before a zero
    return text.replace("-", "−")


def signed(value: float) -> str:
    """A difference with its sign.

    >>> signed(-0.5), signed(0.5)
    ('−0.50', '+0.50')
    """
    return f"{value:+.2f}".replace("-", "−")


def markdown(table: Table) -> str:
    """The table as GitHub-flavoured Markdown, its caption above."""
    lines = [f"**{_markdown(table.title)}.** {_markdown(table.caption)}", ""]
    lines.append("| " + " | ".join(_markdown(column.title) for column in table.columns) + " |")
    lines.append("|" + "|".join("---:" if column.kind == "number" else "---" for column in table.columns) + "|")
    for row in table.rows:
        lines.append("| " + " | ".join(_markdown(text) for text in table.texts(row)) + " |")
    return "\n".join(lines) + "\n"


def latex(table: Table) -> str:
    """The table as LaTeX (packages booktabs and longtable; XeLaTeX or LuaLaTeX for pieces in all scripts)."""
    layout = "".join("r" if column.kind == "number" else "l" for column in table.columns)
    head = " & ".join(_latex(column.title) for column in table.columns)
    lines = [
        "% needs \\usepackage{booktabs,longtable}; scripts beyond Latin need XeLaTeX or LuaLaTeX and a font that "
        "has them",
        f"\\begin{{longtable}}{{{layout}}}",
        f"\\caption{{{_latex(table.title)}. {_latex(table.caption)}}}\\\\",
        "\\toprule",
        f"{head} \\\\",
        "\\midrule",
        "\\endhead",
    ]
    lines += [" & ".join(_latex(text) for text in table.texts(row)) + " \\\\" for row in table.rows]
    lines += ["\\bottomrule", "\\end{longtable}"]
    return "\n".join(lines) + "\n"


_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|&~])")
_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def _markdown(text: str) -> str:
    return re.sub(r"\s+", " ", _MARKDOWN.sub(r"\\\1", text))


def _latex(text: str) -> str:
    return re.sub(r"\s+", " ", "".join(_LATEX.get(character, character) for character in text))
