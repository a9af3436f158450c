"""The form of tiktoken: ids by the package itself, and one line for what it cannot
hold.
"""

import json
import random
import re
from itertools import islice
from pathlib import Path

import pytest
import tiktoken
from tiktoken.load import load_tiktoken_bpe

from tests.bpe.texts import (
    CODE,
    LETTERS,
    blocks,
    made,
    pretokenization,
    real,
    train_merges,
)
from tests.cases import read_cases, refused, set_at
from tests.commands import caller, run
from tests.made_text import write_lines
from vocap.bpe.tokenizer_json import Rows
from vocap.bpe.words import byte_alphabet, count_words
from vocap.tokenizer_files.encoders import load_encoder
from vocap.tokenizer_files.id_layout import XLM_R_LAYOUT
from vocap.tokenizers.byte_pairs import as_bpe_tokenizer
from vocap.tokenizers.commands import export

CASES = read_cases(__file__)
SCRIPTS = ("Latin", "Malayalam", "Thai", "Han")


def make(folder: Path, lines: list[str], size: int, split: str = "words", **own) -> Path:
    """A tokenizer of one text, of `size` merges at most."""
    how = pretokenization(split, **own)
    rows, alphabet = Rows(how, XLM_R_LAYOUT), byte_alphabet()
    merges = train_merges(alphabet, count_words([blocks(lines)], how), 256 + size, rows.reserved)
    description = {"kind": "bpe", "settings": {}}
    as_bpe_tokenizer(alphabet, merges, rows, description, 261 + size).write(folder)
    return folder


@pytest.fixture
def exported(monkeypatch):
    """Export a folder, and load what is written with tiktoken alone."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")  # no copy of an earlier file of that name

    def load(folder: Path) -> tiktoken.Encoding:
        out = folder / "tiktoken"
        run(export, folder / "tokenizer.json", "--format", "tiktoken", "-o", out)
        assert sorted(file.name for file in out.iterdir()) == ["encoding.json", "ranks.tiktoken"]
        settings = json.loads((out / "encoding.json").read_text("utf-8"))
        return tiktoken.Encoding(
            **settings, mergeable_ranks=load_tiktoken_bpe(str(out / "ranks.tiktoken"))
        )

    return load


def equal(folder: Path, encoding: tiktoken.Encoding, lines: list[str]) -> bool:
    return load_encoder(folder).encode_batch(lines) == encoding.encode_ordinary_batch(
        lines, num_threads=1
    )


CUTS = [
    {"split": "words"},
    {"split": "words", "digits": "3-right", "contractions": True},
    {"split": "spaces"},
    {"split": "gpt2"},
    {"split": "o200k", "digits": "3-right"},
    {"split": "llama-3"},
    {"split": "regex", "regex": r"[\p{L}\p{M}]+|[^\p{L}\p{M}]"},
]


@pytest.mark.parametrize("own", CUTS, ids=str)
def test_ids_are_equal(tmp_path, exported, own):
    lines = [*(line for script in SCRIPTS for line in made(script, 100)), *CODE]
    encoding = exported(make(tmp_path, lines, 600, **own))
    others = [line for script in LETTERS for line in made(script, 120)[100:]]
    odd = CASES["odd lines"]
    assert equal(tmp_path, encoding, [*lines, *others, *odd])
    assert encoding.decode(encoding.encode_ordinary(odd[3])) == odd[3]
    assert encoding.n_vocab == load_encoder(tmp_path).size
    assert encoding.encode("<s>a</s>", allowed_special="all")[::2] == [0, 2]


@pytest.mark.parametrize("seed", range(12))
def test_ids_are_equal_where_tokens_overlap_in_many_ways(tmp_path, exported, seed):
    """Words of two letters: nearly every token can be put together from others in
    several ways.
    """
    draw = random.Random(seed)
    texts = [
        "".join(draw.choices("ab", [2, 1 + seed % 3], k=draw.randint(1, 40))) for _ in range(300)
    ]
    encoding = exported(make(tmp_path, texts[:100], 60))
    assert equal(tmp_path, encoding, texts)


def test_ids_are_equal_on_100000_lines(tmp_path, exported):
    codes = "am ar de en fi hi ja ka km ko la my ru th zh"
    text = {code: [line[:60] for line in real(code, 10_000, "mono")] for code in codes.split()}
    encoding = exported(
        make(tmp_path, [line for lines in text.values() for line in lines[-300:]], 8000)
    )
    lines = list(islice((line for lines in text.values() for line in lines[:-300]), 100_000))
    assert len(lines) == 100_000
    assert equal(tmp_path, encoding, lines)


EXPORT = "export {path} --format tiktoken -o {out}"


def refuse(path: Path, says: str, words: str = "", status: int = 1) -> None:
    out = path.parent / "out"
    refused(caller(path=path, out=out), EXPORT + words, re.escape(says), status)
    assert not out.exists()


@pytest.fixture(scope="module")
def corpora(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "corpora"
    write_lines(folder / "en" / "train.txt", [*made("Latin", 150), *CODE])
    write_lines(folder.parent / "weights.tsv", ["language\tn", "en\t100"])
    return folder


TRAIN = "bpe --corpora {root}/corpora --weights {root}/weights.tsv --total 600 -o {tmp} "


@pytest.mark.parametrize(("words", "says"), CASES["options"])
def test_tokenizers_that_tiktoken_cannot_hold(corpora, tmp_path, words, says):
    caller(root=corpora.parent, tmp=tmp_path)(TRAIN + words)
    refuse(tmp_path / "tokenizer.json", says)


@pytest.mark.parametrize(("changes", "says"), CASES["files"])
def test_files_that_tiktoken_would_read_otherwise(tmp_path, changes, says):
    path = make(tmp_path, made("Latin", 100), 200) / "tokenizer.json"
    content = json.loads(path.read_text("utf-8"))
    for place, value in changes.items():
        set_at(content, place, value)
    path.write_text(json.dumps(content), "utf-8")
    refuse(path, says)


def test_a_token_that_its_bytes_do_not_lead_to(tmp_path):
    """Token abc of a and bc, although a and b are joined first: neither bytes nor ids
    agree.
    """
    path = make(tmp_path, ["ab bc bc bc"], 2) / "tokenizer.json"
    content = json.loads(path.read_text("utf-8"))
    model, base = content["model"], content["model"]["vocab"]["<mask>"]
    model["merges"] = [["a", "b"], ["b", "c"], ["a", "bc"]]
    for token in [one for one, number in model["vocab"].items() if number >= 260]:
        del model["vocab"][token]
    model["vocab"] |= {"ab": 260, "bc": 261, "abc": 262, "<mask>": 263}
    for entry in content["added_tokens"]:
        entry["id"] = 263 if entry["id"] == base else entry["id"]
    path.write_text(json.dumps(content), "utf-8")
    refuse(path, "its merges do not lead to the token 'abc'")


def test_other_calls(tmp_path):
    path = make(tmp_path, made("Latin", 20), 20) / "tokenizer.json"
    refuse(path, "leave it out", " --layout xlm-r", status=2)
    other = tmp_path / "sentencepiece.model"
    other.write_bytes(b"\n\x0e\n\x05<unk>")
    refuse(other, "no byte-pair encoding")
    refuse(tmp_path / "none.json", "no such file")
