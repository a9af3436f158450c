"""A SLURM for the session, and copies of the workflow to run on it.

    pytest -n 0 -m cluster tests/cluster                  what .ci/run runs
    pytest -n 0 -m "cluster or faults" tests/cluster      every fault

VOCAP_FAULTS_TABLE=FILE.tsv collects what each fault test saw.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.cluster.slurm import Cluster, ClusterRuns, Run, digests
from tests.workflow.conftest import Workflow, copy_workflow

TABLE = os.environ.get("VOCAP_FAULTS_TABLE")
CONFIG = {
    "languages": ["de", "ru"],
    "vocabularies": {"sizes": [50, 150, 300]},
    "tokenizers": {"joint": None, "mono": None},
}


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """The SLURM of this machine; two sessions take turns."""
    missing = [name for name in ("slurmctld", "slurmd", "munged", "squeue") if shutil.which(name) is None]
    if os.geteuid() != 0:
        pytest.skip("only root may start a SLURM")
    if missing:
        pytest.skip(f"no {missing[0]}: apt-get install slurmctld slurmd slurm-client munge")
    with open("/run/lock/vocap-slurm", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        cluster = Cluster(tmp_path_factory.mktemp("slurm"))
        try:
            cluster.start()
        except subprocess.CalledProcessError as error:
            if "another SLURM" in error.stderr:
                pytest.skip(error.stderr.strip())
            cluster.stop()
            raise AssertionError(error.stderr) from None
        yield cluster
        cluster.stop()


def copy(folder: Path) -> Workflow:
    workflow = copy_workflow(folder)
    workflow.write_config(**CONFIG, allocation={"b": None})
    return workflow


@pytest.fixture
def runs(cluster, tmp_path) -> ClusterRuns:
    """A fresh copy of the workflow: two languages, three sizes, one allocation, one tokenizer."""
    return ClusterRuns(copy(tmp_path / "clone"))


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory) -> dict[str, str]:
    """Digests of a run on this machine alone, up to the allocation."""
    workflow = copy(tmp_path_factory.mktemp("undisturbed") / "clone")
    run = workflow.snakemake("allocation")
    assert run.returncode == 0, run.stdout
    return digests(workflow.folder)


class Fault:
    """A stop watch and a row of the table."""

    def __init__(self, cluster: Cluster, runs: ClusterRuns, undisturbed: dict[str, str], name: str) -> None:
        self.cluster, self.runs, self.undisturbed, self.name = cluster, runs, undisturbed, name
        self.done, self.start = "", 0.0

    def strikes(self, done: str) -> None:
        """Start the clock; `done` says what was done to the cluster."""
        self.done, self.start = done, time.monotonic()

    def is_over(self, run: Run, seen: str, seconds: float = 600) -> None:
        """The run ends well and in time, with the results of the undisturbed run, byte for byte."""
        run.succeed(seconds)
        elapsed = time.monotonic() - self.start
        found = self.runs.digests()
        assert found == self.undisturbed
        assert not self.runs.workflow.planned("allocation"), "something is left to do"
        if TABLE:
            whole = hashlib.sha256("".join(f"{path} {digest}\n" for path, digest in found.items()).encode())
            row = [self.name, self.done, seen, f"{elapsed:.0f}", f"{len(found)} files {whole.hexdigest()[:16]}"]
            with open(TABLE, "a", encoding="utf-8") as table:
                print(*row, sep="\t", file=table)


@pytest.fixture
def fault(cluster, runs, undisturbed, request):
    name = request.node.name.removeprefix("test_").replace("_", " ")
    yield Fault(cluster, runs, undisturbed, name)
    cluster.start()  # what the test has ended
