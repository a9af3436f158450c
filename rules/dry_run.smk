"""The lines of a dry run: some jobs of many, and last the files that are absent.

For `vocap plan` it writes all jobs to a file instead.
"""

import atexit
from collections import Counter

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

VARIABLE = "VOCAP_JOBS"  # names the file for `vocap plan` (vocap.forecast.jobs)
SHOWN_JOBS = 100  # of a dry run; with -p all


def limit_jobs(record, seen=Counter()):
    """Whether Snakemake's record is to be printed: of jobs, the first hundred."""
    if getattr(record, "event", None) != LogEvent.JOB_INFO:
        return True
    seen["jobs"] += 1
    return seen["jobs"] <= SHOWN_JOBS


def write_jobs(path):
    """One line of JSON for each job that has a benchmark: the fields of `vocap.forecast.jobs.Job`."""
    names = {}
    for job in workflow.dag.jobs:
        if job.benchmark:
            names[job] = (
                Path(str(job.benchmark))
                .relative_to(f"{LOGS}/benchmarks")
                .with_suffix("")
                .as_posix()
            )
    with open(path, "w", encoding="utf-8") as file:
        for job, name in names.items():
            record = {
                "rule": job.rule.name,
                "name": name,
                "wildcards": job.wildcards_dict,
                "after": [
                    names[before] for before in workflow.dag.dependencies[job] if before in names
                ],
                "threads": job.threads,
                "local": job.rule.name in workflow._localrules,
            }
            print(json.dumps(record), file=file)


def end_dry_run():
    if VARIABLE in os.environ:
        if workflow.dag is not None:
            write_jobs(os.environ[VARIABLE])
        return
    print(*NOTICES, sep="\n", end="\n" if NOTICES else "", file=sys.stderr)


if DRY_RUN:
    if not (workflow.output_settings.printshellcmds or workflow.output_settings.verbose):
        logger.addFilter(limit_jobs)
    atexit.register(end_dry_run)
