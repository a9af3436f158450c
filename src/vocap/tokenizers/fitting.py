"""Scores for a vocabulary that is already chosen: which pieces, and how likely each is (VOCAP's last step).

Every language brings the unigram probabilities of its chosen model, p_l(x) = exp(score), 0 for a piece that the
model lacks. docs/tokenizers.md compares the ways to join them; the default won on held-out text.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

FLOOR = 0.5  # of an expected or Viterbi count, as in the authors' trainer (kExpectedFrequencyThreshold)
ROUNDS = 2  # of Viterbi counts
EM_ROUNDS = 3  # of expected counts; a fourth changes the fourth digit of held-out ALP
PRIOR = 0.3  # prior counts of a piece in EM, on average; less lets the sample speak more, and held-out ALP falls
UNLISTED = 10.0  # a piece that no model scores lies this far (nats) below the lowest one that is scored

Count = Callable[[np.ndarray], np.ndarray]  # scores [n] to the pieces' counts in a sample [n]


def mixture(
    pieces: Sequence[str], models: Mapping[str, Mapping[str, float]], weights: Mapping[str, float]
) -> np.ndarray:
    """log sum_l w_l p_l(x) for each piece, [n]; weights sum to 1; NaN where no model has the piece."""
    # math, not numpy's vector code: the same bits on every processor
    terms: dict[str, float] = {}
    for language, scores in models.items():
        weight = weights[language]
        for piece, score in scores.items():
            terms[piece] = terms.get(piece, 0.0) + weight * math.exp(score)
    return np.array([math.log(total) if (total := terms.get(piece, 0.0)) > 0 else math.nan for piece in pieces])


def maximum(pieces: Sequence[str], models: Mapping[str, Mapping[str, float]]) -> np.ndarray:
    """max_l log p_l(x) for each piece, [n]; NaN where no model has the piece."""
    best: dict[str, float] = {}
    for scores in models.values():
        for piece, score in scores.items():
            if score > best.get(piece, -math.inf):
                best[piece] = score
    return np.array([best.get(piece, math.nan) for piece in pieces], np.float64)


def fill_unlisted(scores: np.ndarray) -> np.ndarray:
    """Finite scores [n]: a piece that no model scores (NaN) gets the lowest score less 10."""
    lowest = np.nanmin(scores) if not np.isnan(scores).all() else 0.0
    return np.where(np.isnan(scores), lowest - UNLISTED, scores)


def viterbi(scores: np.ndarray, best: Count, rounds: int = ROUNDS) -> np.ndarray:
    """Re-estimated scores [n]: `rounds` times log(max(c, 0.5) / sum), c the Viterbi counts of a sample."""
    for _ in range(rounds):
        scores = _log_shares(np.maximum(best(scores), FLOOR))
    return scores


def expectation_maximisation(
    scores: np.ndarray, expected: Count, prior: float = PRIOR, rounds: int = EM_ROUNDS
) -> np.ndarray:
    """Re-estimated scores [n]: `rounds` times log((e + prior n p0) / sum), e the expected counts in a sample.

    p0 is the distribution of the scores given. No piece is dropped, and none that p0 knows is lost: the maximum a
    posteriori under a Dirichlet prior of prior x n counts, spread as p0.
    """
    start = np.array([math.exp(score) for score in scores.tolist()])
    counts = prior * len(start) * (start / math.fsum(start.tolist()))
    for _ in range(rounds):
        scores = _log_shares(expected(scores) + counts)
    return scores


def _log_shares(counts: np.ndarray) -> np.ndarray:
    """log(c / sum) for each count, [n]; the same bits on every processor."""
    total = math.fsum(counts.tolist())
    return np.array([math.log(count / total) for count in counts.tolist()])


def make_room(
    pieces: Sequence[str], scores: np.ndarray, symbols: Collection[str], excess: int
) -> tuple[list[int], list[int]]:
    """Indices of the pieces that stay, in their order, and of the `excess` pieces that go, worst first.

    Only pieces of several characters go: those that hold a user-defined symbol first, which no text could
    reach, then the lowest scores (ties: the later string). A piece that is itself a symbol is in neither list,
    for it becomes a symbol. Raises ValueError, with the number of rows that are short, if too few can go.
    """
    pieces_left = [index for index, piece in enumerate(pieces) if piece not in symbols]
    candidates = [index for index in pieces_left if len(pieces[index]) > 1]
    if excess > len(candidates):
        raise ValueError(excess - len(candidates))

    by_string = sorted(candidates, key=pieces.__getitem__, reverse=True)  # sorts are stable: this settles ties
    by_worth = sorted(
        by_string, key=lambda index: (not any(symbol in pieces[index] for symbol in symbols), scores[index])
    )
    dropped = by_worth[:excess]
    gone = set(dropped)
    return [index for index in pieces_left if index not in gone], dropped
