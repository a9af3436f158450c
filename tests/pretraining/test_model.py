"""The model against Hugging Face's own, the paper's sizes, and the exported folder."""

import sys
from types import SimpleNamespace

import pytest
import torch
from tokenizers import Tokenizer, models
from transformers import AutoModelForMaskedLM, AutoTokenizer, PreTrainedTokenizerFast

from vocap import cli
from vocap.errors import VocapError
from vocap.pretraining.loss_kinds import Full, Knn, Neg, Target
from vocap.pretraining.model import build_language_model, export_model
from vocap.pretraining.settings import (
    Recipe,
    Shape,
    count_parameters,
    estimate_memory,
    paper_parameters,
)
from vocap.training.checkpoints import module_tensors

V = 120
SMALL = {"layers": 2, "hidden": 32, "heads": 4, "intermediate": 48, "positions": 24}
WIDTHS = [None, 16]


def small(width, seed=0):
    torch.manual_seed(seed)
    return build_language_model(Shape(embedding_size=width, **SMALL), V).eval()


def batch():
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(4, V - 1, (3, 24), generator=generator)
    ids[:, 0], ids[1, 20:] = 0, 1
    return ids, ids != 1, torch.tensor([1, 5, 24 + 19, 48 + 2, 48 + 23])


@pytest.mark.parametrize(
    ("vocabulary", "width", "count", "paper"),
    [
        (250_002, None, 278_294_418, 265),
        (500_000, None, 470_542_880, 448),
        (500_000, 384, 278_343_584, 265),
    ],
)
def test_sizes_of_the_paper(vocabulary, width, count, paper):
    with torch.device("meta"):
        model = build_language_model(Shape(embedding_size=width), vocabulary)
    shape = Shape(embedding_size=width)
    assert paper_parameters(shape, vocabulary) == count
    assert count // 2**20 == paper
    types = width or 768  # the row that the paper's models do not have
    assert sum(parameter.numel() for parameter in model.transformer.parameters()) == count + types


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_are_the_inputs_of_the_output_layer(width):
    model = small(width)
    ids, mask, positions = batch()
    hidden = model(ids, mask, positions)
    assert hidden.shape == (5, width or 32)
    logits = torch.nn.functional.linear(hidden, model.decoder_weight, model.decoder_bias)
    expected = model.transformer(input_ids=ids, attention_mask=mask).logits.flatten(0, 1)[positions]
    torch.testing.assert_close(logits, expected)


@pytest.mark.parametrize("deviation", [0.02, 0.07])
@pytest.mark.parametrize("width", WIDTHS)
def test_initial_weights(width, deviation):
    shape = Shape(
        layers=1, hidden=96, heads=4, intermediate=64, embedding_size=width, deviation=deviation
    )
    model = build_language_model(shape, 3000)
    for name, values in module_tensors(model).items():
        if "LayerNorm" in name or "layer_norm" in name:
            assert (values == (0 if name.endswith("bias") else 1)).all(), name
        elif name.endswith("bias"):
            assert not values.any(), name
        elif values.numel() > 1000:  # the spread of a few says little
            assert abs(values.std().item() - deviation) < 0.1 * deviation, name
    assert model.decoder_weight is model.transformer.get_input_embeddings().weight
    assert not model.decoder_weight[1].any()


def tokenizer(folder, ids):
    folder.mkdir()
    vocabulary = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -9.0)]
    vocabulary += [(f"\u2581w{number}", -float(number)) for number in range(ids - 5)] + [
        ("<mask>", 0.0)
    ]
    fast = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.Unigram(vocabulary, 3)),
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
    )
    fast.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("width", WIDTHS)
def test_export_loads_with_auto_classes(tmp_path, width):
    model = small(width)
    folder = tokenizer(tmp_path / "huggingface", V)
    export_model(model, folder, tmp_path / "model")
    before = {file.name for file in (tmp_path / "model").iterdir()}
    # its rule runs beside the training
    (folder / "README.md").write_text("the card of the tokenizer")
    export_model(model, folder, tmp_path / "model")  # over an older one
    assert {file.name for file in (tmp_path / "model").iterdir()} == before
    assert not [
        file for file in (tmp_path / "model").iterdir() if file.suffix in (".bin", ".pt", ".pkl")
    ]
    loaded = AutoModelForMaskedLM.from_pretrained(tmp_path / "model").eval()
    ids, mask, _ = batch()
    with torch.no_grad():
        expected = model.transformer(input_ids=ids, attention_mask=mask).logits
        assert torch.equal(loaded(input_ids=ids, attention_mask=mask).logits, expected)
    assert loaded.get_output_embeddings().weight is loaded.get_input_embeddings().weight
    assert len(AutoTokenizer.from_pretrained(tmp_path / "model")) == V
    assert loaded.config.pad_token_id == 1 == AutoTokenizer.from_pretrained(folder).pad_token_id


def test_export_refuses_another_tokenizer(tmp_path):
    model = small(None)
    with pytest.raises(VocapError, match="no tokenizer"):
        export_model(model, tmp_path, tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("vocabulary", [1000, 250_002])
@pytest.mark.parametrize(
    "shape",
    [
        Shape(),
        Shape(embedding_size=384),
        Shape(layers=2, hidden=64, heads=2, intermediate=100, positions=33),
    ],
    ids=repr,
)
def test_parameters_are_those_of_the_model(shape, vocabulary):
    with torch.device("meta"):
        model = build_language_model(shape, vocabulary)
    assert count_parameters(shape, vocabulary) == sum(
        parameter.numel() for parameter in model.parameters()
    )


def test_what_costs_memory():
    full, chunked, knn, neg = (
        estimate_memory(Recipe(loss=loss), 500_000, 512)
        for loss in (Full(chunk=2458), Full(chunk=256), Knn(), Neg(negatives=50_000))
    )
    assert full["head"] > max(other["head"] for other in (chunked, knn, neg))
    assert knn["index"] == 500_000 * 50 * 4 and full["index"] == 0
    assert full["weights"] * 2 == full["moments"]
    more = estimate_memory(Recipe(loss=Knn(), micro_batch=64), 500_000, 512)
    assert more["activations"] == 2 * knn["activations"]
    short = estimate_memory(Recipe(loss=Knn()), 500_000, 128)
    assert short == {**knn, "activations": knn["activations"] // 4, "head": short["head"]}


@pytest.mark.parametrize("half", [False, True])
def test_a_finish_needs_the_larger_of_both_heads(half):
    heads = [
        estimate_memory(Recipe(loss=loss), 500_000, 512, half)["head"]
        for loss in (Target(tau=5000, finish=0.1), Target(tau=5000), Full())
    ]
    assert heads[0] == max(heads[1:]) == heads[2]
    finished, plain, full = (
        estimate_memory(Recipe(loss=loss), 20_000, 512, half)["head"]
        for loss in (Knn(finish=0.1), Knn(), Full())
    )
    assert finished == plain > full  # whose logits are made in chunks


def say(monkeypatch, capsys, work) -> tuple[int, str]:
    """Exit status and message of the command line for `work`."""
    monkeypatch.setattr(cli, "vocap", SimpleNamespace(main=lambda words, **options: work()))
    return cli.run(), capsys.readouterr().err


def lack_gpu_memory():
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


@pytest.mark.parametrize(
    ("work", "says"),
    [
        (lack_gpu_memory, "Tried to allocate 2.00 GiB"),
        (lambda: torch.empty(1 << 46), "can't allocate memory"),
    ],
)
def test_running_out_of_memory_is_one_line(monkeypatch, capsys, work, says):
    status, said = say(monkeypatch, capsys, work)
    assert status == 1 and len(said.splitlines()) == 1
    assert says in said
    assert all(name in said for name in ("micro_batch", "chunk", "group", "checkpoint"))


def test_another_error_keeps_its_traceback(monkeypatch, capsys):
    def fail():
        raise RuntimeError("a mistake of ours")

    with pytest.raises(RuntimeError, match="a mistake of ours"):
        say(monkeypatch, capsys, fail)
    monkeypatch.delitem(sys.modules, "torch")
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        say(monkeypatch, capsys, fail)
