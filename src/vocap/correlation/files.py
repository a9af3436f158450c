"""One language's own training, development and test files, in a folder that fine-tuning reads as any of XTREME.

XTREME's rule is English training data; here a model knows one language and learns the task in it. So the training
file of the language stands where that of English would, and no other language is there.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path

from vocap.errors import VocapError
from vocap.files import replacing_directory
from vocap.finetuning.tasks import ENGLISH, SPLITS, TASKS

ENDINGS = ("", ".xz")


def own_files(xtreme: Path, task: str, language: str) -> dict[str, Path]:
    """The files of a tagging task in one language, by split; those that are not there are left out.

    Every language's training file is looked for, of which the other parts of XTREME read only the English one.
    """
    found = {}
    for split in SPLITS:
        paths = [xtreme / task / f"{split}-{language}.tsv{ending}" for ending in ENDINGS]
        if path := next(filter(Path.is_file, paths), None):
            found[split] = path
    return found


def lacking(xtreme: Path, task: str, language: str) -> str | None:
    """What keeps a task from being learnt in a language: the file that is not there; None where all are."""
    found = own_files(xtreme, task, language)
    absent = next((split for split in SPLITS if split not in found), None)
    return None if absent is None else f"no {xtreme / task / f'{absent}-{language}.tsv'}, nor one with .xz"


def make_folder(xtreme: Path, language: str, tasks: Iterable[str], out: Path) -> None:
    """Copy the files of these tasks.

    Raises VocapError where one is not there, UsageError for an `out` that holds anything else.
    """
    with replacing_directory(out, owned=[f"{task}/" for task in TASKS]) as folder:
        for task in tasks:
            if reason := lacking(xtreme, task, language):
                raise VocapError(f"{reason}; bring it, or take {language} out of correlation.languages")
            (folder / task).mkdir()
            for split, path in own_files(xtreme, task, language).items():
                name = path.name.replace(f"-{language}.", f"-{ENGLISH}.", 1) if split == "train" else path.name
                shutil.copyfile(path, folder / task / name)
