"""The exported normaliser against SentencePiece's own, of which it must be an exact
copy.
"""

import io
import itertools
import random
import unicodedata

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st
from sentencepiece import sentencepiece_model_pb2

from tests.cases import read_cases
from tests.tokenizers.scripts import ODD, WORDS, make_lines, model
from vocap.errors import VocapError
from vocap.tokenizer_files.charsmap import read_charsmap
from vocap.tokenizer_files.export import normalizer_of
from vocap.tokenizer_files.normalizer import build_normalizer, single_keys
from vocap.unigram.sentencepiece_trainer import train
from vocap.unigram.text_settings import TextSettings
from vocap.unigram.training_text import trainer_normalizer

CASES = read_cases(__file__)


def own_normalizer(rules="nmt_nfkc", prefix=True, squeeze=True):
    """SentencePiece's own."""
    return sentencepiece.SentencePieceNormalizer(
        rule_name=rules,
        add_dummy_prefix=prefix,
        escape_whitespaces=True,
        remove_extra_whitespaces=squeeze,
    )


REFERENCE = own_normalizer()


def differing(exported, lines, own=REFERENCE):
    return [
        (line, want)
        for line, want in zip(lines, own.normalize(lines), strict=True)
        if exported.normalize_str(line) != want
    ]


@pytest.fixture(scope="module")
def charsmap():
    return model().normalizer_spec.precompiled_charsmap


@pytest.fixture(scope="module")
def rules(charsmap):
    return read_charsmap(charsmap)


@pytest.fixture(scope="module")
def exported(rules, charsmap):
    return build_normalizer(rules, charsmap)


def test_every_beginning_of_a_key_is_a_key(rules):
    """The properties of keys on which the fences rely: two neighbours, and the code
    points before.
    """
    assert not [key for key in rules if len(key) > 2 and key[:-1] not in rules]


def test_keys_of_several_code_points(exported, rules):
    keys = sorted(key for key in rules if len(key) > 1)
    chosen = keys[::17] + single_keys(rules)
    assert not differing(exported, [f"x{key}y {key}" for key in chosen])
    assert not differing(exported, [f"{key}\u0301{key}\u0323" for key in chosen[::5]])


def test_every_code_point(exported):
    points = [chr(code) for code in range(1, 0x30000) if not 0xD800 <= code < 0xE000]
    chosen = points[:0x3400] + points[0x3400::11]
    assert not differing(exported, [f"a{point}\u0301\u0323b" for point in chosen])
    assert not differing(exported, [f"{point}{point}x" for point in chosen[::3]])


def test_words_of_many_scripts(exported):
    assert not differing(exported, make_lines(2000))


def test_hostile_strings(exported, rules):
    rng = random.Random(5)
    keys = rng.sample(sorted(rules), 3000)
    marks = sorted({key[-1] for key in rules if len(key) > 1})
    parts = [*ODD, *ODD, *marks, *keys]
    assert not differing(
        exported, ["".join(rng.choices(parts, k=rng.randint(1, 9))) for _ in range(20_000)]
    )


@settings(max_examples=200, deadline=None)
@given(st.text(st.one_of(st.sampled_from(ODD), st.characters(exclude_categories=["Cs"]))))
def test_any_text(exported, text):
    assert exported.normalize_str(text) == REFERENCE.normalize(text)


# marks of Unicode 16 to 18, younger than the tables behind \p{M} of tokenizers 0.23 and
# than those of Python
YOUNG_MARKS = [
    chr(code)
    for first, last in ((0x1ACF, 0x1AF0), (0x10EFA, 0x10EFB))
    for code in range(first, last + 1)
]


def test_marks_of_any_version_of_unicode(exported, rules):
    """`Precompiled` would drop them after a short key.
    benchmarks/fuzzing/code_points.py compares all pairs.
    """
    short = sorted({key[0] for key in rules if ord(key[0]) < 0x800})
    assert {"\u00a0", "½", "\u037e", "\u0387", "ſ"} < set(short)
    assert not differing(
        exported, ["_".join(first + mark for mark in YOUNG_MARKS) for first in short]
    )
    firsts = random.Random(3).sample(sorted({key[0] for key in rules}), 300)
    marks = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code))[0] == "M"]
    chosen = YOUNG_MARKS + random.Random(4).sample(marks, 200)
    assert not differing(exported, ["_".join(first + mark for mark in chosen) for first in firsts])


def test_code_points_of_all_planes_after_a_key(exported, rules):
    rng = random.Random(6)
    points = [
        chr(code) for code in rng.sample(range(0x110000), 30_000) if not 0xD800 <= code < 0xE000
    ]
    firsts = sorted({key[0] for key in rules})
    assert not differing(exported, [rng.choice(firsts) + point for point in points])


# what may stand for something inside the normaliser
INSIDE = [
    *map(chr, (*range(0xFDD0, 0xFDF0), 0xE000, 0xE001, 0xE002, 0xF8FF, 0xF0000, 0x100000, 0x10FFFF))
]


@pytest.fixture
def differing_with(rules, charsmap):
    """`differing` of the normaliser with symbols."""

    def compare(symbols, lines):
        own = sentencepiece.SentencePieceProcessor(
            model_proto=model(size=500, symbols=symbols).SerializeToString()
        )
        return differing(build_normalizer(rules, charsmap, symbols), lines, own)

    return compare


def test_text_cannot_forge_a_placeholder(differing_with):
    symbols = ("①", "ที่", "™", "\ufdd0x")
    rng = random.Random(7)
    parts = [*INSIDE, *symbols, "x", "e", "\u0301", " "]
    lines = [*INSIDE, *(one + two for one in INSIDE for two in INSIDE)]
    lines += ["".join(rng.choices(parts, k=rng.randint(1, 8))) for _ in range(4000)]
    assert not differing_with(symbols, lines)


def test_symbols_are_kept_as_they_are_written(differing_with):
    """SentencePiece matches user-defined symbols before it normalises
    (`PrefixMatcher`).
    """
    symbols = ("①", "<date>", "e\u0301x", "ที่", "\u0301\u0301", "™")
    rng = random.Random(2)
    parts = [*symbols, *symbols, "<date>\u0338", *"aex\u0301\u0323② ที", *WORDS["th"]]
    lines = ["".join(rng.choices(parts, k=rng.randint(1, 7))) for _ in range(3000)]
    assert not differing_with(symbols, lines)


@pytest.mark.parametrize(("symbols", "parts"), CASES["symbols"])
def test_symbols_that_meet_others_and_keys(differing_with, symbols, parts):
    lines = [itertools.product(parts, repeat=length) for length in range(1, 6)]
    assert not differing_with(tuple(symbols), list(map("".join, itertools.chain(*lines))))


def test_text_that_starts_with_deleted_or_fenced_characters(exported):
    """`NormalizedString` panics, or loses its offsets, where something is put before
    the first character.
    """
    starts = ["\x01", "\x01\x02", "\u0301", "\u3099", "\u11a8", "\ufeff", "\u200b\u0301", ""]
    assert not differing(
        exported, [start + end for start in starts for end in ("", "a", "\u0301", " ")]
    )


@pytest.mark.parametrize("part", [" ", "a ", "\u0301", "\x01", "e\u0323\u0301", "\u1100\u1161"])
def test_long_lines(exported, part):
    """A quadratic step would take minutes."""
    line = "x" + part * (100_000 // len(part)) + "x"
    assert exported.normalize_str(line) == REFERENCE.normalize(line)


def test_symbols_with_spaces(rules, charsmap):
    with pytest.raises(VocapError, match=r"symbol 'a b' holds a space.*leave the symbol out"):
        build_normalizer(rules, charsmap, ["x", "a b"])
    assert build_normalizer(rules, charsmap, ["x", "a b"], remove_extra_spaces=False)


@pytest.mark.parametrize(("prefix", "squeeze"), [(False, True), (True, False), (False, False)])
def test_other_treatments_of_spaces(rules, charsmap, prefix, squeeze):
    other = build_normalizer(rules, charsmap, (), prefix, squeeze)
    assert not differing(other, CASES["spaces"], own_normalizer("nmt_nfkc", prefix, squeeze))


def test_no_rules_at_all():
    assert not differing(build_normalizer({}, b""), CASES["no rules"], own_normalizer("identity"))


@pytest.mark.parametrize("name", ["nfkc", "nmt_nfkc_cf", "nfkc_cf", "nfc"])
def test_the_other_rules(name):
    """With case folding, and without a character that the table deletes."""
    own = trainer_normalizer(TextSettings(normalization=name))
    proto = sentencepiece_model_pb2.ModelProto.FromString(
        train(make_lines(100), 300, settings=TextSettings(normalization=name))
    )
    table = read_charsmap(proto.normalizer_spec.precompiled_charsmap)
    other = build_normalizer(table, proto.normalizer_spec.precompiled_charsmap)
    rng, keys = random.Random(name), sorted(key for key in table if len(key) > 1)
    points = [
        chr(code)
        for code in (*range(1, 0x3400), *range(0x3400, 0xD800, 29), *range(0xE000, 0x30000, 29))
    ]
    marks = ["\u0301", "\u0323", "\u0345", "\u0308", "\u0327", " "]
    parts = (keys, points, marks, [key[0] for key in keys])
    lines = [f"x{key}y {key}\u0323" for key in keys[::40] + single_keys(table)]
    lines += [f"a{point}\u0301\u0323{point}b" for point in points]
    lines = [" ".join(lines[at::1000]) for at in range(1000)]  # a call costs 834 steps
    lines += [
        "".join(rng.choice(rng.choice(parts)) for _ in range(rng.randint(1, 8)))
        for _ in range(5000)
    ]
    assert not differing(other, lines, own)


@pytest.mark.parametrize("seed", range(12))
def test_a_file_of_rules_without_nfc(seed, tmp_path):
    """Random keys of up to three characters that overlap, deletions and symbols among
    them.
    """
    rng, path = random.Random(seed), tmp_path / "rules.tsv"
    drawn = {
        "".join(rng.choices("abcé 日\u0301", k=rng.randint(1, 3))): ""
        for _ in range(rng.randint(1, 25))
    }
    rules = {key: "".join(rng.choices("xyzXö", k=rng.randint(0, 2))) for key in drawn}
    points = [
        [" ".join(f"{ord(one):X}" for one in text) for text in rule] for rule in rules.items()
    ]
    path.write_text("".join(f"{key}\t{value}\n" for key, value in points), "ascii")
    symbols = tuple({"".join(rng.choices("abc日", k=rng.randint(1, 3))) for _ in range(seed % 4)})
    kept = {"remove_extra_whitespaces": bool(seed % 2), "add_dummy_prefix": bool(seed % 3)}
    words, trained = ["".join(rng.choices("qwrtpsdfgh", k=5)) for _ in range(600)], io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(words),
        model_writer=trained,
        vocab_size=300,
        normalization_rule_tsv=str(path),
        user_defined_symbols=list(symbols),
        byte_fallback=True,
        minloglevel=2,
        **kept,
    )
    own = sentencepiece.SentencePieceProcessor(model_proto=trained.getvalue())
    other = normalizer_of(sentencepiece_model_pb2.ModelProto.FromString(trained.getvalue()))
    lines = [
        "".join(rng.choices("abcé 日\u0301qX\u00e0\ufdd0", k=rng.randint(0, 12)))
        for _ in range(3000)
    ]
    assert not differing(other, lines, own)


@pytest.mark.parametrize(
    ("before", "message"),
    [("", r"in 0 rules and \d+ code points.*train"), ("x", "NFC in 1200 rules")],
)
def test_a_normaliser_that_cannot_be_expressed(before, message):
    rules = {f"{before}{chr(0x4E00 + number)}": "y" for number in range(1200)}
    with pytest.raises(VocapError, match=message):
        build_normalizer({"\x01": ""} | rules, b"")
