"""The needs of a run on a cluster besides its profile; without SLURM nothing changes."""

# Snakemake's plugin asks sacct at times, even where SLURM keeps no accounts:
# slurm/bin/sacct answers then.
prepend_to_path(Path(workflow.basedir, "slurm", "bin"))


def start_over():
    """Run the same command again: its jobs were planned from files that the cancelled jobs have removed."""
    workflow.persistence.unlock()
    # With -d, paths on the command line are relative to a folder that is no longer
    # known.
    if workflow.overwrite_workdir is not None:
        stop("the jobs that an earlier run left have ended; run the same command again")
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, sys.orig_argv)


onstart:
    # The jobs that a killed run left in the queue would write the same files as this
    # run.
    try:
        cancelled = cancel_leftovers(
            Path.cwd(), workflow.executor_plugin.common_settings.non_local_exec
        )
    except VocapError as error:
        stop(error)
    if cancelled:
        start_over()
    try:
        for folder in (RESULTS, LOGS):
            os.makedirs(folder, exist_ok=True)
        record_owner(RESULTS, CONFIGFILES)
    except OSError as error:
        stop(explain(error))
