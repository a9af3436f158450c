"""Leftovers of a killed run, where there is no SLURM; with one: tests/cluster."""

import os

from vocap.workflow.cluster import cancel_leftovers, prepend_to_path


def test_without_slurm_nothing_is_cancelled(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    locks = tmp_path / ".snakemake" / "locks"
    locks.mkdir(parents=True)
    (locks / "0.output.lock").touch()
    cancel_leftovers(tmp_path)


def test_a_folder_comes_first_in_the_path_and_once(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for _ in range(2):
        prepend_to_path(tmp_path)
        assert os.environ["PATH"] == f"{tmp_path}:/usr/bin:/bin"


def test_a_local_run_is_not_told_of_a_client_of_slurm_that_is_not_set_up(
    tmp_path, monkeypatch, caplog
):
    squeue = tmp_path / "squeue"
    squeue.write_text(
        "#!/bin/sh\nfor line in 1 2 3 4; do echo squeue: error: $line >&2; done; exit 1\n"
    )
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    locks = tmp_path / ".snakemake" / "locks"
    locks.mkdir(parents=True)
    (locks / "0.output.lock").touch()
    assert cancel_leftovers(tmp_path, submits=False) == 0
    assert "squeue" not in caplog.text
    assert cancel_leftovers(tmp_path, submits=True) == 0
    assert "squeue: error: 1" in caplog.text
