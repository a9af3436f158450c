from collections import Counter

import pytest
import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from tests.vocabularies.factories import ALPHABETS, make_text
from vocap.unigram.sentencepiece_trainer import Unreachable, train
from vocap.unigram.training_text import character_counts, required_characters


def characters_of_the_smallest_model(lines, coverage):
    """The required characters by SentencePiece: the smallest model that it trains has no other piece."""
    with pytest.raises(Unreachable) as below:
        train(lines, 4, coverage)
    size = int(below.value.reason.split()[-2])
    proto = sentencepiece_model_pb2.ModelProto.FromString(train(lines, size, coverage))
    return {entry.piece for entry in proto.pieces[3:]}


ODD = [
    "<s> and </s> and <unk> in the text <s><s>",
    "①②③ ﬁne ﷺ e\u0301 \u200b \ufeff ÅÅ",
    "\u2585 this line is skipped: qqqqqqqqqqqqqqqqqqqqqq",
    "z" * 4193,
    "\u3042" * 1398,  # 4,194 bytes: skipped, by its bytes
    "",
    "tab\tand\x00nul",
]


@pytest.mark.parametrize("coverage", [0.9995, 0.99, 0.98, 1.0])
@pytest.mark.parametrize("script", sorted(ALPHABETS))
def test_required_characters_are_sentencepieces(script, coverage):
    lines = make_text(script, 300) + ODD
    counts = character_counts([lines[:100], [], lines[100:]])
    required = required_characters(counts, coverage)
    assert set(required) == characters_of_the_smallest_model(lines, coverage)
    assert len(required) == len(set(required))
    if coverage < 1:
        assert len(required) < len(counts)


def test_ties_are_broken_by_code_point():
    lines = ["".join(chr(0x4E00 + number) for number in range(start, 2000, 7)) for start in range(7)]
    counts = character_counts([lines])
    required = required_characters(counts, 0.98)
    assert set(required) == characters_of_the_smallest_model(lines, 0.98)
    assert 1950 < len(required) < 2000


def test_counts_are_of_the_normalised_text():
    lines = [*make_text("latin", 200), "ＡＢＣ ﬁ"]
    normalizer = sentencepiece.SentencePieceNormalizer(
        rule_name="nmt_nfkc", add_dummy_prefix=True, escape_whitespaces=True, remove_extra_whitespaces=True
    )
    expected = Counter(character for line in lines for character in normalizer.normalize(line))
    assert character_counts([lines]) == expected
    assert expected["\u2581"] == len(lines) + sum(line.count(" ") for line in lines)
    assert expected["A"] == 1
    assert character_counts([]) == Counter()
    assert required_characters(Counter()) == []
