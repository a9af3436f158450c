"""Text read by a process of its own against the same text read here, and its errors."""

import random
import time

import pytest

from vocap.errors import VocapError
from vocap.unigram.reading_process import ReadingProcess, made_ahead
from vocap.unigram.training_text import texts_of
from vocap.unigram.word_types import count_word_types


@pytest.fixture
def files(tmp_path):
    """Two texts of some blocks each."""
    chooser = random.Random(6)
    paths = {name: tmp_path / f"{name}.txt" for name in ("train", "heldout")}
    for path in paths.values():
        words = ["".join(chooser.choices("абвгд<unk>\u2585", k=chooser.randint(1, 9))) for _ in range(3000)]
        lines = [" ".join(chooser.choices(words, k=chooser.randint(0, 12))) + "\n" for _ in range(60_000)]
        path.write_text("".join(lines), "utf-8")
        assert path.stat().st_size > 3e6
    return paths


def test_another_process_reads_the_same_blocks(files):
    reading = ReadingProcess(files).texts
    for name, text in texts_of(files).items():
        expected = list(text())
        assert len(expected) > 2
        assert list(reading[name]()) == expected
        assert list(reading[name]()) == expected  # once more


def test_texts_in_any_order(files):
    reading, here = ReadingProcess(files).texts, texts_of(files)
    for name in ("heldout", "train", "heldout"):
        assert list(reading[name]()) == list(here[name]())


def test_a_text_without_spaces_is_read_twice(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("".join(f"{'ab' * 1000}{number % 7}\n" for number in range(50)), "utf-8")
    words = count_word_types(ReadingProcess({"train": path}).texts, coverage=0.99)
    assert words.types == [f"\u2585{'ab' * 1000}\u2585"] and words.frequencies.tolist() == [50]


def test_errors_of_the_text(files, tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"good\n\xff\n")
    reading = ReadingProcess({"train": files["train"], "heldout": tmp_path / "bad.txt"}).texts
    assert list(reading["train"]())
    with pytest.raises(VocapError, match=r"bad.txt, line 2: not UTF-8"):
        list(reading["heldout"]())


def test_a_killed_process_is_reported(files):
    reading = ReadingProcess(files)
    sentences = reading.texts["train"]()
    next(sentences)
    reading.process.kill()
    with pytest.raises(VocapError, match="killed"):
        list(sentences)


def test_the_process_ends_with_its_reader(files):
    reading = ReadingProcess(files)
    reading.connection.close()
    reading.process.join(30)
    assert reading.process.exitcode == 0


def test_items_made_ahead_keep_their_order():
    made = []

    def items():
        for number in range(10):
            made.append(number)
            yield number
        raise ValueError("the end")

    coming = made_ahead(items(), 4)
    assert next(coming) == 0
    until = time.monotonic() + 30
    while len(made) < 5 and time.monotonic() < until:
        time.sleep(0.01)
    assert made == list(range(5))
    assert [next(coming) for _ in range(9)] == list(range(1, 10))
    with pytest.raises(ValueError, match="the end"):
        next(coming)
