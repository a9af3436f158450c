"""From kept predictions to tables: `vocap score`, `vocap average` and `vocap compare`
on folders made up here.
"""

import json
import random
import shutil

import pandas
import pytest
from click.testing import CliRunner

from tests.finetuning.factories import locate, read, xtreme_folder
from vocap.cli import vocap
from vocap.errors import VocapError
from vocap.finetuning import metrics
from vocap.finetuning.examples import held_out
from vocap.finetuning.predictions import prediction_path, write_predictions
from vocap.finetuning.tasks import TASKS, DataSet

SERVED = {"squad": ("xquad", "mlqa"), "tydiqa": ("tydiqa",), "panx": ("panx",), "pawsx": ("pawsx",)}


def predict(task, examples, chance):
    """Gold, where the dice say so; else something of the task's kind."""
    if task.kind == "spans":
        return {
            one.id: one.answers[0].text if chance.random() < 0.6 else "the cat" for one in examples
        }
    if task.kind == "tags":
        return [[tag if chance.random() < 0.6 else "O" for tag in one.tags] for one in examples]
    return [one.label if chance.random() < 0.6 else chance.choice(task.labels) for one in examples]


def make_runs(xtreme, folder, training, rule="paper", rates=(1e-5, 2e-5), seeds=(1, 2, 3), salt=0):
    """Finished runs of one model, with predictions on every file of their tasks."""
    runs = []
    for rate in rates:
        for seed in seeds:
            chance = random.Random(f"{salt} {rate} {seed}")
            run = folder / "runs" / f"{rate!r}-2-{seed}"
            for task in map(TASKS.get, SERVED[training]):
                for split in ("dev", "test"):
                    for language in task.languages_of(split):
                        if locate(xtreme, task, split, language):
                            made = predict(task, read(xtreme, task, split, language), chance)
                            write_predictions(
                                run / "predictions" / task.name,
                                DataSet(task, split, language),
                                made,
                            )
            description = {
                "training": training,
                "model": f"model {salt}",
                "learning_rate": rate,
                "epochs": 2,
                "seed": seed,
                "selection": rule,
                "weights": "pretrained",
                "tokenizer_sha256": "0a",
                "max_length": 64,
                "settings": {"batch": 8},
                "more": "is ignored",
            }
            (run / "run.json").write_text(json.dumps(description))
            runs.append(run)
    return runs


def call(*arguments):
    result = CliRunner().invoke(
        vocap, [str(argument) for argument in arguments], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output


def score(xtreme, task, out, runs):
    call("score", "--xtreme", xtreme, "--task", task, "-o", out, *runs)
    scores, summary = (
        pandas.read_csv(out / name, sep="\t") for name in ("scores.tsv", "summary.tsv")
    )
    return scores, summary, json.loads((out / "selection.json").read_text("utf-8"))


@pytest.fixture
def xtreme(tmp_path):
    return enlarge(xtreme_folder(tmp_path / "xtreme"))


def enlarge(folder):
    """Every file of tagged words and pairs ten times over, so that seeds and settings
    differ.
    """
    for path in folder.glob("*/*.tsv"):
        path.write_bytes(path.read_bytes() * 10)
    return folder


def pick(table, **columns):
    """The rows with these values."""
    for column, value in columns.items():
        table = table[table[column] == value]
    return table


def official(task, examples, content):
    """F1 or accuracy of a file of predictions."""
    if task.kind == "spans":
        references = {one.id: [answer.text for answer in one.answers] for one in examples}
        return metrics.span_score(json.loads(content), references, metrics.squad_words)["f1"]
    if task.kind == "tags":
        sentences = [text.split() for text in content.split("\n\n")[:-1]]
        return metrics.chunk_f1([list(one.tags) for one in examples], sentences)["f1"]
    return metrics.accuracy([one.label for one in examples], content.split())


@pytest.mark.parametrize(
    ("training", "name"), [("panx", "panx"), ("pawsx", "pawsx"), ("squad", "xquad")]
)
def test_tables_hold_every_run_and_the_means_of_the_chosen(tmp_path, xtreme, training, name):
    task, runs = TASKS[name], make_runs(xtreme, tmp_path / "model", training)
    metric = TASKS[name].metrics[0]
    scores, summary, said = score(xtreme, name, tmp_path / "out", runs)
    assert list(scores.columns) == [
        "language",
        "split",
        "seed",
        "learning_rate",
        "epochs",
        "metric",
        "value",
    ]
    assert not scores.duplicated(scores.columns[:6].to_list()).any()
    for run, (rate, seed) in zip(
        runs, ((rate, seed) for rate in (1e-5, 2e-5) for seed in (1, 2, 3)), strict=True
    ):
        for code in ("en", "de", "zh"):
            if code in task.languages:
                path = prediction_path(run / "predictions" / name, DataSet(task, "test", code))
                expected = official(task, read(xtreme, task, "test", code), path.read_text("utf-8"))
                row = pick(
                    scores,
                    language=code,
                    split="test",
                    seed=seed,
                    learning_rate=rate,
                    metric=metric,
                )
                assert row["value"].item() == pytest.approx(expected)
    test = pick(scores, split="test", learning_rate=said["learning_rate"])
    for (code, measure), group in test.groupby(["language", "metric"]):
        found = pick(summary, language=code, metric=measure).iloc[0]
        expected = (group["value"].mean(), group["value"].std(ddof=1), 3)
        assert (found["mean"], found["std"], found["seeds"]) == pytest.approx(expected)
    of_seeds = pick(test, metric=metric).groupby("seed")["value"].mean()
    found = pick(summary, language="mean", metric=metric).iloc[0]
    assert (found["mean"], found["std"]) == pytest.approx((of_seeds.mean(), of_seeds.std(ddof=1)))
    kept = tmp_path / "out/predictions/3" / path.name
    chosen = (
        tmp_path
        / "model/runs"
        / f"{said['learning_rate']!r}-2-3"
        / "predictions"
        / name
        / path.name
    )
    assert kept.read_bytes() == chosen.read_bytes()
    there = [code for code in task.languages if code in ("en", "de", "zh")]
    assert said["languages"] == there and set(said["absent"]) == set(task.languages) - set(there)
    assert said["blank"] == [] and said["outside"] == [
        code for code in task.languages if code in ("jv", "yo")
    ]


@pytest.mark.parametrize(
    ("training", "name", "split", "languages"),
    [
        ("panx", "panx", "dev", None),
        ("squad", "mlqa", "dev", None),
        ("tydiqa", "tydiqa", "test", ("en",)),
    ],
)
def test_the_setting_with_the_highest_mean_is_chosen(
    tmp_path, xtreme, training, name, split, languages
):
    runs = make_runs(xtreme, tmp_path / "model", training)
    scores, _, said = score(xtreme, name, tmp_path / "out", runs)
    chose = pick(scores, split=split, metric="f1")
    if languages:
        chose = chose[chose["language"].isin(languages)]
    means = chose.groupby("learning_rate")["value"].mean()
    assert said["learning_rate"] == means.idxmax() and (said["epochs"], said["seeds"]) == (
        2,
        [1, 2, 3],
    )
    assert {one["learning_rate"]: one["value"] for one in said["settings"]} == pytest.approx(
        means.to_dict()
    )
    assert said["development"]["languages"] == sorted(set(chose["language"]))
    if training == "squad":  # the choice holds for XQuAD as well
        xquad = score(xtreme, "xquad", tmp_path / "xquad", runs)[2]
        assert [xquad[key] for key in ("settings", "label")] == [
            said[key] for key in ("settings", "label")
        ]
    if training == "tydiqa":
        assert (said["rule"], said["label"]) == ("paper", "chosen on the English test file")
    else:
        absent = len(TASKS[name].dev_languages) - len(said["development"]["languages"])
        assert said["label"].endswith(
            f", {absent} of {len(TASKS[name].dev_languages)} languages absent"
        )


def test_english_dev_chooses_tydiqa_on_held_out_questions(tmp_path, xtreme):
    contexts = [f"City {number} was the capital." for number in range(12)]
    path = locate(xtreme, TASKS["tydiqa"], "train", "en")
    content = json.loads(path.read_text("utf-8"))
    paragraph = content["data"][0]["paragraphs"][0]
    content["data"][0]["paragraphs"] = [
        {
            "context": context,
            "qas": [{**paragraph["qas"][0], "answers": [{"text": "City", "answer_start": 0}]}],
        }
        for context in contexts
    ]
    path.write_text(json.dumps(content))
    runs = make_runs(xtreme, tmp_path / "model", "tydiqa", rule="english-dev")
    held = held_out(read(xtreme, TASKS["tydiqa"], "train", "en"))[1]
    for run in runs:
        right = "2e-05" in run.name
        answers = {one.id: "City" if right else "" for one in held}
        write_predictions(
            run / "predictions/tydiqa", DataSet(TASKS["tydiqa"], "heldout", "en"), answers
        )
    scores, _, said = score(xtreme, "tydiqa", tmp_path / "out", runs)
    assert said["label"] == "chosen on questions held out of the English training file"
    assert (said["learning_rate"], said["development"]["split"]) == (2e-5, "heldout")
    assert {one["learning_rate"]: one["value"] for one in said["settings"]} == {1e-5: 0, 2e-5: 100}
    assert len(pick(scores, split="heldout", metric="f1")) == 6


def test_labels_kept_back_are_named_and_never_scored(tmp_path, xtreme):
    runs = make_runs(xtreme, tmp_path / "model", "pawsx")
    path = locate(xtreme, TASKS["pawsx"], "test", "zh")
    path.write_text(
        "".join(line.rpartition("\t")[0] + "\n" for line in path.read_text().splitlines())
    )
    scores, summary, said = score(xtreme, "pawsx", tmp_path / "out", runs)
    assert said["blank"] == ["zh"] and said["languages"] == ["de", "en"]
    assert (
        set(pick(scores, split="test").language) == {"de", "en"} == set(summary.language) - {"mean"}
    )


def test_without_any_label_there_is_a_choice_and_no_score(tmp_path, xtreme):
    runs = make_runs(xtreme, tmp_path / "model", "pawsx")
    for code in ("de", "en", "zh"):
        path = locate(xtreme, TASKS["pawsx"], "test", code)
        path.write_text(
            "".join(line.rpartition("\t")[0] + "\n" for line in path.read_text().splitlines())
        )
    scores, summary, said = score(xtreme, "pawsx", tmp_path / "out", runs)
    assert summary.empty and set(scores["split"]) == {"dev"} and said["languages"] == []
    assert (tmp_path / "out/predictions/1/test-zh.tsv").exists()
    call("average", "-o", tmp_path / "average.json", tmp_path / "out")
    said = json.loads((tmp_path / "average.json").read_text("utf-8"))
    assert said["average"] is None and said["missing"] == list(TASKS)


def test_one_seed_has_no_deviation(tmp_path, xtreme):
    runs = make_runs(xtreme, tmp_path / "model", "pawsx", seeds=(4,))
    _, summary, _ = score(xtreme, "pawsx", tmp_path / "out", runs)
    assert summary["std"].isna().all() and (summary["seeds"] == 1).all()


def refused(said, *arguments):
    with pytest.raises(VocapError, match=said):
        CliRunner().invoke(vocap, [str(argument) for argument in arguments], catch_exceptions=False)


def test_runs_that_do_not_fit_are_refused_and_nothing_is_written(tmp_path, xtreme):
    runs = make_runs(xtreme, tmp_path / "model", "pawsx")
    out, task = tmp_path / "out", TASKS["pawsx"]
    command = ["score", "--xtreme", xtreme, "--task", "pawsx", "-o", out]
    refused("'ner': no such task", *command[:3], "--task", "ner", *command[5:], runs[0])
    refused("run.json: no such file; make it with: vocap finetune", *command, tmp_path)
    refused("runs of one setting", *command, runs[0], runs[0])
    refused("seed 2, which others", *command, *runs[:4])
    path = prediction_path(runs[0] / "predictions/pawsx", DataSet(task, "test", "de"))
    kept = path.read_text()
    path.write_text(kept + "0\n")
    refused("test-de.tsv is not what `vocap finetune` writes", *command, *runs)
    path.unlink()
    refused("test-de.tsv: no such file; make it with: vocap finetune", *command, *runs)
    path.write_text(kept)
    for key, value, said in (
        ("training", "xnli", "training differ"),
        ("model", "another model", "model differ; name runs of one model"),
        ("selection", "english-dev", "selection differ"),
        ("max_length", 128, "max_length differ"),
        ("settings", {"batch": 16}, "settings differ"),
    ):
        description = json.loads((runs[1] / "run.json").read_text())
        (runs[1] / "run.json").write_text(json.dumps({**description, key: value}))
        refused(said, *command, *runs)
        (runs[1] / "run.json").write_text(json.dumps(description))
    refused(
        "these are runs of pawsx; .*mlqa.* of squad",
        *command[:3],
        "--task",
        "mlqa",
        *command[5:],
        *runs,
    )
    for run in runs:
        for code in ("en", "de", "zh"):
            prediction_path(run / "predictions/pawsx", DataSet(task, "dev", code)).unlink()
    refused("by which the rule 'paper' chooses", *command, *runs)
    assert not out.exists()


def test_the_average_of_the_tasks_that_are_there(tmp_path, xtreme):
    tables = {}
    for training in SERVED:
        runs = make_runs(xtreme, tmp_path / training, training)
        for name in SERVED[training]:
            tables[name] = score(xtreme, name, tmp_path / "model" / name, runs)
    folders = [tmp_path / "model" / name for name in tables]
    call("average", "-o", tmp_path / "average.json", *folders)
    said = json.loads((tmp_path / "average.json").read_text("utf-8"))
    assert said["missing"] == ["xnli", "udpos"]
    assert list(said["tasks"]) == ["pawsx", "panx", "xquad", "mlqa", "tydiqa"]
    by_seed = []
    for seed in (1, 2, 3):
        values = []
        for name, (scores, _, choice) in tables.items():
            test = pick(scores, split="test", seed=seed, learning_rate=choice["learning_rate"])
            means = test.groupby("metric")["value"].mean()
            values.append(means[list(TASKS[name].metrics)].mean())
        by_seed.append(sum(values) / len(values))
    by_seed = pandas.Series(by_seed)
    assert (said["average"], said["std"]) == pytest.approx((by_seed.mean(), by_seed.std(ddof=1)))
    assert said["languages"] == {"pawsx": 3, "panx": 3, "xquad": 3, "mlqa": 3, "tydiqa": 9}
    # other seeds: no deviation
    runs = make_runs(xtreme, tmp_path / "fewer", "pawsx", seeds=(1, 2))
    score(xtreme, "pawsx", tmp_path / "model" / "pawsx", runs)
    call("average", "-o", tmp_path / "average.json", *folders)
    assert json.loads((tmp_path / "average.json").read_text("utf-8"))["std"] is None
    shutil.copytree(folders[0], tmp_path / "again")
    refused("a second folder of", "average", "-o", tmp_path / "a", *folders, tmp_path / "again")
    refused(
        "selection.json: no such file; make it with: vocap score",
        "average",
        "-o",
        tmp_path / "a",
        tmp_path,
    )


def test_two_models_are_compared_on_the_chosen_runs(tmp_path, xtreme):
    for name, salt in (("first", 1), ("second", 2)):
        score(
            xtreme,
            "panx",
            tmp_path / name,
            make_runs(xtreme, tmp_path / f"{name}-runs", "panx", salt=salt),
        )
    out = tmp_path / "compare.tsv"
    call(
        "compare",
        "--xtreme",
        xtreme,
        "--samples",
        200,
        "-o",
        out,
        tmp_path / "first",
        tmp_path / "second",
    )
    table = pandas.read_csv(out, sep="\t")
    assert list(table.columns) == [
        "language",
        "metric",
        "first",
        "second",
        "difference",
        "low",
        "high",
        "p",
    ]
    assert list(table.language) == ["de", "en", "zh", "mean"]
    for name in ("first", "second"):
        summary = pandas.read_csv(tmp_path / name / "summary.tsv", sep="\t").pipe(pick, metric="f1")
        means = dict(zip(summary.language, summary["mean"], strict=True))
        assert dict(zip(table.language, table[name], strict=True)) == pytest.approx(means)
    assert (table.low <= table.difference).all() and (table.difference <= table.high).all()
    before = out.read_bytes()
    call(
        "compare",
        "--xtreme",
        xtreme,
        "--samples",
        200,
        "-o",
        out,
        tmp_path / "first",
        tmp_path / "second",
    )
    assert out.read_bytes() == before
    score(xtreme, "pawsx", tmp_path / "other", make_runs(xtreme, tmp_path / "other-runs", "pawsx"))
    refused(
        "their tasks differ",
        "compare",
        "--xtreme",
        xtreme,
        "-o",
        out,
        tmp_path / "first",
        tmp_path / "other",
    )
