"""The tokens that two tokenizers make of lines: by encoding every line, or, quicker, every distinct word.

For two SentencePiece unigram models that normalise alike, lines need not be encoded. No rule of the library's own
normalisers reaches across a space, and no piece across a word's beginning, so a line's tokens are those of the
units between its spaces. Sums in float32 begin where the line begins: where rounding could matter (`reach` in
`segment_words`), the line is encoded.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from vocap.tokenizer_files.encoders import SentencePieceEncoder
from vocap.tokenizer_files.splitter import Splitter
from vocap.unigram.alp import Segmenter, word_scores

SMALL = 4 << 20  # characters that are encoded in the time it takes to load the engine
DISTINCT = 1_000_000  # words, or units between spaces, held at a time: some 0.4 GB

_LINE, _SPACE = "\n", "\u2581"


class ComparedPair:
    """Two tokenizers; `to_b` int64: the id in B of each id of A, by its piece (-1: none; unknown is unknown)."""

    def __init__(self, a: Splitter, b: Splitter):
        self.a, self.b = a, b
        ids = {piece: number for number, piece in enumerate(b.pieces) if piece is not None}
        self.to_b = np.array([-1 if piece is None else ids.get(piece, -1) for piece in a.pieces], np.int64)
        if a.encoder.unk_id is not None and b.encoder.unk_id is not None:
            self.to_b[a.encoder.unk_id] = b.encoder.unk_id


@dataclass
class Lines:
    """A block of L lines: tokens of each under A and B, int64 [L], and whether the tokens differ, bool [L]."""

    lines: list[str]
    tokens_a: np.ndarray
    tokens_b: np.ndarray
    changed: np.ndarray


class Counts:
    """Encodes every line. `a`, `b`: how often each id occurs, int64 [V], complete after `settle`."""

    def __init__(self, pair: ComparedPair):
        self.pair = pair
        self.a, self.b = (np.zeros(side.encoder.size, np.int64) for side in (pair.a, pair.b))
        self._words: Counter[str] = Counter()

    def add(self, lines: list[str]) -> Lines:
        """Count a block of lines."""
        for line in lines:
            self._words.update(line.split())
        return self._encode(lines)

    def _encode(self, lines: list[str]) -> Lines:
        rows = [side.encoder.encode_batch(lines) for side in (self.pair.a, self.pair.b)]
        flat = [np.fromiter(chain.from_iterable(ids), np.int64) for ids in rows]
        for counts, ids in zip((self.a, self.b), flat, strict=True):
            counts += np.bincount(ids, minlength=len(counts))
        sizes = [np.fromiter(map(len, ids), np.int64, len(lines)) for ids in rows]
        return Lines(lines, *sizes, _changed(self.pair.to_b[flat[0]], sizes[0], flat[1], sizes[1]))

    @property
    def full(self) -> bool:
        """Whether it is time to `settle`."""
        return len(self._words) > DISTINCT

    def settle(self) -> tuple[Counter[str], set[str]]:
        """The words (white space separates them) since the last call, and those known to be unchanged."""
        words, self._words = self._words, Counter()
        return words, set()


class _Numbers(dict):
    """Numbers strings as they come; `new`: those since it was last emptied."""

    def __init__(self):
        super().__init__({_LINE: 0})
        self.new: list[str] = []

    def __missing__(self, unit: str) -> int:
        self[unit] = number = len(self)
        self.new.append(unit)
        return number


class WordCounts(Counts):
    """Encodes each distinct unit between spaces; `scores`: `word_scores` of both."""

    def __init__(self, pair: ComparedPair, scores: tuple[np.ndarray, np.ndarray], so_far: Counts):
        super().__init__(pair)
        self.a, self.b, self._words = so_far.a, so_far.b, so_far._words
        self._segmenters = [Segmenter(side.encoder, s) for side, s in zip((pair.a, pair.b), scores, strict=True)]
        self._start()

    def _start(self) -> None:
        self._numbers = _Numbers()
        self._table = np.zeros(1, _UNIT)
        self._table["reach_a"] = self._table["reach_b"] = np.inf
        # tokens of units, one unit after the other, of both sides
        self._tokens: list[tuple[np.ndarray, np.ndarray]] = [(np.empty(0, np.int64), np.empty(0, np.int64))]

    def add(self, lines: list[str]) -> Lines:
        if not lines:
            return self._encode(lines)
        units = f"{_LINE.join(lines)}{_LINE}".replace(_LINE, f" {_LINE} ").split(" ")
        numbers = np.fromiter(map(self._numbers.__getitem__, units), np.int32, len(units))[:-1]
        self._add_units()
        ends = np.flatnonzero(numbers == 0) + 1
        starts = np.concatenate([[0], ends[:-1]])
        found = self._table[numbers]
        sizes = [np.add.reduceat(found[name], starts, dtype=np.int64) for name in ("tokens_a", "tokens_b")]
        result = Lines(lines, *sizes, np.logical_or.reduceat(found["changed"], starts))
        sure = np.ones(len(lines), bool)
        for side in "ab":
            cost = np.add.reduceat(found[f"cost_{side}"], starts)
            sure &= cost < np.minimum.reduceat(found[f"reach_{side}"], starts)
        for name, counted in (("times", numbers), ("times_sure", numbers[np.repeat(sure, ends - starts)])):
            self._table[name] += np.bincount(counted, minlength=len(self._table))
        others = np.flatnonzero(~sure)
        encoded = self._encode([lines[number] for number in others.tolist()])
        result.tokens_a[others], result.tokens_b[others] = encoded.tokens_a, encoded.tokens_b
        result.changed[others] = encoded.changed
        return result

    def _add_units(self) -> None:
        """Segment the units that were not known before this block."""
        new, self._numbers.new = self._numbers.new, []
        table = np.zeros(len(new), _UNIT)
        flat = []
        for side, segmenter in zip("ab", self._segmenters, strict=True):
            encoder = getattr(self.pair, side).encoder
            normalised = encoder.processor.normalize(new) if new else []
            bounds = np.zeros(len(new) + 1, np.int64)
            np.cumsum(np.fromiter(map(len, normalised), np.int64, len(new)), out=bounds[1:])
            store = np.frombuffer(bytearray("".join(normalised).encode("utf-32-le")), np.int32)
            first, tokens, cost, reach = segmenter.segment(store, bounds, 0, len(new))
            table[f"tokens_{side}"], table[f"cost_{side}"] = np.diff(first), cost
            table[f"reach_{side}"] = np.where(cost < reach, reach, 0)
            flat.append(segmenter.ids[tokens])
            unknown = np.concatenate([[0], np.cumsum(flat[-1] == encoder.unk_id)])
            table["unknown"] |= unknown[first[1:]] > unknown[first[:-1]]
        table["changed"] = _changed(self.pair.to_b[flat[0]], table["tokens_a"], flat[1], table["tokens_b"])
        # Spaces of the text's own, which a normaliser strips from a line's end, and NUL, which ends C strings.
        odd = [number for number, unit in enumerate(new) if _SPACE in unit or "\0" in unit]
        table["reach_a"][odd] = 0
        self._tokens.append((flat[0], flat[1]))
        units = len(self._numbers)
        if units > len(self._table):
            # more than needed, so that not every block copies it
            self._table = np.resize(self._table, units * 5 // 4)
        self._table[units - len(new) : units] = table

    @property
    def full(self) -> bool:
        return len(self._numbers) + len(self._words) > DISTINCT

    def settle(self) -> tuple[Counter[str], set[str]]:
        table = self._table[: len(self._numbers)]
        for side, counts, parts in zip("ab", (self.a, self.b), zip(*self._tokens, strict=True), strict=True):
            np.add.at(counts, np.concatenate(parts), np.repeat(table["times_sure"], table[f"tokens_{side}"]))
        certain = ~(table["changed"] | table["unknown"]) & (table["reach_a"] > 0) & (table["reach_b"] > 0)
        words, unchanged = self._words, set()
        for (unit, number), times in zip(self._numbers.items(), table["times"].tolist(), strict=True):
            parts = unit.split()
            for word in parts:
                words[word] += times
            if certain[number] and parts == [unit]:
                unchanged.add(unit)
        self._words = Counter()
        self._start()
        return words, unchanged


_UNIT = np.dtype(
    [
        *((f"tokens_{side}", np.int32) for side in "ab"),
        *((f"cost_{side}", np.float64) for side in "ab"),
        *((f"reach_{side}", np.float64) for side in "ab"),  # 0: lines that hold it are encoded
        ("changed", bool),
        ("unknown", bool),
        ("times", np.int64),
        ("times_sure", np.int64),  # in lines that are not encoded
    ]
)


def count_pair(pair: ComparedPair, blocks: Iterable[list[str]]) -> Iterator[tuple[Counts, Lines]]:
    """Count the blocks, the first by encoding; gives the counts so far, to settle where full, and each block's."""
    counts, characters, short = Counts(pair), 0, True
    for lines in blocks:
        characters += sum(map(len, lines))
        if short and characters >= SMALL:
            short = False
            if scores := _word_scores(pair):
                counts = WordCounts(pair, scores, counts)
        yield counts, counts.add(lines)


def _word_scores(pair: ComparedPair) -> tuple[np.ndarray, np.ndarray] | tuple[()]:
    """The scores of both, if their distinct units are enough."""
    from sentencepiece import sentencepiece_model_pb2

    from vocap.tokenizer_files.charsmap import built_in_maps

    encoders = (pair.a.encoder, pair.b.encoder)
    if not all(isinstance(encoder, SentencePieceEncoder) for encoder in encoders):
        return ()
    maps = []
    for encoder in encoders:
        model = sentencepiece_model_pb2.ModelProto.FromString(encoder.processor.serialized_model_proto())
        spec = model.normalizer_spec
        plain = spec.add_dummy_prefix and spec.remove_extra_whitespaces and spec.escape_whitespaces
        if not plain or model.trainer_spec.treat_whitespace_as_suffix:
            return ()
        maps.append(spec.precompiled_charsmap)
    if maps[0] != maps[1] or (maps[0] and maps[0] not in built_in_maps()):
        return ()
    scores = [word_scores(encoder) for encoder in encoders]
    return () if any(one is None for one in scores) else (scores[0], scores[1])


def _changed(one: np.ndarray, sizes: np.ndarray, other: np.ndarray, other_sizes: np.ndarray) -> np.ndarray:
    """Whether rows of ids differ, bool [rows]; both flat, with the length of each row."""
    changed = sizes != other_sizes
    compared = np.flatnonzero(~changed & (sizes > 0))
    if len(compared):
        differ = one[np.repeat(~changed, sizes)] != other[np.repeat(~changed, other_sizes)]
        starts = np.concatenate([[0], np.cumsum(sizes[compared])[:-1]])
        changed[compared] = np.logical_or.reduceat(differ, starts)
    return changed
