"""JOINT: SentencePiece trained on the multilingual sample, with the settings of the languages' own models."""

import logging
import os
from collections.abc import Sequence

from sentencepiece import sentencepiece_model_pb2

from vocap.errors import UsageError, VocapError
from vocap.tokenizers.layout import Contents, build_model, read_contents
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
            if error.least is not None:
                raise UsageError(
                    f"{mix}: T = {total} does not hold the required characters; the smallest possible T is "
                    f"{error.least + 1}: raise total, or lower the coverage"
                ) from None
            raise VocapError(
                f"{mix}: {error.reason} to train T = {total} on; it must hold the multilingual sample (vocap mix)"
            ) from None
        if size + 1 < total:
            log.warning(
                "%s: too little text for T = %d: the tokenizer has %d ids, %d short (more text fills it)",
                mix,
                total,
                size + 1,
                total - size - 1,
            )
        return data, size
