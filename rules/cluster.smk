"""What a run on a cluster needs besides its profile; without SLURM it changes nothing."""

# Snakemake's plugin asks sacct at times, even where SLURM keeps no accounts: slurm/bin/sacct knows what to do then.
prepend_to_path(Path(workflow.basedir, "slurm", "bin"))


onstart:
    # The jobs that a killed run left in the queue would write what this run writes.
    try:
        cancel_leftovers(Path.cwd())
    except VocapError as error:
        stop(error)
