"""Which JOINT tokenizers share a descent, and where a workflow keeps them until each has taken its name."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from vocap.allocation.settings import Allocation
from vocap.corpora.settings import Mix
from vocap.tokenizers.settings import Joint, Tokenizer, Vocap

FILES = ("sentencepiece.model", "pieces.tsv", "description.json")  # of any tokenizer's folder


def sampled_alphas(
    mix: Mix, tokenizers: Mapping[str, Tokenizer], allocations: Mapping[str, Allocation]
) -> list[str]:
    """The exponents, as written in file names, of the samples that tokenizers read; none where all lines are."""
    if mix.sentences == "all":
        return []
    joint = {entry.alpha for entry in tokenizers.values() if isinstance(entry, Joint)}
    vocap = {allocations[entry.allocation].alpha for entry in tokenizers.values() if isinstance(entry, Vocap)}
    return [str(alpha) for alpha in sorted(joint | vocap)]


def joint_folder(entry: Joint) -> str:
    """Below the results: a folder for all that share settings but T, in it one for each T."""
    settings = json.dumps([entry.byte_fallback, entry.user_defined_symbols])
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
