"""The text of a language that is added to a tokenizer: its words, read with the tokenizer's own settings."""

import logging
from dataclasses import replace
from pathlib import Path

from vocap.errors import VocapError
from vocap.unigram import COVERAGE
from vocap.unigram.text_settings import NFC, TextSettings, settings_of

logger = logging.getLogger(__name__)


def read_words(source, path: Path, coverage: float):
    """The word types of a text, as `source` (a `SourceTokenizer`) normalises it. Raises VocapError for no text."""
    from vocap.text_files.lines import read_blocks
    from vocap.unigram.kernels import one_compiler

    with one_compiler():
        from vocap.unigram.word_types import load_word_types

    trained_with = settings_of(source.proto)
    composing = replace(trained_with, normalization=NFC)  # a table, which the file does not name
    if normalises_alike(source.proto, composing, coverage):
        trained_with = composing
    words = load_word_types({"train": lambda: read_blocks(path)}, coverage=coverage, settings=trained_with)
    logger.info("%s: %d lines, %d word types", path, words.sentences["train"], words.trained)
    if not normalises_alike(source.proto, trained_with, coverage):
        logger.warning(
            "%s: another normaliser than this SentencePiece trains with; some new pieces may never be used",
            source.path,
        )
    if not words.required:
        raise VocapError(f"{path}: no text in it; give text with a sentence a line")
    return words


def normalises_alike(proto, settings: TextSettings, coverage: float = COVERAGE) -> bool:
    """Whether the tokenizer normalises text by the same table as the models that the ladder gives."""
    from sentencepiece import sentencepiece_model_pb2

    from vocap.unigram.ladder import specifications

    own = sentencepiece_model_pb2.ModelProto.FromString(specifications(coverage, 4, settings=settings))
    return own.normalizer_spec.precompiled_charsmap == proto.normalizer_spec.precompiled_charsmap
