"""The lines of a dry run: some jobs of many, the parameters that have changed, and last the files that are absent."""

import atexit
from collections import Counter

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

from vocap.changes import describe

SHOWN_JOBS = 100  # of a dry run; with -p all


def limit_jobs(record, seen=Counter()):
    """Whether Snakemake's record is to be printed: of jobs, the first hundred."""
    if getattr(record, "event", None) != LogEvent.JOB_INFO:
        return True
    seen["jobs"] += 1
    return seen["jobs"] <= SHOWN_JOBS


def changed_parameters():
    """Lines `NAME (jobs): old -> new` of the jobs that run for a changed parameter."""
    counts = Counter()
    persistence = workflow.persistence
    for job in workflow.dag.needrun_jobs(exclude_finished=False):
        change = workflow.dag.reason(job).params_changed
        if change:
            texts = {name: persistence._serialize_param(value) for name, value in job.params.items()}
            new = {name: text for name, text in texts.items() if text in change.only_new}
            counts.update((job.rule.name, line) for line in describe(change.only_old, new))
    return [f"  {rule}{f' ({count} jobs)' if count > 1 else ''}: {line}" for (rule, line), count in counts.items()]


def end_dry_run():
    try:
        lines = changed_parameters() if workflow.dag is not None else []
    except Exception as error:  # Snakemake's records are its own: without them the dry run stays whole
        lines = [f"  not known: {error}"]
    if lines:
        print("Parameters that have changed since the last run:", *lines, sep="\n", file=sys.stderr)
    print(*NOTICES, sep="\n", end="\n" if NOTICES else "", file=sys.stderr)


if dry_run():
    if not {"-p", "--printshellcmds", "--verbose"} & {*sys.argv}:
        logger.addFilter(limit_jobs)
    atexit.register(end_dry_run)
