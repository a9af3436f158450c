"""Token counts of a text under a SentencePiece unigram model, from its distinct words.

No piece holds U+2581 but as its first character, so a line's best segmentation is made of those of its words, and
a word need be segmented only once. The counts are those of `encode`, all of them: its float32 sums begin where the
line begins, so where rounding could lead to another segmentation of a word (`reach` in `segment_words`), the lines
that hold the word are encoded.
"""

from collections.abc import Iterable
from itertools import chain

import numpy as np

from vocap.vocabularies.encoders import SentencePieceEncoder

SPACE = "\u2581"
STEP = 2.0**-10  # sums of its multiples are exact in float32 below 2^14
SMALL = 12 << 20  # characters that are encoded in the time it takes to load the engine
TABLE_CHARACTERS = 1 << 24  # of distinct words kept at a time: a process of some 0.7 GB


def count_by_words(encoder: SentencePieceEncoder, blocks: Iterable[list[str]]) -> tuple[np.ndarray, int]:
    """What `alp.count_tokens` gives: how often each id occurs in all lines, int64 [V], and the number of lines.

    Lines are encoded, one by one, where words would not be quicker (a short text) or not right: under a model that
    is not unigram, has user-defined symbols, byte pieces, scores above 0, pieces with U+2581 inside, or none for
    U+2581 alone (so that runs of unknown characters could pass from one word to the next).
    """
    counts, sentences, characters, waiting = np.zeros(encoder.size, np.int64), 0, 0, []
    counter, scores = None, word_scores(encoder)
    for lines in blocks:
        sentences += len(lines)
        if scores is None:
            _add_encoded(encoder, lines, counts)
        elif counter:
            counter.add(lines)
        else:
            waiting.append(lines)
            characters += sum(map(len, lines))
            if characters >= SMALL:
                counter = WordCounter(encoder, scores, counts)
                for block in waiting:
                    counter.add(block)
                waiting = []
    for lines in waiting:
        _add_encoded(encoder, lines, counts)
    if counter:
        counter.settle()
    return counts, sentences


def word_scores(encoder: SentencePieceEncoder) -> np.ndarray | None:
    """The score of every id that can stand for text, float32 [V], NaN for others; None if words are not enough."""
    from sentencepiece import sentencepiece_model_pb2

    from vocap.vocabularies.model_file import BYTE, NORMAL, USER_DEFINED

    model = sentencepiece_model_pb2.ModelProto.FromString(encoder.processor.serialized_model_proto())
    if model.trainer_spec.model_type != sentencepiece_model_pb2.TrainerSpec.UNIGRAM:
        return None
    scores = np.full(len(model.pieces), np.nan, np.float32)
    alone = False
    for number, entry in enumerate(model.pieces):
        if entry.type in (BYTE, USER_DEFINED):
            return None
        if entry.type == NORMAL:
            if entry.score > 0 or SPACE in entry.piece[1:]:
                return None
            scores[number] = entry.score
            alone |= entry.piece == SPACE
    return scores if alone else None


class Segmenter:
    """Segments distinct words under one model; `scores` as `word_scores` gives them."""

    def __init__(self, encoder: SentencePieceEncoder, scores: np.ndarray):
        from vocap.vocabularies.ladder.kernels import one_compiler

        with one_compiler():
            from vocap.vocabularies.ladder import trie

        known = np.flatnonzero(~np.isnan(scores))
        self.ids = np.append(known, encoder.unk_id)  # of each piece number; the last is that of -1, unknown
        self.scores = scores[known]
        self.trie = trie.build_trie([encoder.processor.id_to_piece(int(number)) for number in known])
        # float32, as the library subtracts it
        self.unknown = float(np.float32(self.scores.min() - np.float32(10)))
        steps = np.append(self.scores, self.unknown).astype(np.float64) / STEP
        self.exact = bool((steps == np.rint(steps)).all())
        self._segment = trie.segment_words

    def segment(self, store: np.ndarray, bounds: np.ndarray, begin: int, end: int) -> tuple[np.ndarray, ...]:
        """What `segment_words` gives for the words `begin` to `end` of a word table."""
        return self._segment(store, bounds, begin, end, self.scores, self.unknown, self.exact, *self.trie.arrays)


class WordCounter:
    """Adds up the tokens of lines in `counts` (int64 [V]): at once where a line is encoded, else in `settle`."""

    def __init__(self, encoder: SentencePieceEncoder, scores: np.ndarray, counts: np.ndarray):
        self.encoder, self.counts = encoder, counts
        self.segmenter = Segmenter(encoder, scores)
        self._start()

    def _start(self) -> None:
        from vocap.vocabularies.ladder.word_table import WordTable

        self.words = WordTable(1)
        self.parts: list[tuple[np.ndarray, np.ndarray]] = []  # tokens of words, and how many each has
        self.cost = np.empty(0)
        self.reach = np.empty(0)

    def add(self, lines: list[str]) -> None:
        """Count the words of lines, and encode those lines whose words are not enough."""
        from vocap.vocabularies.ladder.trie import count_lines

        normalised = self.encoder.processor.normalize(lines)
        if any("\n" in line for line in normalised):  # a normaliser that puts in line feeds, which end lines below
            _add_encoded(self.encoder, lines, self.counts)
            return
        table, before = self.words, self.words.known
        words, ends = table.number(normalised)
        first, tokens, cost, reach = self.segmenter.segment(table.store, table.bounds, before, table.known)
        self.parts.append((tokens, np.diff(first)))
        if table.known > len(self.cost):  # with room to spare: not copied at every block
            room = max(table.known, len(self.cost) * 5 // 4)
            self.cost, self.reach = np.resize(self.cost, room), np.resize(self.reach, room)
        self.cost[before : table.known], self.reach[before : table.known] = cost, reach
        rest = count_lines(words, ends, self.cost, self.reach, table.counts)
        _add_encoded(self.encoder, [lines[number] for number in rest.tolist()], self.counts)
        if table.bounds[table.known] > TABLE_CHARACTERS:
            self.settle()

    def settle(self) -> None:
        """Add the tokens of the words counted so far, and forget them."""
        tokens = np.concatenate([np.empty(0, np.int32), *(part for part, _ in self.parts)])
        sizes = np.concatenate([np.empty(0, np.int64), *(part for _, part in self.parts)])
        times = np.repeat(self.words.counts[: self.words.known, -1], sizes)
        np.add.at(self.counts, self.segmenter.ids[tokens], times)
        self._start()


def _add_encoded(encoder: SentencePieceEncoder, lines: list[str], counts: np.ndarray) -> None:
    ids = np.fromiter(chain.from_iterable(encoder.encode_batch(lines)), np.int64)
    counts += np.bincount(ids, minlength=encoder.size)
