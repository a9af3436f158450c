"""SentencePiece model files: parsed as data, checked, and never trusted.

A `.model` is a protobuf (`sentencepiece_model.proto`). SentencePiece's own loader uses the values of a file
unchecked, and some end the process; `read_model` therefore checks all of them before the library reads any.
"""

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vocap.errors import VocapError

# piece types of sentencepiece_model.proto
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
BYTES = [f"<0x{value:02X}>" for value in range(256)]  # names of the byte pieces
# Keys of a `TrainerSpec` that decide the shape of pieces.
SHAPE = (
    "split_by_unicode_script",
    "split_by_number",
    "split_digits",
    "split_by_whitespace",
    "allow_whitespace_only_pieces",
    "max_sentencepiece_length",
)

MAX_BYTES = 64 << 20  # 500,000 pieces take about 12 MB
MAX_PIECE_BYTES = 4096  # the library builds its trie by recursion, a byte a level, and trains up to 512 characters
MAX_NESTED_SYMBOLS = 64  # PrefixMatcher keeps that many matches in an array on its stack, and does not count them

_REMEDY = "train it again, or download it again from where you trust"


@dataclass(frozen=True)
class Pieces:
    """The content of a model: `pieces[id]`, `scores` float32 [V] (natural log), `types` int8 [V]."""

    pieces: list[str]
    scores: np.ndarray
    types: np.ndarray


def read_model(path: str | os.PathLike):
    """Parse and check a model file; returns the `ModelProto`. Raises VocapError, naming the file.

    Without `self_test_data`: text that the library would segment while loading, and refuse the model by.
    """
    return _read(path)[0]


def read_pieces(path: str | os.PathLike) -> Pieces:
    """The pieces of a model file, by id. Raises as `read_model`."""
    return _read(path)[1]


def load_processor(path: str | os.PathLike):
    """A `SentencePieceProcessor` of a checked model file, of any of the four model types."""
    return build_processor(read_model(path), path)


def build_processor(proto, path: str | os.PathLike):
    """A `SentencePieceProcessor` of a `ModelProto` that `read_model` gave for `path`, which errors name."""
    import sentencepiece

    try:
        return sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString(deterministic=True))
    except (RuntimeError, OSError) as error:
        raise VocapError(f"{path}: SentencePiece cannot use it ({str(error).strip()}); {_REMEDY}") from None


def _read(path: str | os.PathLike):
    try:
        proto = _parse(path)
        pieces = _pieces(proto)
        _check_pieces(pieces, proto.trainer_spec.byte_fallback)
        _check_ids(proto.trainer_spec, pieces)
        _check_normalizers(proto)
        if "self_test_data" in proto.DESCRIPTOR.fields_by_name:  # 0.2.3 has no such field
            proto.ClearField("self_test_data")
    except ValueError as error:
        raise VocapError(f"{path}: not a usable SentencePiece model: {error}; {_REMEDY}") from None
    return proto, pieces


def _parse(path: str | os.PathLike):
    from google.protobuf.message import DecodeError
    from sentencepiece import sentencepiece_model_pb2

    path = Path(path)
    try:
        status = path.stat()
    except FileNotFoundError:
        raise VocapError(f"{path}: no such model file; check the path") from None
    if not stat.S_ISREG(status.st_mode):
        raise VocapError(f"{path}: not a file; give the path of a .model")
    if status.st_size > MAX_BYTES:
        raise ValueError(f"{status.st_size} bytes, more than {MAX_BYTES}")
    data = path.read_bytes()
    if data.count(b"\n\0") > 1_000_000:  # a message in memory takes fifty times the two bytes of an empty piece
        raise ValueError("a million empty pieces")
    try:
        return sentencepiece_model_pb2.ModelProto.FromString(data)
    except DecodeError:
        raise ValueError(f"its {len(data)} bytes are no such protobuf, or are cut short") from None


def _pieces(proto) -> Pieces:
    entries = proto.pieces
    pieces = [entry.piece for entry in entries]
    if bytes in set(map(type, pieces)):  # protobuf gives bytes for a string that is not UTF-8
        number = next(number for number, piece in enumerate(pieces) if isinstance(piece, bytes))
        raise ValueError(f"piece {number} is not UTF-8")
    return Pieces(
        pieces,
        np.array([entry.score for entry in entries], np.float32),
        np.array([entry.type for entry in entries], np.int8),
    )


def _check_pieces(model: Pieces, byte_fallback: bool) -> None:
    pieces, types = model.pieces, model.types
    if not pieces:
        raise ValueError("it has no pieces")
    if not all(pieces):
        raise ValueError(f"piece {pieces.index('')} is empty")
    if len(set(pieces)) < len(pieces):
        raise ValueError(f"duplicate piece {_first_repeated(pieces)}")
    if "\0" in "".join(pieces):
        raise ValueError("a piece holds a NUL character")
    longest = max(pieces, key=len)
    if len(longest.encode("utf-8")) > MAX_PIECE_BYTES:
        raise ValueError(f"a piece has {len(longest)} characters, more than {MAX_PIECE_BYTES} bytes")
    if not np.isfinite(model.scores).all():
        number = int(np.flatnonzero(~np.isfinite(model.scores))[0])
        raise ValueError(f"the score of piece {number} is {model.scores[number]}")
    if np.count_nonzero(types == UNKNOWN) != 1:
        raise ValueError(f"it has {np.count_nonzero(types == UNKNOWN)} pieces of type UNKNOWN, not one")
    if not np.isin(types, (NORMAL, USER_DEFINED, UNUSED)).any():
        raise ValueError("none of its pieces can stand for text")
    _check_byte_pieces(pieces, types, byte_fallback)
    if nested([pieces[number] for number in np.flatnonzero(types == USER_DEFINED)]) > MAX_NESTED_SYMBOLS:
        raise ValueError(f"more than {MAX_NESTED_SYMBOLS} of its user-defined symbols begin each other")


def _check_byte_pieces(pieces: list[str], types: np.ndarray, byte_fallback: bool) -> None:
    found = {pieces[number] for number in np.flatnonzero(types == BYTE)}
    if found != (set(BYTES) if byte_fallback else set()):
        raise ValueError(f"it has {len(found)} byte pieces, and byte_fallback is {str(byte_fallback).lower()}")


def _check_ids(trainer_spec, model: Pieces) -> None:
    """The ids that trainer_spec gives must be ids, and <unk>'s the one of the unknown piece."""
    for name in ("unk_id", "bos_id", "eos_id", "pad_id"):
        number = getattr(trainer_spec, name)
        if trainer_spec.HasField(name) and not -1 <= number < len(model.pieces):
            raise ValueError(f"{name} is {number}, and there are {len(model.pieces)} pieces")
    if trainer_spec.HasField("unk_id") and model.types[trainer_spec.unk_id] != UNKNOWN:
        raise ValueError(f"unk_id is {trainer_spec.unk_id}, whose piece is not of type UNKNOWN")


def _check_normalizers(proto) -> None:
    from vocap.tokenizer_files.charsmap import check_charsmap

    for name in ("normalizer_spec", "denormalizer_spec"):
        try:
            check_charsmap(getattr(proto, name).precompiled_charsmap)
        except ValueError as error:
            raise ValueError(f"{name}.precompiled_charsmap: {error}") from None


def nested(symbols: Iterable[str]) -> int:
    """The largest number of the symbols that are beginnings of one of them, itself included.

    >>> nested(["a", "ab", "abc", "b"])
    3
    """
    chain: list[str] = []
    deepest = 0
    for symbol in sorted(symbols):  # a beginning sorts before what it begins
        while chain and not symbol.startswith(chain[-1]):
            chain.pop()
        chain.append(symbol)
        deepest = max(deepest, len(chain))
    return deepest


def _first_repeated(pieces: list[str]) -> str:
    seen: set[str] = set()
    return next(repr(piece) for piece in pieces if piece in seen or seen.add(piece))
