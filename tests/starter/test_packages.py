"""Archives to messages to texts: made wheels, Debian packages and .tar.gz files, and corrupt ones."""

import gzip
import io
import json
import lzma
import shutil
import subprocess
import tarfile
import zipfile

import pytest

from tests.commands import vocap
from vocap.errors import VocapError
from vocap.languages import read_languages
from vocap.starter.archives import read_members
from vocap.starter.packages import PACKAGES


def wheel(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def tar(files) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"./{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def debian(data_name: str, data: bytes) -> bytes:
    parts = {"debian-binary": b"2.0\n", "control.tar.xz": b"odd", data_name: data}
    archive = b"!<arch>\n"
    for name, content in parts.items():
        archive += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode() + content
        archive += b"\n" * (len(content) % 2)
    return archive


def po(entries) -> bytes:
    return (
        b'msgid ""\nmsgstr ""\n\n'
        + "".join(f'msgid "{source}"\nmsgstr "{text}"\n\n' for source, text in entries.items()).encode()
    )


FILES = {"a/i18n/de.json": b'{"x": "Hallo du"}', "a/i18n/en.json": b'{"x": "Hello you"}', "README": b"no"}


def is_json(name):
    return name.endswith(".json")


@pytest.mark.parametrize("kind", ["zip", "deb.xz", "deb.gz", "deb.zst", "deb", "tar.gz", "dpkg"])
def test_every_kind_of_archive_gives_the_same_files(kind, tmp_path):
    path = tmp_path / "archive"
    if kind == "zip":
        wheel(path, FILES)
    elif kind == "tar.gz":
        path.write_bytes(gzip.compress(tar(FILES)))
    elif kind == "dpkg":  # Debian's own program
        root = tmp_path / "root"
        for name, content in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(content)
        (root / "DEBIAN").mkdir()
        (root / "DEBIAN" / "control").write_text(
            "Package: x\nVersion: 1\nArchitecture: all\nMaintainer: a <a@example.org>\nDescription: x\n"
        )
        try:
            subprocess.run(["dpkg-deb", "--build", root, path], check=True, capture_output=True)
        except FileNotFoundError:
            pytest.skip("there is no dpkg-deb here")
    else:
        import zstandard

        compress = {"xz": lzma.compress, "gz": gzip.compress, "zst": zstandard.compress}.get(kind[4:], bytes)
        path.write_bytes(debian("data.tar" + kind[3:], compress(tar(FILES))))
    assert read_members(path, is_json) == {name: FILES[name] for name in ("a/i18n/de.json", "a/i18n/en.json")}


BIG = {f"a/i18n/{number}.json": bytes([number]) * 50_000 for number in range(9)}


@pytest.mark.parametrize("kind", ["text", "zip", "zip-body", "deb", "deb-empty", "deb-size", "tar.gz", "noise"])
def test_a_corrupt_archive_is_named(kind, tmp_path):
    path = tmp_path / "archive"
    whole_zip = wheel(tmp_path / "whole", FILES).read_bytes()
    whole_deb = debian("data.tar.xz", lzma.compress(tar(FILES)))
    path.write_bytes(
        {
            "text": b"<html>not found</html>",
            "zip": whole_zip[: len(whole_zip) // 2],
            "zip-body": whole_zip.replace(b"a/i18n/de.json", b"a/i18n/de.jsoN", 1),
            "deb": whole_deb[:-40],
            "deb-empty": debian("other", b""),
            "deb-size": whole_deb.replace(b"4         `\n", b"-4        `\n"),
            "tar.gz": gzip.compress(tar(BIG))[:-60],
            "noise": b"\x1f\x8b" + bytes(range(256)) * 4,
        }[kind]
    )
    with pytest.raises(VocapError, match=rf"^{path}: "):
        read_members(path, is_json)


def test_a_file_that_claims_too_much_is_not_read(tmp_path):
    bomb = wheel(tmp_path / "bomb", {"a.json": bytes(17 << 20)})
    assert bomb.stat().st_size < 1 << 20
    with pytest.raises(VocapError, match=r"a\.json claims 17825792 bytes"):
        read_members(bomb, is_json)


DJANGO = {
    "django/conf/locale/en/LC_MESSAGES/django.po": po({"Welcome back, friend. Come in!": "", "Log out": ""}),
    "django/conf/locale/de/LC_MESSAGES/django.po": po(
        {"Welcome back, friend. Come in!": "Willkommen zurück. Komm herein!", "Log out": "LOG OUT"}
    ),
    "django/conf/locale/pt_BR/LC_MESSAGES/django.po": po({"Log out": "Terminar a sessão"}),
    "django/conf/locale/zh_Hans/LC_MESSAGES/django.po": po({"Log out": "注销用户", "Welcome back": "Welcome"}),
    "django/conf/locale/ka/LC_MESSAGES/django.po": b"\xff\xfe broken",
    "django/conf/locale/de/LC_MESSAGES/django.mo": b"not asked for",
    "django/contrib/locale/de/LC_MESSAGES/django.po": po({"Again": "Komm herein"}),
    "django/utils/a.py": b"def f(x):\r\n\treturn  x\n\n    \n",
    "django/utils/b.py": "    s = 'é\\n'\ndef f(x):\n".encode(),
    "django/utils/c.py": b"\xff",
    "django/contrib/admin/static/admin/js/a.js": b"'use strict';\n",
    "django/contrib/admin/static/admin/js/vendor/b.js": b"var vendor;\n",
    "django/apps/d.py": b"not asked for\n",
}
MEDIAWIKI = {
    "usr/share/mediawiki/languages/i18n/en.json": b'{"a": "Log in now", "b": "Good morning"}',
    "usr/share/mediawiki/languages/i18n/de.json": b'{"a": "Log in now", "b": "[[X|Gute]] Nacht", "c": "log OUT"}',
    "usr/share/mediawiki/languages/i18n/nb.json": '{"b": "God morgen, på deg"}'.encode(),
    "usr/share/mediawiki/languages/i18n/qqq.json": b'{"b": "A note for translators"}',
}


@pytest.fixture(scope="module")
def extracted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("extracted")
    wheel(folder / "django", DJANGO)
    (folder / "mediawiki").write_bytes(debian("data.tar.xz", lzma.compress(tar(MEDIAWIKI))))
    for name in ("django", "mediawiki"):
        done = vocap("starter-extract", name, folder / name, "-o", folder / f"{name}.tsv")
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def tables(extracted, tmp_path):
    """Two small packages, django and mediawiki, and their tables: django.tsv and mediawiki.tsv."""
    return shutil.copytree(extracted, tmp_path, dirs_exist_ok=True)


def rows(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "language\tkey\tmessage\ttext"
    return [(cells[0], cells[3]) for cells in (line.split("\t") for line in lines[1:])]


def test_extraction_gives_english_first_and_each_sentence_once(tables):
    assert rows(tables / "django.tsv") == [
        ("-", "django"),
        ("en", "Welcome back, friend."), ("en", "Come in!"), ("en", "Log out"), ("en", "Again"),
        ("de", "Willkommen zurück."), ("de", "Komm herein!"),
        ("javascript", "'use strict';"),
        ("python", "def f(x):"), ("python", "\\treturn  x"), ("python", "    s = 'é\\\\n'"),
        ("zh", "注销用户"),
    ]  # fmt: skip
    assert rows(tables / "mediawiki.tsv") == [
        ("-", "mediawiki"), ("en", "Log in now"), ("en", "Good morning"),
        ("de", "Gute Nacht"), ("de", "log OUT"), ("no", "God morgen, på deg"),
    ]  # fmt: skip


def test_a_broken_catalogue_is_skipped_counted_and_named(tables):
    done = vocap("starter-extract", "django", tables / "django", "-o", tables / "again.tsv")
    assert "ka/LC_MESSAGES/django.po: not UTF-8" in done.stderr
    assert "utils/c.py: not UTF-8" in done.stderr and "(2 more could not be read)" in done.stderr
    assert (tables / "again.tsv").read_bytes() == (tables / "django.tsv").read_bytes()


def test_merge_writes_every_language_and_drops_english_text(tables):
    done = vocap("starter-merge", "-o", tables / "text", tables / "mediawiki.tsv", tables / "django.tsv")
    assert done.returncode == 0, done.stderr
    text = {path.stem: path.read_text(encoding="utf-8") for path in (tables / "text").glob("*.txt")}
    assert len(text) == len(read_languages())
    assert text["de"] == "Gute Nacht\nWillkommen zurück.\nKomm herein!\n"  # "log OUT" is Django's English
    assert text["no"] == "God morgen, på deg\n"
    assert text["zh"] == "注销用户\n"
    assert text["ka"] == ""
    assert text["python"] == "def f(x):\n\treturn  x\n    s = 'é\\n'\n" and text["javascript"] == "'use strict';\n"
    report = json.loads((tables / "text" / "report.json").read_text(encoding="utf-8"))
    assert report["languages"]["de"]["by_package"] == {"mediawiki": 1, "django": 2}
    assert report["languages"]["ka"]["missing"] == "no text in mediawiki, django; bring your own text"
    assert "bring your own text" in done.stderr


def test_the_package_named_first_gives_the_line(tables):
    table = tables / "other.tsv"
    table.write_text(
        (tables / "django.tsv").read_text().replace("Komm herein!", "KOMM HEREIN").replace("django", "b")
    )
    for order, line in ((("django", "other"), "Komm herein!\n"), (("other", "django"), "KOMM HEREIN\n")):
        vocap("starter-merge", "-o", tables / "text", *(tables / f"{name}.tsv" for name in order))
        assert line in (tables / "text" / "de.txt").read_text()


def test_merging_into_a_folder_with_other_things_is_refused(tables):
    words = ("starter-merge", "-o", tables / "text", tables / "mediawiki.tsv", tables / "django.tsv")
    assert vocap(*words).returncode == 0
    before = (tables / "text" / "report.json").read_bytes()
    (tables / "text" / ".snakemake_timestamp").touch()
    assert vocap(*words).returncode == 0
    (tables / "text" / "thesis.txt").write_text("mine")
    done = vocap(*words)
    assert done.returncode == 2 and "'thesis.txt'" in done.stderr and "Traceback" not in done.stderr
    assert (tables / "text" / "thesis.txt").read_text() == "mine"
    assert (tables / "text" / "report.json").read_bytes() == before
    # a user's own text bears the names of ours, but no report.json lies beside it
    (tables / "own").mkdir()
    (tables / "own" / "en.txt").write_text("mine")
    done = vocap("starter-merge", "-o", tables / "own", *words[3:])
    assert done.returncode == 2 and "'en.txt'" in done.stderr
    assert (tables / "own" / "en.txt").read_text() == "mine"


def test_missing_packages_are_named_to_the_end(tables):
    (tables / "weblate").write_bytes(b"")
    (tables / "weblate.json").write_text('{"missing": "no index answered"}')
    done = vocap("starter-extract", "weblate", tables / "weblate", "-o", tables / "weblate.tsv")
    assert done.returncode == 0
    assert "no index answered" in done.stderr
    done = vocap("starter-merge", "-o", tables / "text", tables / "weblate.tsv", tables / "django.tsv")
    assert done.returncode == 0
    assert "without weblate: no index answered" in done.stderr
    report = json.loads((tables / "text" / "report.json").read_text())
    assert report["missing_packages"] == {"weblate": "no index answered"}
    assert "weblate could not be had: no index answered" in report["languages"]["am"]["missing"]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (
            ["starter-extract", "emacs", "django", "-o", "x"],
            2,
            "unknown starter package 'emacs'; the known ones are",
        ),
        (["starter-extract", "django", "absent", "-o", "x"], 1, "absent: no such file; fetch it with"),
        (["starter-extract", "weblate", "django", "-o", "x"], 1, "holds no catalogue of weblate"),
        (["starter-extract", "django", "django.tsv", "-o", "x"], 1, "neither a wheel nor a Debian package"),
        (["starter-merge", "-o", "x", "django"], 1, "django: not UTF-8"),
        (["starter-merge", "-o", "x", "cut.tsv"], 1, "cut.tsv, line 4: not four cells"),
        (["starter-merge", "-o", "x", "unsorted.tsv"], 1, "'en' is out of order"),
        (["starter-merge", "-o", "x", "django.tsv", "django.tsv"], 2, "django is given 2 times"),
        (["starter-merge", "-o", "x"], 2, "Missing argument"),
    ],
)
def test_bad_input(tables, arguments, status, message):
    whole = (tables / "django.tsv").read_text(encoding="utf-8")
    (tables / "cut.tsv").write_text("\n".join(whole.split("\n")[:4])[:-3])
    lines = whole.splitlines(keepends=True)
    (tables / "unsorted.tsv").write_text("".join([*lines[:2], *lines[5:], *lines[2:5]]))
    done = vocap(*arguments, cwd=tables)
    assert done.returncode == status, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tables / "x").exists()
    assert not list(tables.glob(".*"))


def test_the_table_of_packages_agrees_with_the_configuration():
    from vocap.corpora import settings

    assert tuple(PACKAGES) == settings.PACKAGES
    assert all(len(package.sha256) == 64 for package in PACKAGES.values())
