"""Runs that are killed, stopped or started twice: the resumed run equals the
undisturbed one bit for bit.

VOCAP_KILLS=20 pytest -n 0 tests/pretraining/test_interruptions.py -k random
kills as many times at random moments; a few unless told.
"""

import contextlib
import itertools
import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest
import torch

from tests.pretraining.factories import pretrain_arguments, with_settings
from tests.pretraining.processes import (
    finish,
    killed_at_random,
    newest,
    pretrain,
    results,
    start,
    stopped,
    trained,
    wait_for_step,
)
from vocap.training import checkpoints

KILLS = int(os.environ.get("VOCAP_KILLS", 3))


@pytest.fixture(scope="module")
def arguments(tmp_path_factory) -> list[str]:
    return pretrain_arguments(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="module")
def undisturbed(arguments, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed") / "whole"
    trained(arguments, out)
    assert {path.name for path in out.iterdir()} == {
        "model",
        "metrics.jsonl",
        "description.json",
        "checkpoints",
    }
    assert [path.name for path in (out / "checkpoints").iterdir()] == ["lock"]
    return out


@pytest.fixture(scope="module")
def seconds(arguments, tmp_path_factory) -> float:
    """How long a run takes whose process is warm."""
    began = time.monotonic()
    trained(arguments, tmp_path_factory.mktemp("timed") / "whole")
    return time.monotonic() - began


def test_killed_at_random_moments_it_ends_bit_for_bit_as_undisturbed(
    arguments, undisturbed, seconds, tmp_path
):
    """kill -9, a checkpoint at every step, so that many kills fall into one being
    written.
    """
    moments = random.Random(0)
    for out in killed_at_random(
        arguments, tmp_path, lambda _: moments.uniform(0.1, 0.9) * seconds, KILLS
    ):
        assert results(out) == results(undisturbed)
        shutil.rmtree(out)


@pytest.fixture(scope="module")
def longer(tmp_path_factory) -> list[str]:
    """So many steps that none of them is the last before a test has acted on one that
    it saw.
    """
    return pretrain_arguments(tmp_path_factory.mktemp("longer"), steps=150, log_every=50)


@pytest.fixture(scope="module")
def whole(longer, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("longer") / "whole"
    trained(longer, out)
    return out


def test_a_run_in_parts_is_the_whole_run(longer, whole, tmp_path):
    """Stopped by the signals that SLURM and Snakemake send: a checkpoint, status 75,
    and on from there.
    """
    out = tmp_path / "run"
    for number in (signal.SIGURG, signal.SIGTERM, signal.SIGINT):
        said = stopped(longer, out, newest(out) + 2, number).splitlines()[-1]
        assert signal.Signals(number).name in said
        assert f"step {newest(out)} is in" in said
    trained(longer, out)
    assert results(out) == results(whole)


def test_two_runs_of_one_folder_exclude_each_other(longer, tmp_path):
    out = tmp_path / "run"
    first = start(longer, out)
    wait_for_step(first, out, 1)
    os.kill(first.pid, signal.SIGSTOP)
    try:
        second = start(longer, out, tmp_path / "second.log")
        assert finish(second) == 1
    finally:
        os.kill(first.pid, signal.SIGCONT)
    said = (tmp_path / "second.log").read_text("utf-8")
    assert f"process {first.pid}" in said and "another run writes here" in said
    assert finish(first) == 0


def test_a_model_is_exported_before_the_checkpoint_that_passes_its_step(arguments, tmp_path):
    """Else a kill between the two would lose it: a resumed run exports later steps
    only.
    """
    out = tmp_path / "run"
    process = start(with_settings(arguments, export_steps=list(range(1, 13))), out)
    while process.is_alive():
        for step in range(1, newest(out) + 1):
            assert (out / f"model-{step}" / "model.safetensors").exists(), step
        time.sleep(0.005)
    assert finish(process) == 0


def test_models_asked_for_too_late_are_named(longer, tmp_path):
    """Later models are exported; those that the run has passed are not, and the log
    names them.
    """
    out = tmp_path / "run"
    stopped(longer, out, 3)
    step = newest(out)
    said = trained(with_settings(longer, export_steps=[1, 2, step, step + 1]), out)
    assert f"at step {step} already and will not export step 1, 2, {step};" in said
    assert str(out / "checkpoints") in said
    assert list(out.glob("model-*")) == [out / f"model-{step + 1}"]


@pytest.mark.parametrize("last", range(5))
def test_a_kill_while_checkpoints_are_removed_leaves_the_last_or_none(tmp_path, monkeypatch, last):
    """Ended at each removal of a folder, with a file of it gone; or at none of them."""
    for step in (3, 4):
        checkpoints.save(tmp_path, step, {"model": {"weight": torch.zeros(2)}}, {})
    removals = itertools.count()

    def remove(folder, **options):
        if next(removals) == last:
            (folder / "state.json").unlink(missing_ok=True)
            raise KeyboardInterrupt
        rmtree(folder, **options)

    rmtree = shutil.rmtree
    monkeypatch.setattr(shutil, "rmtree", remove)
    with contextlib.suppress(KeyboardInterrupt):
        checkpoints.remove_all(tmp_path)
    monkeypatch.undo()
    checkpoints.clean(tmp_path)
    found = checkpoints.latest(tmp_path)
    assert found is None if last >= 3 else checkpoints.load_state(found)["step"] == 4


@pytest.mark.parametrize("name", ["optimizer.safetensors", "state.json"])
def test_a_damaged_checkpoint_is_named_and_the_one_before_it_resumes(longer, whole, tmp_path, name):
    out = tmp_path / "run"
    stopped(longer, out)
    last = out / "checkpoints" / f"step-{newest(out)}"
    assert len(list((out / "checkpoints").glob("step-*"))) == 2
    (last / name).write_bytes((last / name).read_bytes()[:-100])
    status, said = pretrain(longer, out)
    assert status == 1
    assert f"{last}: a damaged checkpoint" in said and "the one before it" in said
    assert "Traceback" not in said
    shutil.rmtree(last)
    trained(longer, out)
    assert results(out) == results(whole)


def test_a_checkpoint_of_another_configuration_is_refused(longer, tmp_path):
    out = tmp_path / "run"
    stopped(longer, out)
    status, said = pretrain(with_settings(longer, learning_rate=0.02), out)
    assert status == 1
    assert "another configuration: learning_rate (learning_rate was 0.01, is 0.02)" in said
    trained(with_settings(longer, log_every=30), out)  # what leaves the weights alone may change
