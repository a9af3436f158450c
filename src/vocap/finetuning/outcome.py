"""Results of one model: scores of all runs of a task, the chosen setting, and the average over tasks."""

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
from vocap.files.json_object import read_object
from vocap.files.tsv import write_tsv
from vocap.finetuning.metrics import AVERAGED, paper_average
from vocap.finetuning.reading import parse
from vocap.finetuning.scoring import PREDICTIONS, Run, Score, Scored, read_runs, score_runs
from vocap.finetuning.selection import Development, development
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
