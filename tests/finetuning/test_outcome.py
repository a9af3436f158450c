"""From kept predictions to tables: `vocap score`, `vocap average` and `vocap compare`
on folders made up here.
"""

import json
import random
import shutil

import pandas
import pytest

from tests.cases import read_cases, refused
from tests.commands import caller
from tests.finetuning.factories import locate, read, xtreme_folder
from vocap.files.io import read_object, write_json
from vocap.finetuning import metrics
from vocap.finetuning.predictions import prediction_path, write_predictions
from vocap.finetuning.tasks import TASKS, DataSet

CASES = read_cases(__file__)
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


def make_runs(xtreme, folder, training, seeds=(1, 2, 3), salt=0):
    """Finished runs of one model, with predictions on every file of their tasks."""
    runs = []
    for rate in (1e-5, 2e-5):
        for seed in seeds:
            chance = random.Random(f"{salt} {rate} {seed}")
            run = folder / "runs" / f"{rate!r}-2-{seed}"
            for task in map(TASKS.get, SERVED[training]):
                for split in ("dev", "test"):
                    for language in task.languages_of(split):
                        if locate(xtreme, task, split, language):
                            made = predict(task, read(xtreme, task, split, language), chance)
                            place = DataSet(task, split, language)
                            write_predictions(run / "predictions" / task.name, place, made)
            description = {"training": training, "model": f"model {salt}", "selection": "paper"}
            description |= {"learning_rate": rate, "seed": seed, **CASES["run"]}
            write_json(run / "run.json", description)
            runs.append(run)
    return runs


@pytest.fixture
def xtreme(tmp_path):
    """Every file of tagged words and pairs ten times over, so that seeds and settings
    differ.
    """
    folder = xtreme_folder(tmp_path / "xtreme")
    for path in folder.glob("*/*.tsv"):
        path.write_bytes(path.read_bytes() * 10)
    return folder


@pytest.fixture
def call(xtreme, tmp_path):
    return caller(xtreme=xtreme, tmp=tmp_path)


@pytest.fixture
def score(call, tmp_path):
    """`vocap score` into a folder: its tables and its choice."""

    def score(task, runs, name="out"):
        call("score --xtreme {xtreme} --task {task} -o {tmp}/{name}", *runs, task=task, name=name)
        out = tmp_path / name
        scores, summary = (
            pandas.read_csv(out / f"{table}.tsv", sep="\t") for table in ("scores", "summary")
        )
        return scores, summary, read_object(out / "selection.json")

    return score


@pytest.fixture
def training():
    return "pawsx"


@pytest.fixture
def runs(xtreme, tmp_path, training):
    return make_runs(xtreme, tmp_path / "model", training)


def blank(xtreme, *codes):
    """Take the labels of these test files of PAWS-X away."""
    for code in codes:
        path = locate(xtreme, TASKS["pawsx"], "test", code)
        lines = path.read_text().splitlines()
        path.write_text("".join(line.rpartition("\t")[0] + "\n" for line in lines))


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
def test_tables_hold_every_run_and_the_means_of_the_chosen(
    tmp_path, xtreme, score, runs, training, name
):
    task, metric = TASKS[name], TASKS[name].metrics[0]
    scores, summary, said = score(name, runs)
    columns = ["language", "split", "seed", "learning_rate", "epochs", "metric"]
    assert list(scores.columns) == [*columns, "value"]
    assert not scores.duplicated(columns).any()
    there = [code for code in task.languages if code in ("en", "de", "zh")]
    for run in runs:
        one = read_object(run / "run.json")
        own = {name: one[name] for name in ("seed", "learning_rate")}
        for code in there:
            path = prediction_path(run / "predictions" / name, DataSet(task, "test", code))
            expected = official(task, read(xtreme, task, "test", code), path.read_text("utf-8"))
            row = pick(scores, language=code, split="test", metric=metric, **own)
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
    chosen = tmp_path / f"model/runs/{said['learning_rate']!r}-2-3/predictions" / name / path.name
    assert kept.read_bytes() == chosen.read_bytes()
    assert said["languages"] == there and set(said["absent"]) == set(task.languages) - set(there)
    outside = [code for code in task.languages if code in ("jv", "yo")]
    assert said["blank"] == [] and said["outside"] == outside


@pytest.mark.parametrize(("training", "name", "split", "languages"), CASES["choices"])
def test_the_setting_with_the_highest_mean_is_chosen(score, runs, training, name, split, languages):
    scores, _, said = score(name, runs)
    chose = pick(scores, split=split, metric="f1")
    if languages:
        chose = chose[chose["language"].isin(languages)]
    means = chose.groupby("learning_rate")["value"].mean()
    assert said["learning_rate"] == means.idxmax()
    assert (said["epochs"], said["seeds"]) == (2, [1, 2, 3])
    values = {one["learning_rate"]: one["value"] for one in said["settings"]}
    assert values == pytest.approx(means.to_dict())
    assert said["development"]["languages"] == sorted(set(chose["language"]))
    if training == "squad":  # the choice holds for XQuAD as well
        xquad = score("xquad", runs, "xquad")[2]
        assert (xquad["settings"], xquad["label"]) == (said["settings"], said["label"])
    if training == "tydiqa":
        assert (said["rule"], said["label"]) == ("paper", "chosen on the English test file")
    else:
        wanted = len(TASKS[name].dev_languages)
        absent = wanted - len(said["development"]["languages"])
        assert said["label"].endswith(f", {absent} of {wanted} languages absent")


def test_labels_kept_back_are_named_and_never_scored(xtreme, score, runs):
    blank(xtreme, "zh")
    scores, summary, said = score("pawsx", runs)
    assert said["blank"] == ["zh"] and said["languages"] == ["de", "en"]
    assert set(pick(scores, split="test").language) == {"de", "en"}
    assert set(summary.language) == {"de", "en", "mean"}


def test_without_any_label_there_is_a_choice_and_no_score(tmp_path, xtreme, call, score, runs):
    blank(xtreme, "de", "en", "zh")
    scores, summary, said = score("pawsx", runs)
    assert summary.empty and set(scores["split"]) == {"dev"} and said["languages"] == []
    assert (tmp_path / "out/predictions/1/test-zh.tsv").exists()
    call("average -o {tmp}/average.json {tmp}/out")
    said = read_object(tmp_path / "average.json")
    assert said["average"] is None and said["missing"] == list(TASKS)


def test_one_seed_has_no_deviation(tmp_path, xtreme, score):
    runs = make_runs(xtreme, tmp_path / "model", "pawsx", seeds=(4,))
    _, summary, _ = score("pawsx", runs)
    assert summary["std"].isna().all() and (summary["seeds"] == 1).all()


def test_runs_that_do_not_fit_are_refused_and_nothing_is_written(tmp_path, call, runs):
    task, line = TASKS["pawsx"], "score --xtreme {xtreme} --task pawsx -o {tmp}/out "
    every = line + " ".join(map(str, runs))
    refused(call, every.replace("pawsx", "ner", 1), "'ner': no such task", 2)
    refused(call, line + "{tmp}", "run.json: no such file; make it with: vocap finetune")
    refused(call, line + f"{runs[0]} {runs[0]}", "runs of one setting")
    refused(call, line + " ".join(map(str, runs[:4])), "seed 2, which others")
    path = prediction_path(runs[0] / "predictions/pawsx", DataSet(task, "test", "de"))
    kept = path.read_text()
    path.write_text(kept + "0\n")
    refused(call, every, "test-de.tsv is not what `vocap finetune` writes")
    path.unlink()
    refused(call, every, "test-de.tsv: no such file; make it with: vocap finetune")
    path.write_text(kept)
    description = runs[1] / "run.json"
    content = description.read_text()
    for key, value, says in CASES["differing runs"]:
        write_json(description, {**json.loads(content), key: value})
        refused(call, every, says)
        description.write_text(content)
    says = "these are runs of pawsx; .*mlqa.* of squad"
    refused(call, every.replace("pawsx", "mlqa", 1), says, 2)
    for run in runs:
        for code in ("en", "de", "zh"):
            prediction_path(run / "predictions/pawsx", DataSet(task, "dev", code)).unlink()
    refused(call, every, "by which the rule 'paper' chooses")
    assert not (tmp_path / "out").exists()


def test_the_average_of_the_tasks_that_are_there(tmp_path, xtreme, call, score):
    tables = {}
    for training in SERVED:
        runs = make_runs(xtreme, tmp_path / training, training)
        tables |= {name: score(name, runs, f"model/{name}") for name in SERVED[training]}
    line = "average -o {tmp}/average.json " + " ".join(f"{{tmp}}/model/{name}" for name in tables)
    call(line)
    said = read_object(tmp_path / "average.json")
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
    score("pawsx", make_runs(xtreme, tmp_path / "fewer", "pawsx", seeds=(1, 2)), "model/pawsx")
    call(line)
    assert read_object(tmp_path / "average.json")["std"] is None
    shutil.copytree(tmp_path / "model/xquad", tmp_path / "again")
    refused(call, line + " {tmp}/again", "a second folder of")
    says = "selection.json: no such file; make it with: vocap score"
    refused(call, "average -o {tmp}/a {tmp}", says)


def test_two_models_are_compared_on_the_chosen_runs(tmp_path, xtreme, call, score):
    for name, salt in (("first", 1), ("second", 2)):
        score("panx", make_runs(xtreme, tmp_path / f"{name}-runs", "panx", salt=salt), name)
    line = "compare --xtreme {xtreme} --samples 200 -o {tmp}/compare.tsv {tmp}/first "
    call(line + "{tmp}/second")
    table = pandas.read_csv(tmp_path / "compare.tsv", sep="\t")
    columns = ["language", "metric", "first", "second", "difference", "low", "high", "p"]
    assert list(table.columns) == columns
    assert list(table.language) == ["de", "en", "zh", "mean"]
    for name in ("first", "second"):
        summary = pandas.read_csv(tmp_path / name / "summary.tsv", sep="\t").pipe(pick, metric="f1")
        means = dict(zip(summary.language, summary["mean"], strict=True))
        assert dict(zip(table.language, table[name], strict=True)) == pytest.approx(means)
    assert (table.low <= table.difference).all() and (table.difference <= table.high).all()
    score("pawsx", make_runs(xtreme, tmp_path / "other-runs", "pawsx"), "other")
    refused(call, line + "{tmp}/other", "their tasks differ")
