"""`vocap diff` against SentencePiece and tokenizers themselves, asked line by line and
word by word.
"""

import itertools
import json
from collections import Counter

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

import vocap
from tests import commands
from tests.cases import read_cases, refused
from tests.tokenizers.factories import byte_tokenizer, make_lines
from vocap.diff.analysis import changed_parts, compare
from vocap.files.io import read_tsv
from vocap.tokenizer_files.encoders import HuggingFaceEncoder, load_encoder
from vocap.tokenizer_files.export import export_unigram
from vocap.tokenizer_files.splitting import Splitter
from vocap.unigram.sentencepiece_trainer import train


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two SentencePiece models of the same text, and text of two languages, one without
    spaces.
    """
    root = tmp_path_factory.mktemp("diff")
    lines = {language: make_lines(language, 400, seed=5) for language in ("en", "zh")}
    both = [line for language in lines.values() for line in language]
    for name, size in (("a", 300), ("b", 260)):
        (root / f"{name}.model").write_bytes(train(both, size, threads=1))
    (root / "bad.model").write_bytes(b"no model")
    for language, text in lines.items():
        (root / f"{language}.txt").write_text(
            "".join(f"{line}\n" for line in [*text[:150], "", "ꙮ"]), "utf-8"
        )
        path = root / "corpora" / language / "heldout.txt"
        path.parent.mkdir(parents=True)
        path.write_text("".join(f"{line}\n" for line in text[:150]), "utf-8")
    return root


TEXTS = "--text=en={root}/en.txt --text=zh={root}/zh.txt "


@pytest.fixture
def run(folder, tmp_path):
    """`vocap diff A B` with further words, of tokenizers in the folder unless elsewhere."""
    call = commands.caller(root=folder, tmp=tmp_path)

    def run(line, *words, a="a.model", b="b.model", **options):
        return call("diff {a} {b} " + line, *words, a=folder / a, b=folder / b, **options)

    return run


def read_lines(folder, language):
    return [line for line in (folder / f"{language}.txt").read_text("utf-8").split("\n") if line]


@pytest.fixture
def pair(folder):
    return [SentencePieceProcessor(model_file=str(folder / f"{name}.model")) for name in "ab"]


def paid(processor, split):
    """What each piece of a line counts: 1, or its bytes where it is unknown text."""
    known = {processor.id_to_piece(number) for number in range(processor.get_piece_size())}
    return [1 if piece in known else len(piece.encode()) for piece in split]


def test_counts_are_those_of_sentencepiece(folder, tmp_path, run, pair):
    run(TEXTS + "-o {tmp}/out")
    for row in read_tsv(tmp_path / "out" / "languages.tsv"):
        lines = read_lines(folder, row["language"])
        cut = [processor.encode(lines, out_type=str) for processor in pair]
        assert int(row["lines"]) == len(lines)
        for side, processor, letter in zip(cut, pair, "ab", strict=True):
            sizes = [paid(processor, split) for split in side]
            assert int(row[f"tokens_{letter}"]) == sum(map(sum, sizes))
            assert int(row[f"unknown_bytes_{letter}"]) == len("ꙮ".encode())
        changed = sum(one != other for one, other in zip(*cut, strict=True))
        assert int(row["lines_changed"]) == changed
        words = Counter(word for line in lines for word in line.split())
        splits = {
            word: [processor.encode(word, out_type=str) for processor in pair] for word in words
        }
        changed = {word: n for word, n in words.items() if splits[word][0] != splits[word][1]}
        assert changed and int(row["words_changed"]) == sum(changed.values())
        assert int(row["distinct_changed"]) == len(changed)
        if row["language"] == "en":
            listed = [r for r in read_tsv(tmp_path / "out" / "words.tsv") if r["language"] == "en"]
            assert {r["word"]: int(r["count"]) for r in listed} == changed
            assert all(r["split_a"] == " ".join(splits[r["word"]][0]) for r in listed)
            assert [int(r["count"]) for r in listed] == sorted(changed.values(), reverse=True)
    assert float(row["unk_rate_a"]) > 0  # of the letter that no model has


def test_the_function_gives_what_the_command_writes(folder, tmp_path, run):
    """From sentences that can be read once; nothing is written without a folder."""
    run(TEXTS + "--max-words=0 -o {tmp}/out", status=1)
    text = {language: folder / f"{language}.txt" for language in ("en", "zh")}
    sentences = {code: iter(path.read_text("utf-8").splitlines()) for code, path in text.items()}
    models = [folder / f"{name}.model" for name in "ab"]
    found = compare(*models, text=sentences, max_words=0)
    written = vocap.read_table(tmp_path / "out" / "languages.tsv")
    pandas.testing.assert_frame_equal(found.languages, written, check_exact=True)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert found.summary() == summary and len(found.beyond) == 2
    assert compare(*(path.read_bytes() for path in models), text=text).languages.equals(
        found.languages
    )


def test_pieces_are_those_that_only_one_has_or_that_moved(tmp_path, run, pair):
    run(TEXTS + "-o {tmp}/out")
    ids = [{one.id_to_piece(n): str(n) for n in range(one.get_piece_size())} for one in pair]
    wanted = {
        (piece, *(side.get(piece, "") for side in ids))
        for piece in {**ids[0], **ids[1]}
        if ids[0].get(piece) != ids[1].get(piece)
    }
    rows = list(read_tsv(tmp_path / "out" / "pieces.tsv"))
    assert {(row["piece"], row["id_a"], row["id_b"]) for row in rows} == wanted
    statuses = {row["status"] for row in rows}
    assert {"only_a", "moved"} <= statuses <= {"only_a", "only_b", "moved"}


def test_a_tokenizer_and_its_export_do_not_differ(tmp_path, folder, run):
    from vocap.tokenizer_files.layout import build_model, read_contents, serialize
    from vocap.tokenizer_files.model_file import read_model

    proto = read_model(folder / "a.model")
    model = tmp_path / "sentencepiece.model"
    model.write_bytes(serialize(build_model(read_contents(proto, "a"), proto.normalizer_spec)))
    export_unigram(model, tmp_path / "huggingface")
    limits = "--max-change=0 --max-words=0 --max-characters=0 --json"
    summary = json.loads(run(TEXTS + limits, a=model, b=tmp_path / "huggingface"))
    assert summary["beyond"] == []
    assert {row["lines_changed"] for row in summary["languages"]} == {0}
    assert summary["pieces"] == {"same": summary["ids_a"], "only_a": 0, "only_b": 0, "moved": 0}


def test_exit_status_says_which_limit_is_passed(run):
    shown = run(TEXTS + "--max-change=0.01 --json", status=1)
    assert all("tokens a line changed by" in reason for reason in json.loads(shown)["beyond"])
    run(TEXTS + "--max-change=1000 --max-words=100 --max-characters=100")
    assert "BEYOND THE LIMIT: en" in run(TEXTS + "--max-words=0", status=1)
    # no limit, no difference too great
    assert run("--corpora {root}/corpora --languages=en")


def without(folder, path, characters):
    """A model without the pieces of these characters."""
    from vocap.tokenizer_files.model_file import read_model

    proto = read_model(folder / "a.model")
    kept = [piece for piece in proto.pieces if piece.piece not in characters]
    assert len(kept) == len(proto.pieces) - len(characters)
    del proto.pieces[:]
    proto.pieces.extend(kept)
    path.write_bytes(proto.SerializeToString())


@pytest.mark.parametrize("exported", [False, True])
def test_text_that_becomes_unknown_has_changed(tmp_path, folder, run, exported):
    """Though SentencePiece writes <unk> as the text that it stands for."""
    lost = next(
        piece
        for piece in load_encoder(folder / "a.model").pieces
        if len(piece) == 1 and piece.isalpha()
    )
    without(folder, tmp_path / "lost.model", {lost})
    (tmp_path / "text.txt").write_text(f"a {lost} b\n{lost}{lost}\n", "utf-8")
    b = tmp_path / "lost.model"
    if exported:
        b = tmp_path / "tokenizer.json"
        word_level("a", "b").save(str(b))
    shown = run("--text=en={tmp}/text.txt --max-words=0", status=1, b=b)
    assert "BEYOND THE LIMIT: en" in shown and f"⟨{lost}" in shown


def word_level(*words):
    """A tokenizer whose only tokens are these words."""
    ids = {word: number for number, word in enumerate(("[UNK]", *words))}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer


def test_a_tokenizer_that_knows_less_is_not_cheaper(tmp_path, run):
    """Each word is one token in A; in B, an unknown one counts as its bytes: in the
    table, among the words and in the change.
    """
    lines = ["a b a", "กขค a", "a 𝒜b", ""]
    word_level(*{word for line in lines for word in line.split()}).save(str(tmp_path / "a.json"))
    word_level("a", "b").save(str(tmp_path / "b.json"))
    (tmp_path / "text.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    models = {name: tmp_path / f"{name}.json" for name in "ab"}
    shown = run("--text=th={tmp}/text.txt -o {tmp}/out", **models)
    words = [line.split() for line in lines]
    sizes = [[1 if word in "ab" else len(word.encode()) for word in line] for line in words]
    [row] = read_tsv(tmp_path / "out" / "languages.tsv")
    before, after = sum(map(len, words)), sum(map(sum, sizes))
    assert [int(row["tokens_a"]), int(row["tokens_b"])] == [before, after] == [7, 19]
    assert float(row["change_percent"]) == 100 * (after - before) / before
    assert [int(row["unknown_bytes_a"]), int(row["unknown_bytes_b"])] == [0, 14]
    assert float(row["unk_rate_b"]) == 2 / 7  # of tokens as the model has them
    rows = {row["word"]: row for row in read_tsv(tmp_path / "out" / "words.tsv")}
    assert [rows["กขค"][key] for key in ("tokens_a", "tokens_b")] == ["1", "9"]
    assert any(line.split()[:3] == ["th", "กขค", "1"] for line in shown.splitlines())


def test_a_language_without_a_line_holds_no_limit(tmp_path, run):
    (tmp_path / "empty.txt").write_text("", "utf-8")
    shown = run(TEXTS + "--text=de={tmp}/empty.txt --max-change=1000", status=1)
    assert "BEYOND THE LIMIT: de: no line" in shown
    run(TEXTS + "--text=de={tmp}/empty.txt")


def byte_level():
    return byte_tokenizer(make_lines("en", 100), size=400)


def word_piece():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.train_from_iterator(
        make_lines("en", 100), trainers.WordPieceTrainer(special_tokens=["[UNK]"])
    )
    return tokenizer


@pytest.mark.parametrize("make", [byte_level, word_piece])
def test_other_kinds_of_tokenizers_have_one_notation(make):
    """Pieces of a word join to U+2581 and the word; and are those that the tokenizer
    cuts inside a line.
    """
    splitter = Splitter(HuggingFaceEncoder(make(), None))
    words = ["tiso", *make_lines("en", 1, seed=9)[0].split()]
    for word, split in zip(words, splitter.split(words), strict=True):
        assert "".join(split) == f"▁{word}"
        inside = splitter.encoder.tokenizer.encode(f"a {word}").tokens[-len(split) :]
        assert [splitter.encoder.ids[token] for token in inside] == [
            splitter.pieces.index(part) for part in split
        ]


@given(st.data())
def test_changed_parts_lie_between_common_borders(data):
    text = data.draw(st.text("abc", min_size=1, max_size=12))
    borders = [
        data.draw(st.sets(st.integers(1, len(text) - 1))) if len(text) > 1 else set() for _ in "ab"
    ]
    splits = []
    for side in borders:
        ends = [0, *sorted(side), len(text)]
        splits.append([text[start:end] for start, end in itertools.pairwise(ends)])
    common = sorted({0, len(text), *(borders[0] & borders[1])})
    wanted = []
    for start, end in itertools.pairwise(common):
        inner = [sorted(place for place in side if start < place < end) for side in borders]
        if inner[0] != inner[1]:
            wanted.append(text[start:end])
    found = changed_parts(*splits)
    assert ["".join(part) for part, _ in found] == wanted == ["".join(part) for _, part in found]


@pytest.mark.parametrize("case", read_cases(__file__)["calls"])
def test_a_wrong_call_is_2_and_never_a_difference(tmp_path, run, case):
    (tmp_path / "empty").write_text("")
    refused(run, **case | {"line": case["line"] + " -o {tmp}/out"}, status=2)
    assert not (tmp_path / "out").exists()
