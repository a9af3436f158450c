"""Files of tokenizers from elsewhere: without a configuration, with a byte-order mark,
of word pieces, with `<mask>` as a user-defined symbol.
"""

import json
from codecs import BOM_UTF8

import pytest
from sentencepiece import SentencePieceProcessor
from tokenizers import Tokenizer, models
from transformers import AutoTokenizer

from tests.commands import run
from tests.made_text import write_lines
from tests.tokenizers.factories import byte_tokenizer, make_lines
from vocap.adapt.commands import trim
from vocap.errors import VocapError
from vocap.tokenizer_files.loading import open_encoder
from vocap.tokenizers.commands import export
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
def test_a_file_alone_gets_no_length(root, tmp_path, name):
    run(trim, root / name, f"--text=en={root / 'en.txt'}", "-o", tmp_path / "trimmed")
    run(export, root / name, "-o", tmp_path / "exported")
    for folder in (tmp_path / "trimmed/huggingface", tmp_path / "exported"):
        config = json.loads((folder / "tokenizer_config.json").read_text())
        assert "model_max_length" not in config
        ids = AutoTokenizer.from_pretrained(folder)("a " * 2000, truncation=True).input_ids
        assert len(ids) > 1000
    if name.endswith(".model"):
        run(export, root / name, "--layout={special: [<unk>, <s>, </s>], mask: false}", "-o",
            tmp_path / "laid")  # fmt: skip
        assert AutoTokenizer.from_pretrained(tmp_path / "laid").model_max_length == 512


def test_a_byte_order_mark_is_skipped(root, tmp_path):
    marked = tmp_path / "tokenizer.json"
    marked.write_bytes(BOM_UTF8 + (root / "bytes.json").read_bytes())
    wanted = Tokenizer.from_file(str(root / "bytes.json")).encode_batch(LINES)
    assert open_encoder(marked).encode_batch(LINES) == [one.ids for one in wanted]
    shown = run(trim, tmp_path, f"--text=en={root / 'en.txt'}", "-o", tmp_path / "out")
    assert "all the same" in shown


def test_word_pieces_are_named(root, tmp_path):
    Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1})).save(str(tmp_path / "tokenizer.json"))
    for path in (tmp_path, tmp_path / "tokenizer.json"):
        for command in ((trim, path, f"--text=en={root / 'en.txt'}"), (export, path)):
            with pytest.raises(VocapError, match="a tokenizer of type WordPiece; only"):
                run(*command, "-o", tmp_path / "out")


def test_a_symbol_may_be_the_mask(root, tmp_path):
    run(trim, root / "mask.model", f"--text=en={root / 'en.txt'}", "-o", tmp_path / "out")
    before, after = (
        SentencePieceProcessor(model_file=str(path))
        for path in (root / "mask.model", tmp_path / "out/sentencepiece.model")
    )
    for line in (f"{LINES[0]} <mask> {LINES[1]}", f"<mask>{LINES[2]}"):
        assert before.encode(line, out_type=str) == after.encode(line, out_type=str)
    loaded = AutoTokenizer.from_pretrained(tmp_path / "out/huggingface")
    assert loaded.mask_token_id == after.piece_to_id("<mask>") > 0
    assert len(loaded) == after.get_piece_size()
