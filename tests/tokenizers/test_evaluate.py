"""Many tokenizers in one call, without a run, against the libraries' own encoding;
gates; names and bad calls.
"""

import math
import random
from functools import partial
from statistics import fmean

import pytest
from sentencepiece import SentencePieceProcessor
from tokenizers import AddedToken, Tokenizer, normalizers

from tests import commands
from tests.made_text import write_lines
from tests.tokenizers.factories import byte_tokenizer
from vocap.errors import UsageError, VocapError
from vocap.files.io import read_tsv
from vocap.tokenizer_files.encoders import load_encoder
from vocap.tokenizer_files.export import export_unigram
from vocap.tokenizer_files.splitting import Splitter, dead_ids, texts_of
from vocap.tokenizers.commands import evaluate
from vocap.tokenizers.evaluate import name_tokenizers
from vocap.tokenizers.evaluation import gini
from vocap.tokenizers.gates import check_gates
from vocap.unigram.usage import RoundTrips

from .scripts import WORDS, make_lines, model
from .test_bigram import direct_bits


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A SentencePiece model and a tokenizer of bytes, text of two languages, parallel
    text of three.
    """
    root = tmp_path_factory.mktemp("evaluate")
    (root / "spm.model").write_bytes(model().SerializeToString(deterministic=True))
    (root / "hub").mkdir()
    byte_tokenizer(make_lines(300)).save(str(root / "hub" / "tokenizer.json"))
    write_lines(root / "long.txt", make_lines(1020, seed=3))
    write_lines(root / "short.txt", make_lines(999, seed=4))
    draw = random.Random(5)
    for language in ("el", "en", "hi"):
        lines = [" ".join(draw.choices(WORDS[language], k=6)) for _ in range(1010)]
        lines[7 if language == "el" else 9] = ""
        write_lines(root / "aligned" / f"{language}.txt", lines)
    return root


run = partial(commands.run, evaluate)


def encoders(root):
    """The libraries' own: name to size, encoding and decoding."""
    stock = SentencePieceProcessor(model_file=str(root / "spm.model"))
    other = Tokenizer.from_file(str(root / "hub" / "tokenizer.json"))
    return {
        "spm": (stock.get_piece_size(), stock.encode, stock.decode),
        "hub": (other.get_vocab_size(), lambda line: other.encode(line).ids, other.decode),
    }


def fold_bits(encode, size, lines, lost=lambda line: 0):
    """Bits of lines in ten folds: each tenth line under a model of the others."""
    ids, bits = [encode(line) for line in lines], 0.0
    for fold in range(10):
        others = [line for number, line in enumerate(ids) if number % 10 != fold]
        bits += math.fsum(direct_bits(others, ids[fold::10], size))
    return bits + 8 * sum(map(lost, lines))


def lost_bytes(stock, line):
    """The UTF-8 bytes of the characters of a line that are unknown to a SentencePiece
    model, and the unknown tokens.
    """
    proto = stock.encode(line, out_type="immutable_proto")
    lost = [piece.piece for piece in proto.pieces if piece.id == stock.unk_id()]
    return len("".join(lost).encode()), len(lost)


def test_many_tokenizers_on_parallel_text_without_a_run(root, tmp_path):
    """Tokens, ratios and their inequality count unknown characters as bytes."""
    given = ["--tokenizer", root / "spm.model", "--tokenizer", root / "hub"]
    printed = run(*given, "--parallel", f"{root}/aligned/{{lang}}.txt", "-o", tmp_path / "s.tsv")
    rows = {row["tokenizer"]: row for row in read_tsv(tmp_path / "s.tsv")}
    texts = {
        code: (root / "aligned" / f"{code}.txt").read_text().split("\n")[:-1]
        for code in ("el", "en", "hi")
    }
    assert list(rows) == ["spm", "hub"] and "3 languages" in printed
    for name, (size, encode, decode) in encoders(root).items():
        # of bytes none is unknown
        lost = partial(lost_bytes, encode.__self__) if name == "spm" else lambda line: (0, 0)
        counts = {
            code: [len(encode(line)) + lost(line)[0] - lost(line)[1] for line in lines]
            for code, lines in texts.items()
        }
        ratios = {}
        for code in texts:
            both = [n for n in range(1010) if texts[code][n] and texts["en"][n]]
            ratios[code] = sum(counts[code][n] for n in both) / sum(counts["en"][n] for n in both)
        row, worst = rows[name], max(ratios, key=ratios.get)
        assert (int(row["total"]), row["worst"]) == (size, worst)
        expected = {
            "tokens_per_sentence": fmean(ratios.values()) * sum(counts["en"]) / 1009,
            "ratio_to_english": fmean(ratios.values()),
            "gini": gini(list(ratios.values())),
            "worst_ratio": ratios[worst],
            # on the lines that English has too
            "unknown_bytes": sum(
                lost(line)[0]
                for own in texts.values()
                for line, other in zip(own, texts["en"], strict=True)
                if other
            ),
        }
        assert (expected["unknown_bytes"] > 0) == (name == "spm")
        lines = {code: list(filter(None, lines)) for code, lines in texts.items()}
        every = [line for own in lines.values() for line in own]
        expected["round_trip"] = sum(decode(encode(line)) == line for line in every) / len(every)
        if name == "hub":  # which knows all characters
            bits = [
                fold_bits(encode, size, own) / sum(len(s.encode()) for s in own)
                for own in lines.values()
            ]
            expected["ten_fold_bits_per_byte"] = fmean(bits)
        for column, value in expected.items():
            assert float(row[column]) == pytest.approx(value, rel=1e-9), column
        assert all(
            part in printed for part in (f"{worst} {ratios[worst]:.2f}", f"{expected['gini']:.4f}")
        )
    assert "bits/byte (ten folds)" in printed


def test_folds_need_a_thousand_lines_and_pay_unknown_characters(root, tmp_path):
    text = ["--text", f"en={root}/long.txt", "--text", f"xx={root}/short.txt"]
    printed = run("--tokenizer", root / "spm.model", *text, "--tables", tmp_path)
    long, short = read_tsv(tmp_path / "spm" / "evaluation.tsv", ("ten_fold_bits_per_byte",))
    assert (short["language"], short["resource"], short["ten_fold_bits_per_byte"]) == ("xx", "", "")
    stock = SentencePieceProcessor(model_file=str(root / "spm.model"))

    def lost(line):
        return lost_bytes(stock, line)[0]

    lines = (root / "long.txt").read_text("utf-8").split("\n")[:-1]
    bits = fold_bits(stock.encode, stock.get_piece_size(), lines, lost) / sum(
        len(line.encode()) for line in lines
    )
    assert float(long["ten_fold_bits_per_byte"]) == pytest.approx(bits, rel=1e-9)
    assert int(long["unknown_bytes"]) == sum(map(lost, lines)) > 0
    assert f"{bits:.4f}" in printed and not (tmp_path / "spm" / "parallel.tsv").exists()


def test_text_and_parallel_text_of_other_languages(root, tmp_path):
    given = [
        "--text",
        f"en={root}/short.txt",
        "--languages",
        "en,hi",
        "--parallel",
        f"{root}/aligned/{{lang}}.txt",
    ]
    assert "2 languages; bits/byte (ten folds) and round trip: text of" in run(
        "--tokenizer", root / "hub", *given
    )


def test_gates_of_a_tokenizer_with_every_fault(tmp_path):
    """A run, a long id, capitals; then ids that are never read, and the first two bytes
    of three.
    """
    lines = ["hello world ééé", "x" * 70 + " " + "-" * 9] * 20
    tokenizer = byte_tokenizer(lines, normalizers.Lowercase(), size=400)
    fine = check_gates(Splitter(saved(tokenizer, tmp_path / "fine")), RoundTrips(2), {})
    passed = [gate for gate, result in fine.items() if result == "pass"]
    assert passed == ["unknown characters", "all bytes", "dead ids", "fragments of characters"]
    assert fine["lossless"] == "fail: 1 of 5 hard texts (characters 1): “  A\tb  c ” → “  a\tb  c ”"
    assert "“xxxxxxxx" in fine["junk runs"] and fine["ids over 64 characters"].endswith(
        "“" + 24 * "x" + "…”"
    )

    tokenizer.normalizer = normalizers.Replace("w", "v")
    dead = [token for token in tokenizer.get_vocab() if "w" in token and len(token) > 1]
    splitter = Splitter(saved(tokenizer, tmp_path / "dead"))
    assert (
        {splitter.encoder.pieces[n] for n in dead_ids(splitter, dict(texts_of(splitter)))}
        == set(dead)
        != set()
    )

    splitter = Splitter(
        saved(byte_tokenizer(["\u0915 \u0916 \u0917"] * 9, size=257), tmp_path / "parts")
    )
    found = check_gates(splitter, RoundTrips(), {})["fragments of characters"]
    assert found == "fail: 1, the first id 256 “\\xe0\\xa4”"


def saved(tokenizer, folder):
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    return load_encoder(folder)


@pytest.mark.parametrize("kind", ["model", "export"])
def test_gates_of_a_model_with_unknown_characters(root, tmp_path, kind):
    path = root / "spm.model"
    if kind == "export":
        export_unigram(path, tmp_path / "huggingface")
        path = tmp_path / "huggingface"
    write_lines(
        tmp_path / "text.txt", ["a \u0b95\u0b95 b", "\U00012000", "the fine \u0416\u0416 \u2603"]
    )
    text = ["--text", f"en={tmp_path}/text.txt"]
    printed = run("--tokenizer", f"own={path}", *text, "--gates", "-o", tmp_path / "s.tsv")
    (row,) = read_tsv(tmp_path / "s.tsv")
    expected = {
        "Cuneiform 1 (\U00012000)",
        "Cyrillic 2 (\u0416)",
        "Tamil 2 (\u0b95)",
        "symbols 1 (\u2603)",
    }
    assert set(row["unknown characters"].removeprefix("fail: ").split(", ")) == expected
    assert row["lossless"].startswith("fail: 3 of 3 lines (unknown 3): “")
    assert (
        row["all bytes"] == "fail: 256 without an id, the first <0x00>"
        and row["junk runs"] == "pass"
    )
    assert row["all bytes"] in printed


def test_special_and_added_tokens_are_no_ids_of_text(tmp_path):
    tokenizer = byte_tokenizer(["hello world"] * 9)
    tokenizer.add_special_tokens([AddedToken("--------<" + "s" * 70 + ">", special=True)])
    gates = check_gates(Splitter(saved(tokenizer, tmp_path / "t")), RoundTrips(), {})
    assert set(gates.values()) == {"pass"}


@pytest.mark.parametrize(
    "given, said",
    [
        (["x.model", "y/x.model"], r"y/x.model: x.model is named x too; write NAME=y/x.model"),
        (["a/b=x.model"], r"'a/b' is no name of a folder"),
        (["=x.model"], r"'' is no name of a folder"),
    ],
)
def test_names_that_are_refused(given, said):
    with pytest.raises(UsageError, match=said):
        name_tokenizers(given)


def test_bad_calls(root, tmp_path):
    one, text = ["--tokenizer", root / "spm.model"], ["--text", f"en={root}/short.txt"]
    for options, said in (
        ([*one], "no text: give text of each language"),
        ([*one, "--parallel", f"{root}/none/{{lang}}.txt"], "no file for any of the languages"),
        ([*one, "--parallel", f"{root}/en.txt"], "no {lang} in it"),
        ([*one, "--corpora", root, "--languages", "de"], r"de.heldout.txt: no such file"),
        (["--tokenizer", root / "none", *text], "none: no such tokenizer"),
        (["--tokenizer", root / "short.txt", *text], "short.txt: not a usable SentencePiece model"),
    ):
        with pytest.raises(VocapError, match=said):
            run(*options, "-o", tmp_path / "s.tsv", "--tables", tmp_path / "t")
    assert not list(tmp_path.iterdir())
