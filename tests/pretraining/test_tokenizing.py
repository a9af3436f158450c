"""Text to blocks: whole sentences, the ids of SentencePiece, every token once, whole or
not at all.
"""

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.commands import caller
from tests.made_text import write_lines
from tests.pretraining.factories import make_lines, make_tokenizer, processor
from tests.server import RangeServer, at_work
from tests.tokenizer_files.factories import train_model
from vocap.errors import UsageError, VocapError
from vocap.files.io import read_object
from vocap.pretraining.data import open_language
from vocap.pretraining.tokenizing import Packer, file_sha256, tokenize_language
from vocap.storage.listing import list_shards
from vocap.text_files import Layout

VOCAP = Path(sys.executable).parent / "vocap"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory) -> Path:
    return make_tokenizer(tmp_path_factory.mktemp("made") / "tokenizer")


@pytest.fixture
def model(tokenizer) -> Path:
    return tokenizer / "sentencepiece.model"


@pytest.fixture
def call(tmp_path, model):
    return caller(tmp=tmp_path, model=model)


@pytest.fixture
def blocks(tmp_path, model):
    """Write text and held-out text, and their blocks into a folder: its description."""

    def blocks(train: list[str], heldout: list[str], name: str = "de") -> dict:
        path = write_lines(tmp_path / "train.txt", train)
        own = write_lines(tmp_path / "heldout.txt", heldout)
        return tokenize_language("de", [str(path)], Layout(), own, model, tmp_path / name, 64)

    return blocks


@given(
    st.lists(st.lists(st.integers(4, 99), max_size=40), max_size=30),
    st.integers(8, 32),
    st.integers(0, 30),
)
def test_blocks_hold_every_sentence_once_and_none_is_cut_that_fits(sentences, length, split):
    packer = Packer(length, 0, 2)
    sizes = [3 * len(sentence) + 1 for sentence in sentences]
    blocks = packer.add(sentences[:split], sizes[:split], sizes[:split])
    blocks += packer.add(sentences[split:], sizes[split:], sizes[split:]) + packer.close()

    assert all(ids[0] == 0 and ids[-1] == 2 and 2 < len(ids) <= length for ids, *_ in blocks)
    found = [
        list(group)
        for ids, *_ in blocks
        for end, group in itertools.groupby(ids[1:], (2).__eq__)
        if not end
    ]
    expected = [
        part for sentence in sentences if sentence for part in whole_or_cut(sentence, length - 2)
    ]
    assert found == expected
    assert sum(size for _, size, _ in blocks) == sum(
        size for size, ids in zip(sizes, sentences, strict=True) if ids
    )


def whole_or_cut(sentence: list[int], room: int) -> list[list[int]]:
    return [sentence[start : start + room] for start in range(0, len(sentence), room)]


@given(st.lists(st.integers(1, 20), min_size=1, max_size=40))
def test_no_block_is_closed_that_the_next_sentence_would_have_fitted_in(lengths):
    packer = Packer(32, 0, 2)
    blocks = (
        packer.add([[7] * length for length in lengths], [1] * len(lengths), [0] * len(lengths))
        + packer.close()
    )
    for (ids, *_), (following, *_) in itertools.pairwise(blocks):
        first = following.index(2)  # the next block's first sentence has first - 1 ids
        assert len(ids) + first > 32


def test_the_ids_are_those_of_sentencepiece(model, blocks, tmp_path):
    lines = make_lines("ru", 400)
    told = blocks([*lines[:300], "", "  ", lines[310]], lines[300:])
    opened = open_language(tmp_path / "de", file_sha256(model))
    ids = processor().encode(lines)
    for part, expected in ((opened.train, ids[:300]), (opened.heldout, ids[300:])):
        made = [part[index].tolist() for index in range(len(part))]
        assert all(block[0] == 0 for block in made)
        sentences = [number for sentence in expected for number in (*sentence, 2)]
        assert [number for block in made for number in block[1:]] == sentences
    sizes = [len(line.encode()) for line in lines]
    expected = {"lines": 300, "heldout_lines": 1, "empty": 2, "bytes": sum(sizes[:300])}
    assert told["train"] == told["train"] | expected
    assert int(opened.train.size_bytes.sum()) == sum(sizes[:300])
    assert int(opened.heldout.size_bytes.sum()) == sum(sizes[300:])
    assert opened.train.tokens.dtype == np.uint32


def test_a_killed_run_leaves_nothing_and_the_next_one_is_whole(model, tmp_path):
    """kill -9 while arrays are being written."""
    lines = make_lines("de", 2000)
    train = write_lines(tmp_path / "train.txt", lines[20:] * 200)
    heldout = write_lines(tmp_path / "heldout.txt", lines[:20])
    out = tmp_path / "made" / "de"
    line = f"tokenize --tokenizer {model} --language de --heldout {heldout} {train} -o {out}"
    words = [VOCAP, *line.split()]
    killed = subprocess.Popen(words, stderr=subprocess.PIPE)
    while not any(path.stat().st_size for path in out.parent.glob(".de.*/train.npy")):
        assert killed.poll() is None, killed.stderr.read()
        time.sleep(0.005)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    assert not out.exists()
    subprocess.run(words, check=True)
    assert [path.name for path in out.parent.iterdir()] == ["de"]
    assert len(open_language(out).train) > 0


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_another_text_replaces_the_blocks(blocks, tmp_path):
    lines = make_lines("de", 300)
    blocks(lines[20:150], lines[:20])
    told = blocks(lines[150:], lines[:20])
    assert told == blocks(lines[150:], lines[:20], "fresh")
    assert contents(tmp_path / "de") == contents(tmp_path / "fresh")


TOKENIZE = "tokenize --tokenizer {model} --language de --heldout {tmp}/heldout.txt --length 64 "


def test_text_of_another_machine_gives_the_blocks_of_the_same_files_here(model, call, tmp_path):
    lines = make_lines("de", 300)
    heldout = write_lines(tmp_path / "heldout.txt", lines[:20])
    with at_work(RangeServer()) as server:
        paths = []
        for number in range(3):
            path = write_lines(tmp_path / f"{number}.txt", lines[20 + number :: 3])
            server.files[path.name] = path.read_bytes()
            paths.append(path)
        list_shards([server.url(path.name) for path in paths]).write(tmp_path / "files.json")
        call(TOKENIZE + "--listing {tmp}/files.json -o {tmp}/there")
    tokenize_language("de", paths, Layout(), heldout, model, tmp_path / "here", 64)
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


def test_filters_leave_out_the_records_that_a_sample_leaves_out(blocks, call, tmp_path):
    lines = make_lines("de", 300)
    kept = [line for line in lines[20:] if len(line) >= 30]
    assert 0 < len(kept) < 280
    blocks(list(dict.fromkeys(kept)), lines[:20])
    write_lines(tmp_path / "all.txt", lines[20:] * 2)
    filters = '{"min_characters": 30, "distinct": 1000}'
    call(TOKENIZE + "{tmp}/all.txt -o {tmp}/filtered", "--filters", filters)
    assert contents(tmp_path / "filtered") == contents(tmp_path / "de")


def test_a_folder_with_other_files_is_not_replaced(blocks, tmp_path):
    (tmp_path / "de").mkdir()
    (tmp_path / "de" / "thesis.txt").touch()
    with pytest.raises(UsageError, match=r"holds 'thesis\.txt'"):
        blocks([], [])
    assert (tmp_path / "de" / "thesis.txt").exists()


def test_heldout_lines_of_the_user(model, blocks, tmp_path):
    lines = make_lines("de", 40)
    blocks(lines[3:], [])
    heldout = tmp_path / "heldout.txt"

    def told():
        train = [str(tmp_path / "train.txt")]
        return tokenize_language("de", train, Layout(), heldout, model, tmp_path / "de", 64)

    heldout.write_text("\n".join(lines[:3]), "utf-8")  # without an end of the last line
    expected = {"lines": 3, "bytes": sum(len(line.encode()) for line in lines[:3])}
    assert (found := told()["heldout"]) == found | expected
    heldout.write_bytes(b"gut\nschlecht \xff\n")
    with pytest.raises(VocapError, match=r"heldout\.txt: not UTF-8: 1 of 2 lines"):
        told()


def test_a_language_without_text_gives_no_blocks(blocks, tmp_path):
    told = blocks([], [])
    assert told["train"]["blocks"] == told["heldout"]["blocks"] == 0
    assert len(open_language(tmp_path / "de").train) == 0


def test_a_stock_tokenizer_gives_blocks_for_causal_models(tmp_path):
    lines = write_lines(tmp_path / "text.txt", make_lines("de", 300))
    (tmp_path / "stock.model").write_bytes(train_model(make_lines("de", 300), 100))
    tokenize_language(
        "de", [str(lines)], Layout(), lines, tmp_path / "stock.model", tmp_path / "de"
    )
    assert read_object(tmp_path / "de" / "description.json")["special"] == {
        "bos": 1, "pad": None, "eos": 2, "unk": 0, "mask": None, "others": []
    }  # fmt: skip
    special = open_language(tmp_path / "de").special
    assert special.never_predicted(causal=True) == [1] and special.never_predicted(
        causal=False
    ) == [0, 1, 2]
