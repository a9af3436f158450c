"""What a line or a question of the tasks' files holds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences; `label` is None where the file keeps it back."""

    first: str
    second: str
    label: str | None


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words and their tags, one for each; `tags` is None where the file keeps them back."""

    words: tuple[str, ...]
    tags: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Answer:
    """A part of a context; `start` counts code points."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Question:
    """A question on a context; no `answers` where the file keeps them back.

    Questions of one paragraph share the `context` object. Ids are unique in a dev or test file, not in train.
    """

    id: str
    question: str
    context: str
    answers: tuple[Answer, ...]


Example = Pair | Sentence | Question


def is_labelled(example: Example) -> bool:
    """Whether the file gives what is to be predicted; only such examples may be scored or trained on."""
    if isinstance(example, Pair):
        return example.label is not None
    return example.tags is not None if isinstance(example, Sentence) else bool(example.answers)
