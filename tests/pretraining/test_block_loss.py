"""The softmax over blocks of logits: traced, tried out, and plain where it cannot be compiled."""

import pytest
import torch

from tests.pretraining.test_losses import case
from vocap.pretraining.losses.interface import (
    block_loss,
    chunks,
    compiled_softmax_loss,
    fastest_softmax_loss,
    softmax_loss,
)


def test_the_compiled_loss_is_the_plain_one():
    """Traced, not compiled: that needs a compiler."""
    hidden, weight, bias, targets = case(dtype=torch.float32)
    traced = compiled_softmax_loss()._torchdynamo_orig_callable
    values = [block_loss(hidden, weight, bias, chunks(targets, 3), chosen) for chosen in (traced, softmax_loss)]
    gradients = [torch.autograd.grad(value, [hidden, weight, bias]) for value in values]
    torch.testing.assert_close(*values)
    torch.testing.assert_close(*gradients)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU's loss may well compile")
def test_a_gpu_that_cannot_compile_gets_the_plain_loss(caplog):
    """One warning for any error of the compiler; here the missing GPU."""
    fastest_softmax_loss.cache_clear()
    assert [fastest_softmax_loss("cuda") for _ in range(3)] == [softmax_loss] * 3
    assert fastest_softmax_loss("cpu") is softmax_loss
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "torch cannot compile here" in caplog.text
    fastest_softmax_loss.cache_clear()


@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_blocks_of_all_words_are_cross_entropy(chunk):
    """The full softmax of a GPU, here on a CPU: value and gradients."""
    *inputs, targets = case()
    found = block_loss(*inputs, chunks(targets, chunk), softmax_loss)
    hidden, weight, bias = inputs
    reference = torch.nn.functional.cross_entropy(hidden @ weight.T + bias, targets, reduction="sum")
    torch.testing.assert_close(found, reference)
    torch.testing.assert_close(torch.autograd.grad(found, inputs), torch.autograd.grad(reference, inputs))
