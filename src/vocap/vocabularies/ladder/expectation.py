"""The E step: how often each piece is expected to occur (`Trainer::RunEStep`, Kudo 2018, section 3.2).

    alpha(j) = log of the sum, over all ways to cut what comes before position j, of their probabilities
    beta(i)  = the same for what comes after position i
    a piece on an edge from i to j occurs with probability exp(alpha(i) + score + beta(j) - alpha(end))

Types are independent of each other until their counts are added up, in the order of the types. So they are cut
into blocks: probabilities are computed for some blocks at once, then each block is added when its turn comes.
"""

import numpy as np

from vocap.vocabularies.ladder import log_domain, scaled
from vocap.vocabularies.ladder.crew import ALONE, Bench, Crew
from vocap.vocabularies.ladder.kernels import kernel

UNKNOWN_PENALTY = np.float32(10)  # kUnkPenalty: an unknown node scores that much less than the worst piece
BLOCK_EDGES = 1 << 16  # a block takes a millisecond, and 16 bytes an edge, which stay in a processor's cache


def with_unknown(scores: np.ndarray, unknown: int) -> np.ndarray:
    """`scores` float32 [n] followed by the score of an unknown node, `unknown` times."""
    return np.concatenate([scores, np.full(unknown, scores.min() - UNKNOWN_PENALTY, np.float32)])


def expected_counts(
    first: np.ndarray,
    piece: np.ndarray,
    length: np.ndarray,
    start: np.ndarray,
    size: np.ndarray,
    frequency: np.ndarray,
    score: np.ndarray,
    alive: int,
    crew: Crew = ALONE,
    arithmetic: str = "exact",
) -> np.ndarray:
    """Expected counts float32 [alive] of the pieces over the lattices of all types.

    `first` int32, `piece` int32, `length` uint8: a `Lattice`. Type t begins at `start[t]`, has `size[t]`
    characters (int32 both) and occurs `frequency[t]` times (int64 [types]; lattices of further types are not
    counted). `start` rises. `score` float32 [n + unknown]. The sums are those of one thread for any `crew`. An
    unknown node has id 0 inside the trainer, so what it is expected to occur goes to piece 0.

    `exact` rounds as SentencePiece does, `fast` multiplies probabilities in float64.
    """
    lattices = (first, piece, length, start, size)
    bounds, edges = blocks(first, start, size, len(frequency), BLOCK_EDGES)
    types = int(np.diff(bounds).max(initial=0))
    if arithmetic == "fast":
        expected = np.zeros(alive, np.float64)
        longest = int(size[: len(frequency)].max(initial=0))
        weight = np.exp(score.astype(np.float64))

        def new_bench():
            addend = np.empty(edges)

            def compute(block: int) -> None:
                scaled.occurrences(
                    *lattices, frequency, score, weight, *bounds[block : block + 2], longest, addend
                )

            def add(block: int) -> None:
                scaled.add_up(*lattices, *bounds[block : block + 2], addend, expected)

            return Bench(compute, add)

    else:
        expected = np.zeros(alive, np.float32)
        margin = log_domain.margin_for(score, size[: len(frequency)])

        def new_bench():
            marginal, after, addend = np.empty(edges, np.float32), np.empty(edges, np.float32), np.empty(edges)
            total = np.empty(types, np.float32)

            def compute(block: int) -> None:
                span = bounds[block : block + 2]
                log_domain.marginals(*lattices, frequency, score, margin, *span, marginal, after, total, addend)

            def add(block: int) -> None:
                log_domain.add_up(*lattices, frequency, *bounds[block : block + 2], marginal, addend, expected)

            return Bench(compute, add)

    crew.in_turns(len(bounds) - 1, new_bench)
    return expected.astype(np.float32, copy=False)


@kernel("Tuple((int64[::1], int64))(int32[::1], int32[::1], int32[::1], int64, int64)")
def blocks(first, start, size, types, most):
    """Cut `types` into blocks of about `most` edges: where each begins, int64; the largest's edges."""
    end = first.size - 1
    bounds = np.zeros(types + 1, np.int64)
    count, largest, edges = 0, 0, 0
    for t in range(types):
        edges += first[end - start[t]] - first[end - start[t] - size[t]]
        largest = max(largest, edges)
        if edges >= most or t == types - 1:
            count += 1
            bounds[count] = t + 1
            edges = 0
    return bounds[: count + 1].copy(), largest
