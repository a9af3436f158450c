"""Ladders and ALP of text in memory, against files and in several threads."""

import os

import pandas as pd
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from tests.made_text import write_lines
from tests.unigram.test_alp import naive_alp
from tests.vocabularies.factories import make_text
from vocap.errors import VocapError
from vocap.files import large_arrays
from vocap.tables.frames import read_table
from vocap.tables.ladder import read_ladder
from vocap.tables.piece_index import build, read_index, save_index, text_pieces
from vocap.unigram import lattice, sentencepiece_trainer
from vocap.unigram.text_settings import TextSettings
from vocap.vocabularies.ladder import train_ladder
from vocap.vocabularies.measurement import alp, measure_text

SIZES = [10, 150, 200, 50_000]


@pytest.fixture(scope="module")
def lines():
    return make_text("latin", 200)


def test_a_ladder_in_memory_is_that_of_the_files(lines, tmp_path):
    heldout = make_text("latin", 20, seed=2)
    write_lines(tmp_path / "train.txt", lines)
    write_lines(tmp_path / "heldout.txt", heldout)
    written = train_ladder(
        tmp_path / "train.txt", tmp_path / "out", sizes=SIZES, heldout=tmp_path / "heldout.txt"
    )
    ladder = train_ladder(iter(lines), sizes=SIZES, heldout=heldout, threads=2)
    assert list(ladder.models) == [150, 200]
    for size, model in ladder.models.items():
        assert model == (tmp_path / "out" / "models" / f"{size}.model").read_bytes()
        assert model == sentencepiece_trainer.train(lines, size)
    pd.testing.assert_frame_equal(ladder.curve, read_table(tmp_path / "out" / "curve.tsv"))
    save_index(ladder.index, tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "out/pieces.npz").read_bytes()
    found = read_ladder(tmp_path / "out")
    assert ladder.characters == written.characters == found.characters
    assert list(ladder.characters) == list(found.characters)
    assert written.points == ladder.points == found.points and not written.models
    assert ladder.read_pieces(150).pieces == found.read_pieces(150).pieces
    assert read_index(tmp_path / "out" / "pieces.npz").sizes.tolist() == [150, 200]


@pytest.mark.parametrize("threads", [1, 2])
def test_arrays_on_the_disk_give_the_same_models(lines, monkeypatch, threads):
    sizes = [*SIZES, *range(90, 200, 7)]
    in_memory = train_ladder(lines, sizes=sorted(sizes), threads=threads)
    made, allocate = [], os.posix_fallocate
    monkeypatch.setattr(os, "posix_fallocate", lambda *of: made.append(of) or allocate(*of))
    monkeypatch.setattr(large_arrays, "SHARE", 10**6)  # so that small arrays are large
    monkeypatch.setattr(lattice, "_WINDOW", 1 << 12)  # and filled a part at a time
    on_disk = train_ladder(lines, sizes=sorted(sizes), threads=threads, memory=1)
    assert len(made) > 20
    assert on_disk.models == in_memory.models and on_disk.points == in_memory.points


@pytest.mark.parametrize("symbols", [(), ("zz", "<mask>")])
def test_the_index_is_that_of_the_written_models(symbols, tmp_path):
    """Names of two bytes a character, and some of more than 127 bytes."""
    lines = [*make_text("latin", 100), *["".join(map(chr, range(0x10400, 0x10440)))] * 9]
    lines += [*["щ" * 90], "zz <mask>", *[chr(0x4E00 + at) for at in range(99)]]
    lines = [*lines, *[line[:50] + "." for line in lines[100:110]]]
    settings = TextSettings(max_sentencepiece_length=100, user_defined_symbols=symbols)
    ladder = train_ladder(lines, tmp_path, sizes=[5, 300, 400], text=settings)
    sizes = [point.size for point in ladder.points if point.ok]
    assert sizes == [300, 400]
    pieces = [ladder.read_pieces(size) for size in sizes]
    assert max(len(piece.encode()) for piece in pieces[0].pieces) > 127
    save_index(build(sizes, map(text_pieces, pieces)), tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "pieces.npz").read_bytes()
    for size in sizes:
        model = (tmp_path / "models" / f"{size}.model").read_bytes()
        assert model == sentencepiece_trainer.train(lines, size, settings=settings)


def test_sentences_keep_models_of_the_same_sentences(lines, tmp_path):
    train_ladder(lines, tmp_path, sizes=[150])
    model = tmp_path / "models" / "150.model"
    first = model.stat().st_mtime_ns
    train_ladder(tuple(lines), tmp_path, sizes=[150])
    assert model.stat().st_mtime_ns == first
    train_ladder([*lines, "one more"], tmp_path, sizes=[150])
    assert model.stat().st_mtime_ns > first


def test_alp_of_what_is_loaded(lines, tmp_path):
    model = train_ladder(lines, sizes=[150]).models[150]
    (tmp_path / "m.model").write_bytes(model)
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor(model_proto=model)
    given = (model, processor, tmp_path / "m.model", str(tmp_path / "m.model"))
    assert len({alp(one, lines) for one in given}) == 1
    assert alp(model, lines) == pytest.approx(naive_alp(processor, lines), rel=1e-12)
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.enable_truncation(1)
    before = tokenizer.to_str()
    found = measure_text(tokenizer, ["a b a", "a ก", ""])  # ก: three bytes in place of "?"
    assert (found.tokens, found.sentences, found.unk_rate) == (7, 3, 0.2)
    assert (found.unknown_bytes, found.tokens_per_sentence) == (3, 7 / 3)
    assert tokenizer.to_str() == before
    with pytest.raises(VocapError, match="no lines"):
        alp(model, [])
