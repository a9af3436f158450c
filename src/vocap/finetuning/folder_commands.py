"""`vocap xtreme` and `vocap ceiling`: a user's XTREME folder, and what a tokenizer can reach on it."""

import logging
from pathlib import Path

import click

from vocap.errors import UsageError, VocapError
from vocap.finetuning.tasks import TASKS

PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path)
SHOWN = 20  # broken files that are named
logger = logging.getLogger(__name__)


def stand_ins_of(entries: tuple[str, ...]):
    """`--stand-in squad/train=tydiqa/train`, repeated, as stand-ins by what they are for."""
    from vocap.finetuning.reading import parse

    pairs = [entry.partition("=") for entry in entries]
    if wrong := [entry for entry, pair in zip(entries, pairs, strict=True) if not pair[1]]:
        raise UsageError(f"--stand-in {wrong[0]}: write WHAT=FILE, such as squad/train=tydiqa/train")
    return parse({key: value for key, _, value in pairs})


def tasks_of(names: str) -> list[str]:
    """Names parted by commas, all of them tasks, in Table 1's order."""
    wanted = [name for name in names.split(",") if name]
    if unknown := [name for name in wanted if name not in TASKS]:
        raise UsageError(f"--tasks {unknown[0]}: no such task; there are {', '.join(TASKS)}")
    if not wanted:
        raise UsageError(f"--tasks {names!r}: no task; there are {', '.join(TASKS)}")
    return [name for name in TASKS if name in wanted]


TASK_NAMES = click.option("--tasks", default=",".join(TASKS), show_default=True, help="Those to look at.")
STAND_IN = click.option(
    "--stand-in", "stand_ins", multiple=True, help="WHAT=FILE, such as xnli/train=xnli/dev:1/2."
)


@click.command
@click.argument("collection")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--archive",
    "archives",
    multiple=True,
    required=True,
    type=FILE,
    help="What is published; repeated, in order.",
)
@click.option("-o", "--output", required=True, type=FOLDER, help="XTREME's folder; other files in it stay.")
def unpack(collection: str, paths: tuple[str, ...], archives: tuple[Path, ...], output: Path) -> None:
    """Take XTREME's files of COLLECTION, a folder such as xnli, from what their authors publish.

    PATHs are those to write, under the folder: xnli/dev-de.tsv. Labels of test files are kept.
    """
    from vocap.finetuning.published import unpack as write

    write(collection, archives, output, paths)
    logger.info("%s: %d files of %s", output, len(paths), collection)


@click.command
@click.argument("folder", type=FOLDER)
@TASK_NAMES
@STAND_IN
@click.option(
    "-o", "--output", required=True, type=FILE, help="Table of the files: rows, labels, what is missing."
)
def xtreme(folder: Path, tasks: str, stand_ins: tuple[str, ...], output: Path) -> None:
    """Check FOLDER, XTREME's download folder (or xTune's), before anything trains.

    Every file is read. Missing ones are named, and the others go on; a damaged one (columns, labels, offsets,
    unequal rows of translations) ends with exit status 1 and no table.
    """
    from vocap.finetuning.folder import COLUMNS, check, described
    from vocap.tsv import write_tsv

    files = check(
        folder, tasks_of(tasks), stand_ins_of(stand_ins), lambda task: logger.info("reading %s", task.name)
    )
    broken = [file.note for file in files if file.status == "broken"]
    if broken:
        more = [f"and {len(broken) - SHOWN} more"] if len(broken) > SHOWN else []
        lines = "".join(f"\n  {line}" for line in [*dict.fromkeys(broken[:SHOWN]), *more])
        raise VocapError(f"{folder}: files that cannot be used:{lines}")
    write_tsv(output, COLUMNS, [file.row() for file in files])
    for line in described(files):
        logger.info("%s", line)


@click.command
@click.argument("folder", type=FOLDER)
@click.argument("tokenizer", type=PATH)
@TASK_NAMES
@STAND_IN
@click.option("-o", "--output", required=True, type=FILE, help="Table: a row a task, split and language.")
def ceiling(folder: Path, tokenizer: Path, tasks: str, stand_ins: tuple[str, ...], output: Path) -> None:
    """Say what span extraction can reach at most with TOKENIZER: EM and F1 of the gold answers.

    Answers go to tokens and back to the context's text; pieces_ is by the bounds of pieces alone, the others are
    those of a model that is always right (windows, at most 30 subwords). TOKENIZER is a folder that AutoTokenizer
    loads. FOLDER is XTREME's; files that are missing or keep their answers back are left out.
    """
    from vocap.finetuning.ceiling import COLUMNS, ceilings
    from vocap.finetuning.encoding.inputs import load_tokenizer
    from vocap.tsv import write_tsv

    rows = list(ceilings(folder, load_tokenizer(tokenizer), tasks_of(tasks), stand_ins_of(stand_ins)))
    if not rows:
        logger.warning("%s: no dev or test file of %s has answers: the table has no row", folder, tasks)
    write_tsv(output, COLUMNS, rows)
