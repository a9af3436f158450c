"""Results: the chosen setting of a model on a task, its average over tasks, two models compared."""

import csv
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas

from vocap.errors import UsageError, VocapError
from vocap.files.atomic import replacing_directory, write_text
from vocap.files.plain_data import read_object
from vocap.files.tsv import write_tsv
from vocap.finetuning.metrics import AVERAGED, paper_average
from vocap.finetuning.reading import DataSet, Development, development, parse
from vocap.finetuning.scoring import (
    PREDICTIONS,
    Run,
    Score,
    Scored,
    parts,
    ratio,
    read_predictions,
    read_runs,
    score_runs,
)
from vocap.finetuning.tasks import TASKS, Task
from vocap.languages import read_languages

SCORES, SUMMARY, SELECTION = "scores.tsv", "summary.tsv", "selection.json"
SCORE_COLUMNS = ("language", "split", "seed", "learning_rate", "epochs", "metric", "value")
SUMMARY_COLUMNS = ("language", "metric", "mean", "std", "seeds")
CHOSEN = {"task", "learning_rate", "epochs", "seeds", "languages", "stand_ins"}  # of selection.json, that are read
AGAIN = "delete the folder's tables and run vocap score again"
ALL = "mean"  # the language of a summary's rows of the mean over languages


class Choice(NamedTuple):
    """The setting with the highest mean over seeds and languages, and the mean of each setting."""

    learning_rate: float
    epochs: int
    seeds: tuple[int, ...]
    values: Mapping[tuple[float, int], float]  # percent, by learning rate and epochs


def choose(scores: Sequence[Score]) -> Choice:
    """Choose learning rate and epochs by the mean of these scores, one of each run and selecting language.

    Of equals the first in order of learning rate and epochs. Raises VocapError where settings differ in seeds.
    """
    table = pandas.DataFrame(scores).pivot(
        index=["learning_rate", "epochs"], columns=["seed", "language"], values="value"
    )
    table = table.sort_index(axis=0).sort_index(axis=1)
    settings = [(float(rate), int(epochs)) for rate, epochs in table.index]
    for (rate, epochs), row in zip(settings, table.isna().to_numpy(), strict=True):
        if row.any():
            seed, _ = table.columns[int(row.argmax())]
            raise VocapError(
                f"no run of learning rate {rate!r}, {epochs} epochs and seed {seed}, which others of that seed "
                "have; run it too: settings are compared over the same seeds"
            )
    means = {setting: float(np.mean(row)) for setting, row in zip(settings, table.to_numpy(), strict=True)}
    best = max(settings, key=means.__getitem__)
    return Choice(*best, tuple(int(seed) for seed in table.columns.unique("seed")), means)


@dataclass(frozen=True)
class Outcome:
    """The results of a model on a task."""

    task: Task
    development: Development
    choice: Choice
    scored: Scored
    chose: tuple[str, ...]  # languages of the development files that were there
    runs: list[Run]


def conclude(folder: Path, task: Task, runs: Sequence[Path]) -> Outcome:
    """Score the runs in these folders on the files of the XTREME folder, and choose among them by their rule.

    Raises VocapError as `read_runs`, `score_runs` and `choose` do, and without development scores;
    UsageError for runs of another training.
    """
    found = read_runs(runs)
    described = found[0].described
    if described["training"] != task.training:
        raise UsageError(
            f"{found[0].folder}: these are runs of {described['training']}; --task {task.name} is scored on runs "
            f"of {task.training}"
        )
    stand_ins = parse(described["stand_ins"])
    files = development(task.training, described["selection"])
    scored = score_runs(folder, task, found, stand_ins)
    choosing = scored.scores
    if files.task != task.name:
        choosing = score_runs(folder, TASKS[files.task], found, stand_ins, (files.split,)).scores
    choosing = [
        row
        for row in choosing
        if (row.split, row.metric) == (files.split, files.metric) and row.language in files.languages
    ]
    if not choosing:
        raise VocapError(
            f"{task.name}: no scores of {files.task} {files.split} ({', '.join(files.languages)}), by which the "
            f"rule {described['selection']!r} chooses; bring these files, labelled, and fine-tune again"
        )
    chose = tuple(sorted({row.language for row in choosing}))
    return Outcome(task, files, choose(choosing), scored, chose, found)


def summarise(scores: Sequence[Score], choice: Choice) -> list[tuple[str, str, float, float | None, int]]:
    """Rows of summary.tsv: the chosen setting on the test files, languages first, then the mean over them.

    Mean over seeds, and sample standard deviation (none for a single seed); that of the mean over languages is the
    deviation of the seeds' means.
    """
    table: dict[tuple[str, str], list[float]] = {}  # values in the order of seeds, as `scores` are
    for row in scores:
        if row.split == "test" and row[:2] == (choice.learning_rate, choice.epochs):
            table.setdefault((row.language, row.metric), []).append(row.value)
    for metric in sorted({metric for _, metric in table}):
        languages = [values for (_, name), values in table.items() if name == metric]
        table[ALL, metric] = np.mean(languages, axis=0).tolist()
    return [(*key, float(np.mean(values)), deviation(values), len(values)) for key, values in table.items()]


def deviation(values: Sequence[float]) -> float | None:
    """The sample standard deviation; None for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def write_outcome(outcome: Outcome, out: Path) -> None:
    """Write scores.tsv, summary.tsv, selection.json and the chosen runs' predictions, by seed, under `out`."""
    choice, scores = outcome.choice, outcome.scored.scores
    with replacing_directory(out / PREDICTIONS) as folder:
        for run in outcome.runs:
            if run.setting[:2] == (choice.learning_rate, choice.epochs):
                shutil.copytree(run.predictions_of(outcome.task), folder / str(run.setting[2]))
    write_tsv(out / SCORES, SCORE_COLUMNS, ([getattr(row, name) for name in SCORE_COLUMNS] for row in scores))
    write_tsv(out / SUMMARY, SUMMARY_COLUMNS, summarise(scores, choice))
    write_text(out / SELECTION, json.dumps(described(outcome), ensure_ascii=False, indent=2) + "\n")


def described(outcome: Outcome) -> dict[str, Any]:
    """The content of selection.json: the chosen setting and the files that it was chosen on."""
    task, files, choice, scored = outcome.task, outcome.development, outcome.choice, outcome.scored
    lacking = {*scored.absent, *scored.blank}
    not_choosing = [code for code in files.languages if code not in outcome.chose]
    fewer = f", {len(not_choosing)} of {len(files.languages)} languages absent" if not_choosing else ""
    return {
        "task": task.name,
        "rule": outcome.runs[0].described["selection"],
        "label": files.label + fewer,
        "development": {
            "task": files.task,
            "split": files.split,
            "metric": files.metric,
            "languages": list(outcome.chose),
            "absent": not_choosing,
        },
        "learning_rate": choice.learning_rate,
        "epochs": choice.epochs,
        "seeds": list(choice.seeds),
        "settings": [
            {"learning_rate": rate, "epochs": epochs, "value": value}
            for (rate, epochs), value in choice.values.items()
        ],
        "stand_ins": outcome.runs[0].described["stand_ins"],
        "languages": [code for code in task.languages if code not in lacking],
        "absent": scored.absent,
        "blank": scored.blank,
        "outside": [code for code in task.languages if code not in read_languages()],
    }


def read_selection(folder: Path) -> dict[str, Any]:
    """The selection.json of one model's folder of one task.

    Raises VocapError for a folder without one, or one that does not say what it must.
    """
    path = folder / SELECTION
    found = read_object(path, AGAIN, "the folder of one model's task is wanted, made by vocap score")
    if not found.keys() >= CHOSEN or found["task"] not in TASKS:
        raise VocapError(f"{path}: no choice that vocap score wrote; {AGAIN}")
    return found


def read_table(path: Path, columns: Sequence[str]) -> pandas.DataFrame:
    """A table of `vocap score`. Raises VocapError for one without these columns, or with text for a number."""
    texts = dict.fromkeys({"language", "split", "metric"}.intersection(columns), str)
    numbers = dict.fromkeys(set(columns) - texts.keys(), float)
    layout = {"sep": "\t", "quoting": csv.QUOTE_NONE, "keep_default_na": False}
    try:
        return pandas.read_csv(path, usecols=columns, dtype=texts, converters=numbers, **layout)
    except FileNotFoundError:
        raise VocapError(f"{path}: no such file; {AGAIN}") from None
    except ValueError as error:
        raise VocapError(f"{path}: {error}; {AGAIN}") from None


def chosen_scores(folder: Path, selection: Mapping[str, Any]) -> pandas.DataFrame:
    """The scores of the chosen setting in one model's folder of one task. Raises VocapError as `read_table`."""
    scores = read_table(folder / SCORES, SCORE_COLUMNS)
    own = [scores[key] == selection[key] for key in ("learning_rate", "epochs")]
    return scores[own[0] & own[1]]


def average(folders: Sequence[Path]) -> dict[str, Any]:
    """The content of average.json for one model's folders, one a task.

    `average` is over `tasks`, and the paper's only where `missing` is empty: the tasks without a score; null
    where no task has one. `std` is the sample standard deviation of the seeds' averages, null where tasks differ
    in seeds or there is only one. `stand_ins` took the place of files of the data sets; `languages` counts those
    of each task that were scored. Raises VocapError as `read_selection` and `read_table` do, and for two folders
    of one task.
    """
    selections: dict[str, dict[str, Any]] = {}
    means: dict[str, dict[str, float]] = {}  # by task and measure
    by_seed: dict[str, dict[float, dict[str, float]]] = {}  # by task, seed and measure, over languages
    for folder in folders:
        selection = read_selection(folder)
        task = selection["task"]
        if task in selections:
            raise VocapError(f"{folder}: a second folder of {task}; give the folders of one model")
        selections[task] = selection
        summary = read_table(folder / SUMMARY, ("language", "metric", "mean"))
        reached = summary[summary["language"] == ALL].set_index("metric")["mean"].to_dict()
        if task in AVERAGED and reached:
            means[task] = reached
            scores = chosen_scores(folder, selection)
            test = scores[scores["split"] == "test"].groupby(["seed", "metric"])["value"]
            by_seed[task] = test.agg(lambda values: sum(values) / len(values)).unstack().to_dict("index")
    tasks = [task for task in AVERAGED if task in means]
    seeds = {tuple(sorted(by_seed[task])) for task in tasks}
    spread = None
    if len(seeds) == 1:
        spread = deviation([paper_average({task: by_seed[task][seed] for task in tasks}) for seed in min(seeds)])
    return {
        "average": paper_average({task: means[task] for task in tasks}) if tasks else None,
        "std": spread,
        "tasks": {task: means[task] for task in tasks},
        "missing": [task for task in AVERAGED if task not in means],
        "languages": {task: len(selections[task]["languages"]) for task in tasks},
        "stand_ins": {key: value for task in tasks for key, value in selections[task]["stand_ins"].items()},
    }


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
