"""Best segmentations: Viterbi counts for pruning, as the trainer does it, and for ALP, as `encode` does it."""

import numpy as np

from vocap.vocabularies.ladder.kernels import LATTICES, index, kernel


@kernel(f"float32[::1]({LATTICES}, int64[::1], float32[::1], int64)")
def trainer_counts(first, piece, length, start, size, frequency, score, alive):
    """How often each piece stands in the best paths of the types, float32 [alive] (`Lattice::Viterbi`).

    The trainer compares the nodes that end at a position once for every node that begins there, after adding its
    score: where rounding makes two sums equal, the node that begins first wins. Unknown nodes count for piece 0.
    """
    counts = np.zeros(alive, np.float32)
    longest, most = 0, 0
    end = first.size - 1
    for t in range(frequency.size):
        longest = max(longest, size[t])
        most = max(most, first[end - start[t]] - first[end - start[t] - size[t]])
    total = np.empty(most, np.float32)  # backtrace_score of each edge of the type
    previous = np.empty(most, np.int32)
    after = np.empty(most, np.int32)  # the next edge that ends at the same position
    head = np.empty(longest + 1, np.int32)
    tail = np.empty(longest + 1, np.int32)
    for t in range(frequency.size):
        n = size[t]
        begin = end - 1 - start[t]  # of the type's first position
        base = first[begin - n + 1]
        head[: n + 1] = -1
        for i in range(n):
            for edge in range(first[begin - i], first[begin - i + 1]):
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
        best = head[n]
        left = after[best]
        while left >= 0:
            if total[left] > total[best]:
                best = left
            left = after[left]
        while best >= 0:
            number = piece[base + best]
            if number >= alive:
                number = 0
            counts[number] = np.float32(counts[number] + np.float32(frequency[t]))
            best = previous[best]
    return counts


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
