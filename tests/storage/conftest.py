"""The servers of these tests, each started once, with one collection of shards; the
same files lie in a folder.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.commands import sample_words
from tests.server import RangeServer, at_work
from tests.storage.hub import Hub, local_hub
from tests.storage.objects import ObjectStore, local_objects
from tests.storage.shards import LETTERS, as_json_lines, as_parquet, draw_lines

SHARDS, ROWS, GROUP = 6, 240, 60  # of a language; rows of a shard, of a row group
COLLECTION = "own/web-2"  # the data set, the bucket's folder
PRIVATE, GATED = "own/private", "own/gated"


def made_files() -> dict[str, bytes]:
    """Shards by path: data/LANG/train/NNN_00000.parquet and
    data/LANG/extra/NN/part.jsonl.zst, of lines without repeats.
    """
    files = {}
    for number, (language, letters) in enumerate(LETTERS.items()):
        lines = draw_lines(letters, number, 14)
        for shard in range(SHARDS):
            name = f"data/{language}/train/{shard:03}_00000.parquet"
            files[name] = as_parquet(lines, ROWS, GROUP, seed=shard)
        for shard in range(3):
            name = f"data/{language}/extra/{shard:02}/part.jsonl.zst"
            files[name] = as_json_lines(lines, ROWS)
    return files


@dataclass(frozen=True)
class Places:
    """Where the collection lies: servers, and the folder of this machine."""

    hub: Hub
    objects: ObjectStore
    web: RangeServer
    folder: Path
    files: Mapping[str, bytes]

    def environment(self, token: str | None = None) -> dict[str, str]:
        """The variables of a process that is to read all of them."""
        return self.hub.environment(token) | self.objects.environment()


@pytest.fixture(scope="session")
def started(tmp_path_factory) -> Iterator[Places]:
    """The servers with the collection."""
    files = made_files()
    folder = tmp_path_factory.mktemp("collection")
    for name, body in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)
    with local_hub() as hub, local_objects() as objects, at_work(RangeServer(folder)) as web:
        hub.page = 5  # several pages of every listing
        hub.add(COLLECTION, files)
        hub.add(PRIVATE, files, private=True)
        hub.add(GATED, files, gated=True)
        objects.put("bucket", files)
        yield Places(hub, objects, web, folder, files)


@pytest.fixture
def places(started: Places) -> Places:
    """The servers, without faults and requests of earlier tests."""
    started.hub.reset()
    started.web.reset()
    return started


def sample_german(
    out: Path, *words: object, format: str = "parquet:text", **options: object
) -> list:
    """The words of `vocap sample` of German into a folder."""
    return sample_words(out, *words, language="de", format=format, **options)


def outputs(folder: Path) -> dict[str, bytes]:
    """What a sample wrote. Of a Parquet file that is read whole the bytes scanned are the
    file's on this machine, and elsewhere those of the text: they are left out there.
    """
    names = ("train.txt", "heldout.txt", "stats.json")
    found = {name: (folder / name).read_bytes() for name in names}
    if b'"complete": true' in (stats := found["stats.json"]):
        found["stats.json"] = re.sub(rb'("scanned_bytes": )\d+', rb"\g<1>0", stats)
    return found


def written(folder: Path) -> list[str]:
    """All files in a folder, hidden and temporary ones too."""
    return sorted(
        os.path.relpath(os.path.join(place, name), folder)
        for place, _, names in os.walk(folder)
        for name in names
    )
