"""Reading a page in tests, and writing one."""

import json
from html.parser import HTMLParser

import pandas
from click.testing import CliRunner

from tests.cases import edit as edit
from vocap.files.io import read_tsv, write_tsv
from vocap.report.commands import report

VOID = {"meta", "link", "input", "br", "img", "hr", "path"}


class Page(HTMLParser):
    """Every element with its attributes, the text of scripts, and whether all that
    opened was closed.
    """

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.open, self.text = [], [], [], []
        self.glued = False  # an explained word is a button inside its sentence
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag == "script":
            self.scripts.append([dict(attributes), ""])
        if tag not in VOID:
            self.open.append(tag)
        self.glued = dict(attributes).get("class") == "term"

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()
        self.glued = tag == "button"

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1][1] += data
        elif self.open and self.open[-1] != "style":
            if self.glued and self.text:
                self.text[-1] += data
            else:
                self.text.append(data)
        self.glued = False


def write(results, out, *more):
    """Run `vocap report` in this process; the page's text."""
    arguments = ["--results", str(results), "-o", str(out), *map(str, more)]
    outcome = CliRunner().invoke(report, arguments, catch_exceptions=False, standalone_mode=False)
    assert outcome.exception is None
    return (out / "index.html").read_text(encoding="utf-8")


def words_of(page):
    """The text of a page (or of its HTML) in one line."""
    return " ".join(" ".join((Page(page) if isinstance(page, str) else page).text).split())


def words(results, out, settings=None, *more):
    """The text of a page with these settings."""
    return words_of(
        write(results, out, *(["--settings-json", json.dumps(settings)] if settings else []), *more)
    )


def change(path, **columns):
    """Set cells of columns by language."""
    rows = [dict(row) for row in read_tsv(path)]
    for row in rows:
        for column, cells in columns.items():
            row[column] = str(cells.get(row["language"], row.get(column, "")))
    write_tsv(path, list(rows[0]), [tuple(row.values()) for row in rows])


def frame(path, index="language"):
    """A table in pandas."""
    return pandas.read_csv(path, sep="\t").set_index(index)


def one_row(path, **wanted):
    rows = [
        row for row in read_tsv(path) if all(row[column] == cell for column, cell in wanted.items())
    ]
    assert len(rows) == 1, rows
    return rows[0]
