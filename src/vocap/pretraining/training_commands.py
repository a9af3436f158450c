"""`vocap pretrain`: one model, from its tokenizer and its blocks to a Hugging Face folder."""

import logging
import os
from pathlib import Path

import click

from vocap import options
from vocap.errors import UsageError

log = logging.getLogger(__name__)
PATH = click.Path(path_type=Path)


@click.command
@click.option(
    "--tokenizer", required=True, type=PATH, help="Its folder, with sentencepiece.model and huggingface/."
)
@click.option("--tokens", required=True, type=PATH, help="Holds {language}/ of vocap tokenize.")
@click.option("--languages", metavar="CODES", help="Comma-separated; all that --tokens has unless given.")
@click.option("--weights", type=PATH, help="Table with language and n, where the settings weigh by corpora.")
@click.option("--settings", "file", type=PATH, help="YAML or JSON: the keys of pretraining: models: NAME.")
@click.option("--settings-json", metavar="TEXT", help="The same as JSON text.")
@click.option("--seed", type=options.SEED, default=1, show_default=True, help="Where the settings have none.")
@click.option("--threads", type=options.THREADS, default=2, show_default=True, help="On a CPU.")
@click.option("--checkpoint-every", type=click.IntRange(min=1), help="Instead of the settings' number of steps.")
@click.option("--tensorboard", type=PATH, help="Folder for TensorBoard's events too.")
@click.option("--no-memory-check", is_flag=True, help="Start even if the memory seems too small.")
@click.option("--keep-checkpoints", is_flag=True, help="Keep them when the run has ended well.")
@click.option("-o", "--output", "out", required=True, type=PATH, help="Gets model/, metrics.jsonl, checkpoints/.")
def pretrain(
    tokenizer,
    tokens,
    languages,
    weights,
    file,
    settings_json,
    seed,
    threads,
    checkpoint_every,
    tensorboard,
    no_memory_check,
    keep_checkpoints,
    out,
) -> None:
    """Pre-train one masked language model.

    Goes on from the checkpoints of the same command where there are some. SIGTERM, SIGURG and Ctrl-C leave a
    checkpoint and end with status 75. Start it with torchrun for several processes.
    """
    from vocap.pretraining.settings_file import read_recipe

    recipe = read_recipe(file, settings_json)
    if checkpoint_every:
        recipe = recipe.model_copy(update={"checkpoint_every": checkpoint_every})
    codes = languages.split(",") if languages else _languages(tokens)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)  # before torch starts its threads
    # threads that spin while they wait take the cores of other jobs: on a machine ten times overbooked a step took
    # 14 s, with this 3 s
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # the first touch of fresh memory is a tenth of a k-NN head's time on a CPU; of huge pages there are fewer
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    from vocap.pretraining.run import Folders, train

    folders = Folders(tokenizer, tokens, weights, out, tensorboard)
    seed = seed if recipe.seed is None else recipe.seed
    train(recipe, seed, folders, codes, threads, keep_checkpoints, check_fit=not no_memory_check)


def _languages(tokens: Path) -> list[str]:
    found = sorted(path.parent.name for path in tokens.glob("*/description.json"))
    if not found:
        raise UsageError(f"{tokens}: no language's blocks there; make them with: vocap tokenize")
    return found
