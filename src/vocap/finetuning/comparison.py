"""Two models on one task: the kept predictions of their chosen runs, compared example by example."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from vocap.errors import VocapError
from vocap.finetuning.bootstrap import paired_bootstrap
from vocap.finetuning.finished import PREDICTIONS, read_examples
from vocap.finetuning.metrics import MEASURES
from vocap.finetuning.outcome import ALL, read_selection
from vocap.finetuning.predictions import read_predictions
from vocap.finetuning.reading import parse
from vocap.finetuning.scoring import parts
from vocap.finetuning.tasks import TASKS


class Compared(NamedTuple):
    """A row: percent, and p as `vocap.finetuning.bootstrap.Difference` has it."""

    language: str
    metric: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float


COLUMNS = Compared._fields


def compare_models(folder: Path, first: Path, second: Path, samples: int, seed: int) -> list[Compared]:
    """Compare the models in two folders that `vocap score` wrote, on the test languages that both have scores of.

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
        examples = read_examples(folder, task, "test", language, stand_ins)
        if examples is None:
            raise VocapError(f"{folder}: no test file of {task.name} in {language}, which both were scored on")
        for model, selection, table in zip((first, second), selections, tables, strict=True):
            for number in selection["seeds"]:
                kept = model / PREDICTIONS / str(number)
                predictions = read_predictions(kept, task, "test", language, examples)
                for metric, values in parts(task, language, examples, predictions).items():
                    table.setdefault(metric, {}).setdefault(language, []).append(values)
    rows = []
    for metric in MEASURES[task.name]:
        stacked = ({code: np.stack(runs) for code, runs in table[metric].items()} for table in tables)
        found = paired_bootstrap(*stacked, samples=samples, seed=seed, parallel=task.parallel)
        rows += [Compared(language or ALL, metric, *difference) for language, difference in found.items()]
    return rows
