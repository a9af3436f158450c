"""SentencePiece model files: parsed as data, checked, and never trusted.

A `.model` is a protobuf (`sentencepiece_model.proto`). SentencePiece's own loader believes what a file says of
itself; `read_model` therefore checks everything that the C++ code would act on before any of it gets there.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vocap.errors import VocapError

# piece types of sentencepiece_model.proto
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6


@dataclass(frozen=True)
class Pieces:
    """What a model holds: `pieces[id]`, `scores` float32 [V] (natural log), `types` int8 [V]."""

    pieces: list[str]
    scores: np.ndarray
    types: np.ndarray


def read_model(path: str | os.PathLike):
    """Parse and check a model file; returns the `ModelProto`. Raises VocapError, naming the file."""
    from google.protobuf.message import DecodeError
    from sentencepiece import sentencepiece_model_pb2

    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise VocapError(f"{path}: no such model file") from None
    try:
        return sentencepiece_model_pb2.ModelProto.FromString(data)
    except DecodeError as error:
        raise VocapError(f"{path}: not a SentencePiece model ({error}); train or download it again") from None


def read_pieces(path: str | os.PathLike) -> Pieces:
    """The pieces of a model file, by id."""
    proto = read_model(path).pieces
    return Pieces(
        [entry.piece for entry in proto],
        np.array([entry.score for entry in proto], np.float32),
        np.array([entry.type for entry in proto], np.int8),
    )


def load_processor(path: str | os.PathLike):
    """A `SentencePieceProcessor` of a checked model file."""
    import sentencepiece

    return sentencepiece.SentencePieceProcessor(model_proto=read_model(path).SerializeToString(deterministic=True))
