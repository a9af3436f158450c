"""The paths that only a GPU takes: `pytest -m gpu`. Left out where there is none."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.cases import read_lines_of_json
from tests.pretraining.factories import RECIPE, pretrain_arguments, with_settings
from tests.pretraining.processes import (
    finish,
    free_port,
    results,
    start,
    start_gradients,
    stopped,
    trained,
    wait_for_step,
)
from tests.pretraining.test_losses import (
    SAMPLED,
    SPECIALS,
    V,
    case,
    check_exact_loss,
    frequencies,
)
from vocap import cli
from vocap.files.io import read_object
from vocap.pretraining.loss_kinds import Full
from vocap.pretraining.losses import build_loss
from vocap.pretraining.losses.knn import NeighbourIndex
from vocap.pretraining.settings import Recipe, estimate_memory
from vocap.training.checkpoints import STATE

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")]

GPU = torch.device("cuda")
LOSSES = [Full(chunk=3), *SAMPLED]


@pytest.fixture(scope="module")
def arguments(tmp_path_factory) -> list[str]:
    return pretrain_arguments(tmp_path_factory.mktemp("made"))


def loss_and_gradients(
    kind, device: torch.device, dtype: torch.dtype, half: torch.dtype | None = None
):
    """A loss of the small case, with the same words drawn and the same index
    everywhere.
    """
    tensors = [tensor.detach().to(device, dtype).requires_grad_() for tensor in case()[:3]]
    loss = build_loss(kind, V, SPECIALS, counts=frequencies(), seed=5, device=device)
    if hasattr(loss, "index"):
        reference = build_loss(kind, V, SPECIALS, counts=frequencies(), seed=5)
        reference.index.burst = True
        reference.start(0, case()[1])
        loss.load_state_dict(reference.state_dict())
    with torch.autocast(device.type, half, enabled=half is not None):
        value = loss(*tensors, case()[3].to(device)).loss
    gradients = torch.autograd.grad(value, tensors)
    return [each.detach().cpu().double() for each in (value, *gradients)]


@pytest.mark.parametrize("kind", LOSSES, ids=lambda kind: kind.kind)
@pytest.mark.parametrize(
    ("half", "rounding"), [(None, 1e-5), (torch.bfloat16, 3e-2), (torch.float16, 4e-3)]
)
def test_losses_are_those_of_a_cpu_in_float64(kind, half, rounding):
    """`rounding`: of the largest number of each tensor; 2^-8 and 2^-11 are those of the
    16-bit types.
    """
    found = loss_and_gradients(kind, GPU, torch.float32, half)
    expected = loss_and_gradients(kind, torch.device("cpu"), torch.float64)
    for one, right in zip(found, expected, strict=True):
        assert float((one - right).abs().max()) <= rounding * max(1.0, float(right.abs().max()))


def test_a_refresh_in_a_burst_finds_the_nearest():
    """Scores of float64 over the rounded rows, at the k-th place and at every place
    found, to 2^-20 of them.
    """
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(5000, 64, generator=generator).to(GPU)
    words = torch.arange(4, 4999, device=GPU)
    index = NeighbourIndex(5000, words, 50, 100)
    assert index.burst
    assert (
        index.start(0, weight) > 0 and index.start(1, weight) == 0 and index.start(100, weight) > 0
    )
    rows = weight.to(index.dtype).double()
    scores = rows @ rows.T
    scores[:, :4] = scores[:, 4999:] = -torch.inf
    best = scores[words].topk(50).values
    found = scores[words].gather(1, index.neighbours(words))
    assert float((best - found).abs().max()) <= 2**-20 * float(best.abs().max())
    assert all(len(set(row)) == 50 for row in index.table[words].tolist())


def test_exact_loss_and_ranks():
    check_exact_loss(GPU)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
@pytest.mark.parametrize("loss", ["full", {"kind": "knn", "k": 5, "every": 4}], ids=["full", "knn"])
def test_a_training_in_16_bits_ends_near_float32(arguments, tmp_path, precision, loss):
    rows = {}
    for name in ("fp32", precision):
        trained(with_settings(arguments, precision=name, loss=loss), tmp_path / name)
        rows[name] = results(tmp_path / name)[1]
    for row, reference in zip(rows[precision], rows["fp32"], strict=True):
        assert row["exact_loss"] == pytest.approx(reference["exact_loss"], rel=1e-2)
        assert row["skipped"] == 0
    described = read_object(tmp_path / precision / "description.json")
    assert described["precision"] == {"bf16": "bfloat16", "fp16": "float16"}[precision]


def test_auto_takes_the_16_bit_type_of_the_gpu_and_refreshes_in_bursts(arguments, tmp_path):
    trained(arguments, tmp_path / "run")
    bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
    described = read_object(tmp_path / "run" / "description.json")
    assert described["precision"] == ("bfloat16" if bf16 else "float16")
    rows = read_lines_of_json(tmp_path / "run" / "metrics.jsonl")
    assert all(row["refresh_s"] > 0 for row in rows)  # every 4 steps, as the rows are


def test_without_a_compiler_it_trains_uncompiled(arguments, tmp_path):
    """Triton's and torch's caches are empty there, so that nothing compiled before
    helps.
    """
    absent = dict.fromkeys(("CC", "CXX"), "/nonexistent")
    caches = {
        name: str(tmp_path / name) for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")
    }
    said = trained(with_settings(arguments, loss="full"), tmp_path / "plain", **absent, **caches)
    if "torch cannot compile here" not in said:
        pytest.skip("torch compiles without CC here")
    trained(with_settings(arguments, loss="full"), tmp_path / "compiled")
    for row, other in zip(
        results(tmp_path / "plain")[1], results(tmp_path / "compiled")[1], strict=True
    ):
        assert row["exact_loss"] == pytest.approx(other["exact_loss"], rel=1e-3)


def test_a_resumed_run_ends_as_an_undisturbed_one(arguments, tmp_path):
    """Within 1e-3 of the exact loss: sums on a GPU may be made in another order."""
    longer = with_settings(arguments, steps=150, log_every=50)
    trained(longer, tmp_path / "whole")
    out = tmp_path / "run"
    stopped(longer, out)
    assert list((out / "checkpoints").glob(f"step-*/{STATE}"))
    assert "resuming from step" in trained(longer, out)
    (weights, rows), (expected, others) = results(out), results(tmp_path / "whole")
    print("resumed bit for bit" if weights == expected else "resumed, not bit for bit")
    for row, other in zip(rows, others, strict=True):
        assert row["exact_loss"] == pytest.approx(other["exact_loss"], rel=1e-3)


@pytest.mark.parametrize("backend", ["nccl", "gloo"])
def test_two_ranks_on_one_gpu_have_the_gradients_of_one(arguments, tmp_path, backend):
    options = dict(zip(arguments[::2], arguments[1::2], strict=True))
    made = {"tokens": options["--tokens"], "tokenizer": options["--tokenizer"], "device": "cuda:0"}
    made["recipe"] = {**RECIPE, "batch": 8, "micro_batch": 2, "precision": "fp32"}
    ranks = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    assert finish(start_gradients(made, tmp_path / "alone")) == 0
    processes = [
        start_gradients(
            made | {"backend": backend}, tmp_path / f"rank-{rank}", RANK=str(rank), **ranks
        )
        for rank in range(2)
    ]
    if [finish(process) for process in processes] != [0, 0] and backend == "nccl":
        pytest.skip("NCCL refuses two ranks on one GPU")
    alone, *both = (load_file(tmp_path / name) for name in ("alone", "rank-0", "rank-1"))
    for name, gradient in alone.items():
        assert (both[0][name] == both[1][name]).all(), name
        largest = max(float(gradient.abs().max()), 1e-3)
        assert float((both[0][name] - gradient).abs().max()) <= 1e-4 * largest, name


@pytest.mark.skipif(
    torch.cuda.device_count() > 1, reason="several GPUs: the second training takes another"
)
def test_a_second_training_waits_for_the_gpu(arguments, tmp_path):
    first = start(with_settings(arguments, steps=150, log_every=50), tmp_path / "first")
    wait_for_step(first, tmp_path / "first", 1)
    second = start(arguments, tmp_path / "second")
    assert [finish(first), finish(second)] == [0, 0]
    assert "waiting for a GPU" in (tmp_path / "second.log").read_text("utf-8")


def test_the_estimate_is_near_the_peak(arguments, tmp_path):
    """Of a model whose activations outweigh what torch and the kernels need; to a
    factor of 2.
    """
    shape = {"layers": 6, "hidden": 256, "heads": 4, "intermediate": 1024, "positions": 64}
    changes = {"shape": shape, "batch": 512, "micro_batch": 512, "loss": "full"}
    trained(with_settings(arguments, **changes), tmp_path / "run")
    last = read_lines_of_json(tmp_path / "run" / "metrics.jsonl")[-1]
    parts = estimate_memory(Recipe(**changes), 401, 64, half=True)
    assert 0.5 <= last["memory_mb"] * 1e6 / sum(parts.values()) <= 2


def test_running_out_of_memory_is_one_line(arguments, tmp_path, monkeypatch, capsys):
    """The real allocator's error, with all but 10^-5 of the memory forbidden to it."""
    monkeypatch.setattr("sys.argv", ["vocap", "pretrain", *arguments, "-o", str(tmp_path / "run")])
    torch.cuda.set_per_process_memory_fraction(1e-5)
    try:
        with pytest.raises(SystemExit) as end:
            cli.main()
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
        torch.cuda.empty_cache()
    said = [line for line in capsys.readouterr().err.splitlines() if "memory" in line]
    assert end.value.code == 1
    assert "micro_batch" in said[-1] and "Traceback" not in "".join(said)
    assert not Path(tmp_path / "run" / "model").exists()
