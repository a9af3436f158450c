"""Best segmentations: Viterbi counts for pruning, as the trainer does it, and for ALP, as `encode` does it."""

import numpy as np

from vocap.unigram.em import BLOCK_EDGES, blocks
from vocap.unigram.kernels import LATTICES, ONE_THREAD, WorkBuffer, Workers, index, kernel


def trainer_counts(
    lattices: tuple[np.ndarray, ...],
    frequency: np.ndarray,
    score: np.ndarray,
    alive: int,
    workers: Workers = ONE_THREAD,
) -> np.ndarray:
    """Counts of each piece in the best paths of the types, float32 [alive] (`Lattice::Viterbi`).

    Arguments as of `expected_counts`. Counts are float32, so they are added up in the order of the types. Unknown
    nodes count for piece 0.
    """
    first, _, _, start, size = lattices
    bounds, edges = blocks(first, start, size, len(frequency), BLOCK_EDGES)
    counts = np.zeros(alive, np.float32)

    def new_buffer():
        path, path_end = np.empty(edges, np.int32), np.empty(int(np.diff(bounds).max()), np.int32)

        def compute(block: int) -> None:
            best_paths(*lattices, score, *bounds[block : block + 2], edges, path, path_end)

        def add(block: int) -> None:
            count_paths(frequency, *bounds[block : block + 2], path, path_end, counts)

        return WorkBuffer(compute, add)

    workers.in_order(len(bounds) - 1, new_buffer)
    return counts


@kernel(f"void({LATTICES}, float32[::1], int64, int64, int64, int32[::1], int32[::1])")
def best_paths(first, piece, length, start, size, score, begin, stop, most, path, path_end):
    """The best paths of the types from `begin` to `stop`, which have no more than `most` edges.

    The pieces of the first type, from its last to its first, are in `path` up to `path_end[0]`; then the others'.
    The trainer compares the nodes that end at a position once for every node that begins there, after adding its
    score: where rounding makes two sums equal, the node that begins first wins.
    """
    end = first.size - 1
    longest = 0
    for t in range(begin, stop):
        longest = max(longest, size[t])
    total = np.empty(most, np.float32)  # backtrace_score of each edge of the type
    previous = np.empty(most, np.int32)
    after = np.empty(most, np.int32)  # the next edge that ends at the same position
    head = np.empty(longest + 1, np.int32)
    tail = np.empty(longest + 1, np.int32)
    written = 0
    for t in range(begin, stop):
        n = size[t]
        place = end - 1 - start[t]  # of the type's first position
        base = first[place - n + 1]
        # Forward: the best way to each edge
        head[: n + 1] = -1
        for i in range(n):
            for edge in range(first[place - i], first[place - i + 1]):
                e = edge - base
                s = score[piece[edge]]
                best = np.int32(-1)
                if i == 0:
                    total[e] = s
                else:
                    left = head[i]
                    while left >= 0:
                        sum_ = np.float32(total[left] + s)
                        if best < 0 or sum_ > total[e]:
                            best = left
                            total[e] = sum_
                        left = after[left]
                previous[e] = best
                j = i + (length[edge] & 127)
                after[e] = -1
                if head[j] < 0:
                    head[j] = e
                else:
                    after[tail[j]] = e
                tail[j] = e
        # Back from the best of the last ones
        best = head[n]
        left = after[best]
        while left >= 0:
            if total[left] > total[best]:
                best = left
            left = after[left]
        while best >= 0:
            path[written] = piece[base + best]
            written += 1
            best = previous[best]
        path_end[t - begin] = written


@kernel("void(int64[::1], int64, int64, int32[::1], int32[::1], float32[::1])")
def count_paths(frequency, begin, stop, path, path_end, counts):
    """Add the frequency of each type from `begin` to `stop` to the `counts` of the pieces in its best path."""
    at = 0
    for t in range(begin, stop):
        while at < path_end[t - begin]:
            number = path[at] if path[at] < counts.size else 0
            counts[number] = np.float32(counts[number] + np.float32(frequency[t]))
            at += 1


@kernel(f"void({LATTICES}, int64[:, ::1], float32[::1], int64, int64[:, ::1])")
def encoder_counts(first, piece, length, start, size, frequency, score, unknown, counts):
    """Add to `counts` int64 [texts, pieces] how often `encode` gives each piece (`Model::EncodeOptimized`).

    One best sum a position, kept in float32 and compared in float64 (there, a conditional expression makes scores
    double, but for <unk>); where sums are equal, the piece that begins first wins. `score` holds minus infinity
    for pieces that the model lacks; from `unknown` on, pieces are characters without one, and a run of them is
    a single <unk>. `frequency` int64 [texts, types].
    """
    texts = frequency.shape[0]
    end = first.size - 1
    longest = 0
    for t in range(size.size):
        longest = max(longest, size[t])
    best = np.empty(longest + 1, np.float32)
    chosen = np.empty(longest + 1, np.int32)
    for t in range(size.size):
        n = size[t]
        # Forward: the best sum at each position
        best[0] = 0
        best[1 : n + 1] = -np.inf
        i = index(0)
        edge = index(first[end - start[t]])
        begin = index(first[end - start[t] - n])
        while edge > begin:
            edge -= index(1)
            number = index(piece[edge])
            sum_ = np.float64(best[i]) + np.float64(score[number])
            if number >= index(unknown):
                sum_ = np.float64(np.float32(sum_))
            bits = index(length[edge])
            j = i + (bits & index(127))
            if sum_ > best[j]:
                best[j] = sum_
                chosen[j] = edge
            i += bits >> index(7)
        # Back from the end
        j = index(n)
        in_run = False
        while j > index(0):
            edge = index(chosen[j])
            number = index(min(piece[edge], unknown))
            is_unknown = number == index(unknown)
            if not (is_unknown and in_run):
                for text in range(texts):
                    counts[text, number] += frequency[text, t]
            in_run = is_unknown
            j -= index(length[edge]) & index(127)
