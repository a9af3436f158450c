"""The features of jobs, which decide their cost: one function for each rule.

A new rule needs a function here or in `training.py`, and coefficients in `costs.yaml`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from vocap.config import Settings
from vocap.corpora.mixing import BUCKET_BYTES
from vocap.errors import UsageError
from vocap.finetuning.grid import Grid
from vocap.finetuning.selection import DataSet
from vocap.plan.jobs import Job
from vocap.plan.texts import MB, Text
from vocap.tables.sampling_probabilities import line_weights, quotas, sampling_probabilities
from vocap.tokenizer_groups import descent_name, group_by_descent
from vocap.tokenizers.settings import File, Joint, Mono

PARITY_LINES = 10_000  # of a language, as in rules/tokenizers.smk


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
    set_mb: dict[DataSet, float] = field(default_factory=dict)  # of XTREME's sets, computed at their first use

    @cached_property
    def compared_klines(self) -> float:
        """Lines that parity compares."""
        return sum(min(text.kept, max(PARITY_LINES, text.heldout)) for text in self.texts.values()) / 1000

    @cached_property
    def heldout_mb(self) -> float:
        return sum(text.heldout_mb for text in self.texts.values())

    @cached_property
    def train_mb(self) -> float:
        return sum(text.train_mb for text in self.texts.values())


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


@features("download")
def _download(job: Job, inputs: Inputs) -> dict[str, float]:
    return {"stored_mb": inputs.texts[job.wildcards["lang"]].stored_mb}


@features("fetch_file", like="download")
def _fetch_file(job: Job, inputs: Inputs) -> dict[str, float]:
    return {"stored_mb": (inputs.settings.downloads[job.wildcards["download"]].bytes or 0) / MB}


@features("sample")
def _sample(job: Job, inputs: Inputs) -> dict[str, float]:
    text = inputs.texts[job.wildcards["lang"]]
    kept_mb = text.kept * text.line_bytes / MB
    return {"read_mb": text.read_mb, "kept_mb": kept_mb, "kept_klines": text.kept / 1000}


@features("weigh")
def _weigh(job: Job, inputs: Inputs) -> dict[str, float]:
    return {"languages": len(inputs.texts)}


@features("mix")
def _mix(job: Job, inputs: Inputs) -> dict[str, float]:
    mix = mix_mb(inputs, float(job.wildcards["alpha"]))
    largest = max((text.train_mb for text in inputs.texts.values()), default=0.0)
    bucket = min(mix, BUCKET_BYTES / MB)
    return {"mix_mb": mix, "bucket_mb": bucket, "largest_mb": largest, "train_mb": inputs.train_mb}


def mix_mb(inputs: Inputs, alpha: float) -> float:
    """Megabytes of the multilingual text: all training lines, or a sample.

    The ladder reads a line once, SentencePiece as often as its weight. In a sample each language has its share
    (Equation 3) at its lines' mean length.
    """
    settings, texts = inputs.settings, inputs.texts
    whole = settings.corpora.mix.sentences == "all"
    if whole and settings.vocabularies.engine == "ladder":
        return inputs.train_mb
    by = settings.corpora.weights
    if by in ("lines", "bytes"):
        n = [text.lines * (text.line_bytes if by == "bytes" else 1) for text in texts.values()]
    else:
        facts = {language.code: language.facts for language in settings.selected()}
        n = [float(facts[lang][by]) for lang in texts]
    if not any(n):
        return 0.0
    q = sampling_probabilities(n, alpha)
    if whole:
        trained = [max(int(text.kept - text.heldout), 1) for text in texts.values()]
        lines = trained * line_weights(q, trained)
    else:
        lines = quotas(settings.corpora.mix.sentences, q)
    return float(np.dot(lines, [text.line_bytes for text in texts.values()])) / MB


@features("ladder", "curve")
def _vocabularies(job: Job, inputs: Inputs) -> dict[str, float]:
    """The sizes of a language, the pieces of those that its text gives, and that text."""
    text, reached = inputs.texts[job.wildcards["lang"]], inputs.reached[job.wildcards["lang"]]
    return {
        "points": len(inputs.settings.vocabularies.sizes),
        "pieces_k": sum(reached) / 1000,
        "train_mb": text.train_mb,
        "train_mchars": text.train_mchars,
        "reached_mchars": len(reached) * text.train_mchars,
    }


@features("train")
def _train(job: Job, inputs: Inputs) -> dict[str, float]:
    lang, size = job.wildcards["lang"], int(job.wildcards["size"])
    reached = size in inputs.reached[lang]
    return {"train_mchars": inputs.texts[lang].train_mchars, "size_k": size / 1000 * reached}


def _shared_pieces(inputs: Inputs, without: Iterable[str]) -> dict[str, float]:
    """Pieces and text of the languages of an allocation."""
    taking = [lang for lang in inputs.texts if lang not in without]
    return {
        "pieces_k": sum(sum(inputs.reached[lang]) for lang in taking) / 1000,
        "train_mb": sum(inputs.texts[lang].train_mb for lang in taking),
    }


@features("trunk")
def _trunk(job: Job, inputs: Inputs) -> dict[str, float]:
    entries = [entry for entry in inputs.settings.allocation.values() if entry.trunk == job.wildcards["trunk"]]
    return _shared_pieces(inputs, entries[0].without)


@features("allocate", "allocate_pieces")
def _allocate(job: Job, inputs: Inputs) -> dict[str, float]:
    entry = inputs.settings.allocation[job.wildcards["name"]]
    shared = _shared_pieces(inputs, entry.without)
    again = {"again_mb": shared["train_mb"]} if entry.token_fairness else {}
    return {**shared, "total_k": entry.total / 1000, **again}


@features("joint_descent")
def _joint_descent(job: Job, inputs: Inputs) -> dict[str, float]:
    entries = [entry for entry in inputs.settings.tokenizers.values() if isinstance(entry, Joint)]
    group = next(group for group in group_by_descent(entries) if descent_name(group) == job.name)
    total = sum(entry.total for entry in group)
    return {"total_k": total / 1000, "mix_mb": mix_mb(inputs, group[0].alpha), "heldout_mb": inputs.heldout_mb}


@features("bpe_training")
def _bpe_training(job: Job, inputs: Inputs) -> dict[str, float]:
    totals = {int(Path(file).parent.name) for file in job.outputs if file.endswith("tokenizer.json")}
    return {"total_k": max(totals) / 1000, "train_mb": inputs.train_mb}


@features("fit", "joint", "pick_joint", "mono")
def _tokenizer(job: Job, inputs: Inputs) -> dict[str, float]:
    entry = inputs.settings.tokenizers[job.wildcards["name"]]
    if isinstance(entry, Mono):
        return {**_rows(job, inputs), "mix_mb": 0.0}
    shared = entry if isinstance(entry, Joint) else inputs.settings.allocation[entry.allocation]
    return {**_rows(job, inputs), "mix_mb": mix_mb(inputs, shared.alpha)}


@features("export", "card", "pick_bpe", "parity", "parity_words")
def _rows(job: Job, inputs: Inputs) -> dict[str, float]:
    total = inputs.settings.rows(job.wildcards["name"]) if "name" in job.wildcards else 0
    return {"total_k": total / 1000, "compared_klines": inputs.compared_klines}


@features("evaluate")
def _evaluate(job: Job, inputs: Inputs) -> dict[str, float]:
    entry, found = inputs.settings.tokenizers[job.wildcards["name"]], _rows(job, inputs)
    if isinstance(entry, File) and entry.path is not None and Path(entry.path).exists():
        found["total_k"] = Path(entry.path).stat().st_size / 20_000  # 20 bytes a piece
    return {**found, "heldout_mb": inputs.heldout_mb}


@features("diff")
def _diff(job: Job, inputs: Inputs) -> dict[str, float]:
    return {"total_k": inputs.settings.rows(job.wildcards["a"]) / 1000, "heldout_mb": inputs.heldout_mb}


@features("report")
def _report(job: Job, inputs: Inputs) -> dict[str, float]:
    settings, languages = inputs.settings, len(inputs.texts)
    return {
        "points": languages * len(settings.vocabularies.sizes),
        "cells": languages * (len(settings.allocation) + len(settings.tokenizers)),
    }
