"""`vocap trim`: SentencePiece itself segments every line before and after; transformers
runs both models.
"""

import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor

import vocap.adapt.trim
from tests.adapt.made import make_unigram, small_model, write_corpora
from tests.cases import read_cases, refused
from tests.made_text import write_lines
from tests.tokenizers.factories import make_lines, trained_normalizer
from vocap.adapt.unigram_tokenizer import UnigramTokenizer
from vocap.files.io import read_tsv, write_tsv
from vocap.tokenizer_files.id_layout import XLM_R_LAYOUT
from vocap.tokenizer_files.layout import Contents, lay_out, serialize
from vocap.tokenizer_files.model_file import read_model
from vocap.unigram.sentencepiece_trainer import train

LANGUAGES = ("en", "ka", "zh")
CASES = read_cases(__file__)
TRIM = "trim {root}/tokenizers/all --languages=en -o {tmp}/out "


def processor(path):
    return SentencePieceProcessor(model_file=str(path))


@pytest.fixture
def before(root):
    return processor(root / "tokenizers/all/sentencepiece.model")


def after_in(out):
    return processor(out / "sentencepiece.model")


def pieces_of(path):
    return {entry.piece for entry in read_model(path / "sentencepiece.model").pieces}


def compared(out):
    return {row["part"]: row for row in read_tsv(out / "comparison.tsv")}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Corpora of three languages, and one tokenizer of all of them as the workflow
    leaves it.
    """
    root = tmp_path_factory.mktemp("trim")
    texts = {language: make_lines(language, 700, seed=3) for language in LANGUAGES}
    write_corpora(root, texts)
    lines = [line for text in texts.values() for line in text]
    make_unigram(root / "tokenizers/all", lines, 700, user_defined_symbols=["<date>"])
    return root


def lines_of(root, language, part):
    return (root / "corpora" / language / f"{part}.txt").read_text("utf-8").splitlines()


def id_map(out):
    return {int(row["old"]): int(row["new"]) for row in read_tsv(out / "ids.tsv") if row["old"]}


def test_every_line_is_segmented_as_before(root, out, call, before):
    # finds the run's corpora
    shown = call("trim {root}/tokenizers/all --languages=en,ka -o {tmp}/out")
    assert "1,400 lines compared, all the same" in shown
    after, renamed = after_in(out), id_map(out)
    assert after.get_piece_size() < before.get_piece_size()
    for language in ("en", "ka"):
        for line in lines_of(root, language, "train") + lines_of(root, language, "heldout"):
            assert [renamed[number] for number in before.encode(line)] == after.encode(line)
    for old, new in renamed.items():
        assert before.id_to_piece(old) == after.id_to_piece(new)
        assert before.get_score(old) == after.get_score(new)
    # the layout that all tokenizers share, and no piece of the language that was left
    # out
    pieces = [after.id_to_piece(number) for number in range(after.get_piece_size())]
    assert pieces[:4] == ["<s>", "<pad>", "</s>", "<unk>"] and pieces[-1] == "<mask>"
    assert set("的一是不了").isdisjoint(pieces)
    assert after.encode("a<date>b", out_type=str).count("<date>") == 1


def test_the_function_gives_what_the_command_writes(root, tmp_path, out, call):
    """Of sentences that can be read once; nothing is written without a folder."""
    line = "trim {root}/tokenizers/all --min-count=5 -o {tmp}/out"
    call(line + " --text=en={root}/corpora/en/train.txt --text=ka={root}/corpora/ka/train.txt")
    sentences = {code: iter(lines_of(root, code, "train")) for code in ("en", "ka")}
    found = vocap.adapt.trim.trim(root / "tokenizers/all", text=sentences, min_count=5)
    assert found.ids == [
        (int(row["old"]) if row["old"] else None, int(row["new"]), row["piece"], row["reason"])
        for row in read_tsv(out / "ids.tsv")
    ]
    line = lines_of(root, "en", "train")[0]
    assert found.tokenizer.encoder.encode_batch([line]) == [after_in(out).encode(line)]
    found.write(tmp_path / "same" / "out")
    for name in ("sentencepiece.model", "comparison.tsv", "description.json"):
        assert (tmp_path / "same/out" / name).read_bytes() == (out / name).read_bytes()


def test_comparison_counts_lines_that_need_held_out_text(root, out, call, before):
    call(TRIM + "--only-used")
    train, heldout = (
        before.encode(lines_of(root, "en", part), out_type=str) for part in ("train", "heldout")
    )
    known = {piece for pieces in train for piece in pieces}
    known |= set("".join(known))
    rows = compared(out)
    unforeseen = sum(not known.issuperset(pieces) for pieces in heldout)
    assert int(rows["heldout"]["unforeseen"]) == unforeseen
    assert rows["train"]["unforeseen"] == ""
    assert [row["share"] for row in rows.values()] == ["1.0", "1.0"]


def test_rare_pieces_dropped_are_named(root, out, call, before):
    shown = call(TRIM + "--min-count=40")
    assert "differ" in shown
    for part, row in compared(out).items():
        lines = lines_of(root, "en", part)
        old, new = (side.encode(lines, out_type=str) for side in (before, after_in(out)))
        same = sum(one == other for one, other in zip(old, new, strict=True))
        assert int(row["identical"]) == same < len(lines)
        assert int(row["tokens_after"]) == sum(map(len, new))
        example = row["example"]
        assert example.startswith("“") and "→" in example and example[:20] in shown


def test_pieces_of_the_languages_stay(root, tmp_path, out, call):
    """By pieces.tsv beside the model, or not at all."""
    shutil.copytree(root / "tokenizers/all", tmp_path / "all")
    proto = read_model(tmp_path / "all/sentencepiece.model")
    names = [entry.piece for entry in proto.pieces if entry.type == 1]
    unused = next(piece for piece in names if piece[0] in "的一是不了在" and len(piece) > 1)
    write_tsv(
        tmp_path / "all/pieces.tsv", ("piece", "languages"), [(unused, "en,zh"), (names[0], "")]
    )
    line = "trim {tmp}/all --corpora {root}/corpora --languages=en "
    call(line + "-o {tmp}/out")
    found = {row["piece"]: row["reason"] for row in read_tsv(out / "ids.tsv")}
    assert found[unused] == "language"
    assert {found[character] for character in unused} == {"character"}
    call(line + "--only-used -o {tmp}/used")
    assert unused not in pieces_of(tmp_path / "used")


def test_all_characters_stay_if_asked_for(root, out, call):
    call(TRIM + "--all-characters")
    assert {one for one in pieces_of(root / "tokenizers/all") if len(one) == 1} <= pieces_of(out)


SCORES = st.integers(-12, -1).map(lambda step: step / 2)  # halves: many ties


@settings(deadline=None, max_examples=60)
@given(
    st.dictionaries(st.text("abc▁", min_size=1, max_size=4), SCORES, min_size=3, max_size=25),
    st.data(),
)
def test_a_line_changes_if_and_only_if_it_used_a_removed_piece(vocabulary, data):
    """SentencePiece on made vocabularies full of ties, unknown characters among the
    text.
    """
    contents = Contents(list(vocabulary), np.array(list(vocabulary.values())))
    proto = lay_out(contents, trained_normalizer())
    source = UnigramTokenizer(Path("it.model"), proto, {}, XLM_R_LAYOUT)
    lines = [data.draw(st.text("abcx ", min_size=1, max_size=12)) for _ in range(8)]
    before = SentencePieceProcessor(model_proto=serialize(proto))
    ids = [number for line in lines[:4] for number in before.encode(line)]
    uses = np.bincount(ids, minlength=len(proto.pieces))
    choice = source.choose(uses, np.zeros_like(uses), (), 1, False)
    after = SentencePieceProcessor(model_proto=serialize(source.cut_to(choice, {}).proto))
    removed = vocabulary.keys() - choice.reasons.keys()
    for place, line in enumerate(lines):
        ids = before.encode(line)
        pieces = [before.id_to_piece(number) for number in ids]
        same = pieces == [after.id_to_piece(number) for number in after.encode(line)]
        assert same == removed.isdisjoint(pieces)
        assert same or place >= 4


def test_byte_pieces_stay(root, tmp_path, out, call):
    lines = [line for language in LANGUAGES for line in lines_of(root, language, "train")]
    random.Random(1).shuffle(lines)
    model = train(lines, 800, threads=1, byte_fallback=True, coverage=0.98)
    (tmp_path / "bytes.model").write_bytes(model)
    lines = [*lines_of(root, "en", "train")[:50], "ꙮ"]
    write_lines(tmp_path / "en.txt", lines)
    call("trim {tmp}/bytes.model --text=en={tmp}/en.txt -o {tmp}/out")
    old, new = (
        side.encode(lines, out_type=str)
        for side in (processor(tmp_path / "bytes.model"), after_in(out))
    )
    assert old == new
    assert new[-1][-3:] == [f"<0x{byte:02X}>" for byte in "ꙮ".encode()]


def test_it_can_be_run_again_but_not_over_a_folder_that_is_there(tmp_path, call):
    (tmp_path / "empty").mkdir()
    for name in ("out", "empty"):
        call("trim {root}/tokenizers/all --languages=en -o {tmp}/" + name)
    files = [sorted(path for path in (tmp_path / name).rglob("*")) for name in ("out", "empty")]
    assert [path.name for path in files[0]] == [path.name for path in files[1]]
    for one, other in zip(*files, strict=True):
        # the card has the folder's name
        assert one.is_dir() or one.name == "README.md" or one.read_bytes() == other.read_bytes()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("out", "mine", "file"):
        for line in CASES["over a folder"]:
            says = f"-o .*{name}: .*name a folder that is not"
            refused(call, line + " -o {tmp}/" + name, says, status=2)
    assert sorted((tmp_path / "out").rglob("*")) == files[0]
    assert (tmp_path / "mine/notes.txt").read_text() == (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("case", CASES["calls"])
def test_a_bad_call_leaves_nothing(root, tmp_path, out, call, case):
    (tmp_path / "empty.txt").write_text("")
    shutil.copytree(root / "tokenizers/all/huggingface", tmp_path / "model")
    refused(call, **case | {"line": "trim -o {tmp}/out " + case["line"]})
    assert not out.exists()


def test_warnings_name_no_temporary_path(root, tmp_path, call, caplog):
    """A piece of characters that are none themselves: the export warns, of the folder
    that was asked for.
    """
    proto = read_model(root / "tokenizers/stock.model")
    proto.pieces.add(piece="ꙮꙮ", score=-5.0)
    (tmp_path / "rare.model").write_bytes(proto.SerializeToString())
    write_lines(tmp_path / "rare.txt", ["ꙮꙮ"])
    call("trim {tmp}/rare.model --text=en={tmp}/rare.txt -o {tmp}/out")
    assert "where they stand alone" in caplog.text
    assert ".part" not in caplog.text and f"{tmp_path}/out: " in caplog.text


def damaged_models(folder):
    """Each change of a model's folder, and the words of its refusal."""
    weights, config = folder / "model.safetensors", folder / "config.json"
    data, settings = weights.read_bytes(), json.loads(config.read_text("utf-8"))
    for broken in (data[: len(data) // 2], b"", data[:8] + b"[" * 100 + data[108:]):
        yield weights, broken, "transformers cannot load it"
    for values, says in CASES["configurations"]:
        yield config, json.dumps(settings | values).encode(), says
    yield config, b"{", "config.json.*name the folder of a Hugging Face model"


def test_a_damaged_model_is_one_message(tmp_path, out, call, before):
    model = tmp_path / "model"
    small_model("XLMRobertaForMaskedLM", before.get_piece_size()).save_pretrained(model)
    for path, broken, says in list(damaged_models(model)):
        whole = path.read_bytes()
        path.write_bytes(broken)
        message = refused(call, TRIM + "--model {tmp}/model", says)
        assert message.startswith(str(model)) and len(message) < 1500 and not out.exists()
        path.write_bytes(whole)


def test_a_model_of_another_tokenizer_is_refused(root, tmp_path, out, call):
    small_model("XLMRobertaForMaskedLM", 50).save_pretrained(tmp_path / "model")
    refused(call, TRIM + "--model {tmp}/model", "the model has 50 rows")
    definition = (root / "tokenizers/all/huggingface/tokenizer.json").read_text("utf-8")
    definition = json.loads(definition)
    vocabulary = definition["model"]["vocab"]
    vocabulary[10], vocabulary[11] = vocabulary[11], vocabulary[10]
    (tmp_path / "model/tokenizer.json").write_text(json.dumps(definition), "utf-8")
    refused(call, TRIM + "--model {tmp}/model", "has id 11 there and 10")
    assert not out.exists()
