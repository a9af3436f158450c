"""Token ids on disk, read through memory maps, and the data of a run: blocks of every language, and their shares.

The folder of a language holds two parts, `train` and `heldout`, each of three arrays in NumPy's own format:
`{part}.npy` uint32, the ids of all blocks of up to 512, concatenated; `{part}-ends.npy` int64, the end of each
block; `{part}-bytes.npy` uint32, the UTF-8 bytes of the text in each block. `description.json` names their
tokenizer and settings.
"""

import hashlib
import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vocap.errors import UsageError, VocapError
from vocap.files import file_sha256
from vocap.files.plain_data import read_object
from vocap.tables.sampling_probabilities import read_weights, sampling_probabilities

log = logging.getLogger(__name__)

MODELS = ("sentencepiece.model", "tokenizer.json")  # within a tokenizer's folder, one of them
EXPORT = "huggingface"
COUNTED = 1 << 24  # tokens of a language that unigram frequencies are counted on, at most
PIECES = 16  # parts that they are counted in
SHORTEST = 8  # ids of a block: the two around it and a few to learn from
FORMAT = 1
DESCRIPTION = "description.json"
COLUMNS = {
    "": np.dtype("<u4"),
    "-ends": np.dtype("<i8"),
    "-bytes": np.dtype("<u4"),
}  # suffix of the file: its type
PARTS = ("train", "heldout")
_REMEDY = "delete the folder and run: vocap tokenize"


@dataclass(frozen=True)
class SpecialIds:
    """Ids of a tokenizer that are no words: those with a role, and `others`, as reserved ones."""

    bos: int
    pad: int
    eos: int
    unk: int
    mask: int
    others: tuple[int, ...] = ()

    @classmethod
    def of_xlm_r(cls, vocabulary: int) -> "SpecialIds":
        """Special ids of XLM-R's layout with `vocabulary` rows."""
        return cls(0, 1, 2, 3, vocabulary - 1)

    @property
    def all(self) -> list[int]:
        """The ids that are never masked, drawn or predicted, rising."""
        return sorted((self.bos, self.pad, self.eos, self.unk, self.mask, *self.others))


@dataclass(frozen=True)
class Blocks:
    """The blocks of one part of one language; `tokens`, `ends` and `size_bytes` are memory-mapped."""

    tokens: np.ndarray
    ends: np.ndarray
    size_bytes: np.ndarray

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index: int) -> np.ndarray:
        """The ids of one block, int64 (torch has no arithmetic on uint32)."""
        start = int(self.ends[index - 1]) if index else 0
        return self.tokens[start : int(self.ends[index])].astype(np.int64)


@dataclass(frozen=True)
class TokenizedLanguage:
    """The output of `vocap tokenize` for one language."""

    language: str
    description: dict[str, Any]
    train: Blocks
    heldout: Blocks

    @property
    def special(self) -> SpecialIds:
        """Special ids of its tokenizer."""
        ids = self.description["special"]
        return SpecialIds(**{**ids, "others": tuple(ids["others"])})


def open_language(folder: str | os.PathLike, tokenizer: str | None = None) -> TokenizedLanguage:
    """The blocks of one language.

    `tokenizer` is the SHA-256 of the model that must have made them. Raises VocapError, naming the file, for
    blocks of another tokenizer, and for arrays that are absent, cut short or not as described.
    """
    folder = Path(folder)
    path = folder / DESCRIPTION
    description = read_object(path, _REMEDY, "make it with: vocap tokenize")
    if description.get("format") != FORMAT:
        raise VocapError(f"{path}: not of format {FORMAT}; {_REMEDY}")
    if tokenizer is not None and description["tokenizer"] != tokenizer:
        raise VocapError(f"{path}: these blocks were made with another tokenizer; {_REMEDY}")
    parts = {part: _open_part(folder, part, description[part]) for part in PARTS}
    return TokenizedLanguage(description["language"], description, **parts)


def _open_part(folder: Path, part: str, counts: Mapping[str, int]) -> Blocks:
    arrays = []
    for suffix, dtype in COLUMNS.items():
        path = folder / f"{part}{suffix}.npy"
        length = counts["blocks" if suffix else "tokens"]
        try:
            array = np.load(path, mmap_mode="r" if length else None, allow_pickle=False)
        except (ValueError, OSError) as error:
            raise VocapError(f"{path}: cannot be read ({error}); {_REMEDY}") from None
        if array.dtype != dtype or array.shape != (length,):
            raise VocapError(f"{path}: {array.dtype} {array.shape} where {dtype} ({length},) belongs; {_REMEDY}")
        arrays.append(array)
    return Blocks(*arrays)


@dataclass(frozen=True)
class Data:
    """`q` float64 [languages] are the shares of Equation 3; `fingerprint` identifies the data, for checkpoints."""

    languages: list[str]
    train: list[Blocks]
    heldout: list[Blocks]
    q: np.ndarray
    vocabulary: int  # T, rows of the model
    special: SpecialIds
    longest: int  # tokens of a block, at most
    fingerprint: dict[str, Any]


def load_data(
    tokens: Path, languages: Sequence[str], tokenizer: Path, alpha: float, by: str, weights: Path | None = None
) -> Data:
    """Open `tokens`/{language} of each language, made with the tokenizer of the folder `tokenizer`.

    `by`: n_i is the lines or the bytes of the text, or (corpora) that of the table `weights`. Languages without
    text are left out with a warning. Raises VocapError for blocks of another tokenizer or of different lengths,
    and where no language has text.
    """
    # the blocks of each language, all of this tokenizer
    model = next((tokenizer / name for name in MODELS if (tokenizer / name).exists()), None)
    if model is None:
        named = " or ".join(MODELS)
        raise VocapError(f"{tokenizer}: no {named}; name the folder of a tokenizer, which holds {EXPORT}/ too")
    digest = file_sha256(model)
    opened = [open_language(tokens / language, digest) for language in languages]
    if len(lengths := {found.description["length"] for found in opened}) > 1:
        raise VocapError(f"{tokens}: blocks of different lengths, {sorted(lengths)}; tokenize all alike")
    # the languages with text
    if empty := [found.language for found in opened if not len(found.train)]:
        log.warning("no text to pre-train on, left out: %s", " ".join(empty))
    if unmeasured := [found.language for found in opened if len(found.train) and not len(found.heldout)]:
        log.warning("no held-out text, so no exact loss: %s", " ".join(unmeasured))
    used = [found for found in opened if len(found.train)]
    if not used:
        raise VocapError(f"{tokens}: no language has any text; bring some, or name other languages")
    # their shares, and a digest of all for checkpoints
    n = _sizes(used, by, weights)
    first = used[0].description
    described = {found.language: json.dumps(found.description, sort_keys=True).encode() for found in used}
    digests = {language: hashlib.sha256(text).hexdigest()[:16] for language, text in described.items()}
    return Data(
        [found.language for found in used],
        [found.train for found in used],
        [found.heldout for found in used],
        sampling_probabilities(n, alpha),
        first["vocabulary"],
        used[0].special,
        first["length"],
        {"tokenizer": digest, "data": digests, "n": n},
    )


def _sizes(used: Sequence, by: str, weights: Path | None) -> list[float]:
    if by in ("lines", "bytes"):
        return [found.description["train"][by] for found in used]
    if weights is None:
        raise UsageError("weights: corpora needs the table of the corpora stage; give --weights weights.tsv")
    table = read_weights(weights)
    if missing := [found.language for found in used if not table.get(found.language)]:
        raise VocapError(
            f"{weights}: no n above 0 for {', '.join(missing)}, which have text; weigh by lines or bytes"
        )
    return [table[found.language] for found in used]


def unigram_counts(data: Data) -> np.ndarray:
    """Frequency of each id in a stream of the languages' shares, int64 [V], scaled to the tokens counted.

    At most `COUNTED` tokens of a language are counted, in evenly spread parts.
    """
    frequencies, total = np.zeros(data.vocabulary), 0
    for share, blocks in zip(data.q, data.train, strict=True):
        counts = np.zeros(data.vocabulary, np.int64)
        tokens, size = blocks.tokens, COUNTED // PIECES
        if len(tokens) <= COUNTED:
            starts, size = np.zeros(1, np.int64), len(tokens)
        else:
            starts = np.linspace(0, len(tokens) - size, PIECES).astype(np.int64)
        for start in starts:
            counts += np.bincount(tokens[start : start + size], minlength=data.vocabulary)
        frequencies += share * counts / counts.sum()
        total += int(counts.sum())
    return np.rint(frequencies * total).astype(np.int64)
