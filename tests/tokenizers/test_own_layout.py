"""Special tokens of the user: ids, roles and templates in SentencePiece, tokenizers and
transformers.
"""

import json

import pytest
from sentencepiece import SentencePieceProcessor
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from tests.commands import vocap
from tests.made_text import write_lines
from tests.tokenizers.factories import make_lines
from vocap.errors import UsageError
from vocap.files.io import write_tsv
from vocap.tokenizer_files.id_layout import XLM_R_LAYOUT, IdLayout, parse_layout

pytestmark = pytest.mark.xdist_group("layout")  # one worker trains the tokenizers, once

LAYOUT = {
    "special": ["<pad>", {"token": "<|end|>", "role": "eos"}, "<unk>", "<s>", "<|tool|>"],
    "mask": False,
    "reserved": 4,
    "multiple_of": 16,
    "bos_eos": "bos",
    "model_max_length": 4096,
    "padding_side": "left",
}
CONTROLS = ["<|user|>", "<|bot|>"]
TOTAL = 208
FIRST = [
    "<pad>",
    "<|end|>",
    "<unk>",
    "<s>",
    "<|tool|>",
    *CONTROLS,
    *(f"<reserved_{k}>" for k in range(4)),
]
NAMES = ("vocap", "joint", "mono", "trimmed", "extended")


def run(*words) -> None:
    done = vocap(*map(str, words))
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("layout")
    lines, train = make_lines("en", 1000), root / "corpora" / "en" / "train.txt"
    write_lines(train, lines[50:])
    write_lines(train.with_name("heldout.txt"), lines[:50])
    layout, controls = f"--layout={json.dumps(LAYOUT)}", f"--control-symbols={','.join(CONTROLS)}"
    made, weights = root / "vocabularies" / "en", root / "weights.tsv"
    heldout = ("--heldout", train.with_name("heldout.txt"))
    run("ladder", train, *heldout, "-o", made, "--sizes", "150,250", controls)
    write_tsv(weights, ("language", "n"), [("en", len(lines))])
    read = ("--vocabularies", made.parent, "--weights", weights)
    rows = ("--special-tokens", 9, "--other-rows", 2)
    run("allocate", *read, "--total", TOTAL, *rows, "-o", root / "allocation")
    fit = ("fit", *read, "--allocation", root / "allocation", controls)
    run(*fit, layout, "-o", root / "vocap")
    refused = vocap(*map(str, (*fit, "-o", root / "refused")))
    assert (
        refused.returncode == 2
        and "leaves 9 rows to special tokens, the layout has 5" in refused.stderr
    )
    joint = (
        "joint",
        "--corpora",
        root / "corpora",
        "--weights",
        weights,
        "--total",
        TOTAL,
        controls,
        layout,
    )
    run(*joint, "-o", root / "joint")
    run(
        "mono",
        "--model",
        made / "models" / "150.model",
        "--language",
        "en",
        layout,
        "-o",
        root / "mono",
    )
    for name in NAMES[:3]:
        run(
            "export", root / name / "sentencepiece.model", layout, "-o", root / name / "huggingface"
        )
    run("trim", root / "vocap", "--text", f"en={train}", "-o", root / "trimmed")
    georgian = write_lines(root / "ka.txt", make_lines("ka", 400))
    run(
        "extend",
        root / "vocap",
        "--language",
        "ka",
        "--text",
        georgian,
        "--pieces",
        40,
        "-o",
        root / "extended",
    )
    return root


@pytest.mark.parametrize("name", NAMES)
def test_ids_are_those_of_the_layout_in_three_libraries(root, name):
    own = SentencePieceProcessor(str(root / name / "sentencepiece.model"))
    library = Tokenizer.from_file(str(root / name / "huggingface" / "tokenizer.json"))
    loaded = AutoTokenizer.from_pretrained(root / name / "huggingface")
    first = FIRST if name != "mono" else [*FIRST[:5], *CONTROLS, *FIRST[7:]]
    assert (
        own.id_to_piece(list(range(len(first))))
        == first
        == [library.id_to_token(k) for k in range(len(first))]
    )
    assert "<mask>" not in loaded.get_vocab() and loaded.mask_token is None
    assert own.get_piece_size() == library.get_vocab_size() == len(loaded)
    if name in NAMES[:2]:
        assert own.get_piece_size() == TOTAL
    assert (own.pad_id(), own.eos_id(), own.unk_id(), own.bos_id()) == (0, 1, 2, 3)
    assert (loaded.pad_token_id, loaded.eos_token_id, loaded.unk_token_id, loaded.bos_token_id) == (
        0,
        1,
        2,
        3,
    )
    assert (loaded.model_max_length, loaded.padding_side) == (4096, "left")
    library.encode_special_tokens = True
    literals = [f"a {token} b" for token in first]
    for line in [*make_lines("en", 40, seed=9), *literals, "日本"]:
        ids = own.encode(line)
        assert ids == library.encode(line, add_special_tokens=False).ids
        assert ids == loaded.encode(line, add_special_tokens=False, split_special_tokens=True)
        assert loaded.encode(line, split_special_tokens=True) == [3, *ids]
        assert not set(ids) & {number for number in range(len(first)) if number != 2}
        assert loaded.decode([3, *ids, 5, 8], skip_special_tokens=True) == own.decode(
            [k for k in ids if k != 2]
        )


def test_the_default_is_xlm_r_s_and_needs_no_option():
    assert parse_layout("xlm-r") == XLM_R_LAYOUT == IdLayout()
    assert XLM_R_LAYOUT.text() is None and XLM_R_LAYOUT.rows == 5
    assert XLM_R_LAYOUT.names == ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    own = parse_layout(json.dumps(LAYOUT))
    assert parse_layout(own.text()) == own and own.rows == 9 and own.around == ("<s>", None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("llama", "write xlm-r, or a map"),
        ("{special: [<unk>, <unk>]}", "'<unk>' is given 2 times"),
        ("{special: [<unk>, <mask>]}", "'<mask>' is given 2 times"),
        ("{special: [<unk>, <reserved_0>], reserved: 1}", "'<reserved_0>' is given 2 times"),
        ("{special: [<unk>, <s>, {token: <b>, role: bos}]}", "2 tokens have the role bos"),
        ("{special: [<unk>, 'a b']}", "'a b' holds a space"),
        ("{special: [<unk>, <0x41>]}", "the name of a byte"),
        ("{special: [<unk>], bos_eos: eos}", "no special token has the role eos"),
        ("{reserved: -1}", "reserved: Input should be greater than or equal to 0"),
    ],
)
def test_a_wrong_layout_is_one_message(text, says):
    with pytest.raises(UsageError, match=says.replace("(", r"\(")):
        parse_layout(text)


def test_unigram_models_alone_need_an_unknown_token(root):
    given = ("--corpora", root / "corpora", "--weights", root / "weights.tsv", "--total", 400)
    own = ("--layout={special: [<s>, </s>], mask: false}", "-o", root / "free")
    refused = vocap(*map(str, ("joint", *given, *own)))
    assert (
        refused.returncode == 2
        and "no token has the role unk, which a unigram model needs" in refused.stderr
    )
    done = vocap(
        "mono", "--model", root / "vocabularies/en/models/150.model", "--language", "en", *own
    )
    assert done.returncode == 2 and done.stderr == refused.stderr
    run("bpe", *given, *own)
    run("export", root / "free", "-o", root / "free" / "huggingface")
    loaded, line = (
        AutoTokenizer.from_pretrained(root / "free" / "huggingface"),
        "Sn\u00f6 \u2603 \U0001f9ff",
    )
    assert (loaded.unk_token, len(loaded)) == (None, 400)
    assert loaded.decode(loaded(line).input_ids) == f"<s> {line}</s>"


def test_a_total_that_is_no_multiple_names_the_two_nearest(root):
    done = vocap(
        "joint", "--corpora", root / "corpora", "--weights", root / "weights.tsv",
        "--total", "209", f"--layout={json.dumps(LAYOUT)}", "-o", root / "none",
    )  # fmt: skip
    assert done.returncode == 2 and "T = 209 is no multiple of 16" in done.stderr
    assert "take 208 or 224" in done.stderr and not (root / "none").exists()
