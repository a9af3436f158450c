"""Every column against its definition, computed naively from SentencePiece's own
pieces.
"""

import math
import random
import re
from collections import Counter

import numpy as np
import pytest
from sentencepiece import SentencePieceProcessor

from tests import commands
from tests.made_text import write_lines
from tests.tokenizers.factories import byte_tokenizer
from vocap.files.io import read_tsv
from vocap.tables.line_bits import read_lengths
from vocap.tokenizer_files.encoders import HuggingFaceEncoder, load_encoder
from vocap.tokenizer_files.splitting import Splitter
from vocap.tokenizers.commands import evaluate
from vocap.tokenizers.evaluation import COLUMNS, MEASURES, Tally, renyi_efficiency
from vocap.unigram.usage import cells

from .scripts import WORDS, make_lines, write_forms
from .test_bigram import direct_bits

LANGUAGES = ("en", "th")


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    root = tmp_path_factory.mktemp("evaluation")
    write_forms(root / "tokenizer")
    lines = make_lines(400, seed=12)
    for language, part in zip(LANGUAGES, (lines[:250], lines[250:]), strict=True):
        (root / "corpora" / language).mkdir(parents=True)
        chooser = random.Random(language)
        numbers = ("".join(chooser.choices("123", k=chooser.randint(1, 9))) for _ in part)
        text = "".join(
            f"{line} \U00012000 {WORDS[language][0]} x{n}.{n} {n}\n"
            for line, n in zip(part, numbers, strict=True)
        )
        (root / "corpora" / language / "heldout.txt").write_text(text, encoding="utf-8")
    write_lines(root / "corpora" / "en" / "train.txt", make_lines(300, seed=13))  # th has none
    return root


def run(root, tokenizer, tables, *options):
    arguments = (
        "--tokenizer",
        f"t={root / tokenizer}",
        "--corpora",
        root / "corpora",
        "--tables",
        tables,
    )
    commands.run(evaluate, *arguments, *options)
    return list(read_tsv(tables / "t" / "evaluation.tsv", COLUMNS))


def naive(path, processor, spaces):
    """The definitions, word for word."""
    lines = path.read_text(encoding="utf-8").splitlines()
    pieces = [processor.id_to_piece(ids) for ids in map(processor.encode, lines)]
    flat = [piece for line in pieces for piece in line]
    probability = {piece: flat.count(piece) / len(flat) for piece in set(flat)}
    size = processor.get_piece_size()
    words = [word for line in lines for word in line.split()]

    def is_whole(word):
        return len(processor.encode(word)) == 1

    return {
        "lines": len(lines),
        "alp": sum(sum(math.log(probability[piece]) for piece in line) for line in pieces)
        / len(lines),
        "tokens_per_sentence": len(flat) / len(lines),
        "tokens_per_word": len(flat) / sum(len(line.split()) for line in lines) if spaces else None,
        "chars_per_token": sum(map(len, lines)) / len(flat),
        "bytes_per_token": sum(len(line.encode()) for line in lines) / len(flat),
        "unk_rate": flat.count("<unk>") / len(flat),
        "vocabulary_used": len(set(flat)) / size,
        "renyi": math.log(sum(p**2.5 for p in probability.values())) / (1 - 2.5) / math.log(size),
        "single_char_share": sum(len(piece.replace("▁", "")) == 1 for piece in flat) / len(flat),
        "whole_words": sum(map(is_whole, words)) / len(words) if spaces else None,
        "digits_per_token": sum(map(count_digits, flat))
        / sum(count_digits(piece) > 0 for piece in flat),
        "numbers_alike": alike(
            processor, [n for line in lines for n in re.findall("[0-9]+", line)]
        ),
        "broken_utf8": 0,
        "changed_lines": sum(
            processor.unk_id() not in ids and processor.decode(ids) != line
            for line, ids in zip(lines, map(processor.encode, lines), strict=True)
        )
        / len(lines),
    }


def count_digits(piece):
    return len(re.findall("[0-9]", piece))


def alike(processor, numbers):
    """The share of numbers of two to eight digits, all known, that are cut as most of
    as many digits are.
    """
    numbers = [number for number in numbers if 2 <= len(number) <= 8]
    cuts = {
        number: tuple(
            filter(None, map(count_digits, processor.id_to_piece(processor.encode(number))))
        )
        for number in numbers
    }
    numbers = [number for number in numbers if sum(cuts[number]) == len(number)]
    most = 0
    for length in range(2, 9):
        most += max(
            Counter(cuts[number] for number in numbers if len(number) == length).values(), default=0
        )
    return most / len(numbers)


@pytest.mark.parametrize("tokenizer", ["tokenizer/sentencepiece.model", "tokenizer/huggingface"])
def test_columns(corpora, tmp_path, tokenizer):
    rows = run(corpora, tokenizer, tmp_path)
    assert [(row["language"], row["resource"]) for row in rows] == [("en", "high"), ("th", "high")]
    processor = SentencePieceProcessor(
        model_file=str(corpora / "tokenizer" / "sentencepiece.model")
    )
    for row in rows:
        path = corpora / "corpora" / row["language"] / "heldout.txt"
        expected = naive(path, processor, spaces=row["language"] == "en")
        for column, value in expected.items():
            if value is None:
                assert row[column] == ""
            else:
                assert float(row[column]) == pytest.approx(value, rel=1e-12), column
    unknown = list(read_tsv(tmp_path / "t" / "unknown.tsv", ("language", "character", "count")))
    # bits, with those of unknown characters
    train, heldout = (
        (corpora / "corpora" / "en" / f"{part}.txt").read_text("utf-8").split("\n")[:-1]
        for part in ("train", "heldout")
    )
    bits = math.fsum(
        direct_bits(processor.encode(train), processor.encode(heldout), processor.get_piece_size())
    )
    lost = [
        (row["character"].encode(), int(row["count"])) for row in unknown if row["language"] == "en"
    ]
    bits += 8 * sum(len(character) * count for character, count in lost)
    size = sum(len(line.encode()) for line in heldout)
    assert float(rows[0]["bigram_bits_per_byte"]) == pytest.approx(bits / size, rel=1e-12)
    used = {number for line in train for number in processor.encode(line)}
    assert int(rows[0]["training_ids"]) == len(used)
    assert rows[1]["bigram_bits_per_byte"] == rows[1]["training_ids"] == ""
    lengths = read_lengths(tmp_path / "t" / "bits.npz", "heldout")
    assert list(lengths) == ["en"] and lengths["en"].sum(1) == pytest.approx([bits, size], rel=1e-6)
    counts = {
        row["language"]: int(row["count"]) for row in unknown if row["character"] == "\U00012000"
    }
    assert counts == {"en": 250, "th": 150}
    for row in unknown:
        piece = processor.piece_to_id(row["character"])
        assert tokenizer.endswith("huggingface") or piece == processor.unk_id()


def test_renyi_of_an_example():
    """A fair coin and a loaded one: H_2 is minus the logarithm of the chance that two
    throws agree.
    """
    assert renyi_efficiency(np.array([5, 5, 0, 0])) == pytest.approx(0.5)
    assert renyi_efficiency(np.array([9, 1]), alpha=2) == pytest.approx(
        -math.log(0.82) / math.log(2)
    )
    assert renyi_efficiency(np.array([7, 0, 0])) == 0
    assert renyi_efficiency(np.array([0, 0])) is None and renyi_efficiency(np.array([3])) is None


@pytest.fixture
def splitter(corpora):
    return Splitter(load_encoder(corpora / "tokenizer" / "sentencepiece.model"))


def measured(splitter, *blocks):
    """The columns from `lines` on."""
    found = Tally(splitter)
    for lines in blocks:
        found.add(lines)
    return cells(MEASURES, found.sums)


def test_no_tokens(splitter):
    blank = measured(splitter, ["", ""])
    assert blank["tokens_per_sentence"] == 0 and blank["chars_per_token"] is None


def test_a_tokenizer_of_bytes():
    """Byte-level BPE: broken tokens are those that the library decodes to U+FFFD."""
    chooser = random.Random(4)
    words = ["ab", "été", "日本", "\U0001f600", "\U0001f601", *map(str, range(2000, 2040)), "7"]
    lines = [" ".join(chooser.choices(words, k=9)) for _ in range(300)]
    tokenizer = byte_tokenizer(lines, size=290)
    ids = [number for line in lines for number in tokenizer.encode(line).ids]

    splitter = Splitter(HuggingFaceEncoder(tokenizer, None))
    row = measured(splitter, lines[:100], lines[100:])
    assert row["unk_rate"] == 0 and row["tokens_per_word"] == len(ids) / 2700
    broken = sum("\ufffd" in tokenizer.decode([number]) for number in ids)
    assert row["broken_utf8"] == broken / len(ids) > 0
    cuts = {word: tokenizer.encode(f"x {word}").tokens[1:] for word in words}
    text = [word for line in lines for word in line.split()]
    assert row["whole_words"] == sum(len(cuts[word]) == 1 for word in text) / len(text) > 0
    held = [count for number in ids if (count := count_digits(tokenizer.decode([number])))]
    assert row["digits_per_token"] == sum(held) / len(held)
    kinds = Counter(
        tuple(map(count_digits, cuts[word])) for word in text if word.isdigit() and len(word) > 1
    )
    assert row["numbers_alike"] == max(kinds.values()) / kinds.total() < 1
