"""Results of one model: scores of all runs of a task, the chosen setting, and the average over tasks."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vocap.errors import UsageError, VocapError
from vocap.files.atomic import replacing_directory, write_text
from vocap.files.json_object import read_object
from vocap.files.tsv import read_tsv, write_tsv
from vocap.finetuning.metrics import paper_average
from vocap.finetuning.reading import parse
from vocap.finetuning.scoring import PREDICTIONS, Run, Score, Scored, read_runs, score_runs
from vocap.finetuning.selection import Choice, Development, choose, development
from vocap.finetuning.tasks import TASKS, Task
from vocap.languages import read_languages

SCORES, SUMMARY, SELECTION = "scores.tsv", "summary.tsv", "selection.json"
SCORE_COLUMNS = ("language", "split", "seed", "learning_rate", "epochs", "metric", "value")
SUMMARY_COLUMNS = ("language", "metric", "mean", "std", "seeds")
AGAIN = "delete the folder's tables and run vocap score again"
ALL = "mean"  # the language of a summary's rows of the mean over languages


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
    if not found:
        raise VocapError(f"{task.name}: no run to score; fine-tune first")
    for run in found:
        if run.described.training not in (None, task.training):
            raise UsageError(
                f"{run.folder}: these are runs of {run.described.training}; --task {task.name} is scored on runs "
                f"of {task.training}"
            )
    stand_ins = parse(found[0].described.stand_ins)
    files = development(task.training, found[0].described.selection)
    scored = score_runs(folder, task, found, stand_ins)
    if files.task == task.name:
        choosing = scored.scores
    else:
        choosing = score_runs(folder, TASKS[files.task], found, stand_ins, (files.split,)).scores
    values: dict[tuple[float, int, int], dict[str, float]] = {run.setting: {} for run in found}
    for row in choosing:
        if (row.split, row.metric) == (files.split, files.metric) and row.language in files.languages:
            values[row[:3]][row.language] = row.value
    if not any(values.values()):
        raise VocapError(
            f"{task.name}: no scores of {files.task} {files.split} ({', '.join(files.languages)}), by which the "
            f"rule {found[0].described.selection!r} chooses; bring these files, labelled, and fine-tune again"
        )
    choice = choose(values)
    return Outcome(task, files, choice, scored, tuple(sorted(values[found[0].setting])), found)


def summarise(scores: Sequence[Score], choice: Choice) -> list[tuple[str, str, float, float | None, int]]:
    """Rows of summary.tsv: the chosen setting on the test files, languages first, then the mean over them.

    Mean over seeds, and sample standard deviation (none for a single seed); that of the mean over languages is the
    deviation of the seeds' means.
    """
    test: dict[tuple[str, str], dict[int, float]] = {}
    for row in scores:
        if row.split == "test" and row[:2] == (choice.learning_rate, choice.epochs):
            test.setdefault((row.language, row.metric), {})[row.seed] = row.value
    metrics = sorted({metric for _, metric in test})
    table = {
        (language, metric): [by_seed[seed] for seed in choice.seeds]
        for (language, metric), by_seed in test.items()
    }
    for metric in metrics:
        languages = [values for (_, name), values in table.items() if name == metric]
        table[ALL, metric] = np.mean(languages, axis=0).tolist()
    return [(language, metric, *spread(values)) for (language, metric), values in table.items()]


def spread(values: Sequence[float]) -> tuple[float, float | None, int]:
    """Mean, sample standard deviation (None for a single value) and number."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return float(np.mean(values)), deviation, len(values)


def write_outcome(outcome: Outcome, out: Path) -> None:
    """Write scores.tsv, summary.tsv, selection.json and the chosen runs' predictions, by seed, under `out`."""
    choice, scored = outcome.choice, outcome.scored
    with replacing_directory(out / PREDICTIONS) as folder:
        for run in outcome.runs:
            if run.setting[:2] == (choice.learning_rate, choice.epochs):
                shutil.copytree(run.predictions_of(outcome.task), folder / str(run.described.seed))
    rows = ([getattr(row, column) for column in SCORE_COLUMNS] for row in scored.scores)
    write_tsv(out / SCORES, SCORE_COLUMNS, rows)
    write_tsv(out / SUMMARY, SUMMARY_COLUMNS, summarise(scored.scores, choice))
    write_text(out / SELECTION, json.dumps(described(outcome), ensure_ascii=False, indent=2) + "\n")


def described(outcome: Outcome) -> dict[str, Any]:
    """The content of selection.json: the chosen setting and the files that it was chosen on."""
    task, files, choice, scored = outcome.task, outcome.development, outcome.choice, outcome.scored
    lacking = {*scored.absent, *scored.blank}
    not_choosing = [code for code in files.languages if code not in outcome.chose]
    fewer = f", {len(not_choosing)} of {len(files.languages)} languages absent" if not_choosing else ""
    return {
        "task": task.name,
        "rule": outcome.runs[0].described.selection,
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
        "stand_ins": outcome.runs[0].described.stand_ins,
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
    try:
        usable = found["task"] in TASKS and all(isinstance(found[key], list) for key in ("seeds", "languages"))
        usable = usable and isinstance(found["stand_ins"], dict)
        usable = usable and all(type(found[key]) in (int, float) for key in ("learning_rate", "epochs"))
    except (KeyError, TypeError):
        usable = False
    if not usable:
        raise VocapError(f"{path}: no choice that vocap score wrote; {AGAIN}")
    return found


def number_of(row: dict[str, str], column: str, path: Path) -> float:
    """The number in a cell of a table. Raises VocapError for other text."""
    try:
        return float(row[column])
    except ValueError:
        raise VocapError(f"{path}: {column} is {row[column]!r}, not a number; {AGAIN}") from None


@dataclass(frozen=True)
class Reached:
    """Scores of a model on a task: measure to mean over languages and seeds, and to each seed's mean."""

    task: str
    means: dict[str, float]
    by_seed: dict[int, dict[str, float]]
    selection: dict[str, Any]


def read_reached(folder: Path) -> Reached | None:
    """The scores that `vocap score` wrote to a folder; None where no test file of the task has labels.

    Raises VocapError for tables that it did not write.
    """
    selection = read_selection(folder)
    means = {
        row["metric"]: number_of(row, "mean", folder / SUMMARY)
        for row in read_tsv(folder / SUMMARY, ("language", "metric", "mean"))
        if row["language"] == ALL
    }
    if not means:
        return None
    values: dict[int, dict[str, list[float]]] = {}
    for score in chosen_scores(folder, selection):
        if score.split == "test":
            values.setdefault(score.seed, {}).setdefault(score.metric, []).append(score.value)
    by_seed = {
        seed: {metric: sum(one) / len(one) for metric, one in of_seed.items()} for seed, of_seed in values.items()
    }
    return Reached(selection["task"], means, by_seed, selection)


def chosen_scores(folder: Path, selection: Mapping[str, Any]) -> Iterator[Score]:
    """The scores of the chosen setting in one model's folder of one task. Raises VocapError for other numbers."""
    path = folder / SCORES
    for row in read_tsv(path, SCORE_COLUMNS):
        rate, epochs, seed, value = (
            number_of(row, column, path) for column in ("learning_rate", "epochs", "seed", "value")
        )
        if (rate, epochs) == (selection["learning_rate"], selection["epochs"]):
            yield Score(rate, int(epochs), int(seed), row["split"], row["language"], row["metric"], value)


def average(folders: Sequence[Path]) -> dict[str, Any]:
    """The content of average.json for one model's folders, one a task.

    `average` is over `tasks`, and the paper's only where `missing` is empty: the tasks without a score; null
    where no task has one. `std` is the sample standard deviation of the seeds' averages, null where tasks differ
    in seeds or there is only one. `stand_ins` took the place of files of the data sets; `languages` counts those
    of each task that were scored. Raises VocapError as `read_reached` does, and for two folders of one task.
    """
    found: dict[str, Reached] = {}
    for folder in folders:
        reached = read_reached(folder)
        if reached is None:
            continue
        if reached.task in found:
            raise VocapError(f"{folder}: a second folder of {reached.task}; give the folders of one model")
        found[reached.task] = reached
    averaged = [name for name, task in TASKS.items() if task.averaged]
    reached = [found[task] for task in averaged if task in found]
    seeds = {tuple(sorted(one.by_seed)) for one in reached}
    deviation = None
    if len(seeds) == 1:
        by_seed = [paper_average({one.task: one.by_seed[seed] for one in reached}) for seed in min(seeds)]
        deviation = spread(by_seed)[1]
    stand_ins = {key: value for one in reached for key, value in one.selection["stand_ins"].items()}
    return {
        "average": paper_average({one.task: one.means for one in reached}) if reached else None,
        "std": deviation,
        "tasks": {one.task: one.means for one in reached},
        "missing": [task for task in averaged if task not in found],
        "languages": {one.task: len(one.selection["languages"]) for one in reached},
        "stand_ins": stand_ins,
    }
