"""Groups of the configured tokenizers: those of one sample, those of one training, and the pairs to compare."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from vocap.allocation.settings import Allocation
from vocap.corpora.settings import Mix
from vocap.tokenizers.settings import BytePair, Joint, Kind, Vocap

FILES = ("sentencepiece.model", "pieces.tsv", "description.json")  # of a unigram tokenizer's folder
BYTE_PAIR_FILES = (BytePair.file, "tokenizer_config.json", *FILES[1:])


def sampled_alphas(mix: Mix, tokenizers: Mapping[str, Kind], allocations: Mapping[str, Allocation]) -> list[str]:
    """The exponents, as written in file names, of the samples that tokenizers read; none where all lines are."""
    if mix.sentences == "all":
        return []
    joint = {entry.alpha for entry in tokenizers.values() if isinstance(entry, Joint)}
    vocap = {allocations[entry.allocation].alpha for entry in tokenizers.values() if isinstance(entry, Vocap)}
    return [str(alpha) for alpha in sorted(joint | vocap)]


def joint_folder(entry: Joint, *further: object) -> str:
    """Below the results: a folder for all that share settings but T, in it one for each T.

    `further`: settings outside of the entry that decide its content.
    """
    own = [entry.byte_fallback, entry.user_defined_symbols]
    settings = json.dumps([*([False, []] if own == [None, None] else own), *further])
    extra = "" if settings == "[false, []]" else f"-{hashlib.sha256(settings.encode()).hexdigest()[:12]}"
    return f"tokenizers/.joint/{entry.alpha}{extra}/{entry.total}"


def group_by_descent(entries: Iterable[Joint]) -> list[list[Joint]]:
    """The entries that share settings, one for each T."""
    groups: dict[str, dict[int, Joint]] = {}
    for entry in entries:
        groups.setdefault(str(Path(joint_folder(entry)).parent), {})[entry.total] = entry
    return [[group[total] for total in sorted(group)] for group in groups.values()]


def descent_name(group: list[Joint]) -> str:
    """A name for the log of the descent that gives these entries."""
    return "-".join([str(Path(joint_folder(group[0])).parent), *(str(entry.total) for entry in group)])


def training_folder(entry: BytePair, *further: object) -> str:
    """Below the results: as `joint_folder`, of byte-pair encoding.

    Weights that follow parallel text depend on T, so it is one of their settings.
    """
    own = entry.model_dump(exclude=set() if getattr(entry, "fairness", 0) else {"total"})
    settings = json.dumps([own, *further], sort_keys=True)
    return f"tokenizers/.bpe/{entry.kind}-{hashlib.sha256(settings.encode()).hexdigest()[:12]}/{entry.total}"


def compared_pairs(tokenizers: Mapping[str, Kind], allocations: Mapping[str, Allocation]) -> list[tuple[str, str]]:
    """Names of A and B, smallest T first, then in the order of `tokenizers`.

    A: the first JOINT tokenizer of its T. B: of each rule of allocation, the first VOCAP tokenizer of that T. Each
    comparison takes about 10 s at T = 100,000 and 86 languages, so further ones are left to `vocap diff`.
    """
    joint: dict[int, str] = {}
    chosen: dict[tuple[int, str], str] = {}
    for name, entry in tokenizers.items():
        if isinstance(entry, Joint):
            joint.setdefault(entry.total, name)
        elif isinstance(entry, Vocap):
            allocation = allocations[entry.allocation]
            chosen.setdefault((allocation.total, allocation.rule), name)
    pairs = [(total, joint[total], b) for (total, _), b in chosen.items() if total in joint]
    return [(a, b) for _, a, b in sorted(pairs, key=lambda pair: pair[0])]
