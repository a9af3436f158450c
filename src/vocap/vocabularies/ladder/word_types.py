"""A corpus as weighted word types: what the trainer's EM sees, and what ALP is counted on.

A word type is a stretch of normalised text that begins with U+2581 and holds no other. The trainer's lattices
never cross U+2581 (`TrainerInterface::SplitSentencesByWhitespace`), and no piece does, so a corpus is its types
and how often each occurs.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import repeat

import numpy as np

from vocap.vocabularies.characters import (
    COVERAGE,
    META_PIECES,
    RESERVED,
    SEPARATOR,
    is_trainable,
    required_characters,
    trainer_normalizer,
)

SPACE = "\u2581"
_LAST = "\n"  # marks a type that ends a line, while counting; normalised text holds no line feed
_META = re.compile("|".join(map(re.escape, META_PIECES)))


@dataclass(frozen=True)
class WordTypes:
    """T word types, the `trained` ones first by (count descending, text ascending), as EM adds them up.

    `inside` and `last` int64 [T]: occurrences in the training lines before another word, and at a line's end; 0
    for types from `trained` on, which stand only in lines that the trainer skips or in held-out text. `counts`
    maps the name of a text to its occurrences int64 [T] as `encode` sees it, `sentences` to its number of lines.
    `required`: the characters that must be pieces, with counts, most frequent first.
    """

    types: list[str]
    trained: int
    inside: np.ndarray
    last: np.ndarray
    counts: dict[str, np.ndarray]
    sentences: dict[str, int]
    required: dict[str, int]

    @property
    def frequencies(self) -> np.ndarray:
        """Occurrences of the trained types in the training lines, int64 [trained]."""
        return (self.inside + self.last)[: self.trained]


def load_word_types(
    texts: dict[str, Callable[[], Iterable[list[str]]]], train: str = "train", coverage: float = COVERAGE
) -> WordTypes:
    """Count the word types of texts, each a function that gives blocks of lines; `train` names the trained one.

    `TrainerInterface::LoadSentences` and `SplitSentencesByWhitespace`. A character that is not required is
    replaced by U+2585 in every text, as it has no piece.
    """
    encoded, trained, sentences = _count_texts(texts, train, cut=True)
    characters = _count_characters(trained)
    required = {character: characters[character] for character in required_characters(characters, coverage)}
    if SPACE not in required:  # a text almost without spaces: U+2581 is replaced too, so a line is one word
        encoded, trained, sentences = _count_texts(texts, train, cut=False)
    same = trained is encoded[train]
    encoded = {name: _replace_rare(words, required) for name, words in encoded.items()}
    trained = encoded[train] if same else _replace_rare(trained, required)
    return _arrange(trained, encoded, sentences, required)


def _count_texts(texts, train: str, cut: bool) -> tuple[dict[str, Counter[str]], Counter[str], dict[str, int]]:
    """The words of every text as encoded, those trained on, and the number of lines."""
    encoded: dict[str, Counter[str]] = {}
    sentences: dict[str, int] = {}
    trained: Counter[str] = Counter()
    for name, blocks in texts.items():
        encoded[name], difference, sentences[name] = _count_words(blocks(), cut)
        if name == train:
            trained = encoded[name]
            if difference:
                trained = Counter(trained)
                trained.update(difference)
                trained = Counter({word: count for word, count in trained.items() if count})
    return encoded, trained, sentences


def _count_words(blocks: Iterable[list[str]], cut: bool) -> tuple[Counter[str], Counter[str], int]:
    """Words of all lines as encoded; the difference (+ and -) that makes them the words trained on; lines."""
    normalizer = trainer_normalizer()
    words: Counter[str] = Counter()
    difference: Counter[str] = Counter()
    number = 0
    for lines in blocks:
        number += len(lines)
        normalised = normalizer.normalize(lines)
        words.update(_split(normalised, cut))
        for raw, line in zip(lines, normalised, strict=True):
            if not line:
                continue
            if not is_trainable(raw):
                difference.subtract(_split([line], cut))
            elif "<" in line and _META.search(line):
                difference.subtract(_split([line], cut))
                difference.update(_split([_META.sub(SEPARATOR, line)], cut))
    return words, difference, number


def _split(lines: list[str], cut: bool) -> list[str]:
    """`SplitIntoWords`: cut before each U+2581; a line's last word carries a mark."""
    lines = [line for line in lines if line]
    if not cut:
        return [line + _LAST for line in lines]
    # One replacement and one split for the whole block; normalised text has no space, lines begin with U+2581.
    words = (_LAST.join(lines) + _LAST).replace(SPACE, " " + SPACE).split(" ") if lines else [""]
    return words[1:] if not words[0] else words


def _count_characters(words: Counter[str]) -> Counter[str]:
    """How often each character occurs; a line's mark and NUL are none."""
    points = np.frombuffer("".join(words).encode("utf-32-le"), np.uint32)
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    occurrences = np.repeat(np.fromiter(words.values(), np.int64, len(words)), lengths)
    totals = np.bincount(points, occurrences)  # float64: exact, as all sums stay below 2^53
    counts = Counter({chr(point): int(totals[point]) for point in np.flatnonzero(totals).tolist()})
    for ignored in (_LAST, "\0"):
        counts.pop(ignored, None)
    return counts


def _replace_rare(words: Counter[str], required: dict[str, int]) -> Counter[str]:
    """The words with U+2585 for every character that is not required; words that become equal are one."""
    rare = "".join(sorted(set("".join(words)) - required.keys() - {_LAST}))
    if not rare:
        return words
    pattern = re.compile(f"[{re.escape(rare)}]")
    replaced = Counter(words)
    for word in words:
        if pattern.search(word):
            count = replaced.pop(word)
            replaced[pattern.sub(RESERVED, word)] += count
    return replaced


def _arrange(trained, encoded, sentences, required) -> WordTypes:
    inside = {word: count for word, count in trained.items() if word[-1] != _LAST}
    last = {word[:-1]: count for word, count in trained.items() if word[-1] == _LAST}
    order = sorted(inside.keys() | last.keys())
    by_count = np.argsort(-(_array(inside, order) + _array(last, order)), kind="stable")
    order = [order[index] for index in by_count.tolist()]
    known = len(order)
    counts = {}
    for name, words in encoded.items():
        counts[name] = {}
        for word, count in words.items():
            word = word.removesuffix(_LAST)
            counts[name][word] = counts[name].get(word, 0) + count
    order += sorted(set().union(*counts.values()) - inside.keys() - last.keys())
    return WordTypes(
        types=order,
        trained=known,
        inside=_array(inside, order),
        last=_array(last, order),
        counts={name: _array(words, order) for name, words in counts.items()},
        sentences=sentences,
        required=required,
    )


def _array(counts: dict[str, int], words: list[str]) -> np.ndarray:
    """The count of each word, 0 where it has none, int64."""
    return np.fromiter(map(counts.get, words, repeat(0)), np.int64, len(words))
