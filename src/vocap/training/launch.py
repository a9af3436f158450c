"""One process for every GPU of a SLURM job, on all its nodes, started by torchrun; one
process outside SLURM.
"""

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vocap.errors import VocapError

FIRST_PORT, PORTS = 20_000, 10_000  # range of the rendezvous port, chosen by the job's id


@dataclass(frozen=True)
class SlurmJob:
    """Nodes and processes of a SLURM job."""

    job: str
    nodes: tuple[str, ...]
    head: str  # address of the first node
    processes: int  # of each node: its GPUs, or one


def visible_gpus(environment: Mapping[str, str]) -> int:
    """The number of GPUs that SLURM gives this node's processes
    (CUDA_VISIBLE_DEVICES).
    """
    entries = environment.get("CUDA_VISIBLE_DEVICES", "").split(",")
    return sum(bool(re.fullmatch(r"\d+|(GPU|MIG)-\S+", entry)) for entry in entries)


def slurm_job(environment: Mapping[str, str]) -> SlurmJob | None:
    """The SLURM job of this process; None outside SLURM. Raises VocapError where SLURM
    does not answer.

    The nodes are queried: jobs that Snakemake starts lack SLURM_JOB_NODELIST.
    """
    if (job := environment.get("SLURM_JOB_ID")) is None:
        return None
    listed = _ask("squeue", "--noheader", f"--jobs={job}", "--format=%N")
    nodes = tuple(_ask("scontrol", "show", "hostnames", listed).split())
    head = _ask("sinfo", "--noheader", f"--nodes={nodes[0]}", "--format=%o").split()[0]
    return SlurmJob(job, nodes, head, max(1, visible_gpus(environment)))


def launch_words(command: Sequence[str], place: SlurmJob | None, threads: int) -> list[str]:
    """The command line that starts `command` in every process of `place`, `threads` CPUs each.

    >>> launch_words(["vocap", "pretrain"], None, 2)
    ['vocap', 'pretrain']
    """
    if place is None or len(place.nodes) * place.processes == 1:
        return list(command)
    torchrun = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        f"--nproc-per-node={place.processes}",
    ]
    if len(place.nodes) == 1:
        return [*torchrun, "--standalone", "--no-python", *command]
    count = len(place.nodes)
    port = FIRST_PORT + int(place.job) % PORTS
    rendezvous = [f"--nnodes={count}", "--rdzv-backend=c10d", f"--rdzv-id={place.job}"]
    rendezvous.append(f"--rdzv-endpoint={place.head}:{port}")
    srun = [
        "srun",
        f"--nodes={count}",
        f"--ntasks={count}",
        "--ntasks-per-node=1",
        "--kill-on-bad-exit=1",
    ]
    return [*srun, f"--cpus-per-task={threads}", *torchrun, *rendezvous, "--no-python", *command]


def _ask(*words: str) -> str:
    try:
        run = subprocess.run(words, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", None) or error
        raise VocapError(
            f"{words[0]} gives no nodes of this SLURM job: {str(reason).strip()}"
        ) from None
    return run.stdout.strip()
