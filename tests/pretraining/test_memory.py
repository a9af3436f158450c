"""Memory of a training: its estimate, and one line where there is too little."""

import sys
from types import SimpleNamespace

import pytest
import torch

from vocap import cli
from vocap.pretraining.loss_kinds import Full, Knn, Neg, Target
from vocap.pretraining.model import build_model
from vocap.pretraining.settings import Recipe, Shape, count_parameters, estimate_memory


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
    full, chunked, knn, neg = (
        estimate_memory(Recipe(loss=loss), 500_000, 512)
        for loss in (Full(chunk=2458), Full(chunk=256), Knn(), Neg(negatives=50_000))
    )
    assert full["head"] > max(other["head"] for other in (chunked, knn, neg))
    assert knn["index"] == 500_000 * 50 * 4 and full["index"] == 0
    assert full["weights"] * 2 == full["moments"]
    more = estimate_memory(Recipe(loss=Knn(), micro_batch=64), 500_000, 512)
    assert more["activations"] == 2 * knn["activations"]
    short = estimate_memory(Recipe(loss=Knn()), 500_000, 128)
    assert short == {**knn, "activations": knn["activations"] // 4, "head": short["head"]}


@pytest.mark.parametrize("half", [False, True])
def test_a_finish_needs_the_larger_of_both_heads(half):
    heads = [
        estimate_memory(Recipe(loss=loss), 500_000, 512, half)["head"]
        for loss in (Target(tau=5000, finish=0.1), Target(tau=5000), Full())
    ]
    assert heads[0] == max(heads[1:]) == heads[2]
    finished, plain, full = (
        estimate_memory(Recipe(loss=loss), 20_000, 512, half)["head"] for loss in (Knn(finish=0.1), Knn(), Full())
    )
    assert finished == plain > full  # whose logits are made in chunks


def say(monkeypatch, capsys, work) -> tuple[int, str]:
    """Exit status and message of the command line for `work`."""
    monkeypatch.setattr(cli, "vocap", SimpleNamespace(main=lambda words, **options: work()))
    return cli.run(), capsys.readouterr().err


def lack_gpu_memory():
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


@pytest.mark.parametrize(
    ("work", "says"),
    [(lack_gpu_memory, "Tried to allocate 2.00 GiB"), (lambda: torch.empty(1 << 46), "can't allocate memory")],
)
def test_running_out_of_memory_is_one_line(monkeypatch, capsys, work, says):
    status, said = say(monkeypatch, capsys, work)
    assert status == 1 and len(said.splitlines()) == 1
    assert says in said
    assert all(name in said for name in ("micro_batch", "chunk", "group", "checkpoint"))


def test_another_error_keeps_its_traceback(monkeypatch, capsys):
    def fail():
        raise RuntimeError("a mistake of ours")

    with pytest.raises(RuntimeError, match="a mistake of ours"):
        say(monkeypatch, capsys, fail)
    monkeypatch.delitem(sys.modules, "torch")
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        say(monkeypatch, capsys, fail)
