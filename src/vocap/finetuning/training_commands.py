"""`vocap encode` and `vocap finetune`: the inputs of a training, and one run on them."""

import logging
import os
from pathlib import Path

import click

from vocap import options
from vocap.finetuning.folder_commands import STAND_IN, stand_ins_of

log = logging.getLogger(__name__)
PATH = click.Path(path_type=Path)

XTREME = click.option("--xtreme", required=True, type=PATH, help="The download/ folder of XTREME or xTune.")
TRAINING = click.option("--training", required=True, help="Xnli, pawsx, udpos, panx, squad or tydiqa.")
SETTINGS = click.option(
    "--settings-json",
    metavar="TEXT",
    default="{}",
    help="Keys of finetuning: recipes: TRAINING.",
)


@click.command
@XTREME
@TRAINING
@click.option("--tokenizer", required=True, type=PATH, help="A Hugging Face folder with tokenizer.json.")
@click.option("--max-length", type=click.IntRange(min=16), help="Ids of an input, instead of the settings'.")
@SETTINGS
@STAND_IN
@click.option("-o", "--output", "out", required=True, type=PATH, help="Folder for the inputs, replaced whole.")
def encode(xtreme, training, tokenizer, max_length, settings_json, stand_ins, out) -> None:
    """Turn the XTREME files of one training into inputs for models with one tokenizer.

    Long sentences and contexts become several inputs; nothing is lost. A development or test file that is missing
    is named, and the others go on.
    """
    from vocap.finetuning.inputs import encode_training

    recipe = _recipe(training, settings_json)
    if max_length:
        recipe = recipe.model_copy(update={"max_length": max_length})
    encode_training(xtreme, training, tokenizer, recipe, stand_ins_of(stand_ins), out)


@click.command
@click.option("--model", required=True, type=PATH, help="A Hugging Face folder of any masked language model.")
@click.option("--random-weights", is_flag=True, help="The same shape, untrained.")
@XTREME
@click.option("--inputs", required=True, type=PATH, help="What vocap encode made of the same XTREME folder.")
@TRAINING
@click.option(
    "--learning-rate", required=True, type=options.Real(min=0, min_open=True), help="Highest of the schedule."
)
@click.option("--epochs", required=True, type=click.IntRange(min=1), help="Passes over the training file.")
@click.option("--seed", required=True, type=options.SEED, help="Of the head's weights, the order, dropout.")
@click.option(
    "--selection",
    type=click.Choice(["paper", "english-dev"]),
    default="paper",
    show_default=True,
    help="What chooses the state that is kept.",
)
@SETTINGS
@STAND_IN
@click.option("--threads", type=options.THREADS, default=2, show_default=True, help="On a CPU.")
@click.option("--checkpoint-every", type=click.IntRange(min=1), default=500, show_default=True, help="Steps.")
@click.option("--keep-checkpoints", is_flag=True, help="Keep them when the run has ended well.")
@click.option("-o", "--output", "out", required=True, type=PATH, help="Gets predictions/, run.json.")
def finetune(
    model,
    random_weights,
    xtreme,
    inputs,
    training,
    learning_rate,
    epochs,
    seed,
    selection,
    settings_json,
    stand_ins,
    threads,
    checkpoint_every,
    keep_checkpoints,
    out,
) -> None:
    """Fine-tune one model on one training, and predict every file of its tasks.

    Goes on from the checkpoints of the same command where there are some. SIGTERM, SIGURG and Ctrl-C leave a
    checkpoint and end with status 75.
    """
    recipe = _recipe(training, settings_json)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)  # before torch starts its threads
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as in vocap pretrain
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from vocap.finetuning.grid import Setting
    from vocap.finetuning.run import Folders, Job
    from vocap.finetuning.run import finetune as run

    job = Job(model, training, Setting(learning_rate, epochs, seed), recipe, selection, not random_weights)
    run(job, Folders(xtreme, inputs, out), stand_ins_of(stand_ins), threads, checkpoint_every, keep_checkpoints)


def _recipe(training: str, text: str):
    from vocap.finetuning.settings import read_recipe

    return read_recipe(training, text)
