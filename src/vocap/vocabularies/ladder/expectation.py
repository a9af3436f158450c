"""The E step: how often each piece is expected to occur (`Trainer::RunEStep`, Kudo 2018, section 3.2)."""

import numpy as np

from vocap.vocabularies.ladder.kernels import LATTICES, kernel
from vocap.vocabularies.ladder.rounding import add_expected, log_sum_exp

UNKNOWN_PENALTY = np.float32(10)  # kUnkPenalty: an unknown node scores that much less than the worst piece


def with_unknown(scores: np.ndarray, unknown: int) -> np.ndarray:
    """`scores` float32 [n] followed by the score of an unknown node, `unknown` times."""
    return np.concatenate([scores, np.full(unknown, scores.min() - UNKNOWN_PENALTY, np.float32)])


@kernel(f"float32[::1]({LATTICES}, int64[::1], float32[::1], int64)")
def expected_counts(first, piece, length, start, size, frequency, score, alive):
    """Expected counts float32 [alive] of the pieces over the lattices of all types.

    Type t begins at `start[t]`, has `size[t]` characters and occurs `frequency[t]` times. Log probabilities alpha
    and beta are folded edge by edge, in float32, and counts added up in the order of the types, as
    `Lattice::PopulateMarginal` does with one thread: another order would round differently. An unknown node has id
    0 inside the trainer, so what it is expected to occur goes to piece 0.
    """
    expected = np.zeros(alive, np.float32)
    longest = 0
    for t in range(frequency.size):
        longest = max(longest, size[t])
    alpha = np.empty(longest + 1, np.float32)
    beta = np.empty(longest + 1, np.float32)
    for t in range(frequency.size):
        n = size[t]
        begin = start[t]
        # Lattice::ForwardAlgorithm: edges reach a position in the order of where they begin
        alpha[0] = 0
        alpha[1 : n + 1] = -np.inf
        for i in range(n):
            at = alpha[i]
            for edge in range(first[begin + i], first[begin + i + 1]):
                j = i + length[edge]
                alpha[j] = log_sum_exp(alpha[j], np.float32(score[piece[edge]] + at))
        # Lattice::BackwardAlgorithm
        beta[n] = 0
        for i in range(n - 1, -1, -1):
            total = np.float32(-np.inf)
            for edge in range(first[begin + i], first[begin + i + 1]):
                total = log_sum_exp(total, np.float32(score[piece[edge]] + beta[i + length[edge]]))
            beta[i] = total
        # Lattice::PopulateMarginal
        z = alpha[n]
        times = np.float32(frequency[t])
        for i in range(n):
            for edge in range(first[begin + i], first[begin + i + 1]):
                number = piece[edge]
                marginal = np.float32(
                    np.float32(np.float32(alpha[i] + score[number]) + beta[i + length[edge]]) - z
                )
                if number >= alive:
                    number = 0
                expected[number] = add_expected(expected[number], times, marginal)
    return expected
