"""`vocap launch`: a command in every process of a SLURM job."""

import os

import click

from vocap.errors import log
from vocap.training.launch import launch_words, slurm_job


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--threads", type=click.IntRange(min=1), default=1, help="Number of CPUs of a process."
)
@click.argument("command", nargs=-1, required=True)
def launch(threads: int, command: tuple[str, ...]) -> None:
    """Start COMMAND with torchrun, once for every GPU on all nodes of this SLURM job.

    On nodes without GPUs it starts once on each node. Outside SLURM it starts once,
    without torchrun.
    """
    words = launch_words(command, slurm_job(os.environ), threads)
    if len(words) > len(command):
        log.info("launching %s", " ".join(words[: len(words) - len(command)]))
    os.execvp(words[0], words)
