"""The checked configuration, and what several stages ask of it."""

import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

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
from vocap.corpora.sources import resolve_all
from vocap.corpora.starter.packages import PACKAGES
from vocap.correlation.planning import plan_study
from vocap.correlation.sizes import holes, read_sizes
from vocap.errors import VocapError
from vocap.files import check_output_folder, check_temporary_folder
from vocap.finetuning.datasets import keys_of
from vocap.finetuning.grid import input_length, longest_of, make_grid, run_folder, settings_of
from vocap.finetuning.published import ARCHIVES, collection_of
from vocap.model_folder import CONFIG
from vocap.finetuning.tasks import TASKS, TRAININGS
from vocap.languages import read_languages
from vocap.pretraining.memory import count_parameters
from vocap.summary import summarize
from vocap.tokenizers.descents import FILES, descent_name, group_by_descent, joint_folder, sampled_alphas
from vocap.tokenizers.diff.pairs import compared_pairs
from vocap.tokenizers.settings import EXPORTED

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

SIZES = SETTINGS.vocabularies.sizes
SAMPLED_ALPHAS = sampled_alphas(SETTINGS.corpora.mix, SETTINGS.tokenizers, SETTINGS.allocation)
STARTER_TEXT = f"{RESULTS}/corpora/starter/text"


def options(**values):
    """Command-line options of these values: None and False are left out, True is a flag, a list repeats its option."""
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


# A job of this workflow that Snakemake itself started, on a cluster's node.
STARTED_BY_SNAKEMAKE = "--mode" in sys.argv


NOTICES = []  # of a dry run: printed at its end


def notice(line):
    """Say something of this run on the terminal, once; the jobs that Snakemake starts stay quiet."""
    if dry_run():
        NOTICES.append(line)
    elif not STARTED_BY_SNAKEMAKE:
        print(line, file=sys.stderr)


def left_out(what, why):
    """Say what this run goes without."""
    notice(f"left out: {what}: {why}")


def downloaded(name):
    """Where an entry of `downloads` is fetched to; the name of the file stays, since it says what it is."""
    return f"{RESULTS}/corpora/files/{name}/{SETTINGS.downloads[name].name}"


def absent_tokenizer(name):
    """Whether the tokenizer is a FILE baseline that its user may bring later, which a dry run takes as there."""
    entry = SETTINGS.tokenizers[name]
    return entry.kind == "file" and entry.path is not None and not (Path(entry.path).exists() or dry_run())


def if_there(path):
    """An input that its user brings: a dry run plans without it."""
    return [] if dry_run() and not Path(path).exists() else path


def tokenizers_of(*kinds):
    """The names of the configured tokenizers of these kinds, those that can be made."""
    return [
        name for name, entry in SETTINGS.tokenizers.items() if entry.kind in kinds and not absent_tokenizer(name)
    ]


def dry_run():
    """Whether Snakemake was called with -n, or to draw its jobs; it knows that only after it has read this file."""
    shown = r"--dry-?run|-[a-zA-Z]*n[a-zA-Z]*|--(dag|rulegraph|filegraph|d3dag)(=.*)?"
    return any(re.fullmatch(shown, word) for word in sys.argv[1:])


def absent_text(lang):
    """The paths and patterns of a language without a file, to pre-train on too."""
    absent = SOURCES[lang].absent + (PRETRAINING_SOURCES[lang].absent if PRETRAINING_SOURCES else [])
    return list(dict.fromkeys(absent))


if not dry_run() and not STARTED_BY_SNAKEMAKE:
    try:
        for folder in (RESULTS, LOGS):
            check_output_folder(folder)
        check_temporary_folder()
    except VocapError as error:
        stop(error)

if absent := [lang for lang in SOURCES if absent_text(lang)]:
    missing = [f"{lang}: no file {path}" for lang in absent for path in absent_text(lang)]
    remedy = "put it there, correct corpora.sources, or leave the language out of `languages`"
    if not dry_run():
        stop("\n  ".join([f"corpus files are missing; {remedy}:", *missing]))
    for line in missing:
        left_out(f"language {line}", f"a real run stops here; {remedy}")
    SOURCES = {lang: source for lang, source in SOURCES.items() if lang not in absent}

LANGUAGES = list(SOURCES)

# The packages are searched once, for the languages of the table; to search again is to train all again.
late = [lang for lang in LANGUAGES if SOURCES[lang].starter and not Path(STARTER_TEXT, f"{lang}.txt").exists()]
if late and Path(STARTER_TEXT).exists():
    stop(
        f"the starter corpus was made before {SETTINGS.corpora.table} had {', '.join(late)}; give them a source of their own "
        f"under corpora.languages, or delete {STARTER_TEXT} and {RESULTS}/corpora/starter/messages to make it again"
    )

for name, entry in SETTINGS.tokenizers.items():
    if absent_tokenizer(name):
        left_out(
            f"tokenizer {name}",
            f"no file {entry.path}; bring it, or change tokenizers.{name}.path",
        )


if (pattern := SETTINGS.corpora.parallel) and not any(
    Path(pattern.replace("{lang}", lang)).exists() for lang in LANGUAGES
):
    stop(f"corpora.parallel: no language has a file {pattern}; correct the path, or remove the key")


def one_of(names):
    """A wildcard constraint that matches exactly these names (and nothing where there are none)."""
    return "|".join(map(re.escape, names)) or "(?!)"


wildcard_constraints:
    lang=one_of(LANGUAGES),
    size=r"\d+",
    name=r"[A-Za-z0-9][A-Za-z0-9._-]*",
