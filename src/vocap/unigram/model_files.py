"""The file of a unigram model, byte for byte as SentencePiece writes it."""

from functools import cache

import numpy as np
from numba import int64

from vocap.unigram.kernels import INT32S, UINT8S, kernel
from vocap.unigram.text_settings import XLM_R, TextSettings, plain_letter


@cache
def model_parts(coverage: float, settings: TextSettings = XLM_R) -> tuple[bytes, bytes]:
    """The parts of every model besides its pieces: the meta pieces before them, the
    specifications after them.

    Specifications are those of a model that the installed SentencePiece trains on one
    letter with the rules of normalisation, and the other keys that differ from their
    defaults.
    """
    from sentencepiece import sentencepiece_model_pb2

    from vocap.unigram.sentencepiece_trainer import train

    rules = TextSettings(normalization=settings.normalization)
    model = sentencepiece_model_pb2.ModelProto.FromString(
        train([plain_letter(rules)], 5, coverage, settings=rules)
    )
    head = sentencepiece_model_pb2.ModelProto()
    for name, kind in settings.metas:
        head.pieces.add(piece=name, score=0, type=kind)
    specs = sentencepiece_model_pb2.ModelProto(
        trainer_spec=model.trainer_spec, normalizer_spec=model.normalizer_spec
    )
    for name, value in settings.changed().items():
        if name != "normalization":
            of_text = name in specs.normalizer_spec.DESCRIPTOR.fields_by_name
            spec = specs.normalizer_spec if of_text else specs.trainer_spec
            if isinstance(value, tuple):
                getattr(spec, name).extend(value)
            else:
                setattr(spec, name, value)
    return head.SerializeToString(), specs.SerializeToString()


def specifications(coverage: float, size: int, settings: TextSettings = XLM_R) -> bytes:
    """`trainer_spec` with this vocabulary size, and `normalizer_spec`."""
    from sentencepiece import sentencepiece_model_pb2

    specs = sentencepiece_model_pb2.ModelProto.FromString(model_parts(coverage, settings)[1])
    specs.trainer_spec.vocab_size = size
    return specs.SerializeToString()


def model_bytes(
    text: np.ndarray,
    place: np.ndarray,
    length: np.ndarray,
    scores: np.ndarray,
    coverage: float,
    settings: TextSettings = XLM_R,
) -> bytes:
    """The file of a model whose piece i is `text[place[i]:place[i] + length[i]]` with
    `scores[i]` (float32).
    """
    # 4 bytes a character and 16 for its tags, lengths and score are always enough
    entries = np.empty(4 * int(length.sum()) + 16 * len(length), np.uint8)
    size = write_pieces(text, place, length, scores.view(np.uint8), entries)
    head, ids = model_parts(coverage, settings)[0], len(scores) + len(settings.metas)
    return b"".join([head, entries[:size].data, specifications(coverage, ids, settings)])


@kernel(int64(UINT8S, int64, int64), inner=True)
def write_varint(out, at, value):
    """Write a number below 2^14 as protobuf does; returns the place after it."""
    if value >= 128:
        out[at] = value & 127 | 128
        at += 1
        value >>= 7
    out[at] = value
    return at + 1


@kernel(int64(INT32S, INT32S, INT32S, UINT8S, UINT8S))
def write_pieces(text, place, length, scores, out):
    """Write `pieces {piece: name score: number}` of each piece to `out` as protobuf
    does; returns the number of bytes. `scores`: 4 bytes a piece.
    """
    at = 0
    for rank in range(place.size):
        begin, end = place[rank], place[rank] + length[rank]
        size = 0  # of its UTF-8
        for position in range(begin, end):
            point = text[position]
            size += 1 + (point >= 0x80) + (point >= 0x800) + (point >= 0x10000)
        out[at] = 0x0A
        at = write_varint(out, at + 1, size + (8 if size >= 128 else 7))
        out[at] = 0x0A
        at = write_varint(out, at + 1, size)
        for position in range(begin, end):
            point = text[position]
            if point < 0x80:
                out[at] = point
            else:
                more = 1 + (point >= 0x800) + (point >= 0x10000)  # bytes of six bits
                out[at] = (0xFF00 >> more + 1 & 0xFF) | point >> 6 * more
                for byte in range(1, more + 1):
                    out[at + byte] = 0x80 | (point >> 6 * (more - byte) & 0x3F)
                at += more
            at += 1
        out[at] = 0x15
        for byte in range(4):
            out[at + 1 + byte] = scores[4 * rank + byte]
        at += 5
    return at
