"""Plain lines get the ids that all steps of the normaliser give."""

import json
import random
from hashlib import sha256

import pytest
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

from tests.cases import read_cases
from tests.tokenizer_files.factories import parse, train_model
from vocap.tokenizer_files.charsmap import read_charsmap
from vocap.tokenizer_files.encoders import HuggingFaceEncoder
from vocap.tokenizer_files.normalizer import build_normalizer
from vocap.tokenizer_files.plain_text import DIGEST, STEPS, TABLE, choose_tokenizer

LINES = read_cases(__file__)["lines"]


@pytest.fixture(scope="module")
def table():
    return parse(train_model()).normalizer_spec.precompiled_charsmap


def build(normalizer) -> Tokenizer:
    """A tokenizer of bytes, with a step behind the normaliser's, as those of `vocap bpe`."""
    alphabet = {name: number for number, name in enumerate(pre_tokenizers.ByteLevel.alphabet())}
    tokenizer = Tokenizer(models.BPE(alphabet | {"Ġa": 256}, [("Ġ", "a")]))
    tokenizer.normalizer = normalizers.Sequence([normalizer, normalizers.Replace("\u2581", " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens(["<s>"])
    return tokenizer


def test_the_digest_is_that_of_the_steps_of_nmt_nfkc(table):
    built = build_normalizer(read_charsmap(table), table)
    steps = json.loads(built.__getstate__())["normalizers"]
    assert steps[TABLE]["type"] == "Precompiled"
    assert (len(steps), sha256(json.dumps(steps).encode()).hexdigest()) == (STEPS, DIGEST)


def test_lines_get_the_same_ids(table):
    tokenizer = build(build_normalizer(read_charsmap(table), table))
    encoder = HuggingFaceEncoder(tokenizer, None)
    rng = random.Random(1)
    pool = "".join(LINES) + "abcd   "
    made = ["".join(rng.choices(pool, k=rng.randint(0, 9))) for _ in range(4000)]
    wanted = [
        entry.ids for entry in tokenizer.encode_batch([*LINES, *made], add_special_tokens=False)
    ]
    assert encoder.encode_batch([*LINES, *made]) == wanted
    plain = [line for line in LINES if encoder.choose(line) is not tokenizer]
    assert plain[:3] == ["", "a", "a b"]
    assert {"日本", "<s>", "\ufdd0"} < set(plain)
    assert not {" a", "a  b", "e\u0301", "ﬁ ½", "\u2581"} & set(plain)


def has_no_plain_line(tokenizer: Tokenizer) -> bool:
    choose = choose_tokenizer(tokenizer)
    return all(choose(line) is tokenizer for line in LINES)


def test_other_tokenizers_have_no_plain_lines(table):
    built = build_normalizer(read_charsmap(table), table)
    for other in (
        normalizers.NFKC(),
        normalizers.Sequence([normalizers.Lowercase(), built]),
        build_normalizer(read_charsmap(table), table, dummy_prefix=False),
        build_normalizer(read_charsmap(table), table, ["x"]),
    ):
        assert has_no_plain_line(HuggingFaceEncoder(build(other), None).tokenizer)
    assert has_no_plain_line(build(built))  # its special tokens are found in text
    with_added = build(built)
    with_added.add_tokens([AddedToken(" b")])
    assert has_no_plain_line(HuggingFaceEncoder(with_added, None).tokenizer)
