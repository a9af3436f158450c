"""E steps of eight lists of pieces at once, over lattices that they share.

Branches of one rung have nearly the same pieces: each has the best of one ranking. So
their E steps are computed together, over the lattices of the longest list, a list in
each of the eight *lanes* of a vector register. A piece that a list lacks has the score
`DEAD` in its lane, which leaves every sum as it is. All sums are those of `em`, rounded
in the same order.

As there, SentencePiece's slow functions are approximated, sums that may round otherwise
are found, and those are computed again with the library functions. The approximations
need no table, as processors read eight elements of a table one after the other.

Arrays with a row of eight lanes for each element have the shape [elements, 8]. A value
of the numba type `Lanes` is such a row in a register. numba compiles its operators to
one vector instruction each, or several where registers are smaller.
"""

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numba.extending
import numpy as np
from llvmlite import ir
from numba import float32, float64, int64, types, uintp
from numba.core.datamodel import models
from numba.extending import overload, register_model
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from vocap.unigram.em import BLOCK_EDGES, ROUNDING, blocks, walk_alone
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

# numba's annotations have the arguments of the function that generates code
intrinsic: Any = numba.extending.intrinsic

LANES = 8
DEAD = np.float32(-1e30)


class Lanes(types.Type):
    """A number of type `element` in each lane."""

    def __init__(self, element: types.Type):
        self.element = element
        super().__init__(name=f"Lanes({element})")


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    """A vector register."""

    def __init__(self, manager: Any, kind: Lanes):
        element = manager.lookup(kind.element).get_value_type()
        super().__init__(manager, kind, ir.VectorType(element, LANES))


SINGLES, DOUBLES = Lanes(float32), Lanes(float64)
SINGLE_ROWS, DOUBLE_ROWS = float32[:, ::1], float64[:, ::1]


def _row(context: Any, builder: Any, kind: Any, array: Any, row: Any) -> Any:
    """The address of a row of an array [elements, 8]."""
    data = context.make_array(kind)(context, builder, value=array).data
    first = builder.gep(data, [builder.mul(row, ir.Constant(row.type, LANES))])
    vector = context.get_value_type(Lanes(kind.dtype))
    return builder.bitcast(first, vector.as_pointer())


@intrinsic
def load(typing, array, row):
    """The lanes of a row."""

    def generate(context, builder, signature, arguments):
        address = _row(context, builder, signature.args[0], *arguments)
        return builder.load(address, align=signature.args[0].dtype.bitwidth // 8)

    return Lanes(array.dtype)(array, row), generate


@intrinsic
def store(typing, array, row, lanes):
    """Write the lanes of a row."""

    def generate(context, builder, signature, arguments):
        address = _row(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], address, align=signature.args[0].dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, row, lanes), generate


@intrinsic
def spread(typing, number):
    """The same number in each lane."""

    def generate(context, builder, signature, arguments):
        kind = context.get_value_type(signature.return_type)
        zero = ir.Constant(ir.IntType(32), 0)
        one = builder.insert_element(ir.Constant(kind, ir.Undefined), arguments[0], zero)
        places = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), places)

    return Lanes(number)(number), generate


def _by_lane(generate: Callable[[Any, Any, Any], Any], result: Any = None) -> Any:
    """An operation on each lane of two values, made by `generate(builder, first,
    second)`; its result is of the first one's type, unless another is given.
    """

    @intrinsic
    def apply(typing, first, second):
        def code(context, builder, signature, arguments):
            return generate(builder, *arguments)

        return (result or first)(first, second), code

    return apply


def _arithmetic(name: str) -> Any:
    """A sum, difference or product; a product and a sum may be rounded once."""
    return _by_lane(
        lambda builder, first, second: getattr(builder, name)(first, second, flags=("contract",))
    )


def _choice(comparison: str) -> Any:
    """The first value where the comparison holds, or else the second."""
    return _by_lane(
        lambda builder, first, second: builder.select(
            builder.fcmp_ordered(comparison, first, second), first, second
        )
    )


add, subtract, multiply = map(_arithmetic, ("fadd", "fsub", "fmul"))
greater, less = _choice(">"), _choice("<")


@overload(operator.add)
def _add(first, second):
    if isinstance(first, Lanes):
        return lambda first, second: add(first, second)
    return None


@overload(operator.sub)
def _subtract(first, second):
    if isinstance(first, Lanes):
        return lambda first, second: subtract(first, second)
    return None


@overload(operator.mul)
def _multiply(first, second):
    if isinstance(first, Lanes):
        return lambda first, second: multiply(first, second)
    return None


@intrinsic
def choose_greater(typing, first, second, greater, otherwise):
    """`greater` in the lanes where the first value is greater than the second."""

    def generate(context, builder, signature, arguments):
        return builder.select(builder.fcmp_ordered(">", *arguments[:2]), *arguments[2:])

    return greater(first, second, greater, otherwise), generate


def _differing_lanes(builder: Any, first: Any, second: Any) -> Any:
    different = builder.fcmp_unordered("!=", first, second)
    return builder.zext(builder.bitcast(different, ir.IntType(LANES)), ir.IntType(64))


def _shift_exponent(builder: Any, value: Any, power: Any) -> Any:
    whole = ir.VectorType(ir.IntType(64), LANES)
    shift = ir.Constant(whole, [52] * LANES)
    moved = builder.shl(builder.bitcast(power, whole), shift)
    return builder.bitcast(builder.add(builder.bitcast(value, whole), moved), value.type)


differing = _by_lane(_differing_lanes, int64)  # bit l is set where lane l differs
shift_exponent = _by_lane(_shift_exponent)  # value * 2^power, for a `power` above _INTEGERS


def _conversion(name: str, result: Lanes) -> Any:
    @intrinsic
    def convert(typing, lanes):
        def code(context, builder, signature, arguments):
            return getattr(builder, name)(arguments[0], context.get_value_type(result))

        return result(lanes), code

    return convert


widen, narrow = _conversion("fpext", DOUBLES), _conversion("fptrunc", SINGLES)


def _polynomial(function: Callable[[Any], Any], degree: int, half: float) -> Any:
    """The polynomial that equals a function at the Chebyshev points from `-half` to
    `half`, by Estrin's scheme: few of its steps wait for others.
    """
    scaled = chebyshev.chebinterpolate(lambda t: function(t * half), degree)
    coefficients = chebyshev.cheb2poly(scaled) / half ** np.arange(degree + 1)

    @intrinsic
    def evaluate(typing, lanes):
        def code(context, builder, signature, arguments):
            power = arguments[0]
            terms = [ir.Constant(power.type, [number] * LANES) for number in coefficients]
            while len(terms) > 1:
                odd = [builder.fmul(term, power, flags=("contract",)) for term in terms[1::2]]
                even = terms[::2]
                for place, term in enumerate(odd):
                    even[place] = builder.fadd(even[place], term, flags=("contract",))
                terms, power = even, builder.fmul(power, power)
            return terms[0]

        return lanes(lanes), code

    return evaluate


# Chebyshev coefficients of exp(h t) are at most 2 (h / 2)^k / k! exp(h), those of log((3 +
# t) / 2) are 2 / k / (3 + sqrt(8))^k. An interpolation is off by at most twice the sum of
# those beyond its degree: here 1.2e-12 and 1.1e-12.
_HALF_LOG_2 = math.log(2) / 2
exp_near_0 = _polynomial(np.exp, 8, _HALF_LOG_2)
log_of_1_and_half = _polynomial(lambda t: np.log1p((t + 1) / 2), 14, 1.0)
DEPTH = np.float32(27)  # log(exp(-27) + 1) < 2e-12
# log(exp(-x) + 1) is off by less than 2e-12: by half of the relative error of exp, and
# that of log
EXPANSION = 4e-12
_INTEGERS = 1.5 * 2.0**52  # from here on, the last bit of a float64 is 1
_PER_LOG_2, _LOG_2 = 1 / math.log(2), math.log(2)


@kernel(DOUBLES(DOUBLES), inner=True)
def exponential(x):
    """exp(x) between -700 and 700, off by less than 2e-12 of it."""
    power = x * spread(_PER_LOG_2) + spread(_INTEGERS)
    near = x - (power - spread(_INTEGERS)) * spread(_LOG_2)
    return shift_exponent(exp_near_0(near), power)


@kernel(types.Tuple((SINGLES, int64))(SINGLES, SINGLES, float64), inner=True)
def log_sum_exp(x, y, margin):
    """log(exp(x) + exp(y)) rounded to float32; a bit for each lane in which values
    within `margin` of the sum round otherwise.
    """
    high = greater(x, y)
    gap = greater(less(x, y) - high, spread(np.float32(-DEPTH)))
    t = exponential(widen(gap)) * spread(2.0) - spread(1.0)
    sum_ = widen(high) + log_of_1_and_half(t)
    below = narrow(sum_ - spread(margin))
    return below, differing(below, narrow(sum_ + spread(margin)))


class Work(NamedTuple):
    """`em.Work` in each lane, with rows from the first edge of a block on. `doubt` has, for
    each type, a bit for each lane in which a rounding was in doubt.
    """

    marginal: NDArray[np.float32]
    after: NDArray[np.float32]
    total: NDArray[np.float32]
    doubt: NDArray[np.uint8]


_WORK = types.NamedTuple([SINGLE_ROWS, SINGLE_ROWS, SINGLE_ROWS, UINT8S], Work)


class Walk(NamedTuple):
    """A walk through type `t`: its `next` edge of the backward pass, the one after the
    next of the forward pass (`end`), the positions of both passes, the edges that are
    `left`, and the lanes in `doubt`.
    """

    t: np.int64
    next: np.uintp
    end: np.uintp
    forward: np.uintp
    backward: np.uintp
    left: np.int64
    doubt: np.int64


_WALK = types.NamedTuple([int64, uintp, uintp, uintp, uintp, int64, int64], Walk)


class Sums(NamedTuple):
    """The logarithms alpha and beta of each position of a type."""

    alpha: NDArray[np.float32]
    beta: NDArray[np.float32]


_SUMS = types.NamedUniTuple(SINGLE_ROWS, 2, Sums)


@kernel(_WALK(LATTICE, int64, int64, _SUMS), inner=True)
def begin_walk(lattice, t, stop, sums):
    """Before the first edges of type t; from `stop` on, of the last type once more."""
    first, start, size = lattice.first, lattice.start, lattice.size
    own = min(t, stop - 1)
    n, end = size[own], first.size - 1 - start[own]
    dead, zero = spread(DEAD), spread(np.float32(0))
    for place in range(n):
        store(sums.alpha, index(place + 1), dead)
        store(sums.beta, index(place), dead)
    store(sums.alpha, index(0), zero)
    store(sums.beta, index(n), zero)
    low, high = first[end - n], first[end]
    return Walk(t, index(low), index(high), index(0), index(n), np.int64(high - low), np.int64(0))


@kernel(_WALK(LATTICE, SINGLE_ROWS, _WORK, uintp, float64, _SUMS, _WALK), inner=True)
def step(lattice, score, work, base, margin, sums, walk):
    """One edge of the backward pass and one of the forward pass, as `em.step`."""
    piece, length, alpha, beta = lattice.piece, lattice.length, sums.alpha, sums.beta
    one, seven, low_bits = index(1), index(7), index(127)
    # Lattice::BackwardAlgorithm
    low = walk.next
    bits = index(length[low])
    backward = walk.backward - (bits >> seven)
    following = load(beta, backward + (bits & low_bits))
    store(work.after, low - base, following)
    from_here = load(score, index(piece[low])) + following
    sum_, doubt_backward = log_sum_exp(load(beta, backward), from_here, margin)
    store(beta, backward, sum_)
    # Lattice::ForwardAlgorithm
    high = walk.end - one
    bits = index(length[high])
    so_far = load(score, index(piece[high])) + load(alpha, walk.forward)
    store(work.marginal, high - base, so_far)
    j = walk.forward + (bits & low_bits)
    sum_, doubt_forward = log_sum_exp(load(alpha, j), so_far, margin)
    store(alpha, j, sum_)
    doubt = walk.doubt | doubt_backward | doubt_forward
    return Walk(walk.t, low + one, high, walk.forward + (bits >> seven), backward, walk.left, doubt)


@kernel(_WALK(LATTICE, int64, int64, int64, int64, _WORK, _SUMS, _WALK), inner=True)
def go_on(lattice, begin, following, stop, steps, work, sums, walk):
    """The walk after so many steps; if they were its last, its result is kept, and it is
    the walk through the type `following`, or the last one again.
    """
    left = walk.left - steps
    if left:
        return Walk(walk.t, walk.next, walk.end, walk.forward, walk.backward, left, walk.doubt)
    row = index(min(walk.t, stop - 1) - begin)
    store(work.total, row, load(sums.alpha, walk.forward))
    work.doubt[row] = walk.doubt
    return begin_walk(lattice, following, stop, sums)


@kernel(types.void(LATTICE, SINGLE_ROWS, float64, int64, int64, _WORK))
def walk_side_by_side(lattice, score, margin, begin, stop, work):
    """Both passes over the types from `begin` to `stop`, two types at a time."""
    first, start, size = lattice.first, lattice.start, lattice.size
    base = index(first[first.size - 1 - start[stop - 1] - size[stop - 1]])
    longest = size[begin:stop].max()
    sums_a = Sums(
        np.empty((longest + 1, LANES), np.float32), np.empty((longest + 1, LANES), np.float32)
    )
    sums_b = Sums(
        np.empty((longest + 1, LANES), np.float32), np.empty((longest + 1, LANES), np.float32)
    )
    walk_a = begin_walk(lattice, begin, stop, sums_a)
    walk_b = begin_walk(lattice, begin + 1, stop, sums_b)
    following, waiting = begin + 2, stop - begin
    while waiting > 0:
        steps = min(walk_a.left, walk_b.left)
        for _ in range(steps):
            walk_a = step(lattice, score, work, base, margin, sums_a, walk_a)
            walk_b = step(lattice, score, work, base, margin, sums_b, walk_b)
        for_a, for_b = walk_a.left == steps, walk_b.left == steps
        waiting -= (for_a and walk_a.t < stop) + (for_b and walk_b.t < stop)
        walk_a = go_on(lattice, begin, following, stop, steps, work, sums_a, walk_a)
        following += for_a
        walk_b = go_on(lattice, begin, following, stop, steps, work, sums_b, walk_b)
        following += for_b


@kernel(
    types.void(LATTICE, INT64S, int64, int64, SINGLE_ROWS, SINGLE_ROWS, SINGLE_ROWS, DOUBLE_ROWS)
)
def occurrences(lattice, frequency, begin, stop, marginal, after, total, addend):
    """`em.marginals` in each lane, of the sums of `walk`."""
    first, start, size = lattice.first, lattice.start, lattice.size
    end = first.size - 1
    base = index(first[end - start[stop - 1] - size[stop - 1]])
    lowest = spread(np.float32(-127))
    for t in range(begin, stop):
        z = load(total, index(t - begin))
        times = spread(np.float64(np.float32(frequency[t])))
        low, high = index(first[end - start[t] - size[t]]), index(first[end - start[t]])
        for edge in range(low - base, high - base):
            probability = load(marginal, index(edge)) + load(after, index(edge)) - z
            store(marginal, index(edge), probability)
            store(addend, index(edge), times * exponential(widen(greater(probability, lowest))))


@kernel(types.void(LATTICE, INT64S, int64, int64, SINGLE_ROWS, DOUBLE_ROWS, INT64S, SINGLE_ROWS))
def add_up(lattice, frequency, begin, stop, marginal, addend, zero, expected):
    """Add the `occurrences` of the types from `begin` to `stop` to `expected`:
    `em.add_up` in each lane. Unknown nodes count for the piece `zero[lane]`.
    """
    first, piece, length, start, size = lattice
    end = first.size - 1
    base = index(first[end - start[stop - 1] - size[stop - 1]])
    alive = index(expected.shape[0])
    for t in range(begin, stop):
        times = np.float64(np.float32(frequency[t]))
        low, edge = index(first[end - start[t] - size[t]]), index(first[end - start[t]])
        waiting = False
        unknown = index(0)
        while edge > low:
            edge -= index(1)
            at = edge - base
            number = index(piece[edge])
            if number < alive:
                total = load(expected, number)
                more = load(addend, at)
                sum_ = widen(total) + more
                margin = more * spread(1e-11) + sum_ * spread(ROUNDING)
                below = narrow(sum_ - margin)
                differ = differing(below, narrow(sum_ + margin))
                if differ:
                    for lane in range(LANES):
                        if differ >> lane & 1:
                            expected[number, lane] = np.float32(
                                np.float64(expected[number, lane])
                                + times * math.exp(np.float64(marginal[at, lane]))
                            )
                        else:
                            expected[number, lane] = np.float32(
                                np.float64(expected[number, lane]) + addend[at, lane]
                            )
                else:
                    store(expected, number, below)
            else:
                waiting, unknown = True, at
            if waiting and length[edge] >> 7:
                for lane in range(LANES):
                    expected[zero[lane], lane] = np.float32(
                        np.float64(expected[zero[lane], lane])
                        + times * math.exp(np.float64(marginal[unknown, lane]))
                    )
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
    types_of_block = int(np.diff(bounds).max(initial=0))
    by_lane = np.ascontiguousarray(score.T)

    def new_buffer() -> WorkBuffer:
        marginal, after = np.empty((2, edges, LANES), np.float32)
        total = np.empty((types_of_block, LANES), np.float32)
        doubt = np.empty(types_of_block, np.uint8)
        addend = np.empty((edges, LANES))

        def compute(block: int) -> None:
            begin, stop = bounds[block : block + 2]
            walk_side_by_side(
                lattice, score, margin, begin, stop, Work(marginal, after, total, doubt)
            )
            end = len(lattice.first) - 1
            base = lattice.first[end - lattice.start[stop - 1] - lattice.size[stop - 1]]
            for row in np.flatnonzero(doubt[: stop - begin]):
                t = begin + row
                low = lattice.first[end - lattice.start[t] - lattice.size[t]] - base
                for lane in range(LANES):
                    if doubt[row] >> lane & 1:
                        total[row, lane], *columns = walk_alone(lattice, t, by_lane[lane])
                        own = slice(low, low + len(columns[0]))
                        marginal[own, lane], after[own, lane] = columns
            occurrences(lattice, frequency, begin, stop, marginal, after, total, addend)

        def add(block: int) -> None:
            begin, stop = bounds[block : block + 2]
            add_up(lattice, frequency, begin, stop, marginal, addend, zero, expected)

        return WorkBuffer(compute, add)

    workers.in_order(len(bounds) - 1, new_buffer)
    return expected


@kernel(types.void(LATTICE, int64[:, ::1], SINGLE_ROWS, int64, int64[:, :, ::1]))
def encoder_counts(lattice, frequency, score, unknown, counts):
    """`segmentation.encoder_counts` in each lane: `counts` int64 [lanes, texts, pieces],
    of eight lanes or less.
    """
    first, piece, length, start, size = lattice
    end = first.size - 1
    longest = size.max()
    best = np.empty((longest + 1, LANES), np.float32)
    chosen = np.empty((longest + 1, LANES), np.int32)
    zero, lowest = spread(np.float32(0)), spread(np.float32(-np.inf))
    for t in range(size.size):
        # Forward: the best sum at each position
        n = size[t]
        store(best, index(0), zero)
        for place in range(1, n + 1):
            store(best, index(place), lowest)
        i = index(0)
        edge, begin = index(first[end - start[t]]), index(first[end - start[t] - n])
        while edge > begin:
            edge -= index(1)
            number = index(piece[edge])
            sum_ = widen(load(best, i)) + widen(load(score, number))
            rounded = narrow(sum_)
            if number >= index(unknown):
                sum_ = widen(rounded)
            bits = index(length[edge])
            j = i + (bits & index(127))
            so_far = load(best, j)
            before = widen(so_far)
            store(best, j, choose_greater(sum_, before, rounded, so_far))
            edges = spread(np.int32(edge))
            store(chosen, j, choose_greater(sum_, before, edges, load(chosen, j)))
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
