"""Characters that no id stands for, against the definition: what was taken away by hand."""

import json

import pytest
import sentencepiece
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from tests.tokenizer_files.factories import parse, train_model
from vocap.tokenizer_files.encoders import HuggingFaceEncoder, SentencePieceEncoder, find_unknown
from vocap.tokenizer_files.export import normalizer_of
from vocap.tokenizer_files.unknown import STEPS, begins_as_known

BARE = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()])
PRINTABLE = [chr(code) for code in range(0x20, 0x7F)]


def unknown(encoder, line):
    found = find_unknown(encoder, [line], encoder.encode_batch([line]))[0]
    return found.characters, found.size


def byte_pairs(characters=PRINTABLE, normalizer=None, cut=None, **options):
    vocabulary = {one: number for number, one in enumerate(characters)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [], **options))
    if normalizer:
        tokenizer.normalizer = normalizer
    if cut:
        tokenizer.pre_tokenizer = cut
    return HuggingFaceEncoder(tokenizer, None)


@pytest.mark.parametrize(
    ("normalizer", "line", "lost"),
    [
        (None, "aЯb Жя", "ЯЖя"),
        (normalizers.Replace("b", ""), "abcbb", "bbb"),
        (normalizers.Replace(Regex("(?<=a)b"), ""), "abcb", "b"),
        (normalizers.Replace("http://", ""), "see http://a", "http://"),
        # joined, not lost
        (normalizers.Replace("``", '"'), "a``b", ""),
        (BARE, "e\u0301 é", ""),
        (BARE, "q\u0301", "\u0301"),
        (normalizers.NFKC(), "\uff46\ufb01", ""),
        # spaces and controls
        (normalizers.Strip(), "  ab \u3000", ""),
        (normalizers.BertNormalizer(), "a\u00adb\u200d\ufe0f\x01c\ufeff", ""),
    ],
)
def test_a_character_without_an_id_counts_as_its_bytes(normalizer, line, lost):
    assert unknown(byte_pairs(normalizer=normalizer), line) == (lost, len(lost.encode()))


@pytest.mark.parametrize(
    "cut",
    [
        pre_tokenizers.Punctuation("removed"),
        pre_tokenizers.Split(Regex("[-,]"), "removed"),
        pre_tokenizers.Sequence([pre_tokenizers.CharDelimiterSplit(sign) for sign in "-,"]),
    ],
)
def test_what_a_cut_removes_counts(cut):
    assert unknown(byte_pairs(cut=cut), "a-b, c") == ("-,", 2)


def test_of_a_character_with_some_bytes_the_others_count():
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    # Я is D0 AF, я is D1 8F; D0 has an id
    held = [*PRINTABLE[1:], "Ġ", "Ð"]
    assert unknown(byte_pairs(held, cut=level), "a Яя") == ("Яя", 3)
    whole = byte_pairs(sorted(alphabet), cut=level)
    assert not whole.drops and unknown(whole, "a Яя") == ("", 0)


def train(kind, **options):
    lines = ["the old boat", "a small house", "the house"] * 30
    proto = train_model(lines, 20, model_type=kind, hard_vocab_limit=False, **options)
    return SentencePieceEncoder(sentencepiece.SentencePieceProcessor(model_proto=proto))


def test_a_space_inside_unknown_words_is_one_byte():
    encoder = train("word")
    assert unknown(encoder, "лодка дом") == ("лодка дом", 17)
    assert unknown(encoder, "the лодка  дом") == (" лодка дом", 18)


def test_what_rules_of_sentencepiece_delete_counts(tmp_path):
    rules = tmp_path / "rules.tsv"
    rules.write_text("0062\t\n", encoding="utf-8")  # the letter b
    encoder = train("char", normalization_rule_tsv=str(rules))
    assert encoder.processor.encode("b") == [] and unknown(encoder, "boat") == ("b", 1)


def test_the_steps_of_an_export_are_known_to_keep_text():
    steps = json.loads(normalizer_of(parse(train_model())).__getstate__())["normalizers"]
    assert len(steps) == STEPS and begins_as_known([*steps, "one behind"])
    assert not begins_as_known(["one before", *steps])


def test_the_bytes_behind_no_id_are_dropped_ones_of_the_round_trip_too():
    encoder = byte_pairs()
    assert encoder.encode_batch(["Я", "a"]) == [[], [PRINTABLE.index("a")]]
    assert find_unknown(encoder, ["Я"], [[]])[0].dropped == 1
