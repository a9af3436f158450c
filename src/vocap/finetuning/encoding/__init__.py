"""Examples to the inputs of models, and what models say back to tags and answers."""

from vocap.finetuning.encoding.answers import best_answers
from vocap.finetuning.encoding.features import NO_LABEL, Features, PairFeatures, SpanFeatures, TagFeatures
from vocap.finetuning.encoding.inputs import InputEncoder
from vocap.finetuning.encoding.pairs import encode_pairs
from vocap.finetuning.encoding.ragged import Ragged
from vocap.finetuning.encoding.spans import encode_questions
from vocap.finetuning.encoding.tags import encode_sentences, join_tags

__all__ = [
    "NO_LABEL",
    "Features",
    "InputEncoder",
    "PairFeatures",
    "Ragged",
    "SpanFeatures",
    "TagFeatures",
    "best_answers",
    "encode_pairs",
    "encode_questions",
    "encode_sentences",
    "join_tags",
]
