"""The definition of a tokenizer.json with fewer tokens, or with more: every id in it follows."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from vocap.bpe.model_file import BpeFile
from vocap.errors import VocapError


def keep_tokens(read: BpeFile, tokens: Sequence[int], rows: Sequence[int]) -> dict[str, Any]:
    """The definition with these tokens (ascending ids) and merges (ascending rows) alone; ids are places in it.

    Normaliser, pre-tokeniser and decoder stay as they are. Raises VocapError for a post-processor that is not of
    `tokenizers`, and for special or added tokens that are not among `tokens`.
    """
    number = {old: new for new, old in enumerate(tokens)}
    if lost := sorted((read.special | read.added) - number.keys()):
        raise VocapError(f"{read.path}: the added token {read.tokens[lost[0]]!r} must stay; keep it")
    changed = _copy(read)
    model = changed["model"]
    model["vocab"] = {token: number[old] for token, old in model["vocab"].items() if old in number}
    model["merges"] = [_names(read, row) for row in rows]
    for entry in changed.get("added_tokens") or ():
        entry["id"] = number[entry["id"]]
    if changed.get("padding"):
        changed["padding"]["pad_id"] = number.get(changed["padding"]["pad_id"], 0)
    if changed.get("post_processor"):
        _renumber(changed["post_processor"], number, read)
    return changed


def append_tokens(read: BpeFile, tokens: Sequence[str], merges: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The definition with these tokens behind all others, and with these merges after all others.

    Added tokens become rows of the vocabulary too: without one, a library would give them ids behind the new ones.
    """
    changed = _copy(read)
    model = changed["model"]
    for entry in changed.get("added_tokens") or ():
        model["vocab"].setdefault(entry["content"], entry["id"])
    model["vocab"] |= {token: number for number, token in enumerate(tokens, start=len(read.tokens))}
    model["merges"] = [_names(read, row) for row in range(len(read.merges))] + [list(pair) for pair in merges]
    return changed


def _copy(read: BpeFile) -> dict[str, Any]:
    model = read.definition["model"]
    rest = deepcopy({key: value for key, value in read.definition.items() if key != "model"})
    kept = {key: value for key, value in model.items() if key not in ("vocab", "merges")}
    copied = {**read.definition, **rest}
    copied["model"] = {**kept, "vocab": dict(model["vocab"]), "merges": []}
    return copied


def _names(read: BpeFile, row: int) -> list[str]:
    return [read.tokens[number] for number in read.merges[row, :2].tolist()]


def _renumber(step: dict[str, Any], number: Mapping[int, int], read: BpeFile) -> None:
    """Replace the ids of a post-processor, in place."""
    kind = step.get("type")
    try:
        if kind == "Sequence":
            for inner in step["processors"]:
                _renumber(inner, number, read)
        elif kind == "TemplateProcessing":
            for entry in step["special_tokens"].values():
                entry["ids"] = [number[old] for old in entry["ids"]]
        elif kind in ("BertProcessing", "RobertaProcessing"):
            for side in ("sep", "cls"):
                step[side] = [step[side][0], number[step[side][1]]]
        elif kind != "ByteLevel":
            raise VocapError(f"{read.path}: a post-processor of type {kind} is not known here; leave it out")
    except KeyError as error:
        raise VocapError(
            f"{read.path}: its post-processor names {error}, which is no id of a special token; correct it"
        ) from None
