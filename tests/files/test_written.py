"""Files that the project wrote: one cut short, an emptied or a foreign one is one message
that names the file and the command.
"""

from functools import partial

import numpy as np
import pytest

from vocap.allocation.pieces import Trunk, read_trunk, write_trunk
from vocap.errors import VocapError
from vocap.files.io import write_json
from vocap.files.written import read_written
from vocap.pretraining.data import COLUMNS, open_language
from vocap.storage.listing import Listing
from vocap.storage.remote import Shard
from vocap.tables.curve import Measured, read_characters, read_sizes, write_characters, write_sizes
from vocap.tables.frames import read_table
from vocap.tables.line_bits import read_lengths, write_lengths
from vocap.tables.piece_index import build, read_index, save_index

LINES = {("heldout", "en"): np.ones((2, 9))}
SIZES = [Measured(total, code, 3, 40, 12, -7.5) for total in (100, 200) for code in ("en", "hi")]
# by command: a function that writes the file, and one that reads it
FILES = {
    "trunk": (
        lambda path: write_trunk(path, Trunk(["ab", "\n"], frozenset("a")), {"en": 0.5}),
        partial(read_trunk, weights={"en": 0.5}),
    ),
    "list-files": (Listing((Shard("a.txt", 5, "v"),)).write, Listing.read),
    "score": (
        lambda path: write_json(path, {"task": "panx", "languages": ["hi"]}),
        lambda path: read_written(path, "score")["languages"],
    ),
    "curve": (lambda path: write_characters(path, {"a": 12, "\t": 4}, 3), read_characters),
    "joint --curve": (lambda path: write_sizes(path, SIZES), read_sizes),
    "evaluate": (
        lambda path: write_lengths(path, LINES),
        lambda path: read_lengths(path, "heldout"),
    ),
    "ladder": (lambda path: save_index(build([5], [["a", "b"]]), path), read_index),
}


@pytest.mark.parametrize("command", FILES)
def test_another_file_is_one_message(tmp_path, command):
    write, read = FILES[command]
    path = tmp_path / "file"
    with pytest.raises(VocapError, match=f"file: no such file; make it with: vocap {command}$"):
        read(path)
    write(path)
    whole = path.read_bytes()
    read(path)
    # within a line: a table that ends with a whole line may be one
    cut = {whole[: len(whole) * part // 10].rstrip(b"\n") for part in range(10)}
    for other in (*cut, b"\n", b"[1]\n", b"{}\n", b"a\tb\n1\t2\n", b"\xff\x00" * 99):
        path.write_bytes(other)
        with pytest.raises(VocapError, match=rf"file is not what `vocap {command}` writes"):
            read(path)
    path.write_bytes(whole)
    read(path)


ARRAYS = {"train": 2, "heldout": 1}


@pytest.mark.parametrize("name", ["train.npy", "heldout-ends.npy", "description.json"])
def test_blocks_of_which_an_array_is_cut_or_gone(tmp_path, name):
    parts = {part: {"tokens": 3, "blocks": blocks} for part, blocks in ARRAYS.items()}
    write_json(tmp_path / "description.json", {"language": "de", "tokenizer": "x", **parts})
    for part, blocks in ARRAYS.items():
        for suffix, kind in COLUMNS.items():
            np.save(tmp_path / f"{part}{suffix}.npy", np.ones(blocks if suffix else 3, kind))
    found = open_language(tmp_path)
    assert (len(found.train), len(found.heldout)) == (2, 1)
    path = tmp_path / name
    for content in (path.read_bytes()[:-3], b"", b"{}"):
        path.write_bytes(content)
        with pytest.raises(VocapError, match="is not what `vocap tokenize` writes: make it again"):
            open_language(tmp_path)
    path.unlink()
    with pytest.raises(VocapError, match=f"{name}: no such file; make it with: vocap tokenize"):
        open_language(tmp_path)


def test_a_cut_table_is_no_data_frame(tmp_path):
    path = tmp_path / "curve.tsv"
    path.write_text("size\talp\n100\t-12.5")
    with pytest.raises(VocapError, match=r"curve\.tsv: not a table of the results \(its last line"):
        read_table(path)
