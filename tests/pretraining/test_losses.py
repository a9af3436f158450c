"""Every loss against its formula, written out word by word, and its gradient against
finite differences.
"""

import doctest
import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import vocap.pretraining.losses
from vocap.pretraining.loss_kinds import Full, Knn, Nce, Neg, Sampled, Target, Uniform
from vocap.pretraining.losses import build_loss, exact_loss, linear_cross_entropy
from vocap.pretraining.losses.candidates import CandidateLoss
from vocap.pretraining.losses.interface import (
    block_loss,
    chunks,
    compiled_softmax_loss,
    fastest_softmax_loss,
    softmax_loss,
)

V, D, N = 30, 4, 7
SPECIALS = [0, 1, 2, 3, V - 1]
C = [word for word in range(V) if word not in SPECIALS]
SAMPLED = [
    Knn(k=4),
    Knn(k=4, group=3),
    Knn(k=3, uniform=4),
    Target(tau=9),
    Uniform(negatives=8),
    Sampled(negatives=12),
    Nce(negatives=12),
    Neg(negatives=12),
]


def case(seed=0, dtype=torch.float64):
    random = np.random.default_rng(seed)
    hidden, weight, bias = (
        torch.tensor(random.normal(size=size), dtype=dtype) for size in ((N, D), (V, D), V)
    )
    targets = torch.tensor(random.choice(C[:9], N))  # few words, so that some come twice
    return hidden.requires_grad_(), weight.requires_grad_(), bias.requires_grad_(), targets


def frequencies(seed=0):
    return np.random.default_rng(seed).integers(0, 50, V)


def built(kind, **options):
    loss = build_loss(kind, V, SPECIALS, counts=frequencies(), seed=5, **options)
    loss.start(0, case()[1])
    return loss


def logits(hidden, weight, bias):
    return (hidden @ weight.T + bias).detach().numpy()


def log_sum_exp(values):
    return np.log(np.sum(np.exp(values)))


def cross_entropy(hidden, weight, bias, targets, reduction="sum"):
    return torch.nn.functional.cross_entropy(hidden @ weight.T + bias, targets, reduction=reduction)


def assert_same(found, expected, inputs):
    """Equal values and gradients."""
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(
        torch.autograd.grad(found, inputs), torch.autograd.grad(expected, inputs)
    )


def test_example_of_another_model():
    results = doctest.testmod(vocap.pretraining.losses)
    assert results.attempted > 5 and not results.failed


@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_full_softmax_is_cross_entropy(chunk):
    """Also in the blocks of a GPU, here on a CPU."""
    *inputs, targets = case(dtype=torch.float32)
    z = logits(*inputs)
    expected = sum(log_sum_exp(z[i]) - z[i, t] for i, t in enumerate(targets.tolist()))
    output = built(Full(chunk=chunk))(*inputs, targets)
    assert output.loss.item() == pytest.approx(expected, rel=1e-5)
    assert (output.count, output.candidates) == (N, V)
    reference = cross_entropy(*inputs, targets)
    assert_same(output.loss / 3, reference / 3, inputs)
    blocks = block_loss(*inputs, chunks(targets, chunk), softmax_loss)
    assert_same(blocks, cross_entropy(*inputs, targets), inputs)


@pytest.mark.parametrize("kind", [Full(), *SAMPLED], ids=repr)
def test_targets_of_minus_100_are_left_out_as_torch_does(kind):
    hidden, weight, bias, targets = case()
    kept = torch.arange(N) % 3 > 0
    output = built(kind)(hidden, weight, bias, torch.where(kept, targets, -100))
    others = built(kind)(hidden[kept], weight, bias, targets[kept])
    assert (output.loss.item(), output.count) == (others.loss.item(), int(kept.sum()))
    if kind == Full():
        some = torch.where(kept, targets, -100)
        mean = cross_entropy(hidden, weight, bias, some, reduction="mean")
        assert (output.loss / output.count).item() == pytest.approx(mean.item())


@pytest.mark.parametrize("kind", SAMPLED, ids=repr)
def test_gradients(kind):
    *inputs, targets = case()
    loss = built(kind)
    # the index of k-NN as it is now, whatever gradcheck does to W
    loss(*inputs, targets)

    def value(*inputs):
        loss.calls = 0  # the same draws each time
        return loss(*inputs, targets).loss

    assert torch.autograd.gradcheck(value, inputs)


@pytest.mark.parametrize(
    "kind", [kind for kind in SAMPLED if isinstance(kind, Knn | Target | Uniform)], ids=repr
)
@given(seed=st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_candidates(kind, seed):
    """V' holds every target, no special token, no duplicate; the loss is the softmax
    over it.
    """
    hidden, weight, bias, targets = case(seed)
    loss = built(kind)
    seen = []
    choose = loss.candidates
    loss.candidates = lambda *arguments: seen.append(choose(*arguments)) or seen[-1]
    output = loss(hidden, weight, bias, targets)
    assert isinstance(loss, CandidateLoss)
    edges = [0, 2, 4, 7] if getattr(kind, "group", None) else [0, 7]
    z, expected = logits(hidden, weight, bias), 0.0
    for (start, stop), candidates in zip(itertools.pairwise(edges), seen, strict=True):
        candidates = candidates.tolist()
        assert candidates == sorted(set(candidates)) and set(candidates) <= set(C)
        assert set(targets[start:stop].tolist()) <= set(candidates)
        expected += sum(
            log_sum_exp(z[i, candidates]) - z[i, targets[i]] for i in range(start, stop)
        )
    assert output.loss.item() == pytest.approx(expected)
    assert output.candidates == np.mean([len(candidates) for candidates in seen])


def test_knn_is_algorithm_2():
    """V' is the union of the k nearest words of each target, and the targets."""
    _, weight, _, targets = case()
    scores = (weight @ weight.T).detach().numpy()
    expected = set(targets.tolist())
    for target in targets.tolist():
        expected |= set(sorted(C, key=lambda word: (-scores[target, word], word))[:4])
    chosen = built(Knn(k=4)).candidates(torch.unique(targets), weight.detach())
    assert set(chosen.tolist()) == expected


def test_knn_keeps_its_index_between_refreshes():
    _, weight, _, targets = case()
    words = torch.unique(targets)
    for burst in (True, False):
        loss = build_loss(Knn(k=4, every=10), V, SPECIALS)
        loss.index.burst = burst
        loss.start(0, weight)
        before = loss.candidates(words, weight.detach())
        moved = torch.tensor(np.random.default_rng(1).normal(size=(V, D)))
        loss.start(9, moved)
        assert torch.equal(loss.candidates(words, moved), before)
        loss.start(10, moved)
        fresh = build_loss(Knn(k=4), V, SPECIALS)
        assert torch.equal(loss.candidates(words, moved), fresh.candidates(words, moved))


def test_target_sampling_walks_back_until_tau():
    loss = build_loss(Target(tau=5), V, SPECIALS)
    stream = [[10], [4, 5], [6], [4, 7], [8, 9, 10], [11, 12, 13, 14, 15, 16]]
    expected = [[10], [4, 5, 10], [4, 5, 6, 10], [4, 5, 6, 7, 10], [4, 7, 8, 9, 10], stream[-1]]
    weight = torch.zeros(V, D)
    for words, right in zip(stream, expected, strict=True):
        assert loss.candidates(torch.tensor(words), weight).tolist() == right
        again = build_loss(Target(tau=5), V, SPECIALS)
        again.load_state_dict({name: value.clone() for name, value in loss.state_dict().items()})
        loss = again


def drawn(kind):
    """Probabilities and the draws of a first call, by the definition."""
    powers = np.where(np.isin(np.arange(V), SPECIALS), 0, (frequencies() + 1.0) ** kind.power)
    q = powers / powers.sum()
    words, counts = built(kind).draw()
    return q, dict(zip(words.tolist(), counts.tolist(), strict=True))


@pytest.mark.parametrize("power", [0.0, 0.75, 1.0])
def test_noise_follows_its_distribution(power):
    q, counts = drawn(Sampled(negatives=20_000, power=power))
    observed = np.array([counts.get(word, 0) for word in range(V)]) / 20_000
    assert sum(counts.values()) == 20_000 and not observed[SPECIALS].any()
    assert np.abs(observed - q).max() < 5 * np.sqrt(q.max() / 20_000)


def test_sampled_softmax():
    hidden, weight, bias, targets = case()
    kind = Sampled(negatives=12, power=0.5)
    q, counts = drawn(kind)
    z, expected = logits(hidden, weight, bias), 0.0
    for i, target in enumerate(targets.tolist()):
        scores = [z[i, target]]
        scores += [z[i, j] - np.log(1 - (1 - q[j]) ** 12) for j in counts if j != target]
        expected += log_sum_exp(scores) - z[i, target]
    assert built(kind)(hidden, weight, bias, targets).loss.item() == pytest.approx(expected)


def sigmoid(value):
    return 1 / (1 + np.exp(-value))


@pytest.mark.parametrize("kind", [Nce(negatives=12), Neg(negatives=12)], ids=repr)
def test_nce_and_negative_sampling(kind):
    hidden, weight, bias, targets = case()
    q, counts = drawn(kind)
    z, expected = logits(hidden, weight, bias), 0.0
    nce = kind.kind == "nce"
    assert any(target in counts for target in targets.tolist())
    for i, target in enumerate(targets.tolist()):
        score = [
            z[i, word] - (np.log(12 * q[word]) if nce and q[word] else 0.0) for word in range(V)
        ]
        expected -= np.log(sigmoid(score[target]))
        for word, times in counts.items():
            if nce or word != target:  # word2vec skips a draw of the target
                expected -= times * np.log(sigmoid(-score[word]))
    assert built(kind)(hidden, weight, bias, targets).loss.item() == pytest.approx(expected)
    assert built(kind).initial_bias == (-np.log(len(C)) if nce else 0)


@pytest.mark.parametrize("kind", SAMPLED, ids=repr)
def test_the_last_backward_pass_gives_the_gradients_of_a_kept_graph(kind):
    """gradcheck keeps the graph; without it memory is used again, which may change
    neither result nor weights.
    """
    *inputs, targets = case()
    before = inputs[1].detach().clone()
    loss = built(kind)(*inputs, targets).loss * 0.5
    kept = torch.autograd.grad(loss, inputs, retain_graph=True)
    once = torch.autograd.grad(loss, inputs)
    assert all(map(torch.equal, kept, once))
    assert torch.equal(inputs[1].detach(), before)


@pytest.mark.parametrize("kind", [Full(), *SAMPLED], ids=repr)
def test_no_targets(kind):
    hidden, weight, bias, targets = case(dtype=torch.float32)
    output = built(kind)(hidden[:0], weight, bias, targets[:0])
    assert output.loss == 0 and output.count == 0
    output.loss.backward()


@pytest.mark.parametrize("kind", SAMPLED[2:], ids=repr)
def test_draws_depend_on_seed_step_and_call_alone(kind):
    given = case()

    def losses(loss, steps):
        values = []
        for step in steps:
            loss.start(step, given[1])
            values += [loss(*given).loss.item() for _ in range(2)]
        return values

    twice = losses(built(kind), [0, 1])
    resumed = built(kind)
    resumed.load_state_dict(built(kind).state_dict())
    assert losses(resumed, [0, 1]) == twice
    if not isinstance(kind, Target):
        assert losses(built(kind), [1]) == twice[2:] and len(set(twice)) == 4


def test_finish_is_the_full_softmax():
    given = case(dtype=torch.float32)
    loss = build_loss(Knn(k=3, finish=0.25), V, SPECIALS, steps=8)
    for step in range(8):
        loss.start(step, given[1])
        assert (loss(*given).candidates == V) == (step >= 6)
    torch.testing.assert_close(loss(*given).loss, linear_cross_entropy(*given))


def check_exact_loss(device):
    hidden, weight, bias, targets = case()
    weight.data[C[12]] = weight.data[targets[0]]  # a tie counts against the target
    bias.data[C[12]] = bias.data[targets[0]]
    given = (tensor.to(device) for tensor in (hidden, weight, bias, targets))
    nats, ranks = exact_loss(*given, SPECIALS)
    z = logits(hidden, weight, bias)
    for i, target in enumerate(targets.tolist()):
        assert nats[i].item() == pytest.approx(log_sum_exp(z[i, C]) - z[i, target])
        assert ranks[i].item() == sum(z[i, C] >= z[i, target])


def test_exact_loss_and_ranks():
    check_exact_loss("cpu")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_stays_near_float32(dtype):
    *inputs, targets = case(dtype=torch.float32)
    for kind in (Full(), Knn(k=4)):
        exact = built(kind)(*inputs, targets)
        with torch.autocast("cpu", dtype=dtype):
            rough = built(kind)(*inputs, targets)
        assert rough.loss.dtype == torch.float32
        assert rough.loss.item() == pytest.approx(exact.loss.item(), rel=0.02)
        gradients = (torch.autograd.grad(one.loss, inputs) for one in (rough, exact))
        for gradient, right in zip(*gradients, strict=True):
            assert gradient.dtype == torch.float32
            assert (gradient - right).norm() < 0.03 * right.norm()


def test_the_compiled_loss_is_the_plain_one():
    """Traced, not compiled: that needs a compiler."""
    *inputs, targets = case(dtype=torch.float32)
    traced = compiled_softmax_loss()._torchdynamo_orig_callable
    values = (block_loss(*inputs, chunks(targets, 3), one) for one in (traced, softmax_loss))
    assert_same(*values, inputs)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU's loss may well compile")
def test_a_gpu_that_cannot_compile_gets_the_plain_loss(caplog):
    """One warning for any error of the compiler; here the missing GPU."""
    fastest_softmax_loss.cache_clear()
    assert [fastest_softmax_loss("cuda") for _ in range(3)] == [softmax_loss] * 3
    assert fastest_softmax_loss("cpu") is softmax_loss
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "torch cannot compile here" in caplog.text
    fastest_softmax_loss.cache_clear()
