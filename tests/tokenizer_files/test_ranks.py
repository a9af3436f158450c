"""Files of ranks: the ids of tiktoken itself, and one line for a file that is damaged."""

import json
import random
from base64 import b64encode

import pytest
import tiktoken
import tiktoken_ext.openai_public as openai

import vocap
from tests.bpe.test_tiktoken import make
from tests.bpe.texts import CODE, made
from tests.cases import read_cases
from tests.commands import caller, run
from tests.made_text import write_lines
from vocap.errors import VocapError
from vocap.files.io import read_tsv
from vocap.tokenizer_files.encoders import load_encoder
from vocap.tokenizers.commands import export

TEXT = [*filter(None, CODE), *made("Latin", 80), *made("Thai", 80)]
CASES = read_cases(__file__)
ODD = CASES["odd lines"]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """Tokens by rank, as OpenAI's: of a training, and a word that no merges lead to."""
    folder = tmp_path_factory.mktemp("ranks")
    run(
        export,
        make(folder, TEXT, 500, "o200k") / "tokenizer.json",
        "--format",
        "tiktoken",
        "-o",
        folder / "out",
    )
    lines = (folder / "out" / "ranks.tiktoken").read_text().splitlines()
    return [*(line.split()[0] for line in lines), b64encode(b"whole").decode()]


def write(folder, ranks, name="own.tiktoken"):
    return write_lines(folder / name, [f"{token} {rank}" for rank, token in enumerate(ranks)])


def by_tiktoken(expression, path, **more):
    found = tiktoken.load.load_tiktoken_bpe(str(path))
    return tiktoken.Encoding("own", pat_str=expression, mergeable_ranks=found, special_tokens=more)


@pytest.fixture(autouse=True)
def no_copies(monkeypatch):
    """No copy of an earlier file of that name, and none from the network."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    monkeypatch.setattr(openai, "load_tiktoken_bpe", lambda *words, **more: {})


@pytest.mark.parametrize("cut", ["o200k", "cl100k", "gpt2"])
def test_ids_are_those_of_tiktoken(tmp_path, ranks, cut):
    path = write(tmp_path, ranks)
    name = {"gpt2": "r50k"}.get(cut, cut)
    other = by_tiktoken(getattr(openai, f"{name}_base")()["pat_str"], path)
    encoder = load_encoder(path, cut)
    lines = [*TEXT, *ODD, "\n".join(TEXT)]
    ids = encoder.encode_batch(lines)
    assert ids == other.encode_ordinary_batch(lines)
    assert encoder.size == other.n_vocab == len(ranks) and encoder.unk_id is None
    assert len(ids[len(TEXT) + ODD.index("whole")]) == 1
    assert encoder.decode_batch(ids) == lines
    assert encoder.byte_level


@pytest.mark.parametrize("seed", range(8))
def test_ids_of_ranks_that_no_training_gives(tmp_path, seed):
    """Random strings of two letters in a random order."""
    draw = random.Random(seed)
    more = {"".join(draw.choices("ab", k=draw.randint(2, 5))).encode() for _ in range(15)}
    tokens = [*(bytes([byte]) for byte in range(256)), *draw.sample(sorted(more), len(more))]
    path = write(tmp_path, [b64encode(token).decode() for token in tokens])
    lines = ["".join(draw.choices("ab", k=draw.randint(1, 40))) for _ in range(300)]
    other = by_tiktoken(r"\S+|\s+", path)
    assert load_encoder(path, "spaces").encode_batch(lines) == other.encode_ordinary_batch(lines)


@pytest.mark.parametrize("split", ["words", "o200k"])
def test_an_export_is_read_back(tmp_path, split):
    """With its expression, and special tokens, of which text holds none."""
    make(tmp_path, TEXT, 300, split)
    run(export, tmp_path / "tokenizer.json", "--format", "tiktoken", "-o", tmp_path / "out")
    own, back = load_encoder(tmp_path), load_encoder(tmp_path / "out")
    assert back.encode_batch([*TEXT, *ODD]) == own.encode_batch([*TEXT, *ODD])
    assert back.size == own.size and back.pieces[0] is None
    (tmp_path / "out" / "encoding.json").unlink()
    alone = load_encoder(tmp_path / "out", split)
    assert alone.pieces[:5] == [None, None, None, None, own.pieces[4]]


def tekken(ranks, size, **config):
    vocab = [
        {"rank": rank, "token_bytes": token, "token_str": None} for rank, token in enumerate(ranks)
    ]
    config = {
        "pattern": r"\p{L}+|[^\p{L}]",
        "default_vocab_size": size,
        "default_num_special_tokens": 10,
    } | config
    return {"config": config, "vocab": vocab}


def test_tekken_has_special_tokens_first_and_cuts_its_vocabulary(tmp_path, ranks):
    (tmp_path / "tekken.json").write_text(json.dumps(tekken(ranks, 410)))
    other = by_tiktoken(r"\p{L}+|[^\p{L}]", write(tmp_path, ranks[:400]))
    encoder = load_encoder(tmp_path)
    ids = [[10 + number for number in row] for row in other.encode_ordinary_batch(TEXT)]
    assert encoder.encode_batch(TEXT) == ids and max(map(max, ids)) < encoder.size == 410


@pytest.mark.parametrize(("place", "end", "more", "said"), CASES["ranks"])
def test_damaged_ranks(tmp_path, ranks, place, end, more, said):
    path = write(tmp_path, ranks)
    lines = path.read_text().splitlines()
    lines[place:end] = [line.format(size=len(lines)) for line in more]
    write_lines(path, lines)
    with pytest.raises(VocapError, match=said) as error:
        load_encoder(path, "o200k")
    assert str(path) in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(("config", "said"), CASES["tekken"])
def test_damaged_tekken(tmp_path, ranks, config, said):
    (tmp_path / "tekken.json").write_text(json.dumps(tekken(ranks, 410, **config)))
    with pytest.raises(VocapError, match=said) as error:
        load_encoder(tmp_path / "tekken.json")
    assert str(tmp_path / "tekken.json") in str(error.value) and "\n" not in str(error.value)


def test_a_settings_file_without_an_expression(tmp_path, ranks):
    write(tmp_path, ranks, "ranks.tiktoken")
    (tmp_path / "encoding.json").write_text('{"special_tokens": {}}')
    with pytest.raises(VocapError, match=r"encoding.json is not what"):
        load_encoder(tmp_path)


EVALUATE = (
    "evaluate --tokenizer {tmp}/own.tiktoken --tokenizer b={tmp}/other.tiktoken "
    "--text en={tmp}/en.txt --tables {tmp}/t "
)


def test_commands_take_a_cut_for_each(tmp_path, ranks):
    one, other = write(tmp_path, ranks), write(tmp_path, ranks, "other.tiktoken")
    text = write_lines(tmp_path / "en.txt", TEXT)
    call = caller(tmp=tmp_path)
    call(EVALUATE + "--split b=gpt2 --split o200k")
    for name, cut in (("own", "o200k"), ("b", "gpt2")):
        tokens = sum(map(len, load_encoder(one, cut).encode_batch(TEXT)))
        (row,) = read_tsv(tmp_path / "t" / name / "evaluation.tsv")
        assert float(row["tokens_per_sentence"]) == tokens / len(TEXT)
    printed = call("alp {tmp}/own.tiktoken {tmp}/en.txt --split o200k")
    assert float(printed) == vocap.alp(one, text, split="o200k") < 0
    changed, same = (
        vocap.compare(one, other, text={"en": text}, split=split).languages
        for split in ({"a": "o200k", "b": "gpt2"}, "gpt2")
    )
    assert changed.tokens_a[0] != changed.tokens_b[0] and same.lines_changed[0] == 0
    make(tmp_path / "json", TEXT, 100)
    for line, says in CASES["calls"]:
        with pytest.raises(VocapError, match=says):
            call(line.format(evaluate=EVALUATE, tmp="{tmp}"))
