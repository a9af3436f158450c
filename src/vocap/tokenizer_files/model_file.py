"""SentencePiece model files: a `.model` is a protobuf (`sentencepiece_model.proto`),
parsed as data.

What a model must hold is SentencePiece's to say: it loads it, or refuses.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vocap.errors import VocapError, listed

# piece types of sentencepiece_model.proto
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6
BYTES = [f"<0x{value:02X}>" for value in range(256)]  # names of the byte pieces
# Keys of a `TrainerSpec` that decide the shape of pieces.
WHITESPACE = "split_by_whitespace"  # of models from elsewhere: false where pieces cross spaces
SHAPE = (
    "split_by_unicode_script",
    "split_by_number",
    "split_digits",
    WHITESPACE,
    "allow_whitespace_only_pieces",
    "max_sentencepiece_length",
)
MODEL = "sentencepiece.model"
_REMEDY = "train it again, or download it again from where you trust"


def find_model(path: Path) -> Path:
    """The .model that a path names, or that of a folder. Raises VocapError where there
    is none, or several.
    """
    if not path.exists():
        raise VocapError(
            f"{path}: no such tokenizer; give a .model, a tokenizer.json or a folder with one"
        )
    models = [path] if path.is_file() else list(path.glob(MODEL)) or sorted(path.glob("*.model"))
    if len(models) != 1:
        found = listed([model.name for model in models]) or "none"
        raise VocapError(
            f"{path}: not one SentencePiece .model in it ({found}); name the file itself"
        )
    return models[0]


@dataclass(frozen=True)
class Pieces:
    """The content of a model: `pieces[id]`, `scores` float32 [V] (natural log), `types`
    int8 [V].
    """

    pieces: list[str]
    scores: np.ndarray
    types: np.ndarray


def read_model(model: str | Path | bytes) -> Any:
    """The `ModelProto` of a file that SentencePiece loads, or of its bytes. Raises
    VocapError, naming the file.
    """
    proto = parse_model(model)
    build_processor(proto, "the model" if isinstance(model, bytes) else model)
    return proto


def read_pieces(model: str | Path | bytes) -> Pieces:
    """The pieces of a model, by id: of a file, or of its bytes. Raises VocapError,
    naming a file that is no model.
    """
    entries = parse_model(model).pieces
    return Pieces(
        [entry.piece for entry in entries],
        np.array([entry.score for entry in entries], np.float32),
        np.array([entry.type for entry in entries], np.int8),
    )


def pieces_of(proto: Any, *types: int) -> list[str]:
    """The pieces of some types of a `ModelProto`, by id."""
    return [entry.piece for entry in proto.pieces if entry.type in types]


def ids_of(proto: Any) -> dict[str, int]:
    """The id of each piece of a `ModelProto`."""
    return {entry.piece: number for number, entry in enumerate(proto.pieces)}


def load_processor(path: str | Path) -> Any:
    """A `SentencePieceProcessor` of a model file, of any of the four model types."""
    return build_processor(parse_model(path), path)


def build_processor(proto: Any, path: str | Path) -> Any:
    """A `SentencePieceProcessor` of a `ModelProto`. Raises VocapError, naming `path`,
    for one that is refused.
    """
    import sentencepiece  # most readers of pieces need no processor

    try:
        return sentencepiece.SentencePieceProcessor(
            model_proto=proto.SerializeToString(deterministic=True)
        )
    except (RuntimeError, OSError) as error:
        raise VocapError(
            f"{path}: SentencePiece cannot use it ({str(error).strip()}); {_REMEDY}"
        ) from None


def parse_model(model: str | Path | bytes) -> Any:
    """The `ModelProto` of a file, or of its bytes, which SentencePiece may still refuse.
    Raises VocapError, naming the file.
    """
    from google.protobuf.message import DecodeError
    from sentencepiece import sentencepiece_model_pb2

    if isinstance(model, bytes):
        return sentencepiece_model_pb2.ModelProto.FromString(model)
    path = Path(model)
    if not path.is_file():
        raise VocapError(f"{path}: no such model file; give the path of a .model")
    try:
        proto = sentencepiece_model_pb2.ModelProto.FromString(path.read_bytes())
    except DecodeError:
        proto = None
    # protobuf gives bytes for a string that is not UTF-8
    if (
        not proto
        or not proto.pieces
        or not all(isinstance(entry.piece, str) for entry in proto.pieces)
    ):
        raise VocapError(f"{path}: not a usable SentencePiece model, or one cut short; {_REMEDY}")
    return proto
