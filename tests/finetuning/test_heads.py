"""Heads on several architectures: words by hand, and no part of the padding in a logit
or a loss.
"""

import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.cases import edit, read_cases
from tests.finetuning.tiny_models import XTREME, make_bert, make_inputs, make_model, recipe
from vocap.errors import VocapError
from vocap.finetuning.encoding import encode_training, open_inputs
from vocap.finetuning.features import assemble_inputs
from vocap.finetuning.run import Tuner, build_tuned_model
from vocap.finetuning.tasks import TASKS, DataSet
from vocap.model_folder import longest_input, read_config

KINDS = {"xnli": "pairs", "udpos": "tags", "tydiqa": "spans"}


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict:
    """Full width, half embeddings, and a BERT."""
    folder = tmp_path_factory.mktemp("models")
    return {
        "full": make_model(folder / "full"),
        "half": make_model(folder / "half", 16),
        "bert": make_bert(folder / "bert"),
    }


@pytest.fixture(scope="module")
def features(models, tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("inputs")
    found = {}
    for task in KINDS:
        make_inputs(folder / task, models["full"], task)
        found[task] = open_inputs(folder / task, task, XTREME).load(
            DataSet(TASKS[task], "test", "ru")
        )
    return found


def tuner(folder, task: str, pooling: str = "first") -> Tuner:
    return Tuner(
        build_tuned_model(folder, KINDS[task], len(TASKS[task].labels), seed=5),
        KINDS[task],
        pooling,
    ).eval()


@pytest.mark.parametrize("task", KINDS)
@pytest.mark.parametrize("name", ["full", "half", "bert"])
def test_padding_changes_nothing(models, features, name, task):
    """Logits and loss of a batch are those of its inputs alone, each without
    padding.
    """
    model = tuner(models[name], task, "mean")
    numbers = np.array([0, 3, 5, 1])
    numbers = numbers[np.argsort(features[task].lengths[numbers])]
    batch = assemble_inputs(features[task], numbers, model.pad, width=60)
    alone = [
        assemble_inputs(features[task], numbers[place : place + 1], model.pad) for place in range(4)
    ]
    with torch.no_grad():
        together = model(batch)
        apart = [model(one) for one in alone]
        losses = torch.stack([model.loss(one) for one in alone])
        loss = model.loss(batch)
    if task == "tydiqa":
        for end, logits in enumerate(together):
            for row, one in enumerate(apart):
                width = one[end].shape[1]
                torch.testing.assert_close(logits[row, :width], one[end][0], atol=1e-5, rtol=1e-4)
                assert (logits[row, width:] == -torch.inf).all()
    else:
        torch.testing.assert_close(
            together[0], torch.cat([one[0] for one in apart]), atol=1e-5, rtol=1e-4
        )
    weights = torch.tensor([len(one.targets["label"]) if task == "udpos" else 1 for one in alone])
    torch.testing.assert_close(loss, (losses * weights).sum() / weights.sum(), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", ["full", "half", "bert"])
def test_words_of_several_subwords(models, features, name):
    """Average pooling: the head on the mean of a word's hidden states, as in the
    paper.
    """
    found = features["udpos"]
    number = int(np.argmax(found.lengths))
    words = found.row("word", number)
    ends = [
        (place.min(), place.max() + 1)
        for place in (np.flatnonzero(words == n) for n in range(words.max() + 1))
    ]
    assert max(end - start for start, end in ends) > 1
    logits = {}
    for pooling in ("mean", "first", "sum"):
        model = tuner(models[name], "udpos", pooling)
        batch = assemble_inputs(found, np.array([number]), model.pad)
        with torch.no_grad():
            logits[pooling] = model(batch)[0]
            hidden = model.model.base_model(torch.from_numpy(batch.input_ids)).last_hidden_state[0]
            head = model.model.classifier
            for word, (start, end) in enumerate(ends):
                states = hidden[start:end]
                expected = {
                    "mean": head(states.mean(0)),
                    "first": head(states[0]),
                    "sum": head(states).sum(0),
                }
                torch.testing.assert_close(
                    logits[pooling][word], expected[pooling], atol=1e-5, rtol=1e-4
                )
    assert not torch.allclose(logits["mean"], logits["first"])


@pytest.mark.parametrize("kind", ["pairs", "tags", "spans"])
@pytest.mark.parametrize("name", ["full", "half", "bert"])
def test_weights_are_the_pretrained_ones_and_the_seed_decides_the_rest(models, name, kind):
    from transformers import AutoModel

    encoder = dict(AutoModel.from_pretrained(models[name]).named_parameters())
    one, same, other = (build_tuned_model(models[name], kind, 3, seed) for seed in (1, 1, 2))
    random = build_tuned_model(models[name], kind, 3, 1, pretrained=False)
    shared = {key: value for key, value in one.base_model.named_parameters() if "pooler" not in key}
    assert len(shared) >= 15  # a BERT was pre-trained without its pooler
    for key, value in shared.items():
        assert torch.equal(value, encoder[key]), key
    assert not torch.equal(random.get_input_embeddings().weight, one.get_input_embeddings().weight)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), same.parameters(), strict=True))
    assert not all(
        torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True)
    )


def test_segments_are_told_to_models_that_have_them(models, features):
    model = tuner(models["bert"], "xnli")
    batch = assemble_inputs(features["xnli"], np.array([0]), model.pad)
    ids, segments = torch.from_numpy(batch.input_ids), torch.from_numpy(batch.segments)
    assert segments.any() and not segments.all()
    with torch.no_grad():
        expected = model.model(input_ids=ids, token_type_ids=segments).logits
        assert torch.equal(model(batch)[0], expected)
        assert not torch.allclose(model.model(input_ids=ids).logits, expected)


def test_what_a_model_reads(models):
    assert {longest_input(read_config(folder)) for folder in models.values()} == {64}
    assert longest_input({"model_type": "xlm"}) is None


def test_folders_without_a_model_are_named(models, tmp_path):
    with pytest.raises(VocapError, match=r"nowhere.*config\.json"):
        build_tuned_model(tmp_path / "nowhere", "pairs", 3, 1)
    (tmp_path / "config.json").write_bytes((models["full"] / "config.json").read_bytes())
    torch.save({}, tmp_path / "pytorch_model.bin")  # a pickle: never read
    with pytest.raises(VocapError, match=r"no model\.safetensors.*save_pretrained"):
        build_tuned_model(tmp_path, "pairs", 3, 1)
    with pytest.raises(VocapError, match=r"tokenizer\.json"):
        encode_training(XTREME, "xnli", tmp_path, recipe("xnli"), tmp_path / "out")


def changed(models, folder, name="full", **entries):
    """A copy of a model's folder with these entries in its config.json."""
    shutil.copytree(models[name], folder)
    edit(folder / "config.json", **entries)
    return folder


@pytest.mark.parametrize("name", ["full", "half", "bert"])
def test_weights_of_other_names_or_shapes_are_never_made_up(models, tmp_path, name):
    wrapped = changed(models, tmp_path / "wrapped", name)
    weights = load_file(wrapped / "model.safetensors")
    save_file(
        {f"module.{key}": value for key, value in weights.items()}, wrapped / "model.safetensors"
    )
    wider = changed(models, tmp_path / "wider", name, intermediate_size=64)
    for folder, lacks in (
        (wrapped, "embeddings.word_embeddings"),
        (wider, "encoder.layer.0.inter"),
    ):
        with pytest.raises(VocapError, match=rf"{folder.name}: the weights lack \w+\.{lacks}"):
            build_tuned_model(folder, "tags", 7, 1)
    build_tuned_model(wrapped, "tags", 7, 1, pretrained=False)  # reads none


def test_a_head_of_another_number_of_labels_gives_way_to_a_new_one(models, tmp_path):
    tuned = build_tuned_model(models["bert"], "pairs", 5, seed=1)
    tuned.save_pretrained(tmp_path)
    again, same, other = (build_tuned_model(tmp_path, "pairs", 3, seed) for seed in (2, 2, 3))
    assert again.classifier.weight.shape[0] == 3
    shared = dict(tuned.base_model.named_parameters())
    assert all(
        torch.equal(value, shared[name]) for name, value in again.base_model.named_parameters()
    )
    assert torch.equal(again.classifier.weight, same.classifier.weight)
    assert not torch.equal(again.classifier.weight, other.classifier.weight)


@pytest.mark.parametrize(("entries", "said"), read_cases(__file__)["no model"])
@pytest.mark.parametrize("pretrained", [True, False])
def test_a_configuration_of_no_model_is_one_error(models, tmp_path, entries, said, pretrained):
    folder = changed(models, tmp_path / "odd", **entries)
    # never run, and nobody is asked whether to
    (folder / "code.py").write_text("raise SystemExit('ran')")
    with pytest.raises(VocapError, match=rf"odd: .*{said}"):
        build_tuned_model(folder, "tags", 7, 1, pretrained)


def test_weights_that_were_cut_short_are_one_error(models, tmp_path):
    folder = changed(models, tmp_path / "cut")
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[: len(content) // 2])
    with pytest.raises(VocapError, match=r"cut: no model for tags: .*copy the folder again"):
        build_tuned_model(folder, "tags", 7, 1)
