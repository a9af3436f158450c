"""The index of a language's pieces: every distinct piece of its models, and the sizes
whose model holds it.

Reading fifty models takes seconds, reading their index milliseconds. `pieces.npz` is an
uncompressed zip of plain arrays, equal bytes for equal models:

- `sizes` int32 [S]: the sizes that are `ok` in the curve, rising
- `text` uint8 [B], `offsets` int64 [P + 1]: the P pieces as one UTF-8 text, in the
  order of their first occurrence
- `hashes` uint64 [P]: BLAKE2b of a piece's UTF-8, by which pieces of several languages
  are matched
- `piece` int32 [I], `start`, `stop` uint16 [I]: piece `piece[k]` is in the models of
  `sizes[start[k]:stop[k]]`; consecutive models are almost nested, so most pieces have a
  single interval
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vocap.errors import VocapError, log
from vocap.files.io import replacing
from vocap.files.written import written_by
from vocap.tokenizer_files.model_file import NORMAL, USER_DEFINED, Pieces, read_pieces

NAME = "pieces.npz"
_DTYPES = {
    "sizes": np.int32,
    "text": np.uint8,
    "offsets": np.int64,
    "hashes": np.uint64,
    "piece": np.int32,
    "start": np.uint16,
    "stop": np.uint16,
}


@dataclass(frozen=True)
class PieceIndex:
    """P distinct pieces of S models; see the module for the arrays."""

    sizes: np.ndarray
    text: np.ndarray
    offsets: np.ndarray
    hashes: np.ndarray
    piece: np.ndarray
    start: np.ndarray
    stop: np.ndarray

    def strings(self, pieces: np.ndarray) -> list[str]:
        """The text of these pieces (numbers below P)."""
        text = self.text.tobytes()
        starts = self.offsets[pieces].tolist()
        stops = self.offsets[np.asarray(pieces) + 1].tolist()
        return [text[start:stop].decode() for start, stop in zip(starts, stops, strict=True)]


def hash_pieces(pieces: Iterable[str]) -> np.ndarray:
    """A 64-bit content hash of each piece [P]; two of five million different ones agree
    once in a million runs.
    """
    digests = b"".join(hashlib.blake2b(piece.encode(), digest_size=8).digest() for piece in pieces)
    return np.frombuffer(digests, "<u8").astype(np.uint64)


def build(sizes: list[int], vocabularies: Iterable[Iterable[str]]) -> PieceIndex:
    """The index of `vocabularies`, the pieces of the models of `sizes` (which rise),
    held one at a time.
    """
    number: dict[str, int] = {}

    def numbered(pieces: Iterable[str]) -> np.ndarray:
        return np.array([number.setdefault(piece, len(number)) for piece in pieces], np.int32)

    members = list(map(numbered, vocabularies))
    return _index(sizes, members, list(number))


def build_numbered(
    sizes: list[int], members: list[np.ndarray], strings: Callable[[np.ndarray], list[str]]
) -> PieceIndex:
    """`build` of at least one vocabulary, with pieces given by number: those of a
    vocabulary are `members[rank]`, distinct integers; `strings` gives the text of
    several.
    """
    number = np.full(max(int(ids.max()) for ids in members) + 1, -1, np.int32)
    found = []
    count = 0
    for ids in members:
        new = ids[number[ids] < 0]
        number[new] = np.arange(count, count + len(new))
        count += len(new)
        found.append(new)
    return _index(sizes, [number[ids] for ids in members], strings(np.concatenate(found)))


def _index(sizes: list[int], members: list[np.ndarray], pieces: list[str]) -> PieceIndex:
    """The index of `pieces`, of which a vocabulary has those with the numbers
    `members[rank]`.
    """
    present = np.zeros((len(pieces), len(sizes) + 2), np.int8)
    for rank, ids in enumerate(members, start=1):
        present[ids, rank] = 1
    edges = np.diff(present, axis=1)
    # row by row, so the k-th start and the k-th stop belong together
    piece, start = np.nonzero(edges == 1)
    stop = np.nonzero(edges == -1)[1]
    encoded = [text.encode() for text in pieces]
    arrays = {
        "sizes": sizes,
        "text": np.frombuffer(b"".join(encoded), np.uint8),
        "offsets": np.concatenate([[0], np.cumsum([len(text) for text in encoded])]),
        "hashes": hash_pieces(pieces),
        "piece": piece,
        "start": start,
        "stop": stop,
    }
    return PieceIndex(
        **{name: np.asarray(values, _DTYPES[name]) for name, values in arrays.items()}
    )


def read_index(path: str | Path) -> PieceIndex:
    """Read an index file."""
    with written_by("ladder", path), np.load(path) as arrays:  # checks the sum of each array
        return PieceIndex(**{name: arrays[name] for name in _DTYPES})


def load_or_build(target: str | Path, models: str | Path, sizes: list[int]) -> PieceIndex:
    """The index `target` of `models/{size}.model`; made, and kept there, when missing,
    damaged or out of date.

    It is out of date where it has other sizes, or is older than a model. In a folder
    that cannot be written the index is made in memory, and said so in the log. Raises
    VocapError for a model that is missing or damaged.
    """
    target, paths = Path(target), [Path(models) / f"{size}.model" for size in sizes]
    for path, size in zip(paths, sizes, strict=True):
        if not path.exists():
            raise VocapError(
                f"{path}: no such model, but the curve calls size {size} ok; "
                f"delete the curve and run the workflow again, or remove the row"
            )
    if target.exists():
        try:
            index = read_index(target)
            age = target.stat().st_mtime_ns
            if index.sizes.tolist() == sizes and all(
                path.stat().st_mtime_ns <= age for path in paths
            ):
                return index
            log.info("%s: made from other models; reading them again", target)
        except VocapError as error:
            log.warning("%s; reading the models instead", error)
    index = build(sizes, (text_pieces(read_pieces(path)) for path in paths))
    try:
        save_index(index, target)
    except OSError as error:
        log.warning(
            "%s: cannot be written (%s); the models are read again next time",
            target,
            error.strerror,
        )
    return index


def text_pieces(model: Pieces) -> list[str]:
    """The pieces of a model that represent text, by id: its part of an index."""
    kept = (model.types == NORMAL) | (model.types == USER_DEFINED)
    return [model.pieces[number] for number in np.flatnonzero(kept)]


def save_index(index: PieceIndex, target: str | Path) -> None:
    """Write an index, equal bytes for equal arrays."""
    with replacing(target, "wb") as file:  # numpy dates every member 1980-01-01
        np.savez(file, **{name: getattr(index, name) for name in _DTYPES})
