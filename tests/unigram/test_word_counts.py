"""Token counts over words against `encode`, line by line: equal in every id, whatever the model and the text."""

import functools
import random
from collections import Counter

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tokenizer_files.hostile import own_rules_model, parse, train_model
from tests.vocabularies.factories import ALPHABETS, make_text
from vocap.tokenizer_files.encoders import SentencePieceEncoder
from vocap.unigram import alp
from vocap.unigram.alp import corpus_alp

ODD = [
    "",
    " ",
    "a\u2581b \u2581 c\u2581\u2581d\u2581",
    "\u2581",
    "the \u2585 cat <unk> <s>x</s>",
    "a\0b\0 \0",
    "tab\tand\u3000wide\u00a8 spaces  here ",
    "\ufdfa \u00bd e\u0301",
    "\u200f\u05e9\u05dc\u05d5\u05dd",
    "\U0001f600\U0001f600 x\ue000",
    "ωψ ϟϟϟ ωψ",
    "word " * 3000,
    "unbroken" * 4000,
]


@pytest.fixture(autouse=True)
def no_text_is_small(monkeypatch):
    monkeypatch.setattr(alp, "SMALL", 0)


def encoder_of(model: bytes) -> SentencePieceEncoder:
    return SentencePieceEncoder(sentencepiece.SentencePieceProcessor(model_proto=model))


def changed(model: bytes, change) -> bytes:
    proto = parse(model)
    change(proto)
    return proto.SerializeToString()


def assert_counts(encoder, lines: list[str], block: int = 1000) -> None:
    counts, sentences = alp.count_by_words(
        encoder, [lines[start : start + block] for start in range(0, len(lines), block)]
    )
    expected = Counter(token for line in encoder.processor.encode(lines) for token in line)
    assert sentences == len(lines)
    assert {number: int(counts[number]) for number in np.flatnonzero(counts)} == dict(expected)


def encoded_lines(monkeypatch) -> list[str]:
    """The lines that are not settled by their words, as they come."""
    found: list[str] = []
    original = alp._add_encoded

    def record(encoder, lines, counts):
        found.extend(lines)
        original(encoder, lines, counts)

    monkeypatch.setattr(alp, "_add_encoded", record)
    return found


@pytest.mark.parametrize("script", sorted(ALPHABETS))
@pytest.mark.parametrize("size", [120, 400])
def test_counts_are_those_of_encode(script, size, monkeypatch):
    encoder = encoder_of(train_model(make_text(script, 400), size))
    lines = [*make_text(script, 300, seed=2), *ODD, *make_text("latin", 50)]
    encoded = encoded_lines(monkeypatch)
    assert_counts(encoder, lines, block=97)
    assert len(encoded) < len(lines) / 2  # made text has many scores alike; of real text, 1 line in 500 is encoded


def test_where_rounding_decides_lines_are_encoded(monkeypatch):
    """Scores with many equal sums, which float32 tells apart by what stands before the word."""
    pieces = ["\u2581", *"abcd", *(x + y for x in "abcd" for y in "abcd"), "abc", "bcd", "abcd"]

    def change(proto):
        del proto.pieces[3:]
        for piece in pieces:
            proto.pieces.add(piece=piece, score=-1.1 * len(piece), type=1)

    encoder = encoder_of(changed(train_model(), change))
    chooser = random.Random(1)
    lines = [
        " ".join("".join(chooser.choices("abcd", k=5)) for _ in range(chooser.randint(1, 80))) for _ in range(300)
    ]
    encoded = encoded_lines(monkeypatch)
    assert_counts(encoder, lines)
    assert len(encoded) == len(lines)


def test_scores_on_a_grid_need_no_encoding(monkeypatch):
    """As in our tokenizers: sums are exact, and ties are settled alike wherever a word stands."""

    def change(proto):
        for entry in proto.pieces[3:]:
            entry.score = round(entry.score * 4) / 4

    encoder = encoder_of(changed(train_model(size=300), change))
    lines = [*make_text("latin", 300, seed=4), *ODD[:-2]]
    encoded = encoded_lines(monkeypatch)
    assert_counts(encoder, lines)
    assert encoded == []


@functools.cache
def unlike() -> dict[str, bytes]:
    """Models whose lines are not made of words, or only with care."""
    text = make_text("latin", 200)
    plain = train_model(text)

    def score(number, value):
        return lambda proto: setattr(proto.pieces[number], "score", value)

    return {
        "bpe": train_model(text, model_type="bpe"),
        "char": train_model(text, 40, model_type="char"),
        "symbols": train_model(text, user_defined_symbols=["ab", "\u2581t"]),
        "byte fallback": train_model(text, 400, byte_fallback=True),
        "spaces inside": train_model(text, split_by_whitespace=False),
        "spaces behind": train_model(text, treat_whitespace_as_suffix=True),
        "no dummy prefix": train_model(text, add_dummy_prefix=False),
        "all spaces": train_model(text, remove_extra_whitespaces=False),
        "identity": train_model(text, normalization_rule_name="identity"),
        "other ids": train_model(text, unk_id=3, bos_id=0, eos_id=2, pad_id=1),
        "score above 0": changed(plain, score(9, 0.5)),
        "unused pieces": changed(plain, lambda proto: [setattr(p, "type", 5) for p in proto.pieces[10:40]]),
        "no lone space": changed(
            plain, lambda proto: [setattr(p, "piece", "zq") for p in proto.pieces if p.piece == "\u2581"]
        ),
    }


@pytest.mark.parametrize("name", unlike())
def test_other_models_are_counted_as_they_encode(name):
    assert_counts(encoder_of(unlike()[name]), [*make_text("latin", 100, seed=2), *ODD])


def test_a_model_with_rules_of_its_own(tmp_path):
    assert_counts(
        encoder_of(own_rules_model(tmp_path)), [*make_text("latin", 100), "abc ab\u3000A é пр " * 3, *ODD]
    )


def test_a_model_whose_rules_put_in_line_feeds(tmp_path):
    rules = tmp_path / "rules.tsv"
    rules.write_text("7C\tA\n")
    encoder = encoder_of(train_model(normalization_rule_tsv=str(rules)))
    assert encoder.processor.normalize("ab|cd") == "\u2581ab\ncd"
    lines = make_text("latin", 90, seed=3)
    lines[40] = "qz|zq known | words"
    assert_counts(encoder, lines, block=30)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet="abei \u2581\u3000\t\0é漢ωx\u0301", max_size=40), max_size=12))
def test_any_text(lines):
    lines = [line.replace("\n", " ") for line in lines]
    assert_counts(ENCODER, lines, block=5)


ENCODER = encoder_of(train_model(size=150))


def test_the_table_of_words_may_be_emptied_at_any_time(monkeypatch):
    monkeypatch.setattr(alp, "TABLE_CHARACTERS", 2000)
    assert_counts(ENCODER, make_text("latin", 400, seed=5), block=10)


def test_alp_has_the_same_digits_by_words(monkeypatch):
    lines = make_text("latin", 500, seed=6)
    by_words = corpus_alp(ENCODER, [lines])
    monkeypatch.setattr(alp, "SMALL", 1 << 40)
    assert corpus_alp(ENCODER, [lines]).alp == by_words.alp
