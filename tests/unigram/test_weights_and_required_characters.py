"""Lines that count several times and required characters: models with the bytes of
SentencePiece's.
"""

import random
from functools import partial

import pytest

from tests.unigram.test_against_sentencepiece import ALPHABETS, make_text, reference
from vocap.unigram.counts import CountableText
from vocap.unigram.ladder import train_sizes
from vocap.unigram.text_settings import TextSettings
from vocap.unigram.training_text import character_counts, required_characters
from vocap.unigram.word_types import count_word_types, load_word_types

SIZES = [60, 100, 150, 400]
WEIGHTS = {"latin": 3, "thai": 7, "devanagari": 1}
TEXTS = {script: make_text(*ALPHABETS[script], 150) for script in WEIGHTS}
TEXTS["latin"][3] += " <s>abc<unk> d"  # a line with the names of rows in it
TEXTS["thai"][4] += "\u2585"  # a line that is not trained on


def requiring(characters: str) -> TextSettings:
    return TextSettings(required_chars=characters)


def weighted_words(
    weights: dict[str, int], coverage: float | None = 0.9995, required_chars: str = ""
):
    sources = [
        CountableText(
            {"train": partial(iter, [TEXTS[script][:70], TEXTS[script][70:]])}, weight=weight
        )
        for script, weight in weights.items()
    ]
    return count_word_types(sources, coverage, settings=requiring(required_chars))


def models(words, sizes, coverage=0.9995, threads=1) -> dict[int, bytes | str]:
    rungs = train_sizes(words, sizes, coverage, threads)
    return {rung.point.size: rung.model or rung.point.status for rung in rungs}


def references(lines, sizes, coverage=0.9995, required_chars="") -> dict[int, bytes | str]:
    return {size: reference(lines, size, coverage, required_chars=required_chars) for size in sizes}


def test_a_weight_gives_the_model_of_the_text_with_each_line_so_often():
    repeated = [line for script, weight in WEIGHTS.items() for line in TEXTS[script] * weight]
    random.Random(1).shuffle(repeated)  # neither has an order of lines or languages any say
    words = weighted_words(WEIGHTS)
    found = models(words, SIZES)
    assert found == references(repeated, SIZES)
    assert sum(isinstance(model, bytes) for model in found.values()) >= 3


def test_order_of_languages_and_number_of_threads_change_no_byte():
    backwards = dict(reversed(WEIGHTS.items()))
    assert models(weighted_words(WEIGHTS), SIZES) == models(
        weighted_words(backwards), SIZES, threads=2
    )


ABSENT = "\u10d0\u4e00\U0001f600"
REQUIRED = {
    "rare ones": "\u2603191",
    "all that there are": "".join(character_counts([TEXTS["latin"]])),
    "absent ones": ABSENT,
    "absent and rare ones": f"\u2603{ABSENT}b",
    "coverage is passed among them": "abdegiklmnoprstu\u2581\u26039" + ABSENT,
    "a tab, NUL, one twice": "\t\0\u2603\u2603",
}


@pytest.mark.parametrize("coverage", [0.98, 0.9995, 1.0])
@pytest.mark.parametrize("name", REQUIRED)
def test_required_characters_are_those_of_sentencepiece(name, coverage):
    lines, required_chars = TEXTS["latin"], REQUIRED[name]
    words = load_word_types(
        {"train": lambda: [lines]}, coverage=coverage, settings=requiring(required_chars)
    )
    sizes = [len(words.required) + 2, len(words.required) + 3, 80, 300]
    found = models(words, sizes, coverage)
    assert found == references(lines, sizes, coverage, required_chars)
    assert sum(isinstance(model, bytes) for model in found.values()) >= 2


def test_required_characters_of_weighted_text():
    """Absent characters that held-out text holds are pieces there; coverage is that of
    the weighted text.
    """
    required_chars = "\u2603" + ABSENT + "".join(ALPHABETS["thai"][0])
    repeated = [line for script, weight in WEIGHTS.items() for line in TEXTS[script] * weight]
    words = weighted_words(WEIGHTS, 0.99, required_chars)
    assert models(words, SIZES, 0.99) == references(repeated, SIZES, 0.99, required_chars)


def test_without_a_coverage_the_required_characters_are_all():
    lines = TEXTS["latin"]
    required_chars = "abdeg\u2603\u2581" + ABSENT
    words = load_word_types(
        {"train": lambda: [lines]}, coverage=None, settings=requiring(required_chars)
    )
    assert set(words.required) == set(required_chars)
    assert [words.required[one] for one in ABSENT] == [0, 0, 0]
    assert list(words.required) == required_characters(
        character_counts([lines]), None, required_chars
    )
    # SentencePiece takes the same ones of a text in which all others are too rare for
    # its coverage.
    present = "abdeg\u2581"
    chooser = random.Random(2)
    rest = ["".join(chooser.choices("abdeg ", k=60)) for _ in range(300)] + ["z"]
    words = load_word_types({"train": lambda: [rest]}, coverage=None, settings=requiring(present))
    assert models(words, [40, 60], 0.9995) == references(rest, [40, 60], 0.9995, present)


def test_text_without_any_required_character_is_no_text():
    words = load_word_types({"train": lambda: [["abc"]]}, coverage=None, settings=requiring(ABSENT))
    assert models(words, [10]) == {10: "no text: symbols only"}


def test_of_equally_frequent_characters_those_of_the_lower_code_points_are_required():
    lines = [
        "".join(chr(0x4E00 + number) for number in range(start, 2000, 7)) for start in range(7)
    ]
    words = load_word_types({"train": lambda: [lines]}, coverage=0.98)
    size = len(words.required) + 3
    assert 1950 < size < 2000
    assert models(words, [size], 0.98) == references(lines, [size], 0.98)
