"""From the pieces of a state to the ids of a model (`Trainer::FinalizeSentencePieces`)."""

from dataclasses import dataclass

import numpy as np

META_COUNT = 3  # <unk> <s> </s>
PENALTY = np.float32(0.0001)  # kMinScorePenaltyDelta


@dataclass(frozen=True)
class FinalPieces:
    """The pieces of a model after the meta pieces: `ids` int32 [V - 3] in the ladder's numbering, by rank of
    score, and `scores` float32 [V - 3], falling."""

    ids: np.ndarray
    scores: np.ndarray

    @property
    def size(self) -> int:
        """Ids of the model, the meta pieces included."""
        return len(self.ids) + META_COUNT


def finalise(
    size: int, ids: np.ndarray, scores: np.ndarray, required: int, alphabetical: np.ndarray
) -> FinalPieces:
    """All required characters, then the best other pieces, until there are `size` ids or no more pieces.

    `ids` int32 [n] and `scores` float32 [n] are the state; ids below `required` are the required characters, most
    frequent first; `alphabetical` int32 ranks all pieces by their text, for equal scores. A required character
    without a score gets the lowest one and, for each before it, a penalty that adds to it.
    """
    missing = np.setdiff1d(np.arange(required, dtype=np.int32), ids[ids < required])
    penalties = _running(len(missing))  # SentencePiece's word; they are added to the score
    is_required = ids < required
    others = np.flatnonzero(~is_required)
    order = others[np.lexsort((alphabetical[ids[others]], -scores[others]))]
    order = order[: max(size - META_COUNT - required, 0)]
    all_ids = np.concatenate([ids[is_required], missing, ids[order]])
    all_scores = np.concatenate([scores[is_required], scores.min() + penalties, scores[order]])
    ranked = np.lexsort((alphabetical[all_ids], -all_scores))
    return FinalPieces(all_ids[ranked], all_scores[ranked])


def _running(count: int) -> np.ndarray:
    """0, 0.0001, 0.0002 ... as float32 sums, each rounded."""
    steps = np.full(count, PENALTY, np.float32)
    steps[:1] = 0
    return np.add.accumulate(steps, dtype=np.float32)
