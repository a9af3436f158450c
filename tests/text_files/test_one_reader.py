"""Every command that reads text gives, of a file with odd lines, what it gives of the
lines that `vocap sample` keeps of that file.
"""

import json
import shutil

import pytest

from tests.cases import read_cases
from tests.commands import run, sample_words
from tests.made_text import write_lines
from tests.tokenizers.factories import byte_tokenizer, make_lines
from vocap.cli import vocap
from vocap.errors import VocapError
from vocap.files.io import read_object
from vocap.pretraining.code_length import spread_lines
from vocap.text_files import lines as text_lines
from vocap.text_files.named_texts import read_aligned, read_sentences
from vocap.text_files.records import read_blocks, read_lines
from vocap.tokenizer_files.export import export_unigram
from vocap.tokenizer_files.layout import relayout, serialize
from vocap.tokenizer_files.model_file import read_model
from vocap.unigram.sentencepiece_trainer import train
from vocap.unigram.text_settings import TextSettings

USUAL = make_lines("en", 700, seed=3)
# a line as it is stored, and as it is read: None where it is dropped
ODD = [
    (b"\xef\xbb\xbfthe mark is no text", "the mark is no text"),
    (b"a return before the end\r", "a return before the end"),
    (b"three of them\r\r\r", "three of them"),
    (b"\r", ""),
    (b"", ""),
    (b"a re\rturn inside", "a re\rturn inside"),
    (b"a\0b", None),
    (b"caf\xe9 in Latin-1", None),
    (b"half a pair \xed\xa0\xbd in bytes", None),
    ("one\u2028line\u2029still".encode(), "one\u2028line\u2029still"),
    ("and\u0085\x0b\x0c\x1c one".encode(), "and\u0085\x0b\x0c\x1c one"),
    ("\ufeffa mark inside".encode(), "\ufeffa mark inside"),
]
STORED = [line for line, _ in ODD] + [line.encode() for line in USUAL]
ALIGNED = [text or "" for _, text in ODD] + USUAL
KEPT = [text for _, text in ODD if text is not None] + USUAL
RECORDS = [
    json.dumps({"id": 1, "text": text})
    for text in [*KEPT[:5], "half a pair \ud83d", "a\0b", "\udc00 the other half", *KEPT[5:]]
]


def write_texts(folder, dirty: bool):
    """The text as `text.txt` and `text.jsonl`, of a folder of corpora, and aligned."""
    kept = "".join(f"{line}\n" for line in KEPT).encode()
    aligned = "".join(f"{line}\n" for line in ALIGNED).encode()
    stored = b"\n".join(STORED)  # the last line without its end
    records = [json.dumps({"text": text}) for text in KEPT]
    for part in ("train", "heldout"):
        write_lines(folder / "corpora" / "en" / f"{part}.txt", [])
        (folder / "corpora" / "en" / f"{part}.txt").write_bytes(stored if dirty else kept)
    (folder / "text.txt").write_bytes(stored if dirty else kept)
    write_lines(folder / "text.jsonl", RECORDS if dirty else records)
    write_lines(folder / "aligned" / "en.txt", map(str, range(len(ALIGNED))))
    (folder / "aligned" / "ka.txt").write_bytes(stored if dirty else aligned)
    (folder / "weights.tsv").write_text("language\tn\nen\t712\n")
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The file with odd lines, and that of the lines which are kept; tokenizers beside
    each.
    """
    root = tmp_path_factory.mktemp("reader")
    dirty, clean = (write_texts(root / name, name == "dirty") for name in ("dirty", "clean"))
    lines, plain = [*KEPT, *make_lines("ka", 300)], TextSettings(normalization="identity")
    (dirty / "stock.model").write_bytes(train(lines, 300, settings=plain))  # exports are quick
    folder = dirty / "old"
    folder.mkdir()
    (folder / "sentencepiece.model").write_bytes(
        serialize(relayout(read_model(dirty / "stock.model"), "stock"))
    )
    export_unigram(folder / "sentencepiece.model", folder / "huggingface")
    (dirty / "hub").mkdir()
    byte_tokenizer(USUAL).save(str(dirty / "hub" / "tokenizer.json"))
    shutil.copy(dirty / "stock.model", clean)
    for name in ("old", "hub"):
        shutil.copytree(dirty / name, clean / name)
    return dirty, clean


def results(folder, words, monkeypatch):
    """What a command prints, and the files that it writes, without counts of dropped
    lines and the text's own checksum.
    """
    monkeypatch.chdir(folder)
    text_lines.warn_of_invalid.cache_clear()
    shutil.rmtree("out", ignore_errors=True)
    (folder / "out").mkdir()
    if "-o out" in words or "--tables" in words:
        (folder / "out").rmdir()
    printed = run(vocap, *words.split())
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in (folder / "out").rglob("*")
        if path.is_file()
    }
    files.pop("out/models/ladder.json", None)
    for name in [name for name in files if name.endswith(("tokens.json", "description.json"))]:
        content = json.loads(files[name])
        content.pop("heldout_sha256", None)
        content.get("train", {}).pop("invalid_utf8", None)
        files[name] = content
    return printed, files


@pytest.mark.parametrize("kind", ["text", "jsonl"])
@pytest.mark.parametrize("command", read_cases(__file__), ids=lambda command: command[:24])
def test_odd_lines_change_no_result(folders, command, kind, monkeypatch, caplog):
    if kind == "jsonl" and "{text}" not in command:
        pytest.skip("reads no file of that kind")
    names = {"text": "text.txt", "jsonl": "text.jsonl"}
    words = command.format(text=names[kind], format={"text": "text", "jsonl": "jsonl:text"}[kind])
    dirty, clean = folders
    expected = results(clean, words, monkeypatch)
    assert "not UTF-8" not in caplog.text
    assert results(dirty, words, monkeypatch) == expected
    said = [record.message for record in caplog.records if "not UTF-8" in record.message]
    assert len(said) == len(set(said)) == len({message.partition(":")[0] for message in said})
    assert len(said) > 0 or (command.startswith("tokenize") and kind == "jsonl")


def test_a_sample_keeps_the_same_lines(folders, tmp_path):
    for name, format in (("text.txt", "text"), ("text.jsonl", "jsonl:text")):
        run(vocap, *sample_words(tmp_path, folders[0] / name, format=format))
        kept = [*read_lines(tmp_path / "train.txt"), *read_lines(tmp_path / "heldout.txt")]
        assert set(kept) == {line for line in KEPT if line.strip()}
        assert read_object(tmp_path / "stats.json")["invalid_utf8"] == 3


@pytest.mark.parametrize("size", [1 << 20, 50])
def test_dropped_lines_are_counted_once_for_a_file(folders, monkeypatch, caplog, size):
    monkeypatch.setattr(text_lines, "BLOCK", size)
    text_lines.warn_of_invalid.cache_clear()
    path = folders[0] / "text.txt"
    for _ in range(2):
        assert list(read_lines(path)) == KEPT
    assert [line for lines in read_sentences(path) for line in lines] == list(filter(None, KEPT))
    counts = f"{path}: 3 of {len(STORED)} lines are not UTF-8 or hold a NUL, and are left out "
    assert caplog.messages == [f"{counts}(of aligned text: gaps); the first is line 7 of the text"]


def test_invalid_lines_of_aligned_text_are_gaps(folders, caplog):
    path = folders[0] / "aligned" / "ka.txt"
    texts = read_aligned(str(path.with_name("{lang}.txt")), ["en", "ka"])
    assert texts["ka"] == ALIGNED and len(texts["en"]) == len(ALIGNED)
    assert f"{path}: 3 of {len(STORED)} lines" in caplog.text and "gaps" in caplog.text
    # code lengths are of the same numbers in all languages
    chosen = [ALIGNED[number * len(ALIGNED) // 100] for number in range(100)]
    assert spread_lines(path, 100, aligned=True) == [line for line in chosen if line.strip()]


def test_records_are_aligned_one_by_one(tmp_path):
    """Whatever a record holds, the next one keeps its number."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    texts = ["one", "two\nlines\n", None, "", "back\\slash \\n", "\ud800", "a\0b", "\r\n", "last"]
    expected = ["one", "two\nlines\n", "", "", "back\\slash \\n", "", "", "", "last"]
    records = [
        {"text": text, "url": "x" * 99} if text is not None else {"url": ""} for text in texts
    ]
    write_lines(tmp_path / "a.jsonl", map(json.dumps, records))
    write_lines(tmp_path / "b.jsonl", ['{"text": "b"}'] * len(texts))
    pattern = str(tmp_path / "{lang}.jsonl")
    assert read_aligned(pattern, ["a", "b"]) == {"a": expected, "b": ["b"] * len(texts)}
    texts[5] = None  # which Arrow's text cannot hold
    parquet.write_table(pyarrow.table({"text": texts}), tmp_path / "a.parquet")
    assert read_aligned(str(tmp_path / "{lang}.parquet"), ["a"]) == {"a": expected}
    many = b"".join(b"%d\tline\r\n" % number for number in range(5, 40))
    (tmp_path / "a.tsv").write_bytes(b"id\ttext\r\n1\tone\r\n2\t\r\n3\t\xff\r\n4\tlast\r\n" + many)
    found = read_aligned(str(tmp_path / "{lang}.tsv"), ["a"])["a"]
    assert found == ["one", "", "", "last", *["line"] * 35]


@pytest.mark.parametrize("encoding", ["utf-16", "gb18030", "latin-1"])
@pytest.mark.parametrize("command", ["alp --json stock.model {path}", "ladder {path} -o {out}"])
def test_a_file_that_is_no_text_is_named_with_the_remedy(
    folders, tmp_path, encoding, command, monkeypatch
):
    monkeypatch.chdir(folders[0])
    text = "Über Äpfel\n" if encoding == "latin-1" else "人人生而自由\n"
    path, out = tmp_path / "text.txt", tmp_path / "out"
    path.write_bytes((text * 40).encode(encoding))
    with pytest.raises(VocapError, match=rf"{path}: not UTF-8: .* lines .*iconv -f ENCODING"):
        run(vocap, *command.format(path=path, out=out).split())
    assert not list(tmp_path.glob("out/**/*.*"))


def test_escapes_in_json_are_no_other_encoding(tmp_path, caplog):
    """However many there are: iconv would change nothing in a file of ASCII."""
    path = write_lines(tmp_path / "lone.jsonl", [r'{"text": "half \ud83d"}', '{"text": "fine"}'])
    assert list(read_blocks(path)) == [["fine"]]
    assert "1 of 2 lines" in caplog.text
    path.write_bytes('{"text": "Äpfel"}\n'.encode("latin-1") * 9 + b'{"text": "fine"}\n')
    with pytest.raises(VocapError, match=r"9 of 10 lines cannot be decoded; .*iconv"):
        list(read_blocks(path))
