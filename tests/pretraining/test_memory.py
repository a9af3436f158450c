"""The estimate before a training against the model itself."""

import pytest
import torch

from vocap.pretraining.loss_settings import Full, Knn, Neg, Target
from vocap.pretraining.memory import count_parameters, estimate_memory
from vocap.pretraining.model import build_model
from vocap.pretraining.shapes import Shape


@pytest.mark.parametrize("vocabulary", [1000, 250_002])
@pytest.mark.parametrize(
    "shape",
    [Shape(), Shape(embedding_size=384), Shape(layers=2, hidden=64, heads=2, intermediate=100, positions=33)],
    ids=repr,
)
def test_parameters_are_those_of_the_model(shape, vocabulary):
    with torch.device("meta"):
        model = build_model(shape, vocabulary)
    assert count_parameters(shape, vocabulary) == sum(parameter.numel() for parameter in model.parameters())


def test_what_costs_memory():
    batch = {"sequences": 32, "length": 512, "masked": 2458}
    full = estimate_memory(Shape(), 500_000, Full(kernel="eager"), **batch)
    chunked = estimate_memory(Shape(), 500_000, Full(chunk=256), **batch)
    knn = estimate_memory(Shape(), 500_000, Knn(), **batch)
    neg = estimate_memory(Shape(), 500_000, Neg(negatives=50_000), **batch)
    assert full["head"] > max(other["head"] for other in (chunked, knn, neg))
    assert knn["index"] == 500_000 * 50 * 4 and full["index"] == 0
    assert full["weights"] * 2 == full["moments"]
    more = estimate_memory(Shape(), 500_000, Knn(), sequences=64, length=512, masked=4916)
    assert more["activations"] == 2 * knn["activations"]
    short = estimate_memory(Shape(), 500_000, Knn(), sequences=32, length=128, masked=2458)
    assert short == {**knn, "activations": knn["activations"] // 4}


@pytest.mark.parametrize("half", [False, True])
def test_a_finish_needs_the_larger_of_both_heads(half):
    batch = {"sequences": 32, "length": 512, "masked": 2458, "half": half}
    heads = [
        estimate_memory(Shape(), 500_000, loss, **batch)["head"]
        for loss in (Target(tau=5000, finish=0.1), Target(tau=5000), Full())
    ]
    assert heads[0] == max(heads[1:]) == heads[2]
    finished, plain, full = (
        estimate_memory(Shape(), 20_000, loss, **batch)["head"] for loss in (Knn(finish=0.1), Knn(), Full())
    )
    assert finished == plain > full  # whose logits are made in chunks
