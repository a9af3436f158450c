"""The jobs of the workflow, from Snakemake's own dry run (`rules/dry_run.smk` writes them)."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

from vocap.errors import VocapError

VARIABLE = "VOCAP_JOBS"  # names the file that the dry run writes, one line of JSON for each job
CORES = 1_000_000  # Snakemake limits a job's threads to the cores that it is given
SHOWN_LINES = 20  # of Snakemake's output, where the dry run fails


@dataclass(frozen=True)
class Job:
    """One job: `name` is the path of its benchmark file under the folder of benchmarks, without `.tsv`.

    `after`: names of the jobs whose outputs it reads; `outputs`: paths that it writes; `local`: it runs beside
    Snakemake, on a cluster too. `vocap.plan.features` adds the rest:
    `features` multiply the coefficients of `costs.yaml` of the rule `priced_as`; `gpus` share it.
    """

    rule: str
    name: str
    features: Mapping[str, float] = field(default_factory=dict)
    after: Sequence[str] = ()
    outputs: Sequence[str] = ()
    threads: int = 1
    local: bool = False
    priced_as: str = ""
    gpus: int = 1
    wildcards: Mapping[str, str] = field(default_factory=dict)

    @property
    def stage(self) -> str:
        return self.name.partition("/")[0]


def read_jobs(configfiles: Sequence[Path]) -> list[Job]:
    """Every job of the workflow in the current folder, done or not, each after those that it waits for.

    `configfiles`: those of `--configfile`; none for the default configuration. Raises VocapError where the
    dry run fails, and ModuleNotFoundError without Snakemake.
    """
    if find_spec("snakemake") is None:
        raise ModuleNotFoundError("No module named 'snakemake'", name="snakemake")
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--forceall", "--cores", str(CORES)]
    command += ["--quiet", "all", "--profile", "none", "--workflow-profile", "none"]
    if configfiles:
        command += ["--configfile", *map(str, configfiles)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "jobs.jsonl")
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        run = subprocess.run(command, env={**os.environ, VARIABLE: str(path)}, check=False, **streams)
        if run.returncode or not path.exists():
            shown = "\n".join(run.stdout.strip().splitlines()[-SHOWN_LINES:])
            raise VocapError(f"Snakemake's dry run failed; correct its cause:\n{shown}")
        records = map(json.loads, path.read_text("utf-8").splitlines())
        jobs = {record["name"]: Job(**record) for record in records}
    order = TopologicalSorter({name: jobs[name].after for name in sorted(jobs)})
    return [jobs[name] for name in order.static_order()]


def longest_chain(jobs: Sequence[Job], seconds: Mapping[str, float]) -> float:
    """Seconds of the longest chain of jobs that wait for each other, each after those that it waits for."""
    ends: dict[str, float] = {}
    for job in jobs:
        ends[job.name] = seconds[job.name] + max((ends[name] for name in job.after), default=0.0)
    return max(ends.values(), default=0.0)
