"""What of the configured study can run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vocap.correlation.files import lacking
from vocap.correlation.settings import Correlation
from vocap.finetuning.settings import Finetuning
from vocap.finetuning.supply import Supply
from vocap.finetuning.tasks import SPLITS, TASKS


@dataclass(frozen=True)
class Study:
    """What runs: models of `languages`, and of each the tasks that can be learnt in it.

    `files`: of each language those that are there or fetched, as `supply` says. `left_out`: (what, why) of what
    cannot run.
    """

    languages: list[str] = field(default_factory=list)
    tasks: Mapping[str, list[str]] = field(default_factory=dict)
    files: Mapping[str, list[str]] = field(default_factory=dict)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    supply: Supply | None = None


def plan_study(
    settings: Correlation, finetuning: Finetuning, languages: Iterable[str], assume: bool = False
) -> Study:
    """What can run with the files of the XTREME folder, for those of its languages that the run has text of.

    Models need none of these files: without them they are pre-trained, and wait. With `assume`, a task
    whose folder is to be brought is planned as if its files were there.
    """
    present = set(languages)
    chosen = [language for language in settings.languages if language in present]
    left_out = [
        (f"correlation.languages: {language}", "it has no text")
        for language in settings.languages
        if language not in present
    ]
    xtreme = None if finetuning.xtreme is None else Path(finetuning.xtreme)
    if chosen and (xtreme is None or not (finetuning.download or assume or xtreme.is_dir())):
        reason = "no finetuning.xtreme" if xtreme is None else f"no folder {xtreme}"
        models = len(chosen) * len(settings.sizes)
        left_out.append(
            (
                "POS and NER of the correlation study",
                f"{reason}; its {models} models are pre-trained and wait for it",
            )
        )
        return Study(chosen, left_out=left_out)
    if not chosen:
        return Study(left_out=left_out)
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
