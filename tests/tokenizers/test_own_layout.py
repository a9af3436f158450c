"""Special tokens of the user: ids, roles and templates in SentencePiece, tokenizers and
transformers.
"""

import json

import pytest
from sentencepiece import SentencePieceProcessor
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from tests.cases import read_cases
from tests.commands import ended, ended_all
from tests.made_text import write_lines
from tests.tokenizers.factories import make_lines
from vocap.errors import UsageError
from vocap.files.io import write_tsv
from vocap.options import parse_layout
from vocap.tokenizer_files.id_layout import XLM_R_LAYOUT, IdLayout

CASES = read_cases(__file__)

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


OWN = f"--layout {json.dumps(LAYOUT, separators=(',', ':'))}"
SYMBOLS = f"--control-symbols={','.join(CONTROLS)}"
READ = "--vocabularies v --weights weights.tsv"
COMMANDS = f"""\
ladder corpora/en/train.txt --heldout corpora/en/heldout.txt -o v/en --sizes 150,250 {SYMBOLS}
allocate {READ} --total {TOTAL} --special-tokens 9 --other-rows 2 -o allocation
fit {READ} --allocation allocation {SYMBOLS} {OWN} -o vocap
joint --corpora corpora --weights weights.tsv --total {TOTAL} {SYMBOLS} {OWN} -o joint
mono --model v/en/models/150.model --language en {OWN} -o mono
export vocap/sentencepiece.model {OWN} -o vocap/huggingface
export joint/sentencepiece.model {OWN} -o joint/huggingface
export mono/sentencepiece.model {OWN} -o mono/huggingface
trim vocap --text en=corpora/en/train.txt -o trimmed
extend vocap --language ka --text ka.txt --pieces 40 -o extended
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("layout")
    lines, train = make_lines("en", 1000), root / "corpora" / "en" / "train.txt"
    write_lines(train, lines[50:])
    write_lines(train.with_name("heldout.txt"), lines[:50])
    write_lines(root / "ka.txt", make_lines("ka", 400))
    write_tsv(root / "weights.tsv", ("language", "n"), [("en", len(lines))])
    ended_all(root, COMMANDS)
    fit = f"fit {READ} --allocation allocation {SYMBOLS} -o refused"
    refused = ended(*fit.split(), cwd=root, status=2)
    assert "leaves 9 rows to special tokens, the layout has 5" in refused.stderr
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
    CASES["wrong"],
)
def test_a_wrong_layout_is_one_message(text, says):
    with pytest.raises(UsageError, match=says.replace("(", r"\(")):
        parse_layout(text)


def test_unigram_models_alone_need_an_unknown_token(root):
    given = "--corpora corpora --weights weights.tsv --total 400"
    own = '--layout {"special":["<s>","</s>"],"mask":false} -o free'
    refused = ended(*f"joint {given} {own}".split(), cwd=root, status=2)
    assert "no token has the role unk, which a unigram model needs" in refused.stderr
    mono = f"mono --model v/en/models/150.model --language en {own}"
    assert ended(*mono.split(), cwd=root, status=2).stderr == refused.stderr
    ended_all(root, f"bpe {given} {own}\nexport free -o free/huggingface")
    loaded = AutoTokenizer.from_pretrained(root / "free" / "huggingface")
    line = "Sn\u00f6 \u2603 \U0001f9ff"
    assert (loaded.unk_token, len(loaded)) == (None, 400)
    assert loaded.decode(loaded(line).input_ids) == f"<s> {line}</s>"


def test_a_total_that_is_no_multiple_names_the_two_nearest(root):
    words = f"joint --corpora corpora --weights weights.tsv --total 209 {OWN} -o none"
    done = ended(*words.split(), cwd=root, status=2)
    assert "T = 209 is no multiple of 16" in done.stderr
    assert "take 208 or 224" in done.stderr and not (root / "none").exists()
