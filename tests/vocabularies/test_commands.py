import json
import subprocess
import sys
import unicodedata
from collections import Counter

import pytest
import sentencepiece

from tests.commands import ended
from tests.made_text import write_lines
from tests.unigram.test_alp import naive_alp
from tests.vocabularies.factories import make_text
from vocap.files.io import read_tsv


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    write_lines(folder / "train.txt", make_text("latin", 300))
    write_lines(folder / "heldout.txt", make_text("latin", 40, seed=2))
    (folder / "empty.txt").write_bytes(b"")
    return folder


TRAIN = (
    "train --size {size} --train {corpus}/{train}.txt --heldout {corpus}/{heldout}.txt "
    "--models {out}/models --point {out}/points/{size}.tsv"
)
CURVE = (
    "curve --train {corpus}/train.txt --models {out}/models -o {out}/curve.tsv "
    "--characters {out}/characters.tsv --index {out}/pieces.npz"
)


def train(corpus, out, size, train="train", heldout="heldout", **how):
    line = TRAIN.format(corpus=corpus, out=out, size=size, train=train, heldout=heldout)
    return ended(*line.split(), **how)


def curve(corpus, out, *sizes, **how):
    points = (out / "points" / f"{size}.tsv" for size in sizes)
    return ended(*CURVE.format(corpus=corpus, out=out).split(), *points, **how)


def cells(path):
    header, row = path.read_text(encoding="utf-8").splitlines()
    return dict(zip(header.split("\t"), row.split("\t"), strict=True))


def test_from_text_to_curve(corpus, tmp_path):
    out = tmp_path / "la"
    for size in (10, 200, 50000):
        assert train(corpus, out, size).stdout == ""
    (model,) = (out / "models").iterdir()
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    row = cells(out / "points" / "200.tsv")
    lines = make_text("latin", 300)
    assert (row["size"], row["pieces"], row["status"]) == ("200", "200", "ok")
    assert float(row["alp"]) == pytest.approx(naive_alp(processor, lines), rel=1e-12)
    assert float(row["alp_heldout"]) == pytest.approx(
        naive_alp(processor, make_text("latin", 40, seed=2)), rel=1e-12
    )
    assert float(row["tokens_per_sentence"]) == sum(map(len, processor.encode(lines))) / 300

    curve(corpus, out, 50000, 10, 200)
    small, middle, large = read_tsv(out / "curve.tsv")
    assert small["size"] == "10" and small["status"].startswith("too small: ")
    assert large["size"] == "50000" and large["status"].startswith("too little text: at most ")
    assert middle == row and small["alp"] == ""
    assert (out / "pieces.npz").stat().st_size > 0
    characters = list(read_tsv(out / "characters.tsv"))
    text = unicodedata.normalize("NFKC", "".join(f"\u2581{line}" for line in lines))
    counts = Counter(text.replace(" ", "\u2581"))
    assert {line["character"]: int(line["count"]) for line in characters} == counts
    assert [int(line["count"]) for line in characters] == sorted(counts.values(), reverse=True)
    assert all(float(line["per_line"]) == int(line["count"]) / 300 for line in characters)


def test_a_language_without_text(corpus, tmp_path):
    out = tmp_path / "xx"
    train(corpus, out, 200, train="empty", heldout="empty")
    assert cells(out / "points" / "200.tsv")["status"] == "no text"
    (corpus / "train.txt").write_bytes(b"")
    curve(corpus, out, 200)
    assert (out / "characters.tsv").read_text() == "character\tcount\tper_line\n"


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        ({"size": 200, "heldout": "none"}, 2, "none.txt' does not exist"),
        ({"size": 200, "heldout": "latin1"}, 1, "latin1.txt: not UTF-8: 1 of 2 lines"),
        ({"size": 0}, 2, "size 0"),
    ],
)
def test_bad_input_leaves_nothing(corpus, tmp_path, options, status, words):
    (corpus / "latin1.txt").write_bytes(b"good\ncaf\xe9\n")
    out = tmp_path / "out"
    assert words in train(corpus, out, **options, status=status).stderr
    assert not out.exists() or not [path for path in out.rglob("*") if path.is_file()]


def test_curve_says_which_point_to_delete(corpus, tmp_path):
    train(corpus, tmp_path, 200)
    model, point = tmp_path / "models" / "200.model", tmp_path / "points" / "200.tsv"
    good = model.read_bytes()
    for damage in (
        model.unlink,
        lambda: model.write_bytes(good[:5000]),
        lambda: model.write_bytes(b""),
    ):
        damage()
        done = curve(corpus, tmp_path, 200, status=1)
        assert str(model) in done.stderr
        assert f"delete {point} and run again" in done.stderr
        assert not (tmp_path / "curve.tsv").exists()
        assert not (tmp_path / "pieces.npz").exists()
    model.write_bytes(good)
    point.write_text(point.read_text().replace("200\t200", "200\t201"))
    assert "200 pieces, but" in curve(corpus, tmp_path, 200, status=1).stderr


def test_alp_of_any_tokenizer(corpus, tmp_path):
    train(corpus, tmp_path, 200)
    model = tmp_path / "models" / "200.model"
    text = corpus / "heldout.txt"
    assert float(ended("alp", model, text).stdout) == float(
        cells(tmp_path / "points" / "200.tsv")["alp_heldout"]
    )

    text.write_text(text.read_text(encoding="utf-8") + "ω ω\n", encoding="utf-8")
    answer = json.loads(ended("alp", model, text, "--json").stdout)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    known = {processor.id_to_piece(number) for number in range(200)}
    lines = processor.encode(text.read_text("utf-8").splitlines(), out_type=str)
    pieces = [piece for line in lines for piece in line]
    unknown = [piece for piece in pieces if piece not in known]
    lost = len("".join(unknown).encode())
    assert answer["sentences"] == 41
    assert answer["unknown_bytes"] == lost >= len("ωω".encode())
    assert answer["tokens"] == len(pieces) - len(unknown) + lost
    assert answer["tokens_per_sentence"] == answer["tokens"] / 41
    assert answer["vocabulary"] == 200
    assert answer["unk_rate"] == len(unknown) / len(pieces) > 0


def test_training_starts_without_heavy_imports(corpus, tmp_path):
    """A workflow starts one such process for every language and size."""
    program = (
        "import sys\nfrom vocap.command import main\ntry:\n    main()\nfinally:\n    "
        "print(sorted({'pandas', 'altair', 'numba', 'tokenizers', 'scipy'} & set(sys.modules)))\n"
    )
    words = TRAIN.format(corpus=corpus, out=tmp_path, size=200, train="train", heldout="heldout")
    command = [sys.executable, "-c", program, *words.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_another_sentencepiece_is_refused(tmp_path, monkeypatch):
    from vocap.errors import UsageError
    from vocap.unigram import sentencepiece_trainer

    monkeypatch.setattr(sentencepiece_trainer, "REFERENCE", "0.0.1")
    installed = (
        rf"SentencePiece {sentencepiece.__version__} is installed.*==0\.0\.1, or take engine ladder"
    )
    with pytest.raises(UsageError, match=installed):
        sentencepiece_trainer.require_reference()
