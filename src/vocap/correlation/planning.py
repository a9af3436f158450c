"""Files of the correlation study, and the part of it that can run."""

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vocap.correlation.settings import Correlation
from vocap.errors import VocapError
from vocap.files.atomic import replacing_directory
from vocap.finetuning.grid import Supply
from vocap.finetuning.settings import Finetuning
from vocap.finetuning.tasks import ENGLISH, SPLITS, TASKS

ENDINGS = ("", ".xz")


def own_files(xtreme: Path, task: str, language: str) -> dict[str, Path]:
    """The files of a tagging task in one language, by split; missing ones are left out.

    Unlike the rest of fine-tuning, this uses the training file of every language, not only of English.
    """
    found = {}
    for split in SPLITS:
        paths = [xtreme / task / f"{split}-{language}.tsv{ending}" for ending in ENDINGS]
        if path := next(filter(Path.is_file, paths), None):
            found[split] = path
    return found


def lacking(xtreme: Path, task: str, language: str) -> str | None:
    """The reason why a task cannot be learnt in a language, a missing file; None without one."""
    found = own_files(xtreme, task, language)
    absent = next((split for split in SPLITS if split not in found), None)
    return None if absent is None else f"no {xtreme / task / f'{absent}-{language}.tsv'}, nor one with .xz"


def make_folder(xtreme: Path, language: str, tasks: Iterable[str], out: Path) -> None:
    """Copy the files of these tasks.

    Raises VocapError where one is missing, UsageError for an `out` that holds anything else.
    """
    with replacing_directory(out, owned=[f"{task}/" for task in TASKS]) as folder:
        for task in tasks:
            if reason := lacking(xtreme, task, language):
                raise VocapError(f"{reason}; bring it, or take {language} out of correlation.languages")
            (folder / task).mkdir()
            for split, path in own_files(xtreme, task, language).items():
                name = path.name.replace(f"-{language}.", f"-{ENGLISH}.", 1) if split == "train" else path.name
                shutil.copyfile(path, folder / task / name)


@dataclass(frozen=True)
class Study:
    """The runnable part of the study: models of `languages`, and the tasks of each.

    `files`: of each language those present or to be fetched (`supply`). `left_out`: (part, reason).
    """

    languages: list[str] = field(default_factory=list)
    tasks: Mapping[str, list[str]] = field(default_factory=dict)
    files: Mapping[str, list[str]] = field(default_factory=dict)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    supply: Supply | None = None


def plan_study(
    settings: Correlation, finetuning: Finetuning, languages: Iterable[str], assume: bool = False
) -> Study:
    """The runnable part of the study, by the files of the XTREME folder and the languages with text.

    Models are pre-trained without these files. With `assume`, a task without its folder is planned as if its
    files existed.
    """
    present = set(languages)
    chosen = [language for language in settings.languages if language in present]
    absent = [language for language in settings.languages if language not in present]
    left_out = [(f"correlation.languages: {language}", "it has no text") for language in absent]
    if not chosen:
        return Study(left_out=left_out)
    xtreme = None if finetuning.xtreme is None else Path(finetuning.xtreme)
    if xtreme is None or not (finetuning.download or assume or xtreme.is_dir()):
        reason = "no finetuning.xtreme" if xtreme is None else f"no folder {xtreme}"
        waiting = f"its {len(chosen) * len(settings.sizes)} models are pre-trained and wait for it"
        left_out.append(("POS and NER of the correlation study", f"{reason}; {waiting}"))
        return Study(chosen, left_out=left_out)
    tasks: dict[str, list[str]] = {}
    files: dict[str, list[str]] = {}
    supply = Supply(xtreme, download=finetuning.download)
    for language in chosen:
        for task in settings.tasks:
            granted = assume and not (xtreme / task).is_dir()  # nothing of it is brought yet
            found = [supply.find(TASKS[task], split, language, granted) for split in SPLITS]
            if None in found:
                reason = lacking(xtreme, task, language)
                left_out.append((f"correlation study: {task} in {language}", f"{reason}; its models wait for it"))
            else:
                tasks.setdefault(language, []).append(task)
                files.setdefault(language, []).extend(str(path) for path in found if supply.is_made(path))
    return Study(chosen, tasks, files, left_out, supply)
