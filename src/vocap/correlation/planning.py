"""What of the configured study can run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vocap.correlation.files import lacking, own_files
from vocap.correlation.settings import Correlation


@dataclass(frozen=True)
class Study:
    """The tasks of each language that can be learnt in it, their files, and (what, why) of the rest."""

    tasks: Mapping[str, list[str]] = field(default_factory=dict)
    files: Mapping[str, list[str]] = field(default_factory=dict)
    left_out: list[tuple[str, str]] = field(default_factory=list)


def plan_study(settings: Correlation, xtreme: str | None, languages: Iterable[str]) -> Study:
    """What can run with the files of an XTREME folder, for those of its languages that the run has text of."""
    present = set(languages)
    if not settings.languages:
        return Study()
    if xtreme is None or not Path(xtreme).is_dir():
        reason = "no finetuning.xtreme" if xtreme is None else f"no folder {xtreme}"
        return Study(left_out=[("the correlation study", f"{reason}; its models are fine-tuned on POS and NER")])
    tasks: dict[str, list[str]] = {}
    files: dict[str, list[str]] = {}
    left_out = []
    for language in settings.languages:
        if language not in present:
            left_out.append((f"correlation.languages: {language}", "it has no text"))
            continue
        for task in settings.tasks:
            if reason := lacking(Path(xtreme), task, language):
                left_out.append((f"correlation study: {task} in {language}", reason))
            else:
                tasks.setdefault(language, []).append(task)
                found = own_files(Path(xtreme), task, language)
                files.setdefault(language, []).extend(str(path) for path in found.values())
    return Study(tasks, files, left_out)
