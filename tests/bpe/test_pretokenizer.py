"""Words before merging: those counted against the expression of `tokenizers`, and marks with their letters."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bpe.texts import CODE, LETTERS, blocks, cutter, made, pretokenization
from vocap.bpe.cutting import KEPT
from vocap.bpe.words import count_words


def words_of(lines: list[str], split: str, single: bool = False, **own) -> Counter[str]:
    """The words that `count_words` counts, with spaces as they were."""
    how = pretokenization("bytes", split, single, **own)
    words = count_words([blocks(lines)], how)
    text = "".join(map(chr, words.store.tolist()))
    found = Counter()
    for begin, end, count in zip(words.bounds[:-1], words.bounds[1:], words.counts[:, 0], strict=True):
        found[text[begin:end].replace("\u2581", " ").replace(KEPT, "\u2581")] += int(count)
    return found


def expected(lines: list[str], split: str, single: bool = False, **own) -> Counter[str]:
    """Those of the tokenizer, by their places in the line."""
    cut = cutter("bytes", split, single, **own)
    return Counter(line[begin:end] for line in lines for _, (begin, end) in cut.pre_tokenize_str(line))


@pytest.mark.parametrize("digits", [True, False], ids=["digits", "numbers"])
@pytest.mark.parametrize("split", ["words", "spaces"])
@pytest.mark.parametrize("script", [*LETTERS, "code"])
def test_words_are_those_of_the_expression(script, split, digits):
    lines = CODE if script == "code" else [*made(script, 60), *CODE]
    assert words_of(lines, split, digits) == expected(lines, split, digits)


ALPHABET = "aé1٣ \t\u00a0.'-\u0301\u200d\u0d4dക👍\ufe0f\r\u2581\ufdd1_<漢"


@given(st.lists(st.text(ALPHABET, max_size=12), min_size=1, max_size=4), st.booleans())
def test_words_of_any_text(lines, digits):
    assert words_of(lines, "words", digits) == expected(lines, "words", digits)


@given(st.text(ALPHABET, max_size=30), st.sampled_from(["words", "spaces"]), st.booleans())
def test_bytes_and_characters_are_cut_alike_and_nothing_is_lost(text, split, digits):
    if "\u2581" in text:
        return
    plain = [text[begin:end] for _, (begin, end) in cutter("bytes", split, digits).pre_tokenize_str(text)]
    assert "".join(plain) == text
    marked = [
        word for word, _ in cutter("characters", split, digits).pre_tokenize_str(text.replace(" ", "\u2581"))
    ]
    assert [word.replace(" ", "\u2581") for word in plain] == marked


@pytest.mark.parametrize("script", ["Malayalam", "Khmer", "Tamil", "Burmese", "Thai", "Arabic"])
def test_marks_stay_with_their_letters(script):
    """No word begins with a mark, unless the text does: GPT-2's expression cuts these scripts at every mark."""
    import unicodedata

    lines = made(script, 40)
    for line in lines:
        for word, (begin, _) in cutter("characters", "words").pre_tokenize_str(line):
            assert begin == 0 or line[begin - 1] == " " or not unicodedata.category(word[0]).startswith("M")


def test_a_space_goes_with_the_word_after_it():
    cut = cutter("characters", "words")
    text = "a▁bc▁▁▁d,▁12▁(e)▁"
    assert [word for word, _ in cut.pre_tokenize_str(text)] == [
        "a",
        "▁bc",
        "▁▁",
        "▁d",
        ",",
        "▁12",
        "▁(",
        "e",
        ")",
        "▁",
    ]
