"""The rules of a character map: what SentencePiece does with them, and an error for whatever is no map."""

import random

import pytest
import sentencepiece

from tests.tokenizer_files.factories import BUILT_IN, built_in_maps, charsmap, unit
from vocap.errors import VocapError
from vocap.tokenizer_files.normalizer import read_charsmap

FREE = 1 << 31  # no byte leads there
ROOT = unit(1, 0)  # whatever its label, only not 0: NUL would lead back to it


@pytest.fixture(scope="module")
def largest():
    return max(built_in_maps(), key=len)


def test_the_rules_are_those_of_the_library():
    """Every rule of every map of its own, by the normaliser of that name: 225,262 of nmt_nfkc, for one."""
    tables = {len(rules): rules for rules in map(read_charsmap, sorted(built_in_maps()))}
    assert len(tables) == 4 and 225_262 in tables
    agreeing = {}
    for name in BUILT_IN:
        normalizer = sentencepiece.SentencePieceNormalizer(rule_name=name)
        for size, rules in tables.items():
            keys = [key for key in rules if key.strip() == key][::101]
            if normalizer.normalize([f"x{key}y" for key in keys]) == [f"x{rules[key]}y" for key in keys]:
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
    units[base ^ ord("b")] = FREE
    units[base ^ 0xFF] = unit(0xFF, 4, leaf=True)
    units[base ^ 0xFF ^ 4] = 1 << 31 | 2
    with pytest.raises(VocapError, match=r"the model: .*damaged .*can't decode byte 0xff"):
        read_charsmap(charsmap(units, "x\0é\0".encode()))


@pytest.mark.parametrize("cut", [3, 7, 100, 5000, -1])
def test_a_table_that_is_cut_off(largest, cut):
    with pytest.raises(VocapError, match=r"here.model: its normalisation rules are damaged .*; train or download"):
        read_charsmap(largest[:cut], "here.model")


def test_tables_with_changed_bytes_end_in_an_error_or_a_table(largest):
    """No crash, no endless walk, whatever the units of the trie claim."""
    rng = random.Random(3)
    failed = 0
    for _ in range(20):
        damaged = bytearray(largest)
        for _ in range(rng.choice((1, 10, 1000))):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            read_charsmap(bytes(damaged))
        except VocapError:
            failed += 1
    assert failed >= 5


@pytest.mark.parametrize("labels", [[97], range(1, 256)])
def test_a_circle_in_the_trie(labels):
    """Nodes that lead to themselves: keys without end, of one byte or of all."""
    units = [0] * 256
    for label in labels:
        units[label] = unit(label, label)  # its children stand where the root's do
    with pytest.raises(VocapError, match="damaged"):
        read_charsmap(charsmap(units))
