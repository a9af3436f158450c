"""One pre-training run: process group, lock, training, exported models."""

import json
import logging
import re
import shutil
from collections.abc import Callable, Sequence
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
from vocap.training.distributed import joined, rank, world_size
from vocap.training.loop import working_precision
from vocap.training.metrics import FILE, Events
from vocap.training.stopping import stop_requests

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

    def export(self, step: int) -> Path:
        return self.output / f"model-{step}"

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
    check(recipe, data)
    with own_device() as device:
        if check_fit:
            precision = working_precision(recipe.precision, device)
            check_memory(recipe, data.vocabulary, data.longest, device, precision != torch.float32)
        with stop_requests() as stop, joined(device):
            check_ranks(recipe)
            if rank() > 0:
                _train(recipe, seed, folders, data, device, stop, keep)
                return
            with locked(folders.checkpoints / "lock"):
                checkpoints.clean(folders.checkpoints)
                _train(recipe, seed, folders, data, device, stop, keep)


def check(recipe: Recipe, data: Data) -> None:
    """Raise UsageError for settings that do not fit the data."""
    words = data.vocabulary - len(data.special.all)
    if reason := recipe.loss.check(words):
        raise UsageError(f"loss.{reason}")
    if data.longest > recipe.shape.positions:
        raise UsageError(
            f"shape.positions is {recipe.shape.positions}, but blocks have up to {data.longest} tokens; make it "
            "larger, or tokenize to shorter blocks"
        )


def check_ranks(recipe: Recipe) -> None:
    """Raise UsageError for a batch that the processes cannot share evenly."""
    micro_batches = -(-recipe.batch // recipe.micro_batch)
    if micro_batches % world_size():
        raise UsageError(
            f"batch {recipe.batch} is {micro_batches} micro-batches of {recipe.micro_batch}, which {world_size()} "
            "processes cannot share evenly; change micro_batch"
        )
    if recipe.row_gradients and world_size() > 1:
        raise UsageError("row_gradients works in one process; leave it out, or start one")


def _train(recipe, seed, folders: Folders, data: Data, device, stop, keep: bool) -> None:
    training = Training(recipe, seed, data, folders.checkpoints, device)
    training.restore()
    if training.progress.step == 0 and rank() == 0:
        _remove_exports(folders.output)
    if rank() == 0:
        count = paper_parameters(recipe.shape, data.vocabulary)
        log.info(
            "%s parameters (%.0f Mi), V = %s, %s languages, on %s in %s, %s process(es)",
            f"{count:,}", count / 2**20, f"{data.vocabulary:,}", len(data.languages),
            device, str(training.dtype).removeprefix("torch."), world_size(),
        )  # fmt: skip

    def export(step: int) -> None:
        export_model(training.model, folders.tokenizer / EXPORT, folders.export(step))

    if rank() == 0:
        _make_up(training.progress.step, recipe.export_steps, folders, export)
    events = Events(folders.events if rank() == 0 else None)
    metrics = training.run(stop, events, export)
    events.close()
    if metrics is not None:
        export_model(training.model, folders.tokenizer / EXPORT, folders.output / "model")
        metrics.publish(folders.output / FILE)
        facts = json.dumps(description(training, folders.tokenizer), indent=2, ensure_ascii=False)
        write_text(folders.output / DESCRIPTION, facts + "\n")
        if not keep:
            checkpoints.remove_all(folders.checkpoints)
            metrics.path.unlink()


def _make_up(step: int, export_steps: Sequence[int], folders: Folders, export: Callable[[int], None]) -> None:
    """Export the model of `step`, from which the run resumes, if asked for; warn of earlier ones."""
    missing = [past for past in export_steps if past <= step and not folders.export(past).exists()]
    if step in missing:
        export(step)
        missing.remove(step)
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


def _remove_exports(output: Path) -> None:
    """Remove models of an earlier run, which the workflow does not declare and so does not delete."""
    for path in output.glob("model-*"):
        if re.fullmatch(r"model-\d+", path.name):
            shutil.rmtree(path)
