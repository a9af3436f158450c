"""The small SLURM of these tests, and runs of the workflow on it."""

import hashlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.workflow.conftest import BIN, Workflow

SCRIPT = Path(__file__).with_name("slurm-cluster")

# The real programs, delayed or failing while a file says so. A file VERB@NAME holds
# `vocap VERB` where NAME is a folder in a path among its arguments, before it starts;
# VERB@NAME.after, once it has written everything. A number in the file is the memory in
# MB that the held process takes. held.JOB, by the job's number, is there once it is
# held, took.JOB once it has its memory.
VOCAP = """#!/bin/sh
hold() {
    for file in {switches}/"$verb"@*; do
        name=${file##*@}
        [ "$1" = "$(case $name in *.after) echo after ;; *) echo before ;; esac)" ] || continue
        case $words in */"${name%.after}"/*)
            : > {switches}/held."$SLURM_JOB_ID"
            [ ! -s "$file" ] || python3 -c '{take}' "$file"
            while [ -e "$file" ]; do sleep 0.1; done
        esac
    done
}
verb=$1 words=$*
hold before
{real} "$@" || exit
hold after
"""
TAKE = """
import os, pathlib, sys, time
file = pathlib.Path(sys.argv[1])
room = b"x" * (int(file.read_text()) << 20)
file.with_name("took." + os.environ["SLURM_JOB_ID"]).touch()
while file.exists():
    time.sleep(0.1)
"""
SQUEUE = """#!/bin/sh
[ ! -e {switches}/no-status ] || { echo "squeue: made to fail" >&2; exit 1; }
exec {real} "$@"
"""


def command(*words: str | Path, check: bool = True, seconds: float = 600) -> str:
    """What the command prints."""
    return subprocess.run(
        words, check=check, capture_output=True, text=True, timeout=seconds
    ).stdout


def wait_until(condition: Callable[[], object], seconds: float, what: str) -> object:
    """The first true value of `condition`; fails after so many seconds."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"after {seconds} s still not so: {what}"
        time.sleep(0.5)
    return value


def send(number: signal.Signals, processes: list[int]) -> None:
    """Signal all that still live: a held job starts a `sleep` ten times a second."""
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, number)


@dataclass(frozen=True)
class Job:
    """A job in the queue."""

    id: str
    state: str
    node: str
    comment: str  # rule_RULE_wildcards_VALUES

    @property
    def details(self) -> str:
        """As scontrol shows them."""
        return command("scontrol", "show", "job", self.id)

    @property
    def gpus(self) -> int:
        """GPUs asked for, on all nodes together."""
        details = self.details
        asked = re.search(r"TresPer(Job|Node)=gres:gpu:(\d+)", details)
        nodes = int(re.search(r"NumNodes=(\d+)", details)[1])
        return 0 if asked is None else int(asked[2]) * (nodes if asked[1] == "Node" else 1)


class Cluster:
    """Four nodes on this machine: cpu1, cpu2, gpu1, gpu2."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self) -> None:
        """Start what does not run: all of it, or what a test has ended."""
        command(SCRIPT, "start", self.folder, seconds=300)

    def stop(self) -> None:
        command(SCRIPT, "stop", self.folder, seconds=120)

    def jobs(self, rule: str, folder: Path, wildcards: str = "") -> list[Job]:
        """The jobs of a rule, also those that ended within the hour (MinJobAge), oldest
        first.
        """
        form = "%i|%T|%N|%k|%Z"
        lines = command(
            "squeue", "--states=all", "--noheader", "--format", form, check=False
        ).splitlines()
        found = []
        for line in lines:
            job, state, node, comment, working = line.split("|")
            name, _, values = comment.removeprefix("rule_").partition("_wildcards_")
            if name == rule and wildcards in values and Path(working) == folder:
                found.append(Job(job, state, node, comment))
        return sorted(found, key=lambda job: int(job.id))

    def running(self, rule: str, folder: Path, wildcards: str = "", seconds: float = 300) -> Job:
        """Wait for the rule's job to run on a node."""

        def job():
            return next(
                (job for job in self.jobs(rule, folder, wildcards) if job.state == "RUNNING"), None
            )

        return wait_until(job, seconds, f"{rule} {wildcards} runs")

    def states(self, rule: str, folder: Path, wildcards: str = "") -> list[str]:
        return [job.state for job in self.jobs(rule, folder, wildcards)]

    def records(self, folder: Path) -> list[dict[str, str]]:
        """The jobs of a folder that ended, from the controller's log of completed
        jobs.
        """
        lines = (self.folder / "log" / "jobs.txt").read_text("utf-8").splitlines()
        rows = [dict(re.findall(r"(\w+)=(\S*)", line)) for line in lines]
        return [row for row in rows if row["WorkDir"] == str(folder)]

    def processes(self, job: str) -> list[int]:
        """Every process on this machine that belongs to a job."""
        mark = f"SLURM_JOB_ID={job}".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if mark in path.read_bytes().split(b"\0"):
                    found.append(int(path.parent.name))
        return found

    def steps(self, job: str) -> list[int]:
        """The daemons of a job's steps; what they ran has ended when they have."""
        return [
            int(step)
            for step in command("pgrep", "-f", rf"^slurmstepd: \[{job}\.", check=False).split()
        ]

    def processes_of_node(self, node: str, jobs: list[str]) -> list[int]:
        """A node's daemon, and every process of its jobs."""
        found = [int((self.folder / "run" / f"slurmd-{node}.pid").read_text())]
        for job in jobs:
            found += [*self.steps(job), *self.processes(job)]
        return found

    def cut_power(self, node: str, jobs: list[str]) -> None:
        """End a node as a power cut does: its daemon and every process of its jobs,
        without a word.
        """
        send(signal.SIGKILL, self.processes_of_node(node, jobs))

    def freeze(self, node: str, jobs: list[str]) -> Callable[[], None]:
        """Stop a node and its jobs, as a virtual machine that is paused; what is
        returned lets them go on.
        """
        stopped = self.processes_of_node(node, jobs)
        send(signal.SIGSTOP, stopped)
        return lambda: send(signal.SIGCONT, stopped)

    def set_nodes(self, nodes: str, state: str) -> None:
        """As an administrator does: `drain`, `down` or `resume`; of several nodes, as
        SLURM writes them.
        """
        command("scontrol", "update", f"nodename={nodes}", f"state={state}", "reason=test")

    def stop_controller(self) -> None:
        """As an administrator's restart does: it saves its state, and is gone."""
        process = int((self.folder / "run" / "slurmctld.pid").read_text())
        os.kill(process, signal.SIGTERM)
        wait_until(lambda: not Path(f"/proc/{process}").exists(), 30, "slurmctld has ended")


class ClusterRuns:
    """A copy of the workflow whose runs go through SLURM, and the switches that delay
    its commands.
    """

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.folder = workflow.folder
        self.switches = workflow.folder.parent / "switches"
        self.programs = workflow.folder.parent / "bin"
        self.logs = 0
        self.switches.mkdir()
        self.programs.mkdir()
        for name, text, real in (
            ("vocap", VOCAP, BIN / "vocap"),
            ("squeue", SQUEUE, "/usr/bin/squeue"),
        ):
            program = self.programs / name
            filled = text.replace("{switches}", str(self.switches)).replace("{real}", str(real))
            program.write_text(filled.replace("{take}", TAKE))
            program.chmod(0o755)

    def hold(self, name: str, takes_mb: int | None = None) -> None:
        (self.switches / name).write_text("" if takes_mb is None else str(takes_mb))

    def wait_until_held(self, job: str, seconds: float = 300) -> None:
        """Wait for the job's command: before it there are only the batch script and two
        Snakemakes.
        """
        wait_until((self.switches / f"held.{job}").exists, seconds, f"job {job} is held")

    def took(self, job: str) -> bool:
        """Whether a held process of the job has taken its memory."""
        return (self.switches / f"took.{job}").exists()

    def release(self, name: str) -> None:
        (self.switches / name).unlink()

    def start(self, *arguments: str, config: str = "test.yaml") -> "Run":
        """Start Snakemake with the profile; status is asked for sooner than at a real
        site.
        """
        self.logs += 1
        log = self.folder.parent / f"run-{self.logs}.log"
        with open(log, "w") as file:
            process = subprocess.Popen(
                [
                    *(BIN / "snakemake", "--profile", "slurm", "--configfile", config),
                    *(
                        "--slurm-init-seconds-before-status-checks",
                        "3",
                        "--latency-wait",
                        "10",
                        *arguments,
                    ),
                ],
                cwd=self.folder,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                # In the background of a shell this process ignores Ctrl-C, and so would
                # what it starts.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
                env={
                    "PATH": f"{self.programs}:{BIN}:/usr/sbin:/usr/bin:/sbin:/bin",
                    "HOME": str(self.folder),
                    "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
                },
            )
        return Run(process, log, arguments[0])

    def digests(self) -> dict[str, str]:
        return digests(self.folder)

    def end(self) -> None:
        """End what a failed test has left, and what SLURM leaves of a job without
        cgroups.
        """
        lines = command("squeue", "--noheader", "--format", "%i|%Z").splitlines()
        left = [
            job
            for job, _, working in (line.partition("|") for line in lines)
            if Path(working) == self.folder
        ]
        if left:
            command("scancel", *left)
        for path in Path("/proc").glob("[0-9]*/cwd"):
            with suppress(OSError):
                if path.readlink() == self.folder:
                    send(signal.SIGKILL, [int(path.parent.name)])


@dataclass
class Run:
    """A Snakemake at work."""

    process: subprocess.Popen
    log: Path
    target: str

    def text(self) -> str:
        return self.log.read_text("utf-8")

    def wait(self, seconds: float) -> int:
        """Its exit status; a run that does not end in time is killed and fails the
        test.
        """
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the run hangs:\n{self.text()[-3000:]}") from None

    def succeed(self, seconds: float = 600) -> None:
        assert self.wait(seconds) == 0, self.text()[-5000:]

    def interrupt(self) -> None:
        """As Ctrl-C does."""
        os.killpg(self.process.pid, signal.SIGINT)

    def kill(self) -> None:
        """As the kernel does when memory is short: nothing is cleaned up, jobs run
        on.
        """
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every result but logs, by path; hidden files are Snakemake's, or what
    a killed job left.
    """
    results = folder / "results"
    return {
        str(path.relative_to(results)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(results.rglob("*"))
        if path.is_file()
        and not path.name.startswith(".")
        and "logs" not in path.relative_to(results).parts
    }
