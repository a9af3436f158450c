"""Training continued behind the merges of a tokenizer.json: the tokens that a further
language adds.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
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

    def only(self, is_wanted: Callable[[str], bool], count: int) -> tuple["Additions", list[str]]:
        """The first `count` of these tokens that are wanted or parts of such ones, with
        their merges; and the tokens that are left out before the last of them.

        A merge that is left out is not applied inside a token that stays, so that the
        merges of this token give it as before.
        """
        parts: dict[int, list[int]] = {}  # of each token: those of its first merge
        for a, b, result in self.merges.tolist():
            parts.setdefault(result, [a, b])
        kept: set[int] = set()
        left = count - len(self.characters)
        for token in range(self.known, len(self.names)):
            if len(kept) == left:
                break
            if is_wanted(self.names[token]):
                further, open_ones = set(), [token]
                while open_ones:
                    one = open_ones.pop()
                    if one >= self.known and one not in kept and one not in further:
                        further.add(one)
                        open_ones += parts[one]
                if len(kept) + len(further) <= left:
                    kept |= further
        order = [*range(self.known), *sorted(kept)]
        number = np.full(len(self.names), -1, np.int32)
        number[order] = range(len(order))
        merges = number[self.merges.reshape(-1, 3)]
        left_out = [
            self.names[token]
            for token in range(self.known, max(kept, default=self.known))
            if token not in kept
        ]
        names = [self.names[token] for token in order]
        merges = merges[(merges >= 0).all(axis=1)]
        return Additions(self.characters, names, merges, self.base, self.known), left_out


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
    read: BpeFile,
    words: Mapping[str, int],
    count: int,
    coverage: float,
    is_wanted: Callable[[str], bool],
) -> tuple[Additions, list[str]]:
    """Up to `count` tokens more that are wanted, or parts of such; and those left out.

    Each merge is that of the most frequent pair of the words, after all old merges;
    training goes on until as many of its tokens are wanted, or the text has no more.
    """
    asked = count
    while True:
        trained, foreign = _train(read, words, asked, coverage, is_wanted)
        kept, left_out = trained.only(is_wanted, count)
        if len(kept) == count or len(trained) < asked:
            return kept, foreign + left_out
        asked += 2 * (count - len(kept))


def _train(
    read: BpeFile,
    words: Mapping[str, int],
    count: int,
    coverage: float,
    is_wanted: Callable[[str], bool],
) -> tuple[Additions, list[str]]:
    """`count` tokens of the most frequent pairs, wanted or not; and the characters that
    are not wanted.

    Characters that are no tokens and belong to the most frequent ones that make up
    `coverage` of the text are tokens before all merges, where they are wanted; others
    are borders. Words that are whole tokens stay so (`ignore_merges`). A merge that
    gives an old token from other parts adds no token.
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
    lacking = [one for one in required_characters(characters, coverage) if one not in known]
    new = [one for one in lacking if is_wanted(one)]
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
        Alphabet(tuple(names[:base])),
        *_symbols(words, number),
        wanted=begun + count - len(new[:count]),
        given=np.array(given, np.int32).reshape(-1, 2),
        reserved=reserved,
    )
    merges = applied[len(given) :]
    for a, b, result in merges.tolist():
        if result == len(names):
            names.append(names[a] + names[b])
    foreign = [one for one in lacking if not is_wanted(one)]
    return Additions(new[:count], names, merges, base, begun), foreign


def _symbols(
    words: Mapping[str, int], number: Mapping[str, int]
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """The words, cut at unknown characters, as `Alphabet.symbols` gives them, and their
    counts, int64 [K, 1].
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
    return (symbols, starts), np.array(list(parts.values()), np.int64).reshape(-1, 1)
