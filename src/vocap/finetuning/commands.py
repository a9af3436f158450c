"""Commands of fine-tuning: files of XTREME, inputs, runs, scores.

Modules that import torch, transformers or pandas are imported in the commands that need
them: seconds.
"""

import os
from pathlib import Path
from typing import Any

import click

from vocap import options
from vocap.errors import log
from vocap.files.io import write_json, write_tsv
from vocap.finetuning.published import unpack as extract
from vocap.finetuning.settings import TuningJob, TuningRecipe, parse_tuning_recipe
from vocap.finetuning.tasks import TASKS, TRAININGS
from vocap.options import FILE, FOLDER, PATH
from vocap.training import prepare_torch

XTREME = options.path("--xtreme", FOLDER, "Folder download/ of XTREME or xTune.", required=True)
TRAINING = click.option("--training", required=True, help=f"One of {', '.join(TRAININGS)}.")
SETTINGS = click.option(
    "--settings-json",
    metavar="TEXT",
    default="{}",
    help="Settings as JSON text, with the keys of `finetuning: recipes: TRAINING` of a "
    "configuration.",
)


def _recipe(training: str, settings_json: str) -> TuningRecipe:
    values = options.read_settings(None, settings_json)
    return parse_tuning_recipe(training, values, "--settings-json")


@click.command
@click.argument("collection")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--archive",
    "archives",
    multiple=True,
    required=True,
    type=FILE,
    help="Published archive. Repeat it for several, in their order.",
)
@options.output(PATH, "XTREME's folder, in which other files stay.")
def unpack(
    collection: str, paths: tuple[str, ...], archives: tuple[Path, ...], output: Path
) -> None:
    """Extract the files of one collection of XTREME from its authors' archives.

    COLLECTION is the name of a folder of XTREME, such as xnli. PATHs are the files to
    write in XTREME's folder, such as xnli/dev-de.tsv. The labels of test files are
    kept.
    """
    extract(collection, archives, output, paths)
    log.info("%s: %d files of %s", output, len(paths), collection)


@click.command
@XTREME
@TRAINING
@options.path(
    "--tokenizer", PATH, "Folder in the form of Hugging Face, with tokenizer.json.", required=True
)
@click.option(
    "--max-length",
    type=click.IntRange(min=16),
    help="Largest number of ids of an input, in place of that of the settings.",
)
@SETTINGS
@options.output(PATH, "Folder to write the inputs to. What it has is replaced.")
def encode(
    xtreme: Path,
    training: str,
    tokenizer: Path,
    max_length: int | None,
    settings_json: str,
    output: Path,
) -> None:
    """Encode the XTREME files of one training as inputs of models with one tokenizer.

    Long sentences and contexts become several inputs, without loss. A missing
    development or test file is reported and left out. With a damaged one (columns,
    labels, offsets, unequal rows of translations) the command writes no inputs and ends
    with exit status 1.
    """
    from vocap.finetuning.encoding import encode_training

    recipe = _recipe(training, settings_json)
    if max_length:
        recipe = recipe.model_copy(update={"max_length": max_length})
    encode_training(xtreme, training, tokenizer, recipe, output)


@click.command
@options.path(
    "--model",
    PATH,
    "Folder of any masked language model in the form of Hugging Face.",
    required=True,
)
@XTREME
@options.path(
    "--inputs", PATH, "Folder that vocap encode wrote for the same XTREME folder.", required=True
)
@TRAINING
@options.of(TuningJob)
@SETTINGS
@options.output(PATH, "Folder to write predictions/ and run.json to.")
def finetune(training: str, settings_json: str, threads: int = 2, **named: Any) -> None:
    """Fine-tune one model on one training, and predict every file of its tasks.

    The command goes on from a checkpoint of the same command where there is one.
    SIGTERM, SIGURG and Ctrl-C leave a checkpoint and end it with status 75.
    """
    recipe = _recipe(training, settings_json)
    prepare_torch(threads)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from vocap.finetuning.run import finetune_model

    finetune_model(training=training, settings=recipe, threads=threads, **named)


@click.command()
@XTREME
@click.option("--task", required=True, help=f"One of {', '.join(TASKS)}.")
@options.output(PATH, "Folder to write.")
@click.argument("runs", nargs=-1, required=True, type=PATH)
def score(xtreme: Path, task: str, output: Path, runs: tuple[Path, ...]) -> None:
    """Score one model's RUNS on one task, and choose among their settings.

    The command writes scores.tsv (every run, split and language), selection.json (the
    chosen setting and its development files), summary.tsv (mean and standard deviation
    over seeds of the test scores of that setting) and predictions/ of the chosen runs.
    It reads predictions alone, and no model. Files whose labels are withheld are
    reported and not scored.
    """
    from vocap.finetuning.scores import ALL, score_task

    outcome = score_task(xtreme, task, runs, output)
    said = outcome.selection
    for key, reason in (
        ("absent", "no file or no predictions"),
        ("blank", "labels withheld, not scored"),
    ):
        if said[key]:
            log.warning("%s: %s: %s", task, reason, ", ".join(said[key]))
    choice = (said["learning_rate"], said["epochs"], said["label"])
    log.info("%s: learning rate %r, %d epochs, %s", task, *choice)
    for row in outcome.summary:
        if row.language == ALL:
            counts = (len(said["languages"]), row.seeds)
            log.info("%s: %s %.2f over %d languages, %d seeds", task, row.metric, row.mean, *counts)


@click.command()
@options.output(FILE, "JSON to write.")
@click.argument("tasks", nargs=-1, required=True, type=FOLDER)
def average(output: Path, tasks: tuple[Path, ...]) -> None:
    """Average the scores of one model over tasks, as the paper's Table 1 does.

    TASKS are the folders that vocap score wrote, one for each task. Tasks without
    scores are named. The average is then that of the other tasks, which no number in
    the paper compares with.
    """
    from vocap.finetuning.scores import average as over_tasks

    content = over_tasks(tasks)
    write_json(output, content)
    if content["average"] is None:
        log.warning("no average: no task has test files with labels")
    else:
        lacking = f", without {', '.join(content['missing'])}" if content["missing"] else ""
        log.info("average of %d tasks: %.2f%s", len(content["tasks"]), content["average"], lacking)


@click.command("compare")
@XTREME
@click.option(
    "--samples", default=1000, type=click.IntRange(100), help="Number of samples of the examples."
)
@click.option("--seed", default=1, type=options.SEED, help="Seed of the samples.")
@options.output(FILE, "Table to write.")
@click.argument("first", type=FOLDER)
@click.argument("second", type=FOLDER)
def compare_scores(
    xtreme: Path, samples: int, seed: int, output: Path, first: Path, second: Path
) -> None:
    """Compare two models on one task by a paired bootstrap over its test examples.

    FIRST and SECOND are folders that vocap score wrote. The table has a row for each
    language and one for their mean. It has both scores (means over seeds), their
    difference, the interval that holds 95 % of the samples' differences, and p.
    """
    from vocap.finetuning.comparison import COLUMNS, compare_models
    from vocap.finetuning.scores import ALL

    rows = compare_models(xtreme, first, second, samples, seed)
    write_tsv(output, COLUMNS, rows)
    for language, *measured in rows:
        if language == ALL:
            log.info("%s: %.2f and %.2f, difference %+.2f (%.2f to %.2f), p %.3g", *measured)
