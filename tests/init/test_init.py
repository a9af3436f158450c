"""`vocap init`: a configuration from the names and the content of files, which the real Snakemake then plans."""

import bz2
import json
import subprocess
from pathlib import PurePath

import pytest
import yaml

from tests.workflow.conftest import BIN, ROOT, make_text, parse_counts
from vocap.init.configuration import Names, find_files, group
from vocap.languages import read_languages


def init(folder, status=0, cwd=None) -> subprocess.CompletedProcess:
    run = subprocess.run([BIN / "vocap", "init", folder], text=True, capture_output=True, check=False, cwd=cwd)
    assert run.returncode == status, run.stderr
    assert "Traceback" not in run.stderr
    return run


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("de.txt", "de"),
        ("DEU.txt.gz", "de"),
        ("german.txt", "de"),
        ("Norwegian Nynorsk.txt", "nn"),
        ("eng_Latn.jsonl", "en"),
        ("zh-Hans.txt", "zh"),
        ("zh_Hans.txt", "zh"),
        ("cmn_Hans.parquet", "zh"),
        ("nb.txt", "no"),
        ("corpus.it.txt.xz", "it"),
        ("my_text.txt", None),  # Burmese is called my
        ("notes.txt", None),
        ("hi/part-1.txt", "hi"),
        ("swahili/2024/a.txt", "sw"),
        ("de/en.txt", "en"),
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
    """Five languages in four formats, and files that are none; a space and a quote in the folder's name."""
    folder = tmp_path / "it's my text"
    (folder / "ja").mkdir(parents=True)
    (folder / "german.txt").write_text(make_text("de", 3000), "utf-8")
    (folder / "fr.txt").write_text(make_text("fr", 3000), "utf-8")
    (folder / "no.txt.bz2").write_bytes(bz2.compress(make_text("no").encode()))
    for part in (1, 2):
        (folder / f"ja/part-{part}.txt").write_text(make_text("ja", seed=part), "utf-8")
    records = (json.dumps({"id": 1, "doc": {"text": line}}) for line in make_text("ru").splitlines())
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
    assert sorted(source.get("format", "text") for source in sources) == ["jsonl:doc.text", *["text"] * 3]
    joint = next(entry for entry in written["tokenizers"].values() if entry["kind"] == "joint")
    assert run.stdout.startswith("snakemake --cores all --configfile ")
    planned = subprocess.run(
        [BIN / "snakemake", "-n", "--cores", "1", "--nolock", "--configfile", texts / "config.yaml"],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
    )
    assert planned.returncode == 0, planned.stdout + planned.stderr
    counts = parse_counts(planned.stdout)
    assert (counts["sample"], counts["ladder"], counts["fit"], counts["pick_joint"]) == (5, 5, 1, 1)
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


def test_a_folder_of_one_language_is_one_path(tmp_path):
    for name in ("hi/1.txt", "hi/2.txt", "german/a.txt", "german/b.txt", "german/notes.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("".join(f"text {number} of {name}\n" for number in range(50)), "utf-8")
    found, _ = find_files(tmp_path, read_languages())
    paths = {next(iter(source.codes)): source.paths for source in group(found)[0]}
    assert paths["hi"] == (f"{tmp_path}/{{lang}}",)
    assert paths["de"] == (f"{tmp_path}/{{lang}}/a.txt", f"{tmp_path}/{{lang}}/b.txt")  # not the third file
