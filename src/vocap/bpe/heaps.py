"""Kernels of heaps: the heaviest pair of each group, and the group whose turn it is."""

import numpy as np
from numba import int64, types

from vocap.bpe.pairs import BITS, FIRST, SECOND
from vocap.bpe.state import BASE, BY_TEXT, FREE_NODE, NODES, NONE, RESERVED, STATE
from vocap.unigram.kernels import kernel

LOWER = 4  # the factor between two floors of a heap


@kernel(types.void(STATE))
def set_floors(state):
    """A floor above all pairs of a group: the first search of its heap lowers it."""
    for group in range(state.floor.size):
        pair = np.int64(state.first[group])
        while pair >= 0:
            state.floor[group] = max(state.floor[group], state.count[pair] + 1)
            pair = np.int64(state.sibling[pair])


_TEXTS = "int64[::1], int32[::1], int64[::1]"  # number, store, bounds
_ORDER = f"int64[::1], int32[::1], uint64[::1], {_TEXTS}"  # weight, node, keys


@kernel(f"int64(int64, int64, {_TEXTS})", inner=True)
def compare_texts(a, b, number, store, bounds):
    """Below, at or above 0 as token a sorts before, as or after token b."""
    a += number[RESERVED] * (a >= number[BASE])
    b += number[RESERVED] * (b >= number[BASE])
    for at in range(min(bounds[a + 1] - bounds[a], bounds[b + 1] - bounds[b])):
        difference = np.int64(store[bounds[a] + at]) - np.int64(store[bounds[b] + at])
        if difference:
            return difference
    return (bounds[a + 1] - bounds[a]) - (bounds[b + 1] - bounds[b])


@kernel(f"boolean(int64, int64, {_ORDER})", inner=True)
def comes_first(one, other, weight, node, keys, number, store, bounds):
    """Whether node `one` leaves the heap before `other`: by weight, then by its pair.

    First is the pair of the lower symbols, as in `BpeTrainer` of `tokenizers`; by text, that of the tokens that
    sort last, as in its `ParityBpeTrainer`.
    """
    if weight[one] != weight[other]:
        return weight[one] > weight[other]
    key, against = keys[node[one]], keys[node[other]]
    if not number[BY_TEXT]:
        return key < against
    difference = compare_texts(np.int64(key >> FIRST), np.int64(against >> FIRST), number, store, bounds)
    if not difference:
        second, other_second = np.int64(key >> SECOND) & BITS, np.int64(against >> SECOND) & BITS
        difference = compare_texts(second, other_second, number, store, bounds)
    return difference > 0


@kernel(f"int64(int64, int64, int32[::1], int32[::1], {_ORDER})", inner=True)
def meld(one, other, left, right, weight, node, keys, number, store, bounds):
    """The root of two skew heaps as one."""
    if one < 0 or other < 0:
        return max(one, other)
    if comes_first(other, one, weight, node, keys, number, store, bounds):
        one, other = other, one
    root = one
    while True:
        below = np.int64(right[one])
        right[one] = left[one]
        if below < 0:
            left[one] = other
            return root
        if comes_first(other, below, weight, node, keys, number, store, bounds):
            below, other = other, below
        left[one] = below
        one = below


@kernel(types.void(STATE, int64, int64), inner=True)
def push(state, group, pair):
    number = state.number
    if number[FREE_NODE] >= 0:
        node = number[FREE_NODE]
        number[FREE_NODE] = state.left[node]
    else:
        node = number[NODES]
        number[NODES] += 1
    state.weight[node], state.node[node] = state.count[pair], pair
    state.left[node] = state.right[node] = NONE
    state.root[group] = meld(
        np.int64(state.root[group]), node, state.left, state.right,
        state.weight, state.node, state.keys, number, state.store, state.bounds,
    )  # fmt: skip


@kernel(int64(STATE, int64), inner=True)
def heaviest(state, group):
    """The heaviest pair of a group, taken from its heap; NONE where none occurs in the training text."""
    count, left, right, weight, node = state.count, state.left, state.right, state.weight, state.node
    while True:
        top = np.int64(state.root[group])
        if top < 0:
            if state.floor[group] <= 1:
                return np.int64(NONE)
            ceiling = state.floor[group]
            floor = state.floor[group] = max(np.int64(1), ceiling // LOWER)
            sibling, pair = state.sibling, np.int64(state.first[group])
            while pair >= 0:
                if floor <= count[pair] < ceiling:
                    push(state, group, pair)
                pair = np.int64(sibling[pair])
            continue
        pair, counted = np.int64(node[top]), weight[top]
        state.root[group] = meld(
            np.int64(left[top]), np.int64(right[top]), left, right,
            weight, node, state.keys, state.number, state.store, state.bounds,
        )  # fmt: skip
        left[top] = state.number[FREE_NODE]
        state.number[FREE_NODE] = top
        if count[pair] == counted:
            return pair
        if count[pair] >= state.floor[group]:
            push(state, group, pair)


@kernel(int64(STATE), inner=True)
def longest_group(state):
    """The group of the highest length / divisor among those with pairs, of equal ones the first; NONE for none."""
    best = np.int64(NONE)
    for group in range(state.length.size):
        if not state.spent[group] and state.divisor[group] and (
            best < 0 or state.length[group] * state.divisor[best] > state.length[best] * state.divisor[group]
        ):  # fmt: skip
            best = np.int64(group)
    return best
