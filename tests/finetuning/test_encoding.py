"""Examples to inputs and back: against SentencePiece's own segmentation, word by word, and definitions."""

import numpy as np
import pytest

from tests.finetuning.subwords import TOKENIZERS, ours, sentencepiece
from tests.tokenizers.scripts import ODD, make_lines
from vocap.errors import UsageError, VocapError
from vocap.finetuning.encoding import encode_pairs, encode_questions, encode_sentences, join_tags
from vocap.finetuning.features import NO_LABEL, Ragged
from vocap.finetuning.formats import Answer, Pair, Question, Sentence
from vocap.finetuning.input_encoder import InputEncoder, load_tokenizer
from vocap.finetuning.tasks import TASKS

XNLI, UDPOS = TASKS["xnli"], TASKS["udpos"]
BOS, EOS, UNKNOWN = 0, 2, 3
LINES = [*make_lines(60, seed=3), "", " ", "\u200b", "<s> </s>", *ODD]


def test_ragged_rows():
    rows = [[1, 2], [], [3], [4, 5, 6]]
    ragged = Ragged.of(rows, np.int32)
    assert [row.tolist() for row in ragged] == rows and ragged[-1].tolist() == [4, 5, 6]
    assert [row.tolist() for row in ragged[1:3]] == rows[1:3] and len(Ragged.of([], bool)) == 0
    assert Ragged.of([[[1, 2]], []], np.int32, (2,))[1].shape == (0, 2)
    with pytest.raises(IndexError):
        ragged[4]


def test_pairs_are_framed_as_xlmr_frames_them():
    pairs = [Pair(first, second, "neutral") for first, second in zip(LINES, reversed(LINES), strict=True)]
    features = encode_pairs(pairs, ours(), XNLI.labels, 10_000)
    for pair, ids, second in zip(pairs, features.ids, features.second, strict=True):
        left, right = (sentencepiece().encode(text) for text in (pair.first, pair.second))
        assert ids.tolist() == [BOS, *left, EOS, EOS, *right, EOS]
        assert second == len(left) + 3
    assert features.label.tolist() == [2] * len(pairs) and features.example.tolist() == list(range(len(pairs)))


def test_long_pairs_lose_the_end_of_the_longer():
    line = " ".join(LINES[:9])
    pairs = [Pair(line, "no", None), Pair("no", line, None), Pair(line, line, None)]
    features = encode_pairs(pairs, ours(), XNLI.labels, 64)
    whole, short = sentencepiece().encode(line), sentencepiece().encode("no")
    assert len(whole) > 64
    kept = [(60 - len(short), len(short)), (len(short), 60 - len(short)), (30, 30)]
    for ids, (left, right), pair in zip(features.ids, kept, pairs, strict=True):
        first, second = (whole if text == line else short for text in (pair.first, pair.second))
        assert ids.tolist() == [BOS, *first[:left], EOS, EOS, *second[:right], EOS]
    assert features.label.tolist() == [NO_LABEL] * 3


def expected_words(words):
    """Every word by SentencePiece, alone; nothing, or too much, is the unknown token."""
    pieces = [sentencepiece().encode(word) for word in words]
    return [ids if 0 < len(ids) <= 125 else [UNKNOWN] for ids in pieces]


def sentences():
    words = [word for line in LINES for word in line.split(" ")]
    long = tuple(words * 3)  # of several inputs
    odd = ("", "\u200b", "\ufe0f", "东" * 126, "no" * 400, "a")
    return [
        Sentence(tuple(words[start : start + 7]), tuple(UDPOS.labels[:7])) for start in range(0, len(words) - 7, 7)
    ] + [Sentence(long, tuple(UDPOS.labels[number % 17] for number in range(len(long)))), Sentence(odd, None)]


def test_words_are_encoded_alone_and_none_is_lost():
    examples = sentences()
    features = encode_sentences(examples, ours(), UDPOS.labels)
    assert max(map(len, features.ids)) <= 128 and len(features) > len(examples) + 3
    seen = [[] for _ in examples]
    for number, example in enumerate(features.example):
        ids = features.ids[number]
        assert ids[0] == BOS and ids[-2:].tolist() == [EOS, EOS]
        assert features.first[number][0] == 1 and features.last[number][-1] == len(ids) - 2
        parts = zip(features.first[number], features.last[number], features.word[number], strict=True)
        for first, last, word in parts:
            seen[example].append((int(word), ids[first:last].tolist()))
    for example, found in zip(examples, seen, strict=True):
        assert found == list(enumerate(expected_words(example.words)))


def test_parts_of_sentences_are_joined_before_scoring():
    examples = sentences()
    features = encode_sentences(examples, ours(), UDPOS.labels)
    predicted = [np.maximum(row, 0) for row in features.label]
    joined = join_tags(features, predicted, UDPOS.labels)
    wanted = [list(example.tags or ["ADJ"] * len(example.words)) for example in examples]
    assert joined == wanted
    with pytest.raises(ValueError, match="predictions for"):
        join_tags(features, [row[:-1] for row in predicted], UDPOS.labels)


def test_unknown_labels_stop_the_encoding():
    with pytest.raises(KeyError):
        encode_sentences([Sentence(("a",), ("NN",))], ours(), UDPOS.labels)
    with pytest.raises(KeyError):
        encode_pairs([Pair("a", "b", "maybe")], ours(), XNLI.labels)


def test_inputs_without_room_for_text_are_refused():
    long = Question("a", "no " * 40, "no", ())
    for encode in (
        lambda: encode_pairs([Pair("a", "b", None)], ours(), XNLI.labels, 5),
        lambda: encode_sentences([Sentence(("a",), None)], ours(), UDPOS.labels, 3),
        lambda: encode_questions([long], ours(), max_length=64),
    ):
        with pytest.raises(UsageError, match="for the text; make them longer"):
            encode()


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
    assert features.example.tolist() == sorted(features.example) and set(features.example) == {0, 1, 2, 3}
    whole = sentencepiece().encode(context)
    for example in (0, 1):
        head = [BOS, *sentencepiece().encode(examples[example].question)[:16], EOS, EOS]
        inputs = np.flatnonzero(features.example == example)
        for number, place in zip(inputs, range(0, len(whole), 20), strict=False):
            part = whole[place : place + 100 - len(head) - 1]
            assert features.ids[number].tolist() == [*head, *part, EOS]
            assert features.second[number] == len(head)
            inside = features.offsets[number][:, 0] >= 0
            assert inside.tolist() == [False] * len(head) + [True] * len(part) + [False]
            assert not features.best[number][~inside].any()
        assert place + len(part) == len(whole)
        # every token is best in one window
        assert sum(int(features.best[number].sum()) for number in inputs) == len(whole)
    answers = zip(features.example, features.start, features.end, features.offsets, strict=True)
    found = [
        context[offsets[first, 0] : offsets[last, 1]]
        for example, first, last, offsets in answers
        if example == 0 and first
    ]
    assert found and set(found) == {LINES[12]}  # the first answer, in the windows that hold all of it
    assert len(found) < (features.example == 0).sum()
    assert not features.start[features.example == 1].any()
    assert features.ids[-1].tolist()[-1] == EOS and not features.best[-1].any()


@pytest.mark.parametrize("name", ["ours", "bytes"])  # XLM-R's own takes them for its pieces
def test_special_tokens_in_a_text_are_text(name):
    tokenizer = TOKENIZERS[name]()
    features = encode_pairs([Pair("<s></s>", "<mask> <pad>", None)], tokenizer, XNLI.labels)
    ids = features.ids[0].tolist()
    assert ids.count(BOS) == 1 and ids.count(EOS) == 3 and not {1, len(tokenizer) - 1} & set(ids)


def test_tokenizers_that_cannot_be_used(tmp_path):
    with pytest.raises(VocapError, match=r"no tokenizer\.json there; name a folder"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(VocapError, match="no tokenizer"):
        load_tokenizer(tmp_path)
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer.from_str(ours().backend_tokenizer.to_str())
    with pytest.raises(VocapError, match="no unknown token"):
        InputEncoder(PreTrainedTokenizerFast(tokenizer_object=backend))
    from tokenizers import processors

    backend.post_processor = processors.TemplateProcessing(single="$A", pair="$A $B", special_tokens=[])
    with pytest.raises(VocapError, match="puts no special tokens around a pair"):
        InputEncoder(PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>"))


def test_a_tokenizer_s_own_truncation_and_padding_are_off():
    tokenizer = ours(byte_fallback=True)
    tokenizer.backend_tokenizer.enable_truncation(4)
    tokenizer.backend_tokenizer.enable_padding(length=50)
    features = encode_pairs([Pair("no " * 30, "no", None)], tokenizer, XNLI.labels)
    assert len(features.ids[0]) > 30 and 1 not in features.ids[0]


def test_bert_s_frame_is_kept():
    """[CLS] words [SEP], and one [SEP] between two texts."""
    from tokenizers import Tokenizer, processors
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer.from_str(ours().backend_tokenizer.to_str())
    backend.post_processor = processors.BertProcessing(("</s>", EOS), ("<s>", BOS))
    bert = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>")
    word = sentencepiece().encode("no")
    assert encode_sentences([Sentence(("no",), None)], bert, UDPOS.labels).ids[0].tolist() == [BOS, *word, EOS]
    features = encode_pairs([Pair("no", "no", None)], bert, XNLI.labels)
    assert features.ids[0].tolist() == [BOS, *word, EOS, *word, EOS]
    assert features.second.tolist() == [2 + len(word)]
