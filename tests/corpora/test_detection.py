"""The format of a file by its content, and the messages for a format that was guessed wrongly."""

import gzip
import json
import lzma
import random
import re
import struct
import zlib

import pytest

from vocap.errors import VocapError
from vocap.text_files.content import detect, text_fields
from vocap.text_files.corpus import HEAD, detect_file
from vocap.text_files.records import Layout, TextFile

SENTENCE = "It rains in the north, and the sun shines in the south."


def jsonl(*records):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


@pytest.mark.parametrize(
    ("content", "format", "fields"),
    [
        ("Es regnet.\nდა თოვს.\n".encode(), "text", ()),
        (b"\xef\xbb\xbf" + jsonl({"text": "a"}), "jsonl:text", ("text",)),
        (jsonl({"url": "https://a.example/" + "x" * 99, "text": "short"}), "jsonl:text", ("text", "url")),
        (jsonl({"id": 1, "raw": SENTENCE, "lang": "en"}), "jsonl:raw", ("raw", "lang")),
        (jsonl({"doc": {"body": {"text": "a"}}, "x": "b" * 9}), "jsonl:doc.body.text", ("doc.body.text", "x")),
        (jsonl({"index": {"_id": 1}}, {"text": "a"}), "jsonl:text", ("text",)),
        (b'{"text": "a", "score": NaN}\n', "jsonl:text", ("text",)),
        (b"id\tlang\tsentence\n1\ten\tIt rains.\n", "tsv:sentence", ("sentence", "lang")),
        (b"1\teng\tIt rains.\n2\teng\tIt pours.\n", "tsv:3", ("3", "2")),
        (b"no tab\none\ttab\n", "text", ()),
        (b'{"not": closed\n{"text": "a"}\n', "text", ()),
        (b"", "text", ()),
        (b"\n\n", "text", ()),
    ],
)
def test_format_and_fields(tmp_path, content, format, fields):
    assert (detect(content, whole=True).format, detect(content, whole=True).fields) == (format, fields)
    for pack in (bytes, gzip.compress, lzma.compress):
        (tmp_path / "a.txt").write_bytes(pack(content))
        assert detect_file(tmp_path / "a.txt") == detect(content, whole=True)


def test_an_incomplete_last_line_decides_nothing():
    whole = jsonl({"text": SENTENCE}, {"text": SENTENCE})
    assert detect(whole[:-9]).format == "jsonl:text"
    assert detect(whole[:-9], whole=True).format == "text"
    assert detect(b"1\ta\n2\tb\n3").format == "tsv:2"


def test_a_file_longer_than_the_examined_head(tmp_path):
    (tmp_path / "a").write_bytes(gzip.compress(jsonl({"text": SENTENCE}) * (3 * HEAD // 70)))
    assert detect_file(tmp_path / "a").format == "jsonl:text"


def test_whole_documents_are_told_from_sentences():
    document = SENTENCE * 100
    assert detect((document + "\n").encode() * 3).split_sentences
    assert detect(document.encode()).split_sentences  # a line that has not ended yet
    assert detect(jsonl({"text": document}, {"text": SENTENCE})).split_sentences
    assert not detect(jsonl({"text": f"{SENTENCE}\n" * 100})).split_sentences  # its lines are short
    assert not detect((f"{SENTENCE}\n" * 99 + document + "\n").encode()).split_sentences


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("Привет".encode("utf-16"), "UTF-16; convert"),
        ("Привет, мир. \n".encode("utf-16-le") * 9, "UTF-16LE without a byte order mark"),
        ("Hi".encode("utf-32"), "UTF-32; convert"),
        (b"PK\x03\x04" + bytes(50), "a zip archive; unpack"),
        (gzip.compress(gzip.compress(b"text\n", mtime=0), mtime=0), "compressed twice"),
        (b"\x7fELF" + bytes(range(256)) * 9, "a binary file: "),
        (random.Random(0).randbytes(5000), "a binary file: "),
        (b'[{"text": "a"},\n {"text": "b"}]\n', "one JSON array, not an object a line; .*jq -c"),
        (b'[\n  {\n    "text": "a"\n  }\n]\n', "one JSON array"),
        (b'{"id": 1}\n{"id": 2}\n', "its records hold no text"),
    ],
)
def test_files_that_hold_no_text_say_so(tmp_path, content, problem):
    (tmp_path / "a").write_bytes(content)
    found = detect_file(tmp_path / "a")
    assert found.format == "" and re.match(problem, found.problem)


def test_random_control_characters_are_no_binary_file():
    """Text of a terminal: colours, form feeds and single NULs are left to the count of bad lines."""
    assert detect(b"\x1b[31mred\x1b[0m\n\x0cnew page\none NUL: \0\n" + b"It rains.\n" * 9).kind == "text"


def test_compressed_by_another_library():
    """Output of zlib without gzip's header is no text."""
    assert detect(zlib.compress(random.Random(1).randbytes(4000))).problem.startswith("a binary file")
    assert detect(struct.pack("<900f", *range(900))).problem.startswith("a binary file")


def test_likeliest_field_first():
    record = {"content": "b", "title": "x" * 50, "Text": "a", "n": 1, "tags": ["y" * 99]}
    assert text_fields([record]) == ("Text", "content", "title")


# Wrong guesses


def read(tmp_path, content, format, name="ka.txt", **options):
    (tmp_path / name).write_bytes(content)
    return b"".join(TextFile(tmp_path / name, Layout.parse(format, **options)))


def test_json_read_as_text(tmp_path):
    records = jsonl(*({"id": n, "meta": {"title": "T"}, "text": f"{SENTENCE} {n}"} for n in range(400)))
    message = r'ka\.txt: its lines are JSON .*; write format: "jsonl:text"; fields of text: text, meta\.title$'
    for content in (records, gzip.compress(records), b"\xef\xbb\xbf" + records, records[:200]):
        with pytest.raises(VocapError, match=message):
            read(tmp_path, content, "text")
    with pytest.raises(VocapError, match="JSON objects"):
        read(tmp_path, records, "text", split_sentences=True)
    with pytest.raises(VocapError, match=r"one JSON array.*jq -c"):
        read(tmp_path, b"[" + records.replace(b"}\n", b"},\n") + b"]", "text")
    mixed = b"An object looks so:\n" + records
    assert read(tmp_path, mixed, "text") == mixed


@pytest.mark.parametrize("records", [3, 30_000])
def test_field_that_is_not_there(tmp_path, records):
    content = jsonl(*({"id": n, "meta": {"title": "T"}, "text": SENTENCE} for n in range(records)))
    seen = 3 if records == 3 else r"1\d,\d\d\d"  # not all of a long file is read before that is said
    message = (
        rf"ka\.txt: none of the first {seen} records has text in the field 'txt'; "
        r'write format: "jsonl:text"; fields of text: text, meta\.title$'
    )
    with pytest.raises(VocapError, match=message):
        read(tmp_path, content, "jsonl:txt")
    assert read(tmp_path, content, "jsonl:meta.title") == b"T\n" * records


def test_field_of_another_type(tmp_path):
    content = jsonl({"id": 7, "doc": {"text": SENTENCE}})
    for field in ("id", "doc"):
        with pytest.raises(VocapError, match=rf"line 1: field '{field}' is not text but .*: doc\.text$"):
            read(tmp_path, content, f"jsonl:{field}")


def test_nested_fields(tmp_path):
    records = [
        {"doc": {"text": "nested", "n": 1}},
        {"doc.text": "dotted", "doc": {"text": "nested as well"}},
        {"doc": {"text": None}},
        {"doc": "no object"},
        {"doc": {"text": "NaN too", "x": float("nan")}},
        {},
    ]
    (tmp_path / "a").write_bytes(jsonl(*records) + b'{"doc": {"text": "\\ud800"}}\n')
    found = TextFile(tmp_path / "a", Layout.parse("jsonl:doc.text"))
    assert b"".join(found) == b"nested\ndotted\nNaN too\n"
    assert found.no_field == 3 and found.undecodable == 1
