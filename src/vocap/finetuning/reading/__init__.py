"""An XTREME folder's files as examples."""

from pathlib import Path

from vocap.errors import VocapError
from vocap.finetuning.examples import Example
from vocap.finetuning.reading.places import candidates, find
from vocap.finetuning.reading.questions import read_questions
from vocap.finetuning.reading.stand_ins import NONE, StandIn, StandIns, key_of, parse
from vocap.finetuning.reading.tables import read_pairs, read_sentences
from vocap.finetuning.tasks import Split, Task

__all__ = ["NONE", "StandIn", "StandIns", "find", "key_of", "locate", "parse", "read"]


def locate(folder: Path, task: Task, split: Split, language: str, stand_ins: StandIns = NONE) -> Path | None:
    """The file that `read` would read, or None where it is not there."""
    stand_in = stand_ins.get(key_of(task, split))
    if stand_in is None:
        return find(folder, task, split, language)
    return find(folder, stand_in.task, stand_in.split, language)


def read(folder: Path, task: Task, split: Split, language: str, stand_ins: StandIns = NONE) -> list[Example]:
    """The examples of one file, in its order: `Pair`, `Sentence` or `Question`, by the task's kind.

    Only examples of `test` may lack labels, and then all of a file do. Raises VocapError, naming the file, the
    line and the remedy, for a file that is missing or not as it should be.
    """
    stand_in = stand_ins.get(key_of(task, split), StandIn(task, split))
    path = find(folder, stand_in.task, stand_in.split, language)
    if path is None:
        names = [name for name in candidates(stand_in.task, stand_in.split, language) if not name.endswith(".xz")]
        if not names:
            raise VocapError(f"{stand_in.task.name} has no {stand_in.split} file of language {language!r}")
        raise VocapError(f"{folder / names[0]}: no such file, nor one with .xz; download it into this folder")
    blank = split == "test"
    if task.kind == "pairs":
        examples: list = read_pairs(path, task.labels, blank)
    elif task.kind == "tags":
        examples = read_sentences(path, task.labels, blank)
    else:
        examples = read_questions(path, blank, unique=stand_in.split != "train")
    part = stand_in.cut(examples)
    if not part:
        raise VocapError(f"{path}: {stand_in} of {len(examples)} rows is none of them; correct the stand-in")
    return part
