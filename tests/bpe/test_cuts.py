"""Cuts before merging: published expressions against their sources, words against
`tokenizers` and `regex`.
"""

import inspect
import json
import re
import unicodedata
from collections import Counter
from itertools import pairwise, product

import pytest
import regex
import tiktoken_ext.openai_public as openai
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, trainers
from tokenizers.pre_tokenizers import ByteLevel
from transformers.convert_slow_tokenizer import TikTokenConverter
from transformers.models.qwen2.tokenization_qwen2 import PRETOKENIZE_REGEX

from tests.bpe.texts import CODE, LETTERS, cutter, expected, made, real, words_of
from tests.cases import read_cases
from tests.commands import caller
from tests.made_text import write_lines
from vocap.errors import UsageError
from vocap.languages import default_table, natural, read_languages
from vocap.tokenizer_files import SPLITS
from vocap.tokenizer_files.cuts import PUBLISHED
from vocap.tokenizers.settings import Bpe
from vocap.workflow.names import training_name

CASES = read_cases(__file__)

OWN = r"[\p{L}\s]+|[^\p{L}\s]"
CUTS = [
    *({"split": name} for name in SPLITS),
    {"split": "words", "digits": "3-right", "contractions": True},
    {"split": "words", "digits": "3"},
    {"split": "spaces", "digits": "3-right"},
    {"split": "gpt2", "digits": "3", "contractions": False},
    {"split": "o200k", "digits": "3-right", "contractions": False},
    {"split": "llama-3", "digits": "none"},
    {"split": "regex", "regex": OWN},
    {"split": "words", "single": True},
    {"split": "spaces", "single": True},
]
ALPHABET = "aé1٣ \t\u00a0.'-\u0301\u200d\u0d4dക👍\ufe0f\r\n\u2581\ufdd1_<漢sd234/A"


def pieces(text: str, split: str, **own) -> list[str]:
    return [text[begin:end] for _, (begin, end) in cutter(split, **own).pre_tokenize_str(text)]


def test_published_expressions_are_those_of_their_sources(monkeypatch):
    monkeypatch.setattr(openai, "load_tiktoken_bpe", lambda *words, **more: {})
    assert PUBLISHED["o200k"] == openai.o200k_base()["pat_str"]
    assert PUBLISHED["qwen"] == PRETOKENIZE_REGEX
    assert (
        PUBLISHED["llama-3"] == inspect.signature(TikTokenConverter).parameters["pattern"].default
    )
    cl100k = openai.cl100k_base()["pat_str"]
    others = {"gpt2": openai.r50k_pat_str, "llama-3": cl100k, "cl100k": cl100k}
    for name, other in others.items():  # faster ones, said to cut alike
        for text in (
            *CODE,
            *made("Thai", 20),
            *made("Tamil", 20),
            "It's\r\n\r\n we'LL \t  do 12345½ it\n",
        ):
            assert regex.findall(PUBLISHED[name], text) == regex.findall(other, text)
    # a line end before spaces, at the end of a text
    ends = [regex.findall(one, "it\n  ") for one in (cl100k, PUBLISHED["cl100k"])]
    assert ends == [["it", "\n  "]] * 2


@pytest.mark.parametrize("name", PUBLISHED)
def test_words_are_those_of_another_engine(name):
    lines = [*CODE, *(line for script in LETTERS for line in made(script, 20))]
    assert words_of(lines, name) == Counter(
        word for line in lines for word in regex.findall(PUBLISHED[name], line)
    )


@pytest.mark.parametrize("own", CUTS, ids=str)
def test_words_are_those_of_tokenizers_on_every_character(own):
    """Every assigned character in a few contexts, and some code points that are
    none.
    """
    points = [point for point in range(1, 0x110000) if not 0xD800 <= point < 0xE000 and point != 10]
    known = [chr(point) for point in points if unicodedata.category(chr(point)) not in ("Cn", "Co")]
    characters = known[:: 1 if own in CUTS[2:6] else 5] + list(map(chr, points[::997]))
    parts = [f"a{one}{one} {one}1" for one in characters]
    lines = ["".join(parts[at : at + 20]) for at in range(0, len(parts), 20)]
    assert words_of(lines, **own) == expected(lines, **own)


@given(st.lists(st.text(ALPHABET, max_size=12), min_size=1, max_size=4), st.sampled_from(CUTS))
def test_words_of_any_text(lines, own):
    assert words_of(lines, **own) == expected(lines, **own)
    assert ["".join(pieces(line, **own)) for line in lines] == lines


def test_words_of_real_text():
    """Some lines of each of the paper's 86 languages."""
    codes = natural(read_languages(default_table()))
    lines = [
        line for code in codes for line in real(code, 25, "mono" if code == "la" else "flores")
    ]
    assert len(lines) == 86 * 25
    for own in CUTS:
        assert words_of(lines, **own) == expected(lines, **own)


@pytest.mark.parametrize(
    ("digits", "parts"),
    [
        ("1", ["1", "2", "3", "4", "5", "6", "7"]),
        ("3", ["123", "456", "7"]),
        ("3-right", ["1", "234", "567"]),
        ("none", ["1234567"]),
    ],
)
@pytest.mark.parametrize("split", SPLITS)
def test_numbers_are_cut_as_named(split, digits, parts):
    if split == "spaces" and digits == "none":
        return
    found = pieces("ab1234567,", split, digits=digits)
    assert found == ["ab", *parts, ","]
    for length in range(1, 12):  # against slices of the number
        number = "٣" * length
        size = {"1": 1, "none": length}.get(digits, 3)
        first = (length % size or size) if digits == "3-right" else size
        bounds = [0, *range(first, length, size), length]
        cut = [number[a:b] for a, b in pairwise(bounds)]
        assert pieces(f"({number})", split, digits=digits) == ["(", *cut, ")"]


@pytest.mark.parametrize(
    ("split", "contractions", "words"),
    CASES["contractions"],
)
def test_contractions(split, contractions, words):
    assert pieces("don't WE'LL", split, contractions=contractions) == words


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("script", ["Malayalam", "Khmer", "Tamil", "Burmese", "Thai", "Arabic"])
def test_marks(script, split):
    """gpt2, llama-3, qwen and cl100k cut between a letter and its mark, o200k, words and spaces
    do not.
    """
    cut = 0
    for line in made(script, 20):
        ends = {end for _, (_, end) in cutter(split).pre_tokenize_str(line)}
        marks = [at for at in range(1, len(line)) if unicodedata.category(line[at]).startswith("M")]
        cut += len(ends.intersection(at for at in marks if line[at - 1] != " "))
    assert bool(cut) == (split in ("gpt2", "llama-3", "qwen", "cl100k"))


def test_a_space_goes_with_the_word_after_it():
    found = pieces("a bc   d, 12 (e) ", "words")
    assert found == ["a", " bc", "  ", " d", ",", " 12", " (", "e", ")", " "]


def test_joiners():
    """Only words and spaces keep a joiner inside a word, o200k cuts before it."""
    for word, split in product(["می\u200cخواهم", "ക\u0d4d\u200dഷ"], SPLITS):
        assert (pieces(word, split) == [word]) == (split in ("words", "spaces")), split
    assert pieces("می\u200cخواهم", "o200k") == ["می", "\u200cخواهم"]
    assert pieces("ക\u0d4d\u200dഷ", "o200k") == ["ക\u0d4d", "\u200dഷ"]
    assert pieces("ക\u0d4d\u200dഷ", "llama-3") == ["ക", "\u0d4d\u200d", "ഷ"]


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cut") / "corpora"
    write_lines(folder / "ml" / "train.txt", [*made("Malayalam", 150), *CODE])
    write_lines(folder.parent / "weights.tsv", ["language\tn", "ml\t100"])
    return folder


@pytest.fixture
def train(corpora, tmp_path):
    """Train by these options, to `{tmp}`."""
    call = caller(root=corpora.parent, tmp=tmp_path)
    options = "--preset lossless --total 700 --corpora {root}/corpora --weights {root}/weights.tsv "
    return lambda line, *words, **named: call("bpe " + options + line, *words, **named)


@pytest.mark.parametrize(
    "own",
    [
        ["--split", "llama-3", "--digits", "3-right"],
        ["--split", "o200k", "--no-contractions"],
        ["--regex", OWN],
    ],
)
def test_a_training_is_that_of_tokenizers(corpora, train, tmp_path, own):
    train("-o {tmp}", *own)
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for line in [*CODE, *made("Malayalam", 20)]:
        assert tokenizer.decode(tokenizer.encode(line, add_special_tokens=False).ids) == line
    settings = json.loads((tmp_path / "description.json").read_text("utf-8"))["settings"]
    assert settings["split"] == ("regex" if "--regex" in own else own[1])
    other = Tokenizer(models.BPE())
    other.pre_tokenizer = tokenizer.pre_tokenizer
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    alphabet = sorted(ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=256 + len(merges), initial_alphabet=alphabet, show_progress=False
    )
    other.train_from_iterator(
        (corpora / "ml" / "train.txt").read_text("utf-8").split("\n"), trainer
    )
    assert json.loads(other.to_str())["model"]["merges"] == merges


@pytest.mark.parametrize(("words", "says"), CASES["refused"])
def test_cuts_that_are_refused(train, tmp_path, words, says):
    with pytest.raises(UsageError, match=re.escape(says)) as error:
        train("-o {tmp}/out", *words)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_cuts_give_a_training_another_name():
    entries = [{}, {"split": {"regex": OWN}}, {"digits": 3}, {"contractions": False}]
    made = [Bpe(kind="bpe", total=1000, **entry) for entry in entries]
    assert len(set(map(training_name, made))) == 4
