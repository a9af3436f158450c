"""The checked configuration, and names that several stages use."""

import json
import os
import re
import shlex
import sys
from pathlib import Path

import vocap.allocation
import vocap.corpora
import vocap.correlation
import vocap.finetuning
import vocap.pretraining
import vocap.report
import vocap.tokenizers
import vocap.vocabularies
from vocap.cluster import cancel_leftovers, prepend_to_path
from vocap.config import load
from vocap.corpora.download import is_gone
from vocap.corpora.parallel_text import development_text, evaluation_text
from vocap.corpora.sources import resolve_all
from vocap.starter.packages import PACKAGES
from vocap.correlation.planning import plan_study
from vocap.correlation.points import reached_sizes
from vocap.errors import VocapError
from vocap.files.atomic import check_output_folder, check_temporary_folder
from vocap.finetuning.selection import keys_of
from vocap.finetuning.grid import input_length, make_grid, run_folder, settings_of
from vocap.finetuning.published import ARCHIVES, collection_of
from vocap.finetuning.tasks import TASKS, TRAININGS
from vocap.languages import read_languages
from vocap.pretraining.memory import count_parameters
from vocap.results_folder import check_owner, record_owner, summarize
from vocap.text_files.aligned import check_files, find_aligned
from vocap.text_options import text_words
from vocap.tuned_models import tuned_model
from vocap.tokenizer_groups import (
    BYTE_PAIR_FILES,
    FILES,
    compared_pairs,
    descent_name,
    group_by_descent,
    joint_folder,
    sampled_alphas,
    training_folder,
)
from vocap.tokenizer_files import CARD, EXPORTED

try:
    SETTINGS = load(config)
    SOURCES = resolve_all(SETTINGS.corpora, SETTINGS.selected())
    PRETRAINING_SOURCES = SETTINGS.pretraining_sources()
    TABLE = read_languages(SETTINGS.corpora.table)
except VocapError as error:
    stop(error)

# Where this run writes: <results> and <logs> in the files of a rule, RESULTS in its parameters.
RESULTS = SETTINGS.results
LOGS = SETTINGS.logs


pathvars:
    results=RESULTS,
    logs=LOGS,


# A stage's REVISION is raised by a commit that changes its results: a parameter, so that old results are made again.
REVISION = {
    stage.__name__.removeprefix("vocap."): stage.REVISION
    for stage in (
        vocap.corpora,
        vocap.vocabularies,
        vocap.allocation,
        vocap.tokenizers,
        vocap.pretraining,
        vocap.finetuning,
        vocap.correlation,
        vocap.report,
    )
}
REVISION["pieces"] = vocap.allocation.PIECES_REVISION  # of the rule of allocation

# How text is read, as options of the commands that train on it, and the file of its rules, if any.
TEXT = SETTINGS.text.settings
TEXT_OPTIONS = shlex.join(text_words(TEXT))
TEXT_RULES = [TEXT.rule_file] if TEXT.rule_file else []

# Special tokens and reserved ids, as words of the commands that lay tokenizers out.
LAYOUT = [f"--layout={SETTINGS.layout.ids().text()}"] if SETTINGS.layout.ids().text() else []

SIZES = SETTINGS.vocabularies.sizes
SAMPLED_ALPHAS = sampled_alphas(SETTINGS.corpora.mix, SETTINGS.tokenizers, SETTINGS.allocation)
STARTER_TEXT = f"{RESULTS}/corpora/starter/text"


def options(**values):
    """Command-line options of these values: None and False are left out, True is a flag, a list repeats its option.

    For options that not every job has; the others are words of the rule's shell line, and nested settings one word of JSON.
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
    """A parameter that is this value as it is: in strings and lists of them Snakemake replaces {name} by a wildcard."""
    return lambda wildcards: value


DRY_RUN = workflow.output_settings.dryrun
NOTICES = []  # of a dry run: printed at its end


def notice(line):
    """Print a line on this run, once; the jobs that Snakemake starts print none."""
    if DRY_RUN:
        NOTICES.append(line)
    elif workflow.is_main_process:
        print(line, file=sys.stderr)


def left_out(what, why):
    """Name a part of the configuration that does not run."""
    notice(f"left out: {what}: {why}")


def downloaded(name):
    """Where an entry of `downloads` is fetched to; the file keeps its name, which tells its format."""
    return f"{RESULTS}/corpora/files/{name}/{SETTINGS.downloads[name].name}"


def tokenizer_folder(name):
    """The folder of a tokenizer in the layout that models are trained with."""
    stage = "pretraining/tokenizers" if SETTINGS.tokenizers[name].kind == "file" else "tokenizers"
    return f"{RESULTS}/{stage}/{name}"


def trained_file(name):
    """The file of a tokenizer in its folder: a SentencePiece model, or tokenizer.json."""
    return SETTINGS.tokenizers[name].file


def tokenizer_file(name):
    """The same of a tokenizer that this run makes, with its path."""
    return f"{RESULTS}/tokenizers/{name}/{trained_file(name)}"


def recipe_json(recipe):
    """Settings of pre-training as JSON, without those that do not change the result."""
    settings = recipe.model_dump(mode="json", exclude={"tokenizer", "checkpoint_every"}, exclude_defaults=True)
    loss = {"kind": recipe.loss.kind, **recipe.loss.model_dump(mode="json", exclude_defaults=True)}
    return json.dumps({**settings, "loss": loss})


def absent_tokenizer(name):
    """Whether the tokenizer is a FILE baseline that its user may bring later, which a dry run takes as there."""
    entry = SETTINGS.tokenizers[name]
    return entry.kind == "file" and entry.path is not None and not (Path(entry.path).exists() or DRY_RUN)


def if_there(path):
    """An input that its user brings: a dry run plans without it."""
    return [] if DRY_RUN and not Path(path).exists() else path


def source_file(name):
    """The file of a tokenizer from elsewhere: its user's, or a download."""
    entry = SETTINGS.tokenizers[name]
    return if_there(entry.path) if entry.path else downloaded(entry.download)


def tokenizers_of(*kinds):
    """The names of the configured tokenizers of these kinds, those that can be made."""
    return [
        name for name, entry in SETTINGS.tokenizers.items() if entry.kind in kinds and not absent_tokenizer(name)
    ]


def absent_text(lang):
    """The paths and patterns of a language without a file, to pre-train on too."""
    absent = SOURCES[lang].absent + (PRETRAINING_SOURCES[lang].absent if PRETRAINING_SOURCES else [])
    return list(dict.fromkeys(absent))


if not DRY_RUN and workflow.is_main_process:
    try:
        for folder in (RESULTS, LOGS):
            check_output_folder(folder)
        check_temporary_folder()
    except VocapError as error:
        stop(error)

# The configuration of a run is recorded in its folder: no other one undoes it by mistake.
if workflow.is_main_process:
    try:
        check_owner(RESULTS, CONFIGFILES)
    except VocapError as error:
        if not DRY_RUN:
            stop(error)
        notice(f"a real run stops here: {error}")


if absent := [lang for lang in SOURCES if absent_text(lang)]:
    missing = [f"{lang}: no file {path}" for lang in absent for path in absent_text(lang)]
    remedy = "put it there, correct corpora.sources, or leave the language out of `languages`"
    if not DRY_RUN:
        stop("\n  ".join([f"corpus files are missing; {remedy}:", *missing]))
    for line in missing:
        left_out(f"language {line}", f"a real run stops here; {remedy}")
    SOURCES = {lang: source for lang, source in SOURCES.items() if lang not in absent}

LANGUAGES = list(SOURCES)

for name, entry in SETTINGS.tokenizers.items():
    if absent_tokenizer(name):
        left_out(
            f"tokenizer {name}",
            f"no file {entry.path}; bring it, or change tokenizers.{name}.path",
        )


# Parallel text, if any: a notice says which, as that depends on more than the configuration.
FROM_STARTER = all(source.inputs(RESULTS) == [STARTER_TEXT] for source in SOURCES.values())
try:
    STARTER_FOLDER = STARTER_TEXT if FROM_STARTER else None
    PARALLEL_TEXT = evaluation_text(SETTINGS.corpora, LANGUAGES, STARTER_FOLDER, os.environ)
    DEVELOPMENT_TEXT = development_text(SETTINGS.corpora, STARTER_FOLDER)
except VocapError as error:
    stop(error)

for key, text in (("parallel", PARALLEL_TEXT), ("development", DEVELOPMENT_TEXT)):
    if text and not text.folder and workflow.is_main_process:
        try:
            (find_aligned if DRY_RUN else check_files)(text.pattern, LANGUAGES)
        except VocapError as error:
            stop(f"corpora.{key}: {error}")
if PARALLEL_TEXT and FROM_STARTER:
    notice(f"parallel text for evaluation: {PARALLEL_TEXT.name}")


def one_of(names):
    """A wildcard constraint that matches exactly these names (and nothing where there are none)."""
    return "|".join(map(re.escape, names)) or "(?!)"


wildcard_constraints:
    lang=one_of(LANGUAGES),
    size=r"\d+",
    name=r"[A-Za-z0-9][A-Za-z0-9._-]*",
