"""The sweep of `vocap extend`: every row is that of an extension by itself, counted with both tokenizers."""

import logging
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.commands import run
from tests.made_text import write_lines
from vocap.adapt.commands import extend
from vocap.adapt.sweep import round_down, round_up
from vocap.errors import UsageError, VocapError
from vocap.files.tsv import read_tsv

from .test_extend import NEW, lines_of, make_root, new_lines
from .test_trim import make_model, processor

COUNTS = (20, 45, 70, 95, 120)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """That of `vocap extend`, and held-out text of one more language, which shares words with the new one."""
    root = make_root(tmp_path_factory.mktemp("sweep"))
    shared = zip(lines_of(root, "en", "heldout"), lines_of(root, NEW, "heldout"), strict=True)
    (root / "corpora/mx").mkdir()
    write_lines(root / "corpora/mx/heldout.txt", [f"{one} {other.split()[0]}" for one, other in shared])
    return root


@pytest.fixture(scope="module")
def swept(root):
    """Rows of the table by number of pieces, and the printed text."""
    old, out = root / "tokenizers/old", root / "swept"
    shown = run(extend, old, f"--language={NEW}", "--pieces=20:120:25", "-o", out)
    return {int(row["pieces"]): row for row in read_tsv(out / "sweep.tsv")}, shown


@pytest.mark.parametrize("count", COUNTS)
def test_a_row_is_the_extension_by_itself(root, swept, tmp_path, count):
    old, out = root / "tokenizers/old", tmp_path / "out"
    run(extend, old, f"--language={NEW}", f"--pieces={count}", "-o", out)
    row = swept[0][count]
    before, after = (processor(path / "sentencepiece.model") for path in (old, out))
    pairs = [
        [side.encode(line) for side in (before, after)]
        for language in ("en", "ka", "mx")
        for line in lines_of(root, language, "heldout")
    ]
    assert int(row["changed_lines"]) == sum(one != other for one, other in pairs) > 0
    assert float(row["changed_share"]) == int(row["changed_lines"]) / len(pairs)
    own = [[side.encode(line) for line in lines_of(root, NEW, "heldout")] for side in (before, after)]
    tokens = [sum(map(len, lines)) for lines in own]
    assert float(row["tokens_per_line"]) == tokens[1] / len(own[1])
    assert float(row["saved_share"]) == pytest.approx(1 - tokens[1] / tokens[0])
    used = {number for ids in own[1] for number in ids}
    new = range(before.get_piece_size(), after.get_piece_size())
    assert int(row["never_used"]) == sum(number not in used for number in new)
    assert int(row["total"]) == after.get_piece_size() and int(row["rows"]) == count
    counts = np.bincount([number for ids in own[1] for number in ids])
    counts = counts[counts > 0]
    assert float(row["alp"]) == pytest.approx((counts * np.log(counts / counts.sum())).sum() / len(own[1]))


def test_the_table_is_all_that_is_written(root, swept):
    rows, shown = swept
    assert [*rows] == [0, *COUNTS]
    assert sorted(path.name for path in (root / "swept").iterdir()) == ["sweep.svg", "sweep.tsv"]
    assert ElementTree.parse(root / "swept/sweep.svg").getroot().tag.endswith("svg")
    assert "of 300 of 3 other languages" in shown
    knee = [count for count, row in rows.items() if row["status"] == "knee"]
    line = {n: float(row["saved_share"]) - n / 120 * float(rows[120]["saved_share"]) for n, row in rows.items()}
    assert knee == [max(line, key=line.get)] and f"knee: {knee[0]} pieces" in shown
    assert rows[0]["memory_mb"] == "" and rows[0]["changed_lines"] == "0"


def test_equal_bytes_again(root, swept, tmp_path):
    old, out = root / "tokenizers/old", tmp_path / "out"
    run(extend, old, f"--language={NEW}", "--pieces=20,45,70,95,120", "-o", out)
    for name in ("sweep.tsv", "sweep.svg"):
        assert (out / name).read_bytes() == (root / "swept" / name).read_bytes()


@pytest.mark.parametrize("kind", ["tied", "untied", "half", "float16", "bare"])
def test_memory_is_that_of_the_extended_model(root, tmp_path, kind):
    import transformers

    old = root / "tokenizers/old"
    total, spare = processor(old / "sentencepiece.model").get_piece_size(), 7
    make_model(kind, total + spare).save_pretrained(tmp_path / "model")
    words = (f"--language={NEW}", "--languages=ka", "--model", tmp_path / "model")
    run(extend, old, *words, "--pieces=30,60", "-o", tmp_path / "sweep")
    run(extend, old, *words, "--pieces=60", "-o", tmp_path / "out")
    auto = transformers.AutoModel if kind == "bare" else transformers.AutoModelForMaskedLM
    sizes = [
        sum(one.numel() * one.element_size() for one in auto.from_pretrained(path, dtype="auto").parameters())
        for path in (tmp_path / "model", tmp_path / "out/model")
    ]
    row = list(read_tsv(tmp_path / "sweep/sweep.tsv"))[-1]
    assert int(row["rows"]) == 60 - spare
    assert float(row["memory_mb"]) * 1e6 == pytest.approx(sizes[1] - sizes[0])


def test_totals_are_multiples(root, tmp_path):
    old = root / "tokenizers/old"
    total = processor(old / "sentencepiece.model").get_piece_size()
    words = (old, f"--language={NEW}", "--languages=ka", "--multiple-of=64")
    run(extend, *words, "--pieces=1,2,60,90", "-o", tmp_path / "sweep")
    rows = list(read_tsv(tmp_path / "sweep/sweep.tsv"))[1:]
    wanted = sorted({-(-(total + n) // 64) * 64 for n in (1, 2, 60, 90)})
    assert [int(row["total"]) for row in rows] == wanted
    run(extend, *words, "--pieces=90", "-o", tmp_path / "out")
    assert processor(tmp_path / "out/sentencepiece.model").get_piece_size() == wanted[-1]


def test_numbers_beyond_the_text(root, tmp_path, caplog):
    caplog.set_level(logging.WARNING)
    old, text = root / "tokenizers/old", write_lines(tmp_path / "short.txt", new_lines(20, seed=8))
    words = (old, "--language=xx", f"--text={text}", "--languages=en")
    run(extend, *words, "--pieces=10,5000,6000", "-o", tmp_path / "sweep")
    few, *beyond = list(read_tsv(tmp_path / "sweep/sweep.tsv"))[1:]
    run(extend, *words, "--pieces=5000", "-o", tmp_path / "out")
    most = len(list(read_tsv(tmp_path / "out/additions.tsv")))
    assert few["status"] == "ok" and few["tokens_per_line"]
    assert [row["status"] for row in beyond] == [f"too little text: at most {most} new pieces"] * 2
    assert [row["tokens_per_line"] for row in beyond] == ["", ""]
    run(extend, *words, "--pieces=5000", "--multiple-of=16", "-o", tmp_path / "aligned")
    aligned = processor(tmp_path / "aligned/sentencepiece.model").get_piece_size()
    total = processor(old / "sentencepiece.model").get_piece_size()
    assert aligned % 16 == 0 and total + most - 16 < aligned <= total + most
    assert f"too little text for {-(-(total + 5000) // 16) * 16 - total} new pieces" in caplog.text
    with pytest.raises(VocapError, match="too few for a multiple of 65536 ids"):
        run(extend, *words, "--pieces=10", "--multiple-of=65536", "-o", tmp_path / "none")


def test_a_model_of_another_tokenizer_is_refused_at_once(root, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    make_model("tied", 50).save_pretrained(tmp_path / "model")
    for pieces in ("20:60:20", "20"):
        with pytest.raises(VocapError, match="the model has 50 rows, and the tokenizer ids up to"):
            run(extend, root / "tokenizers/old", f"--language={NEW}", f"--pieces={pieces}", "--model",
                tmp_path / "model", "-o", tmp_path / "out")  # fmt: skip
    assert "word types" not in caplog.text and not (tmp_path / "out").exists()


def test_a_folder_of_others_stays(root, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="did not make"):
        run(extend, root / "tokenizers/old", f"--language={NEW}", "--pieces=20,30", "-o", tmp_path / "out")
    assert (tmp_path / "out/mine.txt").read_text() == "mine"


@given(st.integers(1, 10**6), st.integers(1, 10**5), st.integers(1, 1 << 20))
def test_rounding(before, pieces, multiple):
    more, fewer = round_up(before, pieces, multiple), round_down(before, pieces, multiple)
    assert (before + more) % multiple == 0 and pieces <= more < pieces + multiple
    assert fewer == 0 or ((before + fewer) % multiple == 0 and pieces - multiple < fewer <= pieces)
