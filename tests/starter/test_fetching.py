"""Fetching with the real pip and apt-get, from folders and a loopback server; nothing
leaves this machine.
"""

import dataclasses
import hashlib
import os
import shutil

import pytest

from tests.archives import CONTROL, debian_bytes, tar_bytes, write_zip
from tests.commands import ended
from tests.server import RangeServer, at_work
from vocap.corpora import download
from vocap.files.io import read_object
from vocap.starter.packages import PACKAGES, fetch_package

NOWHERE = "http://127.0.0.1:9"  # the discard port: nobody listens


WHEEL = {
    "METADATA": "Metadata-Version: 2.1\nName: django\nVersion: 6.1.3\nRequires-Python: >=99\n",
    "WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "RECORD": "",
}


def description(output):
    return read_object(output.with_name(output.name + ".json"))


def is_alone(output):
    """Whether its folder holds it and its description alone."""
    return set(output.parent.iterdir()) == {output, output.with_name(output.name + ".json")}


@pytest.fixture
def output(tmp_path):
    return tmp_path / "archives" / "mediawiki"


@pytest.fixture
def django(tmp_path):
    """A wheel that calls itself Django 6.1.3, in a folder of its own."""
    folder = tmp_path / "links"
    folder.mkdir()
    files = {f"django-6.1.3.dist-info/{name}": content for name, content in WHEEL.items()}
    return write_zip(folder / "django-6.1.3-py3-none-any.whl", files)


def test_a_wheel_with_the_right_hash_is_fetched(django, tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(django.parent))
    content = django.read_bytes()
    package = dataclasses.replace(PACKAGES["django"], sha256=hashlib.sha256(content).hexdigest())
    output = tmp_path / "archives" / "django"
    fetch_package(package, output)
    assert output.read_bytes() == content
    facts = description(output)
    assert (facts["version"], facts["origin"], facts["missing"]) == ("6.1.3", "pip", None)
    assert (facts["sha256"], facts["bytes"]) == (package.sha256, len(content))
    assert is_alone(output)


def test_a_wheel_with_a_wrong_hash_is_an_error(django, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(django.parent))
    output = tmp_path / "archives" / "django"
    done = ended("starter-fetch", "django", "-o", output, status=1)
    assert "django 6.1.3: sha256 " in done.stderr
    assert "PIP_INDEX_URL" in done.stderr
    assert not list(output.parent.iterdir())


def test_an_index_that_does_not_answer_costs_the_text_not_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a relative output, as rules have
    monkeypatch.setenv("PIP_INDEX_URL", NOWHERE)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    done = ended("starter-fetch", "weblate", "-o", "archives/weblate")
    output = tmp_path / "archives" / "weblate"
    assert output.read_bytes() == b""
    assert "No matching distribution found for weblate==" in description(output)["missing"]
    assert "is this machine online?" in done.stderr
    assert "snakemake --cores all --forcerun archives/weblate" in done.stderr
    assert is_alone(output)


def test_an_unknown_package(tmp_path):
    done = ended("starter-fetch", "emacs", "-o", tmp_path / "emacs", status=2)
    assert "'emacs'; the known ones are: mediawiki, homeassistant" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A Debian mirror in a folder, the only one that apt-get knows in the test; gives
    the package's file.
    """
    if not shutil.which("apt-get"):
        pytest.skip("there is no apt-get here")
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    package = mirror / "mediawiki.deb"
    content = debian_bytes(tmp_path, {}, "mediawiki", "1:9.9-1")
    package.write_bytes(content)
    control = CONTROL.format("mediawiki", "1:9.9-1")
    sha256 = hashlib.sha256(content).hexdigest()
    (mirror / "Packages").write_text(
        f"{control}Filename: ./mediawiki.deb\nSize: {len(content)}\nSHA256: {sha256}\n\n"
    )
    sources, config = tmp_path / "sources.list", tmp_path / "apt.conf"
    sources.write_text(f"deb [trusted=yes] file:{mirror} ./\n")
    config.write_text(f'Dir::Etc::SourceList "{sources}";\nDir::Etc::SourceParts "/dev/null";\n')
    monkeypatch.setenv("APT_CONFIG", str(config))
    return package


def test_debian_package_is_taken_and_recorded(output, mirror):
    done = ended("starter-fetch", "mediawiki", "-o", output)
    assert output.read_bytes() == mirror.read_bytes()
    facts = description(output)
    assert (facts["version"], facts["origin"]) == ("1:9.9-1", "apt")
    assert facts["sha256"] == hashlib.sha256(mirror.read_bytes()).hexdigest()
    assert "is not the version known here, 1:1.39" in done.stderr
    assert is_alone(output)


@pytest.fixture
def site(monkeypatch):
    """A server of this machine, without a file."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with at_work(RangeServer()) as server:
        yield server


def test_without_apt_the_archive_of_the_project_is_taken(output, site, tmp_path, monkeypatch):
    messages = {"mediawiki-1.39.17/languages/i18n/de.json": '{"a": "Guten Morgen"}'}
    site.files["mediawiki-1.39.17.tar.gz"] = tar_bytes(messages)
    monkeypatch.setenv("PATH", str(tmp_path))  # no apt-get there
    address = site.url("mediawiki-1.39.17.tar.gz")
    fetch_package(PACKAGES["mediawiki"], output, address)
    facts = description(output)
    assert (facts["version"], facts["origin"]) == ("1.39.17", address)
    assert is_alone(output)
    ended("starter-extract", "mediawiki", output, "-o", tmp_path / "messages")
    assert "\tGuten Morgen\n" in (tmp_path / "messages/de.tsv").read_text()


@pytest.mark.parametrize("apt", ["absent", "empty"])
@pytest.mark.parametrize("archive", ["absent", "unreachable"])
def test_with_neither_the_run_continues(
    output, apt, archive, site, tmp_path, monkeypatch, caplog, request
):
    if apt == "absent":
        monkeypatch.setenv("PATH", str(tmp_path))
        reason = "No such file or directory: 'apt-get'"
    else:
        packages = request.getfixturevalue("mirror").with_name("Packages")
        packages.write_text(packages.read_text().replace("mediawiki", "othername"))
        reason = "Unable to locate package mediawiki"
    address = site.url("x.tar.gz") if archive == "absent" else f"{NOWHERE}/x.tar.gz"
    monkeypatch.setattr(download, "BACKOFF_S", 0)
    fetch_package(PACKAGES["mediawiki"], output, address)
    assert output.read_bytes() == b""
    missing = description(output)["missing"]
    assert reason in missing
    assert f"; and {address}: " in missing
    assert "The run continues without its text" in caplog.text
    assert is_alone(output)
