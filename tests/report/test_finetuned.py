"""The part on fine-tuning: the columns of Table 1, missing tasks, and the languages."""

import pandas
import pytest

from tests.report.factories import make_corpora, make_finetuned
from tests.report.pages import frame, one_row, words, write
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
    write(results, tmp_path / "out")
    row = one_row(tmp_path / "out/tables/finetuning.tsv", model="knn")
    columns = [f"{name}_{metric}" for name, task in XTREME_TASKS.items() for metric in task.metrics]
    assert list(row) == ["model", "seeds", *columns, "average", "average_std", "missing"]
    expected = {f"{task}_{XTREME_TASKS[task].metrics[0]}": "not run" for task in MISSING}
    for task, means in TASKS.items():
        expected |= {f"{task}_{metric}": f"{mean:.1f} ± 0.5" for metric, mean in means.items()}
    expected |= {"seeds": "5", "average": "61.25", "average_std": "0.75"}
    assert row == row | expected | {"missing": "XNLI, PAWS-X, POS, MLQA"}


def test_each_language_of_each_task_has_its_mean(results, tmp_path):
    make_finetuned(
        results, "full", {"panx": {"f1": 30.0}}, [], seeds=1, languages=["en", "sw", "bg"]
    )
    write(results, tmp_path / "out")
    table = frame(tmp_path / "out/tables/finetuning-languages.tsv", ["task", "metric", "language"])
    assert len(table) == 6 + 2 * 4 + 2 * 4
    row = table.loc["NER", "F1", "bg"].fillna("")  # the third of four, and of three
    shown = list(row[["name", "knn", "knn_std", "full", "full_std"]])
    assert shown == ["Bulgarian", 41.75, 0.5, 31.0, ""]
    assert pandas.isna(table.knn["NER", "F1", "sw"])
    assert table.name["XQuAD", "EM", "de"] == "German"
    single = one_row(tmp_path / "out/tables/finetuning.tsv", model="full")
    assert (single["seeds"], single["panx_f1"]) == ("1", "30.0")


def test_the_choice_is_named_with_its_absent_files(results, tmp_path):
    label = "chosen on the English test file"
    chose = {"split": "test", "languages": ["en"], "absent": []}
    said = {"label": label, "absent": ["sw"], "blank": ["ko"], "development": chose}
    make_finetuned(results, "knn", {"tydiqa": TASKS["tydiqa"]}, [], **said)
    settings = {"finetuning": {"tasks": ["tydiqa", "xnli"]}}
    shown = words(results, tmp_path / "out", settings)
    assert f"TyDiQA, {label}" in shown.partition("Scores of the fine-tuned models")[0]
    choices = tmp_path / "out/tables/finetuning-choices.tsv"
    row = one_row(choices, task="TyDiQA")
    expected = {"absent": "sw", "blank": "ko", "learning_rate": "1e-05", "epochs": "4"}
    expected |= {"languages": "4", "seeds": "5", "chosen_by": f"{label} (rule: paper)"}
    assert row == row | expected
    assert one_row(choices, task="XNLI")["chosen_by"] == "not run"


def test_a_model_without_results_is_not_run_and_one_of_another_configuration_is_named(
    results, tmp_path
):
    settings = {"finetuning": {"models": {"knn": {}, "later": {}}}}
    make_finetuned(results, "older", {"xnli": {"acc": 50.0}}, [])
    shown = words(results, tmp_path / "out", settings)
    assert "without results here: later" in shown and "fine-tuned models older" in shown
    row = one_row(tmp_path / "out/tables/finetuning.tsv", model="later")
    assert row["panx_f1"] == row["xnli_acc"] == "not run" and row["average"] == ""
    assert "older" not in frame(tmp_path / "out/tables/finetuning.tsv", "model").index


def test_labels_kept_back_are_no_score(results, tmp_path):
    path = results / "finetuning/knn/panx/summary.tsv"
    path.write_text(path.read_text("utf-8").partition("\n")[0] + "\n")
    write(results, tmp_path / "out")
    assert (
        one_row(tmp_path / "out/tables/finetuning.tsv", model="knn")["panx_f1"] == "labels withheld"
    )
