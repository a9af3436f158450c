"""The counts and the sample against a plain implementation of the definition, and
against probabilities.
"""

import collections
import random

import numpy as np
import pytest

from vocap.corpora.sampling import Reservoir, draw_sample, heldout_count
from vocap.corpora.shard_sample import ShardSample
from vocap.corpora.stage import sample_corpus
from vocap.errors import UsageError
from vocap.storage.listing import local_shard
from vocap.text_files import MAX_LINE_BYTES, Layout
from vocap.text_files import lines as text_lines
from vocap.text_files.lines import survey
from vocap.text_files.records import TextFile


def sample_of(paths, size=10**6, seed=1, layout="text", scan_bytes=None):
    shards = [local_shard(str(path)) for path in paths]
    corpus = ShardSample(shards, Layout.parse(layout), scan_bytes, size, seed)
    return draw_sample(corpus, size, seed), corpus


def kind_of(line: bytes) -> str:
    """The definition, line by line."""
    while line.endswith(b"\r"):
        line = line[:-1]
    if len(line) > MAX_LINE_BYTES:
        return "overlong"
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return "invalid_utf8"
    if "\0" in text:
        return "invalid_utf8"
    return "valid" if text.strip() else "empty"


def odd_lines(count, seed):
    pick = random.Random(seed)
    odd = [
        b"",
        b"\r",
        b" \t ",
        "\u3000\u00a0".encode(),
        b"\xff",
        b"\xc3",
        "ა\u2028ბ".encode(),
        b"a\x85",
        b"\0",
        b"\r\r",
    ]
    odd += [
        b"x" * MAX_LINE_BYTES,
        b"x" * MAX_LINE_BYTES + b"\r",
        b"x" * (MAX_LINE_BYTES + 1),
        b" a",
        "\u2003b".encode(),
    ]
    odd += [
        "\u2003\u2028\u205f\u1680\x85".encode(),
        b"\x1c\x1f",
        b"a\rb",
        "\u200b".encode(),
        b"\xed\xa0\x80",
        b"\xe3",
    ]
    odd += [b"\xff" * (MAX_LINE_BYTES + 1), b"\xc2", "\u0430".encode(), b"\x7f", b"\x01"]
    return [
        pick.choice(odd) if pick.random() < 0.4 else b"line %d" % pick.randrange(10**9)
        for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(6))
def test_survey_is_the_definition(seed):
    lines = odd_lines(random.Random(seed).randrange(1, 3000), seed)
    found = survey(b"".join(line + b"\n" for line in lines))
    kinds = collections.Counter(map(kind_of, lines))
    assert tuple(found.counts.values())[:4] == (
        len(lines), kinds["empty"], kinds["overlong"], kinds["invalid_utf8"],
    )  # fmt: skip
    block = b"".join(line + b"\n" for line in lines)
    valid = [block[start:end] for start, end in zip(found.starts, found.ends, strict=True)]
    assert valid == [line.rstrip(b"\r") for line in lines if kind_of(line) == "valid"]


def test_everything_is_kept_once_in_order_where_there_is_room(tmp_path):
    lines = [b"line %d" % (number % 700) for number in range(1000)]
    (tmp_path / "a").write_bytes(b"".join(line + b"\r\n" for line in lines[:400]))
    (tmp_path / "b").write_bytes(b"".join(line + b"\n" for line in lines[400:])[:-1])
    sample, corpus = sample_of([tmp_path / "a", tmp_path / "b"])
    counts = sample.counts
    assert counts["read"] == counts["valid"] == 1000 and counts["duplicates"] == 300
    assert counts["kept"] == 700 == counts["train"] + counts["heldout"] and counts["heldout"] == 70
    place = {line: number for number, line in reversed(list(enumerate(lines)))}
    for part in (sample.train, sample.heldout):
        assert [place[line] for line in part] == sorted(place[line] for line in part)
    assert sorted([*sample.train, *sample.heldout]) == sorted(set(lines))
    assert corpus.complete and corpus.estimate("valid", 1000) == (1000, [1000, 1000])
    assert corpus.consumed == corpus.total == sum((tmp_path / name).stat().st_size for name in "ab")


def test_heldout_count_is_the_contract_s():
    shares = {0: 0, 1: 0, 2: 1, 9: 1, 10: 1, 99: 9, 1000: 100, 5000: 500, 5001: 500, 50_000: 500}
    shares |= {50_100: 501, 50_101: 502, 999_999: 10_000, 1_000_000: 10_000, 5_000_000: 10_000}
    assert {kept: heldout_count(kept) for kept in shares} == shares


def test_a_limit_in_characters_takes_as_many_lines_as_fit(tmp_path):
    pick = random.Random(5)
    lines = ["ж" * pick.randint(1, 99) + str(number) for number in range(3000)]
    (tmp_path / "a").write_text("\n".join(lines + lines[:50]) + "\n", "utf-8")
    everything = sum(map(len, lines))
    for limit in (None, everything, everything // 2, everything // 7, 50):
        sample = draw_sample([TextFile(tmp_path / "a", Layout())], 10**6, 1, max_characters=limit)
        kept = [line.decode() for line in (*sample.train, *sample.heldout)]
        assert sample.counts["duplicates"] == 50 and sample.counts["valid"] == 3050
        assert sample.counts["left_out"] == 3000 - len(kept) == 3000 - sample.counts["kept"]
        size = sum(map(len, kept))
        if limit is None or limit >= everything:
            assert sorted(kept) == sorted(lines)
            continue
        assert limit - 110 < size <= limit or len(kept) == 1  # one at least
        place = {line.encode(): number for number, line in enumerate(lines)}
        assert [place[line] for line in sample.train] == sorted(
            place[line] for line in sample.train
        )
        if len(kept) > 100:  # not the beginning, and neither the short lines nor the long ones
            assert 1300 < np.mean([place[line.encode()] for line in kept]) < 1700
            assert abs(size / len(kept) - everything / 3000) < 3


def test_a_limit_below_every_line_keeps_one(tmp_path):
    (tmp_path / "a").write_bytes(b"".join(letter * 90 + b"\n" for letter in (b"a", b"b", b"c")))
    (kept,) = draw_sample([TextFile(tmp_path / "a", Layout())], 10, 1, max_characters=50).train
    assert kept in (b"a" * 90, b"b" * 90, b"c" * 90)
    with pytest.raises(UsageError, match=r"max_characters: .*100000, not 9"):
        sample_corpus(["A sentence of some length."] * 3, language="en", max_characters=9)


def test_no_line_is_in_both_parts_by_content(tmp_path):
    (tmp_path / "a").write_bytes(b"".join(b"%d\n" % (number % 90) for number in range(5000)))
    for seed in range(5):
        sample, _ = sample_of([tmp_path / "a"], seed=seed, size=300)
        assert not set(sample.train) & set(sample.heldout)
        assert (
            len(set(sample.train)) == len(sample.train)
            and len(set(sample.heldout)) == len(sample.heldout) > 0
        )


def test_blocks_of_any_size_give_the_same_sample(tmp_path, monkeypatch):
    lines = [line for line in odd_lines(4000, 3) if kind_of(line) != "invalid_utf8"]
    (tmp_path / "a").write_bytes(b"".join(line + b"\n" for line in lines))
    results = []
    for size in (1 << 20, 70, 4099):
        monkeypatch.setattr(text_lines, "BLOCK", size)
        sample, _ = sample_of([tmp_path / "a"], size=200)
        results.append((list(sample.train), list(sample.heldout), sample.counts))
    assert results[0] == results[1] == results[2]
    assert results[0][2]["kept"] + results[0][2]["duplicates"] == 200
    assert list(sample_of([tmp_path / "a"], size=200, seed=2)[0].train) != results[0][0]


def test_reservoir_is_uniform():
    """Every item of 60 is in a sample of 12 one time in five, and pairs are as frequent
    as independence says.
    """
    runs, items, size = 6000, 60, 12
    hits = np.zeros((runs, items), bool)
    for seed in range(runs):
        reservoir = Reservoir(size, seed)
        slots = {}
        for start in range(0, items, 7):
            indices, places = reservoir.offer(min(7, items - start))
            slots |= {place: start + index for index, place in zip(indices, places, strict=True)}
        hits[seed, list(slots.values())] = True
    share = hits.mean(axis=0)
    deviation = (0.2 * 0.8 / runs) ** 0.5
    assert hits.sum() == runs * size and np.abs(share - 0.2).max() < 4.5 * deviation
    together = (hits.T.astype(float) @ hits) / runs
    expected = size * (size - 1) / (items * (items - 1))
    pairs = together[np.triu_indices(items, 1)]
    assert np.abs(pairs - expected).max() < 5 * (expected / runs) ** 0.5


def test_heldout_lines_come_from_everywhere(tmp_path):
    (tmp_path / "a").write_bytes(b"".join(b"%d\n" % number for number in range(20_000)))
    sample, _ = sample_of([tmp_path / "a"])
    places = np.array(list(map(int, sample.heldout)))
    assert len(places) == 500 and abs(places.mean() - 10_000) < 4 * 5774 / 500**0.5


def test_scan_limit_over_several_files(tmp_path):
    """The limit counts bytes of all files together, of which each gives its share; n is
    estimated, and flagged.
    """
    for name in "abc":
        (tmp_path / name).write_bytes(
            b"".join(b"%s %07d\n" % (name.encode(), number) for number in range(10_000))
        )
    sample, corpus = sample_of([tmp_path / name for name in "abc"], scan_bytes=150_003)
    assert not corpus.complete and corpus.total == 300_000
    assert 130_000 < corpus.consumed <= 150_003
    assert sample.counts["read"] == sum(int(part.span) // 10 for part in corpus.parts)
    found, (low, high) = corpus.estimate("valid", sample.counts["valid"])
    assert low <= found <= high and found == pytest.approx(30_000, rel=1e-3)
    assert {line[:1] for line in sample.train} == {b"a", b"b", b"c"}
    exact, corpus = sample_of([tmp_path / "a"], scan_bytes=100_000)
    assert corpus.complete and exact.counts["read"] == 10_000
