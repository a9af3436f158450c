"""Which files choose the checkpoint of a run and the setting of a task, and the choice among settings."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from vocap.errors import UsageError, VocapError
from vocap.finetuning.examples import Question
from vocap.finetuning.tasks import ENGLISH, TASKS, TRAININGS

Rule = Literal["paper", "english-dev"]
RULES: tuple[Rule, ...] = ("paper", "english-dev")
HELD_OUT = "heldout"  # split of the questions that `held_out` keeps from training
HELD_OUT_SHARE = 0.1  # of the contexts


@dataclass(frozen=True)
class Development:
    """The files that choose: one split of one task in some languages, and the measure whose mean over them counts.

    `label` is how outputs name the choice.
    """

    task: str
    split: str
    languages: tuple[str, ...]
    metric: str
    label: str


def development(training: str, rule: Rule) -> Development:
    """What chooses for a training, under a rule.

    `paper` (appendix C): the mean over all languages' development files; XQuAD by MLQA's; TyDiQA, which has none,
    by its English test file. `english-dev`, XTREME's own rule: the English development file, and never a test
    file: for SQuAD that of MLQA, as SQuAD's own holds the paragraphs that XQuAD tests on; for TyDiQA questions
    held out of its English training file. Raises UsageError for other names.
    """
    if training not in TRAININGS or rule not in RULES:
        raise UsageError(
            f"{training}, {rule}: the trainings are {', '.join(TRAININGS)}, the rules {', '.join(RULES)}"
        )
    task = TASKS["mlqa" if training == "squad" else training]
    metric = "acc" if task.kind == "pairs" else "f1"
    if task.dev_languages:
        if rule == "paper":
            label = f"chosen on the development files of all languages of {task.name}"
            return Development(task.name, "dev", task.dev_languages, metric, label)
        label = f"chosen on the English development file of {task.name}"
        return Development(task.name, "dev", (ENGLISH,), metric, label)
    if rule == "paper":
        return Development(task.name, "test", (ENGLISH,), metric, "chosen on the English test file")
    label = "chosen on questions held out of the English training file"
    return Development(task.name, HELD_OUT, (ENGLISH,), metric, label)


def held_out(questions: Sequence[Question]) -> tuple[list[Question], list[Question]]:
    """What stays for training, and what is held out: a tenth of the contexts; both in their order.

    A context's questions stay together; the contexts with the lowest hashes are held out, in whatever order they
    come. Held-out questions get ids of their own, as those of XTREME's training files repeat. Raises VocapError
    for fewer than two contexts.
    """
    contexts = sorted({question.context for question in questions}, key=_hash)
    if len(contexts) < 2:
        raise VocapError(
            f"{len(contexts)} contexts are too few to hold one out of training; give more, or choose by the "
            "paper's rule (finetuning: selection: paper)"
        )
    chosen = set(contexts[: max(1, round(HELD_OUT_SHARE * len(contexts)))])
    kept = [question for question in questions if question.context not in chosen]
    held = [
        replace(question, id=f"{HELD_OUT}-{number}")
        for number, question in enumerate(questions)
        if question.context in chosen
    ]
    return kept, held


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True)
class Choice:
    """The setting with the highest mean over seeds and languages, and what each setting reached."""

    learning_rate: float
    epochs: int
    seeds: tuple[int, ...]
    values: Mapping[tuple[float, int], float]  # percent, by learning rate and epochs


def choose(values: Mapping[tuple[float, int, int], Mapping[str, float]]) -> Choice:
    """Choose learning rate and epochs from each run's value of every language that `development` names.

    `values`: (learning rate, epochs, seed) to language to percent. Of equals the first in order of learning rate
    and epochs. Raises VocapError where settings differ in seeds, or runs in languages.
    """
    if not values:
        raise VocapError("no run to choose from; fine-tune first")
    languages = {tuple(sorted(one)) for one in values.values()}
    if len(languages) > 1 or not min(languages):
        raise VocapError(
            "the runs differ in the languages of their development files, or have none: "
            + "; ".join(", ".join(codes) or "none" for codes in sorted(languages))
            + "; run those again that lack some"
        )
    settings = sorted({(rate, epochs) for rate, epochs, _ in values})
    seeds = sorted({seed for _, _, seed in values})
    absent = [(*setting, seed) for setting in settings for seed in seeds if (*setting, seed) not in values]
    if absent:
        rate, epochs, seed = absent[0]
        raise VocapError(
            f"no run of learning rate {rate!r}, {epochs} epochs and seed {seed}, which others of that seed have; "
            "run it too: settings are compared over the same seeds"
        )
    means = {
        setting: float(np.mean([[*values[*setting, seed].values()] for seed in seeds])) for setting in settings
    }
    best = max(settings, key=means.__getitem__)
    return Choice(*best, tuple(seeds), means)
