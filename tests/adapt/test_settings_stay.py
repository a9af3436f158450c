"""What the files of a tokenizer and its model say of their use stays in `vocap trim`
and `extend`: transformers loads the old and the new.
"""

import json
import shutil

import pytest
from tokenizers import AddedToken
from transformers import AutoTokenizer, GenerationConfig, PreTrainedTokenizerFast

from tests.adapt.made import make_unigram
from tests.cases import refused
from tests.commands import caller
from tests.made_text import write_lines
from tests.tokenizers.factories import make_lines

from .test_byte_pairs import made
from .test_embedding_models import make_encoder, make_files
from .test_trim import id_map, processor

LENGTH = 8192  # in the tokenizer's files
TEMPLATE = "{% for message in messages %}<|turn|>{{ message.content }}{% endfor %}"
TEMPLATES = {"default": TEMPLATE, "tool_use": "{{ tools }}" + TEMPLATE, "rag": "{{ messages[0] }}"}
STAYING = [
    *("model_max_length", "padding_side", "truncation_side", "clean_up_tokenization_spaces"),
    *("chat_template", "model_input_names", "special_tokens_map"),
]
COMMANDS = {
    "trim": "trim {source} --text=en={source}/en.txt -o ",
    "extend": "extend {source} --language=xx --text={source}/xx.txt --pieces=20 -o ",
}
# literal added tokens: between spaces, inside words, in capitals, in characters that
# are normalised
HARD = [
    "a<date>b c <date> d",
    "<|turn|>ab",
    "x QXQ y",
    "xQXQy QXQ",
    "ＱＸＱ <mask>a",
    "  two  spaces ",
]


@pytest.fixture(scope="module")
def roots(tmp_path_factory):
    """Unigram tokenizers with rules of normalisation, and without, which are adapted
    sooner.
    """
    folder = tmp_path_factory.mktemp("embedding")
    rules = {"unigram": {}, "plain": {"normalization": "identity"}}
    return {name: make_files(folder / name, **keys) for name, keys in rules.items()}


@pytest.fixture(params=["unigram", "bpe"])
def source(request, roots, tmp_path):
    """A folder as transformers writes it, with settings and added tokens of a user, a
    model with a row for each id, and the modules of sentence-transformers.
    """
    folder = tmp_path / "source"
    settings = {
        "model_max_length": LENGTH,
        "padding_side": "left",
        "truncation_side": "left",
        "clean_up_tokenization_spaces": True,
        "model_input_names": ["input_ids", "attention_mask"],
        "chat_template": TEMPLATE,
        "mine": {"key": [1]},
    }
    if root := roots.get(request.param):
        tokens = {"bos": "<s>", "cls": "<s>", "eos": "</s>", "sep": "</s>", "unk": "<unk>"}
        tokens |= {"pad": "<pad>", "mask": AddedToken("<mask>", lstrip=True, normalized=True)}
        definition = str(root / "tokenizer/tokenizer.json")
    else:
        lines = [line for code in ("en", "ka", "zh") for line in make_lines(code, 400, seed=5)]
        tokens, definition = {"eos": "<|end|>"}, str(tmp_path / "tokenizer.json")
        made("gpt2", lines).save(definition)
    tokens = {f"{role}_token": token for role, token in tokens.items()}
    loaded = PreTrainedTokenizerFast(tokenizer_file=definition, **tokens, **settings)
    loaded.add_tokens([AddedToken("<date>"), AddedToken("QXQ", single_word=True, rstrip=True)])
    loaded.add_tokens([AddedToken("<|turn|>", lstrip=True)], special_tokens=True)
    loaded.save_pretrained(folder)
    if root:
        shutil.copy(root / "tokenizer/sentencepiece.bpe.model", folder)
        model = make_encoder("e5-base", len(loaded))
        model.save_pretrained(folder)
    write_lines(folder / "en.txt", [*make_lines("en", 400, seed=5), *HARD])
    write_lines(folder / "xx.txt", [line[::-1] for line in make_lines("en", 300, seed=4)])
    return folder


@pytest.fixture
def call(source, tmp_path):
    return caller(source=source, tmp=tmp_path)


def as_written(folder):
    """The added tokens of a folder's tokenizer.json but their ids, and its
    configuration but its tokens.
    """
    definition = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    config = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
    tokens = {
        token["content"]: {key: value for key, value in token.items() if key != "id"}
        for token in definition["added_tokens"]
    }
    return tokens, definition["truncation"], {key: config.get(key) for key in ("mine", *STAYING)}


def allow_inside_words(call, source):
    """`extend` of a unigram model refuses an added token that is only a whole word, and
    names it.
    """
    refused(call, COMMANDS["extend"] + "{tmp}/out", "'QXQ' is one only as a whole word")
    for file in source.glob("tokenizer*.json"):
        text = file.read_text("utf-8").replace('"single_word": true', '"single_word": false')
        file.write_text(text.replace('"single_word":true', '"single_word":false'), "utf-8")


@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_user_loads_stays(source, tmp_path, call, command):
    if command == "extend" and any(source.glob("*.model")):
        allow_inside_words(call, source)
    old = AutoTokenizer.from_pretrained(source)
    shown = call(COMMANDS[command] + "{tmp}/out")
    assert command == "extend" or "all the same" in shown
    out = tmp_path / "out/huggingface"
    assert as_written(out) == as_written(source)
    new, renamed = AutoTokenizer.from_pretrained(out), id_map(tmp_path / "out")
    for name in STAYING:
        assert getattr(new, name) == getattr(old, name), name
    assert {"<date>", "QXQ", "<|turn|>"} <= new.get_added_vocab().keys()
    lines = (source / "en.txt").read_text("utf-8").splitlines()
    counted = set((old.get_vocab() if command == "trim" else old.get_added_vocab()).values())
    counted -= {old.unk_token_id} if command == "extend" else set()
    kept = {renamed[number] for number in counted if number in renamed}
    for line in lines:
        before = [renamed[number] for number in old(line).input_ids if number in counted]
        assert before == [number for number in new(line).input_ids if number in kept]
    # the result trimmed again, from its own folder
    text = "en" if command == "trim" else "xx"
    call("trim {tmp}/out --text=en={source}/{text}.txt --only-used -o {tmp}/again", text=text)
    again = tmp_path / "again/huggingface"
    assert as_written(again) == as_written(source)
    twice = AutoTokenizer.from_pretrained(again)
    assert command == "extend" or twice.get_vocab() == new.get_vocab()


@pytest.mark.parametrize("source", ["plain"], indirect=True)
@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_models_files_say_stays(source, tmp_path, call, command):
    import torch
    import transformers

    if command == "extend":
        allow_inside_words(call, source)
    old_ids = AutoTokenizer.from_pretrained(source).get_added_vocab()
    config = json.loads((source / "config.json").read_text("utf-8"))
    config |= {"mine": 5, "decoder_start_token_id": old_ids["<date>"], "torch_dtype": "float32"}
    (source / "config.json").write_text(json.dumps(config))
    banned = [[old_ids["<date>"], old_ids["QXQ"]]]
    generation = {"eos_token_id": [2, old_ids["<|turn|>"]], "bad_words_ids": banned, "top_k": 7}
    (source / "generation_config.json").write_text(json.dumps(generation))
    modules = [{"path": ""}, {"path": "1_Pooling"}, {"path": "2_Normalize"}]
    (source / "modules.json").write_text(json.dumps(modules))
    (source / "1_Pooling").mkdir()
    (source / "1_Pooling/config.json").write_text('{"pooling_mode_mean_tokens": true}')
    for name in ("sentence_bert_config.json", "config_sentence_transformers.json"):
        (source / name).write_text('{"max_seq_length": 100}')
    call(COMMANDS[command] + "{tmp}/out --model {source}")
    out, renamed = tmp_path / "out/model", id_map(tmp_path / "out")
    total = len(AutoTokenizer.from_pretrained(out))
    changed = {"vocab_size": total, "decoder_start_token_id": renamed[old_ids["<date>"]]}
    assert json.loads((out / "config.json").read_text("utf-8")) == config | changed
    written = GenerationConfig.from_pretrained(out)
    assert (written.eos_token_id, written.top_k) == ([2, renamed[old_ids["<|turn|>"]]], 7)
    assert written.bad_words_ids == [[renamed[number] for number in banned[0]]]
    for name in ("modules.json", "1_Pooling/config.json", "sentence_bert_config.json"):
        assert (out / name).read_bytes() == (source / name).read_bytes()
    assert (out / "config_sentence_transformers.json").is_file()
    # a row of its own for each added token
    tables = [
        transformers.AutoModel.from_pretrained(folder).get_input_embeddings().weight
        for folder in (source, out)
    ]
    assert len(tables[1]) == total
    for token, number in old_ids.items():
        assert torch.equal(tables[0][number], tables[1][renamed[number]]), token
    (source / "modules.json").write_text('[{"path": "../other"}]')
    line = COMMANDS[command] + "{tmp}/none --model {source}"
    refused(call, line, "'../other' is outside the folder")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("source", ["plain"], indirect=True)
def test_rows_of_added_tokens_are_not_dropped_in_silence(source, call):
    """Of a tokenizer in Python as transformers 4 saves it."""
    (source / "tokenizer.json").unlink()
    config = json.loads((source / "tokenizer_config.json").read_text("utf-8"))
    config["added_tokens_decoder"] = {"700": {"content": "<date>"}}
    (source / "tokenizer_config.json").write_text(json.dumps(config))
    says = "the added token '<date>' is not in the model"
    refused(call, COMMANDS["trim"] + "{tmp}/out", says)


def test_a_literal_special_token_stays_text(tmp_path):
    """An export of our own, whose pieces spell the names of special tokens, trimmed to
    text without these characters: where special tokens are not split off, both forms
    have the literal as text, as before.
    """
    lines = [*make_lines("en", 600, seed=3), *["< s > / k p u n d m"] * 20]
    make_unigram(tmp_path / "all", lines, 200)
    write_lines(tmp_path / "en.txt", lines[:600])
    caller(tmp=tmp_path)("trim {tmp}/all --text=en={tmp}/en.txt --only-used -o {tmp}/out")
    loaded = AutoTokenizer.from_pretrained(tmp_path / "out/huggingface")
    own = processor(tmp_path / "out/sentencepiece.model")
    for line in ("a <s> b", "<pad>", "<mask> x", "</s>"):
        ids = loaded(line, add_special_tokens=False, split_special_tokens=True).input_ids
        assert ids == own.encode(line) and own.unk_id() in ids


@pytest.mark.parametrize("source", ["plain", "bpe"], indirect=True)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("default", [True, False])
def test_several_chat_templates_stay(source, tmp_path, call, command, default):
    """Of a tokenizer and of its model, with a default one and without; `vocap export`
    of the result has them too.
    """
    if command == "extend" and any(source.glob("*.model")):
        allow_inside_words(call, source)
    old = AutoTokenizer.from_pretrained(source)
    given = {name: text for name, text in TEMPLATES.items() if default or name != "default"}
    old.chat_template = given
    (source / "chat_template.jinja").unlink()
    old.save_pretrained(source)
    folders, line = ["", "out/huggingface", "again"], COMMANDS[command] + "{tmp}/out"
    file = "tokenizer.json"
    if any(source.glob("*.safetensors")):
        line += " --model {source}"
        folders.append("out/model")
        file = "sentencepiece.model"
    call(line)
    call("export {tmp}/out/{file} -o {tmp}/again", file=file)
    for folder in folders:
        path = tmp_path / folder if folder else source
        assert AutoTokenizer.from_pretrained(path).chat_template == given
