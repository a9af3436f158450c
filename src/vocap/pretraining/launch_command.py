"""`vocap launch`: a command in as many processes as a SLURM job has GPUs."""

import click


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="CPUs of a process.")
@click.argument("command", nargs=-1, required=True)
def launch(threads, command) -> None:
    """Start COMMAND once for every GPU of this SLURM job, on all of its nodes, with torchrun.

    On nodes without GPUs one process starts on each node; outside SLURM one process starts, without torchrun.
    """
    from vocap.pretraining.launch import launch

    launch(command, threads)
