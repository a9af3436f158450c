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
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases import read_cases
from tests.cluster.slurm import Cluster, ClusterRuns, Job, Run, command, digests, wait_until
from tests.workflow.conftest import Workflow, copy_workflow

TABLE = os.environ.get("VOCAP_FAULTS_TABLE")
CASES = read_cases(__file__)
CONFIG = CASES["configuration"]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """The SLURM of this machine; two sessions take turns."""
    missing = [
        name for name in ("slurmctld", "slurmd", "munged", "squeue") if shutil.which(name) is None
    ]
    if os.geteuid() != 0:
        pytest.skip("only root may start a SLURM")
    if missing:
        pytest.skip(f"no {missing[0]}: apt-get install slurmctld slurmd slurm-client munge")
    os.environ.pop("SLURM_CONF")  # which tests/conftest.py sets
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


def run_here(workflow: Workflow, *targets: str) -> Workflow:
    workflow.ran(*targets)
    return workflow


def clone(workflow: Workflow, folder: Path) -> Workflow:
    """A copy with the times of its files, so that what is done stays done."""
    command("cp", "-a", workflow.folder, folder / "clone")
    return Workflow(folder / "clone")


@pytest.fixture(scope="session")
def begun(tmp_path_factory) -> Workflow:
    """Two languages, three sizes, one allocation: run on this machine but for the
    vocabularies of ru.
    """
    workflow = copy_workflow(tmp_path_factory.mktemp("begun") / "clone")
    workflow.write_config(**CONFIG, allocation={"b": None})
    return run_here(workflow, "results/vocabularies/de/curve.tsv", "results/corpora/ru/train.txt")


@pytest.fixture
def runs(cluster, begun, tmp_path) -> Iterator[ClusterRuns]:
    """A copy of the workflow that lacks ru's vocabularies, one job, and the allocation,
    another.
    """
    runs = ClusterRuns(clone(begun, tmp_path))
    yield runs
    runs.end()


@pytest.fixture(scope="session")
def undisturbed(begun, tmp_path_factory) -> dict[str, dict[str, str]]:
    """By target: digests of a run on this machine alone."""
    workflow = clone(begun, tmp_path_factory.mktemp("undisturbed"))
    return {
        target: digests(run_here(workflow, target).folder)
        for target in ("vocabularies", "allocation")
    }


class Fault:
    """A stop watch, a row of the table, and the jobs of the ladder of ru."""

    def __init__(
        self,
        cluster: Cluster,
        runs: ClusterRuns,
        undisturbed: dict[str, dict[str, str]],
        name: str,
    ) -> None:
        self.cluster, self.runs, self.undisturbed, self.name = cluster, runs, undisturbed, name
        self.ladder = ("ladder", runs.folder, "ru")
        self.done, self.start = "", 0.0

    def jobs(self) -> list[Job]:
        return self.cluster.jobs(*self.ladder)

    def states(self) -> list[str]:
        return self.cluster.states(*self.ladder)

    def running(self) -> Job:
        """Wait for the job to run."""
        return self.cluster.running(*self.ladder)

    def holds(self, *words: str, place: str = "ladder@ru") -> tuple[Run, Job]:
        """A run whose job waits at this place, and that job."""
        self.runs.hold(place)
        return self.runs.start(*words), self.running()

    def waits_for(self, *states: str, seconds: float = 300) -> None:
        """Wait for a job to end in one of these states."""
        wait_until(lambda: set(states) & set(self.states()), seconds, " or ".join(states))

    def strikes(self, done: str) -> None:
        """Start the clock; `done` says what was done to the cluster."""
        self.done, self.start = done, time.monotonic()

    def is_over(self, run: Run, seen: str, *states: str) -> None:
        """The run ends well and in time, with the results of the undisturbed run, byte
        for byte; `states`: of all jobs of the ladder.
        """
        run.succeed(600)
        assert not states or self.states() == list(states)
        elapsed = time.monotonic() - self.start
        found = self.runs.digests()
        assert found == self.undisturbed[run.target]
        assert not self.runs.workflow.planned(run.target), "something is left to do"
        if TABLE:
            whole = hashlib.sha256(
                "".join(f"{path} {digest}\n" for path, digest in found.items()).encode()
            )
            row = [
                self.name,
                self.done,
                seen,
                f"{elapsed:.0f}",
                f"{len(found)} files {whole.hexdigest()[:16]}",
            ]
            with open(TABLE, "a", encoding="utf-8") as table:
                print(*row, sep="\t", file=table)


@pytest.fixture
def fault(cluster, runs, undisturbed, request):
    name = request.node.name.removeprefix("test_").replace("_", " ")
    yield Fault(cluster, runs, undisturbed, name)
    cluster.start()  # what the test has ended
