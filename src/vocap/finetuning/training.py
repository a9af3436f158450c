"""Fine-tuning of one model with one rate, number of epochs and seed: steps and the selected state."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from vocap.finetuning.batches import Batch, LengthBatches
from vocap.finetuning.features import Features
from vocap.finetuning.formats import Example
from vocap.finetuning.grid import Setting
from vocap.finetuning.heads import Tuner, predict
from vocap.finetuning.scoring import score
from vocap.finetuning.settings import Recipe
from vocap.finetuning.tasks import Task
from vocap.training import checkpoints
from vocap.training.loop import Loop, Metrics, Progress, build_optimizer, learning_rate, peak_memory_mb
from vocap.training.randomness import DROPOUT, generator
from vocap.training.stopping import StopRequest

BEST = "best"


@dataclass(frozen=True)
class DevelopmentSet:
    """One language's development file, scored by `metric`; `name` is of the form task/split-language."""

    name: str
    task: Task
    language: str
    metric: str
    features: Features
    examples: Sequence[Example]


@dataclass
class TuningProgress(Progress):
    """`best_score` is in percent; `nats`, `recent_steps` and `recent_tokens` since the last line of metrics."""

    best_score: float = 0.0
    best_step: int = 0
    nats: float = 0.0
    recent_steps: int = 0
    recent_tokens: int = 0


class FineTuning(Loop):
    """One run, from a checkpoint of `folder` or from the start; keeps the state with the best mean score."""

    progress: TuningProgress
    batches: LengthBatches

    def __init__(
        self,
        tuner: Tuner,
        train: Features,
        development: Sequence[DevelopmentSet],
        recipe: Recipe,
        setting: Setting,
        folder: Path,
        made_of: dict[str, Any],
        checkpoint_every: int,
    ) -> None:
        """`made_of` identifies model and data, for checkpoints; `development` has at least one set."""
        self.batches = LengthBatches(train, recipe.batch, setting.seed, tuner.pad)
        super().__init__(folder, setting.epochs * self.batches.steps_per_epoch, checkpoint_every)
        self.model, self.development, self.recipe, self.setting = tuner, development, recipe, setting
        self.made_of = made_of
        self.set_precision(recipe.precision, tuner.model.device)
        self.optimizer = build_optimizer(
            tuner,
            setting.learning_rate,
            betas=recipe.betas,
            eps=recipe.epsilon,
            weight_decay=recipe.weight_decay,
        )
        self.warmup = int(recipe.warmup * self.steps)
        self.progress = TuningProgress()
        self.best: dict[str, Tensor] = {}

    def fingerprint(self) -> dict[str, Any]:
        return {**self.recipe.of_a_run(), "run": self.setting.name, "precision": str(self.dtype), **self.made_of}

    def further_tensors(self) -> dict[str, dict[str, Tensor]]:
        return {BEST: self.best}

    def load_further(self, load: Callable[[str], dict[str, Tensor]]) -> None:
        self.best = load(BEST)

    def run(self, stop: StopRequest) -> Metrics:
        """Train to the end and leave the best state in the model; the lines of metrics. Raises as `Loop.train`."""
        metrics = Metrics(self.folder, self.progress.step)

        def after_step(last: bool) -> None:
            step, every = self.progress.step, self.recipe.evaluate_every
            if last or step % self.batches.steps_per_epoch == 0 or (every is not None and step % every == 0):
                metrics.add(self._evaluate())

        self.train(stop, after_step)
        checkpoints.restore_module(self.model, self.best)
        return metrics

    def take_step(self, batch: Batch, stop: bool) -> tuple[float, bool]:
        progress = self.progress
        rate = learning_rate(progress.step, self.setting.learning_rate, self.warmup, self.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        torch.manual_seed(int(generator(self.setting.seed, DROPOUT, progress.step).integers(1 << 63)))
        with torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32):
            loss = self.model.loss(batch)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        nats = loss.item()
        if self.update(nats, clip_grad_norm_(self.model.parameters(), self.recipe.clip)):
            progress.nats += nats
            progress.recent_steps += 1
        progress.recent_tokens += batch.tokens
        return nats, stop

    def batch_named(self, step: int) -> str:
        examples = sorted({int(self.batches.features.example[number]) for number in self.batches.members(step)})
        more = f" and {len(examples) - 8} more" if len(examples) > 8 else ""
        return f"training examples {', '.join(map(str, examples[:8]))}{more}, counted from 0"

    def _evaluate(self) -> dict[str, Any]:
        """Evaluate, keep the state if it is the best so far, and return the next line of metrics."""
        progress = self.progress
        scores = {found.name: self._score(found) for found in self.development}
        mean = sum(scores.values()) / len(scores)
        if not progress.best_step or mean > progress.best_score:
            progress.best_step, progress.best_score = progress.step, mean
            self.best = {
                name: value.cpu().clone() for name, value in checkpoints.module_tensors(self.model).items()
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
            "memory_mb": peak_memory_mb(self.device),
            "skipped": progress.skipped,
        }
        progress.nats = progress.recent_seconds = 0.0
        progress.recent_steps = progress.recent_tokens = 0
        return row

    def _score(self, found: DevelopmentSet) -> float:
        predictions = predict(self.model, found.features, found.examples, found.task, self.dtype)
        return score(found.task, found.language, found.examples, predictions)[found.metric]
