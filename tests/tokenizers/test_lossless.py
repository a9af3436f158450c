"""Text as it is through every stage: ladder, allocation by both kinds of rules, VOCAP,
JOINT, MONO, export.

Two languages, one of them the source code of this project with its indentation.
References: SentencePiece's own training, its encoder and decoder, `transformers`.
"""

import json
import random
from pathlib import Path

import pytest
from sentencepiece import SentencePieceProcessor

import vocap as package
from tests.commands import ended, ended_all
from tests.made_text import write_lines
from tests.tokenizers.factories import make_lines
from tests.unigram.test_alp import naive_alp
from vocap.files.io import read_tsv, write_tsv
from vocap.tokenizer_files.encoders import load_encoder

pytestmark = pytest.mark.xdist_group("lossless")  # one worker trains the tokenizers, once

CHAT = ("<|user|>", "<|end|>")
TEXT = f"--preset lossless --control-symbols {','.join(CHAT)}"
SIZES, TOTAL = "500,700,900", 820
NAMES = ("vocap", "pieces", "joint", "mono")
UNUSUAL = [
    "", " ", "   ", "\n", "a\nb", "a\r\nb\r\n", "\ta  b   c ", "  before", "after  ",
    "\0", "a\0b", "\ufffd", "def f(x):\n    return x\n\n\n", "e\u0301 é", "\u2585", "\ufeffa",
    "\x01\x7f\x85\u2028", "ａｂｃ ½ ﬁ", "a\u00a0b\u3000c\u200b", "👨\u200d👩\u200d👧 👍🏽",
    "<s> a </s> <mask><pad><unk>", "<0x41>", "12 345.6", "<|user|>a<|end|>",
]  # fmt: skip


ROWS = f"--byte-fallback --control-symbols {','.join(CHAT)}"
COMMANDS = f"""\
ladder corpora/en/train.txt --heldout corpora/en/heldout.txt -o v/en --sizes {SIZES} {TEXT}
ladder corpora/de/train.txt --heldout corpora/de/heldout.txt -o v/de --sizes {SIZES} {TEXT}
allocate --vocabularies v --weights n.tsv --total {TOTAL} --other-rows 258 -o by-size
allocate --vocabularies v --weights n.tsv --total {TOTAL} --rule pieces --corpora corpora {TEXT} \
-o by-piece
fit --weights n.tsv {ROWS} --allocation by-size --vocabularies v -o vocap
fit --weights n.tsv {ROWS} --allocation by-piece --vocabularies by-piece/vocabularies -o pieces
joint --corpora corpora --weights n.tsv --characters corpora --total {TOTAL} {TEXT} -o joint
mono --model v/de/models/900.model --language de -o mono
export vocap/sentencepiece.model -o vocap/huggingface
export pieces/sentencepiece.model -o pieces/huggingface
export joint/sentencepiece.model -o joint/huggingface
export mono/sentencepiece.model -o mono/huggingface
"""


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    """Corpora, and the tokenizers that the stages make of them."""
    root = tmp_path_factory.mktemp("lossless")
    modules = sorted(Path(package.__file__).parent.rglob("*.py"))
    lines = [line for path in modules for line in path.read_text("utf-8").split("\n")]
    code = [line for line in lines if line.strip() and "\u2581" not in line]
    texts = {"en": make_lines("en", 1200), "de": code[:4000]}
    texts["en"][::7] = [f"  {line}  twice  " for line in texts["en"][::7]]
    for language, lines in texts.items():
        folder = root / "corpora" / language
        training = [line for number, line in enumerate(lines) if number % 20]
        write_lines(folder / "train.txt", training)
        write_lines(folder / "heldout.txt", lines[::20])
    numbers = [(language, len(lines)) for language, lines in texts.items()]
    write_tsv(root / "n.tsv", ("language", "n"), numbers)
    ended_all(root, COMMANDS)
    return root


def heldout(root, language: str) -> list[str]:
    return (root / "corpora" / language / "heldout.txt").read_text("utf-8").split("\n")[:-1]


def random_texts(seed: int, characters: int) -> list[str]:
    """Any code points but surrogates and U+2581, most of them below U+3000."""
    rng, texts = random.Random(seed), []
    while characters > 0:
        limits = rng.choices((0x80, 0x3000, 0x110000), k=rng.randint(1, 100))
        codes = [rng.randrange(limit) for limit in limits]
        texts.append(
            "".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000 and code != 0x2581)
        )
        characters -= len(texts[-1])
    return texts


@pytest.mark.parametrize("name", NAMES)
def test_every_text_comes_back_from_both_forms(root, name):
    forms = [load_encoder(root / name / form) for form in ("sentencepiece.model", "huggingface")]
    texts = [*heldout(root, "en"), *heldout(root, "de"), *UNUSUAL, *random_texts(1, 100_000)]
    one, other = (form.encode_batch(texts) for form in forms)
    assert one == other
    for form in forms:
        assert form.decode_batch(one) == texts


def test_transformers_loads_it(root):
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(root / "joint" / "huggingface"))
    stock = SentencePieceProcessor(model_file=str(root / "joint" / "sentencepiece.model"))
    for text in UNUSUAL:
        ids = tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
        assert ids == stock.encode(text) and tokenizer.decode(ids) == text


def test_u2581_comes_back_as_a_space_and_is_counted(root, tmp_path):
    encoder = load_encoder(root / "joint" / "huggingface")
    assert encoder.decode_batch(encoder.encode_batch(["a\u2581b"])) == ["a b"]
    write_lines(tmp_path / "en" / "heldout.txt", ["a  b", "a\u2581b", "\u2581"])
    ended_all(
        root,
        f"evaluate --tokenizer joint --corpora {tmp_path} --languages en --tables {tmp_path}/t",
    )
    (row,) = read_tsv(tmp_path / "t" / "joint" / "roundtrip.tsv")
    assert (row["texts"], row["identical"]) == ("3", "1") and row["example"].startswith(
        "U+2581 2: "
    )


def test_chat_tokens_are_ids_that_no_text_gives(root):
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(root / "pieces" / "huggingface"))
    stock = SentencePieceProcessor(model_file=str(root / "pieces" / "sentencepiece.model"))
    ids = tokenizer.convert_tokens_to_ids(list(CHAT))
    assert ids == [stock.piece_to_id(token) for token in CHAT] == [4, 5]
    text = f"{CHAT[0]}a word{CHAT[1]}"
    assert not set(ids) & set(stock.encode(text))
    given = tokenizer.encode(text, add_special_tokens=False)
    assert given == [4, *stock.encode("a word"), 5]  # no U+2581 around them
    assert tokenizer.decode(given, skip_special_tokens=True) == "a word"
    assert set(CHAT) <= set(tokenizer.all_special_tokens)
    tokenizer.chat_template = "{% for m in messages %}<|user|>{{ m.content }}<|end|>{% endfor %}"
    rendered = tokenizer.apply_chat_template(
        [{"role": "user", "content": "a word"}], return_dict=False
    )
    assert rendered == given


def test_totals_and_runs_of_spaces(root):
    for name in NAMES[:3]:
        stock = SentencePieceProcessor(model_file=str(root / name / "sentencepiece.model"))
        assert stock.get_piece_size() == TOTAL
        assert [stock.is_byte(number) for number in range(5, 8)] == [False, True, True]
        assert stock.piece_to_id("\u2581" * 4) != stock.unk_id()
        assert json.loads((root / name / "description.json").read_text("utf-8"))["settings"][
            "byte_fallback"
        ]


def test_no_allocated_piece_is_given_up(root):
    """The allocations leave the rows of bytes and chat tokens free."""
    for name, allocation in (("vocap", "by-size"), ("pieces", "by-piece")):
        allocated = {row["piece"] for row in read_tsv(root / allocation / "vocabulary.tsv")}
        listed = list(read_tsv(root / name / "pieces.tsv"))
        assert len(allocated) == TOTAL - 5 - 258
        assert {row["piece"] for row in listed} == allocated and all(row["id"] for row in listed)


def test_the_card_says_it(root, tmp_path):
    for name, method in (("pieces", "PIECES: one descent"), ("vocap", "VOCAP (Zheng et al.")):
        ended_all(root, f"card {name}/sentencepiece.model -o {tmp_path / name}")
        card = (tmp_path / name).read_text("utf-8")
        assert method in card and "Every text comes back" in card and "normalised" not in card
        assert "2 control symbols (`<|user|>`, `<|end|>`)" in card


def test_alp_of_rule_pieces_counts_bytes(root):
    """By SentencePiece's encoder and Equation 1, from the model of each language."""
    summary = json.loads((root / "by-piece" / "summary.json").read_text("utf-8"))
    rows = {row["language"]: row for row in read_tsv(root / "by-piece" / "allocation.tsv")}
    weighted = 0.0
    for language, row in rows.items():
        model = root / "by-piece" / "vocabularies" / language / "models" / f"{row['size']}.model"
        stock = SentencePieceProcessor(model_file=str(model))
        assert stock.get_piece_size() == int(row["size"])
        lines = (root / "corpora" / language / "train.txt").read_text("utf-8").split("\n")[:-1]
        alp = naive_alp(stock, lines)
        curve = next(iter(read_tsv(model.parents[1] / "curve.tsv")))
        assert float(curve["alp"]) == pytest.approx(alp, rel=1e-9)
        weighted += float(row["weight"]) * alp
    assert weighted == pytest.approx(summary["chosen"]["objective"], rel=1e-9)


def test_other_text_than_that_of_the_models_is_refused(root, tmp_path):
    words = f"--vocabularies v --weights n.tsv --total {TOTAL} --rule pieces --corpora corpora"
    done = ended("allocate", *words.split(), "-o", tmp_path / "out", cwd=root, status=1)
    assert "not the text of the language's vocabularies" in done.stderr
    assert not (tmp_path / "out").exists()
