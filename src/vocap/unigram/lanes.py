"""E steps and best segmentations of eight lists of pieces at once, over lattices that
they share.

Branches of one rung have nearly the same pieces: each has the best of one ranking. So
their E steps are computed together, over the lattices of the longest list, a list in
each of the eight *lanes* of a vector register. A piece that a list lacks has the score
`DEAD` in its lane, which leaves every sum as it is. All sums are those of `em`, rounded
in the same order.

As there, SentencePiece's slow functions are approximated, sums that may round otherwise
are found, and those are computed again with the library functions. The approximations
need no table, as processors read eight elements of a table one after the other.

Arrays with a row of eight lanes for each element have the shape [elements, 8]. What is
done to rows is written as LLVM's vector instructions (`fold`, `keep_probability`,
`add_occurrences`, `keep_best`): numba leaves a loop over eight lanes as it is.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numba.extending
import numpy as np
from llvmlite import ir
from numba import float32, float64, int64, types, uintp
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from vocap.unigram.em import (
    BLOCK_EDGES,
    ROUNDING,
    Sums,
    blocks,
    edges_of,
    middle_of,
    walk_alone,
)
from vocap.unigram.kernels import (
    INT64S,
    ONE_THREAD,
    UINT8S,
    WorkBuffer,
    Workers,
    index,
    kernel,
)
from vocap.unigram.lattice import LATTICE, Lattice

LANES = 8
DEAD = np.float32(-1e30)
ROWS = float32[:, ::1]
DEPTH = -27.0  # log(exp(-27) + 1) < 2e-12
# log(exp(-x) + 1) is off by less than 2e-12: by half of the relative error of exp, and
# that of log
EXPANSION = 4e-12
_HALF_LOG_2 = math.log(2) / 2
_INTEGERS = 1.5 * 2.0**52  # from here on, the last bit of a float64 is 1
_WHOLE = ir.VectorType(ir.IntType(64), LANES)
_SINGLE = ir.VectorType(ir.FloatType(), LANES)
_DOUBLE = ir.VectorType(ir.DoubleType(), LANES)
_FUSED = ("contract",)  # a product and a sum may be rounded once, on the approximate side


def _coefficients(function: Callable[[Any], Any], degree: int, half: float) -> list[float]:
    """The polynomial that equals a function at the Chebyshev points from `-half` to
    `half`.
    """
    scaled = chebyshev.chebinterpolate(lambda t: function(t * half), degree)
    return list(chebyshev.cheb2poly(scaled) / half ** np.arange(degree + 1))


# Chebyshev coefficients of exp(h t) are at most 2 (h / 2)^k / k! exp(h), those of log((3 +
# t) / 2) are 2 / k / (3 + sqrt(8))^k. An interpolation is off by at most twice the sum of
# those beyond its degree: here 1.2e-12 and 1.1e-12.
_EXP = _coefficients(np.exp, 8, _HALF_LOG_2)
_LOG = _coefficients(lambda t: np.log1p((t + 1) / 2), 14, 1.0)

# numba's annotations have the arguments of the function that generates code
intrinsic: Any = numba.extending.intrinsic


def _spread(number: float) -> ir.Constant:
    return ir.Constant(_DOUBLE, [float(number)] * LANES)


def _times_plus(builder: Any, x: Any, y: Any, z: Any) -> Any:
    return builder.fadd(builder.fmul(x, y, flags=_FUSED), z, flags=_FUSED)


def _polynomial(builder: Any, x: Any, coefficients: Sequence[float]) -> Any:
    """By Estrin's scheme: few of its steps wait for others."""
    terms = [_spread(number) for number in coefficients]
    while len(terms) > 1:
        pairs = zip(terms[::2], terms[1::2], strict=False)
        last = terms[len(terms) // 2 * 2 :]
        terms = [_times_plus(builder, high, x, low) for low, high in pairs] + last
        x = builder.fmul(x, x)
    return terms[0]


def _exponential(builder: Any, x: Any) -> Any:
    """exp(x) between -700 and 700, off by less than 2e-12 of it."""
    power = _times_plus(builder, x, _spread(1 / math.log(2)), _spread(_INTEGERS))
    whole = builder.fsub(power, _spread(_INTEGERS))
    near = _times_plus(builder, whole, _spread(-math.log(2)), x)
    exponent = builder.shl(builder.bitcast(power, _WHOLE), ir.Constant(_WHOLE, [52] * LANES))
    value = builder.bitcast(_polynomial(builder, near, _EXP), _WHOLE)
    return builder.bitcast(builder.add(value, exponent), _DOUBLE)


def _greater(builder: Any, x: Any, y: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", x, y), x, y)


def _rounded(builder: Any, value: Any, margin: Any) -> tuple[Any, Any]:
    """A value as float32, and in which lanes others within a margin round otherwise."""
    below = builder.fptrunc(builder.fsub(value, margin), _SINGLE)
    above = builder.fptrunc(builder.fadd(value, margin), _SINGLE)
    return below, builder.fcmp_unordered("!=", below, above)


def _bits(builder: Any, lanes: Any) -> Any:
    """A bit for each lane, as int64."""
    return builder.zext(builder.bitcast(lanes, ir.IntType(LANES)), ir.IntType(64))


class _Rows:
    """Rows of arrays that are arguments of an intrinsic."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any):
        self.context, self.builder = context, builder
        self.signature, self.arguments = signature, arguments

    def address(self, array: int, row: int, vector: Any) -> Any:
        kind, builder = self.signature.args[array], self.builder
        data = self.context.make_array(kind)(self.context, builder, self.arguments[array]).data
        number = self.arguments[row]
        first = builder.gep(data, [builder.mul(number, ir.Constant(number.type, LANES))])
        return builder.bitcast(first, vector.as_pointer())

    def load(self, array: int, row: int, vector: Any = _SINGLE) -> Any:
        return self.builder.load(self.address(array, row, vector), align=4)

    def store(self, value: Any, array: int, row: int, vector: Any = _SINGLE) -> None:
        self.builder.store(value, self.address(array, row, vector), align=4)

    def spread(self, place: int, vector: Any) -> Any:
        """A number in each lane."""
        undefined = ir.Constant(vector, ir.Undefined)
        zero = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        first = ir.Constant(ir.IntType(32), 0)
        one = self.builder.insert_element(undefined, self.arguments[place], first)
        return self.builder.shuffle_vector(one, undefined, zero)


@intrinsic
def fold(typing, sums, to, source, score, number, margin):
    """Add the way through an edge to the logarithms of a position: `sums[to]` becomes
    log(exp(`sums[to]`) + exp(`score[number] + sums[source]`)), rounded to float32. Returns a
    bit for each lane in which values within `margin` of it round otherwise.
    """

    def generate(context, builder, signature, arguments):
        rows = _Rows(context, builder, signature, arguments)
        x, y = rows.load(0, 1), builder.fadd(rows.load(3, 4), rows.load(0, 2))
        high = _greater(builder, x, y)
        low = builder.select(builder.fcmp_ordered(">", x, y), y, x)
        gap = builder.fpext(builder.fsub(low, high), _DOUBLE)
        near = _exponential(builder, _greater(builder, gap, _spread(DEPTH)))
        t = _times_plus(builder, near, _spread(2), _spread(-1))
        sum_ = builder.fadd(builder.fpext(high, _DOUBLE), _polynomial(builder, t, _LOG))
        rounded, doubt = _rounded(builder, sum_, rows.spread(5, _DOUBLE))
        rows.store(rounded, 0, 1)
        return _bits(builder, doubt)

    return int64(sums, to, source, score, number, margin), generate


@intrinsic
def add_through(typing, marginal, edge, alpha, i, score, number):
    """`marginal[edge] = alpha[i] + score[number]`."""

    def generate(context, builder, signature, arguments):
        rows = _Rows(context, builder, signature, arguments)
        rows.store(builder.fadd(rows.load(4, 5), rows.load(2, 3)), 0, 1)
        return context.get_dummy_value()

    return types.void(marginal, edge, alpha, i, score, number), generate


@intrinsic
def add_after(typing, marginal, edge, beta, j, alpha, end):
    """`marginal[edge] += beta[j]` less `alpha[end]`."""

    def generate(context, builder, signature, arguments):
        rows = _Rows(context, builder, signature, arguments)
        through = builder.fadd(rows.load(0, 1), rows.load(2, 3))
        rows.store(builder.fsub(through, rows.load(4, 5)), 0, 1)
        return context.get_dummy_value()

    return types.void(marginal, edge, beta, j, alpha, end), generate


@intrinsic
def add_occurrences(typing, expected, number, marginal, edge, times):
    """Add `times x exp(marginal[edge])` to `expected[number]`, rounded to float32, but for
    lanes in which that may round otherwise: returns a bit for each of them.
    """

    def generate(context, builder, signature, arguments):
        rows = _Rows(context, builder, signature, arguments)
        total, x = rows.load(0, 1), builder.fpext(rows.load(2, 3), _DOUBLE)
        # below exp(-127), 2^31 of them change no float32
        probability = _exponential(builder, _greater(builder, x, _spread(-127)))
        addend = builder.fmul(probability, rows.spread(4, _DOUBLE))
        sum_ = builder.fadd(addend, builder.fpext(total, _DOUBLE))
        margin = builder.fmul(sum_, _spread(ROUNDING))
        margin = _times_plus(builder, addend, _spread(1e-11), margin)
        rounded, doubt = _rounded(builder, sum_, margin)
        rows.store(builder.select(doubt, total, rounded), 0, 1)
        return _bits(builder, doubt)

    return int64(expected, number, marginal, edge, times), generate


@intrinsic
def keep_best(typing, best, to, source, score, number, chosen, edge):
    """Where `best[source] + score[number]`, in float64, is greater than `best[to]`, put it
    there, and the edge in `chosen[to]`.
    """

    def generate(context, builder, signature, arguments):
        rows = _Rows(context, builder, signature, arguments)
        before, more = rows.load(0, 1), builder.fpext(rows.load(3, 4), _DOUBLE)
        sum_ = builder.fadd(builder.fpext(rows.load(0, 2), _DOUBLE), more)
        better = builder.fcmp_ordered(">", sum_, builder.fpext(before, _DOUBLE))
        rows.store(builder.select(better, builder.fptrunc(sum_, _SINGLE), before), 0, 1)
        edges = ir.VectorType(ir.IntType(32), LANES)
        other = rows.load(5, 1, edges)
        rows.store(builder.select(better, rows.spread(6, edges), other), 5, 1, edges)
        return context.get_dummy_value()

    return types.void(best, to, source, score, number, chosen, edge), generate


class Walk(NamedTuple):
    """A walk through a type's edges, as `em.Walk`; `doubt` has a bit for each lane in which
    a rounding was in doubt.
    """

    next: np.uintp
    end: np.uintp
    forward: np.uintp
    backward: np.uintp
    doubt: np.int64


_WALK = types.NamedTuple([uintp, uintp, uintp, uintp, int64], Walk)
_SUMS = types.NamedUniTuple(ROWS, 2, Sums)


@kernel(_SUMS(int64), inner=True)
def new_sums(longest):
    """Memory for the sums of types of at most `longest` characters."""
    rows = longest + 1
    return Sums(np.empty((rows, LANES), np.float32), np.empty((rows, LANES), np.float32))


@kernel(_WALK(LATTICE, int64, _SUMS), inner=True)
def begin_walk(lattice, t, sums):
    """Before the first edges of type t."""
    n = lattice.size[t]
    for place in range(n + 1):
        for lane in range(LANES):
            sums.alpha[place, lane] = DEAD if place else 0
            sums.beta[place, lane] = DEAD if place < n else 0
    low, high = edges_of(lattice, t)
    return Walk(low, high, index(0), index(n), np.int64(0))


@kernel(_WALK(LATTICE, ROWS, float64, uintp, _SUMS, ROWS, _WALK), inner=True)
def step(lattice, score, margin, base, sums, marginal, walk):
    """One edge of the backward pass and one of the forward pass, as `em.step`.

    Leaves alpha(i) + score of the one in `marginal`, from edge `base` on.
    """
    piece, length, alpha, beta = lattice.piece, lattice.length, sums.alpha, sums.beta
    one, seven, low_bits = index(1), index(7), index(127)
    bits, number = index(length[walk.next]), index(piece[walk.next])
    backward = walk.backward - (bits >> seven)
    differ = fold(beta, backward, backward + (bits & low_bits), score, number, margin)
    high, i = walk.end - one, walk.forward
    bits, number = index(length[high]), index(piece[high])
    differ |= fold(alpha, i + (bits & low_bits), i, score, number, margin)
    add_through(marginal, high - base, alpha, i, score, number)
    return Walk(walk.next + one, high, i + (bits >> seven), backward, walk.doubt | differ)


@kernel(types.void(LATTICE, int64, uintp, _SUMS, ROWS), inner=True)
def end_walk(lattice, t, base, sums, marginal):
    """Log probabilities of the edges of type t, of which `step` has left a part."""
    low, high = edges_of(lattice, t)
    n = index(lattice.size[t])
    i = n
    for edge in range(low, high):
        bits = index(lattice.length[index(edge)])
        i -= bits >> index(7)
        after = i + (bits & index(127))
        add_after(marginal, index(edge) - base, sums.beta, after, sums.alpha, n)


@kernel(types.void(LATTICE, ROWS, float64, int64, int64, ROWS, UINT8S))
def walk_side_by_side(lattice, score, margin, begin, stop, marginal, doubt):
    """Log probabilities of the edges of the types from `begin` to `stop` in each lane, as
    `em.marginals`; two types at a time, as `em.walk_side_by_side`.

    `doubt` gets, for each type, a bit for each lane in which a rounding was in doubt.
    """
    base, _ = edges_of(lattice, stop - 1)
    longest = lattice.size[begin:stop].max()
    sums_a, sums_b = new_sums(longest), new_sums(longest)
    middle = middle_of(lattice, begin, stop)
    a, b = begin, middle
    if middle < stop:
        walk_a, walk_b = begin_walk(lattice, a, sums_a), begin_walk(lattice, b, sums_b)
        left_a, left_b = walk_a.end - walk_a.next, walk_b.end - walk_b.next
        while True:
            steps = min(left_a, left_b)
            for _ in range(steps):
                walk_a = step(lattice, score, margin, base, sums_a, marginal, walk_a)
                walk_b = step(lattice, score, margin, base, sums_b, marginal, walk_b)
            left_a, left_b = left_a - steps, left_b - steps
            if left_a == 0:
                doubt[a - begin] = walk_a.doubt
                end_walk(lattice, a, base, sums_a, marginal)
                a += 1
                if a == middle:
                    break
                walk_a = begin_walk(lattice, a, sums_a)
                left_a = walk_a.end - walk_a.next
            if left_b == 0:
                doubt[b - begin] = walk_b.doubt
                end_walk(lattice, b, base, sums_b, marginal)
                b += 1
                if b == stop:
                    break
                walk_b = begin_walk(lattice, b, sums_b)
                left_b = walk_b.end - walk_b.next
    # types that are left where the other walk came to its end first
    for t in range(begin, stop):
        if a <= t < middle or b <= t:
            walk_a = begin_walk(lattice, t, sums_a)
            for _ in range(walk_a.end - walk_a.next):
                walk_a = step(lattice, score, margin, base, sums_a, marginal, walk_a)
            doubt[t - begin] = walk_a.doubt
            end_walk(lattice, t, base, sums_a, marginal)


@kernel(types.void(ROWS, int64, int64, float64, float32), inner=True)
def add_alone(expected, number, lane, times, marginal):
    """Add `times x exp(marginal)` in one lane as `PopulateMarginal` does."""
    sum_ = np.float64(expected[number, lane]) + times * math.exp(np.float64(marginal))
    expected[number, lane] = np.float32(sum_)


@kernel(types.void(LATTICE, INT64S, int64, int64, ROWS, INT64S, ROWS))
def add_up(lattice, frequency, begin, stop, marginal, zero, expected):
    """Add the occurrences of the edges of the types from `begin` to `stop` to `expected`:
    `em.add_up` in each lane. Unknown nodes count for the piece `zero[lane]`.
    """
    piece, length = lattice.piece, lattice.length
    base, _ = edges_of(lattice, stop - 1)
    alive = index(expected.shape[0])
    for t in range(begin, stop):
        times = np.float64(np.float32(frequency[t]))
        low, edge = edges_of(lattice, t)
        waiting, unknown = False, index(0)
        while edge > low:
            edge -= index(1)
            at, number = edge - base, index(piece[edge])
            if number < alive:
                doubt = add_occurrences(expected, number, marginal, at, times)
                for lane in range(LANES if doubt else 0):
                    if doubt >> lane & 1:
                        add_alone(expected, np.int64(number), lane, times, marginal[at, lane])
            else:
                waiting, unknown = True, at
            if waiting and length[edge] >> 7:
                for lane in range(LANES):
                    add_alone(expected, zero[lane], lane, times, marginal[unknown, lane])
                waiting = False


def expected_counts(
    lattice: Lattice,
    frequency: NDArray[np.int64],
    score: NDArray[np.float32],
    zero: NDArray[np.int64],
    alive: int,
    workers: Workers = ONE_THREAD,
) -> NDArray[np.float32]:
    """`em.expected_counts` of eight lists of pieces, float32 [alive, 8].

    `score` float32 [n + unknown, 8] is `DEAD` where a list lacks a piece or an unknown
    node; `zero` int64 [8]: the first piece of each.
    """
    bounds, edges = blocks(lattice, len(frequency), BLOCK_EDGES // LANES)
    expected = np.zeros((alive, LANES), np.float32)
    longest = int(lattice.size[: len(frequency)].max(initial=0))
    largest = (float(-score[score > DEAD].min(initial=0)) + 1) * longest
    margin = EXPANSION + ROUNDING * largest
    by_lane = np.ascontiguousarray(score.T)
    begins = lattice.first[len(lattice.first) - 1 - lattice.start - lattice.size]

    def new_buffer() -> WorkBuffer:
        marginal = np.empty((edges, LANES), np.float32)
        doubt = np.empty(int(np.diff(bounds).max(initial=0)), np.uint8)

        def compute(block: int) -> None:
            begin, stop = bounds[block : block + 2]
            walk_side_by_side(lattice, score, margin, begin, stop, marginal, doubt)
            for t in begin + np.flatnonzero(doubt[: stop - begin]):
                low = begins[t] - begins[stop - 1]
                for lane in range(LANES):
                    if doubt[t - begin] >> lane & 1:
                        own = walk_alone(lattice, t, by_lane[lane])
                        marginal[low : low + len(own), lane] = own

        def add(block: int) -> None:
            add_up(lattice, frequency, *bounds[block : block + 2], marginal, zero, expected)

        return WorkBuffer(compute, add)

    workers.in_order(len(bounds) - 1, new_buffer)
    return expected


@kernel(types.void(LATTICE, int64[:, ::1], ROWS, int64, int64[:, :, ::1]))
def encoder_counts(lattice, frequency, score, unknown, counts):
    """Add to `counts` int64 [lanes, texts, pieces] how often `encode` gives each piece
    (`Model::EncodeOptimized`), in eight lanes or less.

    One best sum a position, kept in float32 and compared in float64 (there, a
    conditional expression makes scores double, but for <unk>); where sums are equal,
    the piece that begins first wins. `score` holds minus infinity for pieces that the
    model lacks; from `unknown` on, pieces are characters without one, and a run of them
    is a single <unk>. `frequency` int64 [texts, types].
    """
    piece, length, size = lattice.piece, lattice.length, lattice.size
    longest = size.max()
    best = np.empty((longest + 1, LANES), np.float32)
    chosen = np.empty((longest + 1, LANES), np.int32)
    for t in range(size.size):
        # Forward: the best sum at each position
        n = size[t]
        for place in range(n + 1):
            for lane in range(LANES):
                best[place, lane] = -np.inf if place else 0
        i = index(0)
        begin, edge = edges_of(lattice, t)
        while edge > begin:
            edge -= index(1)
            bits, number = index(length[edge]), index(piece[edge])
            j = i + (bits & index(127))
            if number >= index(unknown):  # added and compared in float32
                for lane in range(LANES):
                    sum_ = np.float32(best[i, lane] + score[number, lane])
                    if sum_ > best[j, lane]:
                        best[j, lane], chosen[j, lane] = sum_, edge
            else:
                keep_best(best, j, i, score, number, chosen, np.int32(edge))
            i += bits >> index(7)
        # Back from the end
        for lane in range(counts.shape[0]):
            j = index(n)
            in_run = False
            while j > index(0):
                edge = index(chosen[j, lane])
                number = index(min(piece[edge], unknown))
                is_unknown = number == index(unknown)
                if not (is_unknown and in_run):
                    for text in range(frequency.shape[0]):
                        counts[lane, text, number] += frequency[text, t]
                in_run = is_unknown
                j -= index(length[edge]) & index(127)
