"""Parity by words finds what encoding every line whole finds: both libraries, line by line, are the reference."""

import json
import random
import shutil
from itertools import chain

import pytest
from sentencepiece import SentencePieceProcessor, sentencepiece_model_pb2
from tokenizers import Tokenizer

from tests.commands import run
from tests.made_text import write_lines
from vocap.errors import VocapError
from vocap.files.tsv import read_tsv
from vocap.tokenizer_files.export import export
from vocap.tokenizer_files.id_layout import XLM_R_LAYOUT
from vocap.tokenizer_files.model_file import NORMAL, USER_DEFINED
from vocap.tokenizer_files.shadowing import bare_processor
from vocap.tokenizers.output_commands import parity, parity_words
from vocap.tokenizers.parity import COLUMNS, KINDS, TokenizerForms, normalized_words
from vocap.tokenizers.parity_words import LONGEST, is_wordwise, join_words, read_words, split_words, word_lines

from .scripts import ODD, make_lines, model


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A tokenizer's folder, models and corpora of two languages, with lines that are not taken apart."""
    root = tmp_path_factory.mktemp("parity")
    for path in (root / "tokenizer" / "sentencepiece.model", root / "vocabularies" / "bb" / "models" / "9.model"):
        path.parent.mkdir(parents=True)
        path.write_bytes(model().SerializeToString(deterministic=True))
    export(root / "tokenizer" / "sentencepiece.model", root / "tokenizer" / "huggingface")
    rng = random.Random(5)
    lines = [line for line in make_lines(500, seed=3) if "\n" not in line]
    lines += [
        "".join(rng.choices([*ODD, "the", " ", "café", "▁", "zz"], k=12)).replace("\n", "") for _ in range(300)
    ]
    lines += ["ab <s> cd", "x<mask>", "a▁b", "▁", " ", "\x01", "the " * LONGEST, "zqzq " * 400, "Ω" * 2000]
    rng.shuffle(lines)
    for language, part in (("aa", lines[:300]), ("bb", lines[300:])):
        for name, kept in (("heldout", part[:50]), ("train", part[50:])):
            path = root / "corpora" / language / f"{name}.txt"
            write_lines(path, kept)
    return root


@pytest.fixture
def folder(made, tmp_path):
    shutil.copytree(made, tmp_path / "made")
    return tmp_path / "made"


def make_words(folder, *options):
    vocabularies, corpora = folder / "vocabularies", folder / "corpora"
    run(parity_words, "--vocabularies", vocabularies, "--corpora", corpora, "-o", folder / "words", *options)
    return folder / "words"


def compare(folder, *options):
    tokenizer, corpora, table = folder / "tokenizer", folder / "corpora", folder / "parity.tsv"
    run(parity, "--tokenizer", tokenizer, "--corpora", corpora, "-o", table, *options)
    return list(read_tsv(table, COLUMNS))


def compared(folder, language):
    """The lines of a language, as bytes 10 end them, without the empty ones."""
    files = (folder / "corpora" / language / f"{name}.txt" for name in ("heldout", "train"))
    return [line for path in files for line in path.read_bytes().decode("utf-8").split("\n") if line]


def line_by_line(folder):
    """Language to the lines that differ, and the number of lines, by both libraries on raw lines."""
    own = SentencePieceProcessor(model_file=str(folder / "tokenizer" / "sentencepiece.model"))
    other = Tokenizer.from_file(str(folder / "tokenizer" / "huggingface" / "tokenizer.json"))
    other.encode_special_tokens = True
    found = {}
    for language in ("aa", "bb"):
        lines = compared(folder, language)
        differing = [x for x in lines if own.encode(x) != other.encode(x, add_special_tokens=False).ids]
        found[language] = (differing, len(lines))
    return found


def change(folder, edit):
    path = folder / "tokenizer" / "huggingface" / "tokenizer.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    edit(content)
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def sound(content):
    pass


def one_score(content):
    """Of the piece that the split of most words depends on."""
    row = next(row for row in content["model"]["vocab"] if row[0] == "▁")
    row[1] -= 2.0


def one_step_lost(content):
    steps = content["normalizer"]["normalizers"]
    steps.remove(next(step for step in steps if step["type"] == "NFC"))


def one_replacement(content):
    """Across two words, so that no word shows it."""
    content["normalizer"]["normalizers"].append(
        {"type": "Replace", "pattern": {"String": "the▁½"}, "content": "the▁¼"}
    )
    content["normalizer"]["normalizers"].append(
        {"type": "Replace", "pattern": {"String": "a▁b"}, "content": "ab"},
    )


def words_across(content):
    content["pre_tokenizer"]["pretokenizers"][0]["pattern"] = {"String": "e"}


def other_template(content):
    content["post_processor"]["single"].append({"Sequence": {"id": "A", "type_id": 0}})


@pytest.mark.parametrize("edit", [sound, one_score, one_step_lost, one_replacement, words_across, other_template])
@pytest.mark.parametrize("shared", [False, True])
def test_every_line_that_differs_is_found(folder, edit, shared):
    change(folder, edit)
    rows = compare(folder, *(["--words", make_words(folder)] if shared else []))
    expected = line_by_line(folder)
    for row in rows:
        differing, lines = expected[row["language"]]
        assert (int(row["lines"]), int(row["identical"])) == (lines, lines - len(differing))
        counts = [int(part.split(":")[0].split()[-1]) for part in _parts(row["example"])]
        assert sum(counts) == len(differing)
        for line in differing[:1]:  # the first of all is the first of its kind
            assert line[:60] in row["example"]
    assert any(differing for differing, _ in expected.values()) is (edit is not sound)


def _parts(example):
    return [part for part in example.split("; ") if part.startswith(KINDS) and ": “" in part]


def test_a_difference_in_one_line_only(folder):
    """One line of one language, its last word alone: no other line may be reported, and the example names it."""
    with (folder / "corpora" / "bb" / "train.txt").open("a") as file:
        file.write("the the eohhoe\n")
    proto = with_(lambda proto: proto.pieces.add(piece="eohhoe", score=-9.0, type=NORMAL))
    (folder / "tokenizer" / "sentencepiece.model").write_bytes(proto.SerializeToString())
    change(folder, lambda content: content["model"]["vocab"].append(["eohhoe", -90.0]))
    words = make_words(folder)
    rows = {row["language"]: row for row in compare(folder, "--words", words)}
    assert line_by_line(folder)["bb"][0] == ["the the eohhoe"] and not line_by_line(folder)["aa"][0]
    assert (
        int(rows["bb"]["lines"]) - int(rows["bb"]["identical"]) == 1
        and "“the the eohhoe”" in rows["bb"]["example"]
    )
    assert rows["aa"]["identical"] == rows["aa"]["lines"]


@pytest.mark.parametrize("byte_fallback", [False, True])
def test_sentencepiece_encodes_word_by_word(made, byte_fallback):
    proto = model(800, byte_fallback=byte_fallback)
    bare, whole = bare_processor(proto), SentencePieceProcessor(model_proto=proto.SerializeToString())
    lines = [*compared(made, "aa"), *compared(made, "bb")]
    seen = 0
    for line in lines:
        words = split_words(whole.normalize(line))
        if words is not None:
            apart = bare.encode([f"▁{word}" for word in words]) if words else []
            assert whole.encode(line) == list(chain.from_iterable(apart)), line
            seen += 1
    assert seen > 700 and 3 < len(lines) - seen < 100


def test_words_are_packed_without_a_loss():
    rng = random.Random(2)
    words = ["".join(rng.choices("abc", k=rng.randint(0, 90))) for _ in range(400)] + ["x" * (LONGEST - 1)]
    lines = list(join_words(words))
    assert [word for line in lines for word in line[1:].split("▁")] == words
    assert max(map(len, lines)) == LONGEST and len(lines) < 80


def test_the_file_of_words(made, tmp_path):
    """Every word of every line, once; only lines outside of the premises are left to be encoded whole."""
    own = SentencePieceProcessor(model_proto=model().SerializeToString())
    codes = ["aa", "bb"]
    words = normalized_words(model(), "made", made / "corpora", codes, None, 0, tmp_path / "words")
    again = read_words(tmp_path / "words")
    assert again == words
    written = [word for lines in word_lines(tmp_path / "words") for line in lines for word in line[1:].split("▁")]
    wanted = set()
    for code in codes:
        lines = compared(made, code)
        whole = set(again.languages[code].whole)
        assert again.languages[code].lines == len(lines) and len(whole) < 60
        for number, line in enumerate(lines):
            text = own.normalize(line)
            outside = len(text) > LONGEST or "\0" in text or any(token in text for token in XLM_R_LAYOUT.names)
            assert (number in whole) >= outside and (number in whole) <= (outside or not text.startswith("▁"))
            if number not in whole and text:
                wanted.update(text[1:].split("▁"))
    assert len(written) == len(set(written)) and set(written) == wanted


def with_(edit):
    proto = sentencepiece_model_pb2.ModelProto()
    proto.CopyFrom(model())
    edit(proto)
    return proto


def first(proto):
    return next(entry for entry in proto.pieces if entry.type == NORMAL and entry.piece != "▁")


@pytest.mark.parametrize(
    "edit",
    [
        lambda proto: setattr(first(proto), "piece", "a▁b"),
        lambda proto: setattr(next(entry for entry in proto.pieces if entry.piece == "▁"), "piece", "▁▁▁"),
        lambda proto: setattr(first(proto), "type", USER_DEFINED),
        lambda proto: setattr(first(proto), "score", -7.0001),
        lambda proto: setattr(first(proto), "score", -80.0),
    ],
)
def test_models_that_are_not_taken_apart(made, edit):
    pipeline = json.loads((made / "tokenizer" / "huggingface" / "tokenizer.json").read_text("utf-8"))
    del pipeline["model"]["vocab"]
    assert is_wordwise(model(), pipeline)
    assert not is_wordwise(with_(edit), pipeline)


def test_words_of_another_normaliser_are_made_anew(folder):
    words = read_words(make_words(folder))
    pair = TokenizerForms.load(folder / "tokenizer")
    assert words.fits(pair.proto, pair.encoder.tokenizer.pipeline())
    change(folder, one_step_lost)
    assert not words.fits(pair.proto, TokenizerForms.load(folder / "tokenizer").encoder.tokenizer.pipeline())
    assert not words.fits(
        with_(lambda proto: setattr(proto.normalizer_spec, "add_dummy_prefix", False)),
        pair.encoder.tokenizer.pipeline(),
    )


def test_words_of_other_text(folder):
    words = make_words(folder)
    with pytest.raises(
        VocapError, match=r"words of --sample None --seed 0, not of 10000 and 0; run vocap parity-w"
    ):
        compare(folder, "--words", words, "--sample", 10_000)
    with (folder / "corpora" / "bb" / "train.txt").open("a") as file:
        file.write("more\n")
    with pytest.raises(VocapError, match=r"the text of bb has changed since; run vocap parity-words again"):
        compare(folder, "--words", words)
    words = make_words(folder, "--languages", "bb")
    with pytest.raises(VocapError, match=r"no words of aa; run vocap parity-words again"):
        compare(folder, "--words", words)
    words.write_bytes(words.read_bytes()[:-40])
    with pytest.raises(VocapError, match=r"not a whole file of words; make it with vocap parity-words"):
        compare(folder, "--words", words)
    assert not (folder / "parity.tsv").exists()


def test_no_model(folder):
    shutil.rmtree(folder / "vocabularies" / "bb")
    with pytest.raises(VocapError, match=r"vocabularies: no \{language\}/models/\*.model of these languages"):
        make_words(folder)
