"""`vocap size`: ALP, tokens and the cost of a model by T."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from vocap import options
from vocap.errors import UsageError
from vocap.files.io import aligned, write_tsv
from vocap.options import FILE
from vocap.size.comparison import forecast_table, model_costs
from vocap.size.forecast import COLUMNS, STAGES, Forecast, reference, verdict

COUNT = click.IntRange(1)


@click.command()
@click.argument("tables", nargs=-1, required=True, type=FILE)
@click.option("--layers", default=12, type=COUNT, help="L: transformer layers.")
@click.option("--hidden", default=768, type=COUNT, help="H: width of layers and embeddings.")
@click.option(
    "--intermediate",
    type=COUNT,
    help="I: width of feed-forward layers.  [default: 4 H; SwiGLU 8/3 H]",
)
@click.option("--length", default=512, type=click.IntRange(8), help="S: tokens of a block.")
@click.option(
    "--causal",
    is_flag=True,
    help="A causal model (GPT-2's form, every token predicted); else a masked one (XLM-R's).",
)
@click.option(
    "--swiglu", is_flag=True, help="A causal model in Llama's form: no biases, rotary positions."
)
@click.option("--heads", type=COUNT, help="With --kv-heads: attention heads.  [default: H / 64]")
@click.option(
    "--kv-heads", type=COUNT, help="Key and value heads (grouped attention).  [default: all]"
)
@click.option("--untied", is_flag=True, help="The output layer has a table of its own.")
@click.option("--micro-batch", default=32, type=COUNT, help="Blocks whose logits are held.")
@click.option(
    "--candidates", type=COUNT, metavar="K", help="Words in a sampled loss.  [default: all T]"
)
@click.option(
    "--weights", type=FILE, help="Table with the columns language, n: the mix of the training text."
)
@click.option("--alpha", default=0.7, type=options.Real(0, 10), help="With --weights (Equation 3).")
@click.option(
    "--bytes", "size", type=COUNT, help="UTF-8 bytes of the training text: adds the whole training."
)
@click.option("-o", "--output", "out", type=FILE, help="Table to write (one TABLE only).")
def size(
    tables: tuple[Path, ...],
    weights: Path | None,
    alpha: float,
    size: int | None,
    out: Path | None,
    **model: Any,  # the parameters of `model_costs` of the same names
) -> None:
    """How large should T be: tokens, ALP, and the cost of a model by T.

    TABLE has the columns total, language, lines, bytes, tokens, alp: held-out text
    under the vocabulary of each T (vocap joint --curve). Costs are per byte of text:
    tokens per byte x operations per token. These are, in training, 6 L (4 H^2 + 2 H I)
    + 12 L S H + 6 p H K, p = 1 (--causal) or 0.15, K = T or --candidates, and 6 p H^2
    for the head's own layer of a masked model; in inference a third of the layers'
    part, with 2 H T for the head of a causal model. SwiGLU adds 6 L H I, grouped
    attention takes 12 L H^2 (1 - kv heads / heads) off in training. Memory: 16 bytes a
    parameter in training, 2 in inference; 4 p S K bytes for the logits of a block
    (docs/commands.md).
    """
    if out and len(tables) > 1:
        raise UsageError("-o is one table; give one TABLE, or leave -o out")
    costs = model_costs(**model)
    for table in tables:
        sizes, rows = forecast_table(table, costs, weights, alpha)
        click.echo(f"{table}: {len(next(iter(sizes.values())))} languages")
        click.echo(_as_text(rows, size))
        for stage in STAGES:
            click.echo(verdict(rows, stage))
        click.echo(reference(costs))
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
        "logits GB",
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
        f"{row.logits_gb:.2f}",
        f"{row.training_mflop_per_byte:.1f}",
        f"{row.inference_mflop_per_byte:.1f}",
        "" if row.compared_with is None else f"{row.compared_with:,}",
        change(row.tokens_percent),
        change(row.training_percent),
    ]
