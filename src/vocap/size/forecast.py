"""The cost of a model by T: the tokens of a byte of text, by the measured table, times operations."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from vocap.errors import VocapError
from vocap.size.costs import ModelCosts
from vocap.tables.sampling_probabilities import sampling_probabilities
from vocap.tables.size_table import Sizes

STEP = 50_000  # ids that a point is compared over
STAGES = ("training", "inference")


@dataclass(frozen=True)
class Forecast:
    """One T. ALP in nats a line, operations in 10^6 of a byte of text, memory in 10^9 bytes.

    `mix_*`: of lines drawn by the weights q; None without weights. `worst`: the language with the most tokens per
    byte. `compared_with`: the largest T in the table that is `STEP` or more below; `*_percent`: changes from it.
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
    compared_with: int | None = None
    alp_gain: float | None = None
    tokens_percent: float | None = None
    training_percent: float | None = None
    inference_percent: float | None = None

    @property
    def used_tokens_per_byte(self) -> float:
        """Those that costs are computed with: of the mix, without weights the mean of the languages."""
        return self.tokens_per_byte if self.mix_tokens_per_byte is None else self.mix_tokens_per_byte


COLUMNS = tuple(field.name for field in fields(Forecast))


def shares_of(sizes: Sizes, weights: Mapping[str, float], alpha: float, where: str) -> dict[str, float]:
    """q of the table's languages (Equation 3); VocapError where `weights`, read from `where`, lack one of them."""
    languages = list(next(iter(sizes.values())))
    missing = [language for language in languages if not weights.get(language)]
    if missing:
        raise VocapError(
            f"{where}: no n above 0 of {', '.join(missing[:5])}{', ...' if missing[5:] else ''}, which the table "
            "of sizes has; give the weights of the same languages"
        )
    q = sampling_probabilities([weights[language] for language in languages], alpha)
    return dict(zip(languages, q.tolist(), strict=True))


def forecast(sizes: Sizes, costs: ModelCosts, shares: Mapping[str, float] | None = None) -> list[Forecast]:
    """A row for each T of `sizes` (by T, then language), in their order. `shares`: q by language."""
    rows: list[Forecast] = []
    for total, found in sizes.items():
        measured = list(found.values())
        each = {row.language: row.tokens_per_byte for row in measured}
        mean = math.fsum(each.values()) / len(each)
        mix_alp = mix = None
        if shares is not None:
            mix_alp = math.fsum(shares[row.language] * row.alp for row in measured)
            tokens, size = (
                math.fsum(shares[row.language] * getattr(row, name) / row.lines for row in measured)
                for name in ("tokens", "bytes")
            )
            mix = tokens / size
        used = mean if mix is None else mix
        worst = max(each, key=each.__getitem__)
        embeddings, parameters = costs.embedding_parameters(total), costs.parameters(total)
        row = Forecast(
            total,
            math.fsum(row.alp for row in measured) / len(measured),
            mix_alp,
            mean,
            mix,
            worst,
            each[worst],
            embeddings / 1e6,
            parameters / 1e6,
            embeddings / parameters,
            costs.training_bytes(total) / 1e9,
            costs.inference_bytes(total) / 1e9,
            used * costs.training_operations(total) / 1e6,
            used * costs.inference_operations(total) / 1e6,
            used * costs.cache_bytes(),
        )
        before = [other for other in rows if other.total <= total - STEP]
        rows.append(_compared(row, before[-1]) if before else row)
    return rows


def _compared(row: Forecast, before: Forecast) -> Forecast:
    def percent(new: float, old: float) -> float:
        return 100 * (new / old - 1)

    changes = {
        "compared_with": before.total,
        "alp_gain": row.alp - before.alp if row.mix_alp is None else row.mix_alp - before.mix_alp,
        "tokens_percent": percent(row.used_tokens_per_byte, before.used_tokens_per_byte),
        "training_percent": percent(row.training_mflop_per_byte, before.training_mflop_per_byte),
        "inference_percent": percent(row.inference_mflop_per_byte, before.inference_mflop_per_byte),
    }
    return Forecast(**{**vars(row), **changes})


def cheapest(rows: Sequence[Forecast], stage: str = "training") -> Forecast:
    """The row of the fewest operations per byte of text, the smallest T of equals: from there ids cost more than
    the tokens that they save. `stage`: training or inference."""
    return min(rows, key=lambda row: getattr(row, f"{stage}_mflop_per_byte"))


def limit(rows: Sequence[Forecast], stage: str = "training") -> int | None:
    """The smallest T from which `STEP` more ids save no operations per byte; None within the table."""
    compared = [row for row in rows if row.compared_with is not None]
    return next((row.compared_with for row in compared if getattr(row, f"{stage}_percent") >= 0), None)


def verdict(rows: Sequence[Forecast], stage: str = "training") -> str:
    """One line on the T of least cost, and on that from which more ids stop paying."""
    text = f"{stage}: fewest operations per byte at T = {cheapest(rows, stage).total:,}"
    stop = limit(rows, stage)
    if stop is None:
        return f"{text}; as far as the table goes, {STEP:,} more ids pay"
    return f"{text}; from T = {stop:,} on, {STEP:,} more ids cost more than the tokens that they save"
