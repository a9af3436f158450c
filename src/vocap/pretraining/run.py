"""One pre-training run: process group, lock, training, exported models."""

import json
import logging
import re
import shutil
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.utils.logging import disable_progress_bar

from vocap import __version__
from vocap.errors import UsageError
from vocap.files.atomic import locked, write_text
from vocap.pretraining.data import EXPORT, Data, load_data
from vocap.pretraining.memory import check_memory, paper_parameters
from vocap.pretraining.model import export_model
from vocap.pretraining.settings import Recipe
from vocap.pretraining.training import Training
from vocap.training import checkpoints
from vocap.training.devices import own_device
from vocap.training.distributed import joined, rank, stop_requests, world_size
from vocap.training.loop import FILE, Events, working_precision

log = logging.getLogger(__name__)

DESCRIPTION = "description.json"


@dataclass(frozen=True)
class Folders:
    """Input and output folders of a run; `weights` and `events` may be None."""

    tokenizer: Path
    tokens: Path
    weights: Path | None
    output: Path
    events: Path | None = None

    @property
    def checkpoints(self) -> Path:
        return self.output / "checkpoints"


def train(
    recipe: Recipe,
    seed: int,
    folders: Folders,
    languages: Sequence[str],
    threads: int,
    keep: bool = False,
    check_fit: bool = True,
) -> None:
    """Train one model and write `model/`, `model-{step}/`, `metrics.jsonl` and `description.json`.

    Raises UsageError and VocapError, before anything is trained where that can be known, and Stopped.
    """
    torch.set_num_threads(threads)
    disable_progress_bar()  # of transformers, in the middle of ours
    data = load_data(folders.tokens, languages, folders.tokenizer, recipe.alpha, recipe.weights, folders.weights)
    with own_device() as device:
        if check_fit:
            precision = working_precision(recipe.precision, device)
            check_memory(recipe, data.vocabulary, data.longest, device, precision != torch.float32)
        with stop_requests() as stop, joined(device):
            check(recipe, data)
            with locked(folders.checkpoints / "lock") if rank() == 0 else nullcontext():
                if rank() == 0:
                    checkpoints.clean(folders.checkpoints)
                _train(recipe, seed, folders, data, device, stop, keep)


def check(recipe: Recipe, data: Data) -> None:
    """Raise UsageError for settings that do not fit the data, or the number of processes."""
    words = data.vocabulary - len(data.special.all)
    if reason := recipe.loss.check(words):
        raise UsageError(f"loss.{reason}")
    if data.longest > recipe.shape.positions:
        raise UsageError(
            f"shape.positions is {recipe.shape.positions}, but blocks have up to {data.longest} tokens; make it "
            "larger, or tokenize to shorter blocks"
        )
    micro_batches = -(-recipe.batch // recipe.micro_batch)
    if micro_batches % world_size():
        raise UsageError(
            f"batch {recipe.batch} is {micro_batches} micro-batches of {recipe.micro_batch}, which {world_size()} "
            "processes cannot share evenly; change micro_batch"
        )


def _train(recipe, seed, folders: Folders, data: Data, device, stop, keep: bool) -> None:
    training = Training(recipe, seed, data, folders.checkpoints, device)
    training.restore()

    def export(step: int) -> None:
        export_model(training.model, folders.tokenizer / EXPORT, folders.output / f"model-{step}")

    if rank() == 0:
        count = paper_parameters(recipe.shape, data.vocabulary)
        log.info(
            "%s parameters (%.0f Mi), V = %s, %s languages, on %s in %s, %s process(es)",
            f"{count:,}", count / 2**20, f"{data.vocabulary:,}", len(data.languages),
            device, str(training.dtype).removeprefix("torch."), world_size(),
        )  # fmt: skip
        _check_exports(training.progress.step, recipe.export_steps, folders)
    events = Events(folders.events) if folders.events and rank() == 0 else None
    metrics = training.run(stop, events, export)
    if metrics is not None:
        export_model(training.model, folders.tokenizer / EXPORT, folders.output / "model")
        metrics.publish(folders.output / FILE)
        facts = json.dumps(description(training, folders.tokenizer), indent=2, ensure_ascii=False)
        write_text(folders.output / DESCRIPTION, facts + "\n")
        if not keep:
            checkpoints.remove_all(folders.checkpoints)
            metrics.path.unlink()


def _check_exports(step: int, export_steps: Sequence[int], folders: Folders) -> None:
    """Remove an earlier run's models, which no workflow declares; warn of those that a resumed run is past."""
    if step == 0:
        for path in folders.output.glob("model-*"):
            if re.fullmatch(r"model-\d+", path.name):
                shutil.rmtree(path)
    missing = [past for past in export_steps if past <= step and not (folders.output / f"model-{past}").exists()]
    if missing:
        log.warning(
            "export_steps: this run is at step %d already and will not export step %s; for these models too, stop "
            "it and delete %s: it then trains from the start",
            step, ", ".join(map(str, missing)), folders.checkpoints,
        )  # fmt: skip


def description(training: Training, tokenizer: Path) -> dict[str, Any]:
    """The content of description.json: settings, size, device and versions."""
    parameters = paper_parameters(training.recipe.shape, training.data.vocabulary)
    device = training.device
    return {
        "tokenizer": tokenizer.name,
        "tokenizer_sha256": training.data.fingerprint["tokenizer"],
        "vocabulary": training.data.vocabulary,
        "languages": training.data.languages,
        "parameters": parameters,
        "parameters_mi": round(parameters / 2**20, 2),
        "settings": training.recipe.model_dump(mode="json", exclude={"tokenizer", "seed"}),
        "seed": training.seed,
        "precision": str(training.dtype).removeprefix("torch."),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU",
        "processes": world_size(),
        "versions": {"vocap": __version__, "torch": torch.__version__, "transformers": transformers.__version__},
    }
