"""How large T should be, as a function: the cost of a model by T, of measured tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vocap.errors import UsageError, VocapError
from vocap.pretraining.settings import Shape
from vocap.size.forecast import Forecast, ModelCosts, forecast, shares_of
from vocap.tables.curve import Sizes, read_sizes
from vocap.tables.sampling_probabilities import Weights, load_weights

if TYPE_CHECKING:
    import pandas as pd


def compare_sizes(  # noqa: PLR0913  # settings of the model, each by its name
    tables: str | Path | Sequence[str | Path],
    *,
    layers: int = 12,
    hidden: int = 768,
    intermediate: int | None = None,
    length: int = 512,
    causal: bool = False,
    swiglu: bool = False,
    heads: int | None = None,
    kv_heads: int | None = None,
    untied: bool = False,
    micro_batch: int = 32,
    candidates: int | None = None,
    weights: Weights | None = None,
    alpha: float = 0.7,
    bytes: int | None = None,
) -> "pd.DataFrame":
    """Compare tokens, ALP and the cost of a model at each T, by the formulas of
    docs/commands.md.

    Parameters
    ----------
    tables
        Tables with the columns total, language, lines, bytes, tokens and alp, which
        `curve` of `train_joint` measures on held-out text with the vocabulary of each
        T.
    layers, hidden, intermediate, length
        Transformer layers, their width, that of their feed-forward layers (4 times
        `hidden`, with SwiGLU 8/3, if not given), and tokens of a block.
    causal, swiglu, untied
        Whether the model is causal and of GPT-2's form, whether it is causal and of
        Llama's form, and whether the output layer has a table of its own.
    heads, kv_heads
        Attention heads, and those of keys and values (grouped attention).
    micro_batch, candidates
        Blocks whose logits are held, and words in a sampled loss (None: all T).
    weights, alpha
        n by language and the exponent of Equation 3, which give the mixture of the
        training text.
    bytes
        Number of UTF-8 bytes of the training text. It adds the column training_pflop.

    Returns
    -------
    pandas.DataFrame
        A row for each table and T, with the columns of `Forecast`. Operations are in
        10^6 per byte of text, memory in 10^9 bytes, and ALP in nats per line.

    Raises
    ------
    UsageError
        For key and value heads that do not divide the heads.
    VocapError
        For a table that is missing or damaged, or weights of other languages.
    """
    import pandas as pd

    from vocap.tables.frames import frame_of

    costs = model_costs(
        layers=layers,
        hidden=hidden,
        intermediate=intermediate,
        length=length,
        heads=heads,
        kv_heads=kv_heads,
        causal=causal,
        swiglu=swiglu,
        untied=untied,
        micro_batch=micro_batch,
        candidates=candidates,
    )
    frames = {}
    for table in [tables] if isinstance(tables, str | Path) else tables:
        _, rows = forecast_table(table, costs, weights, alpha)
        frames[str(table)] = frame_of(Forecast, rows)
    found = pd.concat(frames, names=["table"]).reset_index(level=0).reset_index(drop=True)
    if bytes is not None:
        found["training_pflop"] = found["training_mflop_per_byte"] * (bytes / 1e9)
    return found


def model_costs(
    *,
    layers: int,
    hidden: int,
    intermediate: int | None,
    length: int,
    heads: int | None,
    kv_heads: int | None,
    **model: Any,
) -> ModelCosts:
    """The costs of a model of these sizes; `model`: the other fields of `ModelCosts`."""
    heads = heads or max(1, hidden // 64)
    if heads % (kv_heads or heads):
        raise UsageError(
            f"--kv-heads {kv_heads} does not divide {heads} heads; give --heads, or others of both"
        )
    model["causal"] |= model["swiglu"]
    wide = intermediate or (8 * hidden // 3 if model["swiglu"] else 4 * hidden)
    shape = Shape(layers=layers, hidden=hidden, heads=1, intermediate=wide, positions=length)
    return ModelCosts(shape, kv_share=(kv_heads or heads) / heads, **model)


def forecast_table(
    table: str | Path, costs: ModelCosts, weights: Weights | None, alpha: float
) -> tuple[Sizes, list[Forecast]]:
    """The content of a table, and a row for each T of it; with `weights` also of the
    mix by q (Equation 3).
    """
    sizes = read_sizes(table)
    if len(sizes) < 2:
        raise VocapError(
            f"{table}: {len(sizes)} T in it; a choice needs two or more (vocap joint --curve)"
        )
    if weights is None:
        return sizes, forecast(sizes, costs)
    where = "weights" if isinstance(weights, Mapping) else str(weights)
    return sizes, forecast(sizes, costs, shares_of(sizes, load_weights(weights), alpha, where))
