"""What a run on a cluster needs besides its profile; without SLURM it changes nothing."""

# Snakemake's plugin asks sacct at times, even where SLURM keeps no accounts: slurm/bin/sacct knows what to do then.
prepend_to_path(Path(workflow.basedir, "slurm", "bin"))


def start_over():
    """Run the same command again: what is to be done was decided on files that jobs, cancelled since, took back."""
    workflow.persistence.unlock()
    # With -d, paths on the command line are relative to a folder that is no longer known.
    if any(re.fullmatch(r"-d.*|--dir.*", word) for word in sys.argv[1:]):
        stop("the jobs that an earlier run left have ended; run the same command again")
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, sys.orig_argv)


onstart:
    check_dates(workflow.dag.needrun_jobs())
    # The jobs that a killed run left in the queue would write what this run writes.
    try:
        cancelled = cancel_leftovers(Path.cwd(), workflow.executor_plugin.common_settings.non_local_exec)
    except VocapError as error:
        stop(error)
    if cancelled:
        start_over()
