"""Inputs that a model cannot read, of other files or damaged: refused before anything is trained."""

import json
import lzma
import shutil
from pathlib import Path

import pytest

from tests.finetuning.tiny_models import XTREME, make_bert, make_inputs, make_model, recipe
from vocap.errors import UsageError, VocapError
from vocap.finetuning.grid import Setting
from vocap.finetuning.inputs import DESCRIPTION, encode_training, open_inputs
from vocap.finetuning.reading import parse
from vocap.finetuning.run import Folders, Job, finetune


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return make_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def inputs(model, tmp_path_factory) -> Path:
    return make_inputs(tmp_path_factory.mktemp("inputs") / "tydiqa", model, "tydiqa")


def run(model: Path, inputs: Path, out: Path, xtreme: Path = XTREME, stand_ins: dict | None = None) -> None:
    made = recipe("tydiqa", epochs=(1,))
    job = Job(model, "tydiqa", Setting(1e-3, 1, 1), made)
    finetune(job, Folders(xtreme, inputs, out), parse(stand_ins or {}), 1, 1000)


def edited(inputs: Path, folder: Path, **entries) -> Path:
    """A copy of the inputs with these entries in the description."""
    shutil.copytree(inputs, folder)
    path = folder / DESCRIPTION
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | entries), "utf-8")
    return folder


def test_inputs_of_another_tokenizer_are_refused(model, inputs, tmp_path):
    """Of the same size, so that only its bytes differ."""
    other = tmp_path / "other"
    shutil.copytree(model, other)
    content = json.loads((other / "tokenizer.json").read_text("utf-8"))
    pieces = content["model"]["vocab"]
    pieces[10], pieces[11] = pieces[11], pieces[10]
    (other / "tokenizer.json").write_text(json.dumps(content), "utf-8")
    with pytest.raises(UsageError, match=r"another tokenizer than .*other/tokenizer\.json.*--tokenizer .*other"):
        run(other, inputs, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_model_holds_its_own_tokenizer_byte_for_byte(model, tmp_path):
    """So inputs of the tokenizer's own folder, as the workflow makes them, are right for the model."""
    encode_training(
        XTREME, "tydiqa", model.parent / "tokenizer/huggingface", recipe("tydiqa"), {}, tmp_path / "in"
    )
    run(model, tmp_path / "in", tmp_path / "run")
    assert (tmp_path / "run/run.json").exists()


def test_ids_that_a_model_has_no_embedding_of_are_refused(inputs, tmp_path):
    bert = make_bert(tmp_path / "bert")  # without a tokenizer
    config = json.loads((bert / "config.json").read_text("utf-8"))
    (bert / "config.json").write_text(json.dumps(config | {"vocab_size": 50}), "utf-8")
    with pytest.raises(UsageError, match=r"tydiqa/train-en holds the id \d+, but .*bert has 50 embeddings"):
        run(bert, inputs, tmp_path / "run")


def test_other_stand_ins_than_those_of_the_inputs_are_refused(model, inputs, tmp_path):
    stand_in = {"tydiqa/test": "xquad/test"}
    with pytest.raises(UsageError, match=r"stand-ins \(none\), not tydiqa/test=xquad/test; .*--stand-in"):
        run(model, inputs, tmp_path / "run", stand_ins=stand_in)
    with pytest.raises(UsageError, match=r"stand-ins tydiqa/test=xquad/test, not \(none\)"):
        run(model, edited(inputs, tmp_path / "in", stand_ins=stand_in), tmp_path / "run")
    with pytest.raises(VocapError, match="cannot be read"):  # of other trainings none counts
        (tmp_path / "in" / DESCRIPTION).write_bytes((inputs / DESCRIPTION).read_bytes())
        (tmp_path / "in/tydiqa/train-en/ids.npy").unlink()
        run(model, tmp_path / "in", tmp_path / "run", stand_ins={"xnli/train": "xnli/dev"})


@pytest.mark.parametrize("name", ["tydiqa.goldp.en.dev.json", "tydiqa.goldp.en.train.json"])
def test_a_file_that_changed_after_encoding_is_noticed_with_as_many_rows(model, inputs, tmp_path, name):
    folder = tmp_path / "xtreme"
    shutil.copytree(XTREME / "tydiqa", folder / "tydiqa")
    (path,) = folder.rglob(name)
    content = json.loads(path.read_text("utf-8"))
    content["data"][0]["paragraphs"][0]["qas"][0]["question"] += "?"
    path.write_text(json.dumps(content), "utf-8")
    with pytest.raises(VocapError, match=rf"{name}: changed since .*vocap encode again"):
        run(model, inputs, tmp_path / "run", folder)


def test_inputs_of_older_versions_are_told_by_their_rows(model, inputs, tmp_path):
    sets = open_inputs(inputs, "tydiqa").sets
    older = {name: {key: value for key, value in one.items() if key != "sha256"} for name, one in sets.items()}
    folder = edited(inputs, tmp_path / "in", sets=older)
    packed = tmp_path / "xtreme"
    shutil.copytree(XTREME / "tydiqa", packed / "tydiqa")
    for path in list(packed.rglob("*.json")):
        path.with_name(f"{path.name}.xz").write_bytes(lzma.compress(path.read_bytes()))
        path.unlink()
    run(model, folder, tmp_path / "run", packed)
    older["tydiqa/test-en"]["examples"] += 1
    with pytest.raises(VocapError, match=r"tydiqa/test-en: .* examples in .*vocap encode again"):
        run(model, edited(inputs, tmp_path / "more", sets=older), tmp_path / "again", packed)


@pytest.mark.parametrize("name", ["sets", "max_length", "tokenizer", "stand_ins", "absent"])
def test_a_description_without_what_it_must_say_is_named(inputs, tmp_path, name):
    with pytest.raises(VocapError, match=rf"description\.json: '{name}' is not .*vocap encode again"):
        open_inputs(edited(inputs, tmp_path / "in", **{name: None}), "tydiqa")


def test_a_set_without_what_it_must_say_is_named(inputs, tmp_path):
    with pytest.raises(VocapError, match=r"'tydiqa/test-en' is not .*vocap encode again"):
        open_inputs(edited(inputs, tmp_path / "in", sets={"tydiqa/test-en": {}}), "tydiqa")
