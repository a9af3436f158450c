"""`vocap list-files` and `vocap sample` with the real clients of the Hub, of S3 and of
the web: what they give is what the same files on this machine give.
"""

import json

import pytest

from tests.commands import ended
from tests.storage.conftest import COLLECTION, SHARDS, outputs, sample_german
from vocap.files.io import read_object

TRAIN = "data/deu_Latn/train/*.parquet"


def addresses(places, kind, pattern=TRAIN):
    """The arguments that name the collection's German shards."""
    if kind == "hf":
        return [f"hf://datasets/{COLLECTION}/{pattern}"]
    if kind == "s3":
        return [f"s3://bucket/{pattern}"]
    if kind == "http":
        files = sorted(places.folder.glob(pattern))
        return [f"{places.web.address}/{file.relative_to(places.folder)}" for file in files]
    return [places.folder / pattern]


def run_sample(places, out, words, **options):
    out.mkdir()
    ended(*sample_german(out, *words, **options), **places.environment())
    return outputs(out)


@pytest.fixture(scope="module")
def local(started, tmp_path_factory):
    """The sample of the files on this machine, whole and in part."""
    folder = tmp_path_factory.mktemp("local")
    return {
        limit: run_sample(started, folder / str(limit), addresses(started, "path"), **limits(limit))
        for limit in (None, 60_000)
    }


def limits(scan_bytes):
    return {} if scan_bytes is None else {"scan_bytes": scan_bytes}


@pytest.mark.parametrize("kind", ["hf", "s3", "http"])
@pytest.mark.parametrize("scan_bytes", [None, 60_000])
def test_the_sample_is_that_of_the_same_files_here(places, local, tmp_path, kind, scan_bytes):
    """Without a limit the few lines are all read: the default limit is a million."""
    found = run_sample(places, tmp_path / "out", addresses(places, kind), **limits(scan_bytes))
    assert found == local[scan_bytes]
    stats = json.loads(found["stats.json"])
    assert stats["complete"] is (scan_bytes is None)
    assert stats["shards"] == SHARDS


def test_a_pattern_of_all_depths_in_a_listing_of_several_pages(places, tmp_path):
    """`{lang}` is filled in by the configuration; `**` is left to the client."""
    words = addresses(places, "hf", "data/deu_Latn/**/*.jsonl.zst")
    listing = tmp_path / "files.json"
    ended(
        "list-files", *words, "--language", "de", "--source", "web", "-o", listing,
        **places.environment(),
    )  # fmt: skip
    found = read_object(listing)
    sha = places.hub.datasets[COLLECTION].names["main"]
    assert found["language"] == "de" and found["source"] == "web"
    names = [f"data/deu_Latn/extra/{n:02}/part.jsonl.zst" for n in range(3)]
    assert [(file["path"], file["size"]) for file in found["files"]] == [
        (f"hf://datasets/{COLLECTION}@{sha}/{name}", len(places.files[name])) for name in names
    ]
    local = run_sample(
        places, tmp_path / "here", addresses(places, "path", "data/deu_Latn/extra/*/*.zst"),
        format="jsonl:text",
    )  # fmt: skip
    found = run_sample(places, tmp_path / "hub", ["--listing", listing], format="jsonl:text")
    assert found == local
