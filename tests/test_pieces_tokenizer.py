"""A tokenizer by rule pieces in one call, against the commands of its stages."""

import pytest

from tests.commands import ended_all
from tests.made_text import write_lines
from tests.vocabularies.factories import make_text
from vocap.errors import UsageError
from vocap.files.io import write_tsv
from vocap.options import parse_layout
from vocap.pieces_tokenizer import train_pieces
from vocap.unigram.text_settings import text_settings

LAYOUT = '{"reserved":3}'
SETTINGS = text_settings("xlm-r", byte_fallback=True, user_defined_symbols=("<x>",))


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """Two languages, one of which says <x>, and a table of weights."""
    root = tmp_path_factory.mktemp("corpora")
    texts = {"aa": [*make_text("latin", 150), "a <x> b"], "bb": make_text("kana", 120)}
    for code, lines in texts.items():
        write_lines(root / code / "train.txt", lines)
    write_tsv(root / "w.tsv", ("language", "n"), [("aa", 900), ("bb", 100), ("cc", 0)])
    return root, texts


def by_commands(root, folder, total, own):
    words, layout, special, size = "", "", "", 150
    if own:
        words, size = "--byte-fallback --user-defined-symbols <x>", 450
        layout, special = f"--layout {LAYOUT}", "--special-tokens 8"
    read = f"--weights {root}/w.tsv --vocabularies"
    commands = f"""\
ladder {root}/aa/train.txt -o v/aa --sizes {size} {words}
ladder {root}/bb/train.txt -o v/bb --sizes {size} {words}
allocate --rule pieces {read} v --corpora {root} --total {total} {words} {special} -o a
fit --allocation a {read} a/vocabularies {words} {layout} -o t
"""
    ended_all(folder, commands)
    return {path.name: path.read_bytes() for path in (folder / "t").iterdir()}


@pytest.mark.parametrize("own", [False, True], ids=["xlm-r", "own settings"])
def test_it_is_the_tokenizer_of_the_commands(corpora, tmp_path, own):
    root, texts = corpora
    given = {"text": SETTINGS, "layout": parse_layout(LAYOUT)} if own else {}
    total = 620 if own else 300
    expected = by_commands(root, tmp_path, total, own)
    made = train_pieces(root, root / "w.tsv", total, tmp_path / "again", **given)
    assert {p.name: p.read_bytes() for p in (tmp_path / "again").iterdir()} == expected
    again = train_pieces(texts, {"bb": 100, "aa": 900.0}, total, threads=2, **given)
    assert made.model == again.model == expected["sentencepiece.model"]
    assert again.tokenizer.get_vocab_size() == again.total == total
    assert again.description == made.description


def test_wrong_calls(corpora):
    _, texts = corpora
    with pytest.raises(UsageError, match="no language is left"):
        train_pieces(texts, {"aa": 0, "bb": 1}, 300, without=["bb"])
    with pytest.raises(UsageError, match="a total of 20 holds"):
        train_pieces(texts, {"aa": 1}, 20)
