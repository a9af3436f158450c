"""The checked configuration, and names that several stages use."""

import importlib
import json
import os
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path

from vocap.config import compared_pairs, load
from vocap.corpora.settings import development_text, evaluation_text, resolve_all
from vocap.correlation.study import plan_study, unreached
from vocap.errors import VocapError, explain
from vocap.finetuning.settings import input_length, make_grid, settings_of
from vocap.finetuning.published import ARCHIVES, collection_of
from vocap.finetuning.tasks import TASKS, TRAININGS
from vocap.languages import read_languages
from vocap.pretraining.settings import count_parameters
from vocap.starter.packages import PACKAGES
from vocap.text_files.named_texts import find_aligned, read_aligned
from vocap.options import text_words
from vocap.tokenizer_files import CARD, EXPORTED
from vocap.workflow import BYTE_PAIR_FILES, FILES, descent_name, training_name
from vocap.workflow import cancel_leftovers, check_owner, prepend_to_path, record_owner
from vocap.workflow import studied_model, summarize, tuned_model

try:
    SETTINGS = load(config, [SOURCES_FILE, *CONFIGFILES])
    SOURCES = resolve_all(SETTINGS.corpora, SETTINGS.selected())
    PRETRAINING_SOURCES = SETTINGS.pretraining_sources()
    TABLE = read_languages(SETTINGS.corpora.table)
except VocapError as error:
    stop(error)

# Where this run writes: <results> and <logs> in the files of a rule, RESULTS in its
# parameters.
RESULTS = SETTINGS.results
LOGS = SETTINGS.logs


pathvars:
    results=RESULTS,
    logs=LOGS,


# A stage's REVISION is raised by a commit that changes its results: a parameter, so
# that old results are made again.
STAGES = (
    "corpora vocabularies allocation tokenizers pretraining finetuning correlation report".split()
)
REVISION = {stage: importlib.import_module(f"vocap.{stage}").REVISION for stage in STAGES}
# of the rule of allocation
REVISION["pieces"] = importlib.import_module("vocap.allocation").PIECES_REVISION

# How text is read, as options of the commands that train on it, and the file of its
# rules, if any.
TEXT = SETTINGS.text.settings
TEXT_OPTIONS = shlex.join(text_words(TEXT))
TEXT_RULES = [TEXT.rules_path] if TEXT.rules_path else []

# The file of the chat template, if any: exports are made again when it changes.
TEMPLATES = (
    [SETTINGS.layout.chat_template] if SETTINGS.layout.chat_template not in (None, "chatml") else []
)

# Special tokens and reserved ids, as words of the commands that lay tokenizers out.
LAYOUT = [f"--layout={SETTINGS.layout.ids().text()}"] if SETTINGS.layout.ids().text() else []

SIZES = SETTINGS.vocabularies.sizes
# The exponents of the samples that JOINT is trained on; none where it reads all lines.
JOINT_ALPHAS = {entry.alpha for entry in SETTINGS.tokenizers.values() if entry.kind == "joint"}
SAMPLED_ALPHAS = [] if SETTINGS.corpora.mix.sentences == "all" else sorted(JOINT_ALPHAS)
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
    stage = "tokenizers" if SETTINGS.tokenizers[name].made else "pretraining/tokenizers"
    return f"{RESULTS}/{stage}/{name}"


def trained_file(name):
    """The file of a tokenizer in its folder: a SentencePiece model, or tokenizer.json."""
    return SETTINGS.tokenizers[name].file


def recipe_json(recipe):
    """Settings of pre-training as JSON, without those that do not change the result."""
    settings = recipe.model_dump(
        mode="json", exclude={"tokenizer", "checkpoint_every"}, exclude_defaults=True
    )
    loss = {"kind": recipe.loss.kind, **recipe.loss.model_dump(mode="json", exclude_defaults=True)}
    return json.dumps({**settings, "loss": loss})


def one_of(names):
    """A wildcard constraint that matches exactly these names (and nothing where there are none)."""
    return "|".join(map(re.escape, names)) or "(?!)"
