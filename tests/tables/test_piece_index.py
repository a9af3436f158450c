"""The index of pieces against the sets it stands for, and against SentencePiece's own
vocabulary.
"""

import os
import random
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import sentencepiece

from tests.tokenizer_files.factories import train_model
from tests.vocabularies.factories import make_text
from vocap.errors import VocapError
from vocap.tables.piece_index import NAME, build, load_or_build, read_index, save_index


def members(index, rank):
    """The set of pieces of one size, by the documented meaning of the arrays."""
    inside = (index.start <= rank) & (rank < index.stop)
    return index.strings(index.piece[inside])


def random_vocabularies(seed, sizes=6):
    rng = random.Random(seed)
    alphabet = ["a", "b", "▁", "é", "日", "𝄞", "\t", "\\"]
    pool = sorted({"".join(rng.choices(alphabet, k=rng.randint(1, 4))) for _ in range(120)})
    return [rng.sample(pool, rng.randint(0, len(pool))) for _ in range(sizes)]


@pytest.mark.parametrize("seed", range(8))
def test_holds_the_set_of_every_size(seed, tmp_path):
    vocabularies = random_vocabularies(seed)
    sizes = [10 * (k + 1) for k in range(len(vocabularies))]
    save_index(build(sizes, vocabularies), tmp_path / NAME)
    index = read_index(tmp_path / NAME)
    assert index.sizes.tolist() == sizes
    for rank, pieces in enumerate(vocabularies):
        found = members(index, rank)
        assert len(found) == len(set(found)) and set(found) == set(pieces)
    # hashes tell pieces apart and are the same in the index of another language
    assert len(np.unique(index.hashes)) == len(set().union(*vocabularies))
    other = build([1], [sorted(set().union(*vocabularies))])
    hashes = dict(
        zip(other.strings(np.arange(len(other.hashes))), other.hashes.tolist(), strict=True)
    )
    for piece, value in zip(
        index.strings(np.arange(len(index.hashes))), index.hashes.tolist(), strict=True
    ):
        assert hashes[piece] == value


def test_bytes_depend_on_nothing_but_the_pieces(tmp_path):
    program = (
        "import sys; from vocap.tables.piece_index import build, save_index;"
        "save_index(build([1, 2], [['a', 'b', 'ü'], ['b', 'c']]), sys.argv[1])"
    )
    for name in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": name}
        subprocess.run(
            [sys.executable, "-c", program, tmp_path / name], check=True, env=environment
        )
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()
    with zipfile.ZipFile(tmp_path / "0") as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


TEXT = make_text("latin", 120)
SIZES = (60, 80)


def train(path, size, text=TEXT):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(train_model(text, size, user_defined_symbols=["<x>"]))


@pytest.fixture
def folder(tmp_path):
    """A language with models of two sizes."""
    folder = tmp_path / "xx"
    for size in SIZES:
        train(folder / "models" / f"{size}.model", size)
    return folder


def load(folder, sizes=SIZES):
    return load_or_build(folder / NAME, folder / "models", list(sizes))


def test_real_models_without_their_meta_pieces(folder):
    load(folder)
    index = read_index(folder / NAME)
    assert index.sizes.tolist() == [60, 80]
    for rank, size in enumerate((60, 80)):
        processor = sentencepiece.SentencePieceProcessor(
            model_file=str(folder / "models" / f"{size}.model")
        )
        pieces = {processor.id_to_piece(number) for number in range(size)} - {
            "<unk>",
            "<s>",
            "</s>",
        }
        assert set(members(index, rank)) == pieces
        assert "<x>" in pieces


def test_made_once_and_again_when_a_model_changes(folder):
    made = load(folder)
    before = (folder / NAME).stat()
    assert set(members(load(folder), 1)) == set(members(made, 1))
    assert (folder / NAME).stat().st_mtime_ns == before.st_mtime_ns
    # a model that is older than before, as a checkout or a copy may make it: still good
    os.utime(folder / "models" / "60.model", (1, 1))
    load(folder)
    assert (folder / NAME).stat().st_mtime_ns == before.st_mtime_ns
    # another model of the same size
    train(folder / "models" / "80.model", 80, make_text("latin", 120, seed=2))
    fresh = load(folder)
    assert set(members(fresh, 1)) != set(members(made, 1))
    assert set(members(read_index(folder / NAME), 1)) == set(members(fresh, 1))
    # a size that is no longer ok
    assert load(folder, [60]).sizes.tolist() == [60]
    assert read_index(folder / NAME).sizes.tolist() == [60]


def test_a_damaged_file_is_made_again(folder, caplog):
    good = members(load(folder), 0)
    data = (folder / NAME).read_bytes()
    (folder / NAME).write_bytes(data[: len(data) // 2])
    assert members(load(folder), 0) == good
    assert "reading the models instead" in caplog.text
    assert (folder / NAME).read_bytes() == data


def test_missing_model_names_the_file_and_the_curve(folder):
    load(folder)
    (folder / "models" / "80.model").unlink()
    with pytest.raises(
        VocapError, match=r"80\.model: no such model, .* size 80 ok; delete the curve"
    ):
        load(folder)


def test_folder_that_cannot_be_written(folder, caplog):
    (folder / "a file").write_bytes(b"")
    index = load_or_build(folder / "a file" / NAME, folder / "models", list(SIZES))
    assert index.sizes.tolist() == [60, 80]
    assert "cannot be written" in caplog.text


def test_language_without_any_model(tmp_path):
    load(tmp_path, [])
    assert len(read_index(tmp_path / NAME).sizes) == 0
