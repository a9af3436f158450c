"""The trunk of a descent as a file, so that each T is a job of its own."""

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from vocap.allocation.pieces.descent import Trunk
from vocap.errors import VocapError
from vocap.files import replacing

_ARRAYS = {"text": np.int32, "sizes": np.int64, "scores": np.float32, "required": np.bool_}


def write_trunk(path: str | os.PathLike, trunk: Trunk, weights: Mapping[str, float]) -> None:
    """Write a trunk, and the `weights` of the languages that it is of, whole or not at all."""
    text = "\n".join(trunk.pieces)  # no piece holds a line feed: text is cut at them
    with replacing(path, "wb") as file:
        np.savez(
            file,
            text=np.frombuffer(text.encode("utf-32-le"), np.int32),
            sizes=np.array(list(map(len, trunk.scores)), np.int64),
            scores=np.concatenate(trunk.scores),
            required=trunk.required,
            languages=np.array(list(weights)),
            weights=np.array(list(weights.values()), np.float64),
        )


def read_trunk(path: str | os.PathLike, weights: Mapping[str, float]) -> Trunk:
    """Read a trunk; raises VocapError for a file that is none, or one of other languages or weights."""
    try:
        with np.load(Path(path), allow_pickle=False) as held:
            arrays = {name: held[name].astype(kind, casting="equiv") for name, kind in _ARRAYS.items()}
            of = dict(zip(held["languages"].tolist(), held["weights"].tolist(), strict=True))
        pieces = arrays["text"].tobytes().decode("utf-32-le").split("\n")
        bounds = np.cumsum(arrays["sizes"])
        scores = np.split(arrays["scores"], bounds[:-1])
        fits = len(pieces) == len(arrays["required"]) == len(scores[0]) and bounds[-1] == len(arrays["scores"])
        if not fits or (np.diff(arrays["sizes"]) > 0).any() or arrays["sizes"].min() < 0:
            raise ValueError("its arrays do not fit together")
    except FileNotFoundError:
        raise VocapError(f"{path}: no such file; make it (vocap trunk)") from None
    except (OSError, ValueError, KeyError, TypeError, IndexError, EOFError) as error:
        raise VocapError(f"{path}: not the trunk of a descent ({error}); make it again (vocap trunk)") from None
    if of != dict(weights):
        raise VocapError(
            f"{path}: a trunk of other languages or weights than those asked for; make it again (vocap trunk)"
        )
    return Trunk(pieces, scores, arrays["required"])
