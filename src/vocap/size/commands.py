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
@click.option("--layers", default=12, type=COUNT, help="L, the number of transformer layers.")
@click.option("--hidden", default=768, type=COUNT, help="H, the width of layers and embeddings.")
@click.option(
    "--intermediate",
    type=COUNT,
    help="I, the width of feed-forward layers.  [default: 4 H, or 8/3 H with --swiglu]",
)
@click.option("--length", default=512, type=click.IntRange(8), help="S, the tokens of a block.")
@click.option(
    "--causal",
    is_flag=True,
    help="Assume a causal model of GPT-2's form, which predicts every token, in place of "
    "a masked model of XLM-R's form.",
)
@click.option(
    "--swiglu",
    is_flag=True,
    help="Assume a causal model of Llama's form, with rotary positions and without biases.",
)
@click.option(
    "--heads", type=COUNT, help="Number of attention heads, for --kv-heads.  [default: H / 64]"
)
@click.option(
    "--kv-heads",
    type=COUNT,
    help="Number of heads of keys and values (grouped attention).  [default: that of --heads]",
)
@click.option("--untied", is_flag=True, help="Give the output layer a table of its own.")
@click.option(
    "--micro-batch",
    default=32,
    type=COUNT,
    help="Number of blocks whose logits are held at a time.",
)
@click.option(
    "--candidates",
    type=COUNT,
    metavar="K",
    help="Number of words in a sampled loss.  [default: all T]",
)
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
    **model: Any,  # the parameters of `model_costs` of the same names
) -> None:
    """Compare tokens, ALP and the cost of a model at each T.

    TABLE has the columns total, language, lines, bytes, tokens and alp, which vocap
    joint --curve measures on held-out text with the vocabulary of each T. Costs are
    operations per byte of text, that is tokens per byte times operations per token. A
    token takes 6 L (4 H^2 + 2 H I) + 12 L S H + 6 p H K operations in training. There p
    is 1 for a causal model and 0.15 for a masked one, and K is T or --candidates. The
    head of a masked model adds 6 p H^2. SwiGLU adds 6 L H I, and grouped attention
    saves 12 L H^2 (1 - kv heads / heads). In inference the layers take a third of that,
    and the head of a causal model takes 2 H T. A parameter takes 16 bytes of memory in
    training and 2 in inference. The logits of a block take 4 p S K bytes.
    docs/commands.md explains the output.
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
