"""The softmax's rule: traced, tried out, and plain where it cannot be compiled."""

import importlib.util

import pytest
import torch

from tests.pretraining.test_losses import SPECIALS, V, case
from vocap.pretraining.loss_kinds import Full
from vocap.pretraining.losses import build_loss, kernels
from vocap.pretraining.losses.kernels import (
    block_loss,
    chunks,
    compiled_softmax_rule,
    fastest_softmax_rule,
    softmax_rule,
)


def test_compiled_rule_is_the_rule():
    """Traced, not compiled: that needs a compiler."""
    hidden, weight, bias, targets = case(dtype=torch.float32)
    rule = compiled_softmax_rule()._torchdynamo_orig_callable
    values = [block_loss(hidden, weight, bias, chunks(targets, 3), chosen) for chosen in (rule, softmax_rule)]
    gradients = [torch.autograd.grad(value, [hidden, weight, bias]) for value in values]
    torch.testing.assert_close(*values)
    torch.testing.assert_close(*gradients)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU's rule may well compile")
def test_a_gpu_that_cannot_compile_gets_the_plain_rule(monkeypatch, caplog):
    """One warning for any error of the compiler; here the missing GPU."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: True)
    kernels.rule_compiles.cache_clear()
    assert [fastest_softmax_rule("cuda") for _ in range(3)] == [softmax_rule] * 3
    assert build_loss(Full(), V, SPECIALS).kernel != "compiled"
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "torch cannot compile here" in caplog.text
    kernels.rule_compiles.cache_clear()


def test_the_rule_is_tried_out(monkeypatch, caplog):
    def broken(logits, bias, targets):
        raise RuntimeError("Failed to find C compiler. Please specify via CC\nenvironment variable.")

    for rule, works in ((broken, False), (softmax_rule, True)):
        monkeypatch.setattr(kernels, "compiled_softmax_rule", lambda rule=rule: rule)
        kernels.rule_compiles.cache_clear()
        assert kernels.rule_compiles("cpu") is works
    assert [record.message for record in caplog.records] == [
        "torch cannot compile here (Failed to find C compiler. Please specify via CC); the softmax runs "
        "uncompiled, which is slower"
    ]
    kernels.rule_compiles.cache_clear()
