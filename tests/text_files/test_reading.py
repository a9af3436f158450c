"""Decompression and record formats, against the standard library's own whole-file
readers.
"""

import bz2
import gzip
import json
import lzma
import os
import random
import struct
import subprocess
import sys

import fsspec
import pytest
from backports import zstd

from tests.cases import read_cases
from vocap.errors import UsageError, VocapError
from vocap.text_files import Layout, lines
from vocap.text_files.lines import LineFile, split_sentences, survey
from vocap.text_files.records import TextFile

CASES = read_cases(__file__)

random.seed(5)
WORDS = ["soup", "дом", "ქალაქი", "私", "a", "of", "über", "🙂"]
# more than one block
TEXT = "".join(" ".join(random.choices(WORDS, k=9)) + "\n" for _ in range(60_000)).encode()
PACKERS = {
    "plain": lambda data: data,
    "gz": gzip.compress,
    "xz": lambda data: lzma.compress(data, preset=1),
    "bz2": bz2.compress,
    "zst": lambda data: zstd.compress(data, 1),
}
PACKED = {name: pack(TEXT) for name, pack in PACKERS.items()}
COMPRESSED = [name for name in PACKERS if name != "plain"]


@pytest.fixture
def file(tmp_path):
    def write(content, name="text.txt"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def unpacked(path):
    return b"".join(LineFile(path).blocks())


def lines_of(path, layout="text", **options):
    return b"".join(TextFile(path, Layout.parse(layout, **options)))


@pytest.mark.parametrize("kind", PACKERS)
def test_told_apart_by_content_not_by_name(file, kind):
    path = file(PACKED[kind], "text.misleading.gz")
    blocks = LineFile(path)
    assert b"".join(blocks.blocks()) == TEXT
    assert blocks.ended and blocks.consumed == blocks.size == len(PACKED[kind])


def skippable(number, content=b"abcd"):
    """A frame that holds no text (RFC 8878, section 3.1.2)."""
    return struct.pack("<II", 0x184D2A50 + number, len(content)) + content


EMPTY = {kind: PACKERS[kind](b"") for kind in COMPRESSED}
PADDING = {"gz": bytes(13), "xz": bytes(512), "bz2": b"", "zst": skippable(3) + skippable(15, b"")}


@pytest.mark.parametrize("kind", COMPRESSED)
@pytest.mark.parametrize("remote", [False, True])
def test_streams_and_padding(file, kind, remote):
    """Between, before and behind streams, without text and of many sizes: each place
    within a read of the file.
    """
    pad, empty = PADDING[kind], EMPTY[kind]
    pieces, text = [empty, pad], []
    for length in (0, 1, *range(100_000, 130_000, 5_000)):
        text.append(random.Random(length).randbytes(length))
        pieces += [PACKERS[kind](text[-1]), pad, empty, empty]
    packed = b"".join([*pieces, pad])
    path = file(packed)
    if remote:
        path = f"memory://streams/{kind}"
        fsspec.filesystem("memory").pipe(path, packed)
    blocks = LineFile(path)
    assert b"".join(blocks.blocks()) == b"".join(text) and blocks.ended


@pytest.mark.parametrize("number", range(16))
def test_every_skippable_frame(file, number):
    frame = skippable(number)
    assert unpacked(file(frame + frame + PACKED["zst"] + frame)) == TEXT
    assert unpacked(file(frame)) == b""


SMALL = {kind: PACKERS[kind](b"a line\n" * 9) for kind in COMPRESSED}
CHECKED = {zstd.CompressionParameter.checksum_flag: 1}
SMALL["zst"] = zstd.compress(b"a line\n" * 9, options=CHECKED)
AFTER = {  # what is neither a stream nor padding
    "rubbish": lambda kind, pad: b"rubbish, of more than one header",
    "one byte": lambda kind, pad: b"x",
    "rubbish behind padding": lambda kind, pad: pad + b"rubbish, of more than one header",
    "another format": lambda kind, pad: SMALL["xz" if kind == "gz" else "gz"],
    "a damaged stream": lambda kind, pad: pad + damaged(SMALL[kind], len(SMALL[kind]) // 2),
    "a damaged header": lambda kind, pad: pad + damaged(SMALL[kind], 1),
    "a damaged check": lambda kind, pad: pad + damaged(SMALL[kind], len(SMALL[kind]) - 6),
    "a cut stream": lambda kind, pad: pad + SMALL[kind][:-1],
    "a cut header": lambda kind, pad: pad + SMALL[kind][:2],
    "a cut frame": lambda kind, pad: skippable(1)[:-1],
    "too little padding": lambda kind, pad: bytes(513) if kind != "gz" else b"\0\x1f",
}


def damaged(packed, place):
    return packed[:place] + bytes([packed[place] ^ 255]) + packed[place + 1 :]


@pytest.mark.parametrize("kind", COMPRESSED)
@pytest.mark.parametrize("name", AFTER)
def test_what_follows_a_stream_and_is_none(file, kind, name):
    packed = PACKED[kind] + AFTER[name](kind, PADDING[kind])
    with pytest.raises(VocapError, match=r"text\.txt: the \w+ data (stop in|cannot be decom)"):
        unpacked(file(packed))


@pytest.mark.parametrize("kind", COMPRESSED)
def test_a_limit_within_what_follows_a_stream(file, kind):
    """Is the end of a part, of a text of that length or more: no damage."""
    first = PACKERS[kind](TEXT[:200_000])
    packed = first + PADDING[kind] + SMALL[kind]
    for limit in range(len(first), len(packed), 7):
        blocks = LineFile(file(packed), limit_bytes=limit)
        assert b"".join(blocks.blocks()).startswith(TEXT[:200_000]) and not blocks.ended
    blocks = LineFile(file(packed[:-1]), limit_bytes=len(packed) - 1)
    with pytest.raises(VocapError, match="stop in the middle"):
        b"".join(blocks.blocks())


@pytest.mark.parametrize("kind", COMPRESSED)
def test_cut_on_purpose(file, kind):
    packed = PACKED[kind]
    blocks = LineFile(file(packed), limit_bytes=len(packed) // 2)
    got = b"".join(blocks.blocks())
    assert TEXT.startswith(got) and 0.2 < len(got) / len(TEXT) < 0.8
    assert not blocks.ended and blocks.consumed == len(packed) // 2 and blocks.size == len(packed)
    file(b'{"complete": false, "fetched_bytes": 1, "total_bytes": 7}', "prefix.json")
    prefix = LineFile(file(packed[: len(packed) // 2], "prefix"))
    assert b"".join(prefix.blocks()) == got and not prefix.ended and prefix.total == 7


def test_pipe(tmp_path):
    """A named pipe (or <(...) of a shell) has no size, and is read to its end all the
    same.
    """
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(
        [sys.executable, "-c", f"open({str(pipe)!r}, 'wb').write(b'x\\n' * 500_000)"]
    ):
        blocks = LineFile(pipe)
        assert b"".join(blocks) == b"x\n" * 500_000
    assert blocks.ended


# Formats


def test_last_line_without_its_end(file):
    assert lines_of(file(b"a\nb")) == b"a\nb\n"
    assert lines_of(file(b"\xef\xbb\xbfa\nb\n")) == b"a\nb\n"  # a byte order mark is no text
    assert lines_of(file(b"")) == b""


def test_partial_last_line_is_dropped_where_the_scan_stops(file):
    stopped = TextFile(file(b"one\ntwo\nthree\n"), Layout(), limit_bytes=10)
    assert b"".join(stopped) == b"one\ntwo\n" and not stopped.ended


def test_a_line_longer_than_the_limit_is_an_error(file, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_LINE", 3 << 20)
    long = b"a\n" + b"y" * (3 << 20) + b"\n"
    assert b"".join(TextFile(file(long + b"z"), Layout())) == long + b"z\n"
    with pytest.raises(
        VocapError, match=r"text\.txt, line 2: longer than 3 MiB; give one sentence or record"
    ):
        lines_of(file(b"a\n" + b"y" * (5 << 20) + b"\n"))


def test_blocks_are_small_though_a_decoder_gives_much_at_once(file):
    data = b"\n" * (40 << 20)
    blocks = list(LineFile(file(zstd.compress(data))).blocks())
    assert b"".join(blocks) == data and max(map(len, blocks)) <= 1 << 20


def test_jsonl_as_the_standard_library_reads_it(file):
    records = [
        {"index": {"_id": "1"}},
        {"title": "x", "text": "erste\nzweite"},
        {"text": "A\u2028one \"line\" \\ \u00e9 \U0001f642"},
        {"text": None},
        {"score": float("nan"), "text": "with NaN"},
        {"text": "ends with a line end\n"},
        {"text": ""},
    ]  # fmt: skip
    for ensure_ascii in (True, False):
        path = file(
            "".join(
                json.dumps(record, ensure_ascii=ensure_ascii) + "\n" for record in records
            ).encode()
        )
        found = TextFile(path, Layout("jsonl", "text"))
        lines = b"".join(found).decode().split("\n")
        odd = 'A\u2028one "line" \\ é 🙂'
        assert lines == ["erste", "zweite", odd, "with NaN", "ends with a line end", "", ""]
        assert found.no_field == 2


def test_jsonl_records_that_are_no_unicode_are_counted(file):
    path = file(b'{"text": "\\ud800"}\n{"text": "\xff"}\n\n{"text": "good"}\n')
    found = survey(lines_of(path, "jsonl:text"))
    assert found.counts["read"] == 3 and found.counts["invalid_utf8"] == 2


@pytest.mark.parametrize(("line", "message"), CASES["malformed"])
def test_malformed_record(file, line, message):
    line = line or "[" * 100_000
    content = '{"text": "ok"}\n' * 70_000 + line + '\n{"text": "ok"}\n'
    with pytest.raises(VocapError, match=rf"text\.txt, line 70001: {message}"):
        lines_of(file(content.encode()), "jsonl:text")


def test_tsv_by_number_and_by_name(file):
    path = file("id\tlang\ttext\r\n1\tka\tა ბ\r\n2\tka\t\n".encode())
    assert lines_of(path, "tsv:text") == "ა ბ\r\n\n".encode()
    assert lines_of(path, "tsv:lang") == b"ka\nka\n"
    assert lines_of(file(b"1\ta\tx\n2\tb\ty"), "tsv:2") == b"a\nb\n"
    assert lines_of(file(b"1\ta\n\n2\tb\n"), "tsv:2") == b"a\n\nb\n"


@pytest.mark.parametrize(("layout", "first", "says"), CASES["no column"])
def test_tsv_without_the_column(file, layout, first, says):
    with pytest.raises(VocapError, match=rf"text\.txt, line {says}"):
        lines_of(file(first.encode() + b"1\ta\n" * 300_000 + b"2\n" + b"3\tb\n"), layout)


@pytest.mark.parametrize("text", ["csv", "jsonl", "jsonl:", "tsv:", "tsv:0", "text:x", ""])
def test_unknown_format(text):
    with pytest.raises(UsageError, match="write text, jsonl:FIELD"):
        Layout.parse(text)


@pytest.mark.parametrize(("record", "says"), CASES["no text"])
def test_a_record_without_text_has_a_remedy(file, record, says):
    with pytest.raises(VocapError, match=f"field 'text' is not text but '5'; {says}"):
        lines_of(file(record.encode()), "jsonl:text")


def test_split_sentences_of_a_file(file):
    path = file("Es regnet. Es schneit!\r\nÄh … Ja.\n".encode() + b"\xff bad. Line.\n")
    assert lines_of(
        path, split_sentences=True
    ) == "Es regnet.\nEs schneit!\nÄh …\nJa.\n\udcff bad.\nLine.\n".encode("utf-8", "surrogatepass")
    assert lines_of(file(b"one\rtwo half.\n"), split_sentences=True) == b"one\rtwo half.\n"
    path = file(json.dumps({"text": "One\\ntwo. Three"}).encode() + b"\n")
    assert (
        lines_of(path, "jsonl:text", split_sentences=True, escaped_newlines=True)
        == b"One\ntwo.\nThree\n"
    )


@pytest.mark.parametrize(("text", "sentences"), CASES["sentences"])
def test_sentences(text, sentences):
    assert split_sentences(text) == sentences
