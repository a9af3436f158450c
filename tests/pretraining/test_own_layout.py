"""Pre-training with special tokens of the user's: blocks, masks, batches, the exported
model.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from transformers import AutoModelForMaskedLM, AutoTokenizer

from tests.pretraining.factories import TOTAL, make_tokenizer, pretrain_arguments
from tests.pretraining.processes import trained
from vocap.adapt.unigram_tokenizer import append
from vocap.pretraining.data import (
    TrainingBatches,
    Vocabulary,
    load_data,
    mask_tokens,
    open_language,
)
from vocap.pretraining.tokenizing import tokenize_language
from vocap.text_files import Layout
from vocap.tokenizer_files.layout import serialize
from vocap.tokenizer_files.model_file import read_model

ENDS = {"token": "<|end|>", "role": "eos"}, {"token": "<|begin|>", "role": "bos"}
LAYOUT = json.dumps(
    {"special": ["<unk>", ENDS[0], "<|user|>", ENDS[1], "<pad>"], "reserved": 3, "multiple_of": 8}
)
UNK, EOS, USER, BOS, PAD, MASK = 0, 1, 2, 3, 4, TOTAL - 1
RESERVED = [5, 6, 7]
SPECIAL = [UNK, EOS, USER, BOS, PAD, *RESERVED, MASK]


@pytest.fixture(scope="module")
def arguments(tmp_path_factory) -> list[str]:
    return pretrain_arguments(tmp_path_factory.mktemp("own"), LAYOUT, steps=10)


@pytest.fixture(scope="module")
def data(arguments):
    tokenizer, tokens = (
        Path(arguments[arguments.index(name) + 1]) for name in ("--tokenizer", "--tokens")
    )
    return load_data(tokens, ["de", "ja", "ru"], tokenizer, 0.7, "lines")


def test_no_special_token_is_masked_drawn_or_predicted(data):
    assert (data.special.pad, data.special.mask) == (PAD, MASK)
    assert data.special.all == sorted(SPECIAL)
    first, *_, last = data.train[0][0].tolist()
    assert (first, last) == (BOS, EOS)
    ids = Vocabulary(data.vocabulary, data.special)
    batches = TrainingBatches(data.train, data.q, ids, 3, 64, 64)
    seen = drawn = 0
    for step in range(30):
        (batch,) = batches.step(step)
        assert not np.isin(batch.targets, SPECIAL).any()
        shown = batch.input_ids.ravel()[batch.positions]
        assert set(np.unique(shown[np.isin(shown, SPECIAL)])) <= {MASK}
        drawn += int(((shown != MASK) & (shown != batch.targets)).sum())
        seen += int((shown == MASK).sum())
        assert (batch.input_ids[~batch.attention] == PAD).all() and not (
            batch.input_ids[batch.attention] == PAD
        ).any()
    assert seen > 1000 and drawn > 100


def test_the_exported_model_knows_the_ids(arguments, tmp_path):
    whole = tmp_path / "whole"
    trained(arguments, whole)
    model = AutoModelForMaskedLM.from_pretrained(whole / "model")
    tokenizer = AutoTokenizer.from_pretrained(whole / "model")
    for one in (model.config, tokenizer):
        assert (one.bos_token_id, one.eos_token_id, one.pad_token_id) == (BOS, EOS, PAD)
    first, *_, last = tokenizer("a").input_ids
    assert (tokenizer.mask_token_id, first, last) == (MASK, BOS, EOS)


def test_pieces_behind_the_mask_are_words(tmp_path):
    """As in a tokenizer that `vocap extend` made: its <mask> is not the last id."""
    tokenizer = make_tokenizer(tmp_path / "tokenizer")
    longer = append(
        read_model(tokenizer / "sentencepiece.model"), {"\u2581new": -9.0, "\u2581newer": -9.5}
    )
    model = tmp_path / "extended.model"
    model.write_bytes(serialize(longer))
    text = tmp_path / "text.txt"
    text.write_text("new newer new\n" * 3, "utf-8")
    heldout = tmp_path / "heldout.txt"
    heldout.write_text("newer\n", "utf-8")
    tokenize_language("de", [str(text)], Layout(), heldout, model, tmp_path / "de")
    found = open_language(tmp_path / "de")
    ids = Vocabulary(TOTAL + 2, found.special)
    assert found.special.mask == TOTAL - 1 and found.special.all == [0, 1, 2, 3, TOTAL - 1]
    assert ids.words.tolist() == [*range(4, TOTAL - 1), TOTAL, TOTAL + 1]
    assert found.train[0].tolist() == [0, *([TOTAL, TOTAL + 1, TOTAL, 2] * 3)]
    seen, places, targets = mask_tokens(
        np.array([TOTAL, TOTAL + 1, TOTAL - 1] * 100), ids, np.random.default_rng(0)
    )
    assert len(places) and set(targets.tolist()) == {TOTAL, TOTAL + 1} and TOTAL - 1 in seen[places]
