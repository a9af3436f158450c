import math
from collections import Counter

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from tests.made_text import write_lines
from tests.tokenizer_files.factories import train_model
from tests.vocabularies.factories import ALPHABETS, make_text
from vocap.text_files import lines as text_lines
from vocap.text_files.records import read_blocks
from vocap.tokenizer_files.encoders import SentencePieceEncoder
from vocap.unigram.alp import average_log_probability, corpus_alp


def trained(lines, size=250):
    return sentencepiece.SentencePieceProcessor(model_proto=train_model(lines, size))


def naive_alp(processor, lines):
    """Equation 1 as it stands: p_uni from the tokens of all lines, the mean over lines
    of their logs' sum.
    """
    tokens = [
        [processor.id_to_piece(number) for number in processor.encode(line)] for line in lines
    ]
    counts = Counter(token for line in tokens for token in line)
    total = sum(counts.values())
    return sum(sum(math.log(counts[token] / total) for token in line) for line in tokens) / len(
        lines
    )


@pytest.mark.parametrize("script", sorted(ALPHABETS))
def test_equals_the_definition(script, tmp_path):
    lines = make_text(script, 400)
    processor = trained(lines)
    # other lines than the model's, an empty one and unknown characters among them; no
    # newline at the end
    others = [*make_text(script, 150, seed=2), "", "ωψ ϟ ωψ", " ", "a\u2028b\rc\u0085d"]
    path = tmp_path / "text.txt"
    path.write_text("\n".join(others), encoding="utf-8", newline="")

    result = corpus_alp(SentencePieceEncoder(processor), read_blocks(path))

    assert result.sentences == len(others)
    assert result.alp == pytest.approx(naive_alp(processor, others), rel=1e-12)
    assert result.counts[processor.unk_id()] > 0
    assert result.tokens == sum(len(processor.encode(line)) for line in others)
    assert result.tokens_per_sentence == result.tokens / len(others)


def test_the_same_bits_for_any_blocks(tmp_path, monkeypatch):
    lines = make_text("cyrillic", 300)
    path = write_lines(tmp_path / "text.txt", lines)
    encoder = SentencePieceEncoder(trained(lines))
    whole = corpus_alp(encoder, [lines])
    for size in (1, 5000, 1 << 20, 100):
        monkeypatch.setattr(text_lines, "BLOCK", size)
        part = corpus_alp(encoder, read_blocks(path))
        assert (part.alp, part.sentences) == (whole.alp, whole.sentences)
        assert np.array_equal(part.counts, whole.counts)
    assert len(list(read_blocks(path))) > 100


def test_by_hand():
    # 6 of one token, 2 of another, in 4 lines
    expected = (6 * math.log(6 / 8) + 2 * math.log(2 / 8)) / 4
    assert average_log_probability(np.array([0, 6, 2]), 4) == pytest.approx(expected, rel=1e-15)
    assert average_log_probability(np.array([5]), 5) == 0
    with pytest.raises(ValueError, match="there are 0"):
        average_log_probability(np.array([1]), 0)


@given(
    st.lists(st.integers(0, 10**12), min_size=1, max_size=30), st.integers(1, 10**6), st.randoms()
)
def test_order_of_the_ids_changes_nothing(counts, sentences, random):
    shuffled = list(counts)
    random.shuffle(shuffled)
    assert average_log_probability(counts, sentences) == average_log_probability(
        shuffled, sentences
    )


def test_an_empty_text_has_no_alp(tmp_path):
    (tmp_path / "empty.txt").write_bytes(b"")
    encoder = SentencePieceEncoder(trained(make_text("latin", 100), 60))
    assert corpus_alp(encoder, read_blocks(tmp_path / "empty.txt")) is None
