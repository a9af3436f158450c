"""Paired bootstrap over examples: is one model better than another, or were the test examples kind to it?"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from vocap.finetuning.scoring import ratio

_DRAWS = 4_000_000  # of examples at a time, which bounds the memory to some 100 MB


class Difference(NamedTuple):
    """The first model's measure over the second's: percent, their difference and its interval, and p.

    `low` and `high` hold the middle 95 % of the samples' differences; `p` is the two-sided share of samples whose
    difference lies on the other side of zero, at least 2 / (samples + 1).
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float


def paired_bootstrap(
    first: Mapping[str, np.ndarray],
    second: Mapping[str, np.ndarray],
    samples: int,
    seed: int,
    parallel: bool = False,
) -> dict[str, Difference]:
    """Compare two models on one measure of each language, and on the mean over languages, under the key "".

    `first`, `second`: language to the `parts` of its examples, float64 [seeds, examples, 2], the same examples in
    the same order. A sample draws as many examples as there are, with replacement, the same ones for both models
    and all their seeds; a model's measure is the mean over its seeds. Of `parallel` languages, whose examples are
    translations of each other, a sample takes the same ones. Same seed, same numbers.
    """
    sampled, whole = {}, {}
    for number, language in enumerate(first):
        pair = np.concatenate([first[language], second[language]])  # [seeds of both, examples, 2]
        split = len(first[language])
        whole[language] = _means(ratio(pair.sum(axis=1)), split)
        stream = [seed, pair.shape[1]] if parallel else [seed, number]
        drawn = _samples(pair, samples, np.random.default_rng(stream))
        sampled[language] = _means(drawn, split)  # [samples, 2]
    sampled[""] = np.mean(list(sampled.values()), axis=0)
    whole[""] = np.mean(list(whole.values()), axis=0)
    return {language: _difference(whole[language], sampled[language]) for language in sampled}


def _samples(pair: np.ndarray, samples: int, random: np.random.Generator) -> np.ndarray:
    """Measures of resampled examples: percent, float64 [samples, models]."""
    models, examples, _ = pair.shape
    flat = pair.transpose(1, 0, 2).reshape(examples, models * 2)
    measures = np.empty((samples, models))
    step = max(1, _DRAWS // examples)
    for start in range(0, samples, step):
        rows = min(step, samples - start)
        drawn = random.integers(examples, size=(rows, examples))
        drawn += np.arange(rows)[:, None] * examples
        times = np.bincount(drawn.ravel(), minlength=rows * examples).reshape(rows, examples)
        measures[start : start + rows] = ratio((times @ flat).reshape(rows, models, 2))
    return measures


def _means(measures: np.ndarray, split: int) -> np.ndarray:
    """Means over the seeds of the first model and of the second: [..., seeds of both] to [..., 2]."""
    return np.stack([measures[..., :split].mean(axis=-1), measures[..., split:].mean(axis=-1)], axis=-1)


def _difference(whole: np.ndarray, sampled: np.ndarray) -> Difference:
    differences = sampled[:, 0] - sampled[:, 1]
    low, high = np.quantile(differences, [0.025, 0.975])
    side = min(np.count_nonzero(differences <= 0), np.count_nonzero(differences >= 0))
    p = min(1.0, 2 * (side + 1) / (len(differences) + 1))
    return Difference(
        float(whole[0]), float(whole[1]), float(whole[0] - whole[1]), float(low), float(high), float(p)
    )
