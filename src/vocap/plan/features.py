"""The features of jobs, which decide their cost: one function for each rule.

A new rule needs a function here or in `training.py`, and coefficients in `costs.yaml`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from vocap.config import Settings
from vocap.errors import UsageError
from vocap.finetuning.grid import Grid
from vocap.plan.jobs import Job
from vocap.plan.texts import MB, Text
from vocap.tokenizers.parity import lines_of_each
from vocap.tokenizers.settings import File, Joint


@dataclass(frozen=True)
class Inputs:
    """The data that features are computed from.

    `texts`: of the run's languages; `read`: those of pre-training; `reached`: the sizes that each language's text
    is expected to give; `gpu`: models are trained on a GPU.
    """

    settings: Settings
    texts: Mapping[str, Text]
    read: Mapping[str, Text]
    reached: Mapping[str, Sequence[int]]
    grid: Grid
    gpu: bool
    sizes: dict[tuple, dict] = field(default_factory=dict)  # of XTREME's files, computed at their first use

    @cached_property
    def compared_klines(self) -> float:
        """Thousands of lines that parity compares."""
        return sum(min(text.kept, lines_of_each(len(self.texts))) for text in self.texts.values()) / 1000

    @cached_property
    def heldout_mb(self) -> float:
        return sum(text.heldout_mb for text in self.texts.values())

    @cached_property
    def train_mb(self) -> float:
        return sum(text.train_mb for text in self.texts.values())

    @cached_property
    def mix_mb(self) -> float:
        """Megabytes of the multilingual text: all training lines, or a sample of lines of mean length."""
        sentences = self.settings.corpora.mix.sentences
        if sentences == "all" or not self.texts:
            return self.train_mb
        return sentences * sum(text.line_bytes for text in self.texts.values()) / len(self.texts) / MB


Function = Callable[[Job, Inputs], dict[str, float]]
FEATURES: dict[str, Function] = {}  # by rule of Snakemake
PRICED_AS: dict[str, str] = {}  # rule: the rule whose coefficients it shares


def features(*rules: str, like: str = "") -> Callable[[Function], Function]:
    """Register the function of some rules; `like`: the rule whose coefficients they share, if not their own."""

    def register(function: Function) -> Function:
        FEATURES.update(dict.fromkeys(rules, function))
        PRICED_AS.update({rule: like or rule for rule in rules})
        return function

    return register


def with_features(job: Job, inputs: Inputs, gpus: Mapping[str, int]) -> Job:
    """The job with its features; one that trains on GPUs has one thread, and the GPUs that `gpus` gives its rule.

    Raises UsageError for a rule that has no function.
    """
    if job.rule not in FEATURES:
        raise UsageError(f"vocap plan has no features of the rule {job.rule!r}; add them to vocap.plan.features")
    job = replace(job, features=FEATURES[job.rule](job, inputs), priced_as=PRICED_AS[job.rule])
    return replace(job, threads=1, gpus=gpus.get(job.rule, 1)) if job.features.get("gpu") else job


@features("fetch_starter", "extract_starter", "merge_starter")
def _packages(job: Job, inputs: Inputs) -> dict[str, float]:
    one = job.wildcards.get("package")
    return {f"package {name}": 1.0 for name in ([one] if one else inputs.settings.corpora.starter.packages)}


@features("fetch_file", like="download")
def _fetch_file(job: Job, inputs: Inputs) -> dict[str, float]:
    return {"stored_mb": (inputs.settings.downloads[job.wildcards["download"]].bytes or 0) / MB}


@features("download", "sample", "ladder", "curve", "train")
def _language(job: Job, inputs: Inputs) -> dict[str, float]:
    """One language's text, the sizes asked for, and the pieces of those that its text gives."""
    text, reached = inputs.texts[job.wildcards["lang"]], inputs.reached[job.wildcards["lang"]]
    size = int(job.wildcards.get("size", 0))
    return {
        "stored_mb": text.stored_mb,
        "read_mb": text.read_mb,
        "kept_mb": text.kept * text.line_bytes / MB,
        "kept_klines": text.kept / 1000,
        "train_mb": text.train_mb,
        "train_mchars": text.train_mchars,
        "reached_mchars": len(reached) * text.train_mchars,
        "points": len(inputs.settings.vocabularies.sizes),
        "pieces_k": sum(reached) / 1000,
        "size_k": size / 1000 if size in reached else 0.0,
    }


@features("weigh", "mix", "joint_descent", "bpe_training", "report")
def _all_languages(job: Job, inputs: Inputs) -> dict[str, float]:
    """The text of all languages together, and the points and cells of their results."""
    settings, count = inputs.settings, len(inputs.texts)
    return {
        "languages": count,
        "train_mb": inputs.train_mb,
        "heldout_mb": inputs.heldout_mb,
        "mix_mb": inputs.mix_mb,
        "total_k": _trained_totals(job, settings) / 1000,
        "points": count * len(settings.vocabularies.sizes),
        "cells": count * (len(settings.allocation) + len(settings.tokenizers)),
    }


def _trained_totals(job: Job, settings: Settings) -> int:
    """T of the tokenizers that one job trains: the sum of a descent, or the largest of byte-pair encoding."""
    alpha = job.wildcards.get("descent", "").partition("-")[0]
    kind = job.wildcards.get("training", "").rpartition("-")[0]
    entries = settings.tokenizers.values()
    joint = {entry.total for entry in entries if isinstance(entry, Joint) and str(entry.alpha) == alpha}
    return sum(joint) or max((entry.total for entry in entries if entry.kind == kind), default=0)


@features("trunk", "allocate", "allocate_pieces")
def _allocation(job: Job, inputs: Inputs) -> dict[str, float]:
    """Pieces and text of the languages of an allocation."""
    entries = inputs.settings.allocation
    if "name" in job.wildcards:
        entry = entries[job.wildcards["name"]]
    else:
        entry = next(entry for entry in entries.values() if entry.trunk == job.wildcards["trunk"])
    taking = [lang for lang in inputs.texts if lang not in entry.without]
    train_mb = sum(inputs.texts[lang].train_mb for lang in taking)
    return {
        "pieces_k": sum(sum(inputs.reached[lang]) for lang in taking) / 1000,
        "train_mb": train_mb,
        "again_mb": train_mb if entry.token_fairness and job.rule != "trunk" else 0.0,
        "total_k": entry.total / 1000,
    }


@features("fit", "pick_joint", "pick_bpe", "mono", "export", "export_bpe", "evaluate", "diff")
def _tokenizer(job: Job, inputs: Inputs) -> dict[str, float]:
    name = job.wildcards.get("name", job.wildcards.get("a"))
    entry = inputs.settings.tokenizers.get(name)
    if isinstance(entry, File) and entry.path is not None and Path(entry.path).exists():
        total = Path(entry.path).stat().st_size / 20  # bytes a piece
    else:
        total = inputs.settings.rows(name) if entry else 0
    return {
        "total_k": total / 1000,
        "mix_mb": inputs.mix_mb,
        "compared_klines": inputs.compared_klines,
        "heldout_mb": inputs.heldout_mb,
    }
