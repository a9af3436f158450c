"""A tokenizer.json of byte-pair encoding, read and checked: its tokens, its merges, its special tokens."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from vocap.errors import VocapError
from vocap.files.json_object import read_object
from vocap.tokenizer_files.encoders import is_json, refusals, roles_of


@dataclass(frozen=True)
class BpeFile:
    """`definition`: the content of the file. `tokens` by id, V of them; `merges` int32 [M, 3] as ids.

    `special`: ids of special tokens, which text is not encoded as; `added`: those of other added tokens, whose
    text always is. `roles`: the special token of each role that there is.
    """

    path: Path
    definition: dict[str, Any]
    tokens: list[str]
    merges: np.ndarray
    special: frozenset[int]
    added: frozenset[int]
    roles: dict[str, str]

    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the definition. Raises VocapError, naming the file, where the library refuses it."""
        with refusals(self.path):
            return Tokenizer.from_str(json.dumps(self.definition, ensure_ascii=False))


def read_bpe(path: str | Path) -> BpeFile:
    """Read a tokenizer.json, or that of a folder.

    Raises VocapError, naming the file and the merge or token, for another model than BPE, ids with gaps, merges
    whose parts or result are no tokens, and values of another type.
    """
    path = Path(path)
    path = path / "tokenizer.json" if path.is_dir() else path
    if not path.is_file():
        raise VocapError(f"{path}: no such file; give a tokenizer.json, or a folder with one")
    definition = read_object(path)
    model = definition.get("model")
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    if not isinstance(vocabulary, dict) or not isinstance(model.get("merges"), list):
        kind = model.get("type", "unknown") if isinstance(model, dict) else "unknown"
        raise VocapError(f"{path}: a model of type {kind}, not BPE with vocab and merges; give one of those")
    if model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"):
        raise VocapError(f"{path}: pieces with a prefix or suffix for words are not known here; use another form")
    with refusals(path):
        ids: dict[str, int] = dict(vocabulary)
        special, added = set(), set()
        for entry in definition.get("added_tokens") or ():
            ids[entry["content"]] = entry["id"]
            (special if entry.get("special") else added).add(entry["id"])
        by_id = {number: token for token, number in ids.items()}
        if sorted(by_id) != list(range(len(ids))):
            raise VocapError(f"{path}: {len(ids)} tokens, whose ids are not 0 to {len(ids) - 1}; save it again")
        merges = np.empty((len(model["merges"]), 3), np.int32)
        for rank, pair in enumerate(model["merges"]):
            parts = pair.split(" ") if isinstance(pair, str) else pair
            if not isinstance(parts, list) or len(parts) != 2:
                raise VocapError(f"{path}: merge {rank} is {pair!r}, not two tokens; save it again")
            for token in (*parts, "".join(map(str, parts))):
                if token not in vocabulary:
                    raise VocapError(
                        f"{path}: merge {rank}, {' '.join(map(str, parts))!r}: {token!r} is no token of the "
                        "vocabulary; a merge needs its parts and its result: take it out, or put the token back"
                    )
            merges[rank] = *(ids[part] for part in parts), ids["".join(parts)]
        tokens = [by_id[number] for number in range(len(by_id))]
        return BpeFile(path, definition, tokens, merges, frozenset(special), frozenset(added), roles_of(path, ids))


def is_bpe(path: Path) -> bool:
    """Whether a file, or tokenizer.json of a folder without a SentencePiece model, is byte-pair encoding."""
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file() or (path.is_dir() and any(path.glob("*.model"))):
        return False
    if not is_json(file):
        return False
    model = read_object(file).get("model")
    return isinstance(model, dict) and model.get("type", "BPE") == "BPE" and "merges" in model
