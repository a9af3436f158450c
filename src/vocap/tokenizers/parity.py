"""Line-by-line comparison of the ids of both forms of a tokenizer, with the kind of each difference."""

import json
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from vocap.errors import VocapError
from vocap.progress import Steps
from vocap.text_files.lines import read_blocks
from vocap.tokenizer_files.encoders import HuggingFaceEncoder, load_encoder
from vocap.tokenizer_files.export import normalizer_of
from vocap.tokenizer_files.model_file import CONTROL, build_processor, read_model
from vocap.tokenizer_files.normalizer import SPACE
from vocap.tokenizer_files.shadowing import bare_processor
from vocap.tokenizers.parity_words import (
    Language,
    Normalize,
    Words,
    is_wordwise,
    specification_of,
    split_words,
    word_lines,
    write_words,
)

COLUMNS = ("language", "lines", "identical", "share", "example")
KINDS = ("normaliser", "special token", "unknown", "tie", "score")
LEAST_SHARE = 0.999  # of the lines of every language
_ROUNDING = 0.01  # nats: the largest error of float32 sums of a long line
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


class TokenizerForms:
    """SentencePiece's model and its export, side by side."""

    def __init__(self, proto, encoder: HuggingFaceEncoder, name: str | os.PathLike = "the model"):
        self.proto, self.encoder, self.name = proto, encoder, name
        if (size := len(encoder.ids)) != len(proto.pieces):
            raise VocapError(f"the export has {size} ids, the model {len(proto.pieces)}; run vocap export again")

    @classmethod
    def load(cls, folder: str | os.PathLike) -> "TokenizerForms":
        """From `sentencepiece.model` and `huggingface/` of a tokenizer's folder, both parsed, never executed."""
        path = Path(folder) / "huggingface" / "tokenizer.json"
        if not path.exists():
            raise VocapError(f"{path}: no such file; run vocap export first")
        model = Path(folder) / "sentencepiece.model"
        return cls(read_model(model), load_encoder(path), model)

    @cached_property
    def processor(self):
        return build_processor(self.proto, self.name)

    def compare(self, blocks: Iterable[list[str]]) -> Comparison:
        """Ids of every line from both, without special tokens; one block of lines is held at a time."""
        result = Comparison()
        for lines in filter(None, blocks):
            wanted = self.processor.encode(lines, num_threads=1)
            result.lines += len(lines)
            for line, ids, others in zip(lines, wanted, self.encoder.encode_batch(lines), strict=True):
                if ids != others:
                    kind = self.kind(line, ids, others)
                    result.kinds[kind] += 1
                    if kind not in result.examples:
                        result.examples[kind] = self.show(line, ids, others)
        return result

    def different_words(self, blocks: Iterable[list[str]]) -> set[str]:
        """Of the words in normalised lines (`parity_words`): those with other ids, without their U+2581."""
        bare, other = bare_processor(self.proto), self.encoder.tokenizer
        different: set[str] = set()
        for lines in blocks:
            answers = zip(lines, bare.encode(lines, num_threads=1), _normalized_ids(other, lines), strict=True)
            suspects = [word for line, ids, others in answers if ids != others for word in line[1:].split(SPACE)]
            words = [SPACE + word for word in suspects]
            if words:
                found = zip(
                    suspects, bare.encode(words, num_threads=1), _normalized_ids(other, words), strict=True
                )
                different.update(word for word, ids, others in found if ids != others)
        return different

    def compare_by_words(self, blocks: Iterable[list[str]], language: Language, different: set[str]) -> Comparison:
        """As `compare`, but only lines of `language.whole`, or with a word in `different`, are encoded."""
        if not language.whole and not different:
            return Comparison(language.lines)
        result = self.compare(self._suspects(blocks, set(language.whole), different))
        result.lines = language.lines
        return result

    def _suspects(self, blocks: Iterable[list[str]], whole: set[int], different: set[str]) -> Iterator[list[str]]:
        first = 0
        for lines in blocks:
            chosen = []
            for number, line in enumerate(lines, start=first):
                if number in whole or (
                    different and not different.isdisjoint(split_words(self.processor.normalize(line)) or ())
                ):
                    chosen.append(line)
            yield chosen
            first += len(lines)

    def kind(self, line: str, wanted: list[int], given: list[int]) -> str:
        """The reason for a line that differs.

        `normaliser`: the normalised texts differ; `special token`: the export found one in the text; `unknown`:
        another number of unknown characters; `tie`: another path of the same score; `score`: of another score.
        """
        normalizer = self.encoder.tokenizer.normalizer
        if normalizer and normalizer.normalize_str(line) != self.processor.normalize(line):
            return "normaliser"
        special = {number for number, entry in enumerate(self.proto.pieces) if entry.type == CONTROL}
        if special & set(given):
            return "special token"
        unknown = self.processor.unk_id()
        if wanted.count(unknown) != given.count(unknown):
            return "unknown"
        return "tie" if abs(self._score(wanted) - self._score(given)) < _ROUNDING else "score"

    def show(self, line: str, wanted: list[int], given: list[int]) -> str:
        """The line, shortened, and both splits from two pieces before their first difference on."""
        same = next(
            (at for at, (a, b) in enumerate(zip(wanted, given, strict=False)) if a != b),
            min(len(wanted), len(given)),
        )
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


def compare_languages(
    pair: TokenizerForms,
    corpora: Path,
    codes: Sequence[str],
    sample: int | None,
    seed: int,
    shared: Words | None,
    scratch: Path,
) -> dict[str, Comparison]:
    """The comparison of every language of `codes`, by words where the tokenizer allows it.

    `shared`: words that were checked to be those of these lines; where they are None, or of another normaliser,
    they are made anew in the folder `scratch`.
    """

    def blocks(folder: Path) -> Iterator[list[str]]:
        return compared_blocks(folder, sample, seed)

    pipeline = json.loads(pair.encoder.tokenizer.to_str())
    pipeline["model"].pop("vocab", None)
    if not is_wordwise(pair.proto, pipeline):
        return _each(codes, lambda code: pair.compare(blocks(corpora / code)))
    if shared is None or not shared.fits(pair.proto, pipeline):
        specification = specification_of(pair.proto)
        shared = Words(scratch / "words.jsonl", pipeline["normalizer"], specification, sample, seed)
        folders = [corpora / code for code in codes]
        write_words(shared, blocks, folders, _normalize(pair.processor), _normalize_each(pair.encoder.tokenizer))
    different = pair.different_words(word_lines(shared.path))
    return _each(
        codes, lambda code: pair.compare_by_words(blocks(corpora / code), shared.languages[code], different)
    )


def _each(codes: Sequence[str], compare: Callable[[str], Comparison]) -> dict[str, Comparison]:
    results = {}
    with Steps("parity", len(codes)) as steps:
        for code in codes:
            results[code] = compare(code)
            steps.advance()
    return results


def normalized_words(
    proto, name: str, corpora: Path, codes: Sequence[str], sample: int | None, seed: int, path: Path
) -> Words:
    """Write the file of words of all tokenizers with the normaliser of `proto`, which errors call `name`."""
    normalizer = normalizer_of(proto, name)
    words = Words(path, json.loads(normalizer.__getstate__()), specification_of(proto), sample, seed)
    write_words(
        words,
        lambda folder: compared_blocks(folder, sample, seed),
        [corpora / code for code in codes],
        _normalize(build_processor(proto, name)),
        lambda lines: [normalizer.normalize_str(line) for line in lines],
    )
    return words


def _normalize_each(tokenizer) -> Normalize:
    normalizer = tokenizer.normalizer
    return lambda lines: [normalizer.normalize_str(line) for line in lines] if normalizer else lines


def _normalized_ids(tokenizer, lines: list[str]) -> list[list[int]]:
    """The ids of lines that the normaliser is not to change."""
    normalizer, tokenizer.normalizer = tokenizer.normalizer, None
    try:
        return [entry.ids for entry in tokenizer.encode_batch_fast(lines, add_special_tokens=False)]
    finally:
        tokenizer.normalizer = normalizer


def _normalize(processor) -> Normalize:
    return lambda lines: [processor.normalize(line) for line in lines]


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
