"""Two models on one task, compared by a paired bootstrap over the test examples."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vocap.errors import VocapError
from vocap.finetuning.outcome import ALL, read_selection
from vocap.finetuning.reading import parse
from vocap.finetuning.scoring import PREDICTIONS, parts, ratio, read_predictions
from vocap.finetuning.selection import DataSet
from vocap.finetuning.tasks import TASKS

_DRAWS = 4_000_000  # of examples at a time, which bounds the memory to some 100 MB


class Difference(NamedTuple):
    """The first model's measure over the second's: percent, their difference and its interval, and p.

    `low` and `high` hold the middle 95 % of the samples' differences; `p` is the two-sided share of samples whose
    difference has the opposite sign, at least 2 / (samples + 1).
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

    Parameters
    ----------
    first, second : language to the `parts` of its examples, float64 [seeds, examples, 2], for the same examples in
        the same order
    samples : number of samples; each draws as many examples as there are, with replacement, the same ones for both
        models and all their seeds
    seed : of the samples; equal seeds give equal numbers
    parallel : whether the languages' examples are translations of each other: a sample then takes the same ones

    Returns
    -------
    Language to its `Difference`; a model's measure is the mean over its seeds.
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


COLUMNS = ("language", "metric", *Difference._fields)


def compare_models(folder: Path, first: Path, second: Path, samples: int, seed: int) -> list[tuple]:
    """Rows of `COLUMNS`: two models, in folders of `vocap score`, on the test languages that both have scores of.

    Raises VocapError for folders of different tasks or stand-ins, without a language in common, or whose files
    cannot be read.
    """
    selections = [read_selection(one) for one in (first, second)]
    for key in ("task", "stand_ins"):
        if selections[0][key] != selections[1][key]:
            raise VocapError(f"{first}, {second}: their {key} differ; compare two models on the same files")
    task, stand_ins = TASKS[selections[0]["task"]], parse(selections[0]["stand_ins"])
    languages = [code for code in selections[0]["languages"] if code in selections[1]["languages"]]
    if not languages:
        raise VocapError(f"{first}, {second}: no test language has scores of both; score them on the same files")
    tables: tuple[dict, dict] = {}, {}  # by metric and language, of each model
    for language in languages:
        found = DataSet(task, "test", language)
        if found.file(folder, stand_ins) is None:
            raise VocapError(f"{folder}: no test file of {task.name} in {language}, which both were scored on")
        examples = found.read(folder, stand_ins)
        for model, selection, table in zip((first, second), selections, tables, strict=True):
            for number in selection["seeds"]:
                kept = model / PREDICTIONS / str(number)
                predictions = read_predictions(kept, found, examples)
                for metric, values in parts(task, language, examples, predictions).items():
                    table.setdefault(metric, {}).setdefault(language, []).append(values)
    rows = []
    for metric in task.metrics:
        stacked = ({code: np.stack(runs) for code, runs in table[metric].items()} for table in tables)
        found = paired_bootstrap(*stacked, samples=samples, seed=seed, parallel=task.parallel)
        rows += [(language or ALL, metric, *difference) for language, difference in found.items()]
    return rows
