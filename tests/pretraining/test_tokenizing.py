"""Text to blocks: whole sentences, the ids of SentencePiece, every token once, whole or
not at all.
"""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.made_text import write_lines
from tests.pretraining.factories import make_lines, make_tokenizer, processor
from tests.server import serving
from tests.tokenizer_files.factories import train_model
from vocap.errors import UsageError, VocapError
from vocap.pretraining.commands import tokenize
from vocap.pretraining.data import open_language
from vocap.pretraining.tokenizing import Packer, file_sha256, tokenize_language
from vocap.storage.listing import list_shards
from vocap.text_files import Layout

VOCAP = Path(sys.executable).parent / "vocap"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory) -> Path:
    return make_tokenizer(tmp_path_factory.mktemp("made") / "tokenizer")


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


def test_the_ids_are_those_of_sentencepiece(tokenizer, tmp_path):
    lines = make_lines("ru", 400)
    train = write_lines(tmp_path / "train.txt", [*lines[:300], "", "  ", lines[310]])
    heldout = write_lines(tmp_path / "heldout.txt", lines[300:])
    model = tokenizer / "sentencepiece.model"
    told = tokenize_language("ru", [str(train)], Layout(), heldout, model, tmp_path / "ru", 64)
    opened = open_language(tmp_path / "ru", file_sha256(model))

    ids = processor().encode(lines)
    for part, expected in ((opened.train, ids[:300]), (opened.heldout, ids[300:])):
        blocks = [part[index].tolist() for index in range(len(part))]
        assert all(block[0] == 0 for block in blocks)
        sentences = [[*sentence, 2] for sentence in expected]
        assert [number for block in blocks for number in block[1:]] == [
            n for ids in sentences for n in ids
        ]
    assert told["train"]["lines"] == 300
    assert told["train"]["heldout_lines"] == 1
    assert told["train"]["empty"] == 2
    assert told["train"]["bytes"] == sum(len(line.encode()) for line in lines[:300])
    assert int(opened.train.size_bytes.sum()) == told["train"]["bytes"]
    assert int(opened.heldout.size_bytes.sum()) == sum(len(line.encode()) for line in lines[300:])
    assert opened.train.tokens.dtype == np.uint32


def test_a_killed_run_leaves_nothing_and_the_next_one_is_whole(tokenizer, tmp_path):
    """kill -9 while arrays are being written."""
    lines = make_lines("de", 2000)
    train = write_lines(tmp_path / "train.txt", lines[20:] * 200)
    heldout = write_lines(tmp_path / "heldout.txt", lines[:20])
    out = tmp_path / "made" / "de"
    words = [
        VOCAP,
        "tokenize",
        "--tokenizer",
        tokenizer / "sentencepiece.model",
        "--language",
        "de",
    ]
    words += ["--heldout", heldout, train, "-o", out]
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


def test_another_text_replaces_the_blocks(tokenizer, tmp_path):
    lines = make_lines("de", 300)
    heldout = write_lines(tmp_path / "heldout.txt", lines[:20])
    train = write_lines(tmp_path / "train.txt", lines[20:150])
    model = tokenizer / "sentencepiece.model"
    tokenize_language("de", [str(train)], Layout(), heldout, model, tmp_path / "de", 64)
    write_lines(train, lines[150:])
    told = tokenize_language("de", [str(train)], Layout(), heldout, model, tmp_path / "de", 64)
    fresh = tokenize_language("de", [str(train)], Layout(), heldout, model, tmp_path / "fresh", 64)
    assert told == fresh
    assert contents(tmp_path / "de") == contents(tmp_path / "fresh")


def test_text_of_another_machine_gives_the_blocks_of_the_same_files_here(tokenizer, tmp_path):
    lines = make_lines("de", 300)
    heldout = write_lines(tmp_path / "heldout.txt", lines[:20])
    model = tokenizer / "sentencepiece.model"
    with serving(other=None) as server:
        paths = []
        for number in range(3):
            path = write_lines(tmp_path / f"{number}.txt", lines[20 + number :: 3])
            server.bodies[path.name] = path.read_bytes()
            paths.append(path)
        list_shards([server.url(path.name) for path in paths]).write(tmp_path / "files.json")
        words = ["--tokenizer", model, "--language", "de", "--heldout", heldout, "--length", "64"]
        words += ["--listing", tmp_path / "files.json", "-o", tmp_path / "there"]
        assert CliRunner().invoke(tokenize, list(map(str, words))).exit_code == 0
    tokenize_language("de", paths, Layout(), heldout, model, tmp_path / "here", 64)
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


def test_filters_leave_out_the_records_that_a_sample_leaves_out(tokenizer, tmp_path):
    lines = make_lines("de", 300)
    heldout = write_lines(tmp_path / "heldout.txt", lines[:20])
    model, kept = tokenizer / "sentencepiece.model", [one for one in lines[20:] if len(one) >= 30]
    assert 0 < len(kept) < 280
    paths = [
        write_lines(tmp_path / f"{name}.txt", part)
        for name, part in {"all": lines[20:] * 2, "kept": dict.fromkeys(kept)}.items()
    ]
    words = ["--tokenizer", model, "--language", "de", "--heldout", heldout, "--length", "64"]
    words += ["--filters", '{"min_characters": 30, "distinct": 1000}', "-o", tmp_path / "here"]
    found = CliRunner().invoke(tokenize, list(map(str, [paths[0], *words])))
    assert found.exit_code == 0, found.output
    tokenize_language("de", paths[1:], Layout(), heldout, model, tmp_path / "there", 64)
    assert contents(tmp_path / "here") == contents(tmp_path / "there")


def test_a_folder_with_other_files_is_not_replaced(tokenizer, tmp_path):
    heldout = write_lines(tmp_path / "heldout.txt", [])
    (tmp_path / "de").mkdir()
    (tmp_path / "de" / "thesis.txt").touch()
    with pytest.raises(UsageError, match=r"holds 'thesis\.txt'"):
        tokenize_language(
            "de", [], Layout(), heldout, tokenizer / "sentencepiece.model", tmp_path / "de", 64
        )
    assert (tmp_path / "de" / "thesis.txt").exists()


def test_heldout_lines_of_the_user(tokenizer, tmp_path):
    lines = make_lines("de", 40)
    train = write_lines(tmp_path / "train.txt", lines[3:])
    heldout = tmp_path / "heldout.txt"
    heldout.write_text("\n".join(lines[:3]), "utf-8")  # without an end of the last line
    model = tokenizer / "sentencepiece.model"
    told = tokenize_language("de", [str(train)], Layout(), heldout, model, tmp_path / "de", 64)
    assert told["heldout"]["lines"] == 3
    assert told["heldout"]["bytes"] == sum(len(line.encode()) for line in lines[:3])
    heldout.write_bytes(b"gut\nschlecht \xff\n")
    with pytest.raises(VocapError, match=r"heldout\.txt: not UTF-8: 1 of 2 lines"):
        tokenize_language("de", [str(train)], Layout(), heldout, model, tmp_path / "de", 64)


def test_a_language_without_text_gives_no_blocks(tokenizer, tmp_path):
    empty = write_lines(tmp_path / "train.txt", [])
    model = tokenizer / "sentencepiece.model"
    told = tokenize_language("de", [], Layout(), empty, model, tmp_path / "de", 64)
    assert told["train"]["blocks"] == told["heldout"]["blocks"] == 0
    assert len(open_language(tmp_path / "de").train) == 0


def test_a_stock_tokenizer_gives_blocks_for_causal_models(tmp_path):
    lines = write_lines(tmp_path / "text.txt", make_lines("de", 300))
    (tmp_path / "stock.model").write_bytes(train_model(make_lines("de", 300), 100))
    tokenize_language(
        "de", [str(lines)], Layout(), lines, tmp_path / "stock.model", tmp_path / "de"
    )
    assert json.loads((tmp_path / "de" / "description.json").read_text("utf-8"))["special"] == {
        "bos": 1, "pad": None, "eos": 2, "unk": 0, "mask": None, "others": []
    }  # fmt: skip
    special = open_language(tmp_path / "de").special
    assert special.never_predicted(causal=True) == [1] and special.never_predicted(
        causal=False
    ) == [0, 1, 2]
