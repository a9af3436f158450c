"""Golden hashes: a tokenizer's ids at the time of its export, of texts in many scripts, spaces and symbols.

They are in golden.json beside tokenizer.json, for each form of the tokenizer its own (the two can differ where two
segmentations have the same score). `vocap verify` compares them with the ids under the reader's versions.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata, resources
from pathlib import Path

from vocap.errors import VocapError

FILE = "golden.json"
VERSION = 1
# form: the one whose hashes it is compared with
FORMS = {"sentencepiece": "sentencepiece", "tokenizers": "tokenizers", "transformers": "tokenizers"}

Encode = Callable[[list[str]], list[list[int]]]


@dataclass(frozen=True)
class Checked:
    """One form under the installed version of its library: the texts whose ids differ."""

    form: str
    version: str
    made_with: str  # the library, and its version, that gave the hashes
    different: list[str]
    vocabulary: bool  # whether every piece has its id


@cache
def golden_texts() -> list[str]:
    """The texts that new tokenizers are hashed on."""
    return json.loads(resources.files("vocap.tokenizer_files").joinpath("golden_texts.json").read_text("utf-8"))


def hashes(encode: Encode, texts: Sequence[str]) -> list[str]:
    """The first 16 hexadecimal digits of SHA-256 of every text's ids, in decimal with commas."""
    return [_hash(",".join(map(str, ids))) for ids in encode(list(texts))]


def vocabulary_hash(pieces: Sequence[str]) -> str:
    """The same of all pieces, by id, as JSON."""
    return _hash(json.dumps(list(pieces), ensure_ascii=False))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def golden(pieces: Sequence[str], forms: Mapping[str, Encode]) -> dict:
    """The content of golden.json, of the functions of some forms from texts to ids."""
    texts = golden_texts()
    return {
        "version": VERSION,
        "made_with": {form: metadata.version(form) for form in forms},
        "vocabulary": vocabulary_hash(pieces),
        "texts": texts,
        "ids": {form: hashes(encode, texts) for form, encode in forms.items()},
    }


def read_golden(folder: Path) -> dict:
    """golden.json of a folder. Raises VocapError where there is none, or none that can be used."""
    path = folder / FILE
    again = f"write the folder again: vocap export MODEL -o {folder}"
    if not folder.is_dir():
        raise VocapError(f"{folder}: no such folder; give the huggingface/ folder of a tokenizer")
    if not path.is_file():
        raise VocapError(f"{folder}: no {FILE} in it, as in folders of older versions; {again}")
    try:
        content = json.loads(path.read_text("utf-8"))
        texts, ids = content["texts"], content["ids"]
        texts_are_strings = all(isinstance(text, str) for text in [*texts, content["vocabulary"]])
        complete = "tokenizers" in ids and all(
            form in FORMS.values() and len(ids[form]) == len(texts) > 0 and content["made_with"][form]
            for form in ids
        )
        whole = content["version"] == VERSION and texts_are_strings and complete
    except (ValueError, KeyError, TypeError, RecursionError):
        whole = False
    if not whole:
        raise VocapError(f"{path}: damaged, or of a newer version of VoCap; {again}")
    return content


def check(content: dict, form: str, pieces: Sequence[str | None], encode: Encode) -> Checked:
    """Compare one form, as the installed library loads it, with golden.json."""
    recorded = FORMS[form]
    found = hashes(encode, content["texts"])
    different = [
        text
        for text, wanted, given in zip(content["texts"], content["ids"][recorded], found, strict=True)
        if wanted != given
    ]
    same = vocabulary_hash(pieces) == content["vocabulary"]
    return Checked(form, metadata.version(form), f"{recorded} {content['made_with'][recorded]}", different, same)
