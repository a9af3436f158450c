"""Model files, byte for byte as SentencePiece writes them, without a protobuf object for every piece."""

import functools

import numpy as np

from vocap.vocabularies.ladder.kernels import kernel


@functools.cache
def template(coverage: float) -> tuple[bytes, bytes]:
    """What every model holds besides its pieces: the meta pieces before them, and the specs after them.

    Taken from a model that the installed SentencePiece trains on one letter with the settings of `training.train`,
    so that normalisation and settings are the library's own.
    """
    from sentencepiece import sentencepiece_model_pb2

    from vocap.vocabularies.training import train

    model = sentencepiece_model_pb2.ModelProto.FromString(train(["a"], 5, coverage))
    head = sentencepiece_model_pb2.ModelProto(pieces=model.pieces[:3]).SerializeToString()
    specs = sentencepiece_model_pb2.ModelProto(
        trainer_spec=model.trainer_spec, normalizer_spec=model.normalizer_spec
    )
    return head, specs.SerializeToString()


def specifications(coverage: float, size: int, required_chars: str = "") -> bytes:
    """`trainer_spec` with this vocabulary size and these required characters, and `normalizer_spec`."""
    from sentencepiece import sentencepiece_model_pb2

    specs = sentencepiece_model_pb2.ModelProto.FromString(template(coverage)[1])
    specs.trainer_spec.vocab_size = size
    if required_chars:
        specs.trainer_spec.required_chars = required_chars
    return specs.SerializeToString()


def model_bytes(
    text: np.ndarray,
    place: np.ndarray,
    length: np.ndarray,
    scores: np.ndarray,
    coverage: float,
    required_chars: str = "",
) -> bytes:
    """The file of a model whose piece i is `text[place[i]:place[i] + length[i]]` with `scores[i]` (float32)."""
    pieces = encode_pieces(text, place, length, scores.view(np.uint32))
    return template(coverage)[0] + pieces.tobytes() + specifications(coverage, len(scores) + 3, required_chars)


@kernel("uint8[::1](int32[::1], int32[::1], int32[::1], uint32[::1])")
def encode_pieces(text, place, length, score):
    """Protobuf fields `pieces { piece: UTF-8, score: float32 }`; all lengths stay below 128, so take one byte."""
    characters = 0
    for piece in range(length.size):
        characters += length[piece]
    out = np.empty(4 * characters + 9 * length.size, np.uint8)
    at = 0
    for piece in range(length.size):
        begin = at + 4
        at = begin
        for position in range(place[piece], place[piece] + length[piece]):
            point = text[position]
            if point < 0x80:
                out[at] = point
                at += 1
            elif point < 0x800:
                out[at] = 0xC0 | point >> 6
                out[at + 1] = 0x80 | point & 0x3F
                at += 2
            elif point < 0x10000:
                out[at] = 0xE0 | point >> 12
                out[at + 1] = 0x80 | point >> 6 & 0x3F
                out[at + 2] = 0x80 | point & 0x3F
                at += 3
            else:
                out[at] = 0xF0 | point >> 18
                out[at + 1] = 0x80 | point >> 12 & 0x3F
                out[at + 2] = 0x80 | point >> 6 & 0x3F
                out[at + 3] = 0x80 | point & 0x3F
                at += 4
        size = at - begin
        out[begin - 4] = 0x0A  # ModelProto.pieces
        out[begin - 3] = size + 7
        out[begin - 2] = 0x0A  # SentencePiece.piece
        out[begin - 1] = size
        out[at] = 0x15  # SentencePiece.score
        out[at + 1] = score[piece] & 0xFF
        out[at + 2] = score[piece] >> 8 & 0xFF
        out[at + 3] = score[piece] >> 16 & 0xFF
        out[at + 4] = score[piece] >> 24
        at += 5
    return out[:at].copy()
