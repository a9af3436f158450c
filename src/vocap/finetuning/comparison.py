"""Two models compared on one task: a paired bootstrap over its test examples."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vocap.errors import VocapError
from vocap.finetuning import metrics
from vocap.finetuning.examples import Examples
from vocap.finetuning.predictions import Predictions, read_predictions
from vocap.finetuning.scores import ALL, PREDICTIONS, gold_labels, read_selection
from vocap.finetuning.tasks import TASKS, DataSet, Task
from vocap.tables.bootstrap import find_interval, resample_ratios


def score_parts(
    task: Task, language: str, examples: Examples, predictions: Predictions
) -> dict[str, np.ndarray]:
    """Contribution of each example to the measures: float64 [examples, 2], numerators
    and denominators.

    The measure of any multiset of examples is 100 times the ratio of the two sums, 0
    where both are 0. Raises ScoringError as `score`.
    """
    gold = gold_labels(task, examples)
    if isinstance(predictions, dict):
        exact_match, f1 = metrics.answer_scores(predictions, gold, task.words(language)).T
        columns = {"exact_match": exact_match, "f1": f1}
    elif task.kind == "tags":
        correct, predicted, expected = metrics.chunk_counts(gold, predictions).T
        return {"f1": np.stack([2.0 * correct, 1.0 * predicted + expected], axis=1)}
    else:
        columns = {"acc": metrics.label_hits(gold, predictions)}
    return {
        name: np.stack([values, np.ones(len(values))], axis=1) for name, values in columns.items()
    }


class Difference(NamedTuple):
    """The first model's measure over the second's: percent, their difference and its
    interval, and p.

    `low` and `high` hold the middle 95 % of the samples' differences; `p` is the
    two-sided share of samples whose difference has the opposite sign, at least 2 /
    (samples + 1).
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float


COLUMNS = ("language", "metric", *Difference._fields)


def paired_bootstrap(
    first: Mapping[str, np.ndarray],
    second: Mapping[str, np.ndarray],
    samples: int,
    seed: int,
    parallel: bool = False,
) -> dict[str, Difference]:
    """Compare two models on one measure of each language, and on the mean over
    languages, under the key "".

    Parameters
    ----------
    first, second : language to the `parts` of its examples, float64 [seeds, examples,
        2], for the same examples in the same order
    samples : number of samples; each draws as many examples as there are, with
        replacement, the same ones for both models and all their seeds
    seed : of the samples; equal seeds give equal numbers
    parallel : whether the languages' examples are translations of each other: a sample
        then takes the same ones

    Returns
    -------
    Language to its `Difference`; a model's measure is the mean over its seeds.
    """
    whole, sampled = {}, {}  # percent of both models: [2], [samples, 2]
    for number, language in enumerate(first):
        split, examples, _ = first[language].shape
        both = np.concatenate([first[language], second[language]])  # [seeds of both, examples, 2]
        random = np.random.default_rng([seed, examples if parallel else number])
        measures = 100 * resample_ratios(both, samples, random)
        means = np.stack(
            [measures[:, :split].mean(axis=1), measures[:, split:].mean(axis=1)], axis=1
        )
        whole[language], sampled[language] = means[0], means[1:]
    whole[""], sampled[""] = (np.mean(list(found.values()), axis=0) for found in (whole, sampled))
    found = {}
    for language, means in sampled.items():
        differences = means[:, 0] - means[:, 1]
        low, high = find_interval(differences)
        side = min(np.count_nonzero(differences <= 0), np.count_nonzero(differences >= 0))
        p = min(1.0, 2 * (side + 1) / (samples + 1))
        one, other = whole[language]
        found[language] = Difference(*map(float, (one, other, one - other, low, high, p)))
    return found


def compare_models(
    folder: Path, first: Path, second: Path, samples: int, seed: int
) -> list[tuple[str | float, ...]]:
    """Rows of `COLUMNS`: two models, in folders of `vocap score`, on the test languages
    that both have scores of.

    Raises VocapError for folders of different tasks, without a language in common, or
    whose files cannot be read.
    """
    models = {path: read_selection(path) for path in (first, second)}
    said = models[first]
    if said["task"] != models[second]["task"]:
        raise VocapError(f"{first}, {second}: their tasks differ; compare two models on one task")
    task = TASKS[said["task"]]
    languages = [code for code in said["languages"] if code in models[second]["languages"]]
    if not languages:
        raise VocapError(
            f"{first}, {second}: no test language has scores of both; score them on the same files"
        )

    # parts of every example, by model, measure and language, an array a seed
    tables: dict[tuple[Path, str, str], list[np.ndarray]] = defaultdict(list)
    for code in languages:
        found = DataSet(task, "test", code)
        examples = found.read(folder)
        for path, selection in models.items():
            for run in selection["seeds"]:
                predictions = read_predictions(path / PREDICTIONS / str(run), found, examples)
                for metric, values in score_parts(task, code, examples, predictions).items():
                    tables[path, metric, code].append(values)

    def stacked(path: Path, metric: str) -> dict[str, np.ndarray]:
        return {code: np.stack(tables[path, metric, code]) for code in languages}

    rows: list[tuple[str | float, ...]] = []
    for metric in task.metrics:
        differences = paired_bootstrap(
            stacked(first, metric), stacked(second, metric), samples, seed, task.parallel
        )
        rows += [
            (language or ALL, metric, *difference) for language, difference in differences.items()
        ]
    return rows
