"""Files of tokenizers from elsewhere: without a configuration, with a byte-order mark,
of word pieces, with `<mask>` as a user-defined symbol.
"""

import json
from codecs import BOM_UTF8

import pytest
from sentencepiece import SentencePieceProcessor
from tokenizers import Tokenizer, models
from transformers import AutoTokenizer

from tests.cases import refused
from tests.made_text import write_lines
from tests.tokenizers.factories import byte_tokenizer, make_lines
from vocap.tokenizer_files.loading import open_encoder
from vocap.unigram.sentencepiece_trainer import train

LINES = make_lines("en", 300, seed=5)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("foreign")
    write_lines(root / "en.txt", LINES)
    byte_tokenizer(LINES, size=400).save(str(root / "bytes.json"))
    symbols = {"user_defined_symbols": ["<mask>"]}
    (root / "mask.model").write_bytes(train(LINES, 200, threads=1, **symbols))
    return root


@pytest.mark.parametrize("name", ["bytes.json", "mask.model"])
def test_a_file_alone_gets_no_length(tmp_path, call, name):
    call("trim {root}/{name} --text=en={root}/en.txt -o {tmp}/trimmed", name=name)
    call("export {root}/{name} -o {tmp}/exported", name=name)
    for folder in (tmp_path / "trimmed/huggingface", tmp_path / "exported"):
        config = json.loads((folder / "tokenizer_config.json").read_text())
        assert "model_max_length" not in config
        ids = AutoTokenizer.from_pretrained(folder)("a " * 2000, truncation=True).input_ids
        assert len(ids) > 1000
    if name.endswith(".model"):
        layout = "--layout={special: [<unk>, <s>, </s>], mask: false}"
        call("export {root}/mask.model -o {tmp}/laid", layout)
        assert AutoTokenizer.from_pretrained(tmp_path / "laid").model_max_length == 512


def test_a_byte_order_mark_is_skipped(root, tmp_path, call):
    marked = tmp_path / "tokenizer.json"
    marked.write_bytes(BOM_UTF8 + (root / "bytes.json").read_bytes())
    wanted = Tokenizer.from_file(str(root / "bytes.json")).encode_batch(LINES)
    assert open_encoder(marked).encode_batch(LINES) == [one.ids for one in wanted]
    assert "all the same" in call("trim {tmp} --text=en={root}/en.txt -o {tmp}/out")


def test_word_pieces_are_named(tmp_path, call):
    Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1})).save(str(tmp_path / "tokenizer.json"))
    for line in ("trim --text=en={root}/en.txt {tmp}", "export {tmp}"):
        for name in ("", "/tokenizer.json"):
            says = "a tokenizer of type WordPiece alone"
            refused(call, f"{line}{name} -o {{tmp}}/out", says)


def test_a_symbol_may_be_the_mask(root, tmp_path, call):
    call("trim {root}/mask.model --text=en={root}/en.txt -o {tmp}/out")
    before, after = (
        SentencePieceProcessor(model_file=str(path))
        for path in (root / "mask.model", tmp_path / "out/sentencepiece.model")
    )
    for line in (f"{LINES[0]} <mask> {LINES[1]}", f"<mask>{LINES[2]}"):
        assert before.encode(line, out_type=str) == after.encode(line, out_type=str)
    loaded = AutoTokenizer.from_pretrained(tmp_path / "out/huggingface")
    assert loaded.mask_token_id == after.piece_to_id("<mask>") > 0
    assert len(loaded) == after.get_piece_size()
