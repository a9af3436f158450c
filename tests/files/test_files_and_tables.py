"""Whole files or none, and tables that read back as they were written."""

import errno
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vocap.errors import UsageError, VocapError, explain
from vocap.files.io import (
    naming,
    read_tsv,
    replacing,
    replacing_directory,
    scratch_directory,
    write_text,
    write_tsv,
)
from vocap.languages import default_table, natural, read_languages, select


def test_a_failed_write_keeps_the_old_file_and_leaves_no_other(tmp_path):
    target = tmp_path / "out.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError), replacing(target) as file:
        file.write("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_folder_is_no_file_and_a_file_no_folder(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(VocapError, match="folder: a folder"), replacing(tmp_path / "folder"):
        raise AssertionError("nothing may be computed for it")
    with (
        pytest.raises(UsageError, match="file: not a folder"),
        replacing_directory(tmp_path / "file"),
    ):
        raise AssertionError("nothing may be computed for it")
    with pytest.raises(VocapError, match="folder: a folder, not a table"):
        list(read_tsv(tmp_path / "folder"))
    assert (
        sorted(os.listdir(tmp_path)) == ["file", "folder"]
        and (tmp_path / "file").read_text() == "mine"
    )


def test_a_directory_takes_the_place_of_an_older_one(tmp_path):
    target = tmp_path / "out"
    target.mkdir()
    (target / "stale").write_text("old")
    with replacing_directory(target) as folder:
        (folder / "fresh").write_text("new")
        assert (target / "stale").exists()
    assert os.listdir(target) == ["fresh"]
    with pytest.raises(RuntimeError), replacing_directory(target) as folder:
        (folder / "half").write_text("")
        raise RuntimeError
    assert os.listdir(target) == ["fresh"]
    assert os.listdir(tmp_path) == ["out"]


def test_a_directory_of_someone_else_is_left_alone(tmp_path):
    target = tmp_path / "out"
    owned = ["a.json", "b.json"]
    for content in ([], ["a.json"], ["b.json", ".snakemake_timestamp"]):
        target.mkdir(exist_ok=True)
        for name in content:
            (target / name).write_text("old")
        with replacing_directory(target, owned) as folder:
            (folder / "a.json").write_text("new")
        assert os.listdir(target) == ["a.json"]
    (target / "thesis.txt").write_text("mine")
    (target / "notes").mkdir()
    says = r"out: .*'notes/' and 1 more.*name another folder"
    with pytest.raises(UsageError, match=says), replacing_directory(target, owned):
        raise AssertionError("nothing is begun")
    assert sorted(os.listdir(target)) == ["a.json", "notes", "thesis.txt"]
    (tmp_path / "named").mkdir()
    (tmp_path / "named" / "a.json").mkdir()  # a folder of that name is no file of the writer's
    with (
        pytest.raises(UsageError, match=r"'a\.json/'"),
        replacing_directory(tmp_path / "named", owned),
    ):
        raise AssertionError("nothing is begun")
    assert sorted(os.listdir(tmp_path)) == ["named", "out"]


def test_what_a_killed_writer_left_is_removed(tmp_path):
    target = tmp_path / "out.txt"
    script = (
        "import os, signal, sys\nfrom vocap.files.io import replacing\nwith replacing(sys.argv[1]) "
        "as file:\n    file.write('half')\n    file.flush()\n    os.kill(os.getpid(), "
        "signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", script, target], check=False)
    assert len(os.listdir(tmp_path)) == 1
    assert not target.exists()
    with replacing(target) as file:
        file.write("whole")
    assert os.listdir(tmp_path) == ["out.txt"]


def test_what_is_left_under_a_number_of_no_process(tmp_path):
    for owner in ("99999999999999999999", "²", "x"):
        (tmp_path / f".out.txt.{platform.node()}.{owner}.part").write_text("half")
    write_text(tmp_path / "out.txt", "whole")
    assert os.listdir(tmp_path) == ["out.txt"] and (tmp_path / "out.txt").read_text() == "whole"


def errors_of_a_full_device():
    """A library's error as it comes, and the system's, which names no file."""
    from tokenizers import Tokenizer, models

    with open("/dev/full", "w") as file, pytest.raises(OSError) as system:
        file.write("x" * 100_000)
    with pytest.raises(Exception, match="os error 28") as library:
        Tokenizer(models.BPE()).save("/dev/full")
    assert system.value.filename is None and not isinstance(library.value, OSError)
    return system.value, library.value


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_a_full_device_is_told_with_the_file_that_was_to_be_written(tmp_path):
    for error in errors_of_a_full_device():
        with pytest.raises(OSError) as found, replacing(tmp_path / "a.txt"):
            raise error
        assert (found.value.errno, found.value.filename) == (errno.ENOSPC, str(tmp_path / "a.txt"))
        folder = replacing_directory(tmp_path / "folder")
        with pytest.raises(OSError) as found, folder as inside, replacing(inside / "b.txt"):
            raise error
        assert (found.value.errno, found.value.filename) == (
            errno.ENOSPC,
            str(tmp_path / "folder" / "b.txt"),
        )
    says = explain(found.value)
    assert says.startswith(f"{tmp_path}/folder/b.txt: No space left on device; free some space")
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_made_is_named_without_its_temporary_name(tmp_path):
    name = tmp_path / ("x" * 250)  # the temporary one is too long
    for context in (replacing, replacing_directory, scratch_directory):
        with pytest.raises(OSError) as found, context(name):
            raise AssertionError("nothing is begun")
        assert (found.value.errno, found.value.filename) == (errno.ENAMETOOLONG, str(name))


def test_of_two_files_the_one_is_named_that_the_error_is_about(tmp_path):
    for number, name in ((errno.ENOSPC, "copy"), (errno.ENOENT, "source")):
        with pytest.raises(OSError) as found, naming(tmp_path / "other"):
            # as shutil.copyfile has it
            raise OSError(number, os.strerror(number), "source", None, "copy")
        assert (found.value.errno, found.value.filename) == (number, name)


@given(st.lists(st.tuples(st.text(), st.text()), max_size=5))
def test_any_text_reads_back(rows):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.tsv"
        # surrogates cannot be written as UTF-8 at all
        rows = [tuple(cell.encode("utf-8", "ignore").decode() for cell in row) for row in rows]
        write_tsv(path, ("a", "b"), rows)
        assert [(row["a"], row["b"]) for row in read_tsv(path)] == rows


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"a\tb\n1\n", "line 2: 1 cells, the header has 2"),
        (b"a\tc\n1\t2\n", "line 1: no column b; it has: a, c"),
        (b"a\tb\n\xff\t2\n", "not UTF-8"),
        (None, "no such file"),
    ],
)
def test_a_bad_table_is_named_with_its_line(tmp_path, content, says):
    path = tmp_path / "table.tsv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(VocapError) as caught:
        list(read_tsv(path, ("a", "b")))
    assert str(path) in str(caught.value)
    assert says in str(caught.value)


def test_rows_of_a_domain_are_no_natural_languages():
    table = read_languages(default_table())
    assert [code for code in table if code not in natural(table)] == ["python", "javascript"]
    assert all(table[code].resource == "code" for code in ("python", "javascript"))


def test_the_table_holds_the_papers_languages():
    table = natural(read_languages(default_table()))
    groups = [language.resource for language in table.values()]
    assert len(table) == 86
    assert [groups.count(group) for group in ("low", "mid", "high")] == [37, 25, 24]
    assert (
        sum(float(language.facts["paper_allocated_thousands"]) for language in table.values())
        == 711
    )
    assert sum(float(row.facts["paper_cc_gb"]) for row in table.values()) == pytest.approx(2077.5)
    assert sum(float(row.facts["paper_wikipedia_gb"]) for row in table.values()) == pytest.approx(
        67.36, abs=0.01
    )
    with pytest.raises(UsageError, match="'xx'"):
        select(table, ["en", "xx"])
