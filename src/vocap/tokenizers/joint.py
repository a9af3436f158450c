"""JOINT: a unigram model of the text of all languages, with the settings of the languages' own models.

One SentencePiece training for each T (`train_joint`), or one descent for all of them (`descend_joint`): the ladder
gives, bit for bit, what SentencePiece trains with one thread.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from sentencepiece import sentencepiece_model_pb2

from vocap.errors import UsageError, VocapError
from vocap.text_files.lines import read_blocks
from vocap.tokenizer_files import META
from vocap.tokenizer_files.layout import build_model, read_contents
from vocap.tokenizers.multilingual_text import MultilingualText
from vocap.unigram import COVERAGE
from vocap.unigram.sentencepiece_trainer import Unreachable, require_reference, train
from vocap.unigram.text_settings import XLM_R, TextSettings
from vocap.unigram.training_text import character_counts, required_characters

LEAST_COVERAGE = 0.98  # that SentencePiece takes
log = logging.getLogger(__name__)


def train_joint(
    text: MultilingualText,
    total: int,
    coverage: float = COVERAGE,
    threads: int = 2,
    required: Sequence[str] | None = None,
    settings: TextSettings = XLM_R,
):
    """The `ModelProto` of `total` ids, trained on all lines of `text`, or of as many as they give, with a warning.

    SentencePiece is asked for total - 1 ids with `<s>` 0, `<pad>` 1, `</s>` 2, `<unk>` 3; `<mask>` is the last. It
    reads each line as often as it counts, and holds them all in memory.
    `threads` is a setting, not a matter of the machine: another number gives slightly other pieces.
    `required`: characters that the tokenizer holds and no others, in the place of the `coverage`. SentencePiece
    takes as many of them as a coverage in 32 bits can tell apart, with a warning.
    Raises UsageError for another SentencePiece than the reference, and for a `total` that does not hold the
    required characters, naming the smallest that does; VocapError for a text without any.
    """
    require_reference()
    if required is not None:
        coverage = _coverage_of(text, required, settings)
    data, size = _train(text, total, coverage, threads, "".join(required or ()), settings)
    return _lay_out(text.name, data, size)


def descend_joint(
    text: MultilingualText,
    totals: Sequence[int],
    coverage: float = COVERAGE,
    threads: int = 1,
    required: Sequence[str] | None = None,
    settings: TextSettings = XLM_R,
) -> Iterator[tuple[int, object, int]]:
    """Each of `totals` with its `ModelProto` and the word types of `text`, from one descent over it.

    Equals `train_joint` with one thread for any number of `threads`; it holds all `required` characters. Lines are
    not held, only the word types. A total above what the text holds takes a second, short descent. Raises as
    `train_joint`.
    """
    from vocap.unigram.kernels import one_compiler
    from vocap.unigram.training_text import trained_on

    with one_compiler():
        from vocap.unigram.ladder import train_sizes
        from vocap.unigram.word_types import count_word_types

    metas = _metas(settings)

    def sentences():
        for part in text.parts:
            yield from trained_on(read_blocks(part.path), metas, part.weight, settings)

    words = count_word_types(
        {"train": sentences}, coverage if required is None else None, "".join(required or ()), settings
    )
    log.info("%s: %d lines, %d word types", text.name, sum(part.lines for part in text.parts), words.trained)
    waiting = {total - 1: [total] for total in sorted(set(totals))}  # size of the descent: the totals it is for
    while waiting:
        shorter: dict[int, list[int]] = {}
        for rung in train_sizes(words, sorted(waiting), coverage, threads, reserved=1):  # <pad>
            size = rung.point.size
            if rung.most is not None and rung.most < size:
                shorter.setdefault(rung.most, []).extend(waiting[size])
                continue
            if rung.model is None:
                raise _refusal(text.name, min(waiting[size]), rung.point.status, rung.least)
            for total in waiting[size]:
                _warn_if_short(text.name, total, size)
                yield total, _lay_out(text.name, rung.model, size), words.trained
        waiting = shorter


def _metas(settings: TextSettings) -> list[str]:
    """The rows that are no pieces of text."""
    return list(dict.fromkeys((*META[:-1], *settings.meta_pieces)))


def _coverage_of(text: MultilingualText, required: Sequence[str], settings: TextSettings) -> float:
    """The coverage with which SentencePiece takes the required characters and, if that can be, no others."""
    counts: Counter[str] = Counter()
    metas = _metas(settings)
    for part in text.parts:
        for character, count in character_counts(read_blocks(part.path), metas, settings).items():
            counts[character] += part.weight * count
    covered = sum(counts[character] for character in required)
    coverage = max(float(np.float32(covered / max(counts.total(), 1))), LEAST_COVERAGE)
    taken = set(required_characters(counts, coverage, required))
    if taken != set(required):
        log.warning(
            "%s: SentencePiece leaves out %d of %d required characters and takes %d others; the ladder takes all",
            text.name,
            len(set(required) - taken),
            len(required),
            len(taken - set(required)),
        )
    return coverage


def _lay_out(name, data: bytes, size: int):
    """The trained pieces in the shared layout, with `<mask>`."""
    proto = sentencepiece_model_pb2.ModelProto.FromString(data)
    contents = read_contents(proto, "the joint model")
    if contents.rows != size + 1:
        raise VocapError(f"{name}: SentencePiece gave {contents.rows} ids instead of {size + 1}; take another T")
    return build_model(contents, proto.normalizer_spec)


def _train(
    text: MultilingualText, total: int, coverage: float, threads: int, required: str, settings: TextSettings
) -> tuple[bytes, int]:
    """The stock model, and its ids: total - 1, or the most that training reaches."""
    ids = {
        name: META.index(piece)
        for name, piece in zip(("bos_id", "pad_id", "eos_id", "unk_id"), META, strict=False)
    }
    size = total - 1
    while True:
        try:
            data = train(
                text.repeated(),
                size,
                coverage,
                threads,
                **ids,
                input_sentences=0,
                required_chars=required,
                settings=settings,
            )
        except Unreachable as error:
            if error.most is not None and error.most < size:
                # trained for fewer ids it prunes more, so it may end below what it named: then once more
                log.info("%s: T = %d is out of reach; training again for %d", text.name, size + 1, error.most + 1)
                size = error.most
                continue
            raise _refusal(text.name, total, error.reason, error.least) from None
        _warn_if_short(text.name, total, size)
        return data, size


def _refusal(name, total: int, reason: str, least: int | None) -> VocapError:
    if least is not None:
        return UsageError(
            f"{name}: T = {total} does not hold the required characters; the smallest possible T is {least + 1}: "
            "raise total, or lower the coverage"
        )
    return VocapError(f"{name}: {reason} to train T = {total} on; it must hold text (vocap sample, vocap mix)")


def _warn_if_short(name, total: int, size: int) -> None:
    if size + 1 < total:
        log.warning(
            "%s: too little text for T = %d: the tokenizer has %d ids, %d short (more text fills it)",
            name,
            total,
            size + 1,
            total - size - 1,
        )
