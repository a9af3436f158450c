"""Do both forms of a tokenizer give the same ids? Compared line by line, and every difference named."""

import os
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from vocap.errors import VocapError
from vocap.tokenizers.settings import META
from vocap.vocabularies.encoders import HuggingFaceEncoder, load_encoder
from vocap.vocabularies.text import read_blocks

COLUMNS = ("language", "lines", "identical", "share", "example")
KINDS = ("normaliser", "special token", "unknown", "tie", "score")
LEAST_SHARE = 0.999  # of the lines of every language
_ROUNDING = 0.01  # nats: what float32 sums of a long line may be off
_SHOWN = 8  # pieces of an example on each side
_LINE = 60  # characters of its line


@dataclass
class Comparison:
    """Counts of one language; `examples` holds the first line of each kind of difference."""

    lines: int = 0
    kinds: Counter = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    @property
    def identical(self) -> int:
        return self.lines - self.kinds.total()

    def row(self, language: str) -> tuple:
        """The cells of `COLUMNS`; no share where there is no line."""
        share = self.identical / self.lines if self.lines else None
        shown = (f"{kind} {self.kinds[kind]}: {self.examples[kind]}" for kind in KINDS if self.kinds[kind])
        return language, self.lines, self.identical, share, "; ".join(shown)


class Pair:
    """SentencePiece's model and its export, side by side."""

    def __init__(self, processor, encoder: HuggingFaceEncoder):
        self.processor, self.encoder = processor, encoder
        if (size := len(encoder.ids)) != processor.get_piece_size():
            raise VocapError(
                f"the export has {size} ids, the model {processor.get_piece_size()}; run vocap export again"
            )

    @classmethod
    def load(cls, folder: str | os.PathLike) -> "Pair":
        """From `sentencepiece.model` and `huggingface/` of a tokenizer's folder, both parsed, never executed."""
        from vocap.vocabularies.model_file import load_processor

        path = Path(folder) / "huggingface" / "tokenizer.json"
        if not path.exists():
            raise VocapError(f"{path}: no such file; run vocap export first")
        return cls(load_processor(Path(folder) / "sentencepiece.model"), load_encoder(path))

    def compare(self, blocks: Iterable[list[str]]) -> Comparison:
        """Ids of every line from both, without special tokens; one block of lines is held at a time."""
        result = Comparison()
        for lines in blocks:
            wanted = self.processor.encode(lines, num_threads=1) if lines else []
            result.lines += len(lines)
            for line, ids, others in zip(lines, wanted, self.encoder.encode_batch(lines), strict=True):
                if ids != others:
                    kind = self.kind(line, ids, others)
                    result.kinds[kind] += 1
                    if kind not in result.examples:
                        result.examples[kind] = self.show(line, ids, others)
        return result

    def kind(self, line: str, wanted: list[int], given: list[int]) -> str:
        """Why a line differs.

        `normaliser`: the normalised texts differ; `special token`: the export found one in the text; `unknown`:
        another number of unknown characters; `tie`: another path of the same score; `score`: of another score.
        """
        normalizer = self.encoder.tokenizer.normalizer
        if normalizer and normalizer.normalize_str(line) != self.processor.normalize(line):
            return "normaliser"
        special = {self.processor.piece_to_id(token) for token in META if token != "<unk>"}
        if special & set(given):
            return "special token"
        unknown = self.processor.unk_id()
        if wanted.count(unknown) != given.count(unknown):
            return "unknown"
        return "tie" if abs(self._score(wanted) - self._score(given)) < _ROUNDING else "score"

    def show(self, line: str, wanted: list[int], given: list[int]) -> str:
        """The line, shortened, and both splits from two pieces before their first difference on."""
        same = sum(1 for _ in _common_start(wanted, given))
        start = max(same - 2, 0)
        both = []
        for ids in (wanted, given):
            part = ids[start : start + _SHOWN]
            pieces = " ".join(self.processor.id_to_piece(number) for number in part)
            both.append(("… " if start else "") + pieces + (" …" if start + _SHOWN < len(ids) else ""))
        text = line if len(line) <= _LINE else line[:_LINE] + "…"
        return f"“{text}”: {both[0]} | {both[1]}"

    def _score(self, ids: list[int]) -> float:
        return sum(map(self.processor.get_score, ids))


def compared_blocks(folder: Path, sample: int | None, seed: int) -> Iterator[list[str]]:
    """The lines of `folder` to compare: all held-out ones, and all of training or a sample of them.

    With `sample`, lines of train.txt are drawn so that there are `sample` in all; which ones follows from `seed`
    and the folder's name alone. Raises VocapError for a missing file.
    """
    heldout = 0
    for lines in read_blocks(folder / "heldout.txt"):
        kept = [line for line in lines if line]
        heldout += len(kept)
        yield kept
    train = folder / "train.txt"
    if sample is None:
        yield from ([line for line in lines if line] for lines in read_blocks(train))
        return
    total = sum(len(lines) for lines in read_blocks(train))
    chosen = choose_lines(total, max(sample - heldout, 0), seed, folder.name)
    first = 0
    for lines in read_blocks(train):
        low, high = np.searchsorted(chosen, (first, first + len(lines)))
        yield [lines[number - first] for number in chosen[low:high].tolist() if lines[number - first]]
        first += len(lines)


def choose_lines(total: int, count: int, seed: int, name: str) -> np.ndarray:
    """`count` of the numbers below `total` (all, if there are no more), rising, drawn by `seed` and `name`."""
    if count >= total:
        return np.arange(total)
    generator = np.random.Generator(np.random.Philox([seed, zlib.crc32(name.encode("utf-8"))]))
    return np.sort(generator.choice(total, count, replace=False, shuffle=False))


def _common_start(one: list[int], other: list[int]) -> Iterator[int]:
    for a, b in zip(one, other, strict=False):
        if a != b:
            return
        yield a
