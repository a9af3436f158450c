"""Where the files of an XTREME folder lie, as XTREME's download scripts or xTune's leave them."""

from pathlib import Path

from vocap.finetuning.tasks import Split, Task

# {split}, {language}; the first that is there counts
_PATTERNS: dict[str, dict[str, tuple[str, ...]]] = {
    "xquad": {
        "train": ("squad/train-v1.1.json",),
        "dev": ("squad/dev-v1.1.json",),
        "test": ("xquad/xquad.{language}.json",),
    },
    "mlqa": {
        "train": ("squad/train-v1.1.json",),
        "dev": ("mlqa/MLQA_V1/{split}/{split}-context-{language}-question-{language}.json",),
        "test": ("mlqa/MLQA_V1/{split}/{split}-context-{language}-question-{language}.json",),
    },
    "tydiqa": {  # xTune drops `goldp.`
        "train": (
            "tydiqa/tydiqa-goldp-v1.1-train/tydiqa.goldp.{language}.train.json",
            "tydiqa/tydiqa-goldp-v1.1-train/tydiqa.{language}.train.json",
        ),
        "test": (
            "tydiqa/tydiqa-goldp-v1.1-dev/tydiqa.goldp.{language}.dev.json",
            "tydiqa/tydiqa-goldp-v1.1-dev/tydiqa.{language}.dev.json",
        ),
    },
}
_TABLE = ("{task}/{split}-{language}.tsv",)


def candidates(task: Task, split: Split, language: str) -> list[str]:
    """The paths under the folder at which a file may lie; none where the task has no such file."""
    if language not in task.languages_of(split):
        return []
    patterns = _PATTERNS[task.name][split] if task.kind == "spans" else _TABLE
    paths = [pattern.format(task=task.name, split=split, language=language) for pattern in patterns]
    return [path + packed for path in paths for packed in ("", ".xz")]


def find(folder: Path, task: Task, split: Split, language: str) -> Path | None:
    """The file, plain or with `.xz`, or None."""
    return next((folder / path for path in candidates(task, split, language) if (folder / path).is_file()), None)
