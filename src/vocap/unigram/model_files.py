"""The file of a unigram model, byte for byte as SentencePiece writes it."""

import numpy as np
from numba import int64

from vocap.unigram.kernels import INT32S, UINT8S, kernel
from vocap.unigram.sentencepiece_trainer import model_parts, specifications
from vocap.unigram.text_settings import XLM_R, TextSettings


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
