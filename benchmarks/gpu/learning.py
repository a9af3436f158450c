"""What each loss learns in equal time: one small model at V = 500K, exact held-out bits
per byte over time.

FOLDER of the text holds tokenizer/ and tokens/, as `benchmarks/learning.py prepare`
writes them:

    python benchmarks/learning.py prepare --text FOLDER --out TEXT --vocabulary 500000
        --length 128
"""

import statistics
import tempfile
import time
from functools import partial
from pathlib import Path

import torch

from vocap.pretraining.data import Data, load_data
from vocap.pretraining.settings import Recipe
from vocap.pretraining.training import Training
from vocap.training.distributed import StopRequest

from .sizes import Sizes
from .table import Table
from .timing import free_memory

KEPT = (
    "step",
    "tokens",
    "exact_loss",
    "bits_per_byte",
    "accuracy",
    "mrr",
    "candidates",
    "tokens_per_s",
)


def run(table: Table, sizes: Sizes, device: str, text: Path) -> None:
    """Every loss with the first seed, then with the next."""
    languages = sorted(path.parent.name for path in (text / "tokens").glob("*/description.json"))
    data = load_data(text / "tokens", languages, text / "tokenizer", 0.7, "lines")
    for seed in sizes.seeds:
        for name in losses(sizes):
            free_memory(device)
            call = partial(train, data, name, seed, sizes, torch.device(device))
            needs_s = 1.5 * sizes.learning_s + 30  # with its validations and its calibration
            table.measure(call, needs_s=needs_s, V=data.vocabulary, loss=name, seed=seed)


def losses(sizes: Sizes) -> dict[str, dict]:
    """The settings of every loss, in the order of worth."""
    knn = {"kind": "knn", "k": 50, "every": sizes.every, "group": sizes.group}
    return {
        "full": {"kind": "full"},
        "k-NN": knn,
        "target sampling": {"kind": "target", "tau": sizes.words},
        "NCE": {"kind": "nce", "negatives": sizes.words},
        "NEG": {"kind": "neg", "negatives": sizes.words},
        "k-NN, full finish": {**knn, "finish": 0.1},
    }


def recipe_of(name: str, steps: int, log_every: int, sizes: Sizes, length: int) -> Recipe:
    """The training of one loss."""
    return Recipe(
        loss=losses(sizes)[name],
        shape={
            "layers": sizes.learning_layers,
            "hidden": sizes.learning_hidden,
            "heads": max(1, sizes.learning_hidden // 64),
            "intermediate": 4 * sizes.learning_hidden,
            "positions": length,
            "dropout": 0.0,  # the text is read a few times at most
        },
        output_bias="unigram",
        steps=steps,
        batch=sizes.learning_batch,
        micro_batch=sizes.learning_batch,
        learning_rate=1e-3,
        warmup=steps // 20,
        log_every=log_every,
        checkpoint_every=steps,
        heldout_blocks=sizes.heldout_blocks,
    )


class Measured(Training):
    """A training without checkpoints: a row of the table is a whole one."""

    def save(self) -> None:
        """Nothing: 12 bytes a parameter would be written for each loss."""


class Curve:
    """Keeps the lines of metrics, with the seconds of training before each."""

    def __init__(self, training: Training) -> None:
        self.training, self.rows = training, []

    def add(self, row: dict) -> None:
        kept = {name: row[name] for name in KEPT}
        self.rows.append(kept | {"seconds": self.training.progress.seconds})


def train(data: Data, name: str, seed: int, sizes: Sizes, device: torch.device) -> dict:
    """One training of about `sizes.learning_s` seconds, validation apart; its steps are
    found by a short one.

    The schedule of the rate ends with the steps, so that their number must be known
    before.
    """
    with tempfile.TemporaryDirectory() as folder:
        short = recipe_of(name, sizes.calibration, sizes.calibration, sizes, data.longest)
        step_s = step_seconds(Measured(short, seed, data, Path(folder), device), sizes)
        free_memory(device.type)
        steps = max(sizes.calibration, round(sizes.learning_s / step_s))
        recipe = recipe_of(name, steps, max(1, steps // sizes.looks), sizes, data.longest)
        training = Measured(recipe, seed, data, Path(folder), device)
        curve = Curve(training)
        training.run(StopRequest(), lambda step: None, curve.add)
    facts = {
        "recipe": recipe.model_dump(mode="json"),
        "languages": len(data.languages),
        "length": data.longest,
    }
    return {**curve.rows[-1], "calibrated_step_s": step_s, **facts, "curve": curve.rows}


def step_seconds(training: Training, sizes: Sizes) -> float:
    """Seconds of a step, without those that compile, and with its share of a refresh of
    the index.
    """
    times, progress = [], training.progress
    training.model.train()
    for step in range(sizes.calibration):
        batches, refreshed = training.batches.step(step), progress.refresh_s
        began = time.perf_counter()
        training.take_step(batches, False)
        times.append(time.perf_counter() - began - (progress.refresh_s - refreshed))
        progress.step += 1
    return statistics.median(times[sizes.calibration // 2 :]) + progress.refresh_s / sizes.every
