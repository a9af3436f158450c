"""The cost of a model by T: the tokens of a byte of text, by the measured table, times
operations.

N: parameters beside the embeddings, H: width of the embeddings, T: ids. A product of a
vector with a matrix of N weights counts 2 N operations, 6 N with its backward pass (Kaplan
et al. 2020, 2.1).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from vocap.errors import VocapError, listed
from vocap.pretraining.data import SHARE
from vocap.tables.curve import Sizes, read_sizes
from vocap.tables.sampling_probabilities import Weights, language_shares, load_weights

if TYPE_CHECKING:
    import pandas as pd

TRAINED_BYTES = 16  # of a parameter: weight, gradient and both moments of Adam in float32
SERVED_BYTES = 2  # of a parameter: 16 bits
STEP = 50_000  # ids that a point is compared over
STAGES = ("training", "inference")


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


@dataclass(frozen=True)
class Forecast:
    """One T. ALP in nats a line, operations in 10^6 of a byte of text, memory in 10^9 bytes.

    `mix_*`: of lines drawn by the weights q; None without weights. `worst`: the
    language with the most tokens per byte. `compared_with`: the largest T in the table
    that is `STEP` or more below; `*_percent`: changes from it.
    """

    total: int
    alp: float
    mix_alp: float | None
    tokens_per_byte: float
    mix_tokens_per_byte: float | None
    worst: str
    worst_tokens_per_byte: float
    embedding_mparameters: float
    mparameters: float
    embedding_share: float
    training_gb: float
    inference_gb: float
    training_mflop_per_byte: float
    inference_mflop_per_byte: float
    compared_with: int | None = None
    alp_gain: float | None = None
    tokens_percent: float | None = None
    training_percent: float | None = None
    inference_percent: float | None = None

    @property
    def used_tokens_per_byte(self) -> float:
        """Tokens that costs are computed with: of the mix, without weights the mean of
        the languages.
        """
        return (
            self.tokens_per_byte if self.mix_tokens_per_byte is None else self.mix_tokens_per_byte
        )


COLUMNS = tuple(field.name for field in fields(Forecast))


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
            "weights of the "
            "same languages"
        )
    return language_shares({language: weights[language] for language in languages}, alpha)


def forecast(
    sizes: Sizes, costs: ModelCosts, shares: Mapping[str, float] | None = None
) -> list[Forecast]:
    """A row for each T of `sizes` (by T, then language), in their order. `shares`: q by
    language.
    """
    rows: list[Forecast] = []
    for total, found in sizes.items():
        # tokens and ALP: the mean of the languages, and the mix
        measured = list(found.values())
        each = {row.language: row.tokens_per_byte for row in measured}
        worst = max(each, key=each.__getitem__)
        mean = math.fsum(each.values()) / len(each)
        mix_alp = mix = None
        if shares is not None:
            mix_alp = math.fsum(shares[row.language] * row.alp for row in measured)
            tokens = math.fsum(shares[row.language] * row.tokens / row.lines for row in measured)
            mix = tokens / math.fsum(
                shares[row.language] * row.bytes / row.lines for row in measured
            )
        # costs of a byte of text
        used = mean if mix is None else mix
        embeddings, parameters = costs.embedding_parameters(total), costs.parameters(total)
        row = Forecast(
            total=total,
            alp=math.fsum(row.alp for row in measured) / len(measured),
            mix_alp=mix_alp,
            tokens_per_byte=mean,
            mix_tokens_per_byte=mix,
            worst=worst,
            worst_tokens_per_byte=each[worst],
            embedding_mparameters=embeddings / 1e6,
            mparameters=parameters / 1e6,
            embedding_share=embeddings / parameters,
            training_gb=TRAINED_BYTES * parameters / 1e9,
            inference_gb=SERVED_BYTES * parameters / 1e9,
            training_mflop_per_byte=used * costs.training_operations(total) / 1e6,
            inference_mflop_per_byte=used * costs.inference_operations(total) / 1e6,
        )
        # changes over STEP ids
        before = next((other for other in reversed(rows) if other.total <= total - STEP), None)
        if before is not None:
            alp = "alp" if row.mix_alp is None else "mix_alp"
            changed = (
                "used_tokens_per_byte",
                "training_mflop_per_byte",
                "inference_mflop_per_byte",
            )
            tokens_percent, training_percent, inference_percent = (
                100 * (getattr(row, name) / getattr(before, name) - 1) for name in changed
            )
            row = replace(
                row,
                compared_with=before.total,
                alp_gain=getattr(row, alp) - getattr(before, alp),
                tokens_percent=tokens_percent,
                training_percent=training_percent,
                inference_percent=inference_percent,
            )
        rows.append(row)
    return rows


def cheapest(rows: Sequence[Forecast], stage: str = "training") -> Forecast:
    """The row of the fewest operations per byte of text in a stage, training or
    inference; of equals the first.
    """
    return min(rows, key=lambda row: getattr(row, f"{stage}_mflop_per_byte"))


def limit(rows: Sequence[Forecast], stage: str = "training") -> int | None:
    """The smallest T from which `STEP` more ids save no operations per byte; None
    within the table.
    """
    compared = [row for row in rows if row.compared_with is not None]
    return next(
        (row.compared_with for row in compared if getattr(row, f"{stage}_percent") >= 0), None
    )


def compare_sizes(
    tables: str | Path | Sequence[str | Path],
    *,
    parameters: float,
    hidden: int,
    causal: bool = False,
    untied: bool = False,
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
    parameters, hidden
        Parameters beside the embeddings, and the width of the embeddings.
    causal, untied
        Whether the model predicts every token, and whether the output layer has a
        table of its own.
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
    VocapError
        For a table that is missing or damaged, or weights of other languages.
    """
    import pandas as pd

    from vocap.tables.frames import frame_of

    costs = ModelCosts(parameters, hidden, causal, untied)
    frames = {}
    for table in [tables] if isinstance(tables, str | Path) else tables:
        _, rows = forecast_table(table, costs, weights, alpha)
        frames[str(table)] = frame_of(Forecast, rows)
    found = pd.concat(frames, names=["table"]).reset_index(level=0).reset_index(drop=True)
    if bytes is not None:
        found["training_pflop"] = found["training_mflop_per_byte"] * (bytes / 1e9)
    return found


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
