"""Word types against the definition: lines normalised, cut, replaced and counted one by
one, as strings.
"""

import random
from collections import Counter

import numpy as np
import pytest

from vocap.unigram.given_pieces import build_trie, child
from vocap.unigram.plain_lines import LEAST
from vocap.unigram.training_text import is_trainable, required_characters, trainer_normalizer
from vocap.unigram.word_types import WordTypes, load_word_types

ALPHABET = [*"abc", "ab ", "cab", *"  \u3000ßж", "日本", *"\u2581\0", "<unk>", "</s>", *"<😀"]


def make_lines(seed: int, count: int, longest: int = 30) -> list[str]:
    chooser = random.Random(seed)
    lines = [
        "".join(chooser.choices(ALPHABET, k=chooser.randint(0, longest))) for _ in range(count)
    ]
    lines[3] += "\u2585"
    lines[5] = "日" * 1398 + "ab"  # 4,196 bytes: too long to be trained on
    lines[6] = "abc " * 30_000
    return lines


def types_of(words: WordTypes) -> list[str]:
    text = "".join(map(chr, words.text))
    bounds = zip(words.start, words.start + words.length, strict=True)
    return [text[begin:end] for begin, end in bounds]


def words_of(lines: list[str], cut: bool) -> list[tuple[str, bool]]:
    """Words of normalised lines, and whether each ends its line."""
    found = []
    for line in filter(None, lines):
        words = [line]
        if cut:
            words = ["\u2581" + word for word in line.split("\u2581")]
            if line.startswith("\u2581"):
                words = words[1:]
        found += [(word, place == len(words) - 1) for place, word in enumerate(words)]
    return found


def expected_types(train: list[str], heldout: list[str], coverage: float):
    normalise = trainer_normalizer().normalize
    seen = [normalise(line) for line in train if is_trainable(line)]
    for meta in ("<unk>", "<s>", "</s>"):
        seen = [line.replace(meta, "\t") for line in seen]
    seen = [line for line in seen if line]
    required = required_characters(Counter("".join(seen).replace("\0", "")), coverage)

    def replaced(lines: list[str]) -> list[tuple[str, bool]]:
        words = words_of(lines, "\u2581" in required)
        return [
            ("".join(c if c in required else "\u2585" for c in word), last) for word, last in words
        ]

    trained = Counter(replaced(seen))
    counts = {
        "train": Counter(word for word, _ in replaced([normalise(line) for line in train])),
        "heldout": Counter(word for word, _ in replaced([normalise(line) for line in heldout])),
    }
    frequency = Counter()
    for (word, _), count in trained.items():
        frequency[word] += count
    order = sorted(frequency, key=lambda word: (-frequency[word], word))
    order += sorted((set(counts["train"]) | set(counts["heldout"])) - set(order))
    return order, len(frequency), trained, counts, required


@pytest.mark.parametrize("coverage", [0.98, 0.9995, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_words_are_those_of_the_definition_for_any_blocks(seed, coverage):
    train, heldout = make_lines(seed, 400), make_lines(seed + 10, 60)
    train += make_lines(seed + 20, LEAST, 5)  # most are plain in a large block
    order, known, trained, counts, required = expected_types(train, heldout, coverage)
    for block in (1, 7, LEAST + 300):
        texts = {
            "train": lambda block=block: (
                train[at : at + block] for at in range(0, len(train), block)
            ),
            "heldout": lambda: [heldout],
        }
        words = load_word_types(texts, coverage=coverage)
        assert types_of(words) == order
        assert words.trained == known
        assert words.inside.tolist() == [trained[word, False] for word in order]
        assert words.last.tolist() == [trained[word, True] for word in order]
        for name, expected in counts.items():
            assert words.counts[name].tolist() == [expected[word] for word in order]
        assert words.sentences == {"train": len(train), "heldout": 60}
        assert list(words.required) == required
        ends = words.text[words.start + words.length]
        assert ends.tolist() == [0x2581 if inside else 0 for inside in words.inside]


def test_long_words_with_a_common_beginning_are_distinguished():
    chooser = random.Random(2)
    lines = [
        "x" * chooser.randint(1, 70) + chooser.choice("abyz") * chooser.randint(0, 3)
        for _ in range(500)
    ]
    words = load_word_types({"train": lambda: [lines]}, coverage=1.0)
    counts = Counter("\u2581" + line for line in lines)
    assert types_of(words) == sorted(counts, key=lambda word: (-counts[word], word))


def test_many_words_are_counted():
    chooser = random.Random(3)
    lines = [" ".join(f"{chooser.getrandbits(20):x}" for _ in range(8)) for _ in range(10_000)]
    words = load_word_types(
        {"train": lambda: (lines[a : a + 100] for a in range(0, 10_000, 100))}, coverage=1.0
    )
    counts = Counter("\u2581" + word for line in lines for word in line.split())
    assert dict(zip(types_of(words), words.frequencies.tolist(), strict=True)) == counts


def test_a_trie_finds_every_piece_and_no_other():
    chooser = random.Random(5)
    pieces = sorted(
        {"".join(chooser.choices("ab\U0010ffff\0", k=chooser.randint(1, 6))) for _ in range(400)}
    )
    trie = build_trie(pieces)

    def look_up(word):
        node = 0
        for character in word:
            node = child(np.int32(node), np.int32(ord(character)), trie)
            if not node:
                return -1
        return int(trie.piece[node])

    for number, piece in enumerate(pieces):
        assert look_up(piece) == number
    for _ in range(400):
        word = "".join(chooser.choices("ab\U0010ffff\0c", k=chooser.randint(1, 7)))
        assert look_up(word) == (pieces.index(word) if word in pieces else -1)
