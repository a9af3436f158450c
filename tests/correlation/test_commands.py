"""Sizes of the study, and points from the outputs of scoring."""

import json

import pandas
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from vocap.correlation.commands import correlate
from vocap.correlation.study import StudyPoint, correlations
from vocap.errors import VocapError
from vocap.files.io import read_tsv, write_tsv
from vocap.files.written import read_records


def make_scored(folder, size, rows, steps=50):
    """Outputs of vocap score, and the metrics of the model."""
    out = folder / "hi" / str(size) / "panx"
    columns = ("language", "split", "seed", "learning_rate", "epochs", "metric", "value")
    write_tsv(out / "scores.tsv", columns, [("hi", *row) for row in rows])
    selection = {"task": "panx", "learning_rate": 2e-5, "epochs": 3, "seeds": [1, 2]}
    (out / "selection.json").write_text(json.dumps(selection | {"languages": ["hi"]}))
    (out.parent / "pretrained").mkdir()
    (out.parent / "pretrained/metrics.jsonl").write_text(
        '{"step": 10}\n' + json.dumps({"step": steps}) + "\n"
    )
    return out


def make_curve(path, reached, unreached=()):
    """A curve whose ALP is the size less 100."""
    columns = ("size", "pieces", "alp", "alp_heldout", "tokens_per_sentence", "status")
    rows = [(size, size, -100.0 + size, None, 3.0, "ok") for size in reached]
    rows += [(size, None, None, None, None, "the text gives 25 pieces") for size in unreached]
    write_tsv(path, columns, rows)


def call_correlate(tmp_path, sizes, *folders):
    """The command on the curves of `tmp_path`, and the points that it wrote."""
    asked = [word for size in sizes for word in ("--size", size)]
    words = ["--vocabularies", tmp_path / "vocabularies", *asked, "-o", tmp_path / "out", *folders]
    CliRunner().invoke(
        correlate, list(map(str, words)), catch_exceptions=False, standalone_mode=False
    )
    return read_records(tmp_path / "out/points.tsv", StudyPoint, "correlate")


def test_points_are_of_the_chosen_setting_on_the_test_file_or_else_on_dev(tmp_path):
    make_curve(tmp_path / "vocabularies/hi/curve.tsv", (10, 20))
    study = tmp_path / "study"
    dev = [("dev", 1, 2e-5, 3, "f1", 80.0), ("dev", 2, 2e-5, 3, "f1", 82.0)]
    test = [("test", 1, 2e-5, 3, "f1", 60.0), ("test", 2, 2e-5, 3, "f1", 70.0)]
    other = [("test", 1, 1e-5, 3, "f1", 99.0), ("test", 1, 2e-5, 3, "precision", 98.0)]
    folders = [make_scored(study, 20, dev + test + other), make_scored(study, 10, dev)]
    first, second = call_correlate(tmp_path, (10, 20), *folders)
    assert (first.size, first.alp, first.split, first.f1) == (10, -90.0, "dev", 81.0)
    assert (second.size, second.alp, second.split, second.f1) == (20, -80.0, "test", 65.0)
    assert (second.seeds, second.steps) == (2, 50)
    with pytest.raises(
        VocapError, match="30/panx: not LANGUAGE/SIZE/TASK, of a size that has an ALP"
    ):
        call_correlate(tmp_path, (10, 20, 30), make_scored(study, 30, dev))


def test_a_size_that_the_text_does_not_reach_is_a_hole_and_no_part_of_the_coefficients(tmp_path):
    """Pearson by hand: of ALP and F1 = 1, 2, 4 over sizes 10, 20, 30 it is 3 / sqrt(2 x
    14/3).
    """
    make_curve(tmp_path / "vocabularies/hi/curve.tsv", (10, 20, 30), (40, 50))
    sizes = (10, 20, 30, 40)  # of the study: 50 is none of them
    rows = {10: 1.0, 20: 2.0, 30: 4.0}
    folders = [
        make_scored(tmp_path / "s", size, [("test", 1, 2e-5, 3, "f1", f1)])
        for size, f1 in rows.items()
    ]
    call_correlate(tmp_path, sizes, *folders)
    (row,) = read_tsv(tmp_path / "out/correlations.tsv")
    assert (row["sizes"], row["holes"]) == ("3", "1")
    assert float(row["rho_alp"]) == float(row["rho_size"]) == pytest.approx(3 / (2 * 14 / 3) ** 0.5)
    with pytest.raises(VocapError, match="40/panx: not LANGUAGE/SIZE/TASK, of a size"):
        call_correlate(tmp_path, sizes, make_scored(tmp_path / "s", 40, []))


@pytest.mark.parametrize(
    ("name", "content", "command"),
    [
        ("panx/scores.tsv", "hi\ttest\t1\t1e-5\tmany\tf1\t50.0", "score"),
        ("panx/scores.tsv", "hi\ttest\t1\t2e-5\t3\tf1\t", "score"),
        ("panx/selection.json", '{"task": "panx", "seeds": [1], "languages": []}', "score"),
        ("pretrained/metrics.jsonl", "", "pretrain"),
        ("pretrained/metrics.jsonl", '{"step": 10}\n{"st', "pretrain"),
    ],
)
def test_damaged_results_are_one_error(tmp_path, name, content, command):
    make_curve(tmp_path / "vocabularies/hi/curve.tsv", (10,))
    scored = make_scored(tmp_path / "study", 10, [("test", 1, 2e-5, 3, "f1", 60.0)])
    if name.endswith(".tsv"):
        content = f"language\tsplit\tseed\tlearning_rate\tepochs\tmetric\tvalue\n{content}\n"
    (scored.parent / name).write_text(content, "utf-8")
    with pytest.raises(VocapError, match=f"{name} is not what `vocap {command}` writes"):
        call_correlate(tmp_path, (10,), scored)
    assert not (tmp_path / "out").exists()


def test_a_study_of_holes_alone_has_no_points(tmp_path):
    make_curve(tmp_path / "vocabularies/hi/curve.tsv", (), (40, 50))
    assert call_correlate(tmp_path, (40, 50)) == []


def test_folders_of_other_names_are_refused(tmp_path):
    (tmp_path / "hi/large/panx").mkdir(parents=True)
    make_curve(tmp_path / "vocabularies/hi/curve.tsv", (10,))
    for folder in (tmp_path / "hi/large/panx", "/"):
        with pytest.raises(VocapError, match="not LANGUAGE/SIZE/TASK"):
            call_correlate(tmp_path, (10,), folder)
    assert not (tmp_path / "out").exists()


values = st.floats(-500, 100).map(lambda value: round(value, 3))


@given(st.lists(st.tuples(st.sampled_from(["hi", "fa"]), values, values), min_size=1, max_size=30))
def test_the_correlations_are_those_of_pandas(rows):
    points = [
        StudyPoint(language, 1000 * (place + 1), alp, "panx", "test", f1, 1, 10)
        for place, (language, alp, f1) in enumerate(rows)
    ]
    frame = pandas.DataFrame(points)
    for one in correlations(points, {"hi": [1000, 2000]}):
        mine = frame[frame.language == one.language]
        assert (one.sizes, one.holes) == (len(mine), 2 if one.language == "hi" else 0)
        for column, rho in (("alp", one.rho_alp), ("size", one.rho_size)):
            defined = len(mine) > 2 and mine[column].nunique() > 1 and mine.f1.nunique() > 1
            assert (rho is not None) == defined
            if defined:
                assert rho == pytest.approx(mine[column].corr(mine.f1), abs=1e-6)
