"""One fine-tuning run: lock, training, predictions of every file, description."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.utils.logging import disable_progress_bar

from vocap import __version__
from vocap.errors import UsageError, VocapError
from vocap.files import file_sha256
from vocap.files.atomic import locked, replacing_directory, write_text
from vocap.finetuning.features import first_examples
from vocap.finetuning.grid import Setting
from vocap.finetuning.heads import Tuner, build_model, predict
from vocap.finetuning.input_encoder import DEFINITION
from vocap.finetuning.inputs import Inputs, check_source, named_stand_ins, open_inputs, read_examples
from vocap.finetuning.predictions import write_predictions
from vocap.finetuning.reading import StandIns
from vocap.finetuning.scoring import DESCRIPTION, PREDICTIONS
from vocap.finetuning.selection import Rule, choosing_sets, development, predicted_sets, training_set
from vocap.finetuning.settings import Recipe
from vocap.finetuning.training import DevelopmentSet, FineTuning
from vocap.model_folder import CONFIG, longest_input, read_config
from vocap.training import checkpoints
from vocap.training.devices import own_device
from vocap.training.distributed import world_size
from vocap.training.loop import FILE
from vocap.training.stopping import stop_requests

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Job:
    """Model, training and hyper-parameters of a run."""

    model: Path
    training: str
    setting: Setting
    recipe: Recipe
    rule: Rule = "paper"
    pretrained: bool = True


@dataclass(frozen=True)
class Folders:
    """Input and output folders of a run."""

    xtreme: Path
    inputs: Path
    output: Path

    @property
    def checkpoints(self) -> Path:
        return self.output / "checkpoints"


def finetune(
    job: Job, folders: Folders, stand_ins: StandIns, threads: int, checkpoint_every: int, keep: bool = False
) -> None:
    """Fine-tune one model and write `predictions/`, `metrics.jsonl` and `run.json`.

    Raises UsageError and VocapError, before anything is trained where that can be known, and Stopped.
    """
    torch.set_num_threads(threads)
    disable_progress_bar()  # of transformers, inside our own
    if world_size() > 1:
        raise UsageError("fine-tuning works in one process, on one GPU; start one, and give each run its own")
    inputs = open_inputs(folders.inputs, job.training)
    check_inputs(job, inputs, stand_ins)
    with own_device() as device, stop_requests() as stop, locked(folders.checkpoints / "lock"):
        checkpoints.clean(folders.checkpoints)
        tuner = build_tuner(job, device)
        log.info("%s parameters on %s", f"{sum(p.numel() for p in tuner.parameters()):,}", device)
        training = start(job, folders, inputs, stand_ins, tuner, checkpoint_every)
        training.restore()
        metrics = training.run(stop)
        write_all_predictions(training, job, folders, inputs, stand_ins)
        metrics.publish(folders.output / FILE)
        facts = json.dumps(description(training, job, inputs), indent=2, ensure_ascii=False)
        write_text(folders.output / DESCRIPTION, facts + "\n")
        if not keep:
            checkpoints.remove_all(folders.checkpoints)
            metrics.path.unlink()


def check_inputs(job: Job, inputs: Inputs, stand_ins: StandIns) -> None:
    """Raise UsageError for inputs of other stand-ins, and for inputs that the model cannot read.

    The model cannot read longer inputs, those of another tokenizer, and ids without an embedding.
    """
    made, wanted = inputs.description["stand_ins"], named_stand_ins(job.training, stand_ins)
    if made != wanted:
        raise UsageError(
            f"{inputs.folder}: made with the stand-ins {_listed(made)}, not {_listed(wanted)}; "
            "give vocap finetune the --stand-in options of vocap encode, or run vocap encode again"
        )
    config = read_config(job.model)
    longest, length = longest_input(config), inputs.description["max_length"]
    if longest is not None and length > longest:
        raise UsageError(
            f"{inputs.folder}: inputs of up to {length} ids, but {job.model} reads {longest}; "
            f"run vocap encode with --max-length {longest}"
        )
    tokenizer = job.model / DEFINITION
    if tokenizer.exists() and file_sha256(tokenizer) != inputs.description["tokenizer"]:
        raise UsageError(
            f"{inputs.folder}: made with another tokenizer than {tokenizer}; "
            f"run vocap encode with --tokenizer {job.model}"
        )
    rows = config.get("vocab_size")
    for found in [training_set(job.training, job.rule), *predicted_sets(job.training)]:
        if found.name not in inputs.sets or not isinstance(rows, int):
            continue
        if (highest := int(inputs.load(found).ids.values.max(initial=-1))) >= rows:
            raise UsageError(
                f"{inputs.folder}: {found.name} holds the id {highest}, but {job.model} has {rows} embeddings; "
                "run vocap encode with --tokenizer of this model"
            )


def _listed(stand_ins: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in stand_ins.items()) or "(none)"


def build_tuner(job: Job, device: torch.device) -> Tuner:
    """The model of a run, before its first step."""
    task = training_set(job.training).task
    model = build_model(job.model, task.kind, len(task.labels), job.setting.seed, job.pretrained)
    return Tuner(model.to(device), task.kind, job.recipe.pooling)


def start(
    job: Job, folders: Folders, inputs: Inputs, stand_ins: StandIns, tuner: Tuner, checkpoint_every: int
) -> FineTuning:
    """The training of a run, at its beginning."""
    sets = choosing_sets(job.training, job.rule, inputs.sets)
    chosen = development(job.training, job.rule)
    unusable = [found.name for found in sets if not inputs.sets[found.name]["labelled"]]
    if unusable or not sets:
        reason = f"{unusable[0]} has no labels" if unusable else "there is no such file"
        raise VocapError(
            f"{job.training}: the state that is kept is {chosen.label}, and {reason}; bring the file that xTune's "
            "scripts make, or write finetuning: selection: english-dev"
        )
    limit = job.recipe.dev_examples
    looked_at = []
    for found in sets:
        features = first_examples(inputs.load(found), limit)
        examples = read_examples(folders.xtreme, found, inputs, stand_ins)[:limit]
        looked_at.append(DevelopmentSet(found.name, found.task, found.language, chosen.metric, features, examples))
    learnt = training_set(job.training, job.rule)
    train = first_examples(inputs.load(learnt), job.recipe.train_examples)
    check_source(folders.xtreme, learnt, inputs, stand_ins)
    made_of = {
        "model": _model_fingerprint(job),
        "inputs": dict(inputs.description),
        "rule": job.rule,
        "training": job.training,
    }
    return FineTuning(
        tuner, train, looked_at, job.recipe, job.setting, folders.checkpoints, made_of, checkpoint_every
    )


def _model_fingerprint(job: Job) -> str:
    """The digest of a model's weights, or of its configuration where they are random."""
    if not job.pretrained:
        return "random " + file_sha256(job.model / CONFIG)
    return " ".join(file_sha256(path) for path in sorted(job.model.glob("*.safetensors")))


def write_all_predictions(
    training: FineTuning, job: Job, folders: Folders, inputs: Inputs, stand_ins: StandIns
) -> None:
    """Predict every file of the training's tasks, and the held-out part of the training file."""
    sets = [found for found in predicted_sets(job.training) if found.name in inputs.sets]
    held = [found for found in choosing_sets(job.training, job.rule, inputs.sets) if found not in sets]
    with replacing_directory(folders.output / PREDICTIONS) as folder:
        for found in [*sets, *held]:
            examples = read_examples(folders.xtreme, found, inputs, stand_ins)
            predictions = predict(training.model, inputs.load(found), examples, found.task, training.dtype)
            write_predictions(folder / found.task.name, found.task, found.split, found.language, predictions)
            log.info("%s: %s predicted", found.name, f"{len(examples):,}")


def description(training: FineTuning, job: Job, inputs: Inputs) -> dict[str, Any]:
    """The content of run.json: settings, data and the selected state; no times and no memory."""
    progress, device = training.progress, training.device
    return {
        "training": job.training,
        "model": training.made_of["model"],
        "learning_rate": job.setting.learning_rate,
        "epochs": job.setting.epochs,
        "seed": job.setting.seed,
        "max_length": inputs.description["max_length"],
        "settings": job.recipe.of_a_run(),
        "weights": "pretrained" if job.pretrained else "random",
        "parameters": sum(parameter.numel() for parameter in training.model.parameters()),
        "steps": training.steps,
        "selection": job.rule,
        "selected": development(job.training, job.rule).label,
        "selected_on": [found.name for found in training.development],
        "selected_step": progress.best_step,
        "selected_score": progress.best_score,
        "skipped": progress.skipped,
        "train_examples": training.batches.features.examples,
        "stand_ins": inputs.description["stand_ins"],
        "absent": inputs.description["absent"],
        "tokenizer_sha256": inputs.description["tokenizer"],
        "precision": str(training.dtype).removeprefix("torch."),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU",
        "versions": {"vocap": __version__, "torch": torch.__version__, "transformers": transformers.__version__},
    }
