"""Factories of XTREME files: every task, two or three languages, a few rows."""

import json
from pathlib import Path

from vocap.finetuning.tasks import TASKS, DataSet


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def locate(folder, task, split, language):
    return DataSet(task, split, language).file(folder)


def read(folder, task, split, language):
    return DataSet(task, split, language).read(folder)


def squad(*paragraphs: tuple[str, list[tuple[str, str, list[tuple[str, int]]]]]) -> str:
    """SQuAD's JSON of (context, [(id, question, [(answer, start)])])."""
    return json.dumps(
        {
            "version": "1.1",
            "data": [
                {
                    "title": "made",
                    "paragraphs": [
                        {
                            "context": context,
                            "qas": [
                                {
                                    "id": name,
                                    "question": question,
                                    "answers": [
                                        {"text": text, "answer_start": start}
                                        for text, start in answers
                                    ],
                                }
                                for name, question, answers in questions
                            ],
                        }
                    ],
                }
                for context, questions in paragraphs
            ],
        },
        ensure_ascii=False,
    )


def one_question(
    name: str = "q1", context: str = "Kyoto was the capital.", answer: str = "Kyoto"
) -> str:
    return squad((context, [(name, "Which city?", [(answer, context.index(answer))])]))


PAIRS = {
    "xnli": "A cat sleeps.\tAn animal rests.\tentailment\r\nIt rains.\tIt is "
    "dry.\tcontradiction\r\n",
    "pawsx": "He left Rome for Bonn.\tHe left Bonn for Rome.\t0\r\nIt was hot.\tHot it was.\t1\r\n",
}
TAGS = {
    "udpos": "A\tDET\ncat\tNOUN\nsleeps\tVERB\n\nIt\tPRON\nrains\tVERB\n\n",
    "panx": "Anna\tB-PER\nlives\tO\nin\tO\nBonn\tB-LOC\n\nIt\tO\nrains\tO\n\n",
}


def xtreme_folder(folder: Path, languages: tuple[str, ...] = ("en", "de", "zh")) -> Path:
    """Every file of every task in those languages that it has; test files labelled, as
    xTune leaves them.
    """
    for task in TASKS.values():
        for split in ("train", "dev", "test"):
            for language in task.languages_of(split):
                if language not in languages and task.name != "tydiqa":
                    continue
                if task.name in PAIRS:
                    write(folder, f"{task.name}/{split}-{language}.tsv", PAIRS[task.name])
                elif task.name in TAGS:
                    write(folder, f"{task.name}/{split}-{language}.tsv", TAGS[task.name])
                else:
                    write(folder, _json_name(task.name, split, language), one_question())
    return folder


def _json_name(task: str, split: str, language: str) -> str:
    if task == "tydiqa":
        part = "train" if split == "train" else "dev"
        return f"tydiqa/tydiqa-goldp-v1.1-{part}/tydiqa.goldp.{language}.{part}.json"
    if split == "train" or (task, split) == ("xquad", "dev"):
        return f"squad/{split}-v1.1.json"
    if task == "xquad":
        return f"xquad/xquad.{language}.json"
    return f"mlqa/MLQA_V1/{split}/{split}-context-{language}-question-{language}.json"
