"""Leftovers of a killed run, where there is no SLURM; with one: tests/cluster."""

import os

from vocap.cluster import cancel_leftovers, prepend_to_path


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
