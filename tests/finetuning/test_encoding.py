"""Examples to inputs and back: against SentencePiece's own segmentation, word by word,
and definitions.
"""

from itertools import groupby, pairwise
from operator import itemgetter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, processors
from transformers import PreTrainedTokenizerFast

from tests.finetuning.subwords import TOKENIZERS, ours, sentencepiece
from tests.tokenizers.scripts import ODD, make_lines
from vocap.errors import VocapError
from vocap.finetuning.encoding import (
    InputEncoder,
    context_windows,
    cuts,
    encode_pairs,
    encode_questions,
    encode_sentences,
    join_tags,
    load_fast_tokenizer,
    longest_first,
    most_context,
)
from vocap.finetuning.examples import Answer, Pair, Question, TaggedSentence
from vocap.finetuning.features import IGNORED, Features
from vocap.finetuning.tasks import TASKS

XNLI, UDPOS = TASKS["xnli"], TASKS["udpos"]
BOS, EOS, UNKNOWN = 0, 2, 3


def copied() -> Tokenizer:
    return Tokenizer.from_str(ours().backend.to_str())


def encoder_of(backend: Tokenizer, **roles: str) -> InputEncoder:
    return InputEncoder(PreTrainedTokenizerFast(tokenizer_object=backend, **roles))


def rows(features: Features, name: str = "ids") -> list[list[int]]:
    """A column of tokens by input."""
    return [features.row(name, number).tolist() for number in range(len(features))]


LINES = [*make_lines(60, seed=3), "", " ", "\u200b", "<s> </s>", *ODD]


def test_pairs_are_framed_as_xlmr_frames_them():
    pairs = [
        Pair(first, second, "neutral") for first, second in zip(LINES, reversed(LINES), strict=True)
    ]
    features = encode_pairs(pairs, ours(), XNLI.labels, 10_000)
    for pair, ids, second in zip(pairs, rows(features), features.inputs["second"], strict=True):
        left, right = (sentencepiece().encode(text) for text in (pair.first, pair.second))
        assert ids == [BOS, *left, EOS, EOS, *right, EOS]
        assert second == len(left) + 3
    assert features.inputs["label"].tolist() == [2] * len(pairs)
    assert features.inputs["example"].tolist() == list(range(len(pairs)))


def test_long_pairs_lose_the_end_of_the_longer():
    line = " ".join(LINES[:9])
    pairs = [Pair(line, "no", None), Pair("no", line, None), Pair(line, line, None)]
    features = encode_pairs(pairs, ours(), XNLI.labels, 64)
    whole, short = sentencepiece().encode(line), sentencepiece().encode("no")
    assert len(whole) > 64
    kept = [(60 - len(short), len(short)), (len(short), 60 - len(short)), (30, 30)]
    for ids, (left, right), pair in zip(rows(features), kept, pairs, strict=True):
        first, second = (whole if text == line else short for text in (pair.first, pair.second))
        assert ids == [BOS, *first[:left], EOS, EOS, *second[:right], EOS]
    assert features.inputs["label"].tolist() == [IGNORED] * 3


def expected_words(words):
    """Every word by SentencePiece, alone; nothing, or too much, is the unknown
    token.
    """
    pieces = [sentencepiece().encode(word) for word in words]
    return [ids if 0 < len(ids) <= 125 else [UNKNOWN] for ids in pieces]


def sentences():
    words = [word for line in LINES for word in line.split(" ")]
    long = tuple(words * 3)  # of several inputs
    odd = ("", "\u200b", "\ufe0f", "东" * 126, "no" * 400, "a")
    return [
        TaggedSentence(tuple(words[start : start + 7]), tuple(UDPOS.labels[:7]))
        for start in range(0, len(words) - 7, 7)
    ] + [
        TaggedSentence(long, tuple(UDPOS.labels[number % 17] for number in range(len(long)))),
        TaggedSentence(odd, None),
    ]


def test_words_are_encoded_alone_and_none_is_lost():
    examples = sentences()
    features = encode_sentences(examples, ours(), UDPOS.labels)
    assert features.lengths.max() <= 128 and len(features) > len(examples) + 3
    seen = [[] for _ in examples]
    inputs = zip(features.inputs["example"], rows(features), rows(features, "word"), strict=True)
    for example, ids, words in inputs:
        assert ids[0] == BOS and ids[-2:] == [EOS, EOS]
        assert words[0] == -1 and words[-2:] == [-1, -1] and -1 not in words[1:-2]
        for _, group in groupby(zip(words[1:-2], ids[1:-2], strict=True), key=itemgetter(0)):
            seen[example].append([piece for _, piece in group])
    for example, found in zip(examples, seen, strict=True):
        assert found == expected_words(example.words)


def test_parts_of_sentences_are_joined_before_scoring():
    examples = sentences()
    features = encode_sentences(examples, ours(), UDPOS.labels)
    predicted = []
    for labels, words in zip(rows(features, "label"), rows(features, "word"), strict=True):
        firsts = [place for place in range(1, len(words)) if words[place] > words[place - 1]]
        predicted.append([max(labels[place], 0) for place in firsts])
    joined = join_tags(features, predicted, UDPOS.labels)
    wanted = [list(example.tags or ["ADJ"] * len(example.words)) for example in examples]
    assert joined == wanted


def test_windows_hold_question_and_context():
    context = " ".join(LINES[:20])
    start = context.index(LINES[12])
    question = " ".join(LINES[30:40])
    examples = [
        Question("long", question, context, (Answer(LINES[12], start), Answer(context[:3], 0))),
        Question("blank", "no?", context, ()),
        Question("short", "no?", "a b", (Answer("b", 2),)),
        Question("empty", "no?", "\u200b", ()),
    ]
    features = encode_questions(examples, ours(), max_length=100, stride=20, max_question=16)
    example, second, first, last = (
        features.inputs[name] for name in ("example", "second", "start", "end")
    )
    assert example.tolist() == sorted(example) and set(example) == {0, 1, 2, 3}
    whole = sentencepiece().encode(context)
    for one in (0, 1):
        head = [BOS, *sentencepiece().encode(examples[one].question)[:16], EOS, EOS]
        inputs = np.flatnonzero(example == one)
        for number, place in zip(inputs, range(0, len(whole), 20), strict=False):
            part = whole[place : place + 100 - len(head) - 1]
            assert features.row("ids", number).tolist() == [*head, *part, EOS]
            assert second[number] == len(head)
            inside = features.row("offsets", number)[:, 0] >= 0
            assert inside.tolist() == [False] * len(head) + [True] * len(part) + [False]
            assert not features.row("best", number)[~inside].any()
        assert place + len(part) == len(whole)
        # every token is best in one window
        assert sum(int(features.row("best", number).sum()) for number in inputs) == len(whole)
    found = []
    for number in np.flatnonzero((example == 0) & (first > 0)):
        offsets = features.row("offsets", number)
        found.append(context[offsets[first[number], 0] : offsets[last[number], 1]])
    # the first answer, in the windows that hold all of it
    assert found and set(found) == {LINES[12]}
    assert len(found) < (example == 0).sum()
    assert not first[example == 1].any()
    assert features.tokens["ids"][-1] == EOS and not features.row("best", len(features) - 1).any()


@pytest.mark.parametrize("name", ["ours", "bytes"])  # XLM-R's own takes them for its pieces
def test_special_tokens_in_a_text_are_text(name):
    encoder = TOKENIZERS[name]()
    (ids,) = rows(encode_pairs([Pair("<s></s>", "<mask> <pad>", None)], encoder, XNLI.labels))
    assert ids.count(BOS) == 1 and ids.count(EOS) == 3
    assert not {1, encoder.backend.get_vocab_size() - 1} & set(ids)


def test_tokenizers_that_cannot_be_used(tmp_path):
    with pytest.raises(VocapError, match=r"no tokenizer\.json there; name a folder"):
        load_fast_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(VocapError, match="not a usable Hugging Face tokenizer"):
        load_fast_tokenizer(tmp_path)
    backend = copied()
    with pytest.raises(VocapError, match="no unknown token"):
        encoder_of(backend)
    backend.post_processor = processors.TemplateProcessing(
        single="$A", pair="$A $B", special_tokens=[]
    )
    with pytest.raises(VocapError, match="puts no special tokens around a pair"):
        encoder_of(backend, unk_token="<unk>")


def test_a_tokenizer_s_own_truncation_and_padding_are_off():
    backend = copied()
    backend.enable_truncation(4)
    backend.enable_padding(length=50)
    encoder = encoder_of(backend, unk_token="<unk>")
    (ids,) = rows(encode_pairs([Pair("no " * 30, "no", None)], encoder, XNLI.labels))
    assert len(ids) > 30 and 1 not in ids


def test_bert_s_frame_is_kept():
    """[CLS] words [SEP], and one [SEP] between two texts."""
    backend = copied()
    backend.post_processor = processors.BertProcessing(("</s>", EOS), ("<s>", BOS))
    bert = encoder_of(backend, unk_token="<unk>")
    word = sentencepiece().encode("no")
    features = encode_sentences([TaggedSentence(("no",), None)], bert, UDPOS.labels)
    assert rows(features) == [[BOS, *word, EOS]]
    features = encode_pairs([Pair("no", "no", None)], bert, XNLI.labels)
    assert rows(features) == [[BOS, *word, EOS, *word, EOS]]
    assert features.inputs["second"].tolist() == [2 + len(word)]


LENGTHS = st.integers(0, 40)


@given(LENGTHS, LENGTHS, LENGTHS)
def test_the_longer_of_a_pair_loses_its_last_token_until_both_fit(first, second, budget):
    left, right = first, second
    while left + right > budget:
        if left > right:
            left -= 1
        else:
            right -= 1
    assert longest_first(first, second, budget) == (left, right)


@given(st.lists(st.integers(1, 8), max_size=30), st.integers(8, 20))
def test_sentences_are_cut_between_words_as_late_as_possible(lengths, room):
    parts = cuts(lengths, room)
    assert [place for start, end in parts for place in range(start, end)] == list(
        range(len(lengths))
    )
    for number, (start, end) in enumerate(parts):
        assert sum(lengths[start:end]) <= room
        if number + 1 < len(parts):
            assert end > start and sum(lengths[start : end + 1]) > room


@given(st.integers(0, 300), st.integers(1, 50), st.integers(1, 60))
def test_windows_cover_the_context_and_start_a_stride_apart(length, room, stride):
    parts = context_windows(length, room, stride)
    assert {place for start, end in parts for place in range(start, end)} == set(range(length))
    assert (
        parts[0][0] == 0 and parts[-1][1] == length and all(end < length for _, end in parts[:-1])
    )
    assert all(after[0] - before[0] == min(room, stride) for before, after in pairwise(parts))
    assert all(end - start == room for start, end in parts[:-1])


@given(st.integers(1, 200), st.integers(1, 50), st.integers(1, 60))
def test_each_token_has_its_best_window(length, room, stride):
    """As `_check_is_max_context` of the original BERT code decides, window by window
    for one token.
    """
    parts = context_windows(length, room, stride)
    most = most_context(length, parts)
    for place in range(length):
        chosen, best = None, None
        for number, (start, end) in enumerate(parts):
            if start <= place < end:
                score = min(place - start, end - 1 - place) + 0.01 * (end - start)
                if best is None or score > best:
                    chosen, best = number, score
        assert most[place] == chosen
