"""Order, shares and masks: pure functions of seed, step and slot, against their
definitions.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vocap.pretraining.data import (
    DECK,
    Blocks,
    Order,
    SpecialIds,
    TrainingBatches,
    Vocabulary,
    heldout_batch,
    heldout_blocks,
    mask_tokens,
)
from vocap.tables.sampling_probabilities import sampling_probabilities
from vocap.training.loop import prefetch
from vocap.training.randomness import generator, permuted

VOCABULARY = 1000
IDS = Vocabulary(VOCABULARY, SpecialIds.of_xlm_r(VOCABULARY))


def made_blocks(count: int, seed: int, longest: int = 40) -> Blocks:
    random = np.random.default_rng(seed)
    parts = [
        [0, *random.integers(4, VOCABULARY - 1, random.integers(1, longest - 2)), 2]
        for _ in range(count)
    ]
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    tokens, size_bytes = np.concatenate(parts).astype(np.uint32), np.full(count, 9, np.uint32)
    return Blocks(tokens, ends, size_bytes, unknown_bytes=np.zeros(count, np.uint32))


@given(st.integers(1, 5000), st.integers(0, 2**64 - 1))
def test_a_permutation_holds_every_place_once(size, key):
    places = permuted(np.arange(size), np.full(size, size), np.full(size, key, np.uint64))
    assert sorted(places.tolist()) == list(range(size))


@pytest.mark.parametrize("size", [2, 5, 37, 70])
def test_every_place_is_as_likely_as_another(size):
    """Image of each position, and distance to the next image: chi-square within five
    deviations.
    """
    keys = np.arange(500 * size, dtype=np.uint64)
    places = [
        permuted(np.full(len(keys), at), np.full(len(keys), size), keys) for at in range(size)
    ]
    for values, expected in [(place, 500) for place in places] + [
        ((after - before) % size, 500 * size / (size - 1))
        for before, after in itertools.pairwise(places)
    ]:
        counts = np.bincount(values, minlength=size)
        counts = counts[counts > 0]
        freedom = len(counts) - 1
        assert ((counts - expected) ** 2 / expected).sum() < freedom + 5 * (2 * freedom) ** 0.5 + 5


@given(st.lists(st.integers(1, 50), min_size=1, max_size=5), st.integers(0, 10), st.data())
def test_slots_do_not_depend_on_how_they_are_asked_for(sizes, seed, data):
    order = Order(sizes, sampling_probabilities(sizes, 0.7), seed, deck=64)
    cuts = sorted(data.draw(st.lists(st.integers(0, 300), max_size=6)))
    whole = order.slots(0, 300)
    for first, last in zip([0, *cuts], [*cuts, 300], strict=True):
        if first < last:
            part = order.slots(first, last - first)
            for one, other in zip(part, whole, strict=True):
                assert (one == other[first:last]).all()


def test_shares_are_those_of_equation_3():
    n = [30_000, 500, 7_000]
    q = np.array(n) ** 0.7 / (np.array(n) ** 0.7).sum()
    languages, _ = Order([10, 20, 30], q, seed=3).slots(0, DECK)
    assert np.abs(np.bincount(languages) / DECK - q).max() < 1 / DECK
    few = np.bincount(Order([10, 20, 30], q, seed=3).slots(0, 10_000)[0]) / 10_000
    assert np.abs(few - q).max() < 0.02  # five standard deviations


def test_a_rare_language_comes_in_every_deck():
    q = np.array([1 - 1e-9, 1e-9])
    languages, _ = Order([5, 5], q, seed=0, deck=1000).slots(0, 5000)
    assert np.bincount(languages).tolist() == [4995, 5]


def test_every_block_comes_once_before_any_comes_again():
    order = Order([7, 3], np.array([0.5, 0.5]), seed=1, deck=20)
    languages, blocks = order.slots(0, 400)
    for language, size in enumerate((7, 3)):
        mine = blocks[languages == language]
        rounds = mine[: len(mine) // size * size].reshape(-1, size)
        assert (np.sort(rounds, 1) == np.arange(size)).all()
        assert len({tuple(one) for one in rounds.tolist()}) > 1


@given(st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=80), st.integers(0, 1000))
def test_masks_touch_what_they_say(ids, seed):
    ids = np.array(ids)
    seen, places, targets = mask_tokens(ids, IDS, generator(seed, 1, 0))
    plain = (ids > 3) & (ids != VOCABULARY - 1)
    assert plain[places].all()
    assert (targets == ids[places]).all()
    assert len(set(places.tolist())) == len(places)
    assert int(0.15 * plain.sum()) <= len(places) <= int(0.15 * plain.sum()) + 1
    untouched = np.delete(np.arange(len(ids)), places)
    assert (seen[untouched] == ids[untouched]).all()
    assert not np.isin(seen[places], [0, 1, 2, 3]).any()


def test_masks_are_15_percent_and_80_10_10():
    """Shares within four standard deviations of their expectation, and random ids
    uniform over the words.
    """
    ids = np.full(510, 500)
    masked, as_mask, kept, drawn, places = 0, 0, 0, [], []
    for number in range(2000):
        seen, where, _ = mask_tokens(ids, IDS, generator(5, 1, number))
        masked += len(where)
        as_mask += int((seen[where] == VOCABULARY - 1).sum())
        kept += int((seen[where] == 500).sum())
        drawn += seen[where][(seen[where] != 500) & (seen[where] != VOCABULARY - 1)].tolist()
        places += where.tolist()
    assert abs(masked / 2000 - 76.5) < 4 * 0.5 / 2000**0.5
    for count, share in ((as_mask, 0.8), (kept, 0.1 + 0.1 / 995), (len(drawn), 0.1 - 0.1 / 995)):
        assert abs(count / masked - share) < 4 * (share * (1 - share) / masked) ** 0.5
    assert min(drawn) >= 4 and max(drawn) < VOCABULARY - 1
    halves = np.histogram(drawn, [4, 501, VOCABULARY - 1])[0]
    assert abs(halves[0] - halves[1]) < 4 * len(drawn) ** 0.5
    quarters = np.histogram(places, 4, (0, 510))[0]
    assert np.abs(quarters - masked / 4).max() < 4 * (masked / 4) ** 0.5


def test_batches_are_pure_functions_of_seed_and_step():
    languages = [made_blocks(30, 1), made_blocks(11, 2)]
    q = np.array([0.6, 0.4])

    def made(seed: int = 7, rank: int = 0, ranks: int = 1) -> TrainingBatches:
        return TrainingBatches(languages, q, IDS, seed, 12, 3, rank, ranks)

    forward = [made().step(step) for step in range(6)]
    backward = [made().step(step) for step in reversed(range(6))][::-1]
    assert same(forward, backward)
    assert not same(forward, [made(seed=8).step(step) for step in range(6)])
    for first in (0, 4):
        assert same(forward[first:], list(prefetch(made(), first, 6)))
    shared = [made(rank=rank, ranks=2).step(3) for rank in range(2)]
    assert same([forward[3]], [[shared[0][0], shared[1][0], shared[0][1], shared[1][1]]])


def same(one: list, other: list) -> bool:
    return all(
        np.array_equal(left, right)
        for steps in zip(one, other, strict=True)
        for batches in zip(*steps, strict=True)
        for left, right in zip(*(vars(batch).values() for batch in batches), strict=True)
    )


def test_a_batch_is_its_blocks_side_by_side():
    languages = [made_blocks(30, 1), made_blocks(11, 2)]
    batches = TrainingBatches(languages, np.array([0.6, 0.4]), IDS, 7, 12, 12)
    batch = batches.step(2)[0]
    originals = [
        languages[language][block] for language, block in zip(*batches.members(2), strict=True)
    ]
    flat = batch.input_ids.copy().ravel()
    flat[batch.positions] = batch.targets
    rows = flat.reshape(batch.input_ids.shape)
    for row, ids in enumerate(originals):
        assert (rows[row, : len(ids)] == ids).all()
        assert (batch.input_ids[row, len(ids) :] == 1).all()
        assert batch.attention[row].tolist() == [True] * len(ids) + [False] * (
            rows.shape[1] - len(ids)
        )
    assert (batch.rows == batch.positions // rows.shape[1]).all()
    assert batch.tokens == sum(map(len, originals))


@pytest.mark.parametrize("count", [1, 4, 100])
def test_heldout_blocks_are_masked_alike_in_every_batch(count):
    languages = [made_blocks(9, 1), made_blocks(3, 2)]
    chosen = heldout_blocks(languages, count)
    assert [block.language for block in chosen] == [0] * min(count, 9) + [1] * min(count, 3)
    assert len({(block.language, block.number) for block in chosen}) == len(chosen)
    whole = heldout_batch(chosen, IDS)
    alone = [heldout_batch([block], IDS) for block in chosen]
    assert whole.targets.tolist() == [
        number for batch in alone for number in batch.targets.tolist()
    ]
    hidden = [target for block in chosen for target in block.ids.tolist()]
    assert set(whole.targets.tolist()) <= set(hidden)
