"""Leftovers of a killed run, where there is no SLURM; with one: tests/cluster."""

import os

import pytest

from vocap.errors import VocapError
from vocap.workflow.cluster import cancel_leftovers, check_cluster, prepend_to_path


@pytest.fixture
def clients(tmp_path, monkeypatch):
    """Gives what makes the programs of these names, which print lines as errors and
    fail, the first of the path.
    """

    def install(names: str, *lines: str) -> None:
        said = "".join(f"echo '{line}' >&2\n" for line in lines)
        for name in names.split():
            (tmp_path / name).write_text(f"#!/bin/sh\n{said}exit 1\n")
            (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return install


@pytest.fixture
def locked(tmp_path):
    """The folder of a run that was killed."""
    locks = tmp_path / ".snakemake" / "locks"
    locks.mkdir(parents=True)
    (locks / "0.output.lock").touch()
    return tmp_path


def test_without_slurm_nothing_is_cancelled(tmp_path, locked, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    cancel_leftovers(locked)


def test_a_folder_comes_first_in_the_path_and_once(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for _ in range(2):
        prepend_to_path(tmp_path)
        assert os.environ["PATH"] == f"{tmp_path}:/usr/bin:/bin"


def test_a_local_run_is_not_told_of_a_client_of_slurm_that_is_not_set_up(clients, locked, caplog):
    clients("squeue", *(f"squeue: error: {number}" for number in range(1, 5)))
    assert cancel_leftovers(locked, submits=False) == 0
    assert "squeue" not in caplog.text
    assert cancel_leftovers(locked, submits=True) == 0
    assert "squeue: error: 1" in caplog.text


def test_a_run_through_slurm_without_its_client_ends_before_it_begins(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(VocapError, match="sbatch: not found"):
        check_cluster({"cpu"}, set())


def test_a_cluster_that_does_not_answer_is_a_warning(clients, caplog):
    clients("sbatch sinfo", "error: no controller")
    check_cluster({"cpu"}, set())
    assert "sinfo does not answer (error: no controller)" in caplog.text


def test_a_client_that_knows_no_cluster_ends_the_run(clients):
    """The last line that sinfo prints without slurm.conf."""
    clients("sbatch sinfo", "sinfo: fatal: Could not establish a configuration source")
    with pytest.raises(VocapError, match="not set up here; run on the machine where sbatch"):
        check_cluster({"cpu"}, set())
