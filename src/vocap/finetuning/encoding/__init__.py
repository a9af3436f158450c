"""Examples to the inputs of models, and what models say back to tags and answers."""

from vocap.finetuning.encoding.answers import best_answers
from vocap.finetuning.encoding.features import NO_LABEL, Features, PairFeatures, SpanFeatures, TagFeatures
from vocap.finetuning.encoding.pairs import encode_pairs
from vocap.finetuning.encoding.ragged import Ragged
from vocap.finetuning.encoding.spans import encode_questions
from vocap.finetuning.encoding.tags import encode_sentences, join_tags
from vocap.finetuning.examples import Example
from vocap.finetuning.tasks import Task

__all__ = [
    "NO_LABEL",
    "Features",
    "PairFeatures",
    "Ragged",
    "SpanFeatures",
    "TagFeatures",
    "best_answers",
    "encode",
    "encode_pairs",
    "encode_questions",
    "encode_sentences",
    "join_tags",
]


def encode(examples: list[Example], tokenizer, task: Task) -> Features:
    """The inputs of a task's examples, by its kind, labels and length."""
    if task.kind == "pairs":
        return encode_pairs(examples, tokenizer, task.labels, task.max_length)
    if task.kind == "tags":
        return encode_sentences(examples, tokenizer, task.labels, task.max_length)
    return encode_questions(examples, tokenizer, task.max_length)
