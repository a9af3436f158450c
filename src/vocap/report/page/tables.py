"""A table, and its cells on the page and in the files: TSV, Markdown, LaTeX."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import translate
from functools import cache
from importlib import resources
from typing import Any, Literal

import yaml

ABSENT = "–"
LONG = 20  # rows; a longer table of languages is folded


@dataclass(frozen=True)
class Column:
    """One column: its key in files, its title with the unit, and the format of its
    cells on the page.
    """

    key: str
    title: str
    kind: Literal["text", "number"] = "text"
    digits: int | None = (
        None  # decimals of a float; None writes whole numbers, and floats as short as they are
    )
    share: bool = False  # a fraction, shown in percent
    bar: bool = False  # a faint bar under the number, as long as its share of the column's largest
    only: Literal["page", "files"] | None = None  # where it stands; else in both
    axis: str = ""  # its title in charts, of which more may be better
    more_is_better: bool = False
    by_regime: bool = False  # it compares tokenizers of one text regime only


@dataclass(frozen=True)
class Table:
    """Rows under columns; `caption` names the numbers, their unit and their source."""

    name: str  # of its files
    title: str
    caption: str
    columns: Sequence[Column]
    rows: list[dict[str, Any]]  # by key of the columns, among others
    folded: bool = False  # closed at first on the page
    limit: int | None = None  # rows on the page, where the files hold more
    print: str = ".*"  # regular expression of the keys of LaTeX's columns

    def on(self, place: Literal["page", "files", "paper"]) -> "Table":
        """The table with the columns of the page, of its files, or of LaTeX's."""
        columns = [one for one in self.columns if one.only in (None, place)]
        if place == "paper":
            columns = [one for one in columns if re.fullmatch(self.print, one.key)]
        return replace(self, columns=columns)

    def cells(self, row: dict[str, Any]) -> Iterator[tuple[Column, str, float | None]]:
        """For the page's template each cell of a row: column, text, length of the bar in
        percent.
        """
        for column, text in zip(self.columns, self.texts(row), strict=True):
            value, bar = row.get(column.key), None
            if column.bar and value:
                largest = max(one.get(column.key) or 0 for one in self.rows)
                bar = round(100 * value / largest, 1)
            yield column, text, bar

    def texts(self, row: dict[str, Any]) -> list[str]:
        """The cells of a row as text: numbers as on the page, a dash for what is not
        there.
        """
        texts = []
        for column in self.columns:
            value = row.get(column.key)
            if column.kind == "number":
                texts.append(format_number(value, column))
            else:
                texts.append(ABSENT if value in (None, "") else str(value))
        return texts


@cache
def specification() -> dict[str, dict[str, Any]]:
    """Titles, captions and columns of tables and figures by name:
    specification.yaml.
    """
    return yaml.safe_load(
        resources.files("vocap.report").joinpath("specification.yaml").read_bytes()
    )


def caption(name: str, /, **values: Any) -> str:
    """The caption of a table or a figure of the specification, with values of this
    run.
    """
    text = specification()[name]["caption"]
    return text.format(**values) if values else text


def columns_of(name: str, /, **values: Any) -> list[Column]:
    """The columns of a table of the specification; `values` fill their titles."""
    columns = []
    for key, form in specification()[name]["columns"].items():
        column = {"title": form} if isinstance(form, str) else {"kind": "number"} | form
        title = column.pop("title").format(**values)
        columns.append(Column(key, title, **column))
    return columns


def specified(
    name: str,
    rows: Iterable[dict[str, Any]],
    more: Sequence[Column] = (),
    of: str = "",
    **values: Any,
) -> Table:
    """A table of the specification: `rows` by its columns, then `more` columns of this run.

    `of`: the subject of a table of which there are several; `values` fill its title,
    caption and columns.
    """
    spec = specification()[name]
    if of:
        values["of"] = of
    columns = [*columns_of(name, **values), *more]
    rows, folded = list(rows), spec.get("folded", False)
    folded = len(rows) > LONG if folded == "long" else folded
    title, said = spec["title"].format(**values), caption(name, **values)
    name = f"{name}-{of}" if of else name
    shown = "|".join(map(translate, spec.get("print", ["*"])))
    return Table(name, title, said, columns, rows, folded, spec.get("limit"), shown)


def rounded(values: Iterable[float | None], digits: int) -> list[float | None]:
    """Numbers of a chart, None for those that are not there."""
    return [None if value is None else round(value, digits) for value in values]


def format_number(value: float | int | None, column: Column) -> str:
    """A number for the page: thousands separated, a true minus, percent for shares.

    >>> format_number(-1234.5, Column("x", "x", "number", 1))
    '−1,234.5'
    >>> format_number(0.5, Column("x", "x", "number", 1, share=True))
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


def counted(number: int, one: str, many: str | None = None) -> str:
    """A count with its noun.

    >>> counted(1, "language"), counted(1200, "language")
    ('1 language', '1,200 languages')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def in_thousands(total: int) -> str:
    """T for titles: thousands as K.

    >>> in_thousands(100000), in_thousands(1234)
    ('100K', '1,234')
    """
    return f"{total // 1000}K" if total % 1000 == 0 else f"{total:,}"


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "−": "$-$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "ρ": r"$\rho$",
    "⁶": "$^6$",
} | {character: f"\\{character}" for character in "{}$&#%_"}


def for_latex(text: str) -> str:
    """Text in one line, as LaTeX has it."""
    return re.sub(r"\s+", " ", "".join(_LATEX.get(one, one) for one in text))


def latex_heading(column: Column) -> str:
    r"""A column's title for LaTeX, in short lines.

    >>> print(latex_heading(Column("x", "Tokens per line, %", "number")))
    \shortstack[r]{Tokens per\\line, \%}
    """
    lines = textwrap.wrap(column.title, 11, break_long_words=False)
    said = r"\\".join(map(for_latex, lines))
    side = "r" if column.kind == "number" else "l"
    return rf"\shortstack[{side}]{{{said}}}" if len(lines) > 1 else said


def for_markdown(text: str) -> str:
    """Text in one line, as GitHub-flavoured Markdown has it."""
    return re.sub(r"\s+", " ", re.sub(r"([\\`*_{}\[\]<>#|&~])", r"\\\1", text))
