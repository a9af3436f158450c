"""The cost of a model by T: the tokens of a byte of text, by the measured table, times
operations.

H: width of the layers, L: layers, I: width of the feed-forward layers, S: tokens of a
block, T: ids. A product of a vector with a matrix of N weights counts 2 N operations, 6
N with its backward pass (Kaplan et al. 2020, 2.1).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from vocap.errors import VocapError, listed
from vocap.pretraining.data import SHARE
from vocap.pretraining.settings import Shape, count_parameters, encoder_operations, layer_parameters
from vocap.tables.curve import Sizes
from vocap.tables.sampling_probabilities import language_shares

TRAINED_BYTES = 16  # of a parameter: weight, gradient and both moments of Adam in float32
SERVED_BYTES = 2  # of a parameter, and of a number of the cache of keys and values: 16 bits
LOGIT_BYTES = 4  # of a float32
NEAR = 0.01  # above the fewest operations: as good
STEP = 50_000  # ids that a point is compared over
# a, b, c: N_v = a (N_nv / b) ^ c parameters of embeddings for N_nv others
TAO = (
    3_145_728,
    33e6,
    0.8353974,
)
TAO_RANGE = 33e6, 3e9  # N_nv of the models that it was fitted on
STAGES = ("training", "inference")


@dataclass(frozen=True)
class ModelCosts:
    """A masked language model in XLM-R's form, or a causal one in GPT-2's; both predict
    from the embedding table.

    `swiglu`: a causal one in Llama's form instead: feed-forward layers of three
    products, no biases, rotary positions. `kv_share`: key and value heads of each head
    (grouped attention). `untied`: the output layer has a table of its own.
    `candidates`: words of a sampled loss that take part in a batch; None: all T (the
    full softmax). `shape` has the embeddings as wide as the layers.
    """

    shape: Shape
    causal: bool = False
    swiglu: bool = False
    kv_share: float = 1.0
    untied: bool = False
    candidates: int | None = None
    micro_batch: int = 32  # blocks that a device works on at a time

    @property
    def predicted(self) -> float:
        """The share of the tokens that are predicted in training."""
        return 1.0 if self.causal else SHARE

    def parameters(self, total: int) -> int:
        """All parameters of the model with `total` ids, a tied table once."""
        shape, hidden = self.shape, self.shape.hidden
        if self.swiglu:
            body = shape.layers * (4 * hidden + 3 * shape.intermediate + 2) * hidden + hidden
        elif self.causal:
            body = layer_parameters(shape) + shape.positions * hidden + 2 * hidden
        else:
            body = count_parameters(shape, 0)
        return body - self._spared * (hidden + (not self.swiglu)) + self.embedding_parameters(total)

    @property
    def _spared(self) -> int:
        """Keys' and values' numbers of a token that grouped attention doesn't compute,
        in all layers.
        """
        return 2 * self.shape.layers * round((1 - self.kv_share) * self.shape.hidden)

    def embedding_parameters(self, total: int) -> int:
        """T H of a table, twice if untied; a masked model has an output bias of T
        besides.
        """
        return total * (self.shape.hidden * (2 if self.untied else 1) + (not self.causal))

    def training_bytes(self, total: int) -> int:
        """Memory of weights, gradients and moments; activations depend on the batch and
        are left out.
        """
        return TRAINED_BYTES * self.parameters(total)

    def logits_bytes(self, total: int) -> int:
        """Memory of a micro-batch's logits, float32, held at once; their gradients take
        as much again.
        """
        predicted = round(self.predicted * self.micro_batch * self.shape.positions)
        return LOGIT_BYTES * predicted * min(total, self.candidates or total)

    def inference_bytes(self, total: int) -> int:
        """Memory of the weights in 16 bits."""
        return SERVED_BYTES * self.parameters(total)

    def cache_bytes(self) -> int:
        """Keys and values of one token in all layers, 16 bits; 0 for a masked model,
        which keeps none.
        """
        return (
            (2 * self.shape.layers * self.shape.hidden - self._spared) * SERVED_BYTES
            if self.causal
            else 0
        )

    def training_operations(self, total: int) -> float:
        """Operations of one token, forward and backward: layers, attention over a whole
        block, and the head.

        6 L (4 H^2 + 2 H I) + 12 L S H + 6 p (K H + H^2 of a masked model): p is the
        share of tokens that are predicted, K the smaller of T and the candidates.
        SwiGLU's third product adds 6 L H I; grouped attention takes 12 L (1 - share)
        H^2 less.
        """
        return self._body() + 3 * self.predicted * self._head(min(total, self.candidates or total))

    def inference_operations(self, total: int) -> float:
        """Operations of one token, forward: a third of the layers', and the head of a
        causal model, with all T.

        A masked model is taken for an encoder, as after fine-tuning: it has no head
        over the vocabulary.
        """
        return self._body() / 3 + (self._head(total) if self.causal else 0)

    def _body(self) -> float:
        shape = self.shape
        gate = shape.layers * shape.intermediate if self.swiglu else 0
        return encoder_operations(shape, shape.positions) + 6 * shape.hidden * (gate - self._spared)

    def _head(self, words: int) -> float:
        """Operations of one predicted token, forward: 2 a weight; a masked model's head
        has a layer of its own.
        """
        hidden = self.shape.hidden
        return 2 * hidden * words + (0 if self.causal else 2 * hidden * hidden)


def reference(costs: ModelCosts) -> str:
    """One line on the T of Tao et al. (2024, their second approach) for the layers of a
    model, and its limits.
    """
    scale, unit, power = TAO
    others = costs.parameters(0)
    total = scale * (others / unit) ** power / costs.shape.hidden
    outside = (
        ""
        if TAO_RANGE[0] <= others <= TAO_RANGE[1]
        else ", outside of the 33 M to 3,000 M it was fitted on"
    )
    return (
        f"reference: T = {total:,.0f} by the law of Tao et al. (2024) for {others / 1e6:,.0f} M "
        "parameters beside "
        f"the embeddings{outside}; of causal models of English, each on the text that is optimal "
        "for its "
        "operations: no advice for several languages, whose models ship many times as many ids"
    )


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
    cache_bytes_per_byte: float
    logits_gb: float
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
            training_gb=costs.training_bytes(total) / 1e9,
            inference_gb=costs.inference_bytes(total) / 1e9,
            training_mflop_per_byte=used * costs.training_operations(total) / 1e6,
            inference_mflop_per_byte=used * costs.inference_operations(total) / 1e6,
            cache_bytes_per_byte=used * costs.cache_bytes(),
            logits_gb=costs.logits_bytes(total) / 1e9,
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


def verdict(rows: Sequence[Forecast], stage: str) -> str:
    """One line on the T of least cost, those near it, and that from which more ids stop
    paying.
    """
    stop, best = limit(rows, stage), cheapest(rows, stage)
    most = (1 + NEAR) * getattr(best, f"{stage}_mflop_per_byte")
    near = [row.total for row in rows if getattr(row, f"{stage}_mflop_per_byte") <= most]
    stop = stop or (best.total if best is not rows[-1] else None)
    end = (
        f"more ids cost more from T = {stop:,} on"
        if stop
        else "as far as the table goes, more ids pay"
    )
    within = f"within {100 * NEAR:.0f} %: {min(near):,} to {max(near):,}"
    return f"{stage}: fewest operations per byte at T = {best.total:,} ({within}); {end}"
