"""Training continued behind the merges of a tokenizer.json: the tokens that a further
language adds.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np
from tokenizers import Tokenizer

from vocap.bpe.model_file import BpeFile
from vocap.bpe.training import apply, merges_for
from vocap.bpe.words import Alphabet
from vocap.unigram.training_text import required_characters


@dataclass(frozen=True)
class Additions:
    """New `characters` first, then the tokens of `merges` (int32 [M, 3]), numbered as `names`.

    `base` symbols of `names` are characters, old and new; the first `known` names are
    those before the merges.
    """

    characters: list[str]
    names: list[str]
    merges: np.ndarray
    base: int
    known: int

    def __len__(self) -> int:
        return len(self.characters) + len(self.names) - self.known

    def first(self, count: int) -> tuple[list[str], list[tuple[str, str]]]:
        """The first `count` new tokens and the merges that a training for as many ends
        with.
        """
        characters = self.characters[:count]
        wanted = self.known + count - len(characters)
        pairs = []
        if len(characters) == len(self.characters):
            merges = merges_for(self.merges, wanted, self.known).tolist()
            pairs = [(self.names[a], self.names[b]) for a, b, _ in merges]
        return [*characters, *self.names[self.known : wanted]], pairs


def count_words(read: BpeFile, tokenizer: Tokenizer, blocks: Iterable[list[str]]) -> Counter[str]:
    """The words of a text, as the tokenizer normalises and cuts it, and their counts;
    added tokens are borders.
    """
    added = sorted((read.tokens[number] for number in read.added), key=len, reverse=True)
    borders = re.compile("|".join(map(re.escape, added))) if added else None
    normalizer, cutter = tokenizer.normalizer, tokenizer.pre_tokenizer
    words: Counter[str] = Counter()
    for line in chain.from_iterable(blocks):
        for part in borders.split(line) if borders else (line,):
            text = normalizer.normalize_str(part) if normalizer and part else part
            if text:
                words.update(
                    [word for word, _ in cutter.pre_tokenize_str(text)] if cutter else [text]
                )
    return words


def continue_training(
    read: BpeFile, words: Mapping[str, int], count: int, coverage: float
) -> Additions:
    """Up to `count` tokens more: each merge that of the most frequent pair of the
    words, after all old merges.

    Characters that are no tokens and belong to the most frequent ones that make up
    `coverage` of the text are tokens before all merges; others are borders. Words that
    are whole tokens stay so (`ignore_merges`). A merge that gives an old token from
    other parts adds no token.
    """
    vocabulary = read.definition["model"]["vocab"]
    if read.definition["model"].get("ignore_merges"):
        words = {word: times for word, times in words.items() if word not in vocabulary}
    # New characters
    single = [token for token in vocabulary if len(token) == 1]
    characters: Counter[str] = Counter()
    for word, times in words.items():
        for character in word:
            characters[character] += times
    known = {*single, *chain.from_iterable(read.tokens[number] for number in read.added)}
    new = [one for one in required_characters(characters, coverage) if one not in known]
    # Old merges, by the numbers of their parts
    names = [*single, *new[:count]]
    number = {name: place for place, name in enumerate(names)}
    base, given = len(names), []
    for a, b, result in read.merges.tolist():
        pair = number.get(read.tokens[a]), number.get(read.tokens[b])
        if None not in pair:  # else it is never applied
            given.append(pair)
            if number.setdefault(read.tokens[result], len(names)) == len(names):
                names.append(read.tokens[result])
    # New merges behind them
    begun = len(names)
    reserved = [token for token in read.tokens if token not in number]
    applied = apply(
        Alphabet("characters", tuple(names[:base]), 0),
        *_symbols(words, number),
        wanted=begun + count - len(new[:count]),
        given=np.array(given, np.int32).reshape(-1, 2),
        reserved=reserved,
    )
    merges = applied[len(given) :]
    for a, b, result in merges.tolist():
        if result == len(names):
            names.append(names[a] + names[b])
    return Additions(new[:count], names, merges, base, begun)


def _symbols(
    words: Mapping[str, int], number: Mapping[str, int]
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """The words, cut at unknown characters, as `Alphabet.symbols` gives them, and their
    counts, int64 [K, 2].
    """
    parts: Counter[str] = Counter()
    unknown = {character for word in words for character in word if character not in number}
    borders = re.compile("[" + "".join(map(re.escape, sorted(unknown))) + "]") if unknown else None
    for word, times in words.items():
        for part in borders.split(word) if borders else (word,):
            if len(part) > 1:
                parts[part] += times
    symbols = np.fromiter((number[character] for part in parts for character in part), np.int32)
    starts = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    counts = np.zeros((len(parts), 2), np.int64)
    counts[:, 0] = list(parts.values())
    return (symbols, starts), counts
