"""JOINT: a unigram model of the multilingual sample, with the settings of the languages' own models.

One SentencePiece training for each T (`train_joint`), or one descent for all of them (`descend_joint`): the ladder
gives, bit for bit, what SentencePiece trains with one thread.
"""

import logging
import os
from collections.abc import Iterator, Sequence

from sentencepiece import sentencepiece_model_pb2

from vocap.errors import UsageError, VocapError
from vocap.tokenizers.layout import BYTES, Contents, build_model, read_contents
from vocap.tokenizers.settings import META
from vocap.vocabularies import COVERAGE
from vocap.vocabularies.training import Unreachable, train

log = logging.getLogger(__name__)


def train_joint(
    mix: str | os.PathLike,
    total: int,
    coverage: float = COVERAGE,
    threads: int = 2,
    byte_fallback: bool = False,
    symbols: Sequence[str] = (),
):
    """The `ModelProto` of `total` ids, trained on all lines of `mix`, or of as many as they give, with a warning.

    SentencePiece is asked for total - 1 ids with `<s>` 0, `<pad>` 1, `</s>` 2, `<unk>` 3; `<mask>` is the last.
    `threads` is a setting, not a matter of the machine: another number gives slightly other pieces.
    Raises UsageError for a `total` that does not hold the required characters, naming the smallest that does,
    VocapError for a text without any.
    """
    data, size = _train(mix, total, coverage, threads, byte_fallback, symbols)
    return _lay_out(mix, data, size, byte_fallback, symbols)


def descend_joint(
    mix: str | os.PathLike,
    totals: Sequence[int],
    coverage: float = COVERAGE,
    threads: int = 1,
    byte_fallback: bool = False,
    symbols: Sequence[str] = (),
) -> Iterator[tuple[int, object]]:
    """Each of `totals` with its `ModelProto`, from one descent over `mix`.

    It is what `train_joint` gives with one thread, whatever the number of `threads` here. A total above what the
    text holds takes a second, short descent. Raises as `train_joint`.
    """
    from vocap.vocabularies.ladder.kernels import one_compiler
    from vocap.vocabularies.text import read_blocks

    with one_compiler():
        from vocap.vocabularies.ladder.sizes import train_sizes
        from vocap.vocabularies.ladder.word_types import load_word_types

    metas = [*META[:-1], *(BYTES if byte_fallback else ()), *symbols]
    reserved = len(metas) - 3  # the ladder's own <unk> <s> </s>
    words = load_word_types({"train": lambda: read_blocks(mix)}, coverage=coverage, metas=metas)
    log.info("%s: %d lines, %d word types", mix, words.sentences["train"], words.trained)
    waiting = {total - 1: [total] for total in sorted(set(totals))}  # size of the descent: the totals it is for
    while waiting:
        shorter: dict[int, list[int]] = {}
        for rung in train_sizes(words, sorted(waiting), coverage, threads, reserved=reserved):
            size = rung.point.size
            if rung.most is not None and rung.most < size:
                shorter.setdefault(rung.most, []).extend(waiting[size])
                continue
            if rung.model is None:
                raise _refusal(mix, min(waiting[size]), rung.point.status, rung.least)
            for total in waiting[size]:
                _warn_if_short(mix, total, size)
                yield total, _lay_out(mix, rung.model, size, byte_fallback, symbols)
        waiting = shorter


def _lay_out(mix, data: bytes, size: int, byte_fallback: bool, symbols: Sequence[str]):
    """The trained pieces in the shared layout, with `<mask>`."""
    proto = sentencepiece_model_pb2.ModelProto.FromString(data)
    trained = read_contents(proto, "the joint model")
    contents = Contents(trained.pieces, trained.scores, list(symbols), byte_fallback)
    if contents.rows != size + 1:
        raise VocapError(f"{mix}: SentencePiece gave {contents.rows} ids instead of {size + 1}; take another T")
    return build_model(contents, proto.normalizer_spec)


def _train(mix, total: int, coverage: float, threads: int, byte_fallback: bool, symbols) -> tuple[bytes, int]:
    """The stock model, and its ids: total - 1, or the most that training reaches."""
    ids = {
        name: META.index(piece)
        for name, piece in zip(("bos_id", "pad_id", "eos_id", "unk_id"), META, strict=False)
    }
    size = total - 1
    while True:
        try:
            data = train(
                mix,
                size,
                coverage,
                threads,
                **ids,
                byte_fallback=byte_fallback,
                user_defined_symbols=symbols,
                input_sentences=0,
            )
        except Unreachable as error:
            if error.most is not None and error.most < size:
                # trained for fewer ids it prunes more, so it may end below what it named: then once more
                log.info("%s: T = %d is out of reach; training again for %d", mix, size + 1, error.most + 1)
                size = error.most
                continue
            raise _refusal(mix, total, error.reason, error.least) from None
        _warn_if_short(mix, total, size)
        return data, size


def _refusal(mix, total: int, reason: str, least: int | None) -> VocapError:
    if least is not None:
        return UsageError(
            f"{mix}: T = {total} does not hold the required characters; the smallest possible T is {least + 1}: "
            "raise total, or lower the coverage"
        )
    return VocapError(f"{mix}: {reason} to train T = {total} on; it must hold the multilingual sample (vocap mix)")


def _warn_if_short(mix, total: int, size: int) -> None:
    if size + 1 < total:
        log.warning(
            "%s: too little text for T = %d: the tokenizer has %d ids, %d short (more text fills it)",
            mix,
            total,
            size + 1,
            total - size - 1,
        )
