"""The words of many languages, and one training with their weights, or for parity.

A pair counts the words of all languages, each as often as the lines of its language
count: no sample is drawn, and weights are integers, so sums and ties are the same on
every machine.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from vocap.bpe import words as counting
from vocap.bpe.training import (
    UNLIMITED,
    Execution,
    Groups,
    apply,
    check_weight,
    concatenate,
)
from vocap.errors import VocapError, log
from vocap.text_files.named_texts import reference_lines
from vocap.unigram.counts import CountableText

TRAIN = 0  # the first of the texts of a language's words; the second is parallel text


@dataclass(frozen=True)
class WeightedLanguage:
    """A language's words in its training lines and in its development lines of parallel text.

    `weight`: the number of times that a training line counts. `reference`: bytes of
    UTF-8 of the lines of the reference language that the development lines translate; 0
    without any.
    """

    code: str
    words: counting.Words
    weight: int
    reference: int = 0


def count_languages(
    sources: Mapping[str, CountableText],
    how: counting.Pretokenization,
    parallel: Mapping[str, Sequence[str]],
    memory: int | None = None,
) -> Iterator[WeightedLanguage]:
    """The languages of `sources`, of which the text named train counts, with the weight
    of their lines.

    `parallel`: aligned lines of each language that has some, empty where it has no
    translation. `memory`: as of `count_words`. Raises as `text_blocks`.
    """
    for code, source in sources.items():
        shared, size = reference_lines(parallel, code)
        texts = [partial(source.read, "train"), partial(iter, [shared])]
        words = counting.count_words(texts, how, source.counts, memory)
        log.info("%s: %d distinct words, %d parallel lines", code, len(words), len(shared))
        yield WeightedLanguage(code, words, source.weight, size)
        del words  # before the next ones are counted


def train_weighted(
    languages: Iterable[WeightedLanguage],
    alphabet: counting.Alphabet,
    wanted: int,
    reserved: Sequence[str],
    execution: Execution = UNLIMITED,
) -> np.ndarray:
    """The merges of one training on all languages, each line counting as often as its
    language weighs.

    Of an iterator, one language at a time is in memory.
    """
    words = counting.join(map(_weighted, languages), execution.memory)
    log.info("%d distinct words", len(words))
    symbols, counts = alphabet.symbols(words), words.counts.sum(1, keepdims=True)
    del words  # the training does not need them
    return apply(alphabet, symbols, counts, wanted, reserved=reserved, execution=execution)


def _weighted(language: WeightedLanguage) -> tuple[counting.Words, slice, np.ndarray]:
    """A part of `counting.join`: all words, each as often as their lines count."""
    counts = language.words.counts[:, TRAIN : TRAIN + 1]
    check_weight(float(counts.max(initial=0)) * language.weight)
    return language.words, slice(None), counts * language.weight


def train_parity(
    languages: Sequence[WeightedLanguage],
    alphabet: counting.Alphabet,
    wanted: int,
    reserved: Sequence[str],
    given: np.ndarray | None = None,
    window: int = 0,
    execution: Execution = UNLIMITED,
) -> np.ndarray:
    """Parity-aware merges: each is the most frequent pair of the language with the
    longest parallel text.

    `given`: merges before all others. With a `window`, no language has more than twice
    its share of the last `window` merges while others have pairs. Of equal pairs the
    one of the last tokens is merged, and length is counted in tokens a byte of the
    reference, of equal ones the first language's: on parallel text without gaps the
    rule of `ParityBpeTrainer`. Raises VocapError for a language without parallel text.
    """
    if without := [language.code for language in languages if not language.reference]:
        raise VocapError(
            "parity needs parallel text of every language, and there is none of "
            f"{', '.join(without)}; leave "
            "these languages out, or give their text (corpora.development)"
        )
    words = [language.words for language in languages]
    return apply(
        alphabet,
        concatenate(alphabet, words),
        np.concatenate([part.counts for part in words]),
        wanted,
        given=given,
        reserved=reserved,
        groups=Groups(
            np.repeat(np.arange(len(words), dtype=np.int32), list(map(len, words))),
            np.array([language.reference for language in languages], np.int64),
            window,
            by_text=True,
        ),
        execution=execution,
    )
