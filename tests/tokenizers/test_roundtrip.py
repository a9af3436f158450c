"""Round trips against SentencePiece's and the tokenizers library's own decoding, line
by line.
"""

import pytest
from sentencepiece import SentencePieceProcessor
from tokenizers import Tokenizer

from vocap.files.io import read_tsv
from vocap.tokenizers.evaluation import ROUND_TRIP_COLUMNS, Differences, add_round_trips

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
    assert (thai["texts"], thai["share"], thai["example"]) == ("0", "", "")


@pytest.mark.parametrize("kind", LOSSES)
def test_each_kind_of_loss_has_its_example(kind):
    processor = SentencePieceProcessor(model_proto=model().SerializeToString())
    trips = Differences()
    texts = [*LOSSES[kind], WORDS["en"][0]]
    ids = processor.encode(texts)
    add_round_trips(trips, texts, ids, processor.decode(ids), processor.unk_id())
    count, identical, share, example = trips.cells([kind])
    assert (count, identical, share) == (len(texts), 1, 1 / len(texts))
    assert example.startswith(f"{kind} {len(LOSSES[kind])}: “") and list(trips.kinds) == [kind]
