"""The words of many languages, one training with their weights, and weights that follow
parallel text.

A pair counts the words of all languages, each as often as the lines of its language
count: no sample is drawn, and weights are integers, so sums and ties are the same on
every machine.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from vocap.bpe import words as counting
from vocap.bpe.training import (
    Groups,
    apply,
    check_weight,
    concatenate,
    count_merged_tokens,
    symbols_and_counts,
)
from vocap.errors import UsageError, VocapError, log
from vocap.tables.sampling_probabilities import fair_factors
from vocap.text_files.named_texts import reference_lines
from vocap.unigram.training_text import required_characters

# factor of the weights before those of parallel text are applied: they are rounded
# afterwards
FINE = 1 << 10
TRAIN, PARALLEL = 0, 1  # the texts of a language's words


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
    texts: Mapping[str, Callable[[], Iterable[list[str]]]],
    weights: Sequence[int],
    how: counting.Pretokenization,
    parallel: Mapping[str, Sequence[str]],
) -> list[WeightedLanguage]:
    """The languages of `texts` (training text, as functions that give its lines in
    blocks) with the weight of their lines.

    `parallel`: aligned lines of each language that has some, empty where it has no
    translation. Raises as `text_blocks`.
    """
    languages = []
    for (code, blocks), weight in zip(texts.items(), weights, strict=True):
        shared, size = reference_lines(parallel, code)
        words = counting.count_words([blocks, partial(iter, [shared])], how)
        languages.append(WeightedLanguage(code, words, weight, size))
        log.info("%s: %d distinct words, %d parallel lines", code, len(words), len(shared))
    return languages


def common_alphabet(
    languages: Sequence[WeightedLanguage], unit: str, coverage: float | None, required: str = ""
) -> counting.Alphabet:
    """The alphabet that holds, of unit characters, those which make up `coverage` of
    each language's text.
    """
    if unit == "bytes":
        return counting.byte_alphabet()
    totals, chosen = {}, {*required, counting.SPACE}
    for language in languages:
        counts = counting.weigh_characters(language.words, language.words.counts[:, TRAIN].copy())
        chosen.update(required_characters(counts, coverage))
        totals.update(counts)
    return counting.character_alphabet(totals, None, chosen)


def train_weighted(
    languages: Sequence[WeightedLanguage],
    alphabet: counting.Alphabet,
    wanted: int,
    reserved: Sequence[str],
    weights: Sequence[int] | None = None,
    **options: Any,
) -> np.ndarray:
    """The merges of one training on all languages, each line counting as often as its
    language weighs.
    """
    parts = []
    for language, weight in zip(
        languages, weights or [one.weight for one in languages], strict=True
    ):
        counts = language.words.counts[:, TRAIN : TRAIN + 1]
        check_weight(float(counts.max(initial=0)) * weight)
        parts.append((language.words, slice(None), counts * weight))
    words = counting.join(parts)
    log.info("%d distinct words of %d languages", len(words), len(languages))
    symbols, counts = symbols_and_counts(alphabet, words)
    del words, parts  # a sixth of the memory that the training takes
    return apply(alphabet, symbols, counts, wanted, reserved=reserved, **options)


def parallel_tokens(
    languages: Sequence[WeightedLanguage], alphabet: counting.Alphabet, merges: np.ndarray
) -> list[int]:
    """Tokens of each language's development lines, by `merges` (int32 [M, 3])."""
    words = [language.words for language in languages]
    return (
        next(count_merged_tokens(alphabet, words, PARALLEL, merges, [len(merges)]))
        .sum(axis=1)
        .tolist()
    )


def fair_weights(
    languages: Sequence[WeightedLanguage],
    weights: Sequence[int],
    tokens: Sequence[int],
    fairness: float,
) -> list[int]:
    """The weights times (x / mean of x)^fairness, x = tokens a byte of the reference;
    the others keep theirs.

    >>> from types import SimpleNamespace as Entry
    >>> entries = [Entry(reference=10), Entry(reference=10), Entry(reference=0)]
    >>> fair_weights(entries, [8, 8, 8], [2, 6, 0], 1)
    [4, 12, 8]
    """
    factors = fair_factors(tokens, [language.reference for language in languages], fairness)
    return [
        max(1, int((weight * factor).to_integral_value()))
        for weight, factor in zip(weights, factors, strict=True)
    ]


def train_fair(
    languages: Sequence[WeightedLanguage],
    alphabet: counting.Alphabet,
    wanted: int,
    reserved: Sequence[str],
    fairness: float,
    rounds: int,
    **options: Any,
) -> tuple[np.ndarray, list[int]]:
    """`train_weighted`, then `rounds` times again with `fair_weights`; the last merges,
    and their weights.

    Raises UsageError where no language has parallel text.
    """
    weights = [language.weight for language in languages]
    if fairness and not any(language.reference for language in languages):
        raise UsageError(
            "fairness follows parallel text, and no language has any; give --development PATTERN"
        )
    trained = train_weighted(languages, alphabet, wanted, reserved, **options)
    if not fairness:
        return trained, weights
    if without := [language.code for language in languages if not language.reference]:
        log.warning("without parallel text, so without a change of weight: %s", ", ".join(without))
    weights = [weight * FINE for weight in weights]
    for number in range(1, rounds + 1):
        tokens = parallel_tokens(languages, alphabet, trained)
        weights = fair_weights(languages, weights, tokens, fairness)
        log.info("round %d of fairness %g", number, fairness)
        trained = train_weighted(languages, alphabet, wanted, reserved, weights, **options)
    return trained, weights


def train_parity(
    languages: Sequence[WeightedLanguage],
    alphabet: counting.Alphabet,
    wanted: int,
    reserved: Sequence[str],
    given: np.ndarray | None = None,
    window: int = 0,
    progress: Callable[[int], None] = lambda tokens: None,
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
        progress=progress,
    )
