"""Folders, patterns and addresses where a path is asked for."""

import gzip
import json
import os

import pytest

from tests.corpora.test_commands import sample_words, vocap
from vocap.corpora.settings import Corpora, resolve_all
from vocap.errors import UsageError
from vocap.files.paths import expand, expand_all
from vocap.languages import read_languages

TABLE = read_languages()


@pytest.fixture
def folder(tmp_path):
    """Made in another order than the sorted one."""
    names = [
        "b.txt",
        "a.txt",
        "ä.txt",
        "B.txt",
        "a10.txt",
        "a9.txt",
        ".hidden",
        "sub/c.txt",
        "sub/.x",
        ".git/config",
    ]
    names += ["sub/c.txt.json", "own.json", "late.part", "late.part.json"]
    for name in names:
        (tmp_path / "ko" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "ko" / name).write_text(f"Line of {name}.\n")
    return tmp_path / "ko"


def names(folder, files):
    return [os.path.relpath(file, folder) for file in files]


def test_a_folder_is_all_its_files_in_sorted_order(folder):
    every = ["B.txt", "a.txt", "a10.txt", "a9.txt", "b.txt", "own.json", "sub/c.txt", "ä.txt"]
    assert names(folder, expand(str(folder))) == every
    assert names(folder, expand(f"{folder}/")) == every


def test_patterns(folder):
    assert names(folder, expand(f"{folder}/a*.txt")) == ["a.txt", "a10.txt", "a9.txt"]
    assert names(folder, expand(f"{folder}/[ab].txt")) == ["a.txt", "b.txt"]
    # without the files that fetching wrote beside it
    assert names(folder, expand(f"{folder}/**/c.txt*")) == ["sub/c.txt"]
    assert names(folder, expand(f"{folder}/*")) == [
        "B.txt",
        "a.txt",
        "a10.txt",
        "a9.txt",
        "b.txt",
        "own.json",
        "ä.txt",
    ]
    assert expand(f"{folder}/*.gz") == expand(f"{folder}/none") == []
    (folder / "[ab].txt").write_text("a file of that name comes first\n")
    assert names(folder, expand(f"{folder}/[ab].txt")) == ["[ab].txt"]
    assert expand_all([f"{folder}/b.txt", f"{folder}/none"]) == [
        f"{folder}/b.txt",
        f"{folder}/none",
    ]


def test_sampling_a_folder_and_a_pattern(folder, tmp_path):
    (folder / "own.json").unlink()  # records by its name
    (folder / "packed.gz").write_bytes(gzip.compress(b"One more line.\n" * 9))
    assert vocap(*sample_words(tmp_path / "one", folder, language="ko")).returncode == 0
    files = expand(str(folder))
    assert vocap(*sample_words(tmp_path / "two", *files, language="ko")).returncode == 0
    for name in ("train.txt", "heldout.txt", "stats.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    done = vocap(*sample_words(tmp_path / "three", f"{folder}/a*.txt", language="ko"))
    assert (
        done.returncode == 0
        and json.loads((tmp_path / "three" / "stats.json").read_text())["read"] == 3
    )


def test_a_pattern_or_folder_without_files_is_named(tmp_path):
    (tmp_path / "empty").mkdir()
    for path, problem in (
        ("ko/*.txt", "no file matches this pattern"),
        ("empty", "a folder without files"),
    ):
        done = vocap(*sample_words(tmp_path / "out", path, language="ko"), cwd=tmp_path)
        assert done.returncode == 1 and done.stderr.startswith(
            f"vocap: error: {path}: {problem}; put text in ko"
        )


def resolved(path, languages=("ko",)):
    settings = Corpora.model_validate({"source": "mine", "sources": {"mine": {"path": path}}})
    return resolve_all(settings, [TABLE[code] for code in languages])


def test_sources_of_folders_and_patterns(folder):
    found = resolved(f"{folder.parent}/{{lang}}/a*.txt")["ko"]
    assert names(folder, found.files()) == ["a.txt", "a10.txt", "a9.txt"] and not found.absent
    assert found.paths == [f"{folder.parent}/ko/a*.txt"]
    absent = resolved([f"{folder.parent}/{{lang}}/*.gz", f"{folder.parent}/{{lang}}"])["ko"]
    assert absent.absent == [f"{folder.parent}/ko/*.gz"]


def test_two_languages_that_match_one_file(folder):
    (folder.parent / "kok.txt").write_text("x\n")
    with pytest.raises(UsageError, match=r"ko and ka would both read .*/ko/B\.txt; write \{lang\}"):
        resolved(f"{folder.parent}/**/*.txt", ("ko", "ka"))


def test_a_file_that_a_workflow_cannot_take(folder):
    (folder / "a{b}.txt").write_text("x\n")
    with pytest.raises(
        UsageError, match=r"corpora\.sources\.mine: .*a\{b\}\.txt: Snakemake takes \{"
    ):
        resolved(f"{folder.parent}/{{lang}}")


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ({"sources": {"mine": {"url": "data/{lang}.txt"}}}, "an address starts with http:// or"),
        ({"parallel": "hf://datasets/x/{lang}"}, "hf:// paths are not read here"),
    ],
)
def test_places_that_take_no_address(place, message):
    with pytest.raises(ValueError, match=message):
        Corpora.model_validate(place)
