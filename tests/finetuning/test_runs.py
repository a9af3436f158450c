"""Whole runs on the smoke configuration's XTREME folder: every task, kills, stops,
choices, missing files.
"""

import hashlib
import json
import os
import random
import shutil
import time
from pathlib import Path

import pytest
import torch
from pydantic import ValidationError

from tests.cases import read_lines_of_json
from tests.finetuning.factories import read
from tests.finetuning.tiny_models import XTREME, make_inputs, make_model, recipe
from tests.pretraining.processes import killed_at_random, newest, pretrain, stopped, unmeasured
from vocap.correlation.study import Correlation
from vocap.errors import UsageError, VocapError
from vocap.files.io import read_object
from vocap.finetuning.encoding import encode_training
from vocap.finetuning.predictions import read_predictions
from vocap.finetuning.scores import score, score_task
from vocap.finetuning.settings import Finetuning, parse_tuning_recipe
from vocap.finetuning.tasks import TASKS, TRAININGS, DataSet

KILLS = int(os.environ.get("VOCAP_KILLS", 3))
SETTINGS = {"batch": 8, "evaluate_every": 5}
PRECISIONS = {"panx": "fp16"}  # of the others fp32


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return make_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def inputs(model, tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("inputs")
    return {training: make_inputs(folder / training, model, training) for training in TRAININGS}


def arguments(
    model: Path, inputs: Path, training: str, xtreme: Path = XTREME, **options
) -> list[str]:
    """The words after `vocap finetune`, but for the output."""
    settings = {"precision": PRECISIONS.get(training, "fp32"), **options.pop("settings", {})}
    named = {
        "model": model, "xtreme": xtreme, "inputs": inputs, "training": training,
        "learning_rate": 3e-3, "epochs": 2, "seed": 1, "threads": 1, "checkpoint_every": 3,
        "settings_json": json.dumps(SETTINGS | settings),
    } | options  # fmt: skip
    return [f"--{name.replace('_', '-')}={value}" for name, value in named.items()]


def finetune(words: list[str], out: Path) -> tuple[int, str]:
    return pretrain(words, out, verb="finetune")


def described(out: Path) -> dict:
    return read_object(out / "run.json")


def metrics_of(out: Path) -> list[dict]:
    return read_lines_of_json(out / "metrics.jsonl")


def results(out: Path) -> tuple[dict[str, bytes], list[dict]]:
    """Every file of predictions and the description, and the metrics without times and
    memory.
    """
    files = [out / "run.json", *sorted((out / "predictions").rglob("*.*"))]
    return {str(path.relative_to(out)): path.read_bytes() for path in files}, unmeasured(out)


@pytest.fixture(scope="module")
def finished(model, inputs, tmp_path_factory) -> dict[str, Path]:
    """A run of every training."""
    folder, found = tmp_path_factory.mktemp("runs"), {}
    for training in TRAININGS:
        status, said = finetune(arguments(model, inputs[training], training), folder / training)
        assert status == 0, said
        found[training] = folder / training
    return found


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_every_task_is_learnt_predicted_and_scored(model, finished, task):
    """The state that is kept is the one with the best mean; its predictions give that
    score again.
    """
    out = finished[task.training]
    names = sorted(path.name for path in out.iterdir())
    assert names == ["checkpoints", "metrics.jsonl", "predictions", "run.json"]
    assert [path.name for path in (out / "checkpoints").iterdir()] == ["lock"]
    said, rows = described(out), metrics_of(out)
    assert said["precision"] == PRECISIONS.get(task.training, "fp32").replace("fp", "float")
    steps = said["steps"]
    per_epoch = steps // 2
    assert [row["step"] for row in rows] == sorted({*range(5, steps + 1, 5), per_epoch, steps})
    best = max(rows, key=lambda row: row["score"])  # of equals the first
    assert (said["selected_step"], said["selected_score"]) == (best["step"], best["score"])
    values = []
    for name in said["selected_on"]:
        chosen, split, language = name.replace("-", "/").split("/")
        place = DataSet(TASKS[chosen], split, language)
        examples = place.read(XTREME)
        kept = read_predictions(out / "predictions" / chosen, place, examples)
        measured = score(TASKS[chosen], language, examples, kept)
        values.append(measured.get("acc", measured.get("f1")))
    assert sum(values) / len(values) == pytest.approx(said["selected_score"])
    assert said["model"] == hashlib.sha256((model / "model.safetensors").read_bytes()).hexdigest()
    assert {row.metric for row in score_task(XTREME, task.name, [out]).scores} >= set(task.metrics)


def test_training_learns(finished):
    for training in ("udpos", "panx", "squad"):
        rows = metrics_of(finished[training])
        assert rows[-1]["loss"] < 0.9 * rows[0]["loss"], training


@pytest.mark.parametrize("training", ["panx", "tydiqa"])
def test_killed_at_random_moments_it_ends_bit_for_bit_as_undisturbed(
    model, inputs, finished, training, tmp_path
):
    """kill -9, while steps, looks, checkpoints and predictions are made."""
    words = arguments(model, inputs[training], training)
    began = time.monotonic()
    assert finetune(words, tmp_path / "timed")[0] == 0
    seconds = time.monotonic() - began
    moments = random.Random(training)
    for out in killed_at_random(
        words,
        tmp_path,
        lambda number: moments.uniform(0.3, 0.9) * seconds / number,
        KILLS,
        "finetune",
        "run.json",
    ):
        assert results(out) == results(finished[training])


def test_a_checkpoint_of_other_settings_is_refused(model, inputs, tmp_path):
    options = {"epochs": 12, "checkpoint_every": 1}
    words = arguments(model, inputs["panx"], "panx", **options)
    out = tmp_path / "run"
    said = stopped(words, out, verb="finetune")
    assert f"step {newest(out)} is in" in said
    other = arguments(model, inputs["panx"], "panx", **options, settings={"clip": 2.0})
    status, said = finetune(other, out)
    assert status == 1 and "clip was 1.0, is 2.0" in said


def test_english_dev_sees_no_test_file_and_no_other_language(model, tmp_path):
    """On a folder of English training and development files alone."""
    folder, part = tmp_path / "xtreme", "tydiqa/tydiqa-goldp-v1.1-train"
    shutil.copytree(XTREME / part, folder / part)
    make_inputs(tmp_path / "inputs", model, "tydiqa", folder)
    words = arguments(model, tmp_path / "inputs", "tydiqa", folder)
    status, said = finetune(words, tmp_path / "paper")
    assert status == 1
    assert "chosen on the English test file" in said and "selection: english-dev" in said
    status, said = finetune([*words, "--selection=english-dev"], tmp_path / "run")
    assert status == 0, said
    made = described(tmp_path / "run")
    assert made["selected_on"] == ["tydiqa/heldout-en"]
    held = read_object(tmp_path / "run/predictions/tydiqa/heldout-en.json")
    questions = read(folder, TASKS["tydiqa"], "train", "en")
    assert made["train_examples"] + len(held) == len(questions)
    chosen = score_task(folder, "tydiqa", [tmp_path / "run"]).selection
    assert (chosen["rule"], chosen["development"]["split"]) == ("english-dev", "heldout")
    assert chosen["settings"][0]["value"] == pytest.approx(made["selected_score"])


def test_a_missing_language_is_named_and_the_others_go_on(model, tmp_path, caplog):
    folder = tmp_path / "xtreme"
    shutil.copytree(XTREME / "panx", folder / "panx")
    (folder / "panx" / "dev-ja.tsv").unlink()
    (folder / "panx" / "test-ru.tsv").unlink()
    description = encode_training(folder, "panx", model, recipe("panx"), tmp_path / "inputs")
    assert "panx/dev-ja: no file" in caplog.text and "panx/test-ru: no file" in caplog.text
    assert {"panx/dev-ja", "panx/test-ru"} <= set(description["absent"])
    status, said = finetune(arguments(model, tmp_path / "inputs", "panx", folder), tmp_path / "run")
    assert status == 0, said
    chose = described(tmp_path / "run")["selected_on"]
    assert chose == ["panx/dev-de", "panx/dev-en", "panx/dev-ru"]
    made = {path.stem for path in (tmp_path / "run" / "predictions" / "panx").iterdir()}
    assert made == {"dev-de", "dev-en", "dev-ru", "test-de", "test-en", "test-ja"}


def test_wrong_calls_say_what_to_do(model, inputs, tmp_path):
    def said(status: int, training: str = "panx", made: str = "panx", **options) -> str:
        found, text = finetune(
            arguments(model, inputs[made], training, **options), tmp_path / "run"
        )
        assert found == status, text
        return text

    assert "inputs of panx, not of xnli" in said(1, "xnli")
    assert "no training 'ner'" in said(2, "ner")
    assert "batch" in said(2, settings={"batch": 0})
    encode_training(XTREME, "panx", model, recipe("panx", max_length=96), tmp_path / "long")
    status, text = finetune(arguments(model, tmp_path / "long", "panx"), tmp_path / "run")
    assert status == 2 and "reads 64" in text and "--max-length 64" in text
    with pytest.raises(VocapError, match=r"squad/train.*no such file"):
        encode_training(XTREME / "xnli", "squad", model, recipe("squad"), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "long/notes.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"holds 'notes\.txt'"):
        encode_training(XTREME, "panx", model, recipe("panx"), tmp_path / "long")


def test_recipes_are_checked():
    with pytest.raises(UsageError, match=r"learning_rates"):
        parse_tuning_recipe("panx", {"learning_rates": []})
    assert parse_tuning_recipe("tydiqa", {"batch": 4}).epochs == [6, 8]
    for name, values in (("learning_rates", [1e-5, 2e-5, 0.00001]), ("epochs", [3, 3])):
        with pytest.raises(UsageError, match=f"{name}: duplicate entry"):
            parse_tuning_recipe("panx", {name: values})


@pytest.mark.parametrize("section", [Finetuning, Correlation])
def test_seeds_are_those_that_torch_takes(section):
    (seed,) = section.model_validate({"seeds": [2**63 - 1]}).seeds
    torch.manual_seed(seed)
    with pytest.raises(ValidationError, match="less than or equal to 9223372036854775807"):
        section.model_validate({"seeds": [2**63]})
