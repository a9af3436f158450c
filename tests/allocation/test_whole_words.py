"""The words that a trunk of rule pieces offers to its branches: by definition, and against seeds; their effect."""

import math
import random
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from vocap.allocation.branch import branch, settle
from vocap.allocation.trunk import LanguageStore, WholeWords, grow_trunk, read_trunk, write_trunk
from vocap.unigram.text_settings import TextSettings
from vocap.unigram.word_types import load_word_types

# Settings, and by their definition the longest stretches of made text that they allow as a piece.
SETTINGS = {
    "default": ({}, "▁?(?:[a-e]+|[жф]+|[日か]+|[0-9.,]+)|▁"),
    "scripts mixed": ({"split_by_unicode_script": False}, "▁?[^▁]+|▁"),
    "digits alone": ({"split_digits": True}, "▁?(?:[a-e]+|[жф]+|[日か]+|[.,]+)|[0-9]|▁"),
    "short": ({"max_sentencepiece_length": 3}, "▁?(?:[a-e]+|[жф]+|[日か]+|[0-9.,]+)|▁"),
    "across spaces": ({"split_by_whitespace": False}, "▁?(?:[a-e]+|[жф]+|[日か]+|[0-9.,]+)|▁"),
    "runs of spaces": (
        {"allow_whitespace_only_pieces": True, "remove_extra_whitespaces": False},
        "▁+(?=▁[^▁])|▁?(?:[a-e]+|[жф]+|[日か]+|[0-9.,]+)|▁+",
    ),
}


def made_lines(seed, lines=60):
    """Lines of words of one script with punctuation, of digits, and of two scripts."""
    chooser = random.Random(seed)
    words = [
        "".join(chooser.choices(letters, k=chooser.randint(1, 6))) for letters in ("abcde", "жф", "日か") * 12
    ]
    words += ["19", "3.14", "ab1", "2,5", "жab", "かa", *(word + "," for word in words[:9])]
    return [" ".join(chooser.choices(words, k=chooser.randint(1, 6))) for _ in range(lines)]


def count(lines, **settings):
    return load_word_types({"train": lambda: [lines]}, coverage=1.0, settings=TextSettings(**settings))


def by_definition(lines, pattern, longest=16):
    """Occurrences of the stretches of 2 characters or more, and those of all."""
    found = Counter()
    for line in lines:
        found.update(re.findall(pattern, "▁" + line.replace(" ", "▁")))
    kept = {word: times for word, times in found.items() if 2 <= len(word) <= longest}
    return kept, sum(kept.values())


@pytest.mark.parametrize("name", SETTINGS)
def test_words_are_the_definition(name):
    settings, pattern = SETTINGS[name]
    weights, whole = {"aa": 0.7, "bb": 0.2}, WholeWords(10**6)
    values, scores = Counter(), {}
    for number, weight in enumerate(weights.values()):
        lines = made_lines(number, 60 + 20 * number)
        found, total = by_definition(lines, pattern, settings.get("max_sentencepiece_length", 16))
        for word, times in found.items():
            if times >= 2:
                values[word] += weight * times * len(word) / len(lines)
                scores[word] = max(scores.get(word, -math.inf), math.log(times / total))
        whole.add(count(lines, **settings), weight)
    words, found = whole.best(10**6)
    assert dict(zip(words, found.tolist(), strict=True)) == pytest.approx(scores, rel=1e-6) and len(words) > 15
    assert [values[word] for word in words] == pytest.approx(sorted(values.values(), reverse=True))
    few, _ = whole.best(25)
    assert few == words[:25]


def test_equal_values_are_ordered_by_text():
    whole = WholeWords(10)
    whole.add(count(["ca ab bc", "ab ca bc zzz", "zzz de"]), 1.0)
    assert whole.best(10)[0] == ["▁zzz", "▁ab", "▁bc", "▁ca"]
    assert whole.best(2)[0] == ["▁zzz", "▁ab"]
    few = WholeWords(1)
    few.add(count(["ca ab bc", "ab ca bc zzz", "zzz de"]), 1.0)
    assert few.best(10)[0] == ["▁zzz"]


def test_symbols_and_rare_characters_are_in_no_word():
    lines = ["<s>ab <s>ab cd<x>cd cd<x>cd ab☃ ab☃ ab"] * 3
    settings = TextSettings(user_defined_symbols=("<x>",))
    words = load_word_types({"train": lambda: [lines]}, coverage=0.9, settings=settings)
    whole = WholeWords(10)
    whole.add(words, 1.0)
    offered = whole.best(10)[0]
    assert "☃" not in words.required and "▁ab" in offered
    assert all(set(word) <= set(words.required) for word in offered)
    assert not any(symbol in word for word in offered for symbol in ("<s>", "<x>"))


@pytest.fixture(scope="module")
def texts():
    """Two languages whose words are always followed by a space, so that no whole word is a classic seed."""

    def text(letters, seed):
        chooser = random.Random(seed)
        words = ["".join(chooser.choices(letters, k=chooser.randint(2, 7))) for _ in range(500)]
        weights = [1 / rank for rank in range(1, 501)]
        return [" ".join([*chooser.choices(words, weights, k=9), "."]) for _ in range(300)]

    lines = {"aa": text("abcdefgh", 1), "bb": text("efghijkl", 2)}
    return {code: lambda own=own: count(own) for code, own in lines.items()}


@pytest.fixture(scope="module")
def trunk(texts, tmp_path_factory):
    languages = LanguageStore(tmp_path_factory.mktemp("trunk"), 1 << 30)
    return grow_trunk(texts, {"aa": 0.8, "bb": 0.5}, [], languages)


def test_the_offer_gets_the_best_words_that_it_lacks(trunk):
    without, scores = replace(trunk, words=[], word_scores=np.zeros(0, np.float32)).offer_for(60)
    pieces, found = trunk.offer_for(60)
    new = [number for number, word in enumerate(trunk.words) if word not in set(without)][:60]
    assert len(new) == 60 and len(set(pieces)) == len(pieces)
    assert pieces == without + [trunk.words[number] for number in new]
    assert found.tolist() == [*scores.tolist(), *trunk.word_scores[new].tolist()]


@pytest.mark.parametrize("capacity", [100, 300, 700])
def test_words_raise_the_objective(texts, trunk, tmp_path, capacity):
    weights, objectives, sizes = {"aa": 0.8, "bb": 0.5}, [], []
    for own in (replace(trunk, words=[], word_scores=np.zeros(0, np.float32)), trunk):
        languages = LanguageStore(tmp_path, 1 << 30)
        chosen = branch(own, capacity, texts, weights, languages)
        pieces, models = settle(chosen, languages, 1.0)
        sizes.append(len(pieces))
        objectives.append(sum(weights[code] * model.alp[0] for code, model in models.items()))
    assert objectives[1] > objectives[0]
    assert sizes[0] <= sizes[1] == capacity  # without words the candidates run out


def test_a_trunk_file_holds_the_words(trunk, tmp_path):
    for one in (trunk, replace(trunk, words=[], word_scores=np.zeros(0, np.float32))):
        write_trunk(tmp_path / "t.npz", one, {"aa": 0.5})
        found = read_trunk(tmp_path / "t.npz", {"aa": 0.5})
        assert found.words == one.words and found.word_scores.tolist() == one.word_scores.tolist()
