"""`vocap size`: ALP, tokens and the cost of a model by T."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from vocap import options
from vocap.errors import UsageError
from vocap.files.io import aligned, write_tsv
from vocap.options import FILE
from vocap.size.forecast import COLUMNS, Forecast, ModelCosts, forecast_table

COUNT = click.IntRange(1)


@click.command()
@click.argument("tables", nargs=-1, required=True, type=FILE)
@click.option(
    "--parameters",
    "others",
    required=True,
    type=options.Real(1, 1e15),
    help="N, the parameters beside the embeddings, as 85e6.",
)
@click.option("--hidden", required=True, type=COUNT, help="H, the width of the embeddings.")
@click.option(
    "--causal",
    is_flag=True,
    help="Assume a causal model, which predicts every token, in place of a masked one, "
    "which predicts 15 %.",
)
@click.option("--untied", is_flag=True, help="Give the output layer a table of its own.")
@click.option(
    "--weights",
    type=FILE,
    help="Table with the columns language and n, which gives the mixture of the training text.",
)
@click.option(
    "--alpha",
    default=0.7,
    type=options.Real(0, 10),
    help="Exponent alpha of the shares of --weights (Equation 3).",
)
@click.option(
    "--bytes",
    "size",
    type=COUNT,
    help="Number of UTF-8 bytes of the training text. It adds the cost of the whole training.",
)
@click.option("-o", "--output", "out", type=FILE, help="Table to write, for a single TABLE.")
def size(
    tables: tuple[Path, ...],
    weights: Path | None,
    alpha: float,
    size: int | None,
    out: Path | None,
    **model: Any,  # the fields of `ModelCosts`
) -> None:
    """Compare tokens, ALP and the cost of a model at each T.

    TABLE has the columns total, language, lines, bytes, tokens and alp, which vocap
    joint --curve measures on held-out text with the vocabulary of each T. Costs are
    operations per byte of text, that is tokens per byte times operations per token. A
    token takes 6 N + 6 p H T operations in training, where p is 1 for a causal model and
    0.15 for a masked one. In inference it takes 2 N, and 2 H T more in a causal model. A
    parameter takes 16 bytes of memory in training and 2 in inference. docs/commands.md
    explains the output.
    """
    if out and len(tables) > 1:
        raise UsageError("-o is one table; give one TABLE, or leave -o out")
    costs = ModelCosts(**model)
    for table in tables:
        sizes, rows = forecast_table(table, costs, weights, alpha)
        click.echo(f"{table}: {len(next(iter(sizes.values())))} languages")
        click.echo(_as_text(rows, size))
        if out:
            columns: tuple[str, ...] = COLUMNS
            cells = [tuple(vars(row).values()) for row in rows]
            if size is not None:
                columns += ("training_pflop",)
                whole = [row.training_mflop_per_byte * (size / 1e9) for row in rows]
                cells = [(*cell, pflop) for cell, pflop in zip(cells, whole, strict=True)]
            write_tsv(out, columns, cells)


def _as_text(rows: Sequence[Forecast], size: int | None) -> str:
    """The rows as columns of text; changes are those from `compared_with`."""
    heads = [
        "T",
        "ALP",
        "tokens/byte",
        "worst",
        "parameters",
        "embeddings",
        "share",
        "train GB",
    ]
    heads += ["train MFLOP/byte", "use MFLOP/byte", "from T", "tokens", "training"]

    cells = list(map(_cells, rows))
    if size is not None:
        heads.append("PFLOP in all")
        for cell, row in zip(cells, rows, strict=True):
            cell.append(f"{row.training_mflop_per_byte * size / 1e9:,.4g}")
    return "\n".join(aligned([heads, *cells]))


def _cells(row: Forecast) -> list[str]:
    def change(value: float | None) -> str:
        return "" if value is None else f"{value:+.1f} %"

    return [
        f"{row.total:,}",
        f"{row.alp if row.mix_alp is None else row.mix_alp:.2f}",
        f"{row.used_tokens_per_byte:.4f}",
        f"{row.worst_tokens_per_byte:.3f} {row.worst}",
        f"{row.mparameters:.1f} M",
        f"{row.embedding_mparameters:.1f} M",
        f"{100 * row.embedding_share:.0f} %",
        f"{row.training_gb:.2f}",
        f"{row.training_mflop_per_byte:.1f}",
        f"{row.inference_mflop_per_byte:.1f}",
        "" if row.compared_with is None else f"{row.compared_with:,}",
        change(row.tokens_percent),
        change(row.training_percent),
    ]
