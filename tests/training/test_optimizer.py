"""AdamW against torch's own, with dense and row-sparse gradients."""

import numpy as np
import pytest
import torch

from vocap.training.optimizer import AdamW, clip_gradients

V, D = 40, 3
SETTINGS = {"lr": 0.01, "betas": (0.9, 0.98), "eps": 1e-6, "weight_decay": 0.1}


def start():
    return torch.nn.Embedding.from_pretrained(
        torch.tensor(np.random.default_rng(0).normal(size=(V, D)), dtype=torch.float64), freeze=False
    )


def train(optimizer_of, sparse, words_of, steps=25):
    """The table after each step, when step i's gradient is of the words `words_of(i)`."""
    table = start()
    table.sparse = sparse
    optimizer = optimizer_of(table.parameters())
    tables = []
    for step in range(steps):
        optimizer.zero_grad()
        factors = torch.tensor(np.random.default_rng(step + 1).normal(size=(2 * len(words_of(step)), D)))
        ids = torch.tensor([*words_of(step), *words_of(step)])  # each twice: gradients of one row are summed
        (table(ids).sin() * factors).sum().backward()
        assert table.weight.grad.is_sparse == sparse
        optimizer.step()
        tables.append(table.weight.detach().clone())
    return tables, optimizer.state[table.weight]


def reference(parameters):
    return torch.optim.AdamW(parameters, **SETTINGS, foreach=False)


def some(step):
    return np.random.default_rng(100 + step).choice(V, 5, replace=False).tolist()


def test_dense_adam_takes_row_gradients():
    expected, state = train(reference, False, some)
    for sparse in (False, True):
        tables, mine = train(lambda p: AdamW(p, **SETTINGS), sparse, some)
        for table, right in zip(tables, expected, strict=True):
            torch.testing.assert_close(table, right)
        torch.testing.assert_close(mine["exp_avg"], state["exp_avg"])
        torch.testing.assert_close(mine["exp_avg_sq"], state["exp_avg_sq"])


@pytest.mark.parametrize("limit", [0.5, 1e6])
def test_clipping_is_torchs(limit):
    generator = torch.Generator().manual_seed(0)
    ids = torch.tensor([3, 3, 8, 1])
    results = []
    for sparse in (False, True):
        generator.manual_seed(0)
        table, layer = torch.nn.Embedding(V, D, sparse=sparse), torch.nn.Linear(D, D)
        for parameter in (table.weight, layer.weight, layer.bias):
            parameter.data = torch.randn(parameter.shape, generator=generator)
        layer(table(ids)).square().sum().backward()
        parameters = [table.weight, layer.weight, layer.bias]
        clip = clip_gradients if sparse else torch.nn.utils.clip_grad_norm_
        norm = clip(parameters, limit)
        gradients = [parameter.grad.to_dense() if sparse else parameter.grad for parameter in parameters]
        results.append((norm, gradients))
    torch.testing.assert_close(results[1][0], results[0][0])
    torch.testing.assert_close(results[1][1], results[0][1])


def test_gradients_that_are_not_finite_stay():
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.grad = torch.tensor([1.0, torch.inf])
    assert not clip_gradients([parameter], 1.0).isfinite()
    assert parameter.grad.tolist() == [1.0, torch.inf]
