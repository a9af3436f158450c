"""What of the configured study can run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vocap.correlation.files import lacking, own_files
from vocap.correlation.settings import Correlation


@dataclass(frozen=True)
class Study:
    """What runs: models of `languages`, and of each the tasks that can be learnt in it, with their files.

    `left_out`: (what, why) of the rest.
    """

    languages: list[str] = field(default_factory=list)
    tasks: Mapping[str, list[str]] = field(default_factory=dict)
    files: Mapping[str, list[str]] = field(default_factory=dict)
    left_out: list[tuple[str, str]] = field(default_factory=list)


def plan_study(settings: Correlation, xtreme: str | None, languages: Iterable[str]) -> Study:
    """What can run with the files of an XTREME folder, for those of its languages that the run has text of.

    Models need none of these files: without them they are pre-trained, and wait.
    """
    present = set(languages)
    chosen = [language for language in settings.languages if language in present]
    left_out = [
        (f"correlation.languages: {language}", "it has no text")
        for language in settings.languages
        if language not in present
    ]
    if chosen and (xtreme is None or not Path(xtreme).is_dir()):
        reason = "no finetuning.xtreme" if xtreme is None else f"no folder {xtreme}"
        models = len(chosen) * len(settings.sizes)
        left_out.append(
            (
                "POS and NER of the correlation study",
                f"{reason}; its {models} models are pre-trained and wait for it",
            )
        )
        return Study(chosen, left_out=left_out)
    tasks: dict[str, list[str]] = {}
    files: dict[str, list[str]] = {}
    for language in chosen:
        for task in settings.tasks:
            if reason := lacking(Path(xtreme), task, language):
                left_out.append((f"correlation study: {task} in {language}", f"{reason}; its models wait for it"))
            else:
                tasks.setdefault(language, []).append(task)
                found = own_files(Path(xtreme), task, language)
                files.setdefault(language, []).extend(str(path) for path in found.values())
    return Study(chosen, tasks, files, left_out)
