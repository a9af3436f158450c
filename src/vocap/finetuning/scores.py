"""From predictions to scores: of runs, of the setting that they choose, their average."""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas
from pydantic import BeforeValidator

from vocap.errors import SettingError, UsageError, VocapError
from vocap.files.io import replacing_directory, write_json, write_tsv
from vocap.files.written import read_records, read_written
from vocap.finetuning import metrics
from vocap.finetuning.examples import HELD_OUT, Examples, is_labelled
from vocap.finetuning.predictions import Predictions, prediction_path, read_predictions
from vocap.finetuning.settings import Setting
from vocap.finetuning.tasks import ENGLISH, TASKS, DataSet, Task, development, predicted_sets
from vocap.languages import read_languages
from vocap.result import Result

# files of a run, and of a model's folder of one task
DESCRIPTION, PREDICTIONS = "run.json", "predictions"
SCORES, SUMMARY, SELECTION = "scores.tsv", "summary.tsv", "selection.json"
SCORE_COLUMNS = ("language", "split", "seed", "learning_rate", "epochs", "metric", "value")
ALL = "mean"  # the language of a summary's rows of the mean over languages

ALIKE = ("training", "model", "weights", "tokenizer_sha256", "max_length", "settings", "selection")


def score(
    task: Task, language: str, examples: Examples, predictions: Predictions
) -> dict[str, float]:
    """All measures of one language in percent, by their names in scores.tsv.

    Pairs: acc. Tags: precision, recall, f1. Spans: exact_match, f1. Raises ScoringError
    where an example has no label, or predictions do not fit.
    """
    gold = gold_labels(task, examples)
    if isinstance(predictions, dict):
        return metrics.span_score(predictions, gold, task.words(language))
    if task.kind == "tags":
        return metrics.chunk_f1(gold, predictions)
    return {"acc": metrics.accuracy(gold, predictions)}


def gold_labels(task: Task, examples: Examples) -> Any:
    """The label of each pair, the tags of each sentence, or the answers to each
    question by its id.
    """
    blank = sum(not is_labelled(example) for example in examples)
    if blank or not examples:
        raise metrics.ScoringError(
            f"{blank} of {len(examples)} examples have no label: XTREME withholds those of its "
            "test files; score files with all labels (as of xTune's scripts)"
        )
    if task.kind != "spans":
        return [example[-1] for example in examples]
    return {example.id: [answer.text for answer in example.answers] for example in examples}


def read_runs(folders: Sequence[Path]) -> tuple[dict[Setting, Path], dict[str, Any]]:
    """The runs in these folders by setting, in its order, and the run.json of the first.

    Raises VocapError for two runs of one setting, and runs that differ in model, inputs,
    recipe, rule.
    """
    found: dict[Setting, Path] = {}
    first: dict[str, Any] = {}
    for folder in folders:
        described = read_written(folder / DESCRIPTION, "finetune")
        first, setting = first or described, Setting(*(described[key] for key in Setting._fields))
        if differing := [key for key in ALIKE if first[key] != described[key]]:
            said = f"{differing[0]} differ; name runs of one model and one recipe"
            raise VocapError(f"{folders[0]}, {folder}: {said}")
        if setting in found:
            raise VocapError(f"{found[setting]}, {folder}: runs of one setting; name each once")
        found[setting] = folder
    return dict(sorted(found.items())), first


class Score(NamedTuple):
    """A row of scores.tsv, its columns in another order; `value` in percent."""

    learning_rate: float
    epochs: int
    seed: int
    split: str
    language: str
    metric: str
    value: float


class SummaryRow(NamedTuple):
    """A row of summary.tsv, over `seeds`; `mean` in percent."""

    language: str
    metric: str
    mean: float
    std: Annotated[float | None, BeforeValidator(lambda cell: cell or None)]
    seeds: int


def score_runs(
    folder: Path, runs: Mapping[Setting, Path], sets: Iterable[DataSet]
) -> tuple[list[Score], list[str], list[str]]:
    """Score every prediction that the runs hold of these sets, on the files of `folder`.

    Besides scores, returns the test languages without any: no file, or no labels in it.
    Raises VocapError for files that cannot be read, and predictions that do not fit or
    only some runs have.
    """
    scores: list[Score] = []
    absent: list[str] = []
    blank: list[str] = []
    for found in sets:
        folders = {setting: run / PREDICTIONS / found.task.name for setting, run in runs.items()}
        there = [prediction_path(one, found).exists() for one in folders.values()]
        examples = found.read(folder) if any(there) and found.file(folder) else None
        if examples is None or not all(map(is_labelled, examples)):
            if found.split == "test":
                (absent if examples is None else blank).append(found.language)
            continue
        for setting, one in folders.items():
            predictions = read_predictions(one, found, examples)
            for name, value in score(found.task, found.language, examples, predictions).items():
                scores.append(Score(*setting, found.split, found.language, name, value))
    return sorted(scores), absent, blank


def choose_setting(scores: Iterable[Score]) -> dict[str, Any]:
    """Choose learning rate and epochs by the mean of these scores, one of each run and
    selecting language: the entries of selection.json on the choice.

    Of equals the first in order of learning rate and epochs. Raises VocapError where
    settings differ in seeds.
    """
    values = {(row[:2], (row.seed, row.language)): row.value for row in scores}
    settings, units = (sorted(set(keys)) for keys in zip(*values, strict=True))
    for rate, epochs in settings:
        if lacking := [unit for unit in units if ((rate, epochs), unit) not in values]:
            raise VocapError(
                f"no run of learning rate {rate!r}, {epochs} epochs and seed {lacking[0][0]}, "
                "which others of that seed have; run it too: settings are compared over the same "
                "seeds"
            )
    means = {one: float(np.mean([values[one, unit] for unit in units])) for one in settings}
    rate, epochs = max(means, key=means.__getitem__)
    return {
        "learning_rate": rate,
        "epochs": epochs,
        "seeds": sorted({seed for seed, _ in units}),
        "settings": [
            {"learning_rate": rate, "epochs": epochs, "value": mean}
            for (rate, epochs), mean in means.items()
        ],
    }


@dataclass(frozen=True, repr=False)
class Outcome(Result):
    """The results of a model on a task: scores.tsv, the rows of summary.tsv, the
    content of selection.json.
    """

    runs: dict[Setting, Path]
    scores: list[Score]
    summary: list[SummaryRow]
    selection: dict[str, Any]


def score_task(
    xtreme: str | Path, task: str, runs: Sequence[str | Path], output: str | Path | None = None
) -> Outcome:
    """Score one model's runs on one task, and choose among their settings by their rule.

    Parameters
    ----------
    xtreme : XTREME's download folder
    task : one of `TASKS`
    runs : folders of `finetune_model`, of one model and one training; only their
        predictions are read
    output : folder for scores.tsv, summary.tsv, selection.json and the chosen runs'
        predictions, if any

    Raises
    ------
    UsageError : for an unknown task, and runs of another training
    VocapError : for runs that differ in model, inputs or recipe, and without
        development scores
    """
    if task not in TASKS:
        raise SettingError("task", f"{task!r}: no such task; there are {', '.join(TASKS)}")
    outcome = _conclude(Path(xtreme), TASKS[task], [Path(run) for run in runs])
    if output is not None:
        write_outcome(outcome, Path(output))
    return outcome


def _conclude(folder: Path, task: Task, folders: Sequence[Path]) -> Outcome:
    """Score the runs in these folders on the files of the XTREME folder, and choose."""
    runs, run = read_runs(folders)
    if run["training"] != task.training:
        raise UsageError(
            f"{folders[0]}: these are runs of {run['training']}; {task.name} is scored on "
            f"runs of {task.training}"
        )

    # scores of the task, and of the files that choose, which may be another task's
    files = development(task.training, run["selection"])
    own = [one for one in predicted_sets(task.training) if one.task is task]
    own.append(DataSet(task, HELD_OUT, ENGLISH))
    scores, absent, blank = score_runs(folder, runs, own)
    by = scores if files.task == task.name else score_runs(folder, runs, files.sets)[0]
    by = [
        row
        for row in by
        if row.language in files.languages
        and (row.split, row.metric) == (files.split, files.metric)
    ]
    if not by:
        raise VocapError(
            f"{task.name}: no scores of {files.task} {files.split} "
            f"({', '.join(files.languages)}), by which the "
            f"rule {run['selection']!r} chooses; bring these files, labelled, and fine-tune again"
        )

    # the choice, and what it is of
    chose = sorted({row.language for row in by})
    without = [code for code in files.languages if code not in chose]
    fewer = f", {len(without)} of {len(files.languages)} languages absent" if without else ""
    selection = {
        "task": task.name,
        "rule": run["selection"],
        "label": files.label + fewer,
        "development": {
            "task": files.task,
            "split": files.split,
            "metric": files.metric,
            "languages": chose,
            "absent": without,
        },
        **choose_setting(by),
        "languages": [code for code in task.languages if code not in {*absent, *blank}],
        "absent": absent,
        "blank": blank,
        "outside": [code for code in task.languages if code not in read_languages()],
    }
    return Outcome(runs, scores, summarise(scores, selection), selection)


def summarise(scores: Sequence[Score], choice: Mapping[str, Any]) -> list[SummaryRow]:
    """Rows of summary.tsv: the chosen setting on the test files, languages first, then
    the mean over them.

    Mean over seeds, and sample standard deviation (none for a single seed); that of the
    mean over languages is the deviation of the seeds' means.
    """
    table: dict[tuple[str, str], list[float]] = {}  # values in the order of seeds, as `scores` are
    for row in scores:
        if row.split == "test" and row[:2] == (choice["learning_rate"], choice["epochs"]):
            table.setdefault((row.language, row.metric), []).append(row.value)
    for metric in sorted({metric for _, metric in table}):
        languages = [values for (_, name), values in table.items() if name == metric]
        table[ALL, metric] = np.mean(languages, axis=0).tolist()
    return [
        SummaryRow(*key, float(np.mean(values)), deviation(values), len(values))
        for key, values in table.items()
    ]


def deviation(values: Sequence[float]) -> float | None:
    """The sample standard deviation; None for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def write_outcome(outcome: Outcome, out: Path) -> None:
    """Write scores.tsv, summary.tsv, selection.json and the chosen runs' predictions,
    by seed, under `out`.
    """
    said = outcome.selection
    with replacing_directory(out / PREDICTIONS) as folder:
        for seed in said["seeds"]:
            run = outcome.runs[Setting(said["learning_rate"], said["epochs"], seed)]
            shutil.copytree(run / PREDICTIONS / said["task"], folder / str(seed))
    write_tsv(out / SCORES, SCORE_COLUMNS, map(attrgetter(*SCORE_COLUMNS), outcome.scores))
    write_tsv(out / SUMMARY, SummaryRow._fields, outcome.summary)
    write_json(out / SELECTION, said)


def read_selection(folder: Path) -> dict[str, Any]:
    """The selection.json of one model's folder of one task."""
    return read_written(folder / SELECTION, "score")


def chosen_scores(folder: Path, selection: Mapping[str, Any]) -> pandas.DataFrame:
    """The scores of the chosen setting in one model's folder of one task."""
    scores = pandas.DataFrame(
        read_records(folder / SCORES, Score, "score"), columns=list(Score._fields)
    )
    return scores[
        (scores["learning_rate"] == selection["learning_rate"])
        & (scores["epochs"] == selection["epochs"])
    ]


def average(folders: Sequence[Path]) -> dict[str, Any]:
    """The content of average.json for one model's folders, one a task.

    `average` is over `tasks`, and the paper's only where `missing` is empty: the tasks
    without a score; null where no task has one. `std` is the sample standard deviation
    of the seeds' averages, null where tasks differ in seeds or there is only one.
    `languages` counts those of each task that were scored. Raises VocapError for
    two folders of one task.
    """
    # languages of each task, and its measures over seeds and by seed
    languages: dict[str, int] = {}
    means: dict[str, dict[str, float]] = {}
    by_seed: dict[str, dict[float, dict[str, float]]] = {}
    for folder in folders:
        selection = read_selection(folder)
        task = selection["task"]
        if task in languages:
            raise VocapError(f"{folder}: a second folder of {task}; give the folders of one model")
        languages[task] = len(selection["languages"])
        summary = read_records(folder / SUMMARY, SummaryRow, "score")
        reached = {row.metric: row.mean for row in summary if row.language == ALL}
        if task in metrics.AVERAGED and reached:
            means[task] = reached
            test = chosen_scores(folder, selection).query("split == 'test'")
            values = test.groupby(["seed", "metric"])["value"]
            by_seed[task] = values.agg(lambda own: sum(own) / len(own)).unstack().to_dict("index")

    # their average, in the order of the paper
    tasks = [task for task in metrics.AVERAGED if task in means]
    seeds = {tuple(sorted(by_seed[task])) for task in tasks}

    def average_of(seed: float) -> float:
        return metrics.paper_average({task: by_seed[task][seed] for task in tasks})

    of_seeds = list(map(average_of, min(seeds) if len(seeds) == 1 else ()))
    return {
        "average": metrics.paper_average({task: means[task] for task in tasks}) if tasks else None,
        "std": deviation(of_seeds),
        "tasks": {task: means[task] for task in tasks},
        "missing": [task for task in metrics.AVERAGED if task not in means],
        "languages": {task: languages[task] for task in tasks},
    }
