"""Chat templates and presets of a layout, in exports of both kinds: what transformers
renders and encodes.
"""

import json
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from tests.cases import read_cases
from tests.pretraining.factories import make_lines, model_bytes
from tests.tokenizers.factories import byte_tokenizer
from vocap.bpe import model_file
from vocap.config import load
from vocap.errors import UsageError
from vocap.options import parse_layout
from vocap.tokenizer_files.export import export_unigram
from vocap.tokenizer_files.id_layout import PRESETS, IdLayout

SPECIAL = ["<pad>", {"token": "<|im_end|>", "role": "eos"}, "<unk>"]
LAYOUT = {
    "special": SPECIAL,
    "presets": ["chatml", "tools", "fim"],
    "mask": False,
    "chat_template": "chatml",
}
NAMES = ["<pad>", "<|im_end|>", "<unk>", "<|im_start|>", *PRESETS["tools"], *PRESETS["fim"]]
MESSAGES = [{"role": "system", "content": "aber <|im_end|> ab"}, {"role": "user", "content": "rot"}]
# https://github.com/openai/openai-python/blob/release-v0.28.0/chatml.md
RENDERED = (
    "<|im_start|>system\naber <|im_end|> "
    "ab<|im_end|>\n<|im_start|>user\nrot<|im_end|>\n<|im_start|>assistant\n"
)


def unigram(folder: Path, **changes) -> Path:
    layout = json.dumps(LAYOUT | changes)
    (folder / "sentencepiece.model").write_bytes(
        model_bytes(parse_layout(json.dumps(LAYOUT)).ids().text())
    )
    export_unigram(folder / "sentencepiece.model", folder / "huggingface", parse_layout(layout))
    return folder / "huggingface"


def byte_pairs(folder: Path, **changes) -> Path:
    tokenizer = byte_tokenizer(make_lines("de", 200), size=400, special_tokens=NAMES)
    model_file.write_definition(
        folder, tokenizer, {"pad": "<pad>", "eos": "<|im_end|>", "unk": "<unk>"}, IdLayout().use
    )
    layout = parse_layout(json.dumps(LAYOUT | changes))
    model_file.export_bpe(folder / "tokenizer.json", folder / "huggingface", layout)
    return folder / "huggingface"


@pytest.mark.parametrize("make", [unigram, byte_pairs])
def test_chatml_is_rendered_and_its_tokens_are_one_id_each(tmp_path, make):
    loaded = AutoTokenizer.from_pretrained(make(tmp_path))
    assert [loaded.convert_tokens_to_ids(name) for name in NAMES] == list(range(len(NAMES)))
    found = loaded.apply_chat_template(MESSAGES, tokenize=False, add_generation_prompt=True)
    assert found == RENDERED
    ids = loaded.apply_chat_template(MESSAGES, return_dict=False)
    assert ids.count(NAMES.index("<|im_start|>")) == 2 and ids.count(NAMES.index("<|im_end|>")) == 3
    assert (
        loaded.eos_token == "<|im_end|>"
        and (tmp_path / "huggingface" / "chat_template.jinja").is_file()
    )


@pytest.mark.parametrize("make", [unigram, byte_pairs])
def test_a_template_of_a_file_that_is_taken_away_again(tmp_path, make):
    own = tmp_path / "own.jinja"
    own.write_text(
        "{% for m in messages %}<tool_call>{{ m.content }}{{ eos_token }}{% endfor %}", "utf-8"
    )
    loaded = AutoTokenizer.from_pretrained(make(tmp_path, chat_template=str(own)))
    assert loaded.apply_chat_template(MESSAGES[1:], tokenize=False) == "<tool_call>rot<|im_end|>"
    assert AutoTokenizer.from_pretrained(make(tmp_path, chat_template=None)).chat_template is None


@pytest.mark.parametrize(("template", "says"), read_cases(__file__)["refused"])
def test_a_template_that_cannot_be_used_is_one_line(tmp_path, template, says):
    if template is not None:
        (tmp_path / "own.jinja").write_bytes(template.encode("latin-1"))
    own = {"chat_template": str(tmp_path / "own.jinja")}
    with pytest.raises(UsageError, match=says):
        unigram(tmp_path, **own)
    assert not (tmp_path / "huggingface").exists()
    with pytest.raises(UsageError, match=says):
        load({"layout": LAYOUT | own})


def test_tokens_of_presets_follow_the_special_ones_once():
    layout = parse_layout(json.dumps(LAYOUT))
    assert layout.names == NAMES and layout.roles == {
        "pad": "<pad>",
        "eos": "<|im_end|>",
        "unk": "<unk>",
    }
    assert parse_layout(layout.text()) == layout
    assert parse_layout("{presets: [fim]}").names == [
        "<s>",
        "<pad>",
        "</s>",
        "<unk>",
        *PRESETS["fim"],
        "<mask>",
    ]
    assert layout.ids().text() and "chat" not in json.loads(layout.ids().text())
    with pytest.raises(UsageError, match=r"--layout: presets\.0: "):
        parse_layout("{presets: [llama]}")
