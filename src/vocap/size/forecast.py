"""The cost of a model by T: the tokens of a byte of text, by the measured table, times
operations.

N: parameters beside the embeddings, H: width of the embeddings, T: ids. A product of a
vector with a matrix of N weights counts 2 N operations, 6 N with its backward pass (Kaplan
et al. 2020, 2.1).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from vocap.errors import VocapError, listed
from vocap.pretraining.data import SHARE
from vocap.section import Alpha, ConfigSection
from vocap.tables.curve import Sizes, read_sizes
from vocap.tables.sampling_probabilities import Weights, language_shares, load_weights

if TYPE_CHECKING:
    import pandas as pd

TRAINED_BYTES = 16  # of a parameter: weight, gradient and both moments of Adam in float32
SERVED_BYTES = 2  # of a parameter: 16 bits
STEP = 50_000  # ids that a point is compared over
STAGES = ("training", "inference")


class SizeSettings(ConfigSection):
    """The model that `compare_sizes` weighs, and the mixture of its text."""

    parameters: float = Field(
        ge=1, le=1e15, description="N, the parameters beside the embeddings, as 85e6"
    )
    hidden: int = Field(ge=1, description="H, the width of the embeddings")
    causal: bool = Field(
        False,
        description="assume a causal model, which predicts every token, in place of a masked one, "
        "which predicts 15 %",
    )
    untied: bool = Field(False, description="give the output layer a table of its own")
    alpha: Alpha = 0.7


@dataclass(frozen=True)
class ModelCosts:
    """A masked language model, or a causal one; both predict by the full softmax.

    `others`: parameters beside the embeddings; `hidden`: width of the embeddings;
    `untied`: the output layer has a table of its own.
    """

    others: float
    hidden: int
    causal: bool = False
    untied: bool = False

    def parameters(self, total: int) -> float:
        """All parameters of the model with `total` ids, a tied table once."""
        return self.others + self.embedding_parameters(total)

    def embedding_parameters(self, total: int) -> int:
        """T H of a table, twice if untied; a masked model has an output bias of T
        besides.
        """
        return total * (self.hidden * (2 if self.untied else 1) + (not self.causal))

    def training_operations(self, total: int) -> float:
        """Operations of one token, forward and backward: 6 N + 6 p H T, where p is the
        share of tokens that are predicted. Attention between tokens is left out.
        """
        predicted = 1.0 if self.causal else SHARE
        return 6 * self.others + 6 * predicted * self.hidden * total

    def inference_operations(self, total: int) -> float:
        """Operations of one token, forward: 2 N, and 2 H T of a causal model.

        A masked model is taken for an encoder, as after fine-tuning: it has no head
        over the vocabulary.
        """
        return 2 * self.others + (2 * self.hidden * total if self.causal else 0)


def shares_of(
    sizes: Sizes, weights: Mapping[str, float], alpha: float, where: str
) -> dict[str, float]:
    """q of the table's languages (Equation 3); VocapError where `weights`, read from
    `where`, lack one of them.
    """
    languages = list(next(iter(sizes.values())))
    missing = [language for language in languages if not weights.get(language)]
    if missing:
        raise VocapError(
            f"{where}: no n above 0 of {listed(missing)}, which the table of sizes has; give the "
            "weights of the same languages"
        )
    return language_shares({language: weights[language] for language in languages}, alpha)


def forecast(
    sizes: Sizes, costs: ModelCosts, shares: Mapping[str, float] | None = None
) -> "pd.DataFrame":
    """A row for each T of `sizes` (by T, then language), in their order. `shares`: q by
    language.

    ALP is in nats a line, operations are in 10^6 of a byte of text, memory in 10^9 bytes.
    `mix_*`: of lines drawn by q, missing without `shares`; costs are of the mix, without
    it of the mean of the languages. `worst`: the language with the most tokens per byte.
    `compared_with`: the largest T in the table that is `STEP` or more below; `alp_gain`
    and `*_percent`: changes from it.
    """
    import pandas as pd

    measured = pd.DataFrame([vars(row) for found in sizes.values() for row in found.values()])
    measured["tokens_per_byte"] = measured.tokens / measured.bytes
    by_total = measured.groupby("total")
    mean = by_total[["alp", "tokens_per_byte"]].agg(_mean)
    mix = pd.DataFrame(index=mean.index, columns=mean.columns, dtype=float)
    if shares is not None:
        q = measured.language.map(shares)
        drawn = measured[["tokens", "bytes"]].mul(q, axis=0).div(measured.lines, axis=0)
        drawn = drawn.assign(alp=q * measured.alp).groupby(measured.total).agg(math.fsum)
        mix = drawn.assign(tokens_per_byte=drawn.tokens / drawn.bytes)
    worst = measured.loc[by_total.tokens_per_byte.idxmax()].set_index("total")
    # costs of a byte of text
    totals = mean.index.to_series()
    embeddings, parameters = totals.map(costs.embedding_parameters), totals.map(costs.parameters)
    used = mix.fillna(mean)
    training = used.tokens_per_byte * totals.map(costs.training_operations) / 1e6
    inference = used.tokens_per_byte * totals.map(costs.inference_operations) / 1e6
    # changes over STEP ids
    before = [max((one for one in sizes if one <= total - STEP), default=None) for total in sizes]
    now = used.assign(training=training, inference=inference)
    earlier = now.reindex(before).set_axis(now.index)
    percent = 100 * (now / earlier - 1)
    return pd.DataFrame(
        {
            "alp": mean.alp,
            "mix_alp": mix.alp,
            "tokens_per_byte": mean.tokens_per_byte,
            "mix_tokens_per_byte": mix.tokens_per_byte,
            "worst": worst.language,
            "worst_tokens_per_byte": worst.tokens_per_byte,
            "embedding_mparameters": embeddings / 1e6,
            "mparameters": parameters / 1e6,
            "embedding_share": embeddings / parameters,
            "training_gb": TRAINED_BYTES * parameters / 1e9,
            "inference_gb": SERVED_BYTES * parameters / 1e9,
            "training_mflop_per_byte": training,
            "inference_mflop_per_byte": inference,
            "compared_with": pd.Series(before, now.index, dtype="Int64"),
            "alp_gain": now.alp - earlier.alp,
            "tokens_percent": percent.tokens_per_byte,
            "training_percent": percent.training,
            "inference_percent": percent.inference,
        }
    ).reset_index()


def _mean(values: "pd.Series[float]") -> float:
    return math.fsum(values) / len(values)


def cheapest(rows: "pd.DataFrame", stage: str = "training") -> "pd.Series[Any]":
    """The row of the fewest operations per byte of text in a stage, training or
    inference; of equals the first.
    """
    return rows.loc[rows[f"{stage}_mflop_per_byte"].idxmin()]


def limit(rows: "pd.DataFrame", stage: str = "training") -> int | None:
    """The smallest T from which `STEP` more ids save no operations per byte; None
    within the table.
    """
    return next(iter(rows.compared_with[rows[f"{stage}_percent"] >= 0]), None)


def compare_sizes(
    tables: str | Path | Sequence[str | Path],
    *,
    weights: Weights | None = None,
    settings: ConfigSection | None = None,
    **fields: object,
) -> "pd.DataFrame":
    """Compare tokens, ALP and the cost of a model at each T, by the formulas of
    docs/commands.md.

    Parameters
    ----------
    tables
        Tables with the columns total, language, lines, bytes, tokens and alp, which
        `curve` of `train_joint` measures on held-out text with the vocabulary of each
        T.
    weights
        n by language, which gives the mixture of the training text.
    settings, **fields
        A `SizeSettings`, and its fields in the place of its own. `parameters` and
        `hidden` are the parameters beside the embeddings and the width of these.
        `causal` and `untied` say whether the model predicts every token, and whether
        the output layer has a table of its own. `alpha` is the exponent of Equation 3.

    Returns
    -------
    pandas.DataFrame
        A row for each table and T, with the columns of `forecast`. Operations are in
        10^6 per byte of text, memory in 10^9 bytes, and ALP in nats per line.

    Raises
    ------
    VocapError
        For a table that is missing or damaged, or weights of other languages.
    """
    import pandas as pd

    own = SizeSettings.given(settings, **fields)
    costs = ModelCosts(own.parameters, own.hidden, own.causal, own.untied)
    found = {}
    for table in [tables] if isinstance(tables, str | Path) else tables:
        sizes = read_sizes(table)
        if len(sizes) < 2:
            raise VocapError(
                f"{table}: {len(sizes)} T in it; a choice needs two or more (vocap joint, curve)"
            )
        shares = None
        if weights is not None:
            where = "weights" if isinstance(weights, Mapping) else str(weights)
            shares = shares_of(sizes, load_weights(weights), own.alpha, where)
        found[str(table)] = forecast(sizes, costs, shares)
    return pd.concat(found, names=["table"]).reset_index(level=0).reset_index(drop=True)
