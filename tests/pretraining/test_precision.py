"""fp16 with scaled gradients: near float32, its scale by the rule of Micikevicius et
al., resumed bit for bit.
"""

import itertools
from pathlib import Path

import pytest
import torch

from tests.cases import read_lines_of_json
from tests.pretraining.factories import RECIPE, pretrain_arguments
from tests.pretraining.processes import results
from vocap.errors import VocapError
from vocap.files.io import read_object
from vocap.pretraining import training
from vocap.pretraining.training import Training, pretrain_model
from vocap.training import distributed, loop
from vocap.training.checkpoints import STATE
from vocap.training.distributed import Stopped
from vocap.training.loop import working_precision

GPU = torch.device("cuda")


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    pretrain_arguments(folder)
    return folder


def train_in(made, out: Path, precision: str, **changes) -> Path:
    recipe = RECIPE | {"precision": precision} | changes
    folders = (made / "tokenizer", made / "tokens", out)
    found = pretrain_model(*folders, settings=recipe, threads=1, keep_checkpoints=True)
    assert found.folder == out / "model"
    assert found.metrics == read_lines_of_json(out / "metrics.jsonl")
    return out


def test_fp16_ends_near_float32(made, tmp_path):
    wide, half = (train_in(made, tmp_path / name, name) for name in ("fp32", "fp16"))
    assert read_object(half / "description.json")["precision"] == "float16"
    (weights, rows), (others, expected) = results(half), results(wide)
    assert weights != others
    for row, reference in zip(rows, expected, strict=True):
        assert row["exact_loss"] == pytest.approx(reference["exact_loss"], rel=2e-3)
        assert row["loss"] == pytest.approx(reference["loss"], rel=2e-3)
    assert [row["skipped"] for row in rows] == [0, 0, 0]  # 128 is no scale that overflows


def high_scale(monkeypatch) -> None:
    """A first scale above fp16's range, doubled after two good steps: it moves within a
    few steps.
    """
    monkeypatch.setattr(loop, "SCALE", 2.0**34)
    monkeypatch.setattr(loop, "SCALE_STEPS", 2)


def test_the_scale_falls_by_half_where_gradients_overflow_and_rises_after_good_steps(
    made, tmp_path, monkeypatch
):
    high_scale(monkeypatch)
    seen = []

    class Watched(Training):
        def update(self, loss, norm):
            seen.append(
                (self.scaler.get_scale(), norm.item(), self.model.decoder_bias.detach().clone())
            )
            return super().update(loss, norm)

    monkeypatch.setattr(training, "Training", Watched)
    out = train_in(made, tmp_path / "run", "fp16", steps=24)
    scale, good, passed_over = 2.0**34, 0, 0
    for (found, norm, bias), (*_, later) in itertools.pairwise(seen):
        assert found == scale
        overflow = not torch.isfinite(torch.tensor(norm))
        assert bool((bias == later).all()) == overflow  # weights move in good steps alone
        passed_over += overflow
        good = 0 if overflow else good + 1
        if overflow or good == 2:
            scale, good = scale / 2 if overflow else scale * 2, 0
    assert 0 < passed_over < len(seen) - 4
    assert results(out)[1][-1]["skipped"] in (passed_over, passed_over + 1)


@pytest.mark.parametrize("stop", [3, 9])
def test_a_stopped_run_goes_on_bit_for_bit(made, tmp_path, monkeypatch, stop):
    """With a scale that has moved, and rises again after the stop: it is part of a
    checkpoint.
    """
    high_scale(monkeypatch)
    whole = train_in(made, tmp_path / "whole", "fp16")

    class Stopping(Training):
        def take_step(self, batches, stopping):
            loss, _ = super().take_step(batches, stopping)
            return loss, self.progress.step == stop - 1

    with monkeypatch.context() as patch:
        patch.setattr(training, "Training", Stopping)
        with pytest.raises(Stopped):
            train_in(made, tmp_path / "run", "fp16")
    state = read_object(tmp_path / f"run/checkpoints/step-{stop}" / STATE)
    assert state["scaler"]["scale"] < 2.0**34
    assert results(train_in(made, tmp_path / "run", "fp16")) == results(whole)


def test_gradients_that_no_scale_can_hold_end_the_run(made, tmp_path, monkeypatch):
    """Overflows are passed over while the scale is above 1; below it they count, as in
    any precision.
    """
    monkeypatch.setattr(loop, "SCALE", 8.0)

    def poisoned(parameters):
        next(iter(parameters)).grad.view(-1)[7] = float("inf")

    monkeypatch.setattr(distributed, "sum_gradients", poisoned)
    # 8, 4, 2, then ten at 1 and less
    with pytest.raises(VocapError, match=r"step 12: .* for 10 steps in a row"):
        train_in(made, tmp_path / "run", "fp16", steps=20)


@pytest.mark.parametrize(
    ("bf16", "capability", "automatic"),
    [
        (True, (8, 0), torch.bfloat16),
        (False, (7, 0), torch.float16),
        (False, (6, 1), torch.float32),
    ],
)
def test_auto_takes_the_best_that_a_gpu_has(monkeypatch, bf16, capability, automatic):
    """A100, V100, and a GPU whose float16 is slower than its float32; there is none of
    them here.
    """
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: bf16)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: capability)
    assert working_precision("auto", GPU) == automatic
    assert (
        working_precision("fp16", GPU) == torch.float16
        and working_precision("fp32", GPU) == torch.float32
    )
    if not bf16:
        with pytest.raises(VocapError, match="this GPU has none; write fp16, fp32, or auto"):
            working_precision("bf16", GPU)
    assert working_precision("auto", torch.device("cpu")) == torch.float32
