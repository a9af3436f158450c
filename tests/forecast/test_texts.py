"""Estimated amounts of text against the counts of `vocap sample` on the same files."""

import bz2
import gzip
import json
import lzma
import math
import os
import re

import pytest

import vocap
from tests.cases import read_cases
from vocap.allocation.settings import Allocation
from vocap.config import Settings
from vocap.corpora.sources import PACKAGES, starter_table
from vocap.errors import VocapError
from vocap.files.io import write_json
from vocap.forecast.texts import (
    REACH,
    check_totals,
    estimate_texts,
    reach_of,
    warn_of_lines,
    warn_of_totals,
)
from vocap.languages import default_table
from vocap.storage.listing import Listing, Shard
from vocap.text_files.word_growth import word_growth
from vocap.tokenizers.settings import Bpe, Joint
from vocap.workflow.run_plan import plan_run

LINES = [
    f"Zeile {number}, ein paar Wörter und eine Zahl: {number * 7919 % 10007}"
    for number in range(4000)
]
TEXT = "".join(line + "\n" for line in LINES).encode()


CASES = read_cases(__file__)


def settings(source, **corpora):
    corpora = {"source": "mine", "sources": {"mine": source}, **corpora}
    corpora |= {"table": str(default_table())}
    return Settings.model_validate(CASES["settings"] | {"corpora": corpora})


@pytest.mark.parametrize(
    ("name", "format", "content"),
    [
        ("de.txt", "text", TEXT),
        ("de.txt.gz", "text", gzip.compress(TEXT, mtime=0)),
        ("de.txt.xz", "text", lzma.compress(TEXT)),
        (
            "de.jsonl",
            "jsonl:text",
            "".join(json.dumps({"text": line}) + "\n" for line in LINES).encode(),
        ),
    ],
)
def test_files_are_measured_by_size_and_beginning(tmp_path, name, format, content):
    (tmp_path / name).write_bytes(content)
    text = estimate_texts(settings({"path": str(tmp_path / name), "format": format}))["de"]
    assert text.basis == "files"
    assert text.stored_mb == pytest.approx(len(content) / 1e6)
    assert text.lines == pytest.approx(4000, rel=0.02)
    assert text.read_mb == pytest.approx(len(TEXT) / 1e6, rel=0.02)
    assert text.kept == text.lines
    assert text.train_mb + text.heldout_mb == pytest.approx(text.read_mb, rel=1e-3)


def test_limits_bound_what_is_read_and_kept(tmp_path):
    path = tmp_path / "de.txt"
    path.write_bytes(TEXT)
    text = estimate_texts(
        settings({"path": str(path)}, scan_bytes=len(TEXT) // 4, max_sentences=100)
    )["de"]
    assert text.read_mb == pytest.approx(len(TEXT) / 4e6, rel=0.02)
    assert text.lines == pytest.approx(4000, rel=0.02)
    assert (text.kept, text.heldout) == (100, 10)
    text = estimate_texts(settings({"path": str(path)}, max_characters=100_000))["de"]
    assert text.kept * len(TEXT.decode()) / 4000 == pytest.approx(100_000, rel=0.02)
    assert text.kept * text.line_characters == pytest.approx(100_000, rel=0.01)


def test_several_files_count_together_and_absent_ones_are_named(tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_bytes(TEXT)
    both = {"path": [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]}
    assert estimate_texts(settings(both))["de"].lines == pytest.approx(8000, rel=0.02)
    (tmp_path / "b.txt").unlink()
    with pytest.raises(VocapError, match=r"leave the language out .*\n  de: no file .*b\.txt$"):
        plan_run(settings(both), first=False)


def test_a_total_below_the_required_characters_stops_the_plan(tmp_path):
    """400 letters and few others are 99.95 % of the text: these must be pieces."""
    letters = [chr(0x4E00 + number) for number in range(400)]
    path = tmp_path / "de.txt"
    path.write_text(
        "".join(f"{''.join(letters)} {'x' if number == 7 else ''}\n" for number in range(50)),
        "utf-8",
    )
    config = settings({"path": str(path)})
    config.tokenizers["j"] = Joint(kind="joint", total=405)
    check_totals(config, estimate_texts(config))
    config.tokenizers["j"] = Joint(kind="joint", total=404)
    with pytest.raises(
        VocapError, match=r"tokenizers\.j: a total of 404 holds 399 pieces, but 400 characters"
    ):
        check_totals(config, estimate_texts(config))


def test_a_total_that_the_text_does_not_reach_is_warned_of():
    config = settings({"path": "{lang}.txt"})
    config.allocation["v"] = Allocation(total=460)
    config.allocation["w"] = Allocation(total=461)
    config.tokenizers["j"] = Joint(kind="joint", total=1461)
    for name, total in (("b", 1380), ("c", 1381)):
        config.tokenizers[name] = Bpe(kind="bpe", total=total)
    allocation, joint, bpe = warn_of_totals(config, {"de": 150.0, "en": 310.0})
    assert allocation.startswith("allocation.w: T = 461 is above the pieces that the text gives")
    assert joint.startswith("tokenizers.j: T = 1,461 is") and "about 460;" in allocation
    assert bpe.startswith("tokenizers.c: T = 1,381 is above") and "about 1,380;" in bpe


def test_lines_that_are_longer_in_bytes_and_characters_are_warned_of(tmp_path):
    """Thai has three bytes a character, Chinese a third of the characters: equal
    sentences do not count.
    """
    lines = {"de": "x" * 99, "en": "y" * 89, "th": "\u0e01" * 99, "zh": "\u4e00" * 33}
    config = settings({"path": str(tmp_path / "{lang}.txt")})
    config = config.model_copy(update={"languages": list(lines)})
    config.allocation["v"] = Allocation(total=1000)
    assert _warned(config, tmp_path, lines) == []
    (warning,) = _warned(config, tmp_path, {**lines, "th": "\u0e01" * 300})
    assert "too many for th (3" in warning and "length of its mean line" in warning
    for empty in (["th"], lines):
        assert _warned(config, tmp_path, lines | dict.fromkeys(empty, "")) == []
    config.allocation["v"] = Allocation(total=1000, per="character")
    assert _warned(config, tmp_path, {**lines, "th": "\u0e01" * 300}) == []


def _warned(config, folder, lines):
    for code, line in lines.items():
        (folder / f"{code}.txt").write_text(f"{line}\n" * 20 if line else "", "utf-8")
    return warn_of_lines(config, estimate_texts(config))


def test_growth_of_words_by_its_definition():
    scale, power = word_growth("one two\u200bone three " + "four five two one", 0.25)
    half = len(bz2.compress(b"one\ntwo\nthree"))
    whole = len(bz2.compress(b"one\ntwo\nthree\nfour\nfive"))
    assert power == pytest.approx(math.log(whole / half) / math.log(2))
    assert scale * 0.25**power == pytest.approx(whole)
    assert word_growth("", 0.0)[1] == 0


def test_growth_is_not_taken_from_the_short_first_of_several_files(tmp_path):
    (tmp_path / "1.txt").write_bytes(TEXT)
    config = settings({"path": str(tmp_path)})
    assert estimate_texts(config)["de"].words is not None
    (tmp_path / "2.txt").write_bytes(TEXT)
    text = estimate_texts(config)["de"]
    scale, power = REACH
    assert text.words is None
    assert reach_of({"de": text})["de"] == scale * text.train_mb**power


@pytest.mark.skipif("VOCAP_DATA" not in os.environ, reason="needs real text: set VOCAP_DATA")
@pytest.mark.parametrize("language", ["hi", "ja", "ka"])  # of 7,893 to 76,005 pieces
def test_largest_vocabulary_within_a_quarter_of_the_trainers(tmp_path, language):
    path = tmp_path / "de.txt"
    with lzma.open(f"{os.environ['VOCAP_DATA']}/text/mono/{language}.txt.xz") as text:
        path.write_bytes(text.read())
    status = vocap.train_ladder(path, sizes=[1_000_000]).points[0].status
    found = reach_of(estimate_texts(settings({"path": str(path)})))["de"]
    assert found == pytest.approx(int(re.search(r"at most (\d+)", status)[1]), rel=0.25)


def test_text_elsewhere_is_guessed_from_the_table_and_bounded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    web = {"path": "s3://bucket/{lang}/*.txt.xz"}
    needed = estimate_texts(settings(web))["de"]
    bounded = estimate_texts(settings(web, scan_bytes=10**9))["de"]
    assert needed.basis == bounded.basis == "guess" and needed.remote
    assert bounded.stored_mb == 1000 < bounded.whole_mb == needed.whole_mb
    # 1.5 times the bytes of a million lines
    assert needed.read_mb == pytest.approx(1.5 * needed.line_bytes)
    # the default of max_characters
    assert bounded.kept * bounded.line_characters == pytest.approx(75e6)
    assert bounded.lines == needed.lines
    # the listing knows the bytes of the whole
    shards = (Shard("s3://bucket/de/1.txt.xz", 30_000), Shard("s3://bucket/de/2.txt.xz", 20_000))
    (tmp_path / "results/corpora/de").mkdir(parents=True)
    Listing(shards).write(tmp_path / "results/corpora/de/files.json")
    listed = estimate_texts(settings(web))["de"]
    assert (listed.basis, listed.whole_mb, listed.stored_mb) == ("listing", 0.05, 0.05)
    assert listed.lines * listed.line_bytes == pytest.approx(listed.read_mb * 1e6)


def test_the_starter_table_and_a_part_of_its_packages():
    whole = estimate_texts(settings({"starter": True}))["de"]
    row = starter_table()["de"]
    assert (whole.lines, whole.reach) == (row["lines"], row["reach"])
    assert row["lines"] <= sum(row[package] for package in PACKAGES)
    part = estimate_texts(settings({"starter": True}, starter={"packages": ["django"]}))["de"]
    assert (part.lines, part.reach) == (row["django"], None)


def test_an_earlier_run_is_believed_if_it_read_the_same_source(tmp_path):
    path = tmp_path / "de.txt"
    path.write_bytes(TEXT)
    stats = CASES["earlier run"]
    folder = tmp_path / "results" / "corpora" / "de"
    folder.mkdir(parents=True)
    write_json(folder / "stats.json", stats)
    config = settings({"path": str(path)})
    text = estimate_texts(config, tmp_path / "results")["de"]
    assert text.basis == "earlier run"
    assert (text.lines, text.line_bytes, text.stored_mb) == (40, 100, 900 / 1e6)
    for change in CASES["of another source or in part"]:
        write_json(folder / "stats.json", stats | change)
        assert estimate_texts(config, tmp_path / "results")["de"].basis == "files"
    (folder / "stats.json").write_text("{")
    assert estimate_texts(config, tmp_path / "results")["de"].basis == "files"
