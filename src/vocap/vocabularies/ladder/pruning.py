"""Which pieces a smaller vocabulary keeps (`Trainer::PruneSentencePieces`)."""

import math

import numpy as np

from vocap.vocabularies.ladder.crew import ALONE, Crew
from vocap.vocabularies.ladder.kernels import kernel
from vocap.vocabularies.ladder.lattice import Lattice

SHRINKING_FACTOR = np.float32(0.75)

DROP, KEEP, CANDIDATE = 0, 1, 2  # verdicts of `piece_losses`
_BLOCK = 1 << 12  # pieces that a thread takes at a time: a millisecond


def pruned_size(pieces: int) -> int:
    """The size of the next rung below one of `pieces` pieces, unless a vocabulary's desired size is larger."""
    return int(SHRINKING_FACTOR * np.float32(pieces))


def desired_size(vocabulary: int) -> int:
    """`desired_vocab_size_`: EM and pruning stop at 1.1 times the size asked for."""
    return int(vocabulary * 1.1)


def piece_losses(
    lattice: Lattice,
    place: np.ndarray,
    length: np.ndarray,
    score: np.ndarray,
    counts: np.ndarray,
    total: np.float32,
    crew: Crew = ALONE,
) -> tuple[np.ndarray, np.ndarray]:
    """Verdict int8 [n] on each piece, and the loss of likelihood without it, float32 [n], relative to `total`.

    DROP: no best path uses the piece, or it is not its own best segmentation. KEEP: no other pieces can replace it.
    CANDIDATE: pruning compares its loss. `place` and `length` int32 [n]: position of each piece in the text;
    `score` float32 [n + unknown], `counts` float32 [n] of `trainer_counts`, `total`: occurrences of all types
    (0.2.2: sum of `counts`).
    """
    edges = lattice.first, lattice.piece, lattice.length
    verdict, loss = np.full(len(counts), DROP, np.int8), np.zeros(len(counts), np.float32)
    arguments = *edges, place, length, score, counts, np.float32(total), _sum(counts)
    bounds = [*range(0, len(counts), _BLOCK), len(counts)]
    crew.all_of(len(bounds) - 1, lambda block: losses(*arguments, *bounds[block : block + 2], verdict, loss))
    return verdict, loss


def rank_pieces(verdict: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """The pieces in the order in which pruning keeps them, int32: any pruned list is a beginning of this one.

    First those that cannot be replaced, in their old order, then the candidates by falling loss.
    """
    keep = np.flatnonzero(verdict == KEEP)
    candidates = np.flatnonzero(verdict == CANDIDATE)
    return np.concatenate([keep, candidates[np.argsort(-loss[candidates], kind="stable")]]).astype(np.int32)


def _sum(counts: np.ndarray) -> np.float32:
    """Added up one after the other, in double precision."""
    return np.float32(np.add.accumulate(counts, dtype=np.float64)[-1])


@kernel("Tuple((float32, int64))(int32[::1], int32[::1], uint8[::1], int64, int64, float32[::1], int32[::1])")
def second_best(first, piece, length, place, size, score, path):
    """The best segmentation of a piece into others: its score and how many; `path` gets them, the last first."""
    best = np.full(size + 1, -np.inf, np.float32)
    chosen = np.empty(size + 1, np.int32)
    best[0] = 0
    begin = first.size - 2 - place
    for i in range(size):
        for edge in range(first[begin - i], first[begin - i + 1]):
            j = i + (length[edge] & 127)
            if j > size or (i == 0 and j == size):
                continue
            sum_ = np.float32(best[i] + score[piece[edge]])
            if sum_ > best[j]:
                best[j] = sum_
                chosen[j] = edge
    pieces = 0
    j = size
    while j > 0:
        path[pieces] = piece[chosen[j]]
        pieces += 1
        j -= length[chosen[j]] & 127
    return best[size], pieces


@kernel(
    "void(int32[::1], int32[::1], uint8[::1], int32[::1], int32[::1], float32[::1], float32[::1], float32, "
    "float32, int64, int64, int8[::1], float32[::1])"
)
def losses(first, piece, length, place, size, score, counts, total, sum_, begin, stop, verdict, loss):
    """For each piece from `begin` to `stop`: drop, keep or candidate, and a candidate's loss.

    With f its count, S the `sum_` of counts and m the pieces of its second best segmentation a_1..a_m:
    loss = f / total x [log f / S - sum_j log (f_aj + f) / (S + f (m - 1))].
    """
    alive = counts.size
    log_sum = np.float32(math.log(np.float64(sum_)))
    path = np.empty(256, np.int32)
    for number in range(begin, stop):
        f = counts[number]
        if f == 0:
            continue
        if size[number] == 1:
            verdict[number] = KEEP
            continue
        best, pieces = second_best(first, piece, length, place[number], size[number], score, path)
        if best > score[number]:
            continue  # its Viterbi path is split
        verdict[number] = CANDIDATE
        log_piece = np.float32(math.log(np.float64(f)) - np.float64(log_sum))
        log_sum_without = np.float32(
            math.log(np.float64(np.float32(sum_ + np.float32(f * np.float32(pieces - 1)))))
        )
        log_without = np.float32(0)
        for at in range(pieces - 1, -1, -1):
            other = path[at]
            if other >= alive:
                other = 0  # an unknown node has id 0 inside the trainer
            log_without = np.float32(
                np.float64(log_without)
                + (math.log(np.float64(np.float32(counts[other] + f))) - np.float64(log_sum_without))
            )
        loss[number] = np.float32(np.float32(f / total) * np.float32(log_piece - log_without))
