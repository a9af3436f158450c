"""The checked configuration, and what several stages ask of it."""

import re
import shlex
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

import vocap.allocation
import vocap.corpora
import vocap.report
import vocap.tokenizers
import vocap.vocabularies
from vocap.config import load
from vocap.corpora.sources import resolve_all
from vocap.errors import VocapError

try:
    SETTINGS = load(config)
    SOURCES = resolve_all(SETTINGS.corpora, SETTINGS.selected())
except VocapError as error:
    raise WorkflowError(str(error)) from None

# A stage's REVISION is raised by a commit that changes its results: a parameter, so that old results are made again.
REVISION = {
    stage.__name__.removeprefix("vocap."): stage.REVISION
    for stage in (
        vocap.corpora,
        vocap.vocabularies,
        vocap.allocation,
        vocap.tokenizers,
        vocap.report,
    )
}

LANGUAGES = list(SOURCES)
SIZES = SETTINGS.vocabularies.sizes

ABSENT = [
    f"  {lang}: {path}, of corpora.sources.{source.name}.path"
    for lang, source in SOURCES.items()
    for path in source.paths
    if not Path(path).exists()
]
if ABSENT:
    raise WorkflowError(
        "corpus files are missing; put them there, correct the path, or leave the language out of `languages`:\n"
        + "\n".join(ABSENT)
    )


def options(**values):
    """Command-line options of these values: None and False are left out, True is a flag, a list repeats its option."""
    words = []
    for name, value in values.items():
        flag = "--" + name.replace("_", "-")
        for item in value if isinstance(value, list) else [value]:
            if item is True:
                words.append(flag)
            elif item is not None and item is not False:
                words.append(f"{flag}={item}")
    return shlex.join(words)


def left_out(what, why):
    """Say on the terminal, once, what this run goes without; the jobs that Snakemake starts stay quiet."""
    if "--mode" not in sys.argv:
        print(f"left out: {what}: {why}", file=sys.stderr)


def absent_tokenizer(name):
    """Whether the tokenizer is a FILE baseline whose path is not there (its user may bring it later)."""
    entry = SETTINGS.tokenizers[name]
    return entry.kind == "file" and not Path(entry.path).exists()


def tokenizers_of(*kinds):
    """The names of the configured tokenizers of these kinds, those that can be made."""
    return [
        name for name, entry in SETTINGS.tokenizers.items() if entry.kind in kinds and not absent_tokenizer(name)
    ]


for name, entry in SETTINGS.tokenizers.items():
    if absent_tokenizer(name):
        left_out(
            f"tokenizer {name}",
            f"no file {entry.path}; bring it, or change tokenizers.{name}.path",
        )


def one_of(names):
    """A wildcard constraint that matches exactly these names (and nothing where there are none)."""
    return "|".join(map(re.escape, names)) or "(?!)"


wildcard_constraints:
    lang=one_of(LANGUAGES),
    size=r"\d+",
    name=r"[A-Za-z0-9][A-Za-z0-9._-]*",
