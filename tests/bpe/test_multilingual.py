"""Weights of languages, and parity against `ParityBpeTrainer`."""

import json
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, trainers

from tests.bpe.texts import LETTERS, blocks, cutter, made, real, train_merges
from tests.made_text import draw_sentences, write_lines
from vocap.bpe.cutting import Pretokenization
from vocap.bpe.multilingual import (
    WeightedLanguage,
    count_languages,
    train_parity,
    train_weighted,
)
from vocap.bpe.tokenizer_json import Rows
from vocap.bpe.training import Execution, token_names
from vocap.bpe.words import Words, byte_alphabet, byte_characters, count_words
from vocap.errors import VocapError
from vocap.text_files.text import text_blocks
from vocap.tokenizer_files.id_layout import XLM_R_LAYOUT
from vocap.unigram.counts import CountableText
from vocap.unigram.text_settings import text_settings

HOW = Pretokenization("words", text_settings("lossless"))
ALPHABET = byte_alphabet()
ROWS = Rows(HOW, XLM_R_LAYOUT)
SCRIPTS = ["Latin", "Cyrillic", "Malayalam", "Han"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    for script in SCRIPTS:
        write_lines(folder / f"{script}.txt", made(script, 200))
    return folder


def development(script: str, lines: int = 40) -> list[str]:
    space = "" if script == "Han" else " "
    return list(islice(draw_sentences(script, LETTERS[script], space), 200, 200 + lines))


def languages(
    folder: Path, weights=(1, 1, 1, 1), scripts=SCRIPTS, **parallel: list[str]
) -> list[WeightedLanguage]:
    texts = {script: development(script) for script in scripts} | parallel
    sources = {
        script: CountableText({"train": text_blocks(folder / f"{script}.txt")}, weight=weight)
        for script, weight in zip(scripts, weights, strict=False)
    }
    return list(count_languages(sources, HOW, texts))


def as_text(merges: np.ndarray) -> list[tuple[str, str]]:
    names = token_names(ALPHABET, merges)
    return [(names[a], names[b]) for a, b, _ in merges.tolist()]


def test_weights_are_lines_repeated(folder):
    merges = train_weighted(languages(folder, (3, 1, 2, 5)), ALPHABET, 900, ())
    lines = [
        line
        for script, weight in zip(SCRIPTS, (3, 1, 2, 5), strict=True)
        for line in (folder / f"{script}.txt").read_text("utf-8").splitlines() * weight
    ]
    repeated = train_merges(ALPHABET, count_words([blocks(lines)], HOW), 900)
    assert (merges == repeated).all()


def their_parity(
    train_texts: list[list[str]], dev_texts: list[list[str]], merges: int, **options
) -> list[tuple[str, str]]:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = cutter("words", True)
    trainer = trainers.ParityBpeTrainer(num_merges=merges, show_progress=False, **options)
    trainer.initial_alphabet = sorted(byte_characters())
    trainer.train_from_iterator(tokenizer, train_iterators=train_texts, dev_iterators=dev_texts)
    return [tuple(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]


@pytest.mark.parametrize("window", [0, 3, 20])
def test_parity_has_the_merges_of_tokenizers(folder, window):
    texts = [(folder / f"{script}.txt").read_text("utf-8").splitlines() for script in SCRIPTS]
    ours = train_parity(languages(folder), ALPHABET, 256 + 400, (), window=window)
    limited = Execution(memory=1)
    again = train_parity(languages(folder), ALPHABET, 256 + 400, (), None, window, limited)
    assert (again == ours).all()
    options = {"variant": "window", "window_size": window} if window else {}
    assert as_text(ours) == their_parity(
        texts, [development(script) for script in SCRIPTS], 400, **options
    )


def test_parity_of_real_text(tmp_path):
    codes = ["en", "de", "fi", "hi", "ja", "th"]
    texts = {code: real(code, 700) for code in codes}
    sources = {
        code: CountableText(
            {"train": text_blocks(write_lines(tmp_path / f"{code}.txt", lines[200:]))}
        )
        for code, lines in texts.items()
    }
    parallel = {code: lines[:200] for code, lines in texts.items()}
    ours = train_parity(list(count_languages(sources, HOW, parallel)), ALPHABET, 256 + 800, ())
    theirs = their_parity(
        [lines[200:] for lines in texts.values()], [lines[:200] for lines in texts.values()], 800
    )
    assert as_text(ours) == theirs


def test_parity_with_gaps_lowers_the_longest_text(folder):
    """By the definition: the most frequent pair of the language with most tokens a byte
    of the reference.
    """
    lines = {script: development(script) for script in SCRIPTS}
    lines["Cyrillic"] = [
        line if number % 3 else "" for number, line in enumerate(lines["Cyrillic"])
    ]
    found = languages(folder, **lines)
    merges = train_parity(found, ALPHABET, 256 + 60, ())
    texts = [
        [list(word.encode()) for line in lines[script] for word in _words(line)]
        for script in SCRIPTS
    ]
    trained = [
        [
            list(word.encode())
            for line in (folder / f"{script}.txt").read_text("utf-8").splitlines()
            for word in _words(line)
        ]
        for script in SCRIPTS
    ]
    symbol = {byte_characters()[name]: number for number, name in enumerate(ALPHABET.names)}
    texts, trained = (
        [[[symbol[b] for b in word] for word in text] for text in group]
        for group in (texts, trained)
    )
    for a, b, new in merges.tolist():
        lengths = [
            sum(map(len, text)) / one.reference for one, text in zip(found, texts, strict=True)
        ]
        worst = lengths.index(max(lengths))
        counts: dict[tuple[int, int], int] = {}
        for word in trained[worst]:
            for pair in pairwise(word):
                counts[pair] = counts.get(pair, 0) + 1
        assert counts[a, b] == max(counts.values())
        for group in (texts, trained):
            for text in group:
                text[:] = [_merge(word, a, b, new) for word in text]


def _words(line: str) -> list[str]:
    return [line[begin:end] for _, (begin, end) in cutter("words", True).pre_tokenize_str(line)]


def _merge(word: list[int], a: int, b: int, new: int) -> list[int]:
    out, at = [], 0
    while at < len(word):
        if word[at : at + 2] == [a, b]:
            out.append(new)
            at += 2
        else:
            out.append(word[at])
            at += 1
    return out


def test_first_merges_are_the_weighted_ones(folder):
    found = languages(folder)
    weighted = train_weighted(found, ALPHABET, 256 + 100, ())
    limited = Execution(memory=1)
    merges = train_parity(found, ALPHABET, 256 + 200, (), weighted[:100], execution=limited)
    assert (merges == train_parity(found, ALPHABET, 256 + 200, (), weighted[:100])).all()
    assert (merges[:100] == weighted).all()
    assert len(merges) == 200


def test_gaps_count_on_neither_side(folder):
    """A line that one language lacks is left out of its text and of the reference's."""
    full = development("Cyrillic")
    gaps = [line if number % 3 else "" for number, line in enumerate(full)]
    found = languages(folder, Cyrillic=gaps)
    index = SCRIPTS.index("Cyrillic")
    best = max(
        sorted(SCRIPTS),
        key=lambda script: sum(map(bool, gaps if script == "Cyrillic" else development(script))),
    )
    assert found[index].reference == sum(
        len(line.encode()) for own, line in zip(gaps, development(best), strict=True) if own
    )


def test_weights_beyond_64_bits_are_refused():
    words = Words(np.array([97, 98], np.int32), np.array([0, 2]), np.array([[1 << 40]]))
    with pytest.raises(VocapError, match="smaller weights"):
        train_weighted([WeightedLanguage("en", words, 1 << 30)], ALPHABET, 300, ())
