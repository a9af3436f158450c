"""One SentencePiece unigram model, with the settings of the reference code.

`sentencepiece` 0.2.1 is the reference: other versions are other algorithms. It reads
lines from an iterator and gives the model as bytes, so no path of the machine enters a
model, and a model is the same wherever it is made.
"""

import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from vocap.errors import UsageError, VocapError, log
from vocap.tables.curve import MAX_SIZE
from vocap.text_files import MAX_LINE_BYTES
from vocap.text_files.records import read_lines
from vocap.unigram.text_settings import COVERAGE, META_PIECES, XLM_R, TextSettings, open_rules
from vocap.unigram.training_text import as_read, character_counts, is_trainable, required_characters

REFERENCE = "0.2.1"  # of sentencepiece
INPUT_SENTENCES = 1_000_000  # the reference code's input_sentence_size
IDS = {"unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": -1}

_TOO_HIGH = re.compile(r"Vocabulary size too high \(\d+\)\. Please set it to a value <= (\d+)")
_TOO_SMALL = re.compile(r"Vocabulary size is smaller than required_chars\. \d+ vs (\d+)")


class Unreachable(VocapError):
    """A size that this text cannot give; `reason` is for a table.

    `most` or `least` is the size to which the text leads from above or below, where the
    trainer names one.
    """

    def __init__(self, reason: str, most: int | None = None, least: int | None = None):
        super().__init__(reason)
        self.reason, self.most, self.least = reason, most, least


def require_reference() -> None:
    """Raise UsageError unless the installed SentencePiece is the version that results
    are compared with.
    """
    import sentencepiece

    if sentencepiece.__version__ != REFERENCE:
        raise UsageError(
            f"engine sentencepiece: SentencePiece {sentencepiece.__version__} is installed, which "
            f"trains other models than {REFERENCE}; pip install sentencepiece=={REFERENCE}, or "
            "take engine ladder"
        )


def train(
    source: str | Path | Iterable[str],
    size: int,
    coverage: float = COVERAGE,
    threads: int = 1,
    *,
    ids: Mapping[str, int] = IDS,
    input_sentences: int = INPUT_SENTENCES,
    settings: TextSettings = XLM_R,
    **keys: Any,
) -> bytes:
    """Train a unigram model of exactly `size` ids and return its file's bytes.

    `source`: a text file (UTF-8, a sentence a line) or lines; of more than
    `input_sentences` SentencePiece samples that many, always the same ones (0: all).
    `threads` stands in the model and can change pieces: keep it fixed. `ids`: of the
    meta pieces, -1: none; `keys` change single ones of the `settings`. Raises
    Unreachable where the text has too little variety, too many characters or none at
    all for the size; UsageError for settings that SentencePiece would refuse;
    VocapError for text that is not UTF-8.
    """
    import sentencepiece

    # Settings and lines that it takes
    settings = replace(settings, **keys)
    if not 1 <= size <= MAX_SIZE:
        raise UsageError(f"size {size}: give a number of pieces from 1 to {MAX_SIZE}")
    lines = list(map(as_read, read_lines(source) if isinstance(source, str | Path) else source))
    # Without a required character SentencePiece ends the process: a failed CHECK of
    # MakeSeedSentencePieces
    counts = character_counts([lines], settings=settings)
    if not any(
        counts[one] for one in required_characters(counts, coverage, settings.required_chars)
    ):
        raise Unreachable("no text: symbols only" if counts else "no text")
    # Train; errors are explained
    model = io.BytesIO()
    try:
        with open_rules(settings) as rules:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(lines),
                model_writer=model,
                model_type="unigram",
                vocab_size=size,
                character_coverage=coverage,
                input_sentence_size=input_sentences,
                shuffle_input_sentence=True,
                hard_vocab_limit=True,
                num_threads=threads,
                minloglevel=2,
                **ids,
                **_options(settings, rules),
            )
    except (RuntimeError, OSError) as error:
        # a symbol may have the name of a row that is there anyhow
        added = len(settings.metas) - len(META_PIECES)
        raise _explain(str(error), sum(number >= 0 for number in ids.values()) + added) from None
    if skipped := sum(bool(line.strip()) and not is_trainable(line) for line in lines):
        log.warning(
            "%d lines were not trained on: longer than %d bytes, or with U+2585, which "
            "SentencePiece reserves",
            skipped,
            MAX_LINE_BYTES,
        )
    return _without_path(model.getvalue()) if rules else model.getvalue()


def _without_path(model: bytes) -> bytes:
    """A model without the path of the file of rules, which it holds compiled."""
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    proto.normalizer_spec.ClearField("normalization_rule_tsv")
    return proto.SerializeToString()


def _options(settings: TextSettings, rules: str | None) -> dict[str, Any]:
    """The keys of the settings that differ, as options of SentencePiece; `rules`: the
    path of a table.

    `byte_fallback` is always given: a model records it.
    """
    options: dict[str, object] = {"byte_fallback": settings.byte_fallback}
    options |= {
        key: list(x) if isinstance(x, tuple) else x for key, x in settings.changed().items()
    }
    if name := options.pop("normalization", None):
        options |= {"normalization_rule_tsv": rules} if rules else {"normalization_rule_name": name}
    return options


def _explain(message: str, meta_pieces: int) -> VocapError:
    """The reason for a table, from the message of SentencePiece 0.2.1."""
    if match := _TOO_HIGH.search(message):
        return Unreachable(f"too little text: at most {match[1]} pieces", most=int(match[1]))
    if match := _TOO_SMALL.search(message):
        return Unreachable(
            f"too small: {int(match[1]) - meta_pieces} required characters need at least "
            f"{match[1]} pieces",
            least=int(match[1]),
        )
    if "!sentences_.empty()" in message:
        return Unreachable("no text")
    return VocapError(f"SentencePiece could not train: {message.strip()}")
