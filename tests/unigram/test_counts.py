"""Counts of a text against the definition: lines normalised, cut and counted one by one, as
strings.
"""

import random
import shlex
import subprocess
from collections import Counter
from itertools import chain

import pytest

from tests.commands import VOCAP
from tests.unigram.test_word_types import make_lines
from vocap.errors import VocapError
from vocap.text_files.text import text_blocks
from vocap.unigram.counts import Counts, count_texts
from vocap.unigram.plain_lines import LEAST
from vocap.unigram.text_settings import XLM_R, TextSettings, text_settings
from vocap.unigram.training_text import is_trainable, trainer_normalizer
from vocap.unigram.word_table import RUNS, STRETCHES, TEXTS, WORDS, WordTable

SPACE = "\u2581"
SETTINGS = {
    "usual": XLM_R,
    "symbols": TextSettings(user_defined_symbols=("ab", "ß ж"), allow_whitespace_only_pieces=True),
    "as it is": text_settings("lossless"),
    "folded": TextSettings(normalization="nfkc_cf", remove_extra_whitespaces=False),
}


def cut(line: str, kind: int) -> list[str]:
    """The words of a normalised line."""
    words: list[str] = []
    for at, character in enumerate(line):
        before = line[at - 1 : at]
        begins = character == SPACE and (
            kind == WORDS or (before != SPACE and (kind == RUNS or not before.isspace()))
        )
        if begins or not words:
            words.append("")
        words[-1] += character
    return words


def expected(texts: dict[str, list[str]], settings: TextSettings, apart: list[str], kind: int):
    """By word: inside and last in trained lines, and in each text; by text: its lines
    apart.
    """
    normalise = trainer_normalizer(settings).normalize
    found, lines = Counter(), {name: Counter() for name in texts}
    for name, text in texts.items():
        for line in text:
            normal = normalise(line)
            if any(held in line or held in normal for held in apart) or (
                settings.keeps_text and SPACE in line
            ):
                lines[name][line] += 1
                continue
            found.update((word, name) for word in cut(normal, kind))
            read = line.rstrip("\r")
            if name == "train" and is_trainable(read):
                for at, word in enumerate(words := cut(normalise(read), kind)):
                    found[word, "last" if at == len(words) - 1 else "inside"] += 1
    return found, lines


def counted(counts: Counts, kind: int) -> Counter:
    texts = list(counts.facts["texts"])
    table = WordTable(len(texts))
    counts.add_to(table, kind, slice(TEXTS + len(texts)))
    found = Counter()
    for word in range(table.known):
        text = "".join(map(chr, table.store[slice(*table.bounds[word : word + 2])]))
        for name, count in zip(["inside", "last", *texts], table.counts[word], strict=True):
            found[text, name] += int(count)
    return +found


@pytest.mark.parametrize("name", SETTINGS)
def test_counts_are_those_of_the_definition_in_any_memory(tmp_path, name):
    settings, chooser = SETTINGS[name], random.Random(3)
    mixed = [
        "".join(chooser.choices(["a", "b  ", "\t ", "\u3000", "[X]", "\r", " c"], k=6))
        for _ in range(300)
    ]
    parts = [make_lines(1, 400), make_lines(2, LEAST + 50, 6), mixed, [], ["a b"] * 3 + mixed]
    files = []
    for number, lines in enumerate(parts):
        files.append(tmp_path / f"{number}.txt")
        files[-1].write_text(
            "".join(f"{line}\n" for line in lines).replace("\0", ""), "utf-8", newline="\n"
        )
    texts = {"train": files[:3], "heldout": files[3:]}
    apart = ["<unk>", "<s>", "</s>", "[X]", *settings.user_defined_symbols]
    read = {part: [*chain(*text_blocks(own)())] for part, own in texts.items()}
    large = count_texts(texts, tmp_path / "large", settings, ["[X]"])
    for kind in (WORDS, RUNS, STRETCHES):
        found, held = expected(read, settings, apart, kind)
        assert counted(large, kind) == found
    for part in texts:
        about = large.facts["texts"][part]
        assert about["lines"] == len(read[part])
        assert about["characters"] == sum(map(len, read[part]))
        assert Counter(chain(*large.apart(part))) == held[part]
    for memory in (0, 1 << 20):
        small = count_texts(texts, tmp_path / "small", settings, ["[X]"], memory)
        assert small.path.read_bytes() == large.path.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir() if "txt" not in path.name) == [
        "large",
        "small",
    ]


def test_a_text_without_lines_has_counts(tmp_path):
    counts = count_texts({"train": []}, tmp_path / "counts")
    assert not counted(counts, WORDS)
    assert not list(counts.apart("train"))


def test_counts_of_another_text_or_setting_are_refused(tmp_path):
    path = tmp_path / "de"
    count_texts({"train": ["a b"]}, path)
    counts = Counts.open(tmp_path / "{lang}", {"train": ["a b"]}, "de")
    counts.check(TextSettings(split_digits=True, byte_fallback=True), ["</s>"])
    with pytest.raises(VocapError, match=f"{path}: counts of another train text; count it again"):
        Counts.open(path, {"train": ["a c"]})
    for settings, metas in ((text_settings("lossless"), ()), (XLM_R, ["<pad>"])):
        with pytest.raises(VocapError, match=f"{path}: .*other settings.*count it again"):
            counts.check(settings, metas)
    whole = path.read_bytes()
    for content in (b"", b"text\n", whole[:200], whole.replace(b'"version": 3', b'"version": 2')):
        path.write_bytes(content)
        with pytest.raises(VocapError, match="not what this version of vocap count wrote"):
            Counts.open(path, {})


def test_a_full_disk_ends_it_in_one_line_and_leaves_nothing(tmp_path):
    train = tmp_path / "train.txt"
    train.write_text("".join(f"{number:x}\n" for number in range(200_000)), "utf-8")
    for limit in (60, 2000):  # blocks of the file of a part, and of the whole
        command = f"ulimit -f {limit}; exec {shlex.join(VOCAP)} count {train}"
        told = subprocess.run(
            ["sh", "-c", f"{command} -o {tmp_path}/counts.npy"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert told.returncode == 1
        assert told.stderr.count("\n") == 1
        assert "File too large" in told.stderr and "counts.npy" in told.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["train.txt"]
