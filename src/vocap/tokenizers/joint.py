"""JOINT: SentencePiece trained on the multilingual sample, with the settings of the languages' own models."""

import os
import re
from collections.abc import Sequence

from sentencepiece import sentencepiece_model_pb2

from vocap.errors import VocapError
from vocap.tokenizers.layout import Contents, build_model, read_contents
from vocap.tokenizers.settings import META
from vocap.vocabularies.training import Unreachable, train


def train_joint(
    mix: str | os.PathLike,
    total: int,
    coverage: float = 0.9995,
    threads: int = 2,
    byte_fallback: bool = False,
    symbols: Sequence[str] = (),
):
    """The `ModelProto` of exactly `total` ids, trained on the lines of `mix`.

    SentencePiece is asked for total - 1 ids with `<s>` 0, `<pad>` 1, `</s>` 2, `<unk>` 3; `<mask>` is the last.
    `threads` is a setting, not a matter of the machine: another number gives slightly other pieces.
    Raises VocapError where the text cannot give `total`, naming the largest or smallest T that it can.
    """
    ids = {
        name: META.index(piece)
        for name, piece in zip(("bos_id", "pad_id", "eos_id", "unk_id"), META, strict=False)
    }
    try:
        data = train(
            mix,
            total - 1,
            coverage,
            threads,
            **ids,
            byte_fallback=byte_fallback,
            user_defined_symbols=symbols,
        )
    except Unreachable as error:
        raise VocapError(f"{mix}: {_remedy(error.reason, total)}") from None
    proto = sentencepiece_model_pb2.ModelProto.FromString(data)
    trained = read_contents(proto, "the joint model")
    contents = Contents(trained.pieces, trained.scores, list(symbols), byte_fallback)
    if contents.rows != total:
        raise VocapError(f"{mix}: SentencePiece gave {contents.rows} ids instead of T = {total}; take another T")
    return build_model(contents, proto.normalizer_spec)


def _remedy(reason: str, total: int) -> str:
    """What to do about a size of `total` - 1 that the text cannot give."""
    if found := re.search(r"at most (\d+)", reason):
        return (
            f"too little text for T = {total}; the largest possible T is {int(found[1]) + 1}: "
            "set total to that or less, or bring more text"
        )
    if found := re.search(r"at least (\d+)", reason):
        return (
            f"T = {total} does not hold the required characters; the smallest possible T is {int(found[1]) + 1}: "
            "raise total, or lower the coverage"
        )
    return f"{reason} to train T = {total} on; it must hold the multilingual sample (vocap mix)"
