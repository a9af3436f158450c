"""Samples of the parts of many files: what is read of them, and n."""

import bz2
import gzip
import json
import lzma
import random
from functools import partial

import numpy as np
import pyarrow
import pytest
from backports import zstd
from pyarrow import parquet

from tests.server import RangeServer, at_work
from vocap.corpora.stage import sample_corpus
from vocap.errors import VocapError
from vocap.storage.listing import list_shards
from vocap.text_files.parquet import Footer

SHARDS, ROWS = 24, 3000


def made_lines(shard: int, rows: int = ROWS, drift: float = 0.0) -> list[str]:
    """Lines of made words, longer in later shards by `drift`."""
    generator = random.Random(shard)
    longest = 8 + round(16 * drift * shard / SHARDS)
    return [
        f"{number} " + " ".join(
            f"{generator.getrandbits(20):x}" for _ in range(generator.randint(1, longest))
        )
        for number in range(rows)
    ]  # fmt: skip


def sampled(listing, format="text", **settings):
    settings = {"max_sentences": 500, **settings}
    return sample_corpus(listing, language="de", format=format, **settings)


@pytest.mark.parametrize(
    "compress",
    [
        bytes,
        gzip.compress,
        partial(lzma.compress, preset=0),
        partial(bz2.compress, compresslevel=1),
        zstd.compress,
    ],
    ids=["plain", "gzip", "xz", "bzip2", "zstd"],
)
def test_n_of_even_text_is_within_two_percent(tmp_path, compress):
    """The last block of compressed data, which is cut, is not counted as read."""
    rows = 10_000
    for shard in range(SHARDS):
        text = "".join(f"{line}\n" for line in made_lines(shard, rows))
        (tmp_path / f"{shard:02}.txt").write_bytes(compress(text.encode()))
    listing = list_shards([str(tmp_path)])
    stats = sampled(listing, scan_bytes=listing.total // 3).stats
    assert not stats["complete"] and stats["scanned_bytes"] <= listing.total // 3
    assert stats["shards"] == SHARDS and stats["shards_read"] >= 5
    assert stats["n"] == pytest.approx(SHARDS * rows, rel=0.02)
    low, high = stats["n_interval"]
    assert low <= stats["n"] <= high < low * 1.2


@pytest.mark.parametrize("drift", [0.0, 1.0])
def test_row_groups_are_fetched_by_exact_ranges(tmp_path, drift):
    for shard in range(SHARDS):
        lines = made_lines(shard, drift=drift)
        table = pyarrow.table({"text": lines, "url": [line[::-1] for line in lines]})
        parquet.write_table(table, tmp_path / f"{shard:02}.parquet", row_group_size=300)
    files = sorted(tmp_path.iterdir())
    with at_work(RangeServer(tmp_path)) as server:
        listing = list_shards([server.url(file.name) for file in files])
        for settings in ({"scan_bytes": 200_000}, {"scan_bytes": None}):
            server.seen.clear()
            found = sampled(listing, "parquet:text", **settings)
            fetched = 0
            ranges = [request for request in server.seen if request.range]
            assert len(ranges) < 90
            for request in ranges:
                first, last = map(int, request.range.removeprefix("bytes=").split("-"))
                file = tmp_path / request.path[1:]
                footer = Footer.read(file, "text")
                of_footer = last == file.stat().st_size - 1
                assert of_footer or last - first + 1 in footer.column
                fetched += (last - first + 1) * (not of_footer)
            stats = found.stats
            assert fetched == stats["scanned_bytes"]
            low, high = stats["n_interval"]
            assert low <= SHARDS * ROWS <= high
            if settings["scan_bytes"]:
                local = sampled(list_shards([str(tmp_path)]), "parquet:text", **settings)
                assert (local.train, local.stats["n"]) == (found.train, stats["n"])


@pytest.mark.parametrize("group", [10, 100])
def test_every_line_of_parquet_has_the_same_chance(tmp_path, group):
    """Of 24 shards whose lines grow from 5 to 28 words, an eighth of the bytes: as
    many lines of each shard, within the error of 60 samples.
    """
    for shard in range(SHARDS):
        generator = random.Random(shard)
        lines = [
            f"{shard} " + " ".join(f"{generator.getrandbits(20):x}" for _ in range(5 + shard))
            for _ in range(100)
        ]
        file = tmp_path / f"{shard:02}.parquet"
        parquet.write_table(pyarrow.table({"text": lines}), file, row_group_size=group)
    listing = list_shards([str(tmp_path)])
    files = sorted(tmp_path.iterdir())
    limit = sum(int(Footer.read(file, "text").column.sum()) for file in files) // 8
    drawn = []
    for seed in range(60):
        found = sampled(listing, "parquet:text", scan_bytes=limit, max_sentences=10**5, seed=seed)
        assert found.stats["scanned_bytes"] <= limit
        shards = [int(line.split()[0]) for line in found.train + found.heldout]
        drawn.append(np.bincount(shards, minlength=SHARDS))
    mean, error = np.mean(drawn, 0), np.std(drawn, 0).mean() / len(drawn) ** 0.5
    assert (abs(mean - mean.mean()) < 4 * error).all()


def test_as_many_shards_as_quotas_fit_into_the_limit(tmp_path, caplog):
    for shard in range(SHARDS):
        if shard < 3:
            records = (json.dumps({"text": line}) + "\n" for line in made_lines(shard, 65_000))
            body = gzip.compress("".join(records).encode(), 1)
            assert 1_100_000 < len(body) < 2_000_000
        (tmp_path / f"{shard:02}.jsonl.gz").write_bytes(body)
    listing = list_shards([str(tmp_path)])
    caplog.set_level("INFO", "vocap")
    stats = sampled(listing, "jsonl:text", scan_bytes=listing.total // 6).stats
    assert "in the whole if files go on as they begin" in caplog.text
    assert stats["scanned_bytes"] <= listing.total // 6
    assert stats["shards_read"] >= min(SHARDS, listing.total // 6 // (1 << 18))
    low, high = stats["n_interval"]
    assert low <= SHARDS * 65_000 <= high


def test_a_remote_text_that_is_small_is_read_whole(tmp_path):
    body = gzip.compress("".join(f"{line}\n" for line in made_lines(1)).encode())
    with at_work(RangeServer()) as server:
        server.files = dict.fromkeys(("a", "b", "c"), body)
        listing = list_shards(list(map(server.url, server.files)))
        stats = sampled(listing, max_sentences=10**6).stats
    assert stats["complete"] and stats["n"] == stats["read"] == 3 * ROWS
    assert stats["n_interval"] == [stats["n"], stats["n"]]


def test_a_limit_below_a_block_of_compressed_data(tmp_path):
    text = "".join(f"{line}\n" for line in made_lines(1, 40_000)).encode()
    (tmp_path / "a.bz2").write_bytes(bz2.compress(text))
    with pytest.raises(VocapError, match=r"a\.bz2: 79,999 bytes of a file hold no .*raise scan_b"):
        sampled(list_shards([str(tmp_path)]), scan_bytes=80_000)
