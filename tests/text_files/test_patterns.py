"""Folders, patterns and addresses where a path is asked for."""

import gzip
import os
from pathlib import Path

import pytest

from tests.cases import read_cases
from tests.commands import ended, sample_words
from tests.storage.objects import local_objects
from vocap.corpora.settings import Corpora, resolve_all
from vocap.corpora.stage import sample_corpus
from vocap.errors import UsageError, VocapError
from vocap.files.io import read_object
from vocap.files.paths import expand, expand_all
from vocap.languages import read_languages
from vocap.storage.listing import list_shards

CASES = read_cases(__file__)
TABLE = read_languages()


@pytest.fixture
def folder(tmp_path):
    """Made in another order than the sorted one."""
    for name in CASES["files"]:
        (tmp_path / "ko" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "ko" / name).write_text(f"Line of {name}.\n")
    return tmp_path / "ko"


def names(folder, files):
    return [os.path.relpath(file, folder) for file in files]


def test_a_folder_is_all_its_files_in_sorted_order(folder):
    for path in (str(folder), f"{folder}/"):
        assert names(folder, expand(path)) == CASES["every"]


def test_patterns(folder):
    for pattern, found in CASES["patterns"].items():
        assert names(folder, expand(f"{folder}/{pattern}")) == found
    assert expand(f"{folder}/*.gz") == expand(f"{folder}/none") == []
    (folder / "[ab].txt").write_text("a file of that name comes first\n")
    assert names(folder, expand(f"{folder}/[ab].txt")) == ["[ab].txt"]
    assert expand_all([f"{folder}/b.txt", f"{folder}/none"]) == [
        f"{folder}/b.txt",
        f"{folder}/none",
    ]


@pytest.fixture
def linked(tmp_path):
    """Of a folder `de` what links do: to a file and a folder in it, to its own and the
    one above (two loops, of which paths have no end), out of it, and to nothing.
    """
    de = tmp_path / "text/de"
    for name in CASES["linked"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"Line of {name}.\n")
    os.link(de / "b.txt", de / "2026-10/hard.txt")
    for name, target in CASES["links"].items():
        (de / name).symlink_to(target)
    return de


def test_each_file_once_however_many_links_lead_to_it(linked):
    """As many as have a number of their own, by the real path; none of another folder
    above.
    """
    every = {"2026-10/part-1.txt", "2026-10/hard.txt", "far/c.txt"}  # hard.txt sorts before b.txt
    for pattern in (str(linked), f"{linked}/**/*.txt", f"{linked}/**"):
        assert set(names(linked, expand(pattern))) == every
    assert len(expand(f"{linked}/*/*.txt")) == 3 and len(expand(f"{linked}/*/*/*.txt")) == 3
    twice = [str(linked), f"{linked}/b.txt", f"{linked}/2026-10", f"{linked}/none"]
    assert expand_all(twice) == [*expand(str(linked)), f"{linked}/none"]
    assert [shard.path for shard in list_shards(twice[:3]).shards] == expand(str(linked))
    (linked.parent / "linked").symlink_to(linked)
    assert len(expand(str(linked.parent / "linked"))) == 3


def test_a_link_to_nothing_is_named(linked):
    for name, target in (("gone.txt", "nothing.txt"), ("self.txt", "self.txt")):
        (linked / name).symlink_to(target)
        found = resolved(f"{linked.parent}/{{lang}}", ("de",))["de"]
        assert found.absent == [f"{linked}/{name}"] and len(found.files()) == 3
        for path in (linked, linked / name):
            with pytest.raises(
                VocapError, match=rf"{name}: a link to a file that is not there; put"
            ):
                sample_corpus(Path(path), language="de")
        (linked / name).unlink()


def test_empty_files_are_left_out_and_counted(tmp_path):
    """As Spark and object stores leave them; not where there is nothing else."""
    (tmp_path / "de").mkdir()
    for name in ("_SUCCESS", "part-0.jsonl.gz", "part-2.parquet"):
        (tmp_path / "de" / name).touch()
    found = resolved(f"{tmp_path}/{{lang}}", ("de",))["de"]
    with pytest.raises(VocapError, match=r"_SUCCESS: the file is empty; put text in de there"):
        sample_corpus(tmp_path / "de", language="de")
    assert len(found.files()) == 3
    (tmp_path / "de/part-1.txt").write_text("".join(f"Line {n}.\n" for n in range(40)))
    for text in (tmp_path / "de", [tmp_path / "de/_SUCCESS", tmp_path / "de/part-1.txt"]):
        stats = sample_corpus(text, language="de").stats
        assert stats["read"] == 40 and stats["complete"] and stats["shards"] == 1
        assert stats["empty_files"] == (3 if text == tmp_path / "de" else 1)
    assert "empty_files" not in sample_corpus(tmp_path / "de/part-1.txt", language="de").stats
    assert names(tmp_path, found.files()) == ["de/part-1.txt"] and not found.absent


def test_empty_files_of_a_bucket_are_left_out_and_counted(tmp_path):
    """In a process of its own: a client stays where it was imported."""
    text = "".join(f"Line {n}.\n" for n in range(40)).encode()
    with local_objects() as store:
        store.put("made", {"lang=de/": b"", "lang=de/_SUCCESS": b"", "lang=de/1.txt": text})
        words = sample_words(tmp_path / "out", "s3://made/lang=de/", language="de")
        ended(*words, **store.environment())
    stats = read_object(tmp_path / "out/stats.json")
    assert stats["read"] == 40 and stats["complete"] and stats["empty_files"] in (1, 2)


def test_sampling_a_folder_and_a_pattern(folder, tmp_path):
    (folder / "own.json").unlink()  # records by its name
    (folder / "packed.gz").write_bytes(gzip.compress(b"One more line.\n" * 9))
    for text, read in ((folder, 7 + 9), (f"{folder}/a*.txt", 3)):
        ended(*sample_words(tmp_path, text, language="ko"))
        assert read_object(tmp_path / "stats.json")["read"] == read


def test_a_pattern_or_folder_without_files_is_named(tmp_path):
    (tmp_path / "empty").mkdir()
    for path, problem in (
        ("ko/*.txt", "no file matches this pattern"),
        ("empty", "a folder without files"),
    ):
        words = sample_words(tmp_path / "out", path, language="ko")
        said = ended(*words, cwd=tmp_path, status=1).stderr
        assert said.startswith(f"vocap: error: {path}: {problem}; put text in ko")


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
        UsageError, match=r"corpora\.sources\.mine: .*a\{b\}\.txt: Snakemake .* takes '\{'"
    ):
        resolved(f"{folder.parent}/{{lang}}")


@pytest.mark.parametrize(("place", "message"), CASES["no address"])
def test_places_that_take_no_address(place, message):
    with pytest.raises(ValueError, match=message):
        Corpora.model_validate(place)
