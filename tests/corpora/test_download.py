"""Downloads against a real server on this machine with the faults of real servers."""

import dataclasses
import hashlib
import lzma
import time

import pytest

from tests.commands import ended, sample_words
from tests.server import BODY, Fault, RangeServer, at_work
from vocap.corpora import download as download_file
from vocap.corpora.download import RETRIES, download
from vocap.errors import UsageError, VocapError
from vocap.files.io import read_object, write_json


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with at_work(RangeServer()) as server:
        yield server


CUT = {"cut": 150_000, "times": 1}
OTHER = BODY[::-1]
# by path: what happens to the requests for it
FAULTS = {
    "cut": [Fault("cut", cut=150_000, times=3)],
    "cut-always": [Fault("cut", cut=0)],
    "cut-without-etag": [Fault("cut", untagged=True, **CUT), Fault("cut", untagged=True)],
    "range-ignored": [Fault("range", whole=True, **CUT), Fault("range", whole=True)],
    "changed": [Fault("changed", body=OTHER, **CUT)],
    # the rest of another version is sent, whatever If-Range says
    "changed-unasked": [Fault("changed", body=OTHER, **CUT), Fault("changed", unconditional=True)],
    "busy": [Fault("busy", 503, {"Retry-After": "1"}, times=2)],
    "broken": [Fault("broken", 500)],
    "gone": [Fault("gone", 404)],
    "to-cut": [Fault("to-cut", 302, {"Location": "/cut"}), Fault("cut", **CUT)],
}
ETAG = f'"{hashlib.sha256(BODY).hexdigest()}"'


@pytest.fixture
def get(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download_file, "BACKOFF_S", 0.001)

    def get(path, **options):
        server.files.update({"cut": BODY, path: BODY})
        server.faults = [dataclasses.replace(fault) for fault in FAULTS.get(path, ())]
        return download(server.url(path), tmp_path / "text", timeout_s=60, **options)

    return get


def nothing_left(folder):
    return not [path.name for path in folder.iterdir() if not path.name.startswith("text.part")]


def test_whole_file(get, tmp_path):
    note = get("fine", sha256=hashlib.sha256(BODY).hexdigest())
    assert (tmp_path / "text").read_bytes() == BODY
    assert note == read_object(tmp_path / "text.json")
    assert note["complete"] and note["etag"] == ETAG
    assert note["total_bytes"] == note["fetched_bytes"] == len(BODY)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text", "text.json"]


def test_resumes_where_the_connection_was_cut(get, server, tmp_path):
    get("cut")
    assert (tmp_path / "text").read_bytes() == BODY
    assert [(request.range, request.condition) for request in server.seen] == [
        (None, None),
        ("bytes=150000-", ETAG),
        ("bytes=300000-", ETAG),
        ("bytes=450000-", ETAG),
    ]


def test_follows_a_redirect_and_resumes_through_it(get, tmp_path):
    get("to-cut")
    assert (tmp_path / "text").read_bytes() == BODY


def test_resumes_in_a_later_call(get, server, tmp_path, monkeypatch):
    class Stop(Exception):
        pass

    def interrupt(wait_s):
        raise Stop

    monkeypatch.setattr(download_file.time, "sleep", interrupt)
    with pytest.raises(Stop):
        get("cut")
    monkeypatch.undo()
    assert (tmp_path / "text.part").stat().st_size == 150_000 and nothing_left(tmp_path)
    get("cut")
    assert (tmp_path / "text").read_bytes() == BODY
    assert (server.seen[1].range, server.seen[1].condition) == ("bytes=150000-", ETAG)


def test_a_part_of_another_address_is_not_resumed(get, server, tmp_path):
    (tmp_path / "text.part").write_bytes(b"x" * 1000)
    note = {"url": server.url("other"), "version": ETAG, "total": len(BODY)}
    write_json(tmp_path / "text.part.json", note)
    get("fine")
    assert (tmp_path / "text").read_bytes() == BODY and server.seen[0].range is None


@pytest.mark.parametrize(
    "fault", ["range-ignored", "changed", "changed-unasked", "cut-without-etag"]
)
def test_starts_over_rather_than_mix_versions(get, tmp_path, fault):
    note = get(fault)
    assert (tmp_path / "text").read_bytes() == BODY
    assert note["complete"] and note["fetched_bytes"] == len(BODY)


def test_waits_where_the_server_asks_to(get, tmp_path):
    start = time.monotonic()
    get("busy")
    assert (tmp_path / "text").read_bytes() == BODY and time.monotonic() - start > 1.9


@pytest.mark.parametrize("fault", ["broken", "cut-always"])
def test_retries_are_bounded(get, server, tmp_path, fault):
    with pytest.raises(VocapError, match=rf"{fault}: .*(500|Incomplete).*resumes from there later"):
        get(fault)
    assert len(server.seen) == RETRIES + 1
    assert nothing_left(tmp_path)


def test_nobody_listens(get, tmp_path):
    with pytest.raises(
        VocapError, match=r"http://127\.0\.0\.1:9/x: .*refused.*resumes from there later"
    ):
        download("http://127.0.0.1:9/x", tmp_path / "text", timeout_s=60)


def test_not_found_fails_at_once(get, server, tmp_path):
    with pytest.raises(VocapError, match=r"gone: 404 Not Found; check the address and the code"):
        get("gone")
    assert len(server.seen) == 1 and nothing_left(tmp_path)


@pytest.mark.parametrize(
    "url", ["file:///etc/hostname", "ftp://example.org/x", "/etc/hostname", "data:,x", "http:///x"]
)
def test_other_addresses_are_refused(tmp_path, url):
    with pytest.raises(UsageError, match="no http:// or https:// address"):
        download(url, tmp_path / "text")
    assert not list(tmp_path.iterdir())


def test_wrong_sha256(get, tmp_path):
    found = hashlib.sha256(BODY).hexdigest()
    with pytest.raises(VocapError, match=f"its SHA-256 is {found}, not {'0' * 64}"):
        get("fine", sha256="0" * 64)
    assert not list(tmp_path.iterdir())


def test_prefix(get, server, tmp_path):
    note = get("cut", limit_bytes=200_000)
    assert (tmp_path / "text").read_bytes() == BODY[:200_000]
    assert [request.range for request in server.seen] == ["bytes=0-199999", "bytes=150000-199999"]
    expected = {"total_bytes": len(BODY), "fetched_bytes": 200_000, "complete": False}
    assert note == note | expected


@pytest.mark.parametrize("fault", ["fine", "range-ignored"])
def test_prefix_longer_than_the_file(get, tmp_path, fault):
    assert get(fault, limit_bytes=10 * len(BODY))["complete"] is True
    assert (tmp_path / "text").read_bytes() == BODY


def test_command_and_the_sample_of_a_prefix(server, tmp_path):
    """A prefix of an .xz file gives lines, flagged, and n is extrapolated by the length
    of the whole file.
    """
    lines = [
        f"{number} {hashlib.sha256(str(number).encode()).hexdigest()}" for number in range(20_000)
    ]
    packed = lzma.compress("".join(f"{line}\n" for line in lines).encode())
    server.files["whole"] = packed
    ended("fetch", server.url("whole"), "-o", tmp_path / "ka", "--limit-bytes=400000")
    ended(*sample_words(tmp_path, tmp_path / "ka"))
    stats = read_object(tmp_path / "stats.json")
    expected = {"complete": False, "total_bytes": len(packed), "scanned_bytes": 400_000}
    assert stats == stats | expected
    assert 0.97 < stats["n"] / 20_000 < 1.03 and stats["valid"] < 12_000
    # the cut last line is in neither file
    assert set((tmp_path / "train.txt").read_text().splitlines()) <= set(lines)
