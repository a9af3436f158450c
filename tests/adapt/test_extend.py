"""`vocap extend`: old ids stay, the new pieces are those of SentencePiece's own
training, the model follows.
"""

import json
import logging
import shutil
import unicodedata

import pytest
from sentencepiece import SentencePieceProcessor, sentencepiece_model_pb2

import vocap.adapt.extend
from tests.commands import run
from tests.made_text import write_lines
from tests.tokenizers.factories import byte_tokenizer, make_lines
from vocap.adapt.commands import extend, trim
from vocap.errors import UsageError, VocapError
from vocap.files.io import read_tsv
from vocap.tokenizer_files.export import export_unigram
from vocap.tokenizer_files.layout import relayout, serialize
from vocap.tokenizer_files.model_file import read_model
from vocap.unigram.sentencepiece_trainer import train
from vocap.unigram.text_settings import text_settings, trained_settings

from .test_trim import make_model, processor

NEW = "fr"  # another lexicon over the letters of en


def new_lines(count, seed=3):
    """Words of `en` turned around: its letters, other pieces."""
    return [line[::-1] for line in make_lines("en", count, seed=seed)]


def make_root(root):
    """A tokenizer of two languages, and corpora of three, in the folder `root`."""
    texts = {language: make_lines(language, 700, seed=3) for language in ("en", "ka")} | {
        NEW: new_lines(700)
    }
    for language, lines in texts.items():
        folder = root / "corpora" / language
        write_lines(folder / "train.txt", lines[:600])
        write_lines(folder / "heldout.txt", lines[600:])
    stock = root / "stock.model"
    stock.write_bytes(
        train(texts["en"] + texts["ka"], 400, threads=1, user_defined_symbols=["<date>"])
    )
    folder = root / "tokenizers" / "old"
    folder.mkdir(parents=True)
    (folder / "sentencepiece.model").write_bytes(serialize(relayout(read_model(stock), "stock")))
    export_unigram(folder / "sentencepiece.model", folder / "huggingface")
    return root


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return make_root(tmp_path_factory.mktemp("extend"))


@pytest.fixture(scope="module")
def extended(root):
    run(
        extend, root / "tokenizers/old", f"--language={NEW}", "--pieces=80", "-o", root / "extended"
    )
    return root / "extended"


def lines_of(root, language, part):
    return (root / "corpora" / language / f"{part}.txt").read_text("utf-8").splitlines()


def rows(path):
    return list(read_tsv(path))


def test_the_new_language_is_trained_with_the_tokenizers_own_settings(root, tmp_path):
    """Digits apart and runs of spaces, as a lossless tokenizer has them; XLM-R's
    settings would add `▁10`.
    """
    numbers = [
        f"{line} {number}  10{number % 7}"
        for number, line in enumerate(lines_of(root, NEW, "train"))
    ]
    texts = {"old": lines_of(root, "en", "train"), "new": numbers}
    files = {name: write_lines(tmp_path / f"{name}.txt", lines) for name, lines in texts.items()}
    stock = train(texts["old"], 400, threads=1, settings=text_settings("lossless"))
    (tmp_path / "stock.model").write_bytes(stock)
    model = tmp_path / "old.model"
    model.write_bytes(serialize(relayout(read_model(tmp_path / "stock.model"), "stock")))
    assert trained_settings(read_model(model)) == text_settings("lossless", byte_fallback=False)
    run(
        extend,
        model,
        f"--language={NEW}",
        f"--text={files['new']}",
        "--pieces=60",
        "-o",
        tmp_path / "out",
    )
    pieces = [
        entry.piece for entry in read_model(tmp_path / "out" / "sentencepiece.model").pieces[-60:]
    ]
    assert not [
        piece
        for piece in pieces
        if len(piece) > 1 and any(character.isdigit() for character in piece)
    ]
    assert trained_settings(
        read_model(tmp_path / "out" / "sentencepiece.model")
    ) == trained_settings(read_model(model))


@pytest.mark.parametrize(
    ("spec", "key", "value", "said"),
    [
        ("trainer_spec", "split_by_whitespace", False, "its pieces cross spaces"),
        ("normalizer_spec", "name", "user_defined", "by a table of its own"),
    ],
)
def test_what_cannot_be_trained_is_refused(root, tmp_path, spec, key, value, said):
    proto = read_model(root / "tokenizers/old/sentencepiece.model")
    setattr(getattr(proto, spec), key, value)
    proto.normalizer_spec.precompiled_charsmap = b""
    (tmp_path / "own.model").write_bytes(proto.SerializeToString())
    text, out = f"--text={root}/corpora/en/train.txt", tmp_path / "out"
    with pytest.raises(VocapError, match=said):
        run(
            extend,
            tmp_path / "own.model",
            "--language=xx",
            text,
            "--pieces=9",
            "-o",
            tmp_path / "x",
        )
    assert not out.exists()


def test_old_ids_and_scores_stay(root, extended):
    before, after = (
        read_model(path / "sentencepiece.model") for path in (root / "tokenizers/old", extended)
    )
    assert len(after.pieces) == len(before.pieces) + 80
    for old, new in zip(before.pieces, after.pieces, strict=False):
        assert (old.piece, old.score, old.type) == (new.piece, new.score, new.type)
    ids = rows(extended / "ids.tsv")
    assert [row["old"] for row in ids] == [*map(str, range(len(before.pieces))), *[""] * 80]
    assert [row["piece"] for row in ids] == [entry.piece for entry in after.pieces]


def test_the_new_pieces_are_of_sentencepieces_own_training(root, extended):
    """The smallest size, within 6 %, that brings as many; clipped pieces have the
    lowest scores.
    """
    size = json.loads((extended / "description.json").read_text())["size"]
    known = {
        entry.piece for entry in read_model(root / "tokenizers/old/sentencepiece.model").pieces
    }

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
    bare = sentencepiece_model_pb2.ModelProto.FromString(
        (extended / "sentencepiece.model").read_bytes()
    )
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
        alps = {"before": found.checks[key].before.alp, "after": found.checks[key].after.alp}
        assert written["language_alp"][key[1]] == alps
    assert set(found.checks) == {("en", "heldout"), ("ka", "heldout"), *parts}


def test_comparison_counts_changes(root, extended):
    before, after = (
        processor(path / "sentencepiece.model") for path in (root / "tokenizers/old", extended)
    )
    found = {(row["language"], row["part"]): row for row in rows(extended / "comparison.tsv")}
    assert set(found) == {("en", "heldout"), ("ka", "heldout"), (NEW, "train"), (NEW, "heldout")}
    for (language, part), row in found.items():
        pairs = [
            [side.encode(line) for side in (before, after)]
            for line in lines_of(root, language, part)
        ]
        assert int(row["lines"]) == len(pairs)
        assert int(row["identical"]) == sum(one == other for one, other in pairs)
        assert int(row["tokens_before"]) == sum(len(one) for one, _ in pairs)
        assert int(row["tokens_after"]) == sum(len(other) for _, other in pairs)
    assert found["ka", "heldout"]["share"] == "1.0"  # no letter in common
    assert int(found[NEW, "heldout"]["tokens_after"]) < 0.8 * int(
        found[NEW, "heldout"]["tokens_before"]
    )


def test_both_forms_have_the_same_ids(root, extended):
    from transformers import AutoTokenizer

    own, other = (
        processor(extended / "sentencepiece.model"),
        AutoTokenizer.from_pretrained(extended / "huggingface"),
    )
    mask = processor(root / "tokenizers/old/sentencepiece.model").get_piece_size() - 1
    assert (other.mask_token_id, own.piece_to_id("<mask>"), len(other)) == (
        mask,
        mask,
        own.get_piece_size(),
    )
    for language in ("en", "ka", NEW):
        for line in lines_of(root, language, "heldout"):
            assert other(line, add_special_tokens=False).input_ids == own.encode(line)
    assert mask in other("a <mask> b").input_ids


@pytest.mark.parametrize("kind", ["tied", "half", "untied", "float16"])
def test_new_rows_are_means_of_the_old_segmentation(root, tmp_path, kind):
    import torch
    import transformers

    folder = root / "tokenizers/old"
    before = processor(folder / "sentencepiece.model")
    make_model(kind, before.get_piece_size()).save_pretrained(tmp_path / "model")
    out = tmp_path / "out"
    words = (f"--language={NEW}", "--pieces=30", "--languages=ka", "--model", tmp_path / "model")
    run(extend, folder, *words, "-o", out)
    old, new = (
        transformers.AutoModelForMaskedLM.from_pretrained(path, dtype="auto").eval()
        for path in (tmp_path / "model", out / "model")
    )
    size = before.get_piece_size()
    assert new.config.vocab_size == size + 30
    tables = [
        (
            side.get_input_embeddings().weight,
            side.get_output_embeddings().weight,
            side.get_output_embeddings().bias,
        )
        for side in (old, new)
    ]
    for one, other in zip(*tables, strict=True):
        assert torch.equal(one, other[:size])
    checked = 0
    for row in rows(out / "additions.tsv"):
        # then SentencePiece cuts it as a word
        if row["piece"].startswith("▁") and len(row["piece"]) > 1:
            origin = before.encode(row["piece"][1:])
            assert row["origin"].split(" ") == [before.id_to_piece(number) for number in origin]
            for one, other in zip(*tables, strict=True):
                wanted = one[origin].double().mean(0)
                torch.testing.assert_close(
                    other[int(row["id"])].double(), wanted, rtol=1e-3, atol=1e-3
                )
            checked += 1
    assert checked > 5
    ids = torch.tensor([[0, *before.encode(lines_of(root, "ka", "heldout")[0]), 2]])
    with torch.no_grad():
        torch.testing.assert_close(old(ids).logits, new(ids).logits[..., :size])


def test_equal_bytes_again(root, tmp_path, extended):
    run(extend, root / "tokenizers/old", f"--language={NEW}", "--pieces=80", "-o", tmp_path / "out")
    for name in ("sentencepiece.model", "huggingface/tokenizer.json", "ids.tsv", "comparison.tsv"):
        assert (tmp_path / "out" / name).read_bytes() == (extended / name).read_bytes()


def test_too_little_text_gives_fewer_pieces(root, tmp_path, caplog):
    text = tmp_path / "short.txt"
    write_lines(text, new_lines(20, seed=8))
    caplog.set_level(logging.WARNING)
    shown = run(
        extend, root / "tokenizers/old/sentencepiece.model", "--language=xx", f"--train={text}",
        "--pieces=5000", "--languages=en", "-o", tmp_path / "out",
    )  # fmt: skip
    assert "too little text for 5000 new pieces" in caplog.text
    most = len(rows(tmp_path / "out/additions.tsv"))
    assert 0 < most < 5000
    assert "xx train" in shown and "other languages" in shown
    words = (root / "tokenizers/old", "--language=xx", f"--text={text}", "--languages=en")
    run(extend, *words, "--pieces=5000", "--multiple-of=16", "-o", tmp_path / "aligned")
    old, aligned = (
        processor(path / "sentencepiece.model").get_piece_size()
        for path in (words[0], tmp_path / "aligned")
    )
    assert aligned % 16 == 0 and old + most - 16 < aligned <= old + most
    with pytest.raises(VocapError, match="too few for a multiple of 65536 ids"):
        run(extend, *words, "--pieces=10", "--multiple-of=65536", "-o", tmp_path / "none")


def test_totals_are_multiples(root, tmp_path):
    old = root / "tokenizers/old"
    total = processor(old / "sentencepiece.model").get_piece_size()
    words = (f"--language={NEW}", "--languages=ka", "--multiple-of=64", "--pieces=90")
    run(extend, old, *words, "-o", tmp_path / "out")
    assert (
        processor(tmp_path / "out/sentencepiece.model").get_piece_size()
        == -(-(total + 90) // 64) * 64
    )


def test_new_characters_come_first(root, tmp_path):
    text = tmp_path / "zh.txt"
    write_lines(text, make_lines("zh", 200))
    lone = tmp_path / "lone.model"
    shutil.copy(root / "tokenizers/old/sentencepiece.model", lone)
    shown = run(
        extend, lone, "--language=zh", f"--text={text}", "--pieces=30", "-o", tmp_path / "out"
    )
    assert "not measured" in shown  # no corpora beside the model
    old = processor(lone)
    ids = [number for line in make_lines("zh", 200) for number in old.encode(line)]
    share = 100 * ids.count(old.unk_id()) / len(ids)
    assert f"unknown {share:.2f} % to 0.00 % of the tokens" in shown
    # an unknown character counts as its bytes
    known = {old.id_to_piece(number) for number in range(old.get_piece_size())}
    pieces = [piece for line in make_lines("zh", 200) for piece in old.encode(line, out_type=str)]
    sizes = [1 if piece in known else len(piece.encode()) for piece in pieces]
    assert f"{sum(sizes) / 200:.2f} to " in shown
    assert set("".join(make_lines("zh", 200))) <= {
        row["piece"] for row in rows(tmp_path / "out/additions.tsv")
    }
    after = processor(tmp_path / "out/sentencepiece.model")
    assert not any(after.unk_id() in after.encode(line) for line in make_lines("zh", 200))


def test_it_can_be_extended_again_and_trimmed_to_the_usual_layout(root, extended, tmp_path):
    text = tmp_path / "zh.txt"
    write_lines(text, make_lines("zh", 200))
    run(
        extend, extended, "--language=zh", f"--text={text}", "--pieces=40",
        "--corpora", root / "corpora", "-o", tmp_path / "twice",
    )  # fmt: skip
    one, two = (processor(path / "sentencepiece.model") for path in (extended, tmp_path / "twice"))
    pieces = [two.id_to_piece(number) for number in range(two.get_piece_size())]
    assert pieces[: one.get_piece_size()] == [
        one.id_to_piece(number) for number in range(one.get_piece_size())
    ]
    corpora = ["--corpora", root / "corpora"]
    run(trim, tmp_path / "twice", *corpora, f"--languages={NEW}", "-o", tmp_path / "trimmed")
    cut = processor(tmp_path / "trimmed/sentencepiece.model")
    assert cut.id_to_piece(cut.get_piece_size() - 1) == "<mask>"
    for line in lines_of(root, NEW, "heldout"):
        assert cut.encode(line, out_type=str) == two.encode(line, out_type=str)


def test_after_trim_only_the_languages_that_are_left_are_compared(root, tmp_path):
    corpora = ["--corpora", root / "corpora"]
    run(trim, root / "tokenizers/old", *corpora, "--languages=en", "-o", tmp_path / "en")
    run(
        extend,
        tmp_path / "en",
        *corpora,
        f"--language={NEW}",
        "--pieces=30",
        "-o",
        tmp_path / "two",
    )
    assert {row["language"] for row in rows(tmp_path / "two/comparison.tsv")} == {"en", NEW}
    run(
        extend, tmp_path / "two", *corpora, "--language=ka", "--pieces=30", "-o", tmp_path / "three"
    )
    assert {row["language"] for row in rows(tmp_path / "three/comparison.tsv")} == {"en", NEW, "ka"}
    words = ["--language=ka", "--pieces=30", "--languages=en"]
    run(extend, tmp_path / "two", *corpora, *words, "-o", tmp_path / "named")
    assert {row["language"] for row in rows(tmp_path / "named/comparison.tsv")} == {"en", "ka"}


def test_files_of_other_languages_are_measured(root, tmp_path):
    lone = tmp_path / "n=1.model"
    shutil.copy(root / "tokenizers/old/sentencepiece.model", lone)
    own = tmp_path / "runs/n=1.txt"
    write_lines(own, lines_of(root, NEW, "train"))
    parts = {code: root / "corpora" / code for code in ("en", "ka", NEW)}
    words = (extend, lone, f"--language={NEW}", "--pieces=30")
    others = ("--text", f"en={parts['en']}/train.txt", "--heldout", f"ka={parts['ka']}/heldout.txt")
    for name, given in (
        ("plain", ("--train", own, "--heldout", parts[NEW] / "heldout.txt")),
        ("named", ("--text", f"{NEW}={own}", "--heldout", f"{NEW}={parts[NEW]}/heldout.txt")),
    ):
        shown = run(*words, *given, *others, "-o", tmp_path / name)
        assert "2 other languages: " in shown
        found = {(row["language"], row["part"]) for row in rows(tmp_path / name / "comparison.tsv")}
        assert found == {(NEW, "train"), (NEW, "heldout"), ("en", "text"), ("ka", "heldout")}
    for name in ("sentencepiece.model", "comparison.tsv"):
        assert (tmp_path / "plain" / name).read_bytes() == (tmp_path / "named" / name).read_bytes()
    corpora = ("--corpora", root / "corpora")
    run(*words, *corpora, *others[:2], "-o", tmp_path / "both")
    found = {(row["language"], row["part"]) for row in rows(tmp_path / "both/comparison.tsv")}
    assert found == {(NEW, "train"), (NEW, "heldout"), ("en", "text"), ("ka", "heldout")}
    for given, message in (
        ((f"--text={own}", *others, "--languages=ka"), "--text en=.*is not among --languages"),
        ((f"--text={own}", f"--text={own}"), f"{NEW} has .* already"),
        ((f"--text={own}", "--languages=ka"), "no text: give --text LANG=FILE"),
        ((*others,), f"no text of {NEW}: give --text FILE"),
    ):
        with pytest.raises(UsageError, match=message):
            run(*words, *given, "-o", tmp_path / "out")


def is_georgian_letter(character):
    return unicodedata.name(character, "").startswith("GEORGIAN")


@pytest.mark.parametrize("kind", ["unigram", "bytes"])
def test_pieces_of_stars_digits_and_other_scripts_are_left_out(root, tmp_path, caplog, kind):
    caplog.set_level(logging.INFO)
    old = root / "tokenizers/old"
    if kind == "bytes":
        old = tmp_path / "old"
        old.mkdir()
        byte_tokenizer(lines_of(root, "en", "train"), size=500).save(str(old / "tokenizer.json"))
    junk = ["*" * 15, "1,000", "COVID", "привет", "2565", "…"]
    text = write_lines(
        tmp_path / "ka.txt",
        [
            f"{line} {junk[number % 6]} {junk[number % 5]} 10ა1ბ"
            for number, line in enumerate(make_lines("ka", 400, seed=3))
        ],
    )
    words = ("--language=ka", f"--text={text}", "--pieces=50", "--languages=en")
    run(extend, old, *words, "--corpora", root / "corpora", "-o", tmp_path / "out")
    added = [row["piece"] for row in rows(tmp_path / "out/additions.tsv")]
    assert len(added) == 50
    pieces = [piece for piece in added if "\\x" not in piece]  # whole characters
    others = [piece for piece in pieces if not any(map(is_georgian_letter, piece))]
    needed = ["10", "\u258110"] if kind == "bytes" else []  # parts of 10ა
    assert all(len(piece) == 1 or piece in needed for piece in others), others
    assert not any(character.isalpha() for piece in others for character in piece)
    assert not any(
        character.isalpha() and not is_georgian_letter(character)
        for piece in pieces
        for character in piece
    )
    assert "of other scripts than Geor, are left out" in caplog.text
    assert json.loads((tmp_path / "out/description.json").read_text())["not_own_text"] > 0


def test_code_and_text_in_another_script_keep_their_pieces(root, tmp_path):
    old = root / "tokenizers/old"
    code = write_lines(tmp_path / "code.txt", [*["x() == []:", "y == ()"] * 300, *new_lines(50)])
    latin = write_lines(tmp_path / "latin.txt", new_lines(300))
    for language, text in (("python", code), ("ru", latin)):
        words = (f"--language={language}", f"--text={text}", "--pieces=40", "--languages=en")
        run(extend, old, *words, "-o", tmp_path / language)
        assert len(rows(tmp_path / language / "additions.tsv")) > 5
        description = json.loads((tmp_path / language / "description.json").read_text())
        assert description["not_own_text"] == 0


def test_a_bad_call_leaves_nothing(root, tmp_path):
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "known.txt").write_text("a\n")
    old, language = root / "tokenizers/old", f"--language={NEW}"
    calls = [
        ([old, "--language=xx", "--pieces=5"], UsageError, "no text of xx"),
        (
            [old, "--language=xx", "--pieces=5", f"--text={tmp_path}/empty.txt"],
            VocapError,
            "no text in it",
        ),
        (
            [old, "--language=xx", "--pieces=5", f"--text={tmp_path}/known.txt"],
            VocapError,
            "nothing to add",
        ),
        (
            [root / "stock.model", language, "--pieces=5"],
            VocapError,
            "lay it out with vocap mono first",
        ),
    ]
    for arguments, kind, message in calls:
        with pytest.raises(kind, match=message):
            run(extend, *arguments, "-o", tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_a_tokenizer_whose_model_has_other_rows_keeps_the_ids_of_tokenizer_json(root, tmp_path):
    """As XLM-R: the SentencePiece model lacks <pad> and <mask>, and its pieces are
    shifted by one.
    """
    from tokenizers import Tokenizer, models

    text = tmp_path / "xx.txt"
    write_lines(text, new_lines(300))
    stock = tmp_path / "shifted" / "sentencepiece.bpe.model"
    stock.parent.mkdir()
    stock.write_bytes(train(lines_of(root, "en", "train"), 200, threads=1))
    names = [entry.piece for entry in read_model(stock).pieces[3:]]
    ids = ["<s>", "<pad>", "</s>", "<unk>", *names, "<mask>"]
    scored = [(piece, -1.0) for piece in ids]
    Tokenizer(models.Unigram(scored, unk_id=3)).save(str(stock.parent / "tokenizer.json"))
    run(
        extend,
        stock.parent,
        "--language=xx",
        f"--text={text}",
        "--pieces=20",
        "-o",
        tmp_path / "out",
    )
    after = processor(tmp_path / "out/sentencepiece.model")
    assert [after.id_to_piece(number) for number in range(len(ids))] == ids
    assert after.get_piece_size() == len(ids) + 20
