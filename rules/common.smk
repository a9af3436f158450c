"""The checked configuration, the plan of the run, and what several stages use.

REQUIRED INPUTS
    config/sources.yaml, and the files of --configfile or config/config.yaml
"""

import importlib
import json
import os
import re
import shlex
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from snakemake.utils import update_config

from vocap.config import load, read_files
from vocap.correlation.study import unreached
from vocap.errors import VocapError
from vocap.finetuning.published import ARCHIVES
from vocap.finetuning.settings import input_length, settings_of
from vocap.finetuning.tasks import TASKS, TRAININGS
from vocap.forecast.needs import known_amount, needs_of
from vocap.languages import default_table, read_languages
from vocap.section import words_of
from vocap.stages import STAGES
from vocap.starter.packages import PACKAGES
from vocap.tokenizer_files import CARD, EXPORTED
from vocap.unigram.training_settings import text_words
from vocap.workflow.names import BYTE_PAIR_FILES, FILES, FORMS
from vocap.workflow.names import descent_name, tokenizer_folder, training_name
from vocap.workflow.owner import check_owner
from vocap.workflow.run_plan import LanguageBatch, plan_run
from vocap.workflow.summary import summarize
from vocap.workflow.tuned import studied_model, tuned_model

# Configuration

SOURCES_FILE, DEFAULT_FILE = own_file("config/sources.yaml"), own_file("config/config.yaml")
if IS_MODULE:
    CONFIGFILES = [] if config else [DEFAULT_FILE]
else:
    CONFIGFILES = GIVEN_CONFIGFILES or [DEFAULT_FILE]

# One by one: of two equal keys in a file Snakemake takes the last without a word.
try:
    for path in [SOURCES_FILE, *CONFIGFILES]:
        read_files([path])
except VocapError as error:
    stop(error)

if IS_MODULE:
    # Snakemake reads no `configfile` of a module that was given a configuration.
    given_config = config
    config = read_files([SOURCES_FILE, *CONFIGFILES])
    config["corpora"].setdefault("table", str(default_table()))
    update_config(config, given_config)
else:

    configfile: str(SOURCES_FILE)

    if not GIVEN_CONFIGFILES:

        configfile: str(DEFAULT_FILE)


NOTICES = []
try:
    SETTINGS = load(config, [SOURCES_FILE, *CONFIGFILES])
    TABLE = read_languages(SETTINGS.corpora.table)
    if IS_MAIN and not IS_MODULE:
        # The configuration of a run is recorded in its folder: no other one undoes it by
        # mistake.
        try:
            check_owner(SETTINGS.results, CONFIGFILES)
        except VocapError as error:
            if not DRY_RUN:
                raise
            NOTICES.append(f"a real run stops here: {error}")
    PLAN = plan_run(SETTINGS, dry_run=DRY_RUN, first=IS_MAIN)
    # Clients of remote text read these when they are imported. Every job parses the rules,
    # so that no command line and no log shows them.
    os.environ.update(PLAN.client_variables)
except VocapError as error:
    stop(error)

# A dry run prints them at its end, and the workflow that uses this one as a module if it likes.
NOTICES += PLAN.notices
if IS_MAIN and not DRY_RUN and not IS_MODULE:
    say(NOTICES)

# Where this run writes: <results> and <logs> in the files of a rule, RESULTS in its
# parameters.
RESULTS = SETTINGS.results
LOGS = SETTINGS.logs

# What those that are there were made with, and by which version.
RECORDED, LAST_VERSION = {}, None
if IS_MAIN:
    try:
        RECORDED = {path: made for made in read_parameters(RESULTS) for path in made.outputs}
    except VocapError as error:
        stop(error)
    if Path(RESULTS, VERSION_FILE).is_file():
        LAST_VERSION = Path(RESULTS, VERSION_FILE).read_text("utf-8").strip()


pathvars:
    results=RESULTS,
    logs=LOGS,


# A stage's REVISION is raised by a commit that changes its results: a parameter, so
# that old results are made again.
REVISION = {stage: importlib.import_module(f"vocap.{stage}").REVISION for stage in STAGES}
# of the rule of allocation
REVISION["pieces"] = importlib.import_module("vocap.allocation").PIECES_REVISION
# of samples of text that is read in part
REVISION["parts"] = importlib.import_module("vocap.corpora").PARTS_REVISION

# Languages and their text; {lang} is a language of the starter corpus, whose job serves
# all of them.
LANGUAGES = PLAN.languages
STARTER_TEXT = PLAN.starter_text
SOURCES = dict(PLAN.sources)
for batch in PLAN.batches:
    if batch.together:
        SOURCES["{lang}"] = replace(PLAN.sources[batch.languages[0]], language="{lang}")
PARALLEL_TEXT = PLAN.parallel
DEVELOPMENT_TEXT = PLAN.development

# The exponents of the samples that JOINT is trained on; none where it reads all lines.
JOINT_ALPHAS = {entry.alpha for entry in SETTINGS.tokenizers.values() if entry.kind == "joint"}
SAMPLED_ALPHAS = [] if SETTINGS.corpora.mix.sentences == "all" else sorted(JOINT_ALPHAS)


# Parameters


def options(**values):
    """These values as options of a command, for options that not every job has.

    None and False are left out, True is a flag, a list repeats its option.
    """
    words = []
    for name, value in values.items():
        flag = f"--{name.replace('_', '-')}"
        for item in value if isinstance(value, list) else [value]:
            if item is True:
                words.append(flag)
            elif item is not None and item is not False:
                words.append(f"{flag}={item}")
    return shlex.join(words)


def verbatim(value):
    """A parameter that is this value as it is.

    In strings, and in lists of them, Snakemake replaces {name} by a wildcard.
    """
    return lambda wildcards: value


def run_params(stage, **own):
    """Parameters of every rule, which those of `own` replace.

    `results`: the run's folder; `folder`: that of the first output; `revision`: of the
    stage.
    """
    return {
        "results": verbatim(RESULTS),
        "folder": lambda wildcards, output: Path(output[0]).parent,
        "revision": REVISION[stage],
        **own,
    }


# How text is read, as options of the commands that train on it.
TEXT = SETTINGS.text.settings
TEXT_OPTIONS = verbatim(shlex.join(text_words(TEXT)))

# Special tokens and reserved ids, as words of the commands that lay tokenizers out.
LAYOUT = [f"--layout={SETTINGS.layout.ids().text()}"] if SETTINGS.layout.ids().text() else []
LAYOUT_OPTIONS = verbatim(shlex.join(LAYOUT))

# The text that tokenizers and models are measured on.
PARALLEL_OPTIONS = verbatim(options(parallel=PARALLEL_TEXT.pattern) if PARALLEL_TEXT else "")


# Wildcards


def one_of(names):
    """A wildcard constraint that matches exactly these names, and nothing for none."""
    return "|".join(map(re.escape, names)) or "(?!)"


wildcard_constraints:
    lang=one_of(LANGUAGES),
    size=r"\d+",
    name=r"[A-Za-z0-9][A-Za-z0-9._-]*",


# Jobs of several languages


def each_of(batch):
    """The words that make a command run for each language of a batch.

    They depend on the threads, so Snakemake does not watch them.
    """
    languages = ",".join(batch.languages)
    if batch.together:
        return lambda wildcards, threads: f"each --languages {languages} --threads {threads}"
    return ""


def language_of(wildcards):
    """The language of a job, or {lang}, for which `vocap each` puts each of several."""
    return wildcards.get("lang", "{lang}")


# Resources: memory and time

# that asks for more: a long training is submitted again many times, for its time limit
HIGHEST_ATTEMPT = 3
# the two Snakemakes that start a cluster job's command; SLURM counts them as the job's
# memory
SNAKEMAKE_MB = 350
# nodes differ, and are shared
MEASURED_TIMES = 20


def needs(rule, minutes=30):
    """The memory of a rule, by the table that `vocap plan` reads, and many times its time.

    As much again with each retry. `minutes`: in any case; a training or a slow network
    needs more than the table knows.
    """
    row = needs_of(rule)

    def asked(need, fixed, factor=1):
        def of(wildcards, input, attempt):
            def amount(name):
                if name == "text":  # counts are of the text beside them
                    sizes = zip(input, input.size_files_mb)
                    return sum(size for file, size in sizes if not file.endswith("counts.npy"))
                return known_amount(name, rule, dict(wildcards.items()), SETTINGS)

            return int(min(attempt, HIGHEST_ATTEMPT) * (fixed + factor * need(amount)))

        return of

    return {
        "mem_mb": asked(partial(row.memory, SETTINGS.memory), SNAKEMAKE_MB),
        "runtime": asked(row.seconds.of, minutes, MEASURED_TIMES / 60),
    }


# The counts of all languages, and the option that names them: {lang} stands for each.
COUNTS = expand("<results>/corpora/{lang}/counts.npy", lang=LANGUAGES)
COUNTS_OPTION = options(counts=f"{RESULTS}/corpora/{{lang}}/counts.npy")

# The limit of memory as an option: a resource, so that another one makes nothing again.
MEMORY = options(memory=SETTINGS.memory)

# Functions of single stages: Snakemake's linter wants none beside rules.

# corpora


def sample_revision(wildcards):
    """The revision of a sample, where text may be read in part also that of parts."""
    if SETTINGS.corpora.scan_bytes or language_of(wildcards) in LISTED["corpora"]:
        return REVISION["corpora"], REVISION["parts"]
    return REVISION["corpora"]


def sample_options(wildcards):
    """The settings of a sample as options."""
    limits = ("max_sentences", "max_characters", "scan_bytes")
    given = {name: getattr(SETTINGS.corpora, name) for name in limits}
    found = SOURCES[language_of(wildcards)]
    return shlex.join(words_of(found.sampling(**given, seed=SETTINGS.seed)))


# tokenizers


def made_of(folder):
    """T of the tokenizers that a training has made in its folder."""
    return {int(path.name) for path in Path(RESULTS, "tokenizers", folder).glob("[0-9]*")}


def joint_of(folder, total):
    """Where a descent has a T: one that was asked for, else a point of its curve."""
    folder, point = f"{RESULTS}/tokenizers/{folder}", f"points/{total}"
    is_point = not Path(folder, str(total)).exists() and Path(folder, point).exists()
    return f"{folder}/{point if is_point else total}"


def larger_than(folder, total):
    """The T that byte-pair encoding of a smaller T is cut from; none where that was made."""
    made = made_of(folder)
    return max(made) if made and total not in made and total < max(made) else None


def totals_of(folder, entries, trainings, is_there):
    """T of the tokenizers of one training, as options.

    Those in its folder too: a T that is removed from the configuration makes nothing
    again. Not those that it gives without another training (`is_there`).
    """
    asked = {
        entries[name].total for name, training in trainings.items() if training == Path(folder).name
    }
    return options(
        total=sorted(made_of(folder) | {total for total in asked if not is_there(folder, total)})
    )


def once(made, shared):
    """What several results are made from, as input: its age is ignored where `made` is there."""
    return ancient(shared) if Path(RESULTS, made).exists() else shared


# pretraining


def recipe_json(recipe):
    """Settings of pre-training as JSON, without those that do not change the result."""
    settings = recipe.model_dump(
        mode="json", exclude={"tokenizer", "checkpoint_every"}, exclude_defaults=True
    )
    loss = {"kind": recipe.loss.kind, **recipe.loss.model_dump(mode="json", exclude_defaults=True)}
    return json.dumps({**settings, "loss": loss})


# finetuning


def xtreme_of(place):
    """The XTREME folder of a model or of inputs; a language of the study has its own."""
    stage, lang, *_ = place.split("/")
    return f"{RESULTS}/{stage}/{lang}/xtreme" if stage == "correlation" else str(PLAN.grid.xtreme)


def runs_of(wildcards):
    """The runs of a model on the training of a task, by rates, epochs and seeds."""
    study = wildcards.tuned.startswith("correlation/")
    seeds = SETTINGS.correlation.seeds if study else SETTINGS.finetuning.seeds
    training = TASKS[wildcards.task].training
    runs = settings_of(SETTINGS.finetuning.recipes[training], seeds)
    return [f"{RESULTS}/{wildcards.tuned}/{training}/runs/{run.name}/run.json" for run in runs]


def studied_vocabularies():
    """(language, size) of the vocabularies that there are.

    A dry run that does not know the curves takes all.
    """
    study, sizes = PLAN.study, SETTINGS.correlation.sizes
    if study.languages and not DRY_RUN and IS_MAIN:
        checkpoints.studied_sizes.get()  # Snakemake asks again when it knows them
    holes = unreached(Path(RESULTS, "vocabularies"), study.languages, sizes)
    return [
        (lang, size)
        for lang in study.languages
        for size in sizes
        if size not in holes.get(lang, ())
    ]
