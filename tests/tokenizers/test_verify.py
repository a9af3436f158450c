"""`vocap verify`: the ids of a folder against its golden hashes, under the installed versions."""

import hashlib
import json
import shutil
import unicodedata

import pytest
import sentencepiece
import transformers
import yaml

from tests.tokenizers.factories import make_lines
from tests.tokenizers.test_fitting import run
from vocap.tokenizer_files import EXPORTED
from vocap.tokenizer_files.export import export
from vocap.tokenizer_files.folder import write_tokenizer
from vocap.tokenizer_files.layout import relayout
from vocap.tokenizer_files.model_file import read_model
from vocap.unigram.sentencepiece_trainer import train

FORMS = ("sentencepiece", "tokenizers", "transformers")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A tokenizer with byte fallback, so that every character of every golden text counts."""
    folder = tmp_path_factory.mktemp("tokenizer")
    (folder / "stock.model").write_bytes(train(make_lines("en", 300), 420, byte_fallback=True))
    write_tokenizer(folder, relayout(read_model(folder / "stock.model"), "stock"), [], {})
    (folder / "stock.model").unlink()
    export(folder / "sentencepiece.model", folder / "huggingface")
    return folder


@pytest.fixture
def copy(made, tmp_path):
    shutil.copytree(made, tmp_path / "copy")
    return tmp_path / "copy" / "huggingface"


def verified(folder, capfd) -> tuple[int, dict[str, str]]:
    capfd.readouterr()
    status = run("verify", folder)
    lines = capfd.readouterr().out.splitlines()
    return status, {line.split()[0]: line for line in lines}


def test_the_hashes_are_those_of_the_ids(made, capfd):
    content = json.loads((made / "huggingface" / "golden.json").read_text("utf-8"))
    processor = sentencepiece.SentencePieceProcessor(model_file=str(made / "sentencepiece.model"))
    loaded = transformers.AutoTokenizer.from_pretrained(made / "huggingface")
    for text, one, other in zip(content["texts"], *content["ids"].values(), strict=True):
        assert one == hashlib.sha256(",".join(map(str, processor.encode(text))).encode()).hexdigest()[:16]
        ids = loaded(text, add_special_tokens=False)["input_ids"]
        assert other == hashlib.sha256(",".join(map(str, ids)).encode()).hexdigest()[:16]
    assert len(set(content["ids"]["tokenizers"])) > 0.9 * len(content["texts"])
    status, said = verified(made / "huggingface", capfd)
    assert (
        status == 0 and tuple(said) == FORMS and all(line.endswith("as they were made") for line in said.values())
    )


def test_the_texts_hold_many_scripts_spaces_and_symbols(made):
    texts = json.loads((made / "huggingface" / "golden.json").read_text("utf-8"))["texts"]
    characters = set("".join(texts))
    letters = {unicodedata.name(one, "?").split()[0] for one in characters if unicodedata.category(one)[0] == "L"}
    assert len(letters) > 40
    assert {" ", "\t", "\n", "\xa0", "\u3000", "\u200b", "\u200d", "\xad", "▁"} <= characters
    assert set(map(chr, range(33, 127))) <= characters
    assert {"Sc", "Sm", "So", "Nd", "Nl", "No", "Mn", "Mc", "Co", "Cf"} <= set(
        map(unicodedata.category, characters)
    )


def test_ids_of_another_model_differ(copy, capfd):
    definition = json.loads((copy / "tokenizer.json").read_text("utf-8"))
    vocabulary = definition["model"]["vocab"]
    end = len(vocabulary) - 1  # <mask>, and before it pieces of text, some of which the English texts need
    vocabulary[end - 100 : end] = vocabulary[end - 100 : end][::-1]
    (copy / "tokenizer.json").write_text(json.dumps(definition), "utf-8")
    status, said = verified(copy, capfd)
    assert status == 1
    assert said["sentencepiece"].endswith("as they were made")
    assert (
        said["tokenizers"].endswith(said["transformers"].split(": ", 1)[1]) and "other ids" in said["tokenizers"]
    )


def test_a_normaliser_that_is_lost_is_noticed(copy, capfd):
    """As libraries do that build a pipeline of their own: the same pieces, other ids."""
    definition = json.loads((copy / "tokenizer.json").read_text("utf-8"))
    definition["normalizer"] = {"type": "NFC"}
    (copy / "tokenizer.json").write_text(json.dumps(definition), "utf-8")
    status, said = verified(copy, capfd)
    assert status == 1 and "ids differ in" in said["tokenizers"] and "first 'All human" in said["tokenizers"]


def test_without_the_model_the_others_are_checked(copy, capfd):
    (copy.parent / "sentencepiece.model").unlink()
    status, said = verified(copy, capfd)
    assert status == 0 and tuple(said) == FORMS[1:]


DAMAGED = "damaged, or of a newer"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("golden.json", None, "no golden.json in it, as in folders of older versions"),
        ("golden.json", '{"version": 1, "texts": ["a"]}', DAMAGED),
        ("golden.json", "{", DAMAGED),
        ("golden.json", '{"version": 2}', DAMAGED),
        ("tokenizer.json", '{"model": ', "not a usable Hugging Face tokenizer"),
        ("tokenizer.json", None, "no such tokenizer"),
    ],
)
def test_an_old_or_damaged_folder_is_one_message(copy, capfd, name, content, words):
    (copy / name).unlink()
    if content is not None:
        (copy / name).write_text(content)
    capfd.readouterr()
    assert run("verify", copy) == 1
    out, err = capfd.readouterr()
    assert words in err and str(copy) in err and err.count("\n") == 1 and "Traceback" not in err and not out


def test_the_card_holds_known_facts(made, tmp_path, capfd):
    model, out = made / "sentencepiece.model", tmp_path / "README.md"
    row = "xx\thigh\t10\t-41.25\t12.5\t1.5\t2\t2\t0.015\t0.5\t0.5\t0.1\n"
    columns = (
        "language\tresource\tlines\talp\ttokens_per_sentence\ttokens_per_word\tchars_per_token\tbytes_per_token"
    )
    columns += "\tunk_rate\tvocabulary_used\trenyi\tsingle_char_share\n"
    (tmp_path / "evaluation.tsv").write_text(columns + row, "utf-8")
    assert run("card", model, "-o", out, "--evaluation", tmp_path / "evaluation.tsv", "--text", "Of *trees*.") == 0
    card = out.read_text("utf-8")
    head = yaml.safe_load(card.split("---\n")[1])
    assert head["library_name"] == "transformers" and head["language"] == ["xx"]
    assert f"T = {len(read_model(model).pieces)} ids" in card and "Of *trees*." in card and "byte pieces" in card
    assert "| xx | -41.25 | 12.5 | 0.015 |" in card
    assert sorted(path.name for path in (made / "huggingface").iterdir()) == sorted(EXPORTED)
    assert str(tmp_path) not in card and str(made.parent) not in card


def test_an_unknown_text_is_reported_as_unknown(made, tmp_path):
    assert run("card", made / "sentencepiece.model", "-o", tmp_path / "README.md") == 0
    card = (tmp_path / "README.md").read_text("utf-8")
    assert "Not measured." in card and card.count("Not recorded") == 2
