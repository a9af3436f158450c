"""Metrics and models of a run against Hugging Face; bad input is refused before
training.
"""

import itertools
import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from tests.cases import read_cases, read_lines_of_json
from tests.commands import run
from tests.pretraining.factories import (
    RECIPE,
    arguments,
    make_blocks,
    make_tokenizer,
    pretrain_arguments,
)
from tests.pretraining.processes import newest, pretrain, results, trained
from vocap.errors import UsageError, VocapError
from vocap.pretraining.commands import pretrain as command
from vocap.pretraining.data import (
    Vocabulary,
    heldout_batch,
    heldout_blocks,
    load_data,
    unigram_counts,
)
from vocap.pretraining.settings import Recipe
from vocap.pretraining.training import Training, pretrain_model
from vocap.training.loop import learning_rate
from vocap.training.randomness import DROPOUT, MASKS, NEGATIVES, ORDER, generator


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    pretrain_arguments(folder)
    return folder


@pytest.fixture(scope="module")
def finished(made, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("finished") / "model"
    trained(own(made, export_steps=[4]), out)
    return out


def own(made: Path, **changes) -> list[str]:
    return arguments(made / "tokenizer", made / "tokens", **changes)


def data_of(made: Path, languages: tuple[str, ...] = ("de", "ja", "ru")):
    return load_data(made / "tokens", languages, made / "tokenizer", 0.7, "lines")


@pytest.mark.parametrize(("name", "line"), [("model-4", 0), ("model", -1)])
def test_the_exact_loss_is_that_of_the_exported_model(made, finished, name, line):
    """Computed anew by Hugging Face's classes from the exported folder: nats, bits per
    byte of each language.
    """
    model = AutoModelForMaskedLM.from_pretrained(finished / name).eval()
    assert len(AutoTokenizer.from_pretrained(finished / name)) == model.config.vocab_size
    row = results(finished)[1][line]
    data = data_of(made)
    chosen = heldout_blocks(data.heldout, RECIPE["heldout_blocks"])
    nats_of_all, masked_of_all, bits, size = 0.0, 0, 0.0, 0
    for place, language in enumerate(data.languages):
        blocks = [block for block in chosen if block.language == place]
        batch = heldout_batch(blocks, Vocabulary(data.vocabulary, data.special))
        with torch.no_grad():
            logits = model(
                torch.from_numpy(batch.input_ids), torch.from_numpy(batch.attention)
            ).logits
        scores = logits.flatten(0, 1)[torch.from_numpy(batch.positions)].double()
        scores[:, [0, 1, 2, 3, data.vocabulary - 1]] = -math.inf
        losses = torch.nn.functional.cross_entropy(
            scores, torch.from_numpy(batch.targets), reduction="none"
        )
        found = row["languages"][language]
        assert found["exact_loss"] == pytest.approx(losses.mean().item(), abs=1e-5)
        text = sum(
            int(((block.ids > 3) & (block.ids < data.vocabulary - 1)).sum()) for block in blocks
        )
        spent = losses.mean().item() * text / math.log(2)
        written = sum(block.size_bytes for block in blocks)
        assert found["bits_per_byte"] == pytest.approx(spent / written, rel=1e-5)
        nats_of_all, masked_of_all = nats_of_all + losses.sum().item(), masked_of_all + len(losses)
        bits, size = bits + spent, size + written
    assert row["exact_loss"] == pytest.approx(nats_of_all / masked_of_all, abs=1e-5)
    assert row["bits_per_byte"] == pytest.approx(bits / size, rel=1e-5)


def test_metrics_have_what_the_contract_names(finished):
    rows = read_lines_of_json(finished / "metrics.jsonl")
    assert [row["step"] for row in rows] == [4, 8, 12]
    for row in rows:
        named = "loss exact_loss bits_per_byte tokens_per_s candidates refresh_s memory_mb"
        assert {name for name in named.split() if not isinstance(row[name], float)} == set()
        assert row["refresh_s"] > 0  # on a CPU the index is built word by word, as they occur
        assert set(row["languages"]) == {"de", "ja", "ru"}
    modes = {path.stat().st_mode for path in (finished / "model").iterdir()}
    assert modes == {(finished / "metrics.jsonl").stat().st_mode}
    assert rows[-1]["exact_loss"] < rows[0]["exact_loss"]
    assert 5 < rows[0]["candidates"] < 395


def test_the_schedule_is_fairseqs_polynomial_decay():
    """Of power 1 to 0, as its `PolynomialDecayLRSchedule` has it for the number of
    updates done.
    """
    peak, warmup, total = 1e-4, 10, 50
    for step in range(total):
        updates = step + 1 if step < warmup else step
        if updates <= warmup and step < warmup:
            expected = updates / warmup * peak
        else:
            expected = peak * (1 - (updates - warmup) / (total - warmup))
        assert learning_rate(step, peak, warmup, total) == pytest.approx(expected)


@pytest.mark.parametrize(("given", "warmup"), read_cases(__file__)["warmup"])
def test_a_short_training_has_a_short_warmup(given, warmup):
    assert Recipe(**given).warmup == warmup
    assert Recipe.model_validate(Recipe(**given).model_dump()).warmup == warmup


def test_streams_of_random_numbers_are_apart():
    """Equal arguments, equal numbers; no number of one stream, step, place or call
    stands in another.
    """
    small, drawn = range(5), []
    for stream in (ORDER, MASKS, DROPOUT, NEGATIVES):
        for place in itertools.product(small, small, small):
            drawn += generator(1, stream, *place).integers(1 << 63, size=8).tolist()
    assert len(set(drawn)) == len(drawn)
    assert generator(1, MASKS, 2, 3).random() == generator(1, MASKS, 2, 3, 0).random()


def test_unigram_counts_are_those_of_the_mixture(made):
    data = data_of(made)
    counts = unigram_counts(data)
    frequencies = sum(
        share * np.bincount(blocks.tokens, minlength=data.vocabulary) / len(blocks.tokens)
        for share, blocks in zip(data.q, data.train, strict=True)
    )
    assert np.allclose(counts / counts.sum(), frequencies, atol=1e-4)


@pytest.mark.parametrize("kind", ["full", "nce"])
def test_the_output_bias_starts_with_the_words_frequencies(made, tmp_path, kind):
    """So that a model whose layers say nothing predicts the unigram distribution, of
    ordinary words.
    """
    data = data_of(made)
    recipe = Recipe(**RECIPE | {"loss": kind, "output_bias": "unigram"})
    training = Training(recipe, 1, data, tmp_path, torch.device("cpu"))
    predicted = torch.softmax(training.model.decoder_bias.detach().double(), 0).numpy()
    counts = unigram_counts(data) + 1.0
    counts[[0, 1, 2, 3, data.vocabulary - 1]] = 1
    assert np.allclose(predicted, counts / counts.sum(), rtol=1e-5)


def test_a_language_without_text_is_left_out(made, tmp_path):
    tokens = make_blocks(tmp_path, made / "tokenizer", {"de": 100, "ja": 0})
    said = trained(arguments(made / "tokenizer", tokens), tmp_path / "run")
    assert "no text to pre-train on, left out: ja" in said
    assert set(results(tmp_path / "run")[1][0]["languages"]) == {"de"}


def refused(words: list[str], out: Path, status: int) -> str:
    found, said = pretrain(words, out)
    assert found == status, said
    assert "Traceback" not in said
    assert not (out / "model").exists() and not (out / "metrics.jsonl").exists()
    return said


def test_no_text_at_all(made, tmp_path):
    tokens = make_blocks(tmp_path, made / "tokenizer", {"de": 0})
    assert "no language has any text" in refused(
        arguments(made / "tokenizer", tokens), tmp_path / "run", 1
    )


def test_blocks_of_another_tokenizer(made, tmp_path):
    other = make_tokenizer(tmp_path / "other")
    model = other / "sentencepiece.model"
    model.write_bytes(model.read_bytes().replace("▁".encode(), "▂".encode(), 1))
    said = refused(arguments(other, made / "tokens"), tmp_path / "run", 1)
    assert (
        "de/description.json" in said and "another tokenizer" in said and "vocap tokenize" in said
    )


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"loss": {"kind": "knn", "k": 396}}, ["loss.k is 396, the vocabulary has 395 words"]),
        ({"shape": RECIPE["shape"] | {"positions": 32}}, ["shape.positions is 32", "64 tokens"]),
    ],
    ids=["k", "positions"],
)
def test_settings_that_do_not_fit_are_refused(made, tmp_path, changes, says):
    said = refused(own(made, **changes), tmp_path / "run", 2)
    assert all(part in said for part in says), said


def test_a_rate_that_ends_in_no_number_stops_with_step_and_batch(made, tmp_path):
    said = refused(own(made, learning_rate=1e30, steps=40, warmup=0), tmp_path / "run", 1)
    assert said.count("skipped") == 10
    last = said.splitlines()[-1]
    assert "for 10 steps in a row; its batch: " in last and " block " in last and "step 1" in last
    with open(tmp_path / "run" / "checkpoints" / "metrics.jsonl", encoding="utf-8") as file:
        # no NaN, which JSON does not have
        rows = [json.loads(line, parse_constant=pytest.fail) for line in file]
    assert [row["exact_loss"] for row in rows] == [None, None]
    assert all(row["accuracy"] == 0 and 0 < row["mrr"] < 0.01 for row in rows)


def poisoned_train(made, out: Path, monkeypatch, bad: Callable[[int], bool]) -> list:
    """Train with an infinite gradient, where autograd gives it, in the steps of `bad`.

    Returns the output bias as it was in each step, its loss and the number of its
    masked tokens.
    """
    import vocap.pretraining.training as module

    seen = []

    class Poisoned(Training):
        def gradients(self, batches, step, masked):
            nats = super().gradients(batches, step, masked)
            seen.append((self.model.decoder_bias.detach().clone(), nats, masked))
            if bad(step):
                self.model.decoder_bias.grad[7] = math.inf
            return nats

    monkeypatch.setattr(module, "Training", Poisoned)
    pretrain_model(made / "tokenizer", made / "tokens", out, settings=RECIPE, threads=1)
    return seen


def test_one_step_without_a_finite_gradient_is_passed_over(made, tmp_path, monkeypatch):
    """It leaves the weights alone, and no trace in the loss of the metrics."""
    steps = poisoned_train(made, tmp_path / "run", monkeypatch, lambda step: step == 5)
    seen, losses = [bias for bias, *_ in steps], [loss for _, *loss in steps]
    assert [bool((one != other).any()) for one, other in itertools.pairwise(seen)].count(False) == 1
    assert (seen[5] == seen[6]).all()
    rows = results(tmp_path / "run")[1]
    assert [row["skipped"] for row in rows] == [0, 1, 1]
    nats, masked = (
        sum(values) for values in zip(*(losses[step] for step in (4, 6, 7)), strict=True)
    )
    assert rows[1]["loss"] == pytest.approx(nats / masked)


def test_a_run_that_ends_among_such_steps_fails_and_keeps_the_checkpoint_before_them(
    made, tmp_path, monkeypatch
):
    """Seven steps, not ten: the weights that they would leave are no model."""
    with pytest.raises(
        VocapError, match=r"step 11: .* for 7 steps in a row; .* has a checkpoint of step 5$"
    ):
        poisoned_train(made, tmp_path / "run", monkeypatch, lambda step: step >= 5)
    assert newest(tmp_path / "run") == 5
    assert not (tmp_path / "run" / "model").exists()


@pytest.mark.parametrize(("text", "says"), read_cases(__file__)["refused"])
def test_settings_that_cannot_be_used(made, tmp_path, text, says):
    words = own(made)
    words[words.index("--settings-json") + 1] = text
    with pytest.raises(UsageError, match=re.escape(says)):
        run(command, *words, "-o", tmp_path / "run")
