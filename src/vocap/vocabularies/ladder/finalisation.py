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
    all_ids = np.concatenate([ids, missing])
    all_scores = np.concatenate([scores, scores.min() + penalties])
    ranked = np.argsort(_falling(all_scores) << np.uint64(32) | alphabetical[all_ids].astype(np.uint64))
    is_other = all_ids[ranked] >= required
    chosen = ranked[~is_other | (np.cumsum(is_other) <= size - META_COUNT - required)]
    return FinalPieces(all_ids[chosen], all_scores[chosen])


def _falling(scores: np.ndarray) -> np.ndarray:
    """Whole numbers, uint64, in the opposite order of float32 scores, so that one sort does for score and text."""
    bits = (scores + np.float32(0)).view(np.uint32).astype(np.uint64)  # adding 0 leaves no -0
    return np.where(bits >> np.uint64(31), bits, np.uint64(0x7FFFFFFF) - bits)


def _running(count: int) -> np.ndarray:
    """0, 0.0001, 0.0002 ... as float32 sums, each rounded."""
    steps = np.full(count, PENALTY, np.float32)
    steps[:1] = 0
    return np.add.accumulate(steps, dtype=np.float32)
