"""`vocap size`: ALP, tokens and the cost of a model by T."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vocap import options
from vocap.errors import UsageError
from vocap.options import FILE
from vocap.size.forecast import SizeSettings, compare_sizes

if TYPE_CHECKING:
    import pandas as pd

# of the printed table by column: title and format; the table that -o writes has more
PRINTED = {
    "total": ("T", "{:,}"),
    "alp": ("ALP", "{:.2f}"),
    "mix_alp": ("ALP, mix", "{:.2f}"),
    "tokens_per_byte": ("tokens/byte", "{:.4f}"),
    "mix_tokens_per_byte": ("tokens/byte, mix", "{:.4f}"),
    "worst": ("worst", "{}"),
    "worst_tokens_per_byte": ("tokens/byte", "{:.3f}"),
    "mparameters": ("M parameters", "{:.1f}"),
    "embedding_mparameters": ("M of embeddings", "{:.1f}"),
    "embedding_share": ("share", "{:.0%}"),
    "training_gb": ("train GB", "{:.2f}"),
    "training_mflop_per_byte": ("train MFLOP/byte", "{:.1f}"),
    "inference_mflop_per_byte": ("use MFLOP/byte", "{:.1f}"),
    "compared_with": ("from T", "{:,.0f}"),
    "tokens_percent": ("tokens, %", "{:+.1f}"),
    "training_percent": ("training, %", "{:+.1f}"),
}


@click.command()
@click.argument("tables", nargs=-1, required=True, type=FILE)
@options.of(SizeSettings)
@options.path(
    "--weights",
    FILE,
    "Table with the columns language and n, which gives the mixture of the training text.",
)
@click.option("-o", "--output", "out", type=FILE, help="Table to write, for a single TABLE.")
def size(tables: tuple[Path, ...], out: Path | None, **given: Any) -> None:
    """Compare tokens, ALP and the cost of a model at each T.

    TABLE has the columns total, language, lines, bytes, tokens and alp, which vocap
    joint --curve measures on held-out text with the vocabulary of each T. Costs are
    operations per byte of text, that is tokens per byte times operations per token. A
    token takes 6 N + 6 p H T operations in training, where p is 1 for a causal model and
    0.15 for a masked one. In inference it takes 2 N, and 2 H T more in a causal model. A
    parameter takes 16 bytes of memory in training and 2 in inference. docs/commands.md
    explains the output.
    """
    from vocap.tables.frames import write_frame

    if out and len(tables) > 1:
        raise UsageError("-o is one table; give one TABLE, or leave -o out")
    for table, rows in compare_sizes(tables, **given).groupby("table", sort=False):
        click.echo(f"{table}:\n{_as_text(rows)}")
        if out:
            write_frame(out, rows.drop(columns="table"))


def _as_text(rows: "pd.DataFrame") -> str:
    """The printed columns that have values, as text."""
    shown = rows[list(PRINTED)].astype({"compared_with": float}).dropna(axis="columns", how="all")
    titles, formats = zip(*(PRINTED[column] for column in shown.columns), strict=True)
    return shown.to_string(
        index=False, header=titles, formatters=[one.format for one in formats], na_rep=""
    )
