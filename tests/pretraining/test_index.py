"""The index against brute force, in one process and in two."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vocap.errors import UsageError
from vocap.pretraining.loss_kinds import Knn
from vocap.pretraining.losses import build_loss
from vocap.pretraining.losses.knn import NeighbourIndex, nearest

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def brute_force(queries, table, k):
    scores = queries.double() @ table.double().T
    order = [
        sorted(range(len(table)), key=lambda place: (-row[place], place))[:k]
        for row in scores.tolist()
    ]
    return torch.tensor(order)


@given(
    seed=st.integers(0, 10**6),
    words=st.integers(1, 400),
    queries=st.integers(0, 30),
    width=st.integers(1, 6),
    share=st.floats(0, 1),
    held=st.sampled_from([1, 4000, 10**6]),
)
@settings(max_examples=60, deadline=None)
def test_nearest_is_brute_force(seed, words, queries, width, share, held):
    """Whole numbers, so that sums are exact and many scores are equal."""
    random = np.random.default_rng(seed)
    table = torch.tensor(random.integers(-3, 4, (words, width)), dtype=torch.float32)
    asked = torch.tensor(random.integers(-3, 4, (queries, width)), dtype=torch.float32)
    k = max(1, round(share * words))
    for device in DEVICES:
        found = nearest(asked.to(device), table.to(device), k, held).cpu()
        assert torch.equal(found, brute_force(asked, table, k).reshape(queries, k))
        half = nearest(asked.bfloat16().to(device), table.bfloat16().to(device), k, held).cpu()
        assert torch.equal(half, found)


def test_scores_of_every_kind_are_ordered():
    values = [0.0, -0.0, 1e-30, -1e-30, 3.5, -3.5, 1e30, -1e30, 0.0, 3.5]
    table = torch.tensor(values)[:, None]
    assert nearest(torch.ones(1, 1), table, 10)[0].tolist() == [6, 4, 9, 2, 0, 1, 8, 3, 5, 7]


def weights(seed, vocabulary=300, width=8):
    return torch.tensor(
        np.random.default_rng(seed).normal(size=(vocabulary, width)), dtype=torch.float32
    )


WORDS = torch.tensor([word for word in range(300) if word not in (0, 7, 9, 299)])


def expected(weight, k):
    """I_k of every word, by brute force over C."""
    return WORDS[brute_force(weight[WORDS], weight[WORDS], k)]


def made_index(refresh, vocabulary=300, words=WORDS, k=6, every=4):
    """An index that is refreshed as on a GPU (burst) or on a CPU (lazy)."""
    index = NeighbourIndex(vocabulary, words, k, every)
    index.burst = refresh == "burst"
    return index


def neighbours(index, words, weight):
    index.prepare(words, weight)
    return index.neighbours(words)


@pytest.mark.parametrize("k", [1, 296])
def test_special_tokens_are_no_neighbours(k):
    """Not even where every word is asked for, and they have the highest scores."""
    weight = weights(0)
    weight[[0, 7, 9, 299]] = 100 * weight[[1, 2, 3, 4]]
    index = made_index("lazy", k=k)
    index.start(0, weight)
    assert torch.equal(neighbours(index, WORDS, weight), expected(weight, k))


def test_burst_refreshes_every_n_steps():
    index = made_index("burst")
    for step in range(9):
        index.start(step, weights(step))
        assert torch.equal(
            neighbours(index, WORDS, weights(99)), expected(weights(step - step % 4), 6)
        )


def test_lazy_builds_only_what_occurs():
    index = made_index("lazy")
    asked = {0: [1, 4], 2: [4, 5], 3: [1], 4: [5], 6: [1, 5]}
    built = {}
    for step, words in asked.items():
        assert index.start(step, weights(step)) == 0
        stale = any(built.get(word, -1) < step - step % 4 for word in words)
        # seconds, of what it built
        assert (index.prepare(torch.tensor(words), weights(step)) > 0) == stale
        found = neighbours(index, torch.tensor(words), weights(step))
        for word, row in zip(words, found, strict=True):
            if built.get(word, -1) < step - step % 4:
                built[word] = step
            right = expected(weights(built[word]), 6)[WORDS.tolist().index(word)]
            assert torch.equal(row, right)
    assert (index.built >= 0).sum() == 3


def test_more_neighbours_than_words():
    with pytest.raises(UsageError, match=r"loss\.k is 297, the vocabulary has 296 words"):
        build_loss(Knn(k=297), 300, [0, 7, 9, 299])


TWO = """
import os, sys, torch
from torch import distributed
from tests.pretraining.test_index import WORDS, expected, made_index, neighbours, weights
from vocap.pretraining.loss_kinds import Knn, Target
from vocap.pretraining.losses import build_loss

rank = int(sys.argv[1])
distributed.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=rank, world_size=2)
index = made_index("burst")
for step in range(6):
    index.start(step, weights(step))
assert torch.equal(neighbours(index, WORDS, weights(0)), expected(weights(4), 6))
lazy = made_index("lazy")
lazy.start(0, weights(0))
mine = WORDS[[1, 4, 20]] if rank else WORDS[:0]
found = neighbours(lazy, mine, weights(0))
assert torch.equal(found, expected(weights(0), 6)[[1, 4, 20] if rank else []].reshape(-1, 6))
grouped = build_loss(Knn(k=6, group=2), 300, [0, 7, 9, 299])  # two groups here, four there
grouped.start(0, weights(0))
mine = WORDS[3:7] if rank else WORDS[10:17]
table = weights(0).requires_grad_()
grouped(torch.ones(len(mine), table.shape[1]), table, torch.zeros(300), mine)
both = WORDS[[3, 4, 5, 6, 10, 11, 12, 13, 14, 15, 16]]
right = expected(weights(0), 6)[[3, 4, 5, 6, *range(10, 17)]]
assert torch.equal(grouped.index.table[both].long(), right)
target = build_loss(Target(tau=5), 300, [0, 7, 9, 299])
first = target.candidates(torch.tensor([[4], [5, 6]][rank]), None).tolist()
second = target.candidates(torch.tensor([[8, 10], [11]][rank]), None).tolist()
assert first == [4, 5, 6], first
assert len(second) == 5 and {8, 10, 11} < set(second) <= {4, 5, 6, 8, 10, 11}, second
for state in (index, lazy, grouped, target):
    for value in state.state_dict().values():
        both = [torch.empty_like(value) for _ in range(2)]
        distributed.all_gather(both, value)
        assert torch.equal(*both)
distributed.destroy_process_group()
print("well")
"""


def test_two_processes(tmp_path):
    command = [sys.executable, "-c", TWO]
    root = Path(__file__).parents[2]
    processes = [
        subprocess.Popen(
            [*command, str(rank), str(tmp_path / "meeting")],
            cwd=root,
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    assert [process.communicate(timeout=600)[0] for process in processes] == ["well\n", "well\n"]
