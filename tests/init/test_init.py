"""`vocap init`: a configuration from the names and the content of files, which the real
Snakemake then plans.
"""

import bz2
import json
import subprocess
from pathlib import PurePath

import pytest
import yaml

from tests.commands import vocap
from tests.workflow.conftest import ROOT, Workflow, make_text, parse_counts
from vocap.init.language_files import Lines, Names, choose_formats, find_files, group, is_uneven
from vocap.languages import read_languages


def init(folder, *options, status=0) -> subprocess.CompletedProcess:
    run = vocap("init", folder, *options)
    assert run.returncode == status, run.stderr
    assert "Traceback" not in run.stderr
    return run


def plan(configuration) -> dict[str, int]:
    home = {"HOME": str(configuration.parent)}
    run = Workflow(ROOT).snakemake("-n", "--nolock", configfile=configuration, environment=home)
    assert run.returncode == 0, run.stdout
    return parse_counts(run.stdout)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("de.txt", "de"),
        ("DEU.txt.gz", "de"),
        ("Norwegian Nynorsk.txt", "nn"),
        ("eng_Latn.jsonl", "en"),
        ("zh-Hans.txt", "zh"),
        ("cmn_Hans.parquet", "zh"),
        ("nb.txt", "no"),
        ("corpus.it.txt.xz", "it"),
        ("my_text.txt", None),  # Burmese is called my
        ("hi/part-1.txt", "hi"),
        ("swahili/2024/a.txt", "sw"),
        ("de/en.txt", "en"),
        ("python/it/de.py", "python"),
    ],
)
def test_languages_are_taken_from_names(path, code):
    found = Names(read_languages()).of(PurePath(path))
    assert (found and found[0]) == code


@pytest.mark.parametrize("path", ["zh-Hant.txt", "sr_Latn.txt", "europarl.de-en.txt"])
def test_names_that_contradict_are_refused(path):
    with pytest.raises(ValueError, match="its name says"):
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
    assert written["results"] == str(texts / "results")
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
    assert written["results"] == f"{texts}/results"
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


def test_mark_up_is_named(tmp_path):
    lines = sentences("de", 300)
    (tmp_path / "en.txt").write_text("\n".join(lines), "utf-8")
    lines[200:] = [f"<p>{line}</p>" for line in lines[200:]]
    (tmp_path / "de.txt").write_text("\n".join(lines), "utf-8")
    (warning,) = [line for line in init(tmp_path).stderr.splitlines() if "mark-up" in line]
    assert warning.startswith("de: about 33% of the lines hold mark-up (<p>)")


def test_a_folder_of_one_language_is_one_path(tmp_path):
    for name in ("hi/1.txt", "hi/2.txt", "german/a.txt", "german/b.txt", "german/notes.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(
            "".join(f"text {number} of {name}\n" for number in range(50)), "utf-8"
        )
    found, _ = find_files(str(tmp_path), read_languages())
    paths = {next(iter(source.codes)): source.paths for source in group(choose_formats(found)[0])}
    assert paths["hi"] == (f"{tmp_path}/{{lang}}",)
    # not the third file
    assert paths["de"] == (f"{tmp_path}/{{lang}}/a.txt", f"{tmp_path}/{{lang}}/b.txt")


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
        (tmp_path / f"dev/{code}.txt").write_text(
            make_text(code, 41 if code == "ja" else 40), "utf-8"
        )
    return tmp_path


def test_paragraphs_are_cut_where_lines_differ_and_the_rest_is_weighed_by_characters(uneven):
    said = init(uneven).stderr
    text = (uneven / "config.yaml").read_text("utf-8")
    written = yaml.safe_load(text)
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
    for code in ("de", "ja"):  # the means in the comments, as counted here
        lines = (
            (uneven / f"{code}.{'txt' if code == 'de' else 'tsv'}")
            .read_text("utf-8")
            .splitlines()[code == "ja" :]
        )
        mean = sum(len(line) + 1 for line in lines) / len(lines)
        assert f"{code} {mean:.0f} (" in " ".join(text.replace("\n#", "").split())
    assert "dev/ja.txt: parallel text has equal numbers of lines, not 41 and 40" in said
    patterns = {key: written["corpora"][key] for key in ("parallel", "development")}
    assert patterns == {
        "parallel": f"{uneven}/parallel/{{lang}}.txt",
        "development": f"{uneven}/dev/{{lang}}.txt",
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
    (line,) = init(uneven, "--total", "30", status=1).stderr.splitlines()[1:]
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
