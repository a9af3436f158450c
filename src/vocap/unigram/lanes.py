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
done to rows is written as LLVM's vector instructions (`lane_operation`): numba leaves a
loop over eight lanes as it is.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any, NamedTuple

import numba.extending
import numpy as np
from llvmlite import ir
from numba import float32, float64, int64, types, uintp
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from vocap.unigram import em
from vocap.unigram.em import ROUNDING, Sums, edges_of, new_sums, walk_with_care
from vocap.unigram.kernels import INT64S, ONE_THREAD, Workers, calling, index, kernel
from vocap.unigram.lattice import LATTICE, Lattice

LANES = 8
DEAD = np.float32(-1e30)
ROWS = float32[:, ::1]
DEPTH = -27.0  # log(exp(-27) + 1) < 2e-12
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
# those beyond its degree: here 1.2e-12 and 1.1e-12. So log(exp(-x) + 1) is off by less
# than 2e-12, as in `em`: by half of the relative error of exp, and that of log.
_EXP = _coefficients(np.exp, 8, _HALF_LOG_2)
_LOG = _coefficients(lambda t: np.log1p((t + 1) / 2), 14, 1.0)


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


def _everywhere(builder: Any, number: Any) -> Any:
    """A number in each lane."""
    vector, whole = ir.VectorType(number.type, LANES), ir.IntType(32)
    undefined = ir.Constant(vector, ir.Undefined)
    one = builder.insert_element(undefined, number, ir.Constant(whole, 0))
    zero = ir.Constant(ir.VectorType(whole, LANES), [0] * LANES)
    return builder.shuffle_vector(one, undefined, zero)


class _Rows:
    """An array of rows of eight lanes: `rows[i]` is the vector of row i."""

    def __init__(self, context: Any, builder: Any, array: Any, value: Any):
        self._builder = builder
        self._data = context.make_array(array)(context, builder, value).data
        self._vector = ir.VectorType(context.get_data_type(array.dtype), LANES).as_pointer()

    def _address(self, row: Any) -> Any:
        offset = self._builder.mul(row, ir.Constant(row.type, LANES))
        return self._builder.bitcast(self._builder.gep(self._data, [offset]), self._vector)

    def __getitem__(self, row: Any) -> Any:
        return self._builder.load(self._address(row), align=4)

    def __setitem__(self, row: Any, vector: Any) -> None:
        self._builder.store(vector, self._address(row), align=4)


def lane_operation(result: Any) -> Callable[[Callable[..., Any]], Any]:
    """An operation that kernels call, from a function that writes its instructions with a
    builder and the operands, arrays as `_Rows`, and returns a value of the type `result`.
    """

    def define(write: Callable[..., Any]) -> Any:
        @wraps(write)
        def of_types(context: Any, *operands: Any) -> Any:
            return result(*operands), generate

        def generate(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
            operands = [
                _Rows(context, builder, kind, value) if isinstance(kind, types.Array) else value
                for kind, value in zip(signature.args, values, strict=True)
            ]
            return write(builder, *operands)

        return numba.extending.intrinsic(of_types)

    return define


@lane_operation(int64)
def add_way(builder, sums, to, source, score, number, margin):
    """Add the way through an edge to the logarithms of a position: `sums[to]` becomes
    log(exp(`sums[to]`) + exp(`score[number] + sums[source]`)), rounded to float32. Returns a
    bit for each lane in which values within `margin` of it round otherwise.
    """
    x, y = sums[to], builder.fadd(score[number], sums[source])
    high = _greater(builder, x, y)
    low = builder.select(builder.fcmp_ordered(">", x, y), y, x)
    gap = builder.fpext(builder.fsub(low, high), _DOUBLE)
    near = _exponential(builder, _greater(builder, gap, _spread(DEPTH)))
    t = _times_plus(builder, near, _spread(2), _spread(-1))
    sum_ = builder.fadd(builder.fpext(high, _DOUBLE), _polynomial(builder, t, _LOG))
    sums[to], doubt = _rounded(builder, sum_, _everywhere(builder, margin))
    return _bits(builder, doubt)


@lane_operation(types.void)
def add_through(builder, marginal, edge, alpha, i, score, number):
    """`marginal[edge] = alpha[i] + score[number]`."""
    marginal[edge] = builder.fadd(score[number], alpha[i])


@lane_operation(types.void)
def add_after(builder, marginal, edge, beta, j, alpha, end):
    """`marginal[edge] += beta[j]` less `alpha[end]`."""
    marginal[edge] = builder.fsub(builder.fadd(marginal[edge], beta[j]), alpha[end])


@lane_operation(int64)
def add_occurrences(builder, expected, number, marginal, edge, times):
    """Add `times x exp(marginal[edge])` to `expected[number]`, rounded to float32, but for
    lanes in which that may round otherwise: returns a bit for each of them.
    """
    total, x = expected[number], builder.fpext(marginal[edge], _DOUBLE)
    # below exp(-127), 2^31 of them change no float32
    probability = _exponential(builder, _greater(builder, x, _spread(-127)))
    addend = builder.fmul(probability, _everywhere(builder, times))
    sum_ = builder.fadd(addend, builder.fpext(total, _DOUBLE))
    margin = builder.fmul(sum_, _spread(ROUNDING))
    margin = _times_plus(builder, addend, _spread(1e-11), margin)
    rounded, doubt = _rounded(builder, sum_, margin)
    expected[number] = builder.select(doubt, total, rounded)
    return _bits(builder, doubt)


@lane_operation(types.void)
def keep_best(builder, best, to, source, score, number, chosen, edge):
    """Where `best[source] + score[number]`, in float64, is greater than `best[to]`, put it
    there, and the edge in `chosen[to]`.
    """
    before, more = best[to], builder.fpext(score[number], _DOUBLE)
    sum_ = builder.fadd(builder.fpext(best[source], _DOUBLE), more)
    better = builder.fcmp_ordered(">", sum_, builder.fpext(before, _DOUBLE))
    best[to] = builder.select(better, builder.fptrunc(sum_, _SINGLE), before)
    chosen[to] = builder.select(better, _everywhere(builder, edge), chosen[to])


class Work(NamedTuple):
    """What is computed for the edges of a block, from its first edge on, and for two types
    at a time, as `em.Work`.

    `alone` and `score`, float32 [8, n + unknown], are for a type in one lane; `zero`
    int64 [8]: the first piece of each lane.
    """

    marginal: NDArray[np.float32]
    sums: Sums
    other_sums: Sums
    alone: em.Work
    score: NDArray[np.float32]
    zero: NDArray[np.int64]


SUMS = types.NamedUniTuple(ROWS, 2, Sums)
WORK = types.NamedTuple([ROWS, SUMS, SUMS, em.WORK, ROWS, INT64S], Work)


class Walk(NamedTuple):
    """A walk through a type's edges, as `em.Walk`; `doubt` has a bit for each lane in which
    a rounding was in doubt.
    """

    t: np.int64
    next: np.uintp
    end: np.uintp
    forward: np.uintp
    backward: np.uintp
    doubt: np.int64


_WALK = types.NamedTuple([int64, *[uintp] * 4, int64], Walk)


@kernel(_WALK(LATTICE, int64, SUMS), inner=True, allocates=False)
def begin_walk(lattice, t, sums):
    """Before the first edges of type t."""
    n = lattice.size[t]
    for place in range(n + 1):
        for lane in range(LANES):
            sums.alpha[place, lane] = DEAD if place else 0
            sums.beta[place, lane] = DEAD if place < n else 0
    low, high = edges_of(lattice, t)
    return Walk(t, low, high, index(0), index(n), np.int64(0))


@kernel(_WALK(LATTICE, ROWS, float64, uintp, WORK, SUMS, _WALK), inner=True, allocates=False)
def step(lattice, score, margin, base, work, sums, walk):
    """One edge of the backward pass and one of the forward pass, as `em.step`.

    Leaves alpha(i) + score of the one in `work.marginal`, from edge `base` on.
    """
    piece, length, alpha, beta = lattice.piece, lattice.length, sums.alpha, sums.beta
    one, seven, low_bits = index(1), index(7), index(127)
    bits, number = index(length[walk.next]), index(piece[walk.next])
    backward = walk.backward - (bits >> seven)
    doubt = add_way(beta, backward, backward + (bits & low_bits), score, number, margin)
    high, i = walk.end - one, walk.forward
    bits, number = index(length[high]), index(piece[high])
    doubt |= add_way(alpha, i + (bits & low_bits), i, score, number, margin)
    add_through(work.marginal, high - base, alpha, i, score, number)
    return Walk(walk.t, walk.next + one, high, i + (bits >> seven), backward, walk.doubt | doubt)


@kernel(types.void(LATTICE, ROWS, uintp, WORK, SUMS, _WALK), inner=True, allocates=False)
def end_walk(lattice, score, base, work, sums, walk):
    """Log probabilities of the edges of a type, of which `step` has left a part.

    A type is walked alone in each lane in which a rounding was in doubt.
    """
    low, high = edges_of(lattice, walk.t)
    i = walk.forward
    for edge in range(low, high):
        bits = index(lattice.length[index(edge)])
        i -= bits >> index(7)
        after = i + (bits & index(127))
        add_after(work.marginal, index(edge) - base, sums.beta, after, sums.alpha, walk.forward)
    for lane in range(LANES if walk.doubt else 0):
        if walk.doubt >> lane & 1:
            own, alone = work.score[lane], work.alone
            total = walk_with_care(lattice, own, walk.t, low, alone, alone.sums)
            for at in range(high - low):
                through = np.float32(alone.marginal[at] + alone.after[at])
                work.marginal[low - base + at, lane] = np.float32(through - total)


walk_side_by_side = kernel(types.void(LATTICE, ROWS, float64, int64, int64, WORK), allocates=False)(
    calling(em.walk_side_by_side, begin_walk=begin_walk, step=step, end_walk=end_walk)
)


@kernel(types.void(ROWS, int64, int64, float32, float32), inner=True, allocates=False)
def add_alone(expected, number, lane, times, marginal):
    """Add `times x exp(marginal)` in one lane as `PopulateMarginal` does."""
    addend = np.float64(times) * math.exp(np.float64(marginal))
    expected[number, lane] = np.float32(np.float64(expected[number, lane]) + addend)


@kernel(types.void(ROWS, uintp, float32, WORK, uintp), inner=True, allocates=False)
def add_edge(expected, number, times, work, edge):
    """Add an edge of a piece."""
    doubt = add_occurrences(expected, number, work.marginal, edge, np.float64(times))
    for lane in range(LANES if doubt else 0):
        if doubt >> lane & 1:
            add_alone(expected, np.int64(number), lane, times, work.marginal[edge, lane])


@kernel(types.void(ROWS, float32, WORK, uintp), inner=True, allocates=False)
def add_unknown(expected, times, work, edge):
    """Add an unknown node, which counts for the first piece of each lane."""
    for lane in range(LANES):
        add_alone(expected, work.zero[lane], lane, times, work.marginal[edge, lane])


add_up = kernel(types.void(LATTICE, INT64S, ROWS, int64, int64, WORK), allocates=False)(
    calling(em.add_up, add_edge=add_edge, add_unknown=add_unknown)
)


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
    bounds, edges = em.blocks(lattice, len(frequency), em.BLOCK_EDGES // LANES)
    longest = int(lattice.size[: len(frequency)].max(initial=0))
    expected = np.zeros((alive, LANES), np.float32)
    by_lane, none = np.ascontiguousarray(score.T), np.empty(0, np.float32)

    def new_work() -> Work:
        sums, other_sums = new_sums(longest + 1, LANES), new_sums(longest + 1, LANES)
        marginal, alone = np.empty((edges, LANES), np.float32), em.new_work(edges, longest, none)
        return Work(marginal, sums, other_sums, alone, by_lane, zero)

    margin = em.margin_of_sums(score[score > DEAD], longest)
    workers.fold(
        bounds,
        new_work,
        partial(walk_side_by_side, lattice, score, margin),
        partial(add_up, lattice, frequency, expected),
    )
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
                        best[j, lane], chosen[j, lane] = sum_, edge - begin
            else:
                keep_best(best, j, i, score, number, chosen, np.int32(edge - begin))
            i += bits >> index(7)
        # Back from the end
        for lane in range(counts.shape[0]):
            j = index(n)
            in_run = False
            while j > index(0):
                edge = begin + index(chosen[j, lane])
                number = index(min(piece[edge], unknown))
                is_unknown = number == index(unknown)
                if not (is_unknown and in_run):
                    for text in range(frequency.shape[0]):
                        counts[lane, text, number] += frequency[text, t]
                in_run = is_unknown
                j -= index(length[edge]) & index(127)
