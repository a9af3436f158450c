"""Paths of other machines: listings, exact ranges, attempts, and one line for errors."""

import gzip
import io

import fsspec
import pytest

from tests.commands import ended, sample_words
from tests.made_text import write_lines
from tests.server import BODY, Fault, RangeServer, at_work
from tests.tokenizers.factories import byte_tokenizer, make_lines
from vocap.errors import VocapError
from vocap.files.io import read_object
from vocap.storage import remote
from vocap.storage.listing import Listing, Shard, list_shards
from vocap.storage.remote import RemoteFile, address_of
from vocap.text_files.records import read_lines


@pytest.fixture
def memory():
    """fsspec's file system in memory, empty."""
    client = fsspec.filesystem("memory")
    yield client
    client.rm("/", recursive=True)


def put(client, **files):
    for name, content in files.items():
        client.pipe(f"/text/{name.replace('_', '/')}.txt", content)


def test_folders_patterns_and_files_are_listed_in_sorted_order(memory, tmp_path):
    put(memory, b=b"22", a=b"1", deep_c=b"333")
    memory.pipe("/text/.hidden/d.txt", b"4")
    listing = list_shards(["memory://text"])
    assert [(shard.path, shard.size) for shard in listing.shards] == [
        ("memory:///text/a.txt", 1),
        ("memory:///text/b.txt", 2),
        ("memory:///text/deep/c.txt", 3),
    ]
    assert list_shards(["memory://text/**/*.txt", "memory://text/a.txt"]) == listing
    assert listing.total == 6
    assert len(list_shards(["memory://text/?.txt"]).shards) == 2
    listing.write(tmp_path / "files.json", "de", "own")
    assert Listing.read(tmp_path / "files.json") == listing
    with pytest.raises(VocapError, match="memory://text/x: no such file; check the path"):
        list_shards(["memory://text/x"])
    with pytest.raises(VocapError, match=r"no file matches it; check the path"):
        list_shards(["memory://text/*.gz"])


def test_text_is_read_as_that_of_local_files(memory):
    put(memory, a=gzip.compress(b"one\r\ntwo"))
    assert list(read_lines("memory://text/a.txt")) == ["one", "two"]


def test_a_replaced_file_is_refused(memory):
    put(memory, a=b"1")
    (shard,) = list_shards(["memory://text/a.txt"]).shards
    put(memory, a=b"22")
    with pytest.raises(VocapError, match="another file is in its place since it was listed"):
        list(read_lines(shard))


def test_ranges_are_exact_and_what_fails_is_asked_again(monkeypatch):
    monkeypatch.setattr(remote.time, "sleep", lambda seconds: None)
    with at_work(RangeServer()) as server:
        server.faults = [
            Fault("busy", 503, {"Retry-After": "1"}, times=2),
            Fault("cut", cut=150_000, untagged=True, times=1),
            Fault("cut", untagged=True),
        ]
        for path in ("fine", "busy", "cut"):
            server.files[path] = BODY
            with RemoteFile(server.url(path)) as file:
                asked = len(server.seen)
                file.seek(100)
                assert file.read(50) == BODY[100:150]
                file.seek(-20, io.SEEK_END)
                assert file.read() == BODY[-20:]
            ranges = [request.range for request in server.seen[asked:]]
            assert set(ranges) == {"bytes=100-149", f"bytes={len(BODY) - 20}-{len(BODY) - 1}"}


def test_a_missing_client_and_a_scheme_of_none(monkeypatch):
    with pytest.raises(VocapError, match="no client reads gopher:// paths"):
        list_shards(["gopher://example/x"])
    monkeypatch.setitem(__import__("sys").modules, "s3fs", None)
    with pytest.raises(VocapError, match=r"s3://b/x: takes s3fs, not installed; .*\[s3\]"):
        list_shards(["s3://b/x"])


def test_addresses_are_shown_without_user_and_query():
    assert address_of("hf://datasets/a/b@main/c?.txt") == "hf://datasets/a/b@main/c?.txt"
    assert Shard("a", 1).version is None


def test_a_filtered_sample_of_beginnings(memory, tmp_path):
    long = [f"a rather long line with the number {number}\n" for number in range(80_000)]
    for part in range(4):
        put(memory, **{f"part_{part}": "".join(["short\n", *long[part::4]]).encode()})
    filters = '{"min_characters": 10, "distinct": 1000000}'
    ended(*sample_words(tmp_path, "memory://text", filters=filters, max_sentences=20))
    drawn = [line for part in ("train", "heldout") for line in read_lines(tmp_path / f"{part}.txt")]
    assert len(drawn) == 20 and {f"{line}\n" for line in drawn} <= set(long)
    assert read_object(tmp_path / "stats.json")["scanned_bytes"] < len("".join(long))


def test_parts_that_hold_too_few_lines(memory, tmp_path):
    lines = "".join(f"the line with the number {number}\n" for number in range(80_000)).encode()
    put(memory, part_1=lines, part_2=lines)
    filters = '{"distinct": 1000000}'
    words = sample_words(tmp_path, "memory://text", filters=filters, max_sentences=20_000)
    assert "fewer than max_sentences; give scan_bytes" in ended(*words).stderr


def test_commands_read_text_of_other_machines(memory, tmp_path):
    lines = make_lines("en", 60)
    local = write_lines(tmp_path / "de.txt", lines)
    put(memory, a="\n".join(lines[:30]).encode(), b="\n".join(lines[30:]).encode())
    model = tmp_path / "tokenizer.json"
    byte_tokenizer(lines).save(str(model))
    for line in ("alp {model} {text}", "evaluate --tokenizer {model} --text de={text}",
                 "diff {model} {model} --text de={text}"):  # fmt: skip
        here, there = (
            ended(*line.format(model=model, text=text).split()).stdout
            for text in (local, "memory://text/*.txt")
        )
        assert here == there
