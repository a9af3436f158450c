"""`vocap extend`: old ids stay, the new pieces are those of SentencePiece's own
training, the model follows.
"""

import json
import shutil
import unicodedata

import pytest
from sentencepiece import SentencePieceProcessor, sentencepiece_model_pb2

import vocap.adapt.extend
from tests.adapt.made import make_unigram, small_model, write_corpora
from tests.cases import read_cases, refused
from tests.commands import caller
from tests.made_text import write_lines
from tests.tokenizers.factories import byte_tokenizer, make_lines
from vocap.files.io import read_tsv
from vocap.tokenizer_files.model_file import read_model
from vocap.unigram.sentencepiece_trainer import train
from vocap.unigram.text_settings import text_settings, trained_settings

from .test_trim import processor

NEW = "fr"  # another lexicon over the letters of en
CASES = read_cases(__file__)
EXTEND = "extend {root}/tokenizers/old --language=fr "


def new_lines(count, seed=3):
    """Words of `en` turned around: its letters, other pieces."""
    return [line[::-1] for line in make_lines("en", count, seed=seed)]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A tokenizer of two languages, and corpora of three."""
    root = tmp_path_factory.mktemp("extend")
    texts = {language: make_lines(language, 700, seed=3) for language in ("en", "ka")}
    texts[NEW] = new_lines(700)
    write_corpora(root, texts)
    lines = texts["en"] + texts["ka"]
    make_unigram(root / "tokenizers/old", lines, 400, user_defined_symbols=["<date>"])
    return root


@pytest.fixture(scope="module")
def extended(root):
    caller(root=root)(EXTEND + "--pieces=80 -o {root}/extended")
    return root / "extended"


def lines_of(root, language, part):
    return (root / "corpora" / language / f"{part}.txt").read_text("utf-8").splitlines()


def rows(path):
    return list(read_tsv(path))


def model_of(folder):
    return read_model(folder / "sentencepiece.model")


def loaded(folder):
    return processor(folder / "sentencepiece.model")


def compared(folder):
    return {row["language"] for row in rows(folder / "comparison.tsv")}


def test_the_new_language_is_trained_with_the_tokenizers_own_settings(root, tmp_path, out, call):
    """Digits apart and runs of spaces, as a lossless tokenizer has them; XLM-R's
    settings would add `▁10`.
    """
    lines = enumerate(lines_of(root, NEW, "train"))
    write_lines(
        tmp_path / "new.txt", (f"{line} {number}  10{number % 7}" for number, line in lines)
    )
    lossless = text_settings("lossless")
    make_unigram(tmp_path / "old", lines_of(root, "en", "train"), 400, settings=lossless)
    settings = trained_settings(model_of(tmp_path / "old"))
    assert settings == text_settings("lossless", byte_fallback=False)
    call("extend {tmp}/old --language=fr --text={tmp}/new.txt --pieces=60 -o {tmp}/out")
    pieces = [entry.piece for entry in model_of(out).pieces[-60:]]
    assert not [one for one in pieces if len(one) > 1 and any(map(str.isdigit, one))]
    assert trained_settings(model_of(out)) == settings


@pytest.mark.parametrize(("spec", "key", "value", "says"), CASES["untrainable"])
def test_what_cannot_be_trained_is_refused(root, tmp_path, out, call, spec, key, value, says):
    proto = model_of(root / "tokenizers/old")
    setattr(getattr(proto, spec), key, value)
    proto.normalizer_spec.precompiled_charsmap = b""
    (tmp_path / "own.model").write_bytes(proto.SerializeToString())
    text = "--text={root}/corpora/en/train.txt"
    refused(call, "extend {tmp}/own.model --language=xx --pieces=9 -o {tmp}/out " + text, says)
    assert not out.exists()


def test_old_ids_and_scores_stay(root, extended):
    before, after = (model_of(path).pieces for path in (root / "tokenizers/old", extended))
    assert len(after) == len(before) + 80
    for old, new in zip(before, after, strict=False):
        assert (old.piece, old.score, old.type) == (new.piece, new.score, new.type)
    ids = rows(extended / "ids.tsv")
    assert [row["old"] for row in ids] == [*map(str, range(len(before))), *[""] * 80]
    assert [row["piece"] for row in ids] == [entry.piece for entry in after]


def test_the_new_pieces_are_of_sentencepieces_own_training(root, extended):
    """The smallest size, within 6 %, that brings as many; clipped pieces have the
    lowest scores.
    """
    size = json.loads((extended / "description.json").read_text())["size"]
    known = {entry.piece for entry in model_of(root / "tokenizers/old").pieces}

    def brings(size):
        model = sentencepiece_model_pb2.ModelProto.FromString(
            train(lines_of(root, NEW, "train"), size, threads=1)
        )
        return {entry.piece: entry.score for entry in model.pieces[3:] if entry.piece not in known}

    available = brings(size)
    added = {row["piece"]: float(row["own_score"]) for row in rows(extended / "additions.tsv")}
    assert len(added) == 80 <= len(available)
    assert all(available[piece] == score for piece, score in added.items())
    lowest = min(score for piece, score in added.items() if len(piece) > 1)
    assert all(score <= lowest for piece, score in available.items() if piece not in added)
    assert len(brings(int(size / 1.06) - 1)) < 80


def test_every_new_piece_can_be_used(extended):
    bare = model_of(extended)
    bare.normalizer_spec.Clear()
    bare.normalizer_spec.name = "identity"
    for name in ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces"):
        setattr(bare.normalizer_spec, name, False)
    alone = SentencePieceProcessor(model_proto=bare.SerializeToString())
    for row in rows(extended / "additions.tsv"):
        assert alone.encode(row["piece"]) == [int(row["id"])]


def test_the_function_gives_what_the_command_writes(root, extended):
    """Of sentences that can be read once; nothing is written without a folder."""
    texts = [iter(lines_of(root, NEW, part)) for part in ("train", "heldout")]
    found = vocap.adapt.extend.extend(
        root / "tokenizers/old", NEW, 80, text=texts[0], heldout=texts[1]
    )
    added = [row["piece"] for row in rows(extended / "additions.tsv")]
    assert [piece for piece, *_ in found.additions] == added
    written = json.loads((extended / "description.json").read_text("utf-8"))
    parts = {(NEW, part) for part in ("train", "heldout")}
    for key in parts:
        sums = found.checks[key].sums
        alps = {side: sums[f"nats_{side}"] / sums[f"lines_{side}"] for side in ("before", "after")}
        assert written["language_alp"][key[1]] == alps
    assert set(found.checks) == {("en", "heldout"), ("ka", "heldout"), *parts}


def test_comparison_counts_changes(root, extended):
    before, after = map(loaded, (root / "tokenizers/old", extended))
    found = {(row["language"], row["part"]): row for row in rows(extended / "comparison.tsv")}
    assert set(found) == {("en", "heldout"), ("ka", "heldout"), (NEW, "train"), (NEW, "heldout")}
    for (language, part), row in found.items():
        lines = lines_of(root, language, part)
        old, new = before.encode(lines), after.encode(lines)
        same = sum(one == other for one, other in zip(old, new, strict=True))
        expected = [len(lines), same, sum(map(len, old)), sum(map(len, new))]
        columns = ("lines", "identical", "tokens_before", "tokens_after")
        assert [int(row[column]) for column in columns] == expected
    assert found["ka", "heldout"]["share"] == "1.0"  # no letter in common
    row = found[NEW, "heldout"]
    assert int(row["tokens_after"]) < 0.8 * int(row["tokens_before"])


def test_both_forms_have_the_same_ids(root, extended):
    from transformers import AutoTokenizer

    own, other = loaded(extended), AutoTokenizer.from_pretrained(extended / "huggingface")
    mask = loaded(root / "tokenizers/old").get_piece_size() - 1
    assert other.mask_token_id == own.piece_to_id("<mask>") == mask
    assert len(other) == own.get_piece_size()
    for language in ("en", "ka", NEW):
        lines = lines_of(root, language, "heldout")
        assert other(lines, add_special_tokens=False).input_ids == own.encode(lines)
    assert mask in other("a <mask> b").input_ids


@pytest.mark.parametrize(
    ("kind", "settings", "dtype"),
    [
        ("XLMRobertaForMaskedLM", {}, "float32"),
        ("ElectraForMaskedLM", {"embedding_size": 8}, "float32"),
        ("BertForMaskedLM", {"tie_word_embeddings": False}, "float32"),
        ("XLMRobertaForMaskedLM", {}, "float16"),
    ],
)
def test_new_rows_are_means_of_the_old_segmentation(
    root, tmp_path, out, call, kind, settings, dtype
):
    import torch
    import transformers

    before = loaded(root / "tokenizers/old")
    size = before.get_piece_size()
    model = small_model(kind, size, **settings).to(getattr(torch, dtype))
    model.save_pretrained(tmp_path / "model")
    call(EXTEND + "--pieces=30 --languages=ka --model={tmp}/model -o {tmp}/out")
    old, new = (
        transformers.AutoModelForMaskedLM.from_pretrained(path, dtype="auto").eval()
        for path in (tmp_path / "model", out / "model")
    )
    assert new.config.vocab_size == size + 30

    def tables(model):
        output = model.get_output_embeddings()
        return [model.get_input_embeddings().weight, output.weight, output.bias]

    pairs = list(zip(tables(old), tables(new), strict=True))
    assert all(torch.equal(one, other[:size]) for one, other in pairs)
    checked = 0
    for row in rows(out / "additions.tsv"):
        # then SentencePiece cuts it as a word
        if row["piece"].startswith("▁") and len(row["piece"]) > 1:
            origin = before.encode(row["piece"][1:])
            assert row["origin"].split(" ") == [before.id_to_piece(number) for number in origin]
            for one, other in pairs:
                found, wanted = other[int(row["id"])].double(), one[origin].double().mean(0)
                torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-3)
            checked += 1
    assert checked > 5
    ids = torch.tensor([[0, *before.encode(lines_of(root, "ka", "heldout")[0]), 2]])
    with torch.no_grad():
        torch.testing.assert_close(old(ids).logits, new(ids).logits[..., :size])


def test_equal_bytes_again(call, tmp_path, out, extended):
    call(EXTEND + "--pieces=80 -o {tmp}/out")
    for name in ("sentencepiece.model", "huggingface/tokenizer.json", "ids.tsv", "comparison.tsv"):
        assert (out / name).read_bytes() == (extended / name).read_bytes()


def test_too_little_text_gives_fewer_pieces(root, tmp_path, out, call, caplog):
    write_lines(tmp_path / "short.txt", new_lines(20, seed=8))
    line = "extend {root}/tokenizers/old --language=xx --train={tmp}/short.txt --languages=en "
    shown = call(line + "--pieces=5000 -o {tmp}/out")
    assert "too little text for 5000 new pieces" in caplog.text
    most = len(rows(out / "additions.tsv"))
    assert 0 < most < 5000
    assert "xx train" in shown and "other languages" in shown
    call(line + "--pieces=5000 --multiple-of=16 -o {tmp}/aligned")
    old, aligned = (
        loaded(path).get_piece_size() for path in (root / "tokenizers/old", tmp_path / "aligned")
    )
    assert aligned % 16 == 0 and old + most - 16 < aligned <= old + most
    few = line + "--pieces=10 --multiple-of=65536 -o {tmp}/none"
    refused(call, few, "too few for a multiple of 65536 ids")


def test_totals_are_multiples(root, out, call):
    total = loaded(root / "tokenizers/old").get_piece_size()
    call(EXTEND + "--languages=ka --multiple-of=64 --pieces=90 -o {tmp}/out")
    assert loaded(out).get_piece_size() == -(-(total + 90) // 64) * 64


def test_new_characters_come_first(root, tmp_path, out, call):
    lines = make_lines("zh", 200)
    write_lines(tmp_path / "zh.txt", lines)
    lone = shutil.copy(root / "tokenizers/old/sentencepiece.model", tmp_path / "lone.model")
    shown = call(
        "extend {tmp}/lone.model --language=zh --text={tmp}/zh.txt --pieces=30 -o {tmp}/out"
    )
    assert "not measured" in shown  # no corpora beside the model
    old = processor(lone)
    ids = [number for line in lines for number in old.encode(line)]
    share = 100 * ids.count(old.unk_id()) / len(ids)
    assert f"unknown {share:.2f} % to 0.00 % of the tokens" in shown
    # an unknown character counts as its bytes
    known = {old.id_to_piece(number) for number in range(old.get_piece_size())}
    pieces = [piece for line in lines for piece in old.encode(line, out_type=str)]
    sizes = [1 if piece in known else len(piece.encode()) for piece in pieces]
    assert f"{sum(sizes) / 200:.2f} to " in shown
    assert set("".join(lines)) <= {row["piece"] for row in rows(out / "additions.tsv")}
    after = loaded(out)
    assert not any(after.unk_id() in after.encode(line) for line in lines)


def test_after_trim_only_the_languages_that_are_left_are_compared(root, tmp_path, call):
    corpora = "--corpora={root}/corpora "
    call("trim {root}/tokenizers/old --languages=en -o {tmp}/en " + corpora)
    call("extend {tmp}/en --language=fr --pieces=30 -o {tmp}/two " + corpora)
    assert compared(tmp_path / "two") == {"en", NEW}
    line = "extend {tmp}/two --language=ka --pieces=30 " + corpora
    call(line + "-o {tmp}/three")
    assert compared(tmp_path / "three") == {"en", NEW, "ka"}
    call(line + "--languages=en -o {tmp}/named")
    assert compared(tmp_path / "named") == {"en", "ka"}
    two, three = (loaded(tmp_path / name) for name in ("two", "three"))
    ids = range(two.get_piece_size())
    assert [three.id_to_piece(number) for number in ids] == [two.id_to_piece(n) for n in ids]
    call("trim {tmp}/three --languages=fr -o {tmp}/cut " + corpora)
    cut, lines = loaded(tmp_path / "cut"), lines_of(root, NEW, "heldout")
    assert cut.id_to_piece(cut.get_piece_size() - 1) == "<mask>"  # the usual layout
    assert cut.encode(lines, out_type=str) == three.encode(lines, out_type=str)


LONE = "extend {tmp}/n=1.model --language=fr --pieces=30 "  # no corpora beside it


def test_files_of_other_languages_are_measured(root, tmp_path, call):
    shutil.copy(root / "tokenizers/old/sentencepiece.model", tmp_path / "n=1.model")
    write_lines(tmp_path / "runs/n=1.txt", lines_of(root, NEW, "train"))
    for name, texts in CASES["texts"].items():
        shown = call(LONE + texts + " -o {tmp}/" + name)
        assert "2 other languages: " in shown
        found = {(row["language"], row["part"]) for row in rows(tmp_path / name / "comparison.tsv")}
        assert found == {(NEW, "train"), (NEW, "heldout"), ("en", "text"), ("ka", "heldout")}
    for name in ("sentencepiece.model", "comparison.tsv"):
        assert (tmp_path / "plain" / name).read_bytes() == (tmp_path / "named" / name).read_bytes()


def is_georgian_letter(character):
    return unicodedata.name(character, "").startswith("GEORGIAN")


@pytest.mark.parametrize("kind", ["unigram", "bytes"])
def test_pieces_of_stars_digits_and_other_scripts_are_left_out(root, tmp_path, call, caplog, kind):
    caplog.set_level("INFO")
    old = root / "tokenizers/old"
    if kind == "bytes":
        old = tmp_path / "tokenizer.json"
        byte_tokenizer(lines_of(root, "en", "train"), size=500).save(str(old))
    junk = ["*" * 15, "1,000", "COVID", "привет", "2565", "…"]
    lines = enumerate(make_lines("ka", 400, seed=3))
    write_lines(
        tmp_path / "ka.txt",
        [f"{line} {junk[number % 6]} {junk[number % 5]} 10ა1ბ" for number, line in lines],
    )
    line = "extend {old} --language=ka --text={tmp}/ka.txt --pieces=50 --languages=en "
    call(line + "--corpora={root}/corpora -o {tmp}/out", old=old)
    added = [row["piece"] for row in rows(tmp_path / "out/additions.tsv")]
    assert len(added) == 50
    pieces = [piece for piece in added if "\\x" not in piece]  # whole characters
    others = [piece for piece in pieces if not any(map(is_georgian_letter, piece))]
    needed = ["10", "\u258110"] if kind == "bytes" else []  # parts of 10ა
    assert all(len(piece) == 1 or piece in needed for piece in others), others
    assert not any(character.isalpha() for piece in others for character in piece)
    letters = filter(str.isalpha, "".join(pieces))
    assert all(map(is_georgian_letter, letters))
    assert "of other scripts than Geor, are left out" in caplog.text
    assert json.loads((tmp_path / "out/description.json").read_text())["not_own_text"] > 0


def test_code_and_text_in_another_script_keep_their_pieces(tmp_path, call):
    write_lines(tmp_path / "python.txt", [*["x() == []:", "y == ()"] * 300, *new_lines(50)])
    write_lines(tmp_path / "ru.txt", new_lines(300))
    for language in ("python", "ru"):
        line = "extend {root}/tokenizers/old --language={code} --text={tmp}/{code}.txt --pieces=40 "
        call(line + "--languages=en -o {tmp}/{code}", code=language)
        assert len(rows(tmp_path / language / "additions.tsv")) > 5
        description = json.loads((tmp_path / language / "description.json").read_text())
        assert description["not_own_text"] == 0


@pytest.mark.parametrize("case", CASES["calls"])
def test_a_bad_call_leaves_nothing(root, tmp_path, out, call, case):
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "known.txt").write_text("a\n")
    shutil.copy(root / "tokenizers/old/sentencepiece.model", tmp_path / "n=1.model")
    refused(call, **case | {"line": "extend --pieces=5 -o {tmp}/out " + case["line"]})
    assert not out.exists()


def test_a_tokenizer_whose_model_has_other_rows_keeps_the_ids_of_tokenizer_json(
    root, tmp_path, out, call
):
    """As XLM-R: the SentencePiece model lacks <pad> and <mask>, and its pieces are
    shifted by one.
    """
    from tokenizers import Tokenizer, models

    write_lines(tmp_path / "xx.txt", new_lines(300))
    stock = tmp_path / "shifted" / "sentencepiece.bpe.model"
    stock.parent.mkdir()
    stock.write_bytes(train(lines_of(root, "en", "train"), 200, threads=1))
    names = [entry.piece for entry in read_model(stock).pieces[3:]]
    ids = ["<s>", "<pad>", "</s>", "<unk>", *names, "<mask>"]
    scored = [(piece, -1.0) for piece in ids]
    Tokenizer(models.Unigram(scored, unk_id=3)).save(str(stock.parent / "tokenizer.json"))
    call("extend {tmp}/shifted --language=xx --text={tmp}/xx.txt --pieces=20 -o {tmp}/out")
    after = loaded(out)
    assert [after.id_to_piece(number) for number in range(len(ids))] == ids
    assert after.get_piece_size() == len(ids) + 20
