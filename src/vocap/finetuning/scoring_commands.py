"""`vocap score`, `vocap average`, `vocap compare`: from kept predictions to Table 1, on any machine."""

import json
import logging
from pathlib import Path

import click

from vocap import options

PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
XTREME = click.option("--xtreme", required=True, type=FOLDER, help="XTREME's download folder, or xTune's.")
logger = logging.getLogger(__name__)


@click.command()
@XTREME
@click.option("--task", required=True, help="Xnli, pawsx, udpos, panx, xquad, mlqa or tydiqa.")
@click.option("-o", "--output", "out", required=True, type=PATH, help="Folder to write.")
@click.argument("runs", nargs=-1, required=True, type=PATH)
def score(xtreme: Path, task: str, out: Path, runs: tuple[Path, ...]) -> None:
    """Score one model's RUNS on one task, and choose among their settings.

    Writes scores.tsv (every run, split and language), selection.json (what was chosen, by what), summary.tsv (test
    scores of that setting: mean and standard deviation over seeds) and the chosen runs' predictions/. Only kept
    predictions are read, no model. Files whose labels are kept back are never scored: they are named.
    """
    from vocap.finetuning.outcome import ALL, conclude, described, summarise, write_outcome

    outcome = conclude(xtreme, _task(task), runs)
    write_outcome(outcome, out)
    said = described(outcome)
    for key, what in (("absent", "no file or no predictions"), ("blank", "labels kept back, not scored")):
        if said[key]:
            logger.warning("%s: %s: %s", task, what, ", ".join(said[key]))
    logger.info(
        "%s: learning rate %r, %d epochs, %s (%s)",
        task,
        said["learning_rate"],
        said["epochs"],
        said["label"],
        ", ".join(said["development"]["languages"]),
    )
    for language, metric, mean, deviation, seeds in summarise(outcome.scored.scores, outcome.choice):
        if language == ALL:
            spread = "" if deviation is None else f", standard deviation {deviation:.2f}"
            logger.info(
                "%s: %s %.2f over %d languages, %d seeds%s",
                task,
                metric,
                mean,
                len(said["languages"]),
                seeds,
                spread,
            )


@click.command()
@click.option("-o", "--output", required=True, type=FILE, help="JSON to write.")
@click.argument("tasks", nargs=-1, required=True, type=FOLDER)
def average(output: Path, tasks: tuple[Path, ...]) -> None:
    """Average one model's TASKS as the paper's Table 1 does: folders that vocap score wrote, one a task.

    Tasks without scores are named; the average is then of the others, and compares with no printed number.
    """
    from vocap.files import write_text
    from vocap.finetuning.average import average as over_tasks

    content = over_tasks(tasks)
    write_text(output, json.dumps(content, ensure_ascii=False, indent=2) + "\n")
    if content["average"] is None:
        logger.warning("no average: no task has test files with labels")
    else:
        lacking = f", without {', '.join(content['missing'])}" if content["missing"] else ""
        logger.info("average of %d tasks: %.2f%s", len(content["tasks"]), content["average"], lacking)


@click.command()
@XTREME
@click.option("--samples", default=1000, show_default=True, type=click.IntRange(100), help="Of the examples.")
@click.option("--seed", default=1, show_default=True, type=options.SEED, help="Of the samples.")
@click.option("-o", "--output", required=True, type=FILE, help="Table to write.")
@click.argument("first", type=FOLDER)
@click.argument("second", type=FOLDER)
def compare(xtreme: Path, samples: int, seed: int, output: Path, first: Path, second: Path) -> None:
    """Compare two models on one task by a paired bootstrap over its test examples.

    FIRST and SECOND are folders that vocap score wrote. Writes, for each language and for the mean over them, both
    measures (means over seeds), their difference, the interval that holds 95 % of the samples' differences, and p.
    """
    from vocap.finetuning.comparison import COLUMNS, compare_models
    from vocap.tsv import write_tsv

    rows = compare_models(xtreme, first, second, samples, seed)
    write_tsv(output, COLUMNS, rows)
    for row in rows:
        if row.language == "mean":
            logger.info(
                "%s: %.2f and %.2f, difference %+.2f (%.2f to %.2f), p %.3g",
                row.metric,
                row.first,
                row.second,
                row.difference,
                row.low,
                row.high,
                row.p,
            )


def _task(name: str):
    from vocap.errors import UsageError
    from vocap.finetuning.tasks import TASKS

    if name not in TASKS:
        raise UsageError(f"--task {name!r}: no such task; there are {', '.join(TASKS)}")
    return TASKS[name]
