"""Equation 1: the average log probability (ALP) of a text under the unigram distribution of its own tokens.

Tokens of a SentencePiece unigram model are counted by distinct words. Pieces hold U+2581 only as the first
character, so a line's best segmentation consists of those of its words, and each word is segmented once. The
counts equal those of `encode`: its float32 sums begin at the start of the line, so where rounding could lead to
another segmentation of a word (`reach` in `segment_words`), the lines that hold the word are encoded.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain

import numpy as np

from vocap.tokenizer_files.encoders import Encoder, SentencePieceEncoder


@dataclass(frozen=True)
class CorpusAlp:
    """The result for one text: `alp` (nats a line, at most 0), `tokens`, `sentences`, `counts` int64 [V]."""

    alp: float
    tokens: int
    sentences: int
    counts: np.ndarray

    @property
    def tokens_per_sentence(self) -> float:
        return self.tokens / self.sentences


def average_log_probability(counts: np.ndarray, sentences: int) -> float:
    """ALP = sum over ids of c log(c / C) / |D|, natural logarithm.

    The terms are added by `math.fsum`, so the result is exactly rounded, in any order and on any machine.

    Parameters
    ----------
    counts : int array [V]
        Counts c of each id (`<unk>` is one of them) in the lines of D; C is their sum.
    sentences : int
        The number of lines |D|.

    Returns
    -------
    float
        Nats a line, at most 0.

    Raises
    ------
    ValueError
        For no sentences or a negative count.

    References
    ----------
    Equation 1 of Zheng et al. (2021), Allocating Large Vocabulary Capacity for Cross-lingual Language Model
    Pre-training.

    Examples
    --------
    >>> average_log_probability(np.array([2, 2]), 1) == 4 * math.log(1 / 2)
    True
    """
    counts = np.asarray(counts, np.int64)
    if sentences < 1:
        raise ValueError(f"ALP is a mean over sentences; there are {sentences}")
    if counts.size and counts.min() < 0:
        raise ValueError("a count is negative")
    total = int(counts.sum())
    different, times = np.unique(counts[counts > 0], return_counts=True)  # most ids share their count with many
    # math.log, not numpy's: that one has vector code of its own for each kind of processor
    terms = np.array([count * math.log(count / total) for count in different.tolist()])
    # A term that occurs 5 times is added as 4 times itself and itself: powers of two leave nothing to round.
    powers = range(int(times.max(initial=0)).bit_length())
    sums = [np.ldexp(terms[times >> power & 1 == 1], power) for power in powers]
    return math.fsum(chain.from_iterable(part.tolist() for part in sums)) / sentences


def count_tokens(
    encode_batch: Callable[[list[str]], list[list[int]]], size: int, blocks: Iterable[list[str]]
) -> tuple[np.ndarray, int]:
    """Counts of each id in all lines, and the number of lines.

    `encode_batch` gives the ids (below `size`) of each line of a list; only one block's ids are held at a time.
    Returns counts int64 [size] and the number of lines, empty ones included.
    """
    counts = np.zeros(size, np.int64)
    sentences = 0
    for lines in blocks:
        ids = np.fromiter(chain.from_iterable(encode_batch(lines)), np.int64)
        counts += np.bincount(ids, minlength=size)
        sentences += len(lines)
    return counts, sentences


def count_ids(encoder: Encoder, blocks: Iterable[list[str]]) -> tuple[np.ndarray, int]:
    """The result of `count_tokens`; for a SentencePiece model by words, where that gives the same."""
    if isinstance(encoder, SentencePieceEncoder):
        return count_by_words(encoder, blocks)
    return count_tokens(encoder.encode_batch, encoder.size, blocks)


def corpus_alp(encoder: Encoder, blocks: Iterable[list[str]]) -> CorpusAlp | None:
    """ALP of a text, given in blocks of lines; None where it has no line.

    The counts of p_uni come from the same lines, and every line counts in |D|.
    """
    counts, sentences = count_ids(encoder, blocks)
    if not sentences:
        return None
    return CorpusAlp(average_log_probability(counts, sentences), int(counts.sum()), sentences, counts)


SPACE = "\u2581"
STEP = 2.0**-10  # sums of its multiples are exact in float32 below 2^14
SMALL = 12 << 20  # characters that are encoded in the time it takes to load the engine
TABLE_CHARACTERS = 1 << 24  # of distinct words kept at a time: a process of some 0.7 GB


def count_by_words(encoder: SentencePieceEncoder, blocks: Iterable[list[str]]) -> tuple[np.ndarray, int]:
    """The result of `count_tokens`, counted by words: counts of each id, int64 [V], and the number of lines.

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

    from vocap.tokenizer_files.model_file import BYTE, NORMAL, USER_DEFINED

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
        from vocap.unigram.kernels import one_compiler

        with one_compiler():
            from vocap.unigram import given_pieces

        known = np.flatnonzero(~np.isnan(scores))
        self.ids = np.append(known, encoder.unk_id)  # of each piece number; the last is that of -1, unknown
        self.scores = scores[known]
        self.trie = given_pieces.build_trie([encoder.processor.id_to_piece(int(number)) for number in known])
        # float32, as the library subtracts it
        self.unknown = float(np.float32(self.scores.min() - np.float32(10)))
        steps = np.append(self.scores, self.unknown).astype(np.float64) / STEP
        self.exact = bool((steps == np.rint(steps)).all())
        self._segment = given_pieces.segment_words

    def segment(self, store: np.ndarray, bounds: np.ndarray, begin: int, end: int) -> tuple[np.ndarray, ...]:
        """The result of `segment_words` for the words `begin` to `end` of a word table."""
        return self._segment(store, bounds, begin, end, self.scores, self.unknown, self.exact, *self.trie.arrays)


class WordCounter:
    """Adds up the tokens of lines in `counts` (int64 [V]): at once where a line is encoded, else in `settle`."""

    def __init__(self, encoder: SentencePieceEncoder, scores: np.ndarray, counts: np.ndarray):
        self.encoder, self.counts = encoder, counts
        self.segmenter = Segmenter(encoder, scores)
        self._start()

    def _start(self) -> None:
        from vocap.unigram.word_table import WordTable

        self.words = WordTable(1)
        self.parts: list[tuple[np.ndarray, np.ndarray]] = []  # tokens of words, and how many each has
        self.cost = np.empty(0)
        self.reach = np.empty(0)

    def add(self, lines: list[str]) -> None:
        """Count the words of lines, and encode those lines whose words are not enough."""
        from vocap.unigram.given_pieces import count_lines
        from vocap.unigram.training_text import LINE_END

        normalised = self.encoder.processor.normalize(lines)
        if any(LINE_END in line for line in normalised):  # spaces that are not U+2581, of a model made elsewhere
            _add_encoded(self.encoder, lines, self.counts)
            return
        table, before = self.words, self.words.known
        words, ends = table.number(normalised)
        first, tokens, cost, reach = self.segmenter.segment(table.store, table.bounds, before, table.known)
        self.parts.append((tokens, np.diff(first)))
        if table.known > len(self.cost):  # more than needed, so that not every block copies them
            size = max(table.known, len(self.cost) * 5 // 4)
            self.cost, self.reach = np.resize(self.cost, size), np.resize(self.reach, size)
        self.cost[before : table.known], self.reach[before : table.known] = cost, reach
        left = count_lines(words, ends, self.cost, self.reach, table.counts)
        _add_encoded(self.encoder, [lines[number] for number in left.tolist()], self.counts)
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
