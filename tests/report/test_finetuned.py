"""The part on fine-tuning: the columns of Table 1, missing tasks, and the languages."""

import json

import pandas
import pytest

from tests.report.factories import make_corpora, make_finetuned
from tests.report.pages import Page, one_row, words_of, write
from vocap.errors import VocapError
from vocap.finetuning.tasks import TASKS as XTREME_TASKS

TASKS = {
    "panx": {"f1": 41.25},
    "xquad": {"f1": 60.75, "exact_match": 45.0},
    "tydiqa": {"f1": 50.0, "exact_match": 3.5},
}
MISSING = ["xnli", "pawsx", "udpos", "mlqa"]


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results"
    make_corpora(folder, ["en", "de", "te"])
    make_finetuned(folder, "knn", TASKS, MISSING)
    return folder


def test_the_table_has_the_papers_columns_and_the_summaries_means(results, tmp_path):
    page = Page(write(results, tmp_path / "out"))
    row = one_row(tmp_path / "out/tables/finetuning.tsv", model="knn")
    columns = [f"{name}_{metric}" for name, task in XTREME_TASKS.items() for metric in task.metrics]
    assert list(row) == ["model", "seeds", *columns, "average", "average_std", "missing"]
    for task in TASKS:
        for metric, mean in TASKS[task].items():
            assert row[f"{task}_{metric}"] == f"{mean:.1f} ± 0.5"
    assert [
        row[f"{task}_{XTREME_TASKS[task].metrics[0]}"]
        for task in ("xnli", "pawsx", "udpos", "mlqa")
    ] == ["not run"] * 4
    assert (row["seeds"], row["average"], row["average_std"]) == ("5", "61.25", "0.75")
    assert row["missing"] == "XNLI, PAWS-X, POS, MLQA"
    assert "No model has been fine-tuned" not in words_of(page)


def test_each_language_of_each_task_has_its_mean(results, tmp_path):
    make_finetuned(
        results, "full", {"panx": {"f1": 30.0}}, [], seeds=1, languages=["en", "sw", "bg"]
    )
    write(results, tmp_path / "out")
    table = tmp_path / "out/tables/finetuning-languages.tsv"
    row = one_row(table, task="NER", language="bg")  # the third of four, and of three
    assert [row[column] for column in ("knn", "knn_std", "full", "full_std")] == [
        "41.75",
        "0.5",
        "31.0",
        "",
    ]
    assert one_row(table, task="NER", language="sw")["knn"] == ""
    assert (
        row["name"] == "Bulgarian"
        and one_row(table, task="NER", language="af")["name"] == "Afrikaans"
    )
    assert one_row(table, task="XQuAD", metric="EM", language="de")["name"] == "German"
    assert len(pandas.read_csv(table, sep="\t")) == 6 + 2 * 4 + 2 * 4
    single = one_row(tmp_path / "out/tables/finetuning.tsv", model="full")
    assert single["seeds"] == "1" and single["panx_f1"] == "30.0"


def test_the_choice_is_named_with_its_absent_files(results, tmp_path):
    label = "chosen on the English test file"
    chose = {"split": "test", "languages": ["en"], "absent": []}
    said = {"label": label, "absent": ["sw"], "blank": ["ko"], "development": chose}
    make_finetuned(results, "knn", {"tydiqa": TASKS["tydiqa"]}, [], **said)
    settings = json.dumps({"finetuning": {"tasks": ["tydiqa", "xnli"]}})
    words = words_of(write(results, tmp_path / "out", "--settings-json", settings))
    assert words.index(f"TyDiQA, {label}") < words.index("Scores of the fine-tuned models")
    row = one_row(tmp_path / "out/tables/finetuning-choices.tsv", task="TyDiQA")
    assert row["chosen_by"] == f"{label} (rule: paper)" and (row["absent"], row["blank"]) == (
        "sw",
        "ko",
    )
    assert (row["learning_rate"], row["epochs"], row["languages"], row["seeds"]) == (
        "1e-05",
        "4",
        "4",
        "5",
    )
    assert (
        one_row(tmp_path / "out/tables/finetuning-choices.tsv", task="XNLI")["chosen_by"]
        == "not run"
    )


def test_a_model_without_results_is_not_run_and_one_of_another_configuration_is_named(
    results, tmp_path
):
    settings = {"finetuning": {"models": {"knn": {}, "later": {}}}}
    make_finetuned(results, "older", {"xnli": {"acc": 50.0}}, [])
    words = words_of(write(results, tmp_path / "out", "--settings-json", json.dumps(settings)))
    assert "without results here: later" in words and "fine-tuned models older" in words
    row = one_row(tmp_path / "out/tables/finetuning.tsv", model="later")
    assert row["panx_f1"] == row["xnli_acc"] == "not run" and row["average"] == ""
    with pytest.raises(AssertionError):
        one_row(tmp_path / "out/tables/finetuning.tsv", model="older")


def test_labels_kept_back_are_no_score_and_nothing_is_not_run(results, tmp_path):
    path = results / "finetuning/knn/panx/summary.tsv"
    path.write_text(path.read_text("utf-8").partition("\n")[0] + "\n")
    write(results, tmp_path / "out")
    assert (
        one_row(tmp_path / "out/tables/finetuning.tsv", model="knn")["panx_f1"] == "labels withheld"
    )
    empty = tmp_path / "empty"
    (empty / "corpora").mkdir(parents=True)
    assert "No model has been fine-tuned" in words_of(write(empty, tmp_path / "none"))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("panx/summary.tsv", "language\tmetric\n", "line 1: no column mean"),
        ("panx/selection.json", "{}", "no choice that vocap score wrote"),
        ("average.json", '{"tasks": 5}', r"knn/average\.json: not a file of vocap average"),
    ],
)
def test_malformed_files_are_one_error(results, tmp_path, name, content, said):
    (results / "finetuning/knn" / name).write_text(content)
    with pytest.raises(VocapError, match=said):
        write(results, tmp_path / "out")
    assert not (tmp_path / "out").exists()
