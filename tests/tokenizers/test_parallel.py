"""Premiums and inequality on parallel text."""

import itertools
import lzma
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import commands
from vocap.files.io import read_tsv
from vocap.tables.line_bits import GAP, LINE_TOKENS, read_lengths
from vocap.tokenizers.commands import evaluate
from vocap.tokenizers.evaluation import PARALLEL_COLUMNS, gini

from .scripts import WORDS, model, processor


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=12).filter(any))
def test_gini_is_half_the_relative_mean_difference(values):
    pairs = [abs(one - other) for one, other in itertools.product(values, repeat=2)]
    expected = sum(pairs) / len(pairs) / (2 * sum(values) / len(values))
    assert gini(values) == pytest.approx(expected, abs=1e-12)
    assert gini([3 * value for value in values]) == pytest.approx(gini(values), abs=1e-12)


@pytest.fixture
def made(tmp_path):
    """A model, held-out lines of three languages, and parallel text of two of them."""
    (tmp_path / "sentencepiece.model").write_bytes(model().SerializeToString())
    for language in ("el", "en", "hi"):
        (tmp_path / "corpora" / language).mkdir(parents=True)
        (tmp_path / "corpora" / language / "heldout.txt").write_text("x y\n")
    for language in ("en", "hi"):
        with lzma.open(tmp_path / f"{language}.xz", "wt", encoding="utf-8", newline="\n") as file:
            file.write("".join(f"{word}\n" for word in WORDS[language][:6]))
    return tmp_path


def write_aligned(root, texts):
    for language, lines in texts.items():
        with lzma.open(root / f"{language}.xz", "wt", encoding="utf-8", newline="\n") as file:
            file.write("".join(f"{line}\n" for line in lines))


def run(root):
    paths = ("--tokenizer", f"t={root}/sentencepiece.model", "--corpora", f"{root}/corpora")
    return commands.run(evaluate, *paths, "--parallel", f"{root}/{{lang}}.xz", "--tables", root)


def unknown_of(processor, lines):
    """The unknown tokens of lines, and the bytes that they stand for."""
    pieces = [
        one
        for line in lines
        for one in zip(processor.encode(line), processor.encode(line, out_type=str), strict=True)
    ]
    lost = [piece for number, piece in pieces if number == processor.unk_id()]
    return len(lost), len("".join(lost).encode())


@pytest.mark.parametrize("seed", range(4))
def test_each_language_is_compared_with_english_on_the_lines_of_both(made, seed, caplog):
    draw = random.Random(seed)
    texts = {
        language: [draw.choice(WORDS[language]) for _ in range(40)]
        for language in ("el", "en", "hi")
    }
    for lines in texts.values():
        for number in range(len(lines)):
            if draw.random() < 0.3:
                lines[number] = draw.choice(["", " ", "\u3000"])
    if seed == 0:  # the two have nothing in common
        texts["el"] = ["" if line.strip() else "x" for line in texts["en"]]
    write_aligned(made, texts)
    shown = run(made)
    own = processor(model())
    counted = read_lengths(made / "t" / "bits.npz", LINE_TOKENS)
    ratios = []
    rows = {row["language"]: row for row in read_tsv(made / "t" / "parallel.tsv", PARALLEL_COLUMNS)}
    assert list(rows) == ["el", "en", "hi"]
    for language, row in rows.items():
        both = [
            (a, b)
            for a, b in zip(texts[language], texts["en"], strict=True)
            if a.strip() and b.strip()
        ]
        for line, count in zip(texts[language], counted[language].tolist(), strict=True):
            lost, size = unknown_of(own, [line])
            assert count == (len(own.encode(line)) - lost + size if line.strip() else GAP)
        tokens, english = (sum(len(own.encode(pair[side])) for pair in both) for side in (0, 1))
        unknown = [unknown_of(own, (pair[side] for pair in both)) for side in (0, 1)]
        assert (int(row["unknown_tokens"]), int(row["unknown_bytes"])) == unknown[0]
        paid, base = (
            count - lost + size
            for count, (lost, size) in zip((tokens, english), unknown, strict=True)
        )
        assert (int(row["lines"]), int(row["tokens"])) == (len(both), tokens)
        assert int(row["english_tokens"]) == english
        assert row["ratio_to_english"] == (repr(tokens / english) if both else "")
        assert row["ratio_with_bytes"] == (repr(paid / base) if both else "")
        ratios += [paid / base] if both else []
    assert f"{gini(ratios):.4f}" in shown
    assert ("el.xz: no line in common with English" in caplog.text) == (seed == 0)


def test_without_english_there_are_no_ratios(made):
    (made / "en.xz").unlink()
    write_aligned(made, {"el": ["α β", "", "γ"], "hi": ["क", "ख", ""]})
    shown = run(made)
    own = processor(model())
    rows = list(read_tsv(made / "t" / "parallel.tsv", PARALLEL_COLUMNS))
    tokens = [sum(map(len, own.encode(lines))) for lines in (["α β", "γ"], ["क", "ख"])]
    assert [(row["language"], row["lines"], int(row["tokens"])) for row in rows] == [
        ("el", "2", tokens[0]), ("hi", "2", tokens[1])
    ]  # fmt: skip
    assert all(
        row["ratio_to_english"] == row["english_tokens"] == row["ratio_with_bytes"] == ""
        for row in rows
    )
    # Of the six letters one has no piece
    assert [row["unknown_bytes"] for row in rows] == ["2", "0"]
    assert f"{gini([tokens[0] + 1, tokens[1]]):.4f}" in shown


def test_text_of_gaps_alone(made, caplog):
    write_aligned(made, {"en": [""] * 3, "hi": ["x"] * 3})
    shown = run(made)
    assert shown.split("\n")[2].split()[2:6] == ["-", "-", "-", "-"]
    rows = list(read_tsv(made / "t" / "parallel.tsv", PARALLEL_COLUMNS))
    assert [tuple(row.values()) for row in rows] == [
        (code, "0", "0", "", "0", "0", "", "0", "0", "") for code in ("en", "hi")
    ]
    assert "hi.xz: no line in common with English" in caplog.text
