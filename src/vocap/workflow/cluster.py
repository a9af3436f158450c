"""Jobs that a killed run left in SLURM's queue, and the clients that Snakemake calls."""

import getpass
import logging
import os
import shutil
import subprocess
import time
from collections.abc import Collection
from pathlib import Path

from vocap.errors import VocapError, log

ANSWER_S = 30  # that a client of SLURM has to answer
UNCONFIGURED = "establish a configuration source"  # of a client without slurm.conf
PATIENCE_S = 120  # for cancelled jobs to end; SLURM gives them 30 s (KillWait) before it kills


def jobs_of(folder: Path) -> dict[str, str]:
    """Id to comment of this user's queued and running jobs that a Snakemake in `folder`
    submitted.

    Raises VocapError where squeue fails.
    """
    command = ["squeue", "--noheader", "--user", getpass.getuser(), "--format", "%i|%k|%Z"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise VocapError(f"squeue failed: {run.stderr.strip() or run.returncode}")
    rows = [line.split("|", 2) for line in run.stdout.splitlines()]
    return {
        job: comment
        for job, comment, working in rows
        if comment.startswith("rule_") and Path(working).resolve() == folder.resolve()
    }


def cancel_leftovers(folder: Path, submits: bool = True) -> int:
    """Cancel what an earlier run of `folder`, killed since, left in the queue, and wait
    for their end.

    The caller holds the folder's lock: then no other run owns these jobs, and their
    outputs are made again. Returns their number: 0 without SLURM, or where another run
    has a lock as well. A run that submits nothing logs a failing squeue at debug level:
    SLURM's client may not be set up. Raises VocapError for jobs that do not end.
    """
    locks = list((folder / ".snakemake" / "locks").glob("*.output.lock"))
    if shutil.which("squeue") is None or len(locks) != 1:
        return 0
    try:
        left = jobs_of(folder)
    except VocapError as error:
        level = logging.WARNING if submits else logging.DEBUG
        log.log(level, "%s; jobs of an earlier run in this folder may still be running", error)
        return 0
    if not left:
        return 0
    log.warning(
        "cancelling %d jobs that an earlier run left: %s", len(left), ", ".join(left.values())
    )
    subprocess.run(["scancel", *left], check=False)
    end = time.monotonic() + PATIENCE_S
    while remaining := left.keys() & jobs_of(folder).keys():
        if time.monotonic() > end:
            raise VocapError(
                f"jobs {', '.join(sorted(remaining))} do not end after scancel; see squeue, then "
                "run again"
            )
        time.sleep(1)
    return len(left)


def check_cluster(partitions: Collection[str], accounts: Collection[str]) -> None:
    """Check, before a run submits its first job, that the cluster has what its jobs name.

    Raises VocapError without sbatch, and for a partition that `sinfo` or an account that
    `sacctmgr` does not list. A cluster that does not answer is a warning; one without
    accounts is none.
    """
    remedy = "correct slurm/config.yaml (docs/cluster.md)"
    if shutil.which("sbatch") is None:
        raise VocapError(
            "sbatch: not found; run on the machine where sbatch works, or without --profile slurm"
        )
    partitions_there = _listed("sinfo", "--noheader", "--format", "%P")
    known = {"partition": {name.rstrip("*") for name in partitions_there}}
    if accounts and shutil.which("sacctmgr"):
        command = ["show", "associations", f"user={getpass.getuser()}", "format=account"]
        known["account"] = set(_listed("sacctmgr", "--noheader", "--parsable2", *command))
    asked = {"partition": set(partitions), "account": set(accounts)}
    for what, names in known.items():
        if names and (absent := asked[what] - names):
            raise VocapError(
                f"the cluster has no {what} {', '.join(sorted(absent))}, but "
                f"{', '.join(sorted(names))}; {remedy}"
            )


def _listed(*command: str) -> list[str]:
    """The lines that a client of SLURM prints; none, with a warning, where it fails.

    Raises VocapError for a client that knows no cluster.
    """
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=ANSWER_S)
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", None) or str(error)
        if UNCONFIGURED in said:
            raise VocapError(
                f"{command[0]}: SLURM's client is not set up here; run on the machine where "
                "sbatch works, or without --profile slurm"
            ) from None
        log.warning("%s does not answer (%s); the run begins unchecked", command[0], said.strip())
        return []
    return run.stdout.split()


def prepend_to_path(folder: Path) -> None:
    """Put `folder` first in PATH, for this process and its jobs."""
    first = str(folder.resolve())
    entries = [
        entry for entry in os.environ.get("PATH", os.defpath).split(os.pathsep) if entry != first
    ]
    os.environ["PATH"] = os.pathsep.join([first, *entries])
