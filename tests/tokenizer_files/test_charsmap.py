"""The rules of a character map: what SentencePiece does with them."""

import sentencepiece

from tests.tokenizer_files.factories import BUILT_IN, built_in_maps, charsmap, unit
from vocap.tokenizer_files.charsmap import read_charsmap

FREE = 1 << 31  # no byte leads there
ROOT = unit(1, 0)  # whatever its label, only not 0: NUL would lead back to it


def test_the_rules_are_those_of_the_library():
    """Every rule of every map of its own, by the normaliser of that name: 225,262 of
    nmt_nfkc, for one.
    """
    tables = {len(rules): rules for rules in map(read_charsmap, sorted(built_in_maps()))}
    assert len(tables) == 4 and 225_262 in tables
    agreeing = {}
    for name in BUILT_IN:
        normalizer = sentencepiece.SentencePieceNormalizer(rule_name=name)
        for size, rules in tables.items():
            keys = [key for key in rules if key.strip() == key][::101]
            if normalizer.normalize([f"x{key}y" for key in keys]) == [
                f"x{rules[key]}y" for key in keys
            ]:
                agreeing.setdefault(name, []).append(size)
    assert all(name in agreeing for name in BUILT_IN)
    assert 225_262 in agreeing["nmt_nfkc"]
    assert read_charsmap(b"") == {}


def test_rules_by_hand():
    """`a` and `ab`, whose node both leads on and ends a key."""
    units = [FREE] * 256
    units[0] = ROOT
    units[ord("a")] = unit(ord("a"), 1, leaf=True)  # its children stand at (97 ^ 1) ^ byte
    base = ord("a") ^ 1
    units[base] = 1 << 31 | 0
    units[base ^ ord("b")] = unit(ord("b"), 4, leaf=True)
    units[base ^ ord("b") ^ 4] = 1 << 31 | 2
    assert read_charsmap(charsmap(units, "x\0é\0".encode())) == {"a": "x", "ab": "é"}
