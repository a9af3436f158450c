"""`vocap bpe`, its files, their export, and one message for each bad input."""

import json
import math
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from tests.bpe.texts import CODE, LETTERS, made
from tests.cases import read_cases, refused
from tests.commands import caller
from tests.made_text import draw_sentences, write_lines
from vocap.bpe.model_file import read_bpe
from vocap.tables.curve import read_sizes
from vocap.tokenizer_files.encoders import load_encoder, special_ids

SCRIPTS = {"en": "Latin", "ru": "Cyrillic", "ml": "Malayalam", "zh": "Han"}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "corpora"
    rows = ["language\tn"]
    for number, (code, script) in enumerate(SCRIPTS.items(), start=1):
        write_lines(folder / code / "train.txt", [*made(script, 150), *CODE])
        space = "" if script == "Han" else " "
        drawn = draw_sentences(script, LETTERS[script], space)
        write_lines(folder / code / "heldout.txt", islice(drawn, 150, 180))
        write_lines(folder.parent / "development" / f"{code}.txt", islice(drawn, 40))
        rows.append(f"{code}\t{100 * number}")
    write_lines(folder.parent / "weights.tsv", rows)
    return folder


@pytest.fixture
def call(corpora, tmp_path):
    return caller(root=corpora.parent, folder=corpora.parent / "out", tmp=tmp_path)


TRAIN = "bpe --corpora {root}/corpora --weights {root}/weights.tsv --total "
LAYOUT = "{special: [<pad>, {token: <|end|>, role: eos}, <unk>], mask: false, reserved: 3"


@pytest.fixture(scope="module")
def folder(corpora) -> Path:
    """Two T of one training, of text as it is, with symbols of a layout of one's
    own.
    """
    out = corpora.parent / "out"
    train = caller(root=corpora.parent, out=out, total="{total}")
    words = "900 --total 700 --preset lossless --user-defined-symbols <tool> -o {out}/{total}"
    train(TRAIN + words, "--layout", LAYOUT + "}")
    return out


def test_an_export_for_models_that_write_has_no_tokens_around_a_text(folder, call, tmp_path):
    """The layout of `vocap init --lossless`, but for the name of the end token."""
    layout = LAYOUT + ", bos_eos: none, model_max_length: null}"
    (tmp_path / "tokenizer.json").write_bytes((folder / "900/tokenizer.json").read_bytes())
    call("export {tmp}/tokenizer.json -o {tmp}/huggingface", "--layout", layout)
    loaded = AutoTokenizer.from_pretrained(tmp_path / "huggingface")
    assert loaded.decode(loaded("Guten Tag")["input_ids"]) == "Guten Tag"
    assert len(loaded("ab " * 4000, truncation=True)["input_ids"]) >= 4000
    call("card {tmp}/tokenizer.json -o {tmp}/README.md")
    card = (tmp_path / "README.md").read_text("utf-8")
    assert "Around a text stands no token, and an input has any number of ids." in card


def test_the_export_loads_with_its_ids(folder, call, tmp_path):
    layout = LAYOUT + ", model_max_length: 99}"
    call("export {folder}/900/tokenizer.json -o {tmp}/huggingface", "--layout", layout)
    loaded = AutoTokenizer.from_pretrained(tmp_path / "huggingface")
    assert len(loaded) == 900
    assert loaded.convert_tokens_to_ids(
        ["<pad>", "<|end|>", "<unk>", "<reserved_2>", "<tool>"]
    ) == [0, 1, 2, 5, 6]
    assert (loaded.pad_token_id, loaded.eos_token_id, loaded.unk_token_id) == (0, 1, 2)
    assert loaded.model_max_length == 99
    for line in [*CODE, "a<tool>b", "\u2581 \u2581", "\x00\r\n\t"]:
        ids = loaded(line, add_special_tokens=False)["input_ids"]
        assert loaded.decode(ids) == line
        assert loaded(line)["input_ids"] == [*ids, 1]
    call("card {folder}/900/tokenizer.json -o {tmp}/README.md")
    card = (tmp_path / "README.md").read_text("utf-8")
    assert "byte-pair encoding tokenizer of T = 900 ids" in card


def test_roles_come_from_the_configuration(folder):
    path = folder / "900" / "tokenizer.json"
    ids, others = special_ids(path, load_encoder(path))
    assert ids == {"pad": 0, "eos": 1, "unk": 2}
    assert others == (3, 4, 5)


def test_normalised_text_is_that_of_sentencepiece(call, tmp_path):
    """The xlm-r text: the tokenizer normalises it as SentencePiece does."""
    from vocap.unigram.training_text import trainer_normalizer

    call(TRAIN + "900 -o {tmp}")
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    normalize = trainer_normalizer().normalize
    for line in [*CODE, "ﬁ Å ｈａｌｆ  ﾊﾝ", "\u2581 x"]:
        expected = normalize(line)
        assert tokenizer.normalizer.normalize_str(line).replace(" ", "\u2581") == expected
        decoded = tokenizer.decode(tokenizer.encode(line, add_special_tokens=False).ids)
        assert decoded == expected.replace("\u2581", " ").removeprefix(" ")


@pytest.mark.parametrize("words", ["", " --from 100"])
def test_parallel_text_is_followed(call, tmp_path, words):
    words += " --parity --development {root}/development/{lang}.txt -o {tmp}"
    call(TRAIN + "800" + words, lang="{lang}")
    description = json.loads((tmp_path / "description.json").read_text("utf-8"))
    assert description["kind"] == "parity-bpe"
    assert description["total"] == 800
    assert len(read_bpe(tmp_path).tokens) == 800


@pytest.mark.parametrize(("words", "says"), read_cases(__file__)["refused"])
def test_calls_that_contradict_themselves(call, tmp_path, words, says):
    refused(
        call, TRAIN + words + " -o {tmp}/out", says, 2, lang="{lang}", even='{"multiple_of":64}'
    )
    assert not (tmp_path / "out").exists()


def test_parallel_text_that_cannot_be_used(corpora, call, tmp_path):
    def refuse(name: str, says: str, status: int) -> None:
        words = "800 --parity --development {tmp}/some/{name}.txt -o {tmp}/out"
        refused(call, TRAIN + words, says, status, name=name)
        assert not (tmp_path / "out").exists()

    for code in ("en", "ru", "ml"):
        write_lines(tmp_path / "some" / f"{code}.txt", made(SCRIPTS[code], 20))
    refuse("{lang}", "none of zh", 1)
    write_lines(tmp_path / "some" / "zh.txt", made("Han", 19))
    refuse("{lang}", "20 lines", 1)
    refuse("en", r"\{lang\}", 2)


def test_the_curve_is_that_of_the_tokenizers(corpora, call, tmp_path):
    """Tokens and ALP at each T, by `tokenizers`; a T beyond the text is the one that
    the text gives.
    """
    symbol = (corpora / "en" / "heldout.txt").read_text("utf-8").split()[0]  # it counts as a token
    words = "16000 --total 2000 --preset lossless --curve {tmp}/sizes.tsv -o {tmp}/{total}"
    call(TRAIN + words, "--user-defined-symbols", symbol, total="{total}")
    sizes = read_sizes(tmp_path / "sizes.tsv")
    most = len(read_bpe(tmp_path / "16000").tokens)
    assert [*sizes] == [*range(2000, most, 2000), most] and most < 16000
    for total, folder in ((2000, "2000"), (most, "16000")):
        tokenizer = Tokenizer.from_file(str(tmp_path / folder / "tokenizer.json"))
        for code in SCRIPTS:
            lines = (corpora / code / "heldout.txt").read_text("utf-8").splitlines()
            encoded = (tokenizer.encode(line, add_special_tokens=False).ids for line in lines)
            counts = Counter(number for ids in encoded for number in ids)
            row = sizes[total][code]
            assert (row.lines, row.tokens) == (len(lines), counts.total())
            assert row.bytes == sum(len(line.encode()) for line in lines)
            alp = sum(count * math.log(count / counts.total()) for count in counts.values()) / len(
                lines
            )
            assert row.alp == pytest.approx(alp)
