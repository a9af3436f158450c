"""The trunk of a descent as a file, so that each T is a job of its own."""

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from vocap.allocation.pieces.descent import Rungs, Trunk
from vocap.errors import VocapError
from vocap.files.atomic import replacing


def write_trunk(path: str | os.PathLike, trunk: Trunk, weights: Mapping[str, float]) -> None:
    """Write a trunk, and the `weights` of its languages, whole or not at all."""
    arrays = {
        **_arrays("common", trunk.common),
        **_arrays("pool", trunk.pool),
        "required": _code_points(sorted(trunk.required)),
        "words": _code_points(trunk.words),
        "word_scores": trunk.word_scores,
        "languages": np.array(list(weights)),
        "weights": np.array(list(weights.values()), np.float64),
    }
    with replacing(path, "wb") as file:
        np.savez(file, **arrays)


def read_trunk(path: str | os.PathLike, weights: Mapping[str, float]) -> Trunk:
    """Read a trunk; raises VocapError for another kind of file, or a trunk of other languages or weights."""
    try:
        with np.load(Path(path), allow_pickle=False) as held:
            of = dict(zip(held["languages"].tolist(), held["weights"].tolist(), strict=True))
            if "words" not in held:
                raise VocapError(f"{path}: a trunk of an earlier version; make it again (vocap trunk)")
            rungs = _rungs("common", held), _rungs("pool", held)
            trunk = Trunk(*rungs, frozenset(_strings(held["required"])), *_words(held))
    except FileNotFoundError:
        raise VocapError(f"{path}: no such file; make it (vocap trunk)") from None
    except (OSError, ValueError, KeyError, TypeError, IndexError, EOFError) as error:
        raise VocapError(f"{path}: not the trunk of a descent ({error}); make it again (vocap trunk)") from None
    if of != dict(weights):
        raise VocapError(
            f"{path}: a trunk of other languages or weights than this allocation; make it again (vocap trunk)"
        )
    return trunk


def _arrays(name: str, rungs: Rungs) -> dict[str, np.ndarray]:
    return {
        f"{name}_pieces": _code_points(rungs.pieces),
        f"{name}_sizes": np.array(list(map(len, rungs.scores)), np.int64),
        f"{name}_scores": np.concatenate(rungs.scores),
    }


def _rungs(name: str, held: Mapping[str, np.ndarray]) -> Rungs:
    """Raises ValueError for arrays that do not fit together."""
    pieces, sizes = _strings(held[f"{name}_pieces"]), held[f"{name}_sizes"]
    scores = held[f"{name}_scores"].astype(np.float32, casting="equiv")
    falling = len(sizes) and sizes[0] == len(pieces) and sizes[-1] > 0 and (np.diff(sizes) <= 0).all()
    if not falling or sizes.sum() != len(scores):
        raise ValueError("its arrays do not fit together")
    return Rungs(pieces, np.split(scores, np.cumsum(sizes)[:-1]))


def _words(held: Mapping[str, np.ndarray]) -> tuple[list[str], np.ndarray]:
    """Raises ValueError for arrays that do not fit together."""
    words, scores = _strings(held["words"]), held["word_scores"].astype(np.float32, casting="equiv")
    if len(words) != len(scores):
        raise ValueError("its arrays do not fit together")
    return words, scores


def _code_points(pieces: list[str]) -> np.ndarray:
    """Pieces as code points, int32, with a 0 between them: no piece holds one."""
    return np.frombuffer("\0".join(pieces).encode("utf-32-le"), np.int32)


def _strings(points: np.ndarray) -> list[str]:
    text = points.astype(np.int32, casting="equiv").tobytes().decode("utf-32-le")
    return text.split("\0") if text else []
