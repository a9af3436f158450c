"""The lines of a dry run: some jobs of many, the parameters that have changed, and last the files that are absent.

For `vocap plan` it writes all jobs to a file instead.
"""

import atexit
from collections import Counter

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

from vocap.changes import describe
from vocap.plan.jobs import VARIABLE

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


def write_jobs(path):
    """One line of JSON for each job that has a benchmark: the fields of `vocap.plan.jobs.Job`."""
    names = {}
    for job in workflow.dag.jobs:
        if job.benchmark:
            names[job] = Path(str(job.benchmark)).relative_to(f"{LOGS}/benchmarks").with_suffix("").as_posix()
    with open(path, "w", encoding="utf-8") as file:
        for job, name in names.items():
            record = {
                "rule": job.rule.name,
                "name": name,
                "wildcards": job.wildcards_dict,
                "outputs": [str(output) for output in job.output],
                "after": [names[before] for before in workflow.dag.dependencies[job] if before in names],
                "threads": job.threads,
                "priority": job.rule.priority,
                "local": job.rule.name in workflow._localrules,
            }
            print(json.dumps(record), file=file)


def end_dry_run():
    if VARIABLE in os.environ:
        if workflow.dag is not None:
            write_jobs(os.environ[VARIABLE])
        return
    try:
        lines = changed_parameters() if workflow.dag is not None else []
    except Exception as error:  # Snakemake's records are its own: without them the dry run stays whole
        lines = [f"  not known: {error}"]
    if lines:
        print("Parameters that have changed since the last run:", *lines, sep="\n", file=sys.stderr)
    print(*NOTICES, sep="\n", end="\n" if NOTICES else "", file=sys.stderr)


if DRY_RUN:
    if not (workflow.output_settings.printshellcmds or workflow.output_settings.verbose):
        logger.addFilter(limit_jobs)
    atexit.register(end_dry_run)
