"""Memory of a training: the estimate against measurements, and the check before a run."""

import sys
from types import SimpleNamespace

import pytest
import torch

from vocap import cli
from vocap.errors import UsageError
from vocap.pretraining import memory
from vocap.pretraining.loss_kinds import Full, Knn, Neg, Target
from vocap.pretraining.memory import count_parameters, estimate_memory
from vocap.pretraining.model import build_model
from vocap.pretraining.settings import Recipe, Shape


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


CPU = torch.device("cpu")


def test_the_check_is_of_blocks_as_long_as_the_data_have(monkeypatch):
    """Not as long as the model could read: 4,096 ids would need some 100 GB, 512 need 20."""
    monkeypatch.setattr(memory, "available_bytes", lambda device: 30_000_000_000)
    recipe = Recipe(shape=Shape(positions=4096))
    memory.check_memory(recipe, 100_000, 512, CPU, half=False)
    with pytest.raises(UsageError, match=r"has 30\.0 GB free .* most of it is activations"):
        memory.check_memory(recipe, 100_000, 4096, CPU, half=False)


def test_processes_of_a_node_share_its_memory(monkeypatch):
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    alone = memory.available_bytes(CPU)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert memory.available_bytes(CPU) == pytest.approx(alone / 4, rel=0.3)


def say(monkeypatch, capsys, work) -> tuple[int, str]:
    """Exit status and message of the command line for `work`."""
    monkeypatch.setattr(cli, "vocap", SimpleNamespace(main=lambda **options: work()))
    with pytest.raises(SystemExit) as end:
        cli.main()
    return end.value.code, capsys.readouterr().err


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
