"""`vocap ladder`, as a person calls it."""

from itertools import islice

import pytest

from tests.cases import refused
from tests.commands import caller, ended
from tests.made_text import draw_sentences, write_lines
from vocap.errors import VocapError
from vocap.tables.curve import read_points
from vocap.unigram import sentencepiece_trainer


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    lines = islice(draw_sentences("4", "abcdefgh", words=200, longest=6, length=(9, 9)), 200)
    return write_lines(tmp_path_factory.mktemp("text") / "train.txt", lines)


LADDER = "ladder {text} -o {tmp}/out "


@pytest.fixture
def call(text, tmp_path):
    return caller(text=text, tmp=tmp_path, out=tmp_path / "out")


def test_models_and_curve_are_those_of_single_trainings(text, call, tmp_path):
    printed = call(LADDER + "--sizes 10,50,100,4000 --heldout {text}")
    points = read_points(tmp_path / "out" / "curve.tsv")
    assert [point.size for point in points] == [10, 50, 100, 4000]
    assert points[0].status.startswith("too small: 9 required characters need at least 12")
    assert points[3].status.startswith("too little text: at most ")
    for size, point in ((50, points[1]), (100, points[2])):
        model = tmp_path / "out" / "models" / f"{size}.model"
        assert model.read_bytes() == sentencepiece_trainer.train(text, size)
        assert point.ok and point.alp == point.alp_heldout
        assert float(call("alp {out}/models/{size}.model {text}", size=size)) == point.alp
    lines = printed.splitlines()
    assert lines[0].split() == ["size", "ALP", "held-out", "tokens/line", "status"]
    assert "too little text" in lines[4]


def test_of_many_sizes_some_are_printed(text, tmp_path):
    result = ended("ladder", text, "-o", tmp_path / "out", "--sizes", "10:800:5")
    points = read_points(tmp_path / "out" / "curve.tsv")
    table, _, outline = result.stdout.partition("\n\n")
    *rows, last = table.splitlines()[1:]
    # the first below and the first within reach
    assert [row.split()[0] for row in rows][:2] == ["10", "15"]
    ok = [int(row.split()[0]) for row in rows if row.endswith("ok")]
    assert len(ok) == 12 and 13 <= len(rows) < 20
    assert ok[-1] == max(point.size for point in points if point.ok)
    assert last == f"{len(rows)} of {len(points)} sizes; all: {tmp_path / 'out' / 'curve.tsv'}"
    assert "knee" in outline and result.stderr.count("\n") < 5


def test_models_of_the_same_text_are_kept(text, call, tmp_path):
    """A size that is added trains that size alone, a model that is gone too; another
    text or option all.
    """

    def climb(sizes: str, *options: str) -> dict[str, int]:
        call(LADDER, "--sizes", sizes, *options)
        models = (tmp_path / "out" / "models").glob("*.model")
        return {path.stem: path.stat().st_mtime_ns for path in models}

    first = climb("50,100")
    (tmp_path / "out" / "curve.tsv").unlink()
    second = climb("50,70,100")
    assert second.items() > first.items() and len(read_points(tmp_path / "out" / "curve.tsv")) == 3
    (tmp_path / "out" / "models" / "70.model").unlink()
    third = climb("50,70")
    assert third.items() > first.items() and third["70"] > second["70"]
    assert [point.size for point in read_points(tmp_path / "out" / "curve.tsv")] == [50, 70]
    fourth = climb("50,100", "--coverage", "0.99")
    assert fourth["50"] > third["50"] and fourth["100"] > third["100"]
    text.write_text(text.read_text("utf-8") + "one more line\n", "utf-8")
    assert climb("50", "--coverage", "0.99")["50"] > fourth["50"]
    # a call that ends before its last size leaves no record of models that it has
    # replaced
    (tmp_path / "out" / "models" / "100.model").unlink()
    (tmp_path / "out" / "models" / "100.model" / "in the way").mkdir(parents=True)
    with pytest.raises(VocapError, match=r"100\.model"):
        call(LADDER + "--sizes 50,100")
    assert [
        path.name for path in (tmp_path / "out").rglob("*.*") if path.suffix in (".json", ".tsv")
    ] == ["characters.tsv"]


def test_a_size_that_is_out_of_reach_now_leaves_no_older_model(call, tmp_path):
    (tmp_path / "out" / "models").mkdir(parents=True)
    (tmp_path / "out" / "models" / "4000.model").write_bytes(b"old")
    call(LADDER + "--sizes 4000")
    assert not (tmp_path / "out" / "models" / "4000.model").exists()


@pytest.mark.parametrize(
    ("options", "says", "status"),
    [
        ("--sizes 5:1:1", "'5:1:1' names no size", 2),
        ("--sizes ten", "1000:50000:1000.*'ten'", 2),
        ("--sizes 100,50", "50", 2),
        ("--heldout nowhere.txt", "nowhere.txt.*check the path", 1),
    ],
)
def test_a_wrong_call_names_the_error_and_writes_nothing(call, tmp_path, options, says, status):
    refused(call, LADDER + options, says, status)
    assert not (tmp_path / "out").exists()
