"""Each key of the text settings: models have the bytes of those that SentencePiece
trains with it.
"""

import random
import unicodedata

import pytest

from benchmarks.fuzzing.text_settings import DIFFERENT, EQUAL, reference, run
from tests.cases import read_cases
from tests.unigram.test_against_sentencepiece import check_rung
from tests.unigram.test_against_sentencepiece import reference as trained_model
from vocap.errors import UsageError
from vocap.unigram.ladder import train_sizes
from vocap.unigram.text_settings import PRESETS, TextSettings, text_settings
from vocap.unigram.training_text import trainer_normalizer
from vocap.unigram.word_types import load_word_types

CASES = read_cases(__file__)


def assert_same(
    lines: list[str],
    keys: dict,
    sizes: list[int] = (),
    heldout: list[str] = (),
    coverage: float = 0.9995,
) -> int:
    """Compare `sizes`, or some from below the least to above the largest; returns how
    many have a model.
    """
    keys = {
        name: tuple(value) if isinstance(value, list) else value for name, value in keys.items()
    }
    settings, heldout = TextSettings(**keys), list(heldout)
    texts = {"train": lambda: [lines], "heldout": lambda: [heldout]}
    words = load_word_types(texts, coverage=coverage, settings=settings)
    if not sizes:
        ends = {rung.point.size: rung for rung in train_sizes(words, [1, 1_000_000], coverage)}
        least, most = ends[1].least or 1, ends[1_000_000].most or 9
        between = {round(least * (most / least) ** (step / 4)) for step in range(5)}
        sizes = sorted({max(1, least - 1), most + 1, *between})
    rungs = {rung.point.size: rung for rung in train_sizes(words, sizes, coverage)}
    models = 0
    for size in sizes:
        trained = trained_model(lines, size, coverage, settings=settings)
        models += check_rung(rungs[size], trained, lines, heldout)
        if isinstance(trained, bytes):
            assert trained == reference(lines, size, keys, coverage), size
        elif trained.startswith("too"):
            assert isinstance(reference(lines, size, keys, coverage), str), size
    return models


def code_and_prose() -> list[str]:
    """Lines of made source code and prose: indents, digits, mixed scripts, rare
    characters, odd ends of lines.
    """
    chooser = random.Random(25)
    names = [
        "".join(chooser.choices("abcdeфгд日本語é\u0301", k=chooser.randint(1, 5)))
        for _ in range(500)
    ]
    lines = []
    for _ in range(400):
        words = chooser.choices(
            names, [1 / rank**0.7 for rank in range(1, 501)], k=chooser.randint(1, 9)
        )
        words += [
            chooser.choice(["1999", "x1", "3.14", "２０", "def", "return", "==", "B2b", "ﬁ", "ẞ"])
        ]
        chooser.shuffle(words)
        gap = chooser.choice([" ", " ", "  ", "\u3000", "\u2581"])
        line = (
            " " * chooser.choice([0, 0, 4, 8])
            + gap.join(words)
            + chooser.choice(["", "", " ", "  ", "\r", "\t"])
        )
        lines.append(line)
    lines[3] += "<unk> <s>x</s> <0x41> \u2603"
    lines[9] += "\0 \ufffd \u2028 \x1f \x85"
    lines[11] = "x \u2585"
    lines[12:14] = ["", "   "]
    return lines


LINES = code_and_prose()
HELDOUT = [line.replace("a", "ж") + "Ω  <s> \U0001f469\u200d\U0001f467 " for line in LINES[::9]]


def name_of(keys: dict) -> str:
    return " ".join(f"{name}={value}" for name, value in keys.items())


@pytest.mark.parametrize("keys", CASES["alone"], ids=name_of)
@pytest.mark.parametrize("coverage", [0.9995, 0.98])
def test_each_key_alone(keys, coverage):
    models = assert_same(LINES, keys, heldout=HELDOUT, coverage=coverage)
    assert models >= (1 if keys.get("max_sentencepiece_length") == 1 else 4)


@pytest.mark.parametrize("coverage", [0.9995, 0.98])
def test_the_preset_lossless(coverage):
    keys = PRESETS["lossless"].changed()
    assert assert_same(LINES, keys, heldout=HELDOUT, coverage=coverage) >= 4


def test_nfc_is_unicodes():
    """Of every character that this Python knows, of its decomposition, and of marks in
    a row.
    """
    normalize = trainer_normalizer(text_settings("lossless", normalization="nfc")).normalize
    characters = [
        chr(code)
        for code in (*range(1, 0xD800), *range(0xE000, 0x30000))
        if code not in (9, 10, 13, 32, 0x2581)
    ]
    known = [one for one in characters if unicodedata.category(one) != "Cn"]
    texts = [form for one in known for form in (one, unicodedata.normalize("NFD", one))]
    texts += [f"{one}\u0301\u0301{one}\u0308x" for one in "aceoAÇÉsgn"]
    wanted = [unicodedata.normalize("NFC", text) for text in texts]
    assert [
        text
        for text, found, want in zip(texts, normalize(texts), wanted, strict=True)
        if found != want
    ] == []


def test_settings_that_are_refused():
    with pytest.raises(UsageError, match="normalization 'nfc2': take one of nmt_nfkc"):
        TextSettings(normalization="nfc2")
    for keys, reason in CASES["refused"]:
        with pytest.raises(UsageError, match=reason):
            TextSettings(**keys)
        # SentencePiece refuses it too
        assert isinstance(reference(["a b c", "ab"], 300, keys), str)


@pytest.mark.parametrize("part", range(4))
def test_random_combinations(part):
    """Of the keys, each on a text of its own; `benchmarks/fuzzing/text_settings.py`
    tries many more.
    """
    outcomes = []
    for number in range(3 * part, 3 * part + 3):
        keys, found = run(25, number)
        assert not [one for one in found if one[1] == DIFFERENT], (number, keys)
        outcomes += [one[1] for one in found]
    assert EQUAL in outcomes
