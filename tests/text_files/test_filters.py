"""Filters of records, against their definitions."""

import json
import random
import unicodedata

import pyarrow
import pytest
from pyarrow import parquet

from tests.cases import read_cases, refused
from tests.commands import caller
from tests.made_text import write_lines
from vocap.corpora.stage import sample_corpus
from vocap.errors import UsageError, VocapError
from vocap.files.io import read_object
from vocap.text_files import filters
from vocap.text_files.filters import Distinct, RecordFilter, parse_filters
from vocap.text_files.letters import count_letters

CASES = read_cases(__file__)


def test_letters_are_those_of_unicode():
    text = "Straße 12, привет! カー हिन्दी \u0301 _x"
    letters, visible, own, scripted = (
        counts[1] for counts in count_letters(["а", text, ""], "Jpan")
    )
    categories = [unicodedata.category(character)[0] for character in text]
    assert own == 1  # カ; ー is of no one script
    assert letters == categories.count("L") + categories.count("M")
    assert scripted == categories.count("L") - 1
    assert visible == len("".join(text.split()))
    assert count_letters(["漢字かなカナ"], "Jpan")[2] == 6


@pytest.mark.parametrize(("given", "kept"), CASES["kept"])
def test_each_filter_of_text(given, kept):
    texts = CASES["texts"]
    chosen = RecordFilter(parse_filters(json.dumps(given)))
    assert chosen.keep_texts(texts) == kept
    assert chosen.dropped.total() == len(texts) - len(kept)


def test_distinct_texts_are_those_of_a_set(monkeypatch):
    monkeypatch.setattr(filters, "RECENT", 50)  # several sorted parts
    generator = random.Random(1)
    texts = [str(generator.randrange(700)) for _ in range(3000)]
    distinct, found = Distinct(10_000), []
    for first in range(0, 3000, 100):
        batch = texts[first : first + 100]
        found += [text for text, new in zip(batch, distinct.is_new(batch), strict=True) if new]
    assert found == list(dict.fromkeys(texts))


def test_beyond_the_limit_later_texts_are_compared_with_the_first_alone(caplog):
    chosen = RecordFilter(parse_filters('{"distinct": 2}'))
    assert chosen.keep_texts(["a", "b", "c", "c", "a"]) == ["a", "b", "c", "c"]
    assert "2 different records are remembered" in caplog.text


def test_conditions():
    chosen = RecordFilter(parse_filters('{"where": [["score", ">=", 0.8], ["site", "in", ["a"]]]}'))
    columns = {"score": [0.9, 0.8, 0.1, None, 1], "site": ["a", "b", "a", "a", "a"]}
    assert chosen.matching(columns, "x.jsonl") == [0, 4]
    either = RecordFilter(
        parse_filters('{"where": [[["score", "<", 0.5]], [["site", "==", "b"]]]}')
    )
    assert either.matching(columns, "x.jsonl") == [1, 2]
    assert either.dropped["where"] == 3
    with pytest.raises(VocapError, match=r"x\.jsonl: where .*cannot be compared"):
        chosen.matching({"score": ["high"], "site": ["a"]}, "x.jsonl")


@pytest.mark.parametrize(
    ("values", "sign", "limit"),
    [
        ([2**63, 2**64 - 1], ">", 2**63 + 12),
        ([1, 2], "==", 10**30 + 7),
        ([1] * 999 + [-1, 2**64 - 1], ">", 3),
        ([0.5, 2**60 + 1], ">=", 0.3),
    ],
)
def test_numbers_of_more_bits_than_are_compared_are_one_line(tmp_path, values, sign, limit):
    given = parse_filters(json.dumps({"where": [["hash", sign, limit]]}))
    records = [{"text": f"Line {number}.", "hash": one} for number, one in enumerate(values)]
    write_lines(tmp_path / "a.jsonl", map(json.dumps, records))
    with pytest.raises(VocapError, match=r"a\.jsonl: where .*'hash'.* from -2\^63 to 2\^63 - 1"):
        sample_corpus(tmp_path / "a.jsonl", language="en", format="jsonl:text", filters=given)
    if limit == 2**63 + 12:
        path, hashes = tmp_path / "a.parquet", pyarrow.array(values, pyarrow.uint64())
        parquet.write_table(pyarrow.table({"text": ["a", "b"], "hash": hashes}), path)
        with pytest.raises(VocapError, match=r"a\.parquet: where .*'hash'.* from -2\^63"):
            sample_corpus(path, language="en", format="parquet:text", filters=given)


@pytest.mark.parametrize(("given", "said"), CASES["refused"])
def test_a_wrong_filter_is_one_line(given, said):
    with pytest.raises(UsageError, match=said) as error:
        parse_filters(json.dumps(given))
    assert "\n" not in str(error.value)


RECORDS = [
    {"text": f"{'да' if number % 3 else 'no'} {number}", "meta": {"score": number / 100}}
    for number in range(100)
]
KEPT = [record["text"] for record in RECORDS if record["meta"]["score"] >= 0.4]


@pytest.fixture
def record_files(tmp_path):
    write_lines(tmp_path / "text.jsonl", map(json.dumps, RECORDS))
    parquet.write_table(pyarrow.Table.from_pylist(RECORDS), tmp_path / "text.parquet")
    return tmp_path


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_sample_of_chosen_records(record_files, kind):
    path = record_files / f"text.{kind}"
    given = '{"where": [["meta.score", ">=", 0.4]], "min_script": 0.5, "script": "Cyrl"}'
    found = sample_corpus(path, language="ru", format=f"{kind}:text", filters=parse_filters(given))
    expected = [text for text in KEPT if "да" in text]
    assert sorted(found.train + found.heldout) == sorted(expected)
    assert found.stats["filtered"] == {"min_script": len(KEPT) - len(expected), "where": 40}
    assert found.stats["n"] == len(expected)
    wrong = parse_filters('{"where": [["score", ">=", 0.4]]}')
    with pytest.raises(VocapError, match=r"no (record has the field|column) 'score'"):
        sample_corpus(path, language="ru", format=f"{kind}:text", filters=wrong)


def test_the_command_takes_the_script_of_the_table(tmp_path):
    write_lines(tmp_path / "text.txt", [record["text"] for record in RECORDS])
    call = caller(tmp=tmp_path, least='{"min_script":0.5}', where='{"where":[["score",">",1]]}')
    outputs = " ".join(f"--{name} {{tmp}}/{name}" for name in ("train", "heldout", "stats"))
    line = f"sample {{tmp}}/text.txt {outputs} --language "
    call(line + "ru --filters {least}")
    assert read_object(tmp_path / "stats")["filtered"] == {"min_script": 34}
    says = "min_script: the table of languages has no script of this language"
    refused(call, line + "xx --filters {least}", says, 2)
    says = "where: text of format 'text' has no other fields"
    refused(call, line + "ru --filters {where}", says, 2)
