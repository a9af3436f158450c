"""`vocap init`: a configuration from the names and the content of files, which the real
Snakemake then plans.
"""

import bz2
import gzip
import json
import subprocess
from pathlib import PurePath

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import yaml

from tests.cases import read_cases
from tests.commands import ended
from tests.workflow.conftest import ROOT, Workflow, make_text, parse_counts
from vocap.config import load, read_files
from vocap.init.configuration import choose_sizes
from vocap.init.language_files import Lines, Names, is_uneven
from vocap.languages import read_languages

CASES = read_cases(__file__)


def init(folder, *options, **how) -> subprocess.CompletedProcess:
    return ended("init", folder, *options, **how)


def plan(configuration) -> dict[str, int]:
    home = {"HOME": str(configuration.parent)}
    run = Workflow(ROOT).snakemake("-n", "--nolock", configfile=configuration, environment=home)
    assert run.returncode == 0, run.stdout
    return parse_counts(run.stdout)


@pytest.mark.parametrize(
    ("path", "code"),
    CASES["languages"],
)
def test_languages_are_taken_from_names(path, code):
    assert Names(read_languages()).of(PurePath(path))[0] == code


@pytest.mark.parametrize(
    ("path", "said"),
    [
        CASES["refused"],
        ("my_text.txt", "no language"),
        ("europarl.de-en.txt", "no language"),
        ("zh-Hant.txt", "no language"),
        ("my/german.txt", "code of Burmese, and a word; another name says German"),
        ("no/text/corpus.de.txt", "another name says German"),
        ("German/as/part-1.txt", "another name says German"),
        ("or/sr/or/1.txt", "another name says Serbian"),
    ],
)
def test_names_without_one_language_are_refused(path, said):
    with pytest.raises(ValueError, match=said):
        Names(read_languages()).of(PurePath(path))


@pytest.fixture
def texts(tmp_path):
    """Five languages in four formats, and files that are none; a space and a quote in
    the folder's name.
    """
    folder = tmp_path / "it's my text"
    (folder / "ja").mkdir(parents=True)
    (folder / "german.txt").write_text(make_text("de", 3000), "utf-8")
    (folder / "fr.txt").write_text(make_text("fr", 3000), "utf-8")
    (folder / "no.txt.bz2").write_bytes(bz2.compress(make_text("no").encode()))
    for part in (1, 2):
        (folder / f"ja/part-{part}.txt").write_text(make_text("ja", seed=part), "utf-8")
    records = (
        json.dumps({"id": 1, "doc": {"text": line}}) for line in make_text("ru").splitlines()
    )
    (folder / "rus_Cyrl.jsonl").write_text("\n".join(records) + "\n", "utf-8")
    (folder / "README.md").write_text("About this text.\n")
    (folder / "en.csv").write_text("a,b\n")
    (folder / "el.txt").write_bytes(b"PK\x03\x04" + bytes(100))
    return folder


def test_found_texts_become_a_configuration_that_snakemake_runs(texts):
    run = init(texts)
    written = yaml.safe_load((texts / "config.yaml").read_text("utf-8"))
    assert set(written["languages"]) == {"de", "fr", "ja", "no", "ru"}
    assert written["results"] == "./results"
    for left, why in (("README.md", "no language"), ("en.csv", "CSV"), ("el.txt", "UTF-8")):
        assert any(left in line and why in line for line in run.stderr.splitlines()), run.stderr
    sources = written["corpora"]["sources"].values()
    assert sorted(source.get("format", "text") for source in sources) == [
        "jsonl:doc.text",
        *["text"] * 3,
    ]
    joint = next(entry for entry in written["tokenizers"].values() if entry["kind"] == "joint")
    assert run.stdout.startswith("snakemake --cores all --configfile ")
    assert f"# In the project's root: {run.stdout}" in (texts / "config.yaml").read_text("utf-8")
    counts = plan(texts / "config.yaml")
    assert (counts["sample"], counts["ladder"], counts["fit"], counts["pick_joint"]) == (5, 5, 2, 1)
    assert joint["total"] < 20_000  # half a megabyte of text


def test_a_configuration_that_is_there_stays(texts):
    (texts / "config.yaml").write_text("mine\n")
    assert "already" in init(texts, status=2).stderr
    assert (texts / "config.yaml").read_text() == "mine\n"


def test_a_folder_without_text_is_named(tmp_path):
    assert "no such folder" in init(tmp_path / "nowhere", status=2).stderr
    (tmp_path / "notes.txt").write_text("Nothing.\n")
    said = init(tmp_path, status=1).stderr
    assert "notes.txt: its name has no language" in said and "german.txt" in said
    assert not (tmp_path / "config.yaml").exists()


def sources_of(folder) -> dict[str, dict]:
    """The source of every language in a written configuration."""
    written = yaml.safe_load((folder / "config.yaml").read_text("utf-8"))
    corpora = written["corpora"]
    own = corpora.get("languages", {})
    return {
        code: corpora["sources"][own.get(code, corpora["source"])] for code in written["languages"]
    }


def test_the_folder_decides_and_what_is_no_text_is_named(tmp_path):
    """Files named by other languages are of their folder's; copies, notes on the files,
    results of another configuration and a second script are no text.
    """
    line = "A line of text with some words.\n"
    names = ("en/cat.txt", "en/fin-reports.txt", "en/mar.txt", "hi/1.txt", "hi/2.txt", "de.txt")
    left = {
        "en/README.md": "notes on the files",
        "en/books.txt.bak": "a copy",
        "de.txt~": "a copy",
        "hi/1.txt.orig": "a copy",
        "hi/notes.csv": "CSV",
        "fi/none.txt": "empty",
        "tr/blank.txt": "no line of text",
        "zh-Hant/1.txt": "no language",
    }
    for name in (*names, *left, "results-bpe/corpora/de/train.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        text = {"fi/none.txt": "", "tr/blank.txt": "\n"}.get(name, line * 50)
        (tmp_path / name).write_text(text, "utf-8")
    said = init(tmp_path).stderr.splitlines()
    found = {one.split(": ")[1]: one for one in said if one.startswith("left out: ")}
    assert found.keys() == left.keys()
    assert all(why in found[name] for name, why in left.items())
    assert {code: source["path"] for code, source in sources_of(tmp_path).items()} == {
        "de": "./{lang}.txt",
        "en": [f"./{{lang}}/{name}.txt" for name in ("cat", "fin-reports", "mar")],
        "hi": ["./{lang}/1.txt", "./{lang}/2.txt"],
    }


def test_shards_of_one_language_are_one_source(tmp_path):
    """Shards that are long, short, empty, of another likeliest field and of another
    format, in folders and files that name the language in three ways.
    """
    folder = tmp_path / "text"
    short, long = "A short line of words.", "A longer line of words. " * 200

    def write(name, records):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = "".join(json.dumps(record) + "\n" for record in records).encode()
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)

    for number in range(8):  # about a tenth of the records are too long for a line
        many = 7 if number % 2 else 13
        records = [{"text": long if place < many else short} for place in range(100)]
        write(f"en/part-{number}.jsonl.gz", records)
    # of two fields the one of most text differs
    write("deu_Latn/1.jsonl", [{"q": short * 2, "a": short}] * 900)
    write("german/2.jsonl", [{"q": short, "a": short * 2}] * 100)
    write("de.jsonl", [{"b": short}] * 10)
    (folder / "german/3.txt").write_text(short, "utf-8")
    pyarrow.parquet.write_table(
        pyarrow.table({"text": pyarrow.array([], pyarrow.string())}), folder / "en/4.parquet"
    )
    said = init(folder).stderr
    assert "left out: de.jsonl: none of the first 10 records has text in the field 'q'" in said
    assert "left out: german/3.txt: de has more text as jsonl; one format a language" in said
    assert "left out: en/4.parquet: no line of text" in said
    assert said.count("left out") == 3
    sources = sources_of(folder)
    paths = sources["en"].pop("path")
    assert len(paths) == 8 and sources["en"] == {"format": "jsonl:text", "split_sentences": True}
    assert sources["de"] == {
        "path": ["./deu_Latn", "./german/2.jsonl"],
        "format": "jsonl:q",
    }


def test_a_configuration_moves_with_its_text(tmp_path, monkeypatch):
    """Paths of a file are those from its folder, below or above the working directory."""
    (tmp_path / "runs").mkdir()
    (tmp_path / "text").mkdir()
    (tmp_path / "text/de.txt").write_text("Zeile mit Text.\n" * 50, "utf-8")
    init(tmp_path / "text", "--total", "300")
    init(tmp_path / "text", "--total", "300", "-o", tmp_path / "runs/a.yaml")
    (tmp_path / "more.yaml").write_text("corpora: {parallel: '../p/{lang}.txt'}\n")
    monkeypatch.chdir(tmp_path)

    def loaded(*files):
        return load(read_files(files), files)

    assert loaded("text/config.yaml", "more.yaml").results == "text/results"
    assert loaded("text/config.yaml", "more.yaml").corpora.parallel == str(
        tmp_path.parent / "p/{lang}.txt"
    )
    (tmp_path / "text").rename(tmp_path / "moved")
    moved = loaded(tmp_path / "moved/config.yaml")
    assert (moved.results, moved.corpora.sources["mine"].path) == (
        "moved/results",
        ["moved/{lang}.txt"],
    )
    other = loaded("runs/a.yaml")  # text elsewhere has absolute paths
    assert other.results == "runs/results-a"
    assert other.corpora.sources["mine"].path == [f"{tmp_path}/text/{{lang}}.txt"]


def sentences(language, count):
    return [f"{line.capitalize()}." for line in make_text(language, count).splitlines()]


@pytest.fixture
def uneven(tmp_path):
    """Sentences of German, paragraphs of Russian and, without stops, Japanese; code;
    and translations.
    """
    (tmp_path / "parallel").mkdir()
    (tmp_path / "dev").mkdir()
    (tmp_path / "de.txt").write_text("\n".join(sentences("de", 2000)), "utf-8")
    russian = sentences("ru", 2000)
    texts = [" ".join(russian[start : start + 5]) for start in range(0, 2000, 5)]
    (tmp_path / "ru.jsonl").write_text(
        "".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8"
    )
    (tmp_path / "ja.tsv").write_text(
        "text\n" + "".join(f"{line * 8}\n" for line in make_text("ja", 300).split()), "utf-8"
    )
    for code in ("de", "ru", "ja"):
        (tmp_path / f"parallel/{code}.txt").write_text(make_text(code, 40), "utf-8")
        (tmp_path / f"dev/{code}.txt").write_text(make_text(code, 40), "utf-8")
    return tmp_path


def test_paragraphs_are_cut_where_lines_differ_and_the_rest_is_weighed_by_characters(uneven):
    (uneven / "dev/german.txt").write_text(make_text("de", 40), "utf-8")
    said = init(uneven).stderr
    assert "left out: dev/german.txt: parallel text is a file of lines named de.txt" in said
    written = yaml.safe_load((uneven / "config.yaml").read_text("utf-8"))
    sources = {
        source.get("format", "text"): source for source in written["corpora"]["sources"].values()
    }
    assert {name: source.get("split_sentences", False) for name, source in sources.items()} == {
        "text": False,
        "jsonl:text": True,
        "tsv:text": False,
    }
    trained = [entry for entry in written["tokenizers"].values() if entry["kind"] != "vocap"]
    assert [entry["per"] for entry in (*written["allocation"].values(), *trained)] == [
        "character"
    ] * 3  # vocap, pieces, joint
    patterns = {key: written["corpora"][key] for key in ("parallel", "development")}
    assert patterns == {
        "parallel": "./parallel/{lang}.txt",
        "development": "./dev/{lang}.txt",
    }


def test_code_makes_text_lossless_and_records_documents(uneven):
    records = [json.dumps({"text": "def f(x):\n    return x\n\n" * 40}) for _ in range(100)]
    (uneven / "python.jsonl").write_text("\n".join(records), "utf-8")
    init(uneven, "--total", "2000", "--kind", "vocap", "--kind", "bpe", "--kind", "parity-bpe")
    written = yaml.safe_load((uneven / "config.yaml").read_text("utf-8"))
    assert written["text"] == {"preset": "lossless"} and written["corpora"]["weights"] == "bytes"
    sources = written["corpora"]["sources"]
    assert sources[written["corpora"]["languages"]["python"]]["documents"]
    assert [name for name, source in sources.items() if "documents" in source] == [
        written["corpora"]["languages"]["python"]
    ]
    assert {entry["kind"] for entry in written["tokenizers"].values()} == {
        "vocap",
        "bpe",
        "parity-bpe",
    }
    assert {entry["total"] for entry in written["allocation"].values()} == {2000}
    counts = plan(uneven / "config.yaml")
    assert (counts["sample"], counts["fit"]) == (4, 1)


def test_wrong_options_are_one_line(uneven):
    (line,) = init(uneven, "--total", "30", status=1).stderr.splitlines()
    assert "raise total" in line
    assert "--kind" in init(uneven, "--kind", "joined", status=2).stderr
    assert (
        "follows parallel text"
        in init(uneven / "parallel", "--kind", "parity-bpe", status=2).stderr
    )
    assert not (uneven / "config.yaml").exists()


def test_translations_are_lines_of_like_length_and_paragraphs_are_not():
    def lines(length):
        return Lines(0, length, 0, frozenset())

    assert not is_uneven([lines(40), lines(60)]) and is_uneven([lines(40), lines(80)])


def test_lossless_text_is_for_models_that_write(tmp_path):
    """The layout has the special tokens of config/generative.yaml; records are documents
    where they hold line ends.
    """
    texts = {"de": "Ein Satz.\n\nNoch ein \\n Satz.", "fr": "Une phrase \\n courte."}
    for code, text in texts.items():
        records = "".join(json.dumps({"text": text}) + "\n" for _ in range(300))
        (tmp_path / f"{code}.jsonl").write_text(records, "utf-8")
    init(tmp_path, "--lossless", "--kind", "bpe", "--total", "400")
    written = yaml.safe_load((tmp_path / "config.yaml").read_text("utf-8"))
    generative = yaml.safe_load((ROOT / "config/generative.yaml").read_text("utf-8"))
    assert written["layout"] == {
        "special": generative["layout"]["special"],
        "mask": False,
        "bos_eos": "none",
        "model_max_length": None,
    }
    assert {code: source.get("documents") for code, source in sources_of(tmp_path).items()} == {
        "de": True,
        "fr": None,
    }
    assert load(written).layout.around == (None, None)


def test_a_language_of_an_own_table_is_found(tmp_path):
    (tmp_path / "cv.txt").write_text("Чӑваш чӗлхи.\n" * 50, "utf-8")
    assert "add a row of code and name (--languages-table)" in init(tmp_path, status=1).stderr
    table = tmp_path / "languages.tsv"
    table.write_text("language\tname\ncv\tChuvash\n", "utf-8")
    assert "cv  Chuvash" in init(tmp_path, "--languages-table", table).stderr
    written = yaml.safe_load((tmp_path / "config.yaml").read_text("utf-8"))
    assert written["corpora"]["table"] == "./languages.tsv"


def test_every_language_has_ten_sizes_of_at_most_fifty_where_its_text_allows():
    random = np.random.default_rng(0)
    for _ in range(200):
        count = random.integers(1, 5)
        characters = dict(enumerate(random.choice([40, 90, 300, 3000], count).tolist()))
        reaches = dict(enumerate((300 * 400 ** random.random(count)).tolist()))
        sizes = choose_sizes(characters, reaches)
        assert sizes == sorted(set(sizes)) and 4 <= len(sizes) <= 50, (characters, reaches)
        for code, reach in reaches.items():
            inside = [size for size in sizes if characters[code] < size <= reach]
            # not of text that has no place for ten steps of 50
            allowed = 0.8 * min(reach, 50_000) - characters[code] >= 1000
            assert len(inside) >= 10 or not allowed, (characters, reaches, sizes)


@pytest.mark.parametrize(
    ("options", "kind", "split", "forms"),
    [
        (["--for", "transformers,sentencepiece"], "vocap", None, None),
        (["--for", "llama.cpp"], "vocap", None, ["gguf"]),
        (["--for", "vllm,tiktoken"], "bpe", None, ["tiktoken"]),
        (["--for", "tiktoken,llama.cpp"], "bpe", "llama-3", ["tiktoken", "gguf"]),
        (["--chat"], "bpe", None, None),
    ],
)
def test_programs_decide_kind_cut_and_forms(texts, options, kind, split, forms):
    init(texts, *options)
    config = load(read_files([texts / "config.yaml"]))
    (entry,) = yaml.safe_load((texts / "config.yaml").read_text("utf-8"))["tokenizers"].values()
    assert (entry["kind"], entry.get("split"), entry.get("export")) == (kind, split, forms)
    if "--chat" in options:
        assert "<|im_start|>" in config.layout.names and entry["total"] % 128 == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--for", "tiktoken,sentencepiece"], "no kind of tokenizer"),
        (["--for", "llama.cpp", "--kind", "bpe"], "kind bpe of normalised text"),
        (["--for", "lama.cpp"], "did you mean llama.cpp"),
    ],
)
def test_programs_that_no_kind_serves_are_refused(texts, options, said):
    assert said in init(texts, *options, status=2).stderr
    assert not (texts / "config.yaml").exists()
