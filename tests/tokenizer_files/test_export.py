"""The export against SentencePiece: the same ids for any line, in `tokenizers` and in
`transformers`.
"""

import json
import os
import random
import re
import subprocess
import sys
import unicodedata
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor
from tokenizers import Tokenizer

from tests.commands import run
from tests.made_text import write_lines
from tests.tokenizers.scripts import ODD, make_lines, model, processor
from vocap.cli import vocap
from vocap.errors import UsageError, VocapError
from vocap.tokenizer_files.card import About, write_card
from vocap.tokenizer_files.export import build_tokenizer, export_unigram, scores_of
from vocap.tokenizer_files.hard_strings import HARD
from vocap.tokenizer_files.id_layout import XLM_R_LAYOUT
from vocap.tokenizer_files.layout import Contents, build_model

SYMBOLS = ("<date>", "①", "ที่", "ng")
MODELS = {
    "plain": {},
    "bytes": {"size": 680, "byte_fallback": True},
    "symbols": {"size": 500, "symbols": SYMBOLS},
    "both": {"size": 760, "byte_fallback": True, "symbols": SYMBOLS},
    "folded": {"rules": "nfkc_cf"},
}
# as all rules are the subject of test_normalizer.py, most tests here have a model without,
# whose export is quick
NO_RULES = {"rules": "identity"}
SPECIALS = [
    "<s>",
    "a <s> b",
    "<unk>",
    "x<mask>y",
    "<mask>",
    "</s></s>",
    "<pad> <pad>",
    "<0x41>",
    "<0x0A>x",
    "▁<s>",
]


@cache
def exported(name):
    return build_tokenizer(model(**MODELS[name]))


@pytest.fixture(scope="module", params=MODELS)
def both_forms(request):
    tokenizer = Tokenizer.from_str(exported(request.param).to_str())
    tokenizer.encode_special_tokens = True
    return processor(model(**MODELS[request.param])), tokenizer


def differing(forms, lines):
    own, other = forms
    wanted = own.encode(lines)
    found = [encoding.ids for encoding in other.encode_batch(lines, add_special_tokens=False)]
    return [line for line, one, two in zip(lines, wanted, found, strict=True) if one != two]


def hostile_lines(count, seed=9):
    rng = random.Random(seed)
    words = [
        *SPECIALS,
        *SYMBOLS,
        *(word for line in make_lines(300) for word in line.split()),
        *ODD,
    ]
    return [
        "".join(rng.choice(words) + rng.choice(("", "", " ")) for _ in range(rng.randint(1, 12)))
        for _ in range(count)
    ]


def test_lines_of_many_scripts(both_forms):
    assert not differing(both_forms, make_lines(2000, seed=4))


def test_hostile_lines(both_forms):
    assert not differing(both_forms, [*HARD, *hostile_lines(4000)])


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_any_text(both_forms, text):
    assert not differing(both_forms, [text])


def test_special_tokens_in_raw_text_are_text(both_forms):
    assert not differing(both_forms, SPECIALS)
    own, other = both_forms
    for line in SPECIALS:
        ids = other.encode(line, add_special_tokens=False).ids
        assert not {0, 1, 2, own.get_piece_size() - 1} & set(ids), line


@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize("pieces", ["▁abs>kun", "▁abmk", "▁<abs>kunmpd/0x4A1", "▁東"])
def test_special_tokens_in_text_whose_characters_are_no_pieces(pieces, byte_fallback):
    """`Unigram` would take the piece <s> rather than an unknown <, whatever their
    scores.
    """
    longer = [piece for piece in ("▁a", "s>", "un", "<s") if set(piece) <= set(pieces)]
    pieces = [*pieces, *longer]
    scores = [-2.0 - place for place in range(len(pieces))]
    spec = model(**NO_RULES).normalizer_spec
    proto = build_model(Contents(pieces, scores, [], byte_fallback), spec)
    forms = processor(proto), build_tokenizer(proto)
    forms[1].encode_special_tokens = True
    rng = random.Random(11)
    parts = [*SPECIALS, "a", "<", ">", "<s", "ab", " ", "東", "\U00012000"]
    assert not differing(
        forms, ["".join(rng.choices(parts, k=rng.randint(1, 6))) for _ in range(800)]
    )


def test_unknown_characters():
    """One `<unk>` for a run of them; with byte fallback their UTF-8 bytes."""
    line = "a\U00012000\U00012001 \U00012002"
    tokenizer = exported("plain")
    assert tokenizer.encode(line, add_special_tokens=False).ids.count(3) == 2
    tokenizer = exported("bytes")
    encoding = tokenizer.encode(line, add_special_tokens=False)
    spelt = [piece for piece in encoding.tokens if piece.startswith("<0x")]
    assert (
        bytes(int(piece[3:5], 16) for piece in spelt).decode() == "\U00012000\U00012001\U00012002"
    )
    assert tokenizer.decode(encoding.ids) == line


def test_decoded_text_is_that_of_sentencepiece(both_forms):
    own, other = both_forms
    for line in make_lines(300, seed=8):
        ids = own.encode(line)
        if 3 not in ids:
            assert other.decode(ids) == own.decode(ids)


def test_offsets_point_at_the_text_of_a_token():
    """Fences and breaks come and go; where nothing else changes, tokens are slices of
    the line.
    """
    tokenizer, checked = exported("plain"), 0
    for line in make_lines(400, seed=21):
        if unicodedata.is_normalized("NFKC", line) and "<" not in line:
            encoding = tokenizer.encode(f"\x01 {line}\x02 ", add_special_tokens=False)
            slices = [f"\x01 {line}\x02 "[start:end] for start, end in encoding.offsets]
            for token, piece in zip(encoding.tokens, slices, strict=True):
                assert token.lstrip("▁") in ("", piece.strip("\x01\x02 ")), (line, token, piece)
            checked += 1
    assert checked > 50


def test_ids_are_those_of_the_model(both_forms):
    own, other = both_forms
    pieces = [own.id_to_piece(number) for number in range(own.get_piece_size())]
    assert [other.id_to_token(number) for number in range(len(pieces))] == pieces
    assert other.get_vocab_size() == len(pieces)
    assert (pieces[:4], pieces[-1]) == (XLM_R_LAYOUT.names[:4], "<mask>")


def test_template():
    encoding = exported("plain").encode("the café")
    assert (encoding.ids[0], encoding.ids[-1]) == (0, 2)
    pair = exported("plain").encode("the", "café")
    middle = exported("plain").encode("the", add_special_tokens=False).ids
    assert pair.ids[: len(middle) + 3] == [0, *middle, 2, 2]


def test_symbols_score_above_the_pieces_of_the_same_text():
    proto = model(**MODELS["symbols"])
    scores = dict(scores_of(proto))
    assert scores["<date>"] == pytest.approx(-0.1, abs=1e-9)
    assert all(scores[token] == -1e6 for token in XLM_R_LAYOUT.names)


def test_scores_above_zero():
    """The bonus of a symbol then grows with its length (`Model::EncodeOptimized`)."""
    pieces = ["▁", *"abcdxy<>", "ab", "▁ab", "cd"]
    scores = [-3, *[-2.5] * 8, 1.5, 2.25, -1]
    proto = build_model(Contents(pieces, scores, ["<x>", "bc"]), model(**NO_RULES).normalizer_spec)
    own, other = processor(proto), build_tokenizer(proto)
    rng = random.Random(1)
    for _ in range(500):
        line = "".join(rng.choices("abcdxy<> ", k=rng.randint(1, 15)))
        assert own.encode(line) == other.encode(line, add_special_tokens=False).ids, line


def test_pieces_across_spaces():
    """Then words are not put apart: the best path of a line is not that of its
    words.
    """
    pieces, scores = ["▁", "a", "b", "a▁b", "▁a"], [-2.0, -3.0, -3.0, -1.0, -2.5]
    proto = build_model(Contents(pieces, scores), model(**NO_RULES).normalizer_spec)
    ids = build_tokenizer(proto).encode("a b a b", add_special_tokens=False).ids
    assert ids == processor(proto).encode("a b a b")
    assert proto.pieces[max(ids)].piece in pieces and len(ids) == 4


@pytest.mark.parametrize("byte_fallback", [False, True])
def test_a_model_without_a_piece_for_spaces(byte_fallback):
    """The unknown U+2581 is then one token with the unknown characters before it."""
    contents = Contents(["a", "b", "ab"], [-2.0, -3.0, -4.0], [], byte_fallback)
    proto = build_model(contents, model(**NO_RULES).normalizer_spec)
    forms = processor(proto), build_tokenizer(proto)
    forms[1].encode_special_tokens = True
    rng = random.Random(3)
    assert not differing(
        forms, ["".join(rng.choices("abx▁ <s>", k=rng.randint(1, 9))) for _ in range(1000)]
    )


def with_scores(change, rules=NO_RULES):
    """The model with scores changed; `change` takes the place among the pieces of text,
    and the score.
    """
    proto = changed(rules)
    for place, entry in enumerate(entry for entry in proto.pieces if entry.type == entry.NORMAL):
        entry.score = change(place, entry.score)
    return proto


def test_large_scores():
    """No line differs: sums of up to 128 pieces are exact in 32 bits."""
    rng = random.Random(12)
    proto = with_scores(lambda place, old: rng.randrange(-(128 << 10), (128 << 10) + 1) / 1024)
    forms = processor(proto), build_tokenizer(proto)
    forms[1].encode_special_tokens = True
    assert not differing(forms, [line[:100] for line in make_lines(1500, seed=2)])


def test_a_warning_for_scores_off_the_grid(caplog):
    build_tokenizer(with_scores(lambda place, old: old), "it.model")
    assert not caplog.text
    build_tokenizer(with_scores(lambda place, old: old + 2.0**-12 * (place < 3)), "it.model")
    assert "it.model: 3 scores are no multiples of 2^-10" in caplog.text


def write_model(path, proto):
    path.write_bytes(proto.SerializeToString(deterministic=True))
    return path


def test_the_same_bytes_every_time(tmp_path):
    source = write_model(tmp_path / "m.model", model(**MODELS["both"]))
    names = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
    export_unigram(source, tmp_path / "one")
    code = (
        f"from vocap.tokenizer_files.export import export_unigram; export_unigram({str(source)!r}, "
        f"{str(tmp_path / 'two')!r})"
    )
    subprocess.run(
        [sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONHASHSEED": "7"}
    )
    assert sorted(os.listdir(tmp_path / "one")) == sorted(names)
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
        assert str(tmp_path) not in (tmp_path / "one" / name).read_text(encoding="utf-8")
    config = json.loads((tmp_path / "one" / names[1]).read_text("utf-8"))  # no code comes with it
    assert config["tokenizer_class"] == "PreTrainedTokenizerFast" and "auto_map" not in config


@pytest.mark.parametrize("name", ["plain", "both"])
def test_auto_tokenizer_round_trip(tmp_path, monkeypatch, name):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    transformers = pytest.importorskip("transformers")
    proto = model(**MODELS[name])
    export_unigram(write_model(tmp_path / "m.model", proto), tmp_path / "huggingface")
    loaded = transformers.AutoTokenizer.from_pretrained(tmp_path / "huggingface")
    loaded.save_pretrained(tmp_path / "again")
    again = transformers.AutoTokenizer.from_pretrained(tmp_path / "again")
    own = processor(proto)
    lines = [*make_lines(300, seed=6), *hostile_lines(300), *SPECIALS]
    for tokenizer in (loaded, again):
        assert len(tokenizer) == len(proto.pieces) and tokenizer.model_max_length > 1e9
        ids = tokenizer(lines, add_special_tokens=False, split_special_tokens=True).input_ids
        assert ids == own.encode(lines)
        tokens = ("bos", "pad", "eos", "unk", "cls", "sep", "mask")
        expected = [0, 1, 2, 3, 0, 2, len(proto.pieces) - 1]
        assert [getattr(tokenizer, f"{token}_token_id") for token in tokens] == expected
        masked = tokenizer("the <mask> café").input_ids
        assert masked.count(len(proto.pieces) - 1) == 1
        assert masked[0] == 0 and masked[-1] == 2
        # lstrip: the space before <mask> belongs to it, so nothing lies between
        assert masked[: masked.index(len(proto.pieces) - 1)] == [0, *own.encode("the")]
        padded = tokenizer(["the", "the café the café"], padding=True)
        assert padded.input_ids[0][-1] == 1 and padded.attention_mask[0][-1] == 0


def changed(rules=NO_RULES, **fields):
    from copy import deepcopy

    proto = deepcopy(model(**rules))
    for name, value in fields.items():
        owner = proto.trainer_spec if hasattr(proto.trainer_spec, name) else proto.normalizer_spec
        setattr(owner, name, value)
    return proto


@pytest.mark.parametrize(
    ("proto", "message"),
    [
        (changed(model_type=2), "a model of type BPE; train it with"),
        (changed(treat_whitespace_as_suffix=True), "its spaces are not the beginnings of words"),
        (changed(escape_whitespaces=False), "its spaces are not the beginnings of words"),
    ],
)
def test_models_that_are_not_exported(proto, message):
    with pytest.raises(VocapError, match=f"it.model: {message}"):
        build_tokenizer(proto, "it.model")


def test_a_stock_model_is_exported_with_its_own_ids(tmp_path):
    from transformers import AutoTokenizer

    from tests.tokenizers.factories import make_lines as lines
    from vocap.unigram.sentencepiece_trainer import train

    path = tmp_path / "stock.model"
    path.write_bytes(train(lines("en", 200), 40))
    export_unigram(path, tmp_path / "out")
    own, other = SentencePieceProcessor(str(path)), AutoTokenizer.from_pretrained(tmp_path / "out")
    for line in lines("en", 50):
        assert other(line)["input_ids"] == [own.bos_id(), *own.encode(line), own.eos_id()]
    assert (other.unk_token_id, other.pad_token, other.mask_token) == (0, None, None)


def test_a_warning_for_characters_that_are_no_piece(caplog):
    proto = build_model(Contents(["▁", "a", "qu"], [-1, -2, -3]), model(**NO_RULES).normalizer_spec)
    build_tokenizer(proto, "it.model")
    assert "it.model: 2 characters occur in pieces and are none themselves (q u)" in caplog.text


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"split": "words", "split_digits": True}, True),
        ({"split": "words", "digits": "3", "split_digits": True}, False),
        ({"split": "llama-3", "split_digits": True}, False),
        ({"split_digits": True}, True),  # of unigram
    ],
)
def test_the_card_says_single_digits_where_they_are_cut_so(facts, said):
    about = About("BPE", 1000, [], "", [])
    card = write_card("name", about, {"kind": "bpe", "settings": facts})
    assert ("split_digits True" in card) == said


def test_the_card_lists_iso_codes_alone():
    measures = {"alp": "-1.0", "tokens_per_sentence": "3.0", "unk_rate": "0.0"}
    codes = {
        "de": "high",
        "sr-Latn": "low",
        "hi_rom": "low",
        "ceb": "low",
        "python": "code",
        "sql": "code",
    }
    rows = [{"language": code, "resource": group, **measures} for code, group in codes.items()]
    card = write_card("name", About.of(model()), {}, rows)
    listed = card.split("language:\n")[1].split("---")[0].split()
    assert [code for code in listed if code != "-"] == ['"de"', '"sr"', '"hi"', '"ceb"']
    assert "| python |" in card
    assert "language:" not in write_card("name", About.of(model()), {}, rows[-2:])


def write_corpora(folder, heldout, train):
    for part, lines in (("heldout", heldout), ("train", train)):
        write_lines(folder / "corpora" / "aa" / f"{part}.txt", lines)
    return ["--corpora", folder / "corpora"]


@pytest.mark.parametrize("place", [150, 199, 200])
def test_a_line_with_other_ids_stops_the_export(tmp_path, place):
    """Of the first 200 of a language: pieces of equal scores off the grid give ties."""
    proto = with_scores(lambda number, old: -0.1, rules={})
    own, other = processor(proto), build_tokenizer(proto)
    other.encode_special_tokens = True
    lines = make_lines(400, seed=2)
    differs = differing((own, other), lines)[0]
    lines = [line for line in lines if not differing((own, other), [line])][:250]
    lines.insert(place, differs)
    out = tmp_path / "out"
    words = ["export", write_model(tmp_path / "it.model", proto), "-o", out]
    words += write_corpora(tmp_path, lines[:120], lines[120:])
    if place == 200:
        run(vocap, *words)
        return
    with pytest.raises(VocapError) as stopped:
        run(vocap, *words)
    assert (
        f"it.model: SentencePiece and tokenizer.json give other ids for the line {differs!r}"
        in (str(stopped.value))
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpora", "it.model"]


def test_hard_strings_stop_an_export_without_corpora(tmp_path):
    export_unigram(write_model(tmp_path / "it.model", model(**NO_RULES)), tmp_path / "out")
    before = (tmp_path / "out" / "tokenizer.json").read_bytes()
    proto = with_scores(lambda place, old: -1e6 / 3 * (place % 5 + 1))
    tokenizer = build_tokenizer(proto)
    tokenizer.encode_special_tokens = True
    differs = differing((processor(proto), tokenizer), [*HARD])[0]
    with pytest.raises(VocapError, match=re.escape(f"for the line {differs!r};")):
        run(vocap, "export", write_model(tmp_path / "it.model", proto), "-o", tmp_path / "out")
    assert (tmp_path / "out" / "tokenizer.json").read_bytes() == before
    with pytest.raises(UsageError, match="corpora: for the Hugging Face form of a unigram"):
        words = write_corpora(tmp_path, ["a"], [])
        run(vocap, "export", tmp_path / "it.model", "-o", "x", "--format=tiktoken", *words)
