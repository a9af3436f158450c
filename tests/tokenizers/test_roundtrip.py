"""Round trips against SentencePiece's and the tokenizers library's own decoding, line
by line.
"""

import pytest
from sentencepiece import SentencePieceProcessor
from tokenizers import Tokenizer

from vocap.files.io import read_tsv
from vocap.tokenizer_files.encoders import SentencePieceEncoder
from vocap.tokenizers.evaluation import COLUMNS, ROUND_TRIP_COLUMNS, show_losses
from vocap.unigram.usage import Segments

from .scripts import WORDS, make_lines, model, write_forms
from .test_evaluation import run

LOSSES = {
    "spaces": ["a  b", " a", "a\tb"],
    "U+2581": ["a\u2581a", "\u2581a b"],
    "characters": ["\ufb01a", "a\u00b2"],
    "unknown": ["a \U00012000", "a  \U00012000"],
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("roundtrip")
    write_forms(root / "tokenizer")
    plain = [line.replace("\u2581", "") for line in make_lines(200, seed=5)]
    for language, lines in {
        "en": [*plain, *(line for kind in LOSSES.values() for line in kind)],
        "th": [],
    }.items():
        (root / "corpora" / language).mkdir(parents=True)
        text = "".join(f"{line}\n" for line in lines if line)
        (root / "corpora" / language / "heldout.txt").write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize("form", ["sentencepiece.model", "huggingface"])
def test_every_line_is_decoded_as_the_library_does(root, tmp_path, form):
    run(root, f"tokenizer/{form}", tmp_path)
    english, thai = read_tsv(tmp_path / "t" / "roundtrip.tsv", ROUND_TRIP_COLUMNS)
    lines = (root / "corpora/en/heldout.txt").read_text("utf-8").split("\n")[:-1]
    if form == "huggingface":
        tokenizer = Tokenizer.from_file(str(root / "tokenizer/huggingface/tokenizer.json"))
        tokenizer.encode_special_tokens = True
        ids = [tokenizer.encode(line, add_special_tokens=False).ids for line in lines]
        decoded = [tokenizer.decode(numbers, skip_special_tokens=False) for numbers in ids]
    else:
        processor = SentencePieceProcessor(model_file=str(root / "tokenizer/sentencepiece.model"))
        decoded = [processor.decode(processor.encode(line)) for line in lines]
    identical = sum(map(str.__eq__, lines, decoded))
    assert int(english["texts"]) == len(lines) and english["domain"] == "text"
    assert int(english["identical"]) == identical and 0 < identical < len(lines)
    assert float(english["share"]) == identical / len(lines)
    counted = [
        int(part.split(":")[0].split()[-1])
        for part in english["example"].split("; ")
        if "→" in part
    ]
    assert sum(counted) == len(lines) - identical
    cells = [thai[name] for name in ("texts", "identical", "share", "example")]
    assert cells == ["0", "0", "", ""]
    _, empty = read_tsv(tmp_path / "t" / "evaluation.tsv", COLUMNS)
    assert [empty[name] for name in COLUMNS[2:]] == ["0", *[""] * (len(COLUMNS) - 3)]


@pytest.mark.parametrize("kind", LOSSES)
def test_each_kind_of_loss_has_its_example(kind):
    processor = SentencePieceProcessor(model_proto=model().SerializeToString())
    found = Segments(SentencePieceEncoder(processor), decodes=True)
    found.add([*LOSSES[kind], WORDS["en"][0]])
    assert show_losses(found.trips).startswith(f"{kind} {len(LOSSES[kind])}: “")
    assert list(found.trips.kinds) == [kind] and found.sums["identical"] == 1
    assert found.sums["changed"] == (0 if kind == "unknown" else len(LOSSES[kind]))
