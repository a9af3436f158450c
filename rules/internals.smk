"""What needs Snakemake's internals: each use with its reason.

Nothing else in Snakefile and rules/ names an attribute of `workflow`.
tests/workflow/test_internals.py tests all of them under the pinned version.
"""

import atexit
import json
import logging
import os
import shutil
import signal
import sys
import threading
import warnings
from collections import Counter
from functools import cache
from pathlib import Path

from snakemake.logging import logger
from snakemake.persistence import ParamsChange, PersistenceBase
from snakemake_interface_logger_plugins.common import LogEvent

# is_main_process: every job reads the rules again, and has nothing to announce or to
# check.
IS_MAIN = workflow.is_main_process

# modifier: whether another workflow uses this one as a module. Its dictionary is then the
# configuration, and what is said at the start and the end of a run belongs to it.
IS_MODULE = not workflow.modifier.is_main_snakefile()

INTERRUPTED = b"vocap: interrupted; finished files are kept, run the same command again to go on\n"


def interrupt(number, frame):
    """Ctrl-C: one line. logger: what Snakemake says of each job that ends by it, with the job's
    log, goes to its own log file alone. It takes this exit as it takes Ctrl-C, also where it
    would print a traceback: while it reads the rules.
    """
    if frame and frame.f_code is threading._shutdown.__code__:
        return  # the run is over
    for handler in logger.handlers:
        if not isinstance(handler, logging.FileHandler):
            handler.addFilter(lambda record: False)
    os.write(sys.stderr.fileno(), INTERRUPTED)
    sys.exit(128 + number)


# A job in the background ignores it, and jobs have their own handlers.
if (
    IS_MAIN
    and not IS_MODULE
    and threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.default_int_handler
):
    signal.signal(signal.SIGINT, interrupt)

# after the handler of Ctrl-C, since they take a while
from vocap import __version__
from vocap.errors import VocapError, explain, listed
from vocap.files.io import write_text
from vocap.stages import STAGES
from vocap.workflow.cluster import cancel_leftovers, check_cluster, prepend_to_path
from vocap.workflow.owner import record_owner
from vocap.workflow.parameters import VERSION_FILE, Change, Made, as_text, describe_changes
from vocap.workflow.parameters import excerpts, find_changes, lost_models, read_parameters
from vocap.workflow.parameters import stage_of, write_parameters

JOBS_FILE = "VOCAP_JOBS"  # variable: the file that `vocap plan` reads
SHOWN_JOBS = 100  # of a dry run; with -p all

# output_settings.dryrun: a dry run plans with files that a user may bring later, and
# names them last. So does the run that `vocap plan` asks for its jobs.
DRY_RUN = workflow.output_settings.dryrun or JOBS_FILE in os.environ

# Where the size of an input is not known yet, Snakemake leaves a coroutine of its own
# unawaited, and Python warns of it once a run.
warnings.filterwarnings("ignore", "coroutine 'InputFiles._predicated_size_files", RuntimeWarning)

# overwrite_configfiles: with --configfile the default configuration is not read, so that
# nothing is merged over it.
GIVEN_CONFIGFILES = workflow.overwrite_configfiles

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
    os.environ.update(VOCAP_SOURCE=str(own_file("")))


# Parameters of results: Snakemake's own records, in `.snakemake`, go by the path of a file

EARLIER = "a version before 0.2.0"  # which recorded none
CHANGES = {}  # of jobs whose parameters differ from those of their results
EQUAL = set()  # jobs whose parameters do not


@cache
def watched(rule):
    """The names of the parameters that Snakemake compares: not those that follow from files.

    _is_deriving_function: that is how it tells them apart, and it keeps no names.
    """
    return [name for name, value in rule.params.items() if not rule._is_deriving_function(value)]


def given(job):
    """The parameters of a job that Snakemake compares, as text."""
    return {name: as_text(job.params[name], RESULTS) for name in watched(job.rule)}


def outputs_of(job):
    """The outputs of a job that a stage keeps, as paths below the results."""
    start = f"{RESULTS}/"
    below = [str(path).removeprefix(start) for path in job.output if path.startswith(start)]
    return [path for path in below if stage_of(path)]


def recorded(job):
    """What a job's results were made with, by the file beside them; None where it does not say."""
    found = [RECORDED.get(path) for path in outputs_of(job)]  # of all of them the same
    return found[0] if found and all(found) else None


def has_metadata(persistence, job, own=PersistenceBase.has_metadata):
    return own(persistence, job) or recorded(job) is not None


def params_changed(
    persistence,
    job,
    file=None,
    own=PersistenceBase.params_changed,
    own_metadata=PersistenceBase.has_metadata,
):
    """The parameters that differ, by name, as Snakemake knows them, else as the file beside the
    results does; models of a curve that are lost count as one.
    """
    if not outputs_of(job):
        return own(persistence, job, file)
    name, made = job.rule.name, recorded(job)
    differing = find_changes(name, made, given(job)) if made else []
    found, known = differing, True
    if not own_metadata(persistence, job):
        known = made is not None
    elif not (change := own(persistence, job, file)):
        found = []
    elif not differing:
        # _serialize_param: which of the job's parameters have the values that it names
        names = [
            key
            for key in watched(job.rule)
            if persistence._serialize_param(job.params[key]) in change.only_new
        ]
        values = (", ".join(sorted(of)) for of in (change.only_old, change.only_new))
        found = [Change(name, ", ".join(names) or "parameters", *values)]
    if lost := [model for path in job.output for model in lost_models(path)]:
        found.append(Change(name, "models", "made", f"lost: {', '.join(lost)}"))
    if not found:
        if known:
            EQUAL.add(job)
        return ParamsChange()
    CHANGES[job] = found
    shown = [(change.name, excerpts(change.before, change.now)) for change in found]
    before, now = ({f"{key}: {values[end]}" for key, values in shown} for end in (0, 1))
    return ParamsChange(only_old=before, only_new=now, files=set(job.output))


# PersistenceBase: what Snakemake asks whether a job is to run again. Jobs do not ask.
if IS_MAIN:
    PersistenceBase.has_metadata = has_metadata
    PersistenceBase.params_changed = params_changed


def compare_results():
    """Lines on results whose parameters or version are others, or not known.

    dag: reason, needrun: why jobs run. `_reason` has the words of Snakemake's own summary.
    """
    again, versions, unknown = [], {}, Counter()
    jobs = [(job, outputs) for job in workflow.dag.jobs if (outputs := outputs_of(job))]
    for job, outputs in sorted(jobs, key=lambda one: STAGES.index(stage_of(one[1][0]))):
        stage, reason = stage_of(outputs[0]), workflow.dag.reason(job)
        runs = workflow.dag.needrun(job)
        if reason.no_metadata and not runs:
            unknown[stage] += 1
        if reason.no_metadata or not all(map(os.path.exists, job.output)):
            continue
        if runs and job not in CHANGES:  # Snakemake asks where it has no other reason alone
            workflow.persistence.params_changed(job)
        changes = CHANGES.get(job, []) if runs else []
        again += changes
        made = recorded(job)
        version = (made.version if made else LAST_VERSION) or EARLIER
        if version == __version__:
            continue
        reasons = versions.setdefault(version, {}).setdefault(stage, set())
        reasons |= {
            (
                f"revision {change.before} -> {change.now}"
                if change.name == "revision"
                else change.name
            )
            for change in changes
        }
        if runs and not changes:
            reasons |= set(reason.get_names())
    lines = list(describe_changes(again))
    for version, reasons in sorted(versions.items()):
        made = [f"{stage} ({listed(sorted(why))})" for stage, why in reasons.items() if why]
        kept = [stage for stage, why in reasons.items() if not why]
        said = {"made again": made, "taken as they are": kept}
        said = "; ".join(f"{what}: {listed(stages)}" for what, stages in said.items() if stages)
        lines.append(f"results of {version}, this is {__version__}: {said}")
    if unknown:
        names = listed([f"{stage} ({count})" for stage, count in unknown.items()])
        lines.append(
            f"results of unknown parameters, taken as they are: {names}; --forcerun RULE makes them"
            " again, and with --touch records them as those of this configuration"
        )
    return lines


def record_results():
    """Write what the results of this run were made with, whatever its end.

    dag.finished: the jobs that it ran. scheduler: none where Snakemake was asked for something
    other than a run.
    """
    if workflow.scheduler is None:
        return
    jobs = []
    for job in workflow.dag.jobs:
        if not (outputs := outputs_of(job)):
            continue
        if workflow.dag.finished(job):
            jobs.append(Made(outputs, __version__, given(job)))
        elif job in EQUAL:
            made = Made(outputs, LAST_VERSION, given(job))
            if (known := recorded(job)) is None or known.parameters != made.parameters:
                jobs.append(made)
    try:
        write_parameters(RESULTS, jobs, {id(made): made for made in RECORDED.values()}.values())
    except OSError as error:
        print(f"vocap: warning: {explain(error)}", file=sys.stderr)


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
        write_text(Path(RESULTS, VERSION_FILE), f"{__version__}\n")
        if not IS_MODULE:
            record_owner(RESULTS, CONFIGFILES)
    except OSError as error:
        stop(explain(error))
    say(compare_results())


def check_space():
    """Stop where the device of the results has less space than the jobs of this run are forecast
    to write. A rule that the forecast does not know is no reason to.
    """
    from vocap.forecast.jobs import PlannedJob  # of the main process, at its start alone
    from vocap.forecast.run import disk_mb

    jobs = [
        PlannedJob(rule=job.rule.name, name=benchmark_name(job), wildcards=job.wildcards_dict)
        for job in workflow.dag.needrun_jobs()
        if job.benchmark
    ]
    try:
        needed = disk_mb(SETTINGS, jobs)
    except VocapError:
        return
    free = shutil.disk_usage(RESULTS).free / 1e6
    if needed > free:
        stop(
            f"{RESULTS}: this run writes about {needed:,.0f} MB, and {free:,.0f} MB are free on "
            "that device; free some space, name another folder (`results: FOLDER`), or run a "
            "stage alone"
        )


def benchmark_name(job):
    """The name of a job in the forecast: the path of its benchmark file."""
    return Path(str(job.benchmark)).relative_to(f"{LOGS}/benchmarks").with_suffix("").as_posix()


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


def limit_plan(record, seen=Counter()):
    """Whether Snakemake's log record is to be printed: of those of jobs the first hundred, of the
    two equal tables of jobs the second.
    """
    event, settings = getattr(record, "event", None), workflow.output_settings
    seen[event] += 1
    if event == LogEvent.JOB_INFO:
        all_jobs = settings.printshellcmds or settings.verbose
        return all_jobs or seen[event] <= SHOWN_JOBS
    if event == LogEvent.RUN_INFO:
        return seen[event] > 1
    return True


def write_jobs(path):
    """One line of JSON for each job that has a benchmark, for `vocap.forecast.jobs`.

    dag: Snakemake has no other list of jobs.
    """
    with open(path, "w", encoding="utf-8") as file:
        for job in workflow.dag.jobs:
            if job.benchmark:
                record = {
                    "rule": job.rule.name,
                    "name": benchmark_name(job),
                    "wildcards": job.wildcards_dict,
                }
                print(json.dumps(record), file=file)


def say(lines):
    """Print lines on the terminal, apart from what Snakemake says."""
    print(*lines, sep="\n", end="\n" if lines else "", file=sys.stderr)


def end_run():
    """Record the parameters of the results; say what else `begin_run` says, which Snakemake calls
    where there are jobs.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it would interrupt the writing, with a traceback
    if workflow.scheduler is not None and not IS_MODULE and not len(workflow.dag):
        say(compare_results())
    record_results()


def end_dry_run():
    """Write the jobs for `vocap plan`, or print what a dry run has to say.

    At the end of the process: Snakemake calls `onsuccess` of real runs alone.
    """
    if JOBS_FILE not in os.environ:
        say([*NOTICES, *(compare_results() if workflow.scheduler is not None else [])])
    elif workflow.dag is not None:
        write_jobs(os.environ[JOBS_FILE])


# logger: a dry run of thousands of jobs prints a hundred, and its table once.
if DRY_RUN and not IS_MODULE:
    logger.addFilter(limit_plan)
