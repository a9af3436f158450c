"""Merges against `tokenizers`: the same training at several sizes, and the counts of
encoding at each.
"""

import json
import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from tests.bpe.texts import CODE, LETTERS, blocks, cutter, made, real, train_merges
from vocap.bpe.tokenizer_json import Rows, build_bpe
from vocap.bpe.training import (
    MAX_WEIGHT,
    Execution,
    Groups,
    apply,
    piece_candidates,
    token_names,
)
from vocap.bpe.words import (
    Pretokenization,
    byte_alphabet,
    byte_characters,
    count_words,
)
from vocap.errors import VocapError
from vocap.tokenizer_files.id_layout import XLM_R_LAYOUT
from vocap.unigram.text_settings import text_settings
from vocap.unigram.training_text import trainer_normalizer
from vocap.unigram.word_types import load_word_types

LANGUAGES = "am ar de en fi hi ja ka km ko ml my ru ta th zh"


def their_merges(lines: list[str], size: int, split: str) -> list[tuple[str, str]]:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = cutter(split, True)
    trainer = trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=sorted(byte_characters()), show_progress=False
    )
    tokenizer.train_from_iterator(lines, trainer)
    return [tuple(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]


def vocabulary(lines: list[str], size: int, words: Regex) -> list[str]:
    """Tokens by their ids, of a training by `tokenizers`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Split(words, "isolated")
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False)
    tokenizer.train_from_iterator(lines, trainer)
    return [tokenizer.id_to_token(number) for number in range(tokenizer.get_vocab_size())]


def our_merges(
    lines: list[str], size: int, split: str, memory: int | None = None
) -> list[tuple[str, str]]:
    how = Pretokenization(split, text_settings("lossless"))
    with pytest.MonkeyPatch.context() as patch:
        if memory:
            patch.setattr("vocap.bpe.words.AT_ONCE", 50)
        words, execution = count_words([blocks(lines)], how, memory=memory), Execution(memory)
        merges = train_merges(byte_alphabet(), words, size, execution=execution)
    names = token_names(byte_alphabet(), merges)
    return [(names[a], names[b]) for a, b, _ in merges.tolist()]


@pytest.mark.parametrize("split", ["words", "spaces"])
@pytest.mark.parametrize("script", [*LETTERS, "code"])
def test_merges_are_those_of_tokenizers(script, split):
    lines = CODE * 3 if script == "code" else made(script)
    ours = our_merges(lines, 1500, split)
    assert our_merges(lines, 1500, split, memory=1) == ours
    for size in (260, 500, 900, 1500):
        theirs = their_merges(lines, size, split)
        assert ours[: len(theirs)] == theirs
    assert len(ours) == len(theirs)


@pytest.mark.parametrize("language", LANGUAGES.split())
def test_merges_of_real_text(language):
    lines = real(language, 1000)
    ours = our_merges(lines, 6000, "words")
    for size in (300, 1000, 2000, 4000, 6000):
        theirs = their_merges(lines, size, "words")
        assert ours[: len(theirs)] == theirs


@given(st.lists(st.text("abc", min_size=1, max_size=9), min_size=1, max_size=12))
def test_merges_of_few_letters(lines):
    """Short words of few letters: pairs overlap, tie, and run out."""
    theirs = their_merges(lines, 300, "words")
    assert our_merges(lines, 300, "words") == theirs
    assert our_merges(lines, 300, "words", memory=1) == theirs


def test_a_noncharacter_of_the_text_is_learnt_as_itself():
    how = Pretokenization("words", text_settings("lossless"))
    words = count_words([blocks(["x\ufdd1\u2581 y\ufdd1"] * 9)], how)
    names = token_names(byte_alphabet(), train_merges(byte_alphabet(), words, 280))
    texts = {bytes(map(byte_characters().__getitem__, name)) for name in names}
    assert "\ufdd1".encode() in texts
    assert any(text.endswith("\ufdd1\u2581".encode()) for text in texts)


def test_no_merge_gives_a_reserved_name():
    lines = ["<s> <0x41> <s><s> x<s>y"] * 20
    how = Pretokenization("spaces", text_settings("lossless"))
    words, alphabet = count_words([blocks(lines)], how), byte_alphabet()
    rows = Rows(how, XLM_R_LAYOUT)
    free = token_names(alphabet, train_merges(alphabet, words, 400))
    names = token_names(alphabet, train_merges(alphabet, words, 400, rows.reserved))
    assert "<s>" in free
    assert not set(names[len(alphabet.names) :]) & set(rows.reserved)


def test_given_merges_are_applied_first():
    """Training on after the first merges gives those of one training."""
    how = Pretokenization("words", text_settings("lossless"))
    words, alphabet = count_words([blocks(made("Latin"))], how), byte_alphabet()
    whole = train_merges(alphabet, words, 900)
    assert (train_merges(alphabet, words, 900, given=whole[:200]) == whole).all()


@pytest.mark.parametrize("memory", [None, 1])
def test_weights_up_to_the_border_of_64_bits(memory):
    lines, execution = made("Latin", 100), Execution(memory)
    words = count_words([blocks(lines)], Pretokenization("words", text_settings("lossless")))
    _, starts = byte_alphabet().symbols(words)
    most = MAX_WEIGHT // int(np.diff(starts) @ words.counts[:, 0])
    heavy = replace(words, counts=words.counts * (most - 1))
    merges = train_merges(byte_alphabet(), heavy, 500, execution=execution)
    names = token_names(byte_alphabet(), merges)
    found = [(names[a], names[b]) for a, b, _ in merges.tolist()]
    assert found == their_merges(lines, 500, "words")
    with pytest.raises(VocapError, match="beyond 64 bits"):
        train_merges(byte_alphabet(), replace(words, counts=words.counts * (most + 1)), 500)


def test_parallel_text_whose_comparison_64_bits_do_not_hold_is_refused():
    words = np.array([0, 2, 4])
    groups = Groups(np.array([0, 1], np.int32), np.array([1 << 32, 1 << 20]))
    counts = np.array([[9, 1 << 28], [5, 1]])
    symbols = np.array([0, 1, 1, 1], np.int32)
    merges = apply(byte_alphabet(), (symbols.copy(), words), counts, 257, groups=groups)
    assert merges.tolist() == [[0, 1, 256]]  # of the first group: 2^29 / 2^32 > 2 / 2^20
    counts[0, 1] = 1 << 30
    with pytest.raises(VocapError, match="less parallel text"):
        apply(byte_alphabet(), (symbols, words), counts, 257, groups=groups)


def test_the_same_token_by_two_merges():
    """`aa` + `a` and `a` + `aa`: a pair that was merged before stands in the text
    again, and merges at once.
    """
    alphabet = byte_alphabet()
    a, b = (alphabet.names.index(letter) for letter in "ab")
    given = np.array([[a, a], [256, b], [a, 256], [256, a], [258, b]], np.int32)
    texts = [[a] * n + [b] * m for n in range(1, 9) for m in range(3)]
    symbols = np.concatenate([np.array(text, np.int32) for text in texts])
    starts = np.cumsum([0, *map(len, texts)])
    # texts that count differently, so that a merge that is not applied again changes
    # the next choice
    counts = np.array([[1 << place % 5, 0] for place in range(len(texts))], np.int64)
    merges = apply(alphabet, (symbols, starts), counts, 262, given=given)
    rows = Rows(Pretokenization("spaces", text_settings("lossless")), XLM_R_LAYOUT)
    tokenizer = build_bpe(alphabet, merges[: len(given)], rows)
    pairs = Counter()
    for text, (times, _) in zip(texts, counts.tolist(), strict=True):
        ids = tokenizer.encode(
            "".join(alphabet.names[one] for one in text), add_special_tokens=False
        ).tokens
        for pair in pairwise(ids):
            pairs[pair] += times
    names = token_names(alphabet, merges)
    a, b, _ = merges[len(given)].tolist()
    assert pairs[names[a], names[b]] == max(pairs.values())


def test_candidates_are_the_tokens_of_one_weighted_training():
    """By `tokenizers`, from lines that are repeated, and without the tokens that are
    too long for a piece.
    """
    texts = [made(script, 150) for script in ("Latin", "Thai")]
    settings = text_settings("xlm-r", max_sentencepiece_length=7)
    parts = [
        load_word_types({"train": blocks(lines)}, coverage=1.0, settings=settings)
        for lines in texts
    ]
    ours = piece_candidates(parts, [0.75, 0.25], 700)
    # letters with their marks, behind at most one space
    words = Regex("\u2581?[\\p{L}\\p{M}]+|\u2581")
    theirs = vocabulary(trainer_normalizer().normalize(texts[0] * 3 + texts[1]), 3000, words)
    assert len(ours) > 600  # of 714 tokens, those that are no longer than a piece may be
    assert ours == [token for token in theirs if 2 <= len(token) <= 7][: len(ours)]
    assert piece_candidates(parts, [0.75, 0.25], 200) == ours[:200]


def test_candidates_of_indented_text():
    """By `tokenizers`, of which each run of spaces leaves its last one to the word."""
    rng = random.Random(6)
    words = ("ab", "cab", "a", "bca")
    lines = [" " * rng.choice((0, 4, 8)) + " ".join(rng.choices(words, k=3)) for _ in range(200)]
    settings = text_settings("lossless")
    types = load_word_types({"train": blocks(lines)}, coverage=1.0, settings=settings)
    runs = Regex("\u2581+(?=\u2581[abc])|\u2581?[abc]+")
    theirs = vocabulary(trainer_normalizer(settings).normalize(lines), 40, runs)
    found = piece_candidates([types], [1.0], 30)
    assert found == [token for token in theirs if len(token) > 1][:30]
    assert {"\u2581" * 3, "\u2581" * 7, "\u2581cab"} <= set(found)
