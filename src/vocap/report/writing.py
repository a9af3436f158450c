"""The report's files: figures and tables first, the page last."""

import os
from collections.abc import Sequence
from pathlib import Path

from vocap.errors import VocapError
from vocap.files import replacing_directory, write_text
from vocap.report import figures
from vocap.report.blocks import Section, leaves
from vocap.report.page import render
from vocap.report.tables import Table, latex, markdown, tsv_rows
from vocap.tsv import write_tsv

LIMIT = 8_000_000  # bytes of the page


def write_report(out: str | os.PathLike, title: str, sections: Sequence[Section]) -> int:
    """Write `index.html`, `figures/` and `tables/` under `out`, each whole or not at all; the page's bytes.

    Raises VocapError for two blocks of one name, or a page over the limit; UsageError where `out` has no page but
    folders of these names that hold something.
    """
    out = Path(out)
    blocks = [block for section in sections for block in leaves(section.blocks)]
    tables = _by_name([block for block in blocks if isinstance(block, Table)])
    charts = _by_name([block for block in blocks if isinstance(block, figures.Figure)])
    page = render(title, sections)
    size = len(page.encode())
    if size > LIMIT:
        raise VocapError(
            f"{out / 'index.html'} would take {size:,} bytes, over {LIMIT:,}; report on fewer tokenizers"
        )
    owned = None if (out / "index.html").exists() else ()  # folders that are not of an earlier page stay
    with (
        replacing_directory(out / "figures", owned) as drawn,
        replacing_directory(out / "tables", owned) as written,
    ):
        for name, chart in charts.items():
            for file, data in figures.files(figures.specification(chart.still()), name).items():
                (drawn / file).write_bytes(data)
        for name, table in tables.items():
            write_tsv(written / f"{name}.tsv", *tsv_rows(table))
            write_text(written / f"{name}.md", markdown(table))
            write_text(written / f"{name}.tex", latex(table))
    write_text(out / "index.html", page)
    return size


def _by_name(blocks: list) -> dict:
    named = {block.name: block for block in blocks}
    if len(named) < len(blocks):
        names = [block.name for block in blocks]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise VocapError(
            f"two parts of the report are named {', '.join(twice)}; rename an allocation or a tokenizer"
        )
    return named
