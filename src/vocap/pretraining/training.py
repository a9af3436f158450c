"""Pre-training of one model: its steps and its lines of metrics."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.utils import clip_grad_norm_

from vocap.pretraining.batches import Batch, TrainingBatches, Vocabulary
from vocap.pretraining.data import Data, unigram_counts
from vocap.pretraining.losses import build_loss
from vocap.pretraining.model import build_model
from vocap.pretraining.settings import Recipe
from vocap.pretraining.validation import Validation, encode
from vocap.training.distributed import agree, rank, sum_gradients, summed, world_size
from vocap.training.loop import Loop, Progress, build_optimizer, learning_rate
from vocap.training.metrics import Events, Metrics, peak_memory_mb
from vocap.training.randomness import DROPOUT, generator
from vocap.training.stopping import StopRequest
from vocap.wording import listed


@dataclass
class PretrainingProgress(Progress):
    """Fields below `tokens` count the steps since the last line of metrics."""

    tokens: int = 0
    nats: float = 0.0
    masked: int = 0
    candidates: float = 0.0
    calls: int = 0
    refresh_s: float = 0.0
    recent_tokens: int = 0

    def turn_over(self) -> None:
        """Begin the next line."""
        self.nats = self.candidates = self.refresh_s = self.recent_seconds = 0.0
        self.masked = self.calls = self.recent_tokens = 0


class Training(Loop):
    """One run: model, loss, optimizer and data, from a checkpoint of `folder` or from the start."""

    progress: PretrainingProgress

    def __init__(self, recipe: Recipe, seed: int, data: Data, folder: Path, device: torch.device) -> None:
        super().__init__(folder, recipe.steps, recipe.checkpoint_every)
        self.recipe, self.seed, self.data = recipe, seed, data
        self.set_precision(recipe.precision, device)
        torch.manual_seed(seed)
        self.model = build_model(recipe.shape, data.vocabulary, data.special).to(device)
        # the loss, and the output bias that it starts from
        special, unigram = data.special.all, recipe.output_bias == "unigram"
        counts = unigram_counts(data) if recipe.loss.weighed or unigram else None
        common = {"counts": counts, "seed": seed, "steps": recipe.steps, "device": device}
        self.loss = build_loss(recipe.loss, data.vocabulary, special, **common)
        with torch.no_grad():
            self.model.decoder_bias.fill_(self.loss.initial_bias)
            if unigram:
                self.model.decoder_bias.copy_(log_frequencies(counts, special))
        agree(self.model.parameters())
        # optimizer and data
        adam = {"betas": recipe.betas, "eps": recipe.epsilon, "weight_decay": recipe.weight_decay}
        self.optimizer = build_optimizer(self.model, recipe.learning_rate, **adam)
        ids = Vocabulary(data.vocabulary, data.special)
        self.batches = TrainingBatches(
            data.train, data.q, ids, seed, recipe.batch, recipe.micro_batch, rank(), world_size()
        )
        self.validation = Validation(data, recipe.heldout_blocks, recipe.micro_batch)
        self.progress = PretrainingProgress()

    def fingerprint(self) -> dict[str, Any]:
        """Settings and data that a checkpoint must match to resume."""
        settings = self.recipe.model_dump(
            mode="json",
            exclude={"tokenizer", "log_every", "heldout_blocks", "checkpoint_every", "export_steps", "seed"},
        )
        return {**settings, **self.data.fingerprint, "seed": self.seed, "precision": str(self.dtype)}

    def further_tensors(self):
        return {"loss": self.loss.state_dict()}

    def load_further(self, load):
        self.loss.load_state_dict(load("loss"))

    def run(self, stop: StopRequest, events: Events, export: Callable[[int], None]) -> Metrics | None:
        """Train to the end; the lines of metrics, on the first rank.

        `export` is called on the first rank after each of `export_steps`. Raises as `Loop.train`.
        """
        recipe, progress = self.recipe, self.progress
        metrics = Metrics(self.folder, progress.step) if rank() == 0 else None

        def after_step(last: bool) -> None:
            if progress.step % recipe.log_every == 0 or last:
                row = self._row()
                if metrics is not None:
                    metrics.add(row)
                    events.add(row)
            if progress.step in recipe.export_steps and rank() == 0:
                export(progress.step)  # before the checkpoint: a resumed run exports later steps only

        self.train(stop, after_step)
        return metrics

    def take_step(self, batches: list[Batch], stop: bool) -> tuple[float, bool]:
        """The loss is that of the masked tokens, in nats."""
        recipe, progress = self.recipe, self.progress
        masked, tokens, stopping = summed(
            [sum(len(batch.targets) for batch in batches), sum(batch.tokens for batch in batches), stop],
            self.device,
        )
        rate = learning_rate(progress.step, recipe.learning_rate, recipe.warmup, recipe.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        nats = self.gradients(batches, progress.step, masked)
        norm = clip_grad_norm_(self.model.parameters(), recipe.clip)
        if self.update(nats, norm):
            progress.nats += nats
            progress.masked += int(masked)
        progress.tokens += int(tokens)
        progress.recent_tokens += int(tokens)
        return nats / max(1.0, masked), bool(stopping)

    def gradients(self, batches: list[Batch], step: int, masked: float) -> float:
        """Leave in every parameter the gradient of the mean loss over the `masked` tokens of all ranks' batches.

        Returns the sum of their losses in nats.
        """
        progress = self.progress
        progress.refresh_s += self.loss.start(step, self.model.decoder_weight)
        nats = candidates = 0.0
        for number, batch in zip(self.batches.micro_batches, batches, strict=True):
            torch.manual_seed(int(generator(self.seed, DROPOUT, step, number).integers(1 << 63)))
            with torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32):
                hidden = encode(self.model, batch, self.device)
                targets = torch.from_numpy(batch.targets).to(self.device)
                output = self.loss(hidden, self.model.decoder_weight, self.model.decoder_bias, targets)
            self.scaler.scale(output.loss / max(1.0, masked)).backward()
            nats += output.loss.item()
            candidates += output.candidates
            progress.refresh_s += output.refresh_s
        sum_gradients(self.model.parameters())
        self.scaler.unscale_(self.optimizer)  # of the sum: all ranks find the same overflow
        nats, candidates, calls = summed([nats, candidates, len(batches)], self.device)
        progress.candidates += candidates
        progress.calls += int(calls)
        return nats

    def batch_named(self, step: int) -> str:
        pairs = zip(*self.batches.members(step), strict=True)
        return listed([f"{self.data.languages[language]} block {block}" for language, block in pairs], 8)

    def _row(self) -> dict[str, Any]:
        """The next line of metrics, on every rank."""
        progress = self.progress
        exact = self.validation.measure(self.model, self.device, self.dtype)
        row = {
            "step": progress.step,
            "loss": progress.nats / progress.masked if progress.masked else None,
            "exact_loss": exact.pop("exact_loss"),
            "bits_per_byte": exact.pop("bits_per_byte"),
            "tokens_per_s": progress.recent_tokens / max(progress.recent_seconds, 1e-9),
            "candidates": progress.candidates / max(1, progress.calls),
            "refresh_s": progress.refresh_s,
            "memory_mb": peak_memory_mb(self.device),
            "learning_rate": self.optimizer.param_groups[0]["lr"],
            "tokens": progress.tokens,
            "seconds": progress.seconds,
            "skipped": progress.skipped,
            **exact,
        }
        progress.turn_over()
        return row


def log_frequencies(counts: np.ndarray, special: Sequence[int]) -> torch.Tensor:
    """ln of (count + 1) / sum for `counts` [V], float32; the ids `special`, never a target, as if never seen."""
    smoothed = np.asarray(counts, np.float64) + 1
    smoothed[special] = 1
    return torch.from_numpy(np.log(smoothed / smoothed.sum())).float()
