"""Which JOINT tokenizers share a descent, and where a workflow keeps them until each has taken its name."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from vocap.tokenizers.settings import Joint

FILES = ("sentencepiece.model", "pieces.tsv", "description.json")  # of any tokenizer's folder


def joint_folder(entry: Joint) -> str:
    """Below the results: a folder for all that share settings but T, in it one for each T."""
    settings = json.dumps([entry.byte_fallback, entry.user_defined_symbols])
    shared = hashlib.sha256(settings.encode()).hexdigest()[:12] if settings != "[false, []]" else "plain"
    return f"tokenizers/.joint/{shared}/{entry.total}"


def group_by_descent(entries: Iterable[Joint]) -> list[list[Joint]]:
    """The entries that share settings, one for each T."""
    groups: dict[str, dict[int, Joint]] = {}
    for entry in entries:
        groups.setdefault(str(Path(joint_folder(entry)).parent), {})[entry.total] = entry
    return [[group[total] for total in sorted(group)] for group in groups.values()]


def descent_name(group: list[Joint]) -> str:
    """A name for the log of the descent that gives these entries."""
    return "-".join([str(Path(joint_folder(group[0])).parent), *(str(entry.total) for entry in group)])
