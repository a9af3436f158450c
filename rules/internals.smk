"""What needs Snakemake's internals: each use with its reason.

Nothing else in Snakefile and rules/ names an attribute of `workflow`.
tests/workflow/test_internals.py tests all of them under the pinned version.
"""

import atexit
import json
import os
import sys
import warnings
from collections import Counter
from functools import lru_cache
from pathlib import Path

import snakemake.common
from snakemake.dag import DAG
from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

from vocap.errors import VocapError, explain
from vocap.workflow.cluster import cancel_leftovers, check_cluster, prepend_to_path
from vocap.workflow.owner import record_owner

JOBS_FILE = "VOCAP_JOBS"  # variable: the file that `vocap plan` reads
SHOWN_JOBS = 100  # of a dry run; with -p all

# output_settings.dryrun: a dry run plans with files that a user may bring later, and
# names them last. So does the run that `vocap plan` asks for its jobs.
DRY_RUN = workflow.output_settings.dryrun or JOBS_FILE in os.environ

# Where the size of an input is not known yet, Snakemake leaves a coroutine of its own
# unawaited, and Python warns of it once a run.
warnings.filterwarnings("ignore", "coroutine 'InputFiles._predicated_size_files", RuntimeWarning)

# is_main_process: every job reads the rules again, and has nothing to announce or to
# check.
IS_MAIN = workflow.is_main_process

# overwrite_configfiles: with --configfile the default configuration is not read, so that
# nothing is merged over it.
GIVEN_CONFIGFILES = workflow.overwrite_configfiles

# modifier: whether another workflow uses this one as a module. Its dictionary is then the
# configuration, and what is said at the start and the end of a run belongs to it.
IS_MODULE = not workflow.modifier.is_main_snakefile()
# current_basedir: the folder of this file, also where Snakemake copied it from a host.
RULES_FOLDER = workflow.current_basedir


def stop(message):
    """End with this message alone, and the status of a wrong call or configuration."""
    print(f"vocap: error: {message}", file=sys.stderr)
    sys.exit(2)


def own_file(path):
    """A file of this workflow's source, by its path there; of a host's, Snakemake's copy.

    source_path: it copies local files too, and their copies have other names in each run.
    """
    if RULES_FOLDER.is_local:
        return Path(RULES_FOLDER.path).parent / path
    return Path(workflow.source_path(f"../{path}"))


# path_modifier: parameters name the folder of the results as the configuration does.
if workflow.modifier.path_modifier.prefix or workflow.modifier.path_modifier.modifies_prefixes:
    stop("module: without `prefix` and `replace_prefix`; name a folder by `results` in its config")
# Environments install the package from its source (envs/install-vocap.sh).
if RULES_FOLDER.is_local:
    os.environ["VOCAP_SOURCE"] = str(own_file(""))


# The start of a run


def submitted_values(*resources):
    """The values of each of these resources in the jobs that this run submits.

    dag.needrun_jobs: those that it runs. One job stands for all of its rule.
    """
    jobs = {job.rule.name: job for job in workflow.dag.needrun_jobs() if not job.is_local}
    return [
        {job.resources[name] for job in jobs.values() if job.resources.get(name)}
        for name in resources
    ]


# Snakemake's plugin for SLURM asks sacct at times, even where SLURM keeps no accounts:
# slurm/bin/sacct answers then.
if not IS_MODULE:
    prepend_to_path(own_file("slurm/bin"))


def begin_run():
    """End the jobs that a killed run left in the queue, and note whose the results are.

    They would write the same files. executor_plugin: whether this run submits jobs, and so
    needs SLURM's client.
    """
    submits = workflow.executor_plugin.common_settings.non_local_exec
    try:
        if submits:
            check_cluster(*submitted_values("slurm_partition", "slurm_account"))
        cancelled = cancel_leftovers(Path.cwd(), submits)
    except VocapError as error:
        stop(error)
    if cancelled:
        start_over()
    try:
        for folder in (RESULTS, LOGS):
            os.makedirs(folder, exist_ok=True)
        if not IS_MODULE:
            record_owner(RESULTS, CONFIGFILES)
    except OSError as error:
        stop(explain(error))


def text_versions(found, made):
    """A parameter that differs where a text is another than the one that `made` was made of.

    persistence._read_record: where the record has none, of an earlier version of the rules,
    nothing is made again; Snakemake compares no parameter that is no plain value.
    """
    record, versions = workflow.persistence._read_record(made), found.versions()
    watched = record is None or any("versions" in param for param in record.params or ())
    return versions if watched and versions["versions"] else ...


def start_over():
    """Run the same command again: its jobs were planned from files that are gone since.

    persistence: the lock is this process's own. overwrite_workdir: with -d, paths on the
    command line are relative to a folder that is no longer known.
    """
    workflow.persistence.unlock()
    if workflow.overwrite_workdir is not None:
        stop("the jobs that an earlier run left have ended; run the same command again")
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, sys.orig_argv)


# The end of a dry run


def limit_jobs(record, seen=Counter()):
    """Whether Snakemake's log record is to be printed: of those of jobs, the first hundred."""
    if getattr(record, "event", None) != LogEvent.JOB_INFO:
        return True
    seen["jobs"] += 1
    return seen["jobs"] <= SHOWN_JOBS


def write_jobs(path):
    """One line of JSON for each job that has a benchmark, for `vocap.forecast.jobs`.

    dag: Snakemake has no other list of jobs. Threads of all rules are numbers; those of
    a job are known after all its resources, which takes a fifth of the time.
    """
    with open(path, "w", encoding="utf-8") as file:
        for job in workflow.dag.jobs:
            if job.benchmark:
                place = Path(str(job.benchmark)).relative_to(f"{LOGS}/benchmarks")
                record = {
                    "rule": job.rule.name,
                    "name": place.with_suffix("").as_posix(),
                    "wildcards": job.wildcards_dict,
                    "threads": job.rule.resources["_cores"].value,
                }
                print(json.dumps(record), file=file)


def say(lines):
    """Print lines on the terminal, apart from what Snakemake says."""
    print(*lines, sep="\n", end="\n" if lines else "", file=sys.stderr)


def end_dry_run():
    """Write the jobs for `vocap plan`, or print what a dry run has to say.

    At the end of the process: Snakemake calls `onsuccess` of real runs alone.
    """
    if JOBS_FILE not in os.environ:
        say(NOTICES)
    elif workflow.dag is not None:
        write_jobs(os.environ[JOBS_FILE])


# logger: a dry run of thousands of jobs prints a hundred.
if DRY_RUN and not IS_MODULE:
    if not (workflow.output_settings.printshellcmds or workflow.output_settings.verbose):
        logger.addFilter(limit_jobs)

# update_conda_envs: no plan needs the environments of jobs, which depend on all their
# params. get_function_params: the parameters of the same few functions are asked for
# each job. Both take a third of the time of a plan.
if JOBS_FILE in os.environ:
    DAG.update_conda_envs = lambda dag: None
    snakemake.common.get_function_params = lru_cache(1000)(snakemake.common.get_function_params)
