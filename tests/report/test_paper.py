"""The paper's numbers on the page: as printed, in the right lines, and beside the run
that does the same.
"""

import json
import math
import os
from pathlib import Path

import pytest
from vl_convert import vegalite_to_svg

from tests.report.factories import make_finetuned, make_model, make_other_tokenizers, make_results
from tests.report.pages import frame, one_row, words_of, write
from vocap.correlation.study import StudyPoint, correlations
from vocap.files.io import read_tsv, write_tsv
from vocap.finetuning.metrics import paper_average
from vocap.finetuning.tasks import TASKS
from vocap.report.data.results import Finetuned
from vocap.report.page.figures import files, read_template
from vocap.report.paper import paper_languages, paper_size, printed
from vocap.report.paper.model_tables import described, results_table, table_rows
from vocap.tables.curve import Point, write_points

SHARED = Path(os.environ.get("VOCAP_DATA", "/nonexistent")) / "paper"
SOURCES = {
    "xtreme": "table1_xtreme",
    "sampling": "table2_sampling",
    "k": "table3_k",
    "beta": "table4_beta",
}
SOURCES |= {"correlation": "correlation", "datasets": "xtreme_datasets"}
RUN = {"model": "", "tokenizer": "v", "kind": "vocap", "total": 500_000, "beta": 0.7}
RUN |= {"loss": "full", "k": None, "half": False, "steps": 500_000, "parameters_mi": 1.0}
RUN |= {"speed": 100.0, "machine": ("GPU", 1), "tuned": Finetuned("")}


def run_of(model, **values):
    return described(RUN | {"model": model} | values)


def lines_of(name, runs):
    return {method: run and run["model"] for method, _, run in table_rows(name, runs)}


def test_the_printed_averages_follow_from_the_printed_cells():
    """XTREME's average of each row, rounded as the paper rounds: one misplaced cell
    would show.
    """
    for row in printed("xtreme"):
        scores = {
            name: {key: row[f"{name}_{key}"] for key in task.metrics}
            for name, task in TASKS.items()
        }
        assert round(paper_average(scores), 1) == row["average"], row["method"]


@pytest.mark.skipif(not SHARED.exists(), reason="needs VOCAP_DATA with paper/")
@pytest.mark.parametrize(("name", "source"), SOURCES.items())
def test_every_printed_number_is_that_of_the_source(name, source):
    rows = list(read_tsv(SHARED / f"{source}.tsv"))
    assert len(rows) == len(printed(name))
    for ours, theirs in zip(printed(name), rows, strict=True):
        numbers = [
            value
            for key, value in ours.items()
            if type(value) in (int, float) and key != "thousands"
        ]
        expected = [float(cell) for cell in theirs.values() if cell.replace(".", "").isdigit()]
        assert [value for value in numbers if value in expected or name != "k"][
            -len(expected) :
        ] == expected


@pytest.mark.skipif(not SHARED.exists(), reason="needs VOCAP_DATA with paper/")
def test_sizes_by_language_are_those_of_the_source():
    for column, source in (
        ("paper_cc_gb", "table_cc_sizes"),
        ("paper_wikipedia_gb", "table_wikipedia_sizes"),
        ("paper_allocated_thousands", "table_allocated_sizes"),
    ):
        theirs = {
            code: float(cell)
            for code, cell in (row.values() for row in read_tsv(SHARED / f"{source}.tsv"))
        }
        assert {code: paper_size(code, column) for code in paper_languages()} == theirs


def test_table_1_takes_the_run_of_the_same_tokenizer_loss_and_width_with_the_papers_steps():
    runs = [
        run_of("xlm-r", kind="file", total=250_002, beta=None, steps=1_000_000),
        run_of("early", steps=500_000),
        run_of("late", steps=1_000_000),
        run_of("other-beta", beta=1.0, steps=1_000_000),
        run_of("knn", loss="knn", k=50),
        run_of("knn5", loss="knn", k=5, steps=1_000_000),
        run_of("half", half=True),
        run_of("nce", loss="nce"),
        run_of("small", total=2000, loss="knn", k=10),
        # of the paper's T, and no line of the paper's
        run_of("bpe", kind="bpe", beta=None),
    ]
    assert lines_of("paper-table-1", runs) == {
        "XLM-R 250K": "xlm-r",
        "JOINT 250K": None,
        "JOINT 500K": None,
        "VOCAP 250K": None,
        "VOCAP 500K": "late",
        "VOCAP 500K, k-NN": "knn",
        "VOCAP 500K, half embeddings": "half",
        "VOCAP 500K, k-NN, half embeddings": None,
        "VOCAP 2,000, k-NN": "small",
        "BPE 500K": "bpe",
    }


def test_a_tokenizer_by_pieces_is_in_no_row_of_the_papers(tmp_path):
    results = make_results(tmp_path / "results")
    make_other_tokenizers(results, ["en", "de"])
    for name, tokenizer in (("by-sizes", "vocap100k"), ("by-pieces", "pieces100k")):
        make_model(results, name, {"kind": "knn", "k": 50}, ["en", "de"], tokenizer=tokenizer)
    kinds = {"vocap100k": "v100k", "pieces100k": "p100k"}
    tokenizers = {
        name: {"kind": "vocap", "allocation": allocation} for name, allocation in kinds.items()
    }
    write(results, tmp_path / "out", "--settings-json", json.dumps({"tokenizers": tokenizers}))
    methods = frame(tmp_path / "out/tables/paper-table-1.tsv", "model").method
    assert methods["by-sizes"] == "VOCAP 100K, k-NN"
    assert methods["by-pieces"] == "PIECES 100K, k-NN"
    assert "by-pieces" not in frame(tmp_path / "out/tables/paper-table-2.tsv", "model").index


def test_tables_2_and_3_compare_losses_of_one_tokenizer():
    runs = [run_of(f"full-{place}", tokenizer=f"t{place}", total=1000 * place) for place in (1, 2)]
    runs += [run_of(f"k{k}", tokenizer="t1", total=1000, loss="knn", k=k) for k in (7, 10, 40)]
    runs += [run_of("neg", tokenizer="t1", total=1000, loss="neg")]
    runs += [run_of("uniform", tokenizer="t1", total=1000, loss="uniform")]
    assert lines_of("paper-table-2", runs) == {
        "full softmax": "full-1",
        "k-NN, k = 50": "k40",
        "target sampling": None,
        "NCE": None,
        "NEG": "neg",
        "uniform negatives": "uniform",
    }
    found = lines_of("paper-table-3", runs)
    assert (
        found["full softmax"] == "full-1" and found["k = 10"] == "k10" and found["k = 50"] is None
    )
    assert list(found)[-2:] == ["k = 7", "k = 40"]


def rows_of_this_run(number, runs):
    """A table's rows of `runs`, by model."""
    table = results_table(f"paper-table-{number}", runs)
    return {row["model"]: row for row in table.rows if row["origin"] == "this run"}


def test_a_k_that_is_not_the_papers_is_said():
    runs = [run_of("full")]
    runs += [run_of(f"k{k}", loss="knn", k=k) for k in (7, 10)]
    runs += [run_of("small", tokenizer="t", total=1000, loss="knn", k=9)]
    for name, model, said in (
        (2, "k10", "k = 10; not fine-tuned"),
        (1, "small", "k = 9; not fine-tuned"),
        (3, "k7", "not fine-tuned"),  # in a line of its own
        (3, "k10", "not fine-tuned"),
    ):
        assert rows_of_this_run(name, runs)[model]["remarks"] == said


def test_table_4_takes_one_total():
    runs = [run_of(f"b{beta:g}", beta=beta, tokenizer=f"t{beta}") for beta in (0.0, 0.5, 0.7)]
    runs += [run_of("small", total=1000, beta=1.0)]
    assert lines_of("paper-table-4", runs) == {
        "β = 0": "b0",
        "β = 0.3": None,
        "β = 0.7": "b0.7",
        "β = 1.0": None,
        "β = 0.5": "b0.5",
    }


def test_speeds_are_relative_to_the_papers_baseline_on_one_device():
    joint = {"kind": "joint", "total": 250_000, "steps": 1_000_000, "speed": 200.0}
    runs = [
        run_of("joint", **joint),
        run_of("knn", loss="knn", k=50, speed=236.0),
        run_of("half", half=True, machine=("another GPU", 1)),
    ]
    rows = rows_of_this_run(1, runs)
    assert rows["joint"]["speed"] == 1.0 and rows["half"]["speed"] is None
    assert rows["knn"]["speed"] == pytest.approx(1.18)


def test_the_page_has_the_papers_lines_and_names_those_not_run(tmp_path):
    results = make_results(tmp_path / "results")
    make_model(results, "knn", {"kind": "knn", "k": 50}, ["en", "de"])
    text = write(results, tmp_path / "out")
    tables = tmp_path / "out/tables"
    rows = frame(tables / "paper-table-2.tsv", ["origin", "method"])
    paper = rows.loc["the paper", "NCE"]
    assert (paper.xnli_acc, paper.speed, paper.steps) == (56.0, 1.4, 500_000)
    assert rows.model["this run", "NCE"] == "not run"
    run = rows.loc["this run", "k-NN, k = 50"]
    assert (run.model, run.total, run.remarks) == ("knn", 100_000, "not fine-tuned")
    assert "arXiv 2109.07306" in words_of(text)


def test_sizes_stand_beside_the_papers_in_a_run_on_its_languages(tmp_path):
    results = make_results(
        tmp_path / "results", list(paper_languages())[:50], range(1000, 4000, 1000)
    )
    write(results, tmp_path / "out")
    tables = tmp_path / "out/tables"
    sizes = frame(tables / "paper-allocated-sizes.tsv")
    allocated = frame(results / "allocation/v100k/allocation.tsv")["size"]
    assert sizes.paper_thousands["de"] == 24
    assert sizes.thousands_v100k["de"] * 1000 == allocated["de"]
    found = frame(tables / "allocations.tsv", "allocation").rank_correlation["v100k"]
    expected = sizes[["thousands_v100k", "paper_thousands"]].corr("spearman").iloc[0, 1]
    assert found == pytest.approx(expected)


def test_a_run_on_few_languages_has_their_rows(tmp_path):
    """No model, eleven languages: of the paper Figures 1 and 4, and the numbers of these
    languages in its Tables 7 and 9; no correlation over so few.
    """
    text = write(make_results(tmp_path / "results"), tmp_path / "out")
    tables = tmp_path / "out/tables"
    names = sorted(path.stem for path in tables.glob("paper-*.tsv"))
    assert names == ["paper-allocated-sizes", "paper-text-vocabularies"]
    sizes = frame(tables / "paper-allocated-sizes.tsv").paper_thousands
    assert len(sizes) == 11
    assert sizes.to_dict() == {
        code: paper_size(code, "paper_allocated_thousands") for code in sizes.index
    }
    assert "rank_correlation" not in (tables / "allocations.tsv").read_text("utf-8")
    words = words_of(text)
    _, _, lacking = words.partition("Not in this run: ")
    lacking, _, _ = lacking.partition(". config/paper.yaml")
    places = {"Table": (1, 2, 3, 4, 5, 6, 8), "Figure": (2, 3, 5, 6)}
    assert sorted(lacking.split(", ")) == sorted(
        f"{kind} {number}" for kind, numbers in places.items() for number in numbers
    )
    assert words.count(f"Not in this run: {lacking}") == 1 and "Spearman" not in words


QUESTIONS = {"f1": 60.0, "exact_match": 40.0}
SCORES = {
    "xnli": {"acc": 70.0},
    "pawsx": {"acc": 80.0},
    "udpos": {"f1": 71.5},
    "panx": {"f1": 62.5},
}
SCORES |= dict.fromkeys(("xquad", "mlqa", "tydiqa"), QUESTIONS)


def test_scores_stand_in_the_lines_of_their_models(tmp_path):
    results = make_results(tmp_path / "results")
    make_model(results, "knn", {"kind": "knn", "k": 50}, ["en", "de"])
    make_finetuned(results, "knn", SCORES, [])
    make_finetuned(results, "elsewhere", SCORES, [])  # of no model that was pre-trained here
    write(results, tmp_path / "out")
    tables = tmp_path / "out/tables"
    run = one_row(tables / "paper-table-1.tsv", model="knn")
    assert (run["xnli_acc"], run["mlqa_exact_match"], run["average"]) == ("70.0", "40.0", "61.25")
    assert (run["seeds"], run["remarks"]) == ("5", "")
    assert one_row(tables / "paper-table-3.tsv", model="knn")["udpos_f1"] == "71.5"
    data = one_row(tables / "paper-data-sets.tsv", task="NER")
    assert (data["languages"], data["models"], data["paper_train_examples"]) == (
        "4",
        "knn",
        "20000",
    )


def test_an_average_of_some_tasks_is_in_no_column_of_the_papers(tmp_path):
    results = make_results(tmp_path / "results")
    make_model(results, "knn", {"kind": "knn", "k": 50}, ["en", "de"])
    make_finetuned(results, "knn", {"panx": {"f1": 50.0}}, ["xnli", "tydiqa"], seeds=1)
    write(results, tmp_path / "out")
    run = one_row(tmp_path / "out/tables/paper-table-1.tsv", model="knn")
    assert (run["average"], run["panx_f1"], run["xnli_acc"]) == ("", "50.0", "")
    assert run["remarks"] == "without XNLI, TyDiQA"
    run = one_row(tmp_path / "out/tables/paper-table-2.tsv", model="knn")
    assert run["remarks"] == "without XNLI"  # TyDiQA is not in this table


def make_states(results, tmp_path, models, states):
    """Write the page of fine-tuned `states`, by name their model, step and tasks."""
    for name, tokenizer in models.items():
        make_model(results, name, {"kind": "knn", "k": 50}, ["en", "de"], tokenizer=tokenizer)
    for name, (_, _, tasks) in states.items():
        make_finetuned(results, name, tasks, [task for task in SCORES if task not in tasks])
    entries = {name: {"model": model, "step": step} for name, (model, step, _) in states.items()}
    settings = {
        "pretraining": {"models": {name: {} for name in models}},
        "corpora": {"source": "cc100"},
    }
    settings["finetuning"] = {"models": entries, "xtreme": "data/xtreme"}
    return write(results, tmp_path / "out", "--settings-json", json.dumps(settings))


def test_states_of_models_make_a_panel_of_costs_for_each_task(tmp_path):
    """Figure 5: 0.6 s a step, lines of metrics at 100, 200 ... 500; MLQA counts as the
    mean of F1 and EM.
    """
    both = {"xnli": {"acc": 30.0}, "mlqa": {"f1": 50.0, "exact_match": 30.0}}
    later = {"xnli": {"acc": 35.0}, "mlqa": {"f1": 56.0, "exact_match": 34.0}, "panx": {"f1": 60.0}}
    states = {"early": ("knn", 250, both), "late": ("knn", None, later)}
    states |= {
        "small-early": ("small", 100, {"xnli": {"acc": 31.0}}),
        "small-late": ("small", None, later),
    }
    models = {"knn": "vocap100k", "small": "joint100k"}
    make_states(make_results(tmp_path / "results"), tmp_path, models, states)
    rows = list(read_tsv(tmp_path / "out/tables/paper-costs.tsv"))
    assert [(row["task"], row["model"], row["step"], float(row["score"])) for row in rows] == [
        ("XNLI", "knn", "250", 30.0),
        ("XNLI", "knn", "500", 35.0),
        ("XNLI", "small", "100", 31.0),
        ("XNLI", "small", "500", 35.0),
        ("MLQA", "knn", "250", 40.0),  # of small one state alone: no line
        ("MLQA", "knn", "500", 45.0),
    ]
    hours = [float(row["hours"]) for row in rows]
    assert hours == pytest.approx([seconds / 3600 for seconds in (150, 300, 60, 300, 150, 300)])
    for task in ("xnli", "mlqa"):
        assert (tmp_path / f"out/figures/paper-figure-5-{task}.pdf").stat().st_size > 1000
    assert not (tmp_path / "out/figures/paper-figure-5-panx.svg").exists()  # one state


def score_languages(results, name, scores):
    """Fine-tuned scores of each language, by task, with their mean."""
    for task, values in scores.items():
        metric = "acc" if task == "xnli" else "f1"
        make_finetuned(results, name, {task: {metric: 0.0}}, [], languages=list(values))
        rows = [(code, metric, value, None, 1) for code, value in values.items()]
        rows.append(("mean", metric, sum(values.values()) / len(values), None, 1))
        columns = ("language", "metric", "mean", "std", "seeds")
        write_tsv(results / f"finetuning/{name}/{task}/summary.tsv", columns, rows)


def test_figure_6_has_the_means_of_each_resource_group(tmp_path):
    """XNLI and NER of VOCAP and JOINT at one T; the means below are computed by
    hand.
    """
    results = make_results(tmp_path / "results")
    for name, tokenizer, loss in (
        ("ours", "vocap100k", {"kind": "full"}),
        ("theirs", "joint100k", {"kind": "full"}),
        ("sampled", "joint100k", {"kind": "knn", "k": 50}),  # another loss: no rival of ours
        ("larger", "joint200k", {"kind": "full"}),  # another T
    ):
        make_model(results, name, loss, ["en", "de"], tokenizer=tokenizer)
    xnli = {"en": 84.0, "de": 80.0, "ru": 76.0, "hi": 66.0, "bg": 71.0, "sw": 60.0}
    ner = {"en": 80.0, "fi": 70.0, "hi": 62.0, "sw": 50.0, "af": 41.5, "jv": 45.0}
    score_languages(results, "ours", {"xnli": xnli, "panx": ner})
    xnli = {"en": 83.0, "de": 78.0, "hi": 63.0, "bg": 72.0, "sw": 50.0}  # no Russian
    # jv: not among the 86
    ner = {"en": 81.0, "fi": 71.0, "hi": 60.0, "sw": 40.0, "af": 40.0, "jv": 99.0}
    score_languages(results, "theirs", {"xnli": xnli, "panx": ner})
    for name in ("sampled", "larger"):
        score_languages(results, name, {"xnli": dict.fromkeys(xnli, 1.0)})
    text = write(results, tmp_path / "out")
    rows = frame(tmp_path / "out/tables/paper-groups.tsv", ["task", "resource"])
    found = rows[["codes", "vocap_score", "joint_score", "gain"]]
    assert {key: tuple(row) for key, row in found.iterrows()} == {
        ("XNLI", "low"): ("sw", 60.0, 50.0, 10.0),
        ("XNLI", "mid"): ("hi bg", 68.5, 67.5, 1.0),  # hi 66, 63; bg 71, 72
        ("XNLI", "high"): ("en de", 82.0, 80.5, 1.5),  # en 84, 83; de 80, 78
        ("NER", "low"): ("sw af", 45.75, 40.0, 5.75),  # sw 50, 40; af 41.5, 40
        ("NER", "mid"): ("fi hi", 66.0, 65.5, 0.5),  # fi 70, 71; hi 62, 60
        ("NER", "high"): ("en", 80.0, 81.0, -1.0),
    }
    for column, only in (("total", "100K"), ("vocap", "ours"), ("joint", "theirs")):
        assert set(rows[column]) == {only}
    for task, gains in (
        ("xnli", "low, 100K: +10.00; mid, 100K: +1.00"),
        ("panx", "high, 100K: −1.00"),
    ):
        assert (tmp_path / f"out/figures/paper-figure-6-{task}.pdf").stat().st_size > 1000
        assert gains in text


def test_the_study_is_beside_the_papers_correlations(tmp_path):
    results = make_results(tmp_path / "results")
    points = [
        StudyPoint(
            "hi", 1000 * size, -100 + size**0.5, task, "test", 50 + 3 * size - size**1.7 / 9, 2, 700
        )
        for size in range(1, 9)
        for task in ("udpos", "panx")
    ]
    write_tsv(results / "correlation/points.tsv", StudyPoint._fields, points)
    (results / "vocabularies/hi").mkdir(parents=True, exist_ok=True)
    curve = [Point(1000 * size, 1000 * size, -100 + size**0.5) for size in range(1, 9)]
    curve += [Point(size, status="needs more text") for size in (9000, 10000)]
    write_points(results / "vocabularies/hi/curve.tsv", curve)
    text = write(results, tmp_path / "out")
    rows = frame(tmp_path / "out/tables/paper-correlation.tsv", ["name", "task"])
    row = rows.loc["Hindi", "POS"]
    assert (row.paper_rho_alp, row.paper_rho_size) == (0.922, 0.787)
    assert (row.sizes, row.holes, row.seeds, row.steps) == (8, 2, 2, 700)
    assert row.rho_alp == correlations(points, {})[0].rho_alp
    assert "Sizes that the text does not reach have no point: Hindi: 9,000, 10,000." in text
    for number in (2, 3):  # a hidden number of an axis has an opacity: other bytes in every PDF
        assert 'opacity="0"' not in (tmp_path / f"out/figures/paper-figure-{number}.svg").read_text(
            "utf-8"
        )
    other = rows.loc["Russian", "NER"]
    assert math.isnan(other.rho_alp) and other.remarks == "not run"
    names = ("Hindi", "Persian", "Italian", "Russian")
    assert set(rows.index) == {(name, task) for name in names for task in ("POS", "NER")}


def test_a_chart_whose_axis_hides_labels_gives_one_pdf():
    values = [{"x": f"language {place}", "y": place} for place in range(90)]
    axis = {"labelOverlap": True}
    encoding = {"x": {"field": "x", "axis": axis}, "y": {"field": "y", "type": "quantitative"}}
    chart = {"data": {"values": values}, "mark": "bar", "width": 600, "encoding": encoding}
    chart["config"] = json.loads(read_template("chart.json"))
    made = [files(vegalite_to_svg(json.dumps(chart)), "chart") for _ in range(3)]
    assert b'opacity="0"' in made[0]["chart.svg"]
    assert made[0] == made[1] == made[2]
