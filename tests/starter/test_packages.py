"""Archives to messages to texts: made wheels, Debian packages and .tar.gz files, and
corrupt ones.
"""

import json
import shutil

import pytest

from tests.archives import debian_bytes, tar_bytes, write_zip
from tests.cases import read_cases, refused
from tests.commands import caller, ended
from vocap.errors import VocapError
from vocap.files.io import read_object
from vocap.languages import read_languages
from vocap.starter.extraction import read_members
from vocap.starter.packages import PACKAGES

CASES = read_cases(__file__)


def po(entries) -> bytes:
    return (
        b'msgid ""\nmsgstr ""\n\n'
        + "".join(
            f'msgid "{source}"\nmsgstr "{text}"\n\n' for source, text in entries.items()
        ).encode()
    )


FILES = {
    "a/i18n/de.json": b'{"x": "Hallo du"}',
    "a/i18n/en.json": b'{"x": "Hello you"}',
    "README": b"no",
}


DOTTED = {f"./{name}": content for name, content in FILES.items()}


def is_json(name):
    return name.endswith(".json")


def archive(kind, folder) -> bytes:
    if kind == "zip":
        return write_zip(folder / "whole", FILES).read_bytes()
    return debian_bytes(folder, FILES) if kind == "deb" else tar_bytes(DOTTED)


@pytest.mark.parametrize("kind", ["zip", "deb", "tar.gz"])
def test_every_kind_of_archive_gives_the_same_files(kind, tmp_path):
    (tmp_path / "archive").write_bytes(archive(kind, tmp_path))
    found = read_members(tmp_path / "archive", is_json)
    assert found == {name: FILES[name] for name in ("a/i18n/de.json", "a/i18n/en.json")}
    (tmp_path / "archive").write_bytes(archive(kind, tmp_path)[:100])
    with pytest.raises(VocapError, match=rf"^{tmp_path / 'archive'}: a corrupt archive"):
        read_members(tmp_path / "archive", is_json)


def test_another_file_is_no_archive(tmp_path):
    (tmp_path / "archive").write_bytes(b"<html>not found</html>")
    with pytest.raises(VocapError, match="a corrupt archive"):
        read_members(tmp_path / "archive", is_json)


DJANGO = {
    **{
        f"django/{place}/LC_MESSAGES/django.po": po(texts)
        for place, texts in CASES["catalogues"].items()
    },
    "django/conf/locale/ka/LC_MESSAGES/django.po": b"\xff\xfe broken",
    "django/conf/locale/de/LC_MESSAGES/django.mo": b"not asked for",
    "django/utils/a.py": b"def f(x):\r\n\treturn  x\n\n    \n",
    "django/utils/b.py": "    s = 'é\\n'\ndef f(x):\n".encode(),
    "django/utils/c.py": b"\xff",
    "django/contrib/admin/static/admin/js/a.js": b"'use strict';\n",
    "django/contrib/admin/static/admin/js/vendor/b.js": b"var vendor;\n",
    "django/apps/d.py": b"not asked for\n",
}
MEDIAWIKI = {
    f"usr/share/mediawiki/languages/i18n/{code}.json": json.dumps(texts).encode()
    for code, texts in CASES["mediawiki"].items()
}


@pytest.fixture(scope="module")
def extracted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("extracted")
    write_zip(folder / "django", DJANGO)
    (folder / "mediawiki").write_bytes(debian_bytes(folder, MEDIAWIKI))
    for name in ("django", "mediawiki"):
        ended("starter-extract", name, folder / name, "-o", folder / "m" / name)
    return folder


@pytest.fixture
def tables(extracted, tmp_path):
    """Two small packages, django and mediawiki, and their messages: m/django and
    m/mediawiki.
    """
    return shutil.copytree(extracted, tmp_path, dirs_exist_ok=True)


def sentences(folder):
    """Language to its sentences."""
    found = {}
    for path in folder.iterdir():
        lines = path.read_text(encoding="utf-8").splitlines()
        assert lines[0] == "key\tmessage\ttext"
        found[path.stem] = [line.split("\t")[2] for line in lines[1:]]
    return found


def test_extraction_gives_each_sentence_once(tables):
    for name, texts in CASES["sentences"].items():
        assert sentences(tables / "m" / name) == texts


def test_a_broken_catalogue_is_skipped_counted_and_named(tables):
    done = ended("starter-extract", "django", tables / "django", "-o", tables / "again")
    assert "ka/LC_MESSAGES/django.po: a corrupt .po catalogue: 'utf-8' codec" in done.stderr
    assert "utils/c.py: 'utf-8' codec" in done.stderr
    assert "django: 2 files could not be read" in done.stderr
    assert sentences(tables / "again") == sentences(tables / "m/django")


def test_merge_writes_every_language_and_drops_english_text(tables):
    done = ended(
        "starter-merge", "-o", tables / "text", tables / "m/mediawiki", tables / "m/django"
    )
    text = {path.stem: path.read_text(encoding="utf-8") for path in (tables / "text").glob("*.txt")}
    assert len(text) == len(read_languages())
    # "log OUT" is Django's English
    assert text["de"] == "Gute Nacht\nWillkommen zurück.\nKomm herein!\n"
    assert text["no"] == "God morgen, på deg\n"
    assert text["zh"] == "注销用户\n"
    assert text["ka"] == ""
    assert (
        text["python"] == "def f(x):\n\treturn  x\n    s = 'é\\n'\n"
        and text["javascript"] == "'use strict';\n"
    )
    report = read_object(tables / "text" / "report.json")
    assert report["languages"]["de"]["by_package"] == {"mediawiki": 1, "django": 2}
    assert "bring your own text" in done.stderr


def test_the_package_named_first_gives_the_line(tables):
    shutil.copytree(tables / "m/django", tables / "m/other")
    table = tables / "m/other/de.tsv"
    table.write_text(table.read_text().replace("Komm herein!", "KOMM HEREIN"))
    for order, line in (
        (("django", "other"), "Komm herein!\n"),
        (("other", "django"), "KOMM HEREIN\n"),
    ):
        ended("starter-merge", "-o", tables / "text", *(tables / "m" / name for name in order))
        assert line in (tables / "text" / "de.txt").read_text()


def test_merging_into_a_folder_with_other_things_is_refused(tables):
    words = ("starter-merge", "-o", tables / "text", tables / "m/mediawiki", tables / "m/django")
    ended(*words)
    (tables / "text" / ".snakemake_timestamp").touch()
    ended(*words)
    (tables / "text" / "thesis.txt").write_text("mine")
    assert "'thesis.txt'" in ended(*words, status=2).stderr
    assert (tables / "text" / "thesis.txt").read_text() == "mine"


def test_missing_packages_are_named_to_the_end(tables):
    (tables / "weblate").write_bytes(b"")
    (tables / "weblate.json").write_text('{"missing": "no index answered"}')
    done = ended("starter-extract", "weblate", tables / "weblate", "-o", tables / "m/weblate")
    assert "no index answered" in done.stderr
    done = ended("starter-merge", "-o", tables / "text", tables / "m/weblate", tables / "m/django")
    assert "without weblate: no index answered" in done.stderr
    report = read_object(tables / "text" / "report.json")
    assert report["missing_packages"] == {"weblate": "no index answered"}


@pytest.mark.parametrize(("words", "status", "says"), CASES["refused"])
def test_bad_input(tables, monkeypatch, words, status, says):
    shutil.copytree(tables / "m/django", tables / "cut")
    with (tables / "cut/de.tsv").open("a") as table:
        table.write("en\tabc")
    monkeypatch.chdir(tables)
    refused(caller(), words, says, status)
    assert not (tables / "x").exists() and not list(tables.glob(".*"))


def test_the_table_of_packages_agrees_with_the_configuration():
    from vocap.corpora.sources import PACKAGES as CONFIGURED

    assert tuple(PACKAGES) == CONFIGURED
    assert all(len(package.sha256) == 64 for package in PACKAGES.values())
