"""The format of a file by its name, and the messages for a format that was guessed
wrongly.
"""

import gzip
import json
import lzma

import pytest

from vocap.errors import VocapError
from vocap.text_files import Layout
from vocap.text_files.records import TextFile, detect_file, text_fields

SENTENCE = "It rains in the north, and the sun shines in the south."


def jsonl(*records):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("a.txt", "Es regnet.\nდა თოვს.\n".encode(), "text"),
        ("a", jsonl({"text": "a"}), "text"),
        ("a.jsonl", b"\xef\xbb\xbf" + jsonl({"text": "a"}), "jsonl:text"),
        ("a.json", jsonl({"url": "https://a.example/" + "x" * 99, "text": "short"}), "jsonl:text"),
        ("a.ndjson", jsonl({"id": 1, "raw": SENTENCE, "lang": "en"}), "jsonl:raw"),
        ("a.jsonl", jsonl({"doc": {"body": {"text": "a"}}, "x": "b" * 9}), "jsonl:doc.body.text"),
        ("a.jsonl", jsonl({"index": {"_id": 1}}, {"text": "a"}), "jsonl:text"),
        ("a.tsv", b"id\tlang\tsentence\n1\ten\tIt rains.\n", "tsv:sentence"),
        ("a.TSV", b"1\teng\tIt rains.\n2\teng\tIt pours.\n", "tsv:3"),
    ],
)
def test_format_and_field(tmp_path, name, content, format):
    for ending, pack in (("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)):
        (tmp_path / (name + ending)).write_bytes(pack(content))
        assert detect_file(tmp_path / (name + ending)).format == format


@pytest.mark.parametrize(
    ("name", "content", "documents"),
    [
        ("a.txt", f"{SENTENCE * 100}\n".encode() * 3, True),
        ("a.txt", SENTENCE.encode() * 100_000, True),  # one line
        ("a.jsonl", jsonl({"text": SENTENCE * 100}, {"text": SENTENCE}), True),
        ("a.jsonl", jsonl({"text": f"{SENTENCE}\n" * 100}), False),  # its lines are short
        ("a.txt", f"{SENTENCE}\n".encode() * 99 + SENTENCE.encode() * 100 + b"\n", False),
    ],
)
def test_whole_documents_are_told_from_sentences(tmp_path, name, content, documents):
    (tmp_path / name).write_bytes(content)
    assert detect_file(tmp_path / name).split_sentences == documents


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.txt", "Привет\n".encode("utf-16"), "not UTF-8"),
        ("a.txt", b"PK\x03\x04" + bytes(50), "not UTF-8"),
        ("a.jsonl", b'{"id": 1}\n{"id": 2}\n', "its records hold no text"),
    ],
)
def test_files_that_hold_no_text_say_so(tmp_path, name, content, problem):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(VocapError, match=rf"{name}: {problem}"):
        detect_file(tmp_path / name)


def test_likeliest_field_first():
    record = {"content": "b", "title": "x" * 50, "Text": "a", "n": 1, "tags": ["y" * 99]}
    assert text_fields([json.dumps(record).encode(), b"no JSON"]) == ["Text", "content", "title"]


# Wrong guesses


def read(tmp_path, content, format, name="ka.txt"):
    (tmp_path / name).write_bytes(content)
    return b"".join(TextFile(tmp_path / name, Layout.parse(format)))


def test_json_read_as_text(tmp_path):
    records = jsonl(
        *({"id": n, "meta": {"title": "T"}, "text": f"{SENTENCE} {n}"} for n in range(400))
    )
    with pytest.raises(
        VocapError, match=r'ka\.jsonl: jsonl by its name; write format: "jsonl:text"$'
    ):
        read(tmp_path, records, "text", "ka.jsonl")
    assert read(tmp_path, records, "text") == records  # the name decides


@pytest.mark.parametrize("records", [3, 30_000])
def test_field_that_is_not_there(tmp_path, records):
    content = jsonl(*({"id": n, "meta": {"title": "T"}, "text": SENTENCE} for n in range(records)))
    # not all of a long file is read before that is said
    seen = 3 if records == 3 else r"1\d,\d\d\d"
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
        with pytest.raises(
            VocapError, match=rf"line 1: field '{field}' is not text but .*: doc\.text$"
        ):
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
    assert b"".join(found) == b"nested\ndotted\nNaN too\n\xed\xa0\x80\n"
    assert found.no_field == 3
