"""The ids of two tokenizers: pieces that only one has, and pieces that have another id."""

from dataclasses import dataclass

import numpy as np

from vocap.tokenizers.diff.splits import Splitter

COLUMNS = ("piece", "status", "id_a", "id_b", "uses_a", "uses_b")
ONLY_A, ONLY_B, MOVED = "only_a", "only_b", "moved"


@dataclass(frozen=True)
class PieceChange:
    """A piece and its id in each; `uses`: how often each tokenizer takes it on the text compared."""

    piece: str
    id_a: int | None
    id_b: int | None
    uses_a: int
    uses_b: int

    @property
    def status(self) -> str:
        return ONLY_A if self.id_b is None else ONLY_B if self.id_a is None else MOVED

    def row(self) -> tuple:
        """The cells of `COLUMNS`."""
        return self.piece, self.status, self.id_a, self.id_b, self.uses_a, self.uses_b


def compare_ids(a: Splitter, b: Splitter, counts_a: np.ndarray, counts_b: np.ndarray) -> list[PieceChange]:
    """Every piece whose id is not the same in both, the most used first, then by piece.

    `counts` int64 [V]: how often each id stands in the text. Pieces are compared in the common writing; of two ids
    with one writing (a byte and a character), the last counts.
    """
    ids_a, ids_b = ({piece: n for n, piece in enumerate(side.pieces) if piece is not None} for side in (a, b))
    changes = []
    for piece in {**ids_a, **ids_b}:
        one, other = ids_a.get(piece), ids_b.get(piece)
        if one != other:
            uses = (0 if n is None else int(counts[n]) for n, counts in ((one, counts_a), (other, counts_b)))
            changes.append(PieceChange(piece, one, other, *uses))
    return sorted(changes, key=lambda change: (-max(change.uses_a, change.uses_b), change.piece))
