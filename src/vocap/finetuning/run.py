"""One fine-tuning run: models with a head for each kind of task, steps and the selected
state, predictions.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor, nn

from vocap.errors import UsageError, VocapError, log
from vocap.files.io import file_sha256, locked, replacing_directory
from vocap.finetuning import tasks
from vocap.finetuning.encoding import (
    DEFINITION,
    EncodedInputs,
    best_answers,
    join_tags,
    open_inputs,
)
from vocap.finetuning.examples import Examples
from vocap.finetuning.features import (
    IGNORED,
    Features,
    InputBatch,
    LengthBatches,
    assemble_inputs,
    evaluation_batches,
)
from vocap.finetuning.predictions import Predictions, write_predictions
from vocap.finetuning.scores import DESCRIPTION, PREDICTIONS, score
from vocap.finetuning.settings import Setting, TuningJob, TuningRecipe, parse_tuning_recipe
from vocap.finetuning.tasks import Selection, Task
from vocap.model_folder import (
    CONFIG,
    foreign_model,
    longest_input,
    read_config,
    refuse_causal,
    weight_files,
)
from vocap.result import Result
from vocap.training import checkpoints, loop
from vocap.training.distributed import StopRequest, own_device, products_in

HEADS = {
    "pairs": transformers.AutoModelForSequenceClassification,
    "tags": transformers.AutoModelForTokenClassification,
    "spans": transformers.AutoModelForQuestionAnswering,
}
BEST = "best"  # of a checkpoint: the state with the best score so far
SAVE = "save the model with save_pretrained of transformers 5"
TOKENS = {"cpu": 8_192, "cuda": 131_072}  # ids of a batch, padding included


def build_tuned_model(
    folder: Path, kind: str, labels: int, seed: int, pretrained: bool = True
) -> transformers.PreTrainedModel:
    """The model of `folder` with the head of a kind of task; `seed` decides the head's
    weights.

    `labels`: size of the head (not used by spans); a head of another size is replaced
    by a new one. Without `pretrained` every weight is random. Raises VocapError for a
    folder without a model, whose weights are no safetensors (others may run code), are
    damaged or another model's, and for a model with custom code.
    """
    transformers.utils.logging.set_verbosity_error()  # on the new head, and the unused one
    refuse_causal(folder, read_config(folder))
    with foreign_model(folder, f"no model for {kind}", f"copy the folder again, or {SAVE}"):
        # without trust_remote_code the library asks in the terminal
        config = transformers.AutoConfig.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
        if kind != "spans":
            config.num_labels = labels
        torch.manual_seed(seed)
        if not pretrained:
            return HEADS[kind].from_config(config, dtype=torch.float32, trust_remote_code=False)
        weight_files(folder)  # others may run code
        model, loaded = HEADS[kind].from_pretrained(
            folder,
            config=config,
            dtype=torch.float32,
            trust_remote_code=False,
            use_safetensors=True,
            local_files_only=True,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # of heads; the others are refused below
        )

    # weights that the file lacks are drawn at random: of a head and its pooler, without
    # which models are saved
    made_up = {*loaded["missing_keys"], *(name for name, *_ in loaded["mismatched_keys"])}
    prefix = f"{model.base_model_prefix}."
    own = [
        name
        for name, _ in model.named_parameters()
        if name in made_up and name.startswith(prefix) and "pooler" not in name.split(".")
    ]
    if own:
        raise VocapError(
            f"{folder}: the weights lack {own[0]} in the shape that config.json says (one of "
            f"{len(own)}); bring the files of one model, or {SAVE}"
        )
    return model


class Tuner(nn.Module):
    """A model whose logits are those of a task's units: pairs, words, or ends of
    answers.
    """

    def __init__(
        self, model: transformers.PreTrainedModel, kind: str, pooling: str = "first"
    ) -> None:
        super().__init__()
        self.model, self.kind, self.pooling = model, kind, pooling
        self.pad = model.config.pad_token_id or 0
        self.has_segments = (getattr(model.config, "type_vocab_size", 0) or 0) > 1

    def forward(self, batch: InputBatch) -> tuple[Tensor, ...]:
        """Logits of pairs [b, labels], of tags [words, labels], of spans two [b, t]
        (starts, ends).

        Logits of padding are -inf.
        """
        attention = self._tensor(batch.attention)
        inputs = {"input_ids": self._tensor(batch.input_ids)}
        if not batch.attention.all():
            inputs["attention_mask"] = attention  # without one, attention is faster
        if self.has_segments:
            inputs["token_type_ids"] = self._tensor(batch.segments)
        output = self.model(**inputs)
        if self.kind == "pairs":
            return (output.logits.float(),)
        if self.kind == "tags":
            return (self._pooled(output.logits.float().flatten(0, 1), batch),)
        ends = (output.start_logits, output.end_logits)
        return tuple(logits.float().masked_fill(~attention, float("-inf")) for logits in ends)

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self.model.device)

    def _pooled(self, logits: Tensor, batch: InputBatch) -> Tensor:
        place, word = batch.targets["place"], batch.targets["word"]
        count = len(batch.targets["label"])
        if self.pooling == "first":
            begins = place[np.flatnonzero(np.diff(word, prepend=-1))]
            return logits.index_select(0, self._tensor(begins))
        places, words = map(self._tensor, (place, word))
        sums = logits.new_zeros(count, logits.shape[1]).index_add(
            0, words, logits.index_select(0, places)
        )
        if self.pooling == "sum":
            return sums
        return sums / torch.bincount(words, minlength=count)[:, None]

    def loss(self, batch: InputBatch) -> Tensor:
        """The mean cross-entropy of the batch's units, in nats; of spans, the mean of
        start's and end's.
        """
        logits = self(batch)
        names = ("start", "end") if self.kind == "spans" else ("label",)
        targets = [self._tensor(batch.targets[name]) for name in names]
        losses = [
            nn.functional.cross_entropy(scores, target, ignore_index=IGNORED)
            for scores, target in zip(logits, targets, strict=True)
        ]
        return torch.stack(losses).mean()


def predict(
    tuner: Tuner,
    features: Features,
    examples: Examples,
    task: Task,
    dtype: torch.dtype = torch.float32,
) -> Predictions:
    """The label of each pair, the tags of each sentence, or the answer of each question
    by its id.

    `dtype`: of the layers' products. The model's mode (training or not) stays.
    """
    training = tuner.training
    tuner.eval()
    found = _outputs(tuner, features, dtype)
    tuner.train(training)
    if task.kind == "spans":
        starts, ends = zip(*found, strict=True)
        answers = best_answers(features, examples, starts, ends)
        return {example.id: answer for example, answer in zip(examples, answers, strict=True)}
    best = [logits.argmax(1) for (logits,) in found]
    if task.kind == "tags":
        return join_tags(features, best, task.labels)
    return [task.labels[number] for number in np.concatenate(best)]


@torch.inference_mode()
def _outputs(tuner: Tuner, features: Features, dtype: torch.dtype) -> list[tuple[np.ndarray, ...]]:
    """The logits of each input, without those of padding: [1 or words, labels], or two
    [length] of spans.
    """
    device = tuner.model.device
    found: list[tuple[np.ndarray, ...]] = [()] * len(features)
    for numbers in evaluation_batches(features.lengths, TOKENS[device.type]):
        batch = assemble_inputs(features, numbers, tuner.pad)
        with products_in(dtype, device):
            outputs = [logits.cpu().numpy() for logits in tuner(batch)]
        if tuner.kind == "spans":
            lengths = batch.attention.sum(1)
            parts = [
                [row[:length] for row, length in zip(logits, lengths, strict=True)]
                for logits in outputs
            ]
        else:
            counts = [1] * len(numbers)
            if tuner.kind == "tags":
                counts = [features.row("word", number).max() + 1 for number in numbers]
            parts = [np.split(logits, np.cumsum(counts)[:-1]) for logits in outputs]
        for number, *own in zip(numbers, *parts, strict=True):
            found[number] = tuple(own)
    return found


@dataclass
class TuningProgress(loop.TrainingProgress):
    """`best_score` is in percent; `nats`, `recent_steps` and `recent_tokens` since the
    last line of metrics.
    """

    best_score: float = 0.0
    best_step: int = 0
    nats: float = 0.0
    recent_steps: int = 0
    recent_tokens: int = 0


class FineTuning(loop.Loop):
    """One run, from a checkpoint of `folder` or from the start; keeps the state with
    the best mean score.
    """

    model: Tuner
    progress: TuningProgress
    batches: LengthBatches

    def __init__(
        self,
        source: Path,
        inputs: EncodedInputs,
        recipe: TuningRecipe,
        job: TuningJob,
        folder: Path,
        device: torch.device,
    ) -> None:
        """`source`: folder of the model. Raises VocapError without a labelled development
        file, and as `build_tuned_model`.
        """
        self.source, self.inputs, self.recipe, self.job = source, inputs, recipe, job
        learnt = tasks.training_set(inputs.training, job.selection)
        self.development = tasks.development(inputs.training, job.selection)
        sets = [one for one in self.development.sets if one.name in inputs.sets]
        unusable = [one.name for one in sets if not inputs.sets[one.name]["labelled"]]
        if unusable or not sets:
            reason = f"{unusable[0]} has no labels" if unusable else "there is no such file"
            raise VocapError(
                f"{inputs.training}: the state that is kept is {self.development.label}, and "
                f"{reason}; bring the file that xTune's scripts make, or write finetuning: "
                "selection: english-dev"
            )
        task = learnt.task
        network = build_tuned_model(
            source, task.kind, len(task.labels), job.seed, not job.random_weights
        )
        network.to(device)  # type: ignore[arg-type]  # its wrapper's type takes no self
        self.model = Tuner(network, task.kind, recipe.pooling)
        first = recipe.dev_examples
        self.choosing = [
            (one, inputs.load(one).of_first_examples(first), inputs.read_examples(one)[:first])
            for one in sets
        ]
        inputs.check_source(learnt)
        train = inputs.load(learnt).of_first_examples(recipe.train_examples)
        self.batches = LengthBatches(train, recipe.batch, job.seed, self.model.pad)
        super().__init__(folder, job.epochs * self.batches.steps_per_epoch, job.checkpoint_every)
        self.set_precision(recipe.precision, device)
        self.optimizer = loop.build_optimizer(self.model, job.learning_rate, recipe)
        self.warmup = int(recipe.warmup * self.steps)
        self.progress = TuningProgress()
        self.best: dict[str, Tensor] = {}
        # the digest of the model's weights, or of its configuration where they are random
        if job.random_weights:
            self.weights = "random " + file_sha256(source / CONFIG)
        else:
            self.weights = " ".join(map(file_sha256, sorted(source.glob("*.safetensors"))))

    def fingerprint(self) -> dict[str, Any]:
        job = self.job
        return {
            **self.recipe.of_a_run(),
            "run": Setting(job.learning_rate, job.epochs, job.seed).name,
            "precision": str(self.dtype),
            "model": self.weights,
            "inputs": dict(self.inputs.description),
            "rule": job.selection,
            "training": self.inputs.training,
        }

    def further_tensors(self) -> dict[str, dict[str, Tensor]]:
        return {BEST: self.best}

    def load_further(self, load: Callable[[str], dict[str, Tensor]]) -> None:
        self.best = load(BEST)

    def run(self, stop: StopRequest) -> loop.Metrics:
        """Train to the end and leave the best state in the model; the lines of metrics.
        Raises as `Loop.train`.
        """
        metrics = loop.Metrics(self.folder, self.progress.step)

        def after_step(last: bool) -> None:
            step, every = self.progress.step, self.recipe.evaluate_every
            if last or step % self.batches.steps_per_epoch == 0 or (every and step % every == 0):
                metrics.add(self._evaluate())

        self.train(stop, after_step)
        checkpoints.restore_module(self.model, self.best)
        return metrics

    def take_step(self, batch: InputBatch, stop: bool) -> tuple[float, bool]:
        progress = self.progress
        self.begin_step(self.job.learning_rate, self.warmup)
        loop.seed_dropout(self.job.seed, progress.step)
        with products_in(self.dtype, self.device):
            loss = self.model.loss(batch)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        nats = loss.item()
        if self.update(nats, nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)):
            progress.nats += nats
            progress.recent_steps += 1
        progress.recent_tokens += batch.tokens
        return nats, stop

    def batch_named(self, step: int) -> str:
        numbers = self.batches.features.inputs["example"][self.batches.members(step)]
        return (
            f"training examples {', '.join(map(str, sorted(set(numbers.tolist()))))}, counted "
            "from 0"
        )

    def _evaluate(self) -> dict[str, Any]:
        """Evaluate, keep the state if it is the best so far, and return the next line
        of metrics.
        """
        progress = self.progress
        scores = {}
        for found, features, examples in self.choosing:
            task = found.task
            predictions = predict(self.model, features, examples, task, self.dtype)
            scores[found.name] = score(task, found.language, examples, predictions)[task.metrics[0]]
        mean = sum(scores.values()) / len(scores)
        if not progress.best_step or mean > progress.best_score:
            progress.best_step, progress.best_score = progress.step, mean
            self.best = {
                name: value.cpu().clone()
                for name, value in checkpoints.module_tensors(self.model).items()
            }
        row = {
            "step": progress.step,
            "epoch": progress.step / self.batches.steps_per_epoch,
            "loss": progress.nats / progress.recent_steps if progress.recent_steps else None,
            "score": mean,
            "best_step": progress.best_step,
            "scores": scores,
            "learning_rate": self.optimizer.param_groups[0]["lr"],
            "tokens_per_s": progress.recent_tokens / max(progress.recent_seconds, 1e-9),
            "seconds": progress.seconds,
            "memory_mb": loop.peak_memory_mb(self.device),
            "skipped": progress.skipped,
        }
        progress.nats = progress.recent_seconds = 0.0
        progress.recent_steps = progress.recent_tokens = 0
        return row

    def predict_files(self, output: Path) -> None:
        """Write the predictions of every file of the training's tasks, and of the part that
        was held out of the training file.
        """
        inputs = self.inputs
        sets = [*tasks.predicted_sets(inputs.training), *(one for one, *_ in self.choosing)]
        with replacing_directory(output) as folder:
            for found in dict.fromkeys(sets):
                if found.name not in inputs.sets:
                    continue
                examples = inputs.read_examples(found)
                predictions = predict(
                    self.model, inputs.load(found), examples, found.task, self.dtype
                )
                write_predictions(folder / found.task.name, found, predictions)
                log.info("%s: %s predicted", found.name, f"{len(examples):,}")

    def description(self) -> dict[str, Any]:
        """The content of run.json: settings, data and the selected state; no times and no
        memory.
        """
        progress, job, made = self.progress, self.job, self.inputs.description
        return {
            "training": self.inputs.training,
            "model": self.weights,
            "learning_rate": job.learning_rate,
            "epochs": job.epochs,
            "seed": job.seed,
            "max_length": made["max_length"],
            "settings": self.recipe.of_a_run(),
            "weights": "random" if job.random_weights else "pretrained",
            "parameters": self.model.model.num_parameters(),
            "steps": self.steps,
            "selection": job.selection,
            "selected": self.development.label,
            "selected_on": [found.name for found, *_ in self.choosing],
            "selected_step": progress.best_step,
            "selected_score": progress.best_score,
            "skipped": progress.skipped,
            "train_examples": self.batches.features.examples,
            "absent": made["absent"],
            "tokenizer_sha256": made["tokenizer"],
            "precision": str(self.dtype).removeprefix("torch."),
            "device": loop.device_name(self.device),
            "versions": loop.versions(),
        }


@dataclass(frozen=True, repr=False)
class FinetunedModel(Result):
    """A finished run: the folder of its predictions, the lines of metrics.jsonl, and
    the content of run.json.
    """

    predictions: Path
    metrics: list[dict[str, Any]]
    description: dict[str, Any]


def finetune_model(
    model: str | Path,
    training: str,
    output: str | Path,
    *,
    xtreme: str | Path,
    inputs: str | Path,
    settings: TuningRecipe | Mapping[str, Any] | None = None,
    **fields: object,
) -> FinetunedModel:
    """Fine-tune one model on one training, and write `predictions/`, `metrics.jsonl`
    and `run.json`.

    The call goes on from a checkpoint of an equal call where there is one. SIGTERM,
    SIGURG and Ctrl-C leave a checkpoint.

    Parameters
    ----------
    model : a Hugging Face folder of any masked language model
    training : one of `TRAININGS`
    output : folder to write
    xtreme : XTREME's download folder, or xTune's
    inputs : what `encode_training` made of the same folder
    settings : a recipe, or keys over the paper's
    fields : those of `TuningJob`: learning_rate (peak of the schedule), epochs (passes over
        the training file), seed (of the head's weights, the order, dropout), selection
        (rule of the development files that select the state to keep), random_weights,
        threads (on a CPU), checkpoint_every (steps), keep_checkpoints

    Raises
    ------
    UsageError, VocapError : before anything is trained where that can be known
    Stopped : on request, after a checkpoint
    """
    if not isinstance(settings, TuningRecipe):
        settings = parse_tuning_recipe(training, settings or {})
    job = TuningJob.given(None, **fields)
    source, output = Path(model), Path(output)
    folder = output / "checkpoints"
    torch.set_num_threads(job.threads)
    transformers.utils.logging.disable_progress_bar()  # of transformers, inside our own
    encoded = open_inputs(Path(inputs), training, Path(xtreme))
    check_inputs(source, encoded, job.selection)
    with own_device() as device, StopRequest() as stop, locked(folder / "lock"):
        checkpoints.clean(folder)
        tuning = FineTuning(source, encoded, settings, job, folder, device)
        log.info("%s parameters on %s", f"{tuning.model.model.num_parameters():,}", device)
        tuning.restore()
        metrics = tuning.run(stop)
        tuning.predict_files(output / PREDICTIONS)
        description = tuning.description()
        lines = metrics.publish(output, DESCRIPTION, description, job.keep_checkpoints)
    return FinetunedModel(output / PREDICTIONS, lines, description)


def check_inputs(model: Path, inputs: EncodedInputs, rule: Selection) -> None:
    """Raise UsageError for inputs of another tokenizer, and for those that the model
    cannot read.
    """
    again = f"run vocap encode again with --tokenizer {model}"
    config = refuse_causal(model, read_config(model))
    longest = longest_input(config)
    length = inputs.description["max_length"]
    if longest is not None and length > longest:
        raise UsageError(
            f"{inputs.folder}: inputs of up to {length} ids, but {model} reads {longest}; "
            f"run vocap encode with --max-length {longest}"
        )
    tokenizer = model / DEFINITION
    if tokenizer.exists() and file_sha256(tokenizer) != inputs.description["tokenizer"]:
        raise UsageError(f"{inputs.folder}: made with another tokenizer than {tokenizer}; {again}")
    learnt = tasks.training_set(inputs.training, rule)
    rows = config.get("vocab_size")
    if rows is not None and (highest := int(inputs.load(learnt).tokens["ids"].max())) >= rows:
        raise UsageError(
            f"{inputs.folder}: {learnt.name} holds the id {highest}, the model has {rows} "
            f"embeddings; {again}"
        )
