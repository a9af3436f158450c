"""Leftovers of a killed run, where there is no SLURM; with one: tests/cluster."""

import os

import pytest

from vocap.errors import VocapError
from vocap.workflow.cluster import cancel_leftovers, check_cluster, prepend_to_path


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


def test_a_run_through_slurm_without_its_client_ends_before_it_begins(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(VocapError, match="sbatch: not found"):
        check_cluster({"cpu"}, set())


def test_a_cluster_that_does_not_answer_is_a_warning(tmp_path, monkeypatch, caplog):
    for name in ("sbatch", "sinfo"):
        (tmp_path / name).write_text("#!/bin/sh\necho error: no controller >&2; exit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    check_cluster({"cpu"}, set())
    assert "sinfo does not answer (error: no controller)" in caplog.text


def test_a_client_that_knows_no_cluster_ends_the_run(tmp_path, monkeypatch):
    """The last line that sinfo prints without slurm.conf."""
    said = "sinfo: fatal: Could not establish a configuration source"
    for name in ("sbatch", "sinfo"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{said}' >&2; exit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(VocapError, match="not set up here; run on the machine where sbatch"):
        check_cluster({"cpu"}, set())
