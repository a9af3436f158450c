"""The training loop: plain torch, one process or several; a step depends on what a checkpoint holds alone."""

import logging
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from vocap.errors import VocapError
from vocap.pretraining import checkpoints
from vocap.pretraining.batches import Batch, Prefetch, TrainingBatches
from vocap.pretraining.data import Data, unigram_counts
from vocap.pretraining.distributed import agree, sum_gradients, summed
from vocap.pretraining.losses import build_loss
from vocap.pretraining.masking import special_ids
from vocap.pretraining.metrics import Events, Metrics, peak_memory_mb
from vocap.pretraining.model import build_model
from vocap.pretraining.optimizer import build_optimizer, clip_gradients
from vocap.pretraining.randomness import DROPOUT, generator
from vocap.pretraining.ranks import rank, ranks
from vocap.pretraining.schedule import learning_rate
from vocap.pretraining.settings import Recipe
from vocap.pretraining.stopping import Stopped, StopRequest
from vocap.pretraining.validation import Validation, encode

log = logging.getLogger(__name__)

BAD_STEPS = 10  # in a row, without a finite loss and gradient, that end a run
NOISE = ("sampled", "nce", "neg")  # losses that draw words by their frequency


@dataclass
class Progress:
    """Where a run stands; what stands below `skipped_in_row` is of the steps since the last line of metrics."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0  # of training: without validation, checkpoints and exports
    skipped: int = 0
    skipped_in_row: int = 0
    nats: float = 0.0
    masked: int = 0
    candidates: float = 0.0
    calls: int = 0
    refresh_s: float = 0.0
    recent_tokens: int = 0
    recent_seconds: float = 0.0

    def turn_over(self) -> None:
        """Begin the next line."""
        self.nats = self.candidates = self.refresh_s = self.recent_seconds = 0.0
        self.masked = self.calls = self.recent_tokens = 0


class Training:
    """One run: model, loss, optimizer and data, from a checkpoint of `folder` or from the start."""

    def __init__(self, recipe: Recipe, seed: int, data: Data, folder: Path, device: torch.device) -> None:
        self.recipe, self.seed, self.data, self.folder, self.device = recipe, seed, data, folder, device
        self.dtype = working_precision(recipe.precision, device)
        torch.manual_seed(seed)
        self.model = build_model(recipe.shape, data.vocabulary).to(device)
        self.model.row_gradients = recipe.row_gradients
        self.loss = build_loss(
            recipe.loss,
            data.vocabulary,
            special_ids(data.vocabulary),
            counts=unigram_counts(data) if recipe.loss.kind in NOISE else None,
            seed=seed,
            steps=recipe.steps,
            device=device,
            row_gradients=recipe.row_gradients,
        )
        with torch.no_grad():
            self.model.decoder_bias.fill_(self.loss.initial_bias)
        agree(self.model.parameters())
        self.optimizer = build_optimizer(
            self.model,
            recipe.learning_rate,
            betas=recipe.betas,
            eps=recipe.epsilon,
            weight_decay=recipe.weight_decay,
            lazy=recipe.lazy,
        )
        self.batches = TrainingBatches(
            data.train, data.q, data.vocabulary, seed, recipe.batch, recipe.micro_batch, rank(), ranks()
        )
        self.validation = Validation(data, recipe.heldout_blocks, recipe.micro_batch)
        self.progress = Progress()

    def identity(self) -> dict[str, Any]:
        """What must be the same for a checkpoint to be gone on with."""
        settings = self.recipe.model_dump(
            mode="json",
            exclude={"tokenizer", "log_every", "heldout_blocks", "checkpoint_every", "export_steps", "seed"},
        )
        return {**settings, **self.data.identity, "seed": self.seed, "precision": str(self.dtype)}

    def restore(self) -> None:
        """Go on from the last whole checkpoint, if there is one."""
        state = checkpoints.latest(self.folder)
        if state is None:
            return
        checkpoints.check_settings(self.folder, state["identity"], self.identity())
        if state["ranks"] != ranks():
            log.warning("the checkpoint is of %d processes, this run has %d", state["ranks"], ranks())
        step = state["step"]
        self.model.load_weights(checkpoints.load_tensors(self.folder, step, "model"))
        checkpoints.restore_optimizer(self.optimizer, checkpoints.load_tensors(self.folder, step, "optimizer"))
        self.loss.load_state_dict(checkpoints.load_tensors(self.folder, step, "loss"))
        self.progress = Progress(**state["progress"])
        if rank() == 0:
            log.info("going on from step %d of %s", step, self.folder)

    def save(self) -> None:
        """Write a checkpoint of the present state; the first rank does, for all have the same."""
        if rank() == 0:
            tensors = {
                "model": self.model.weights(),
                "optimizer": checkpoints.optimizer_tensors(self.optimizer),
                "loss": self.loss.state_dict(),
            }
            state = {"identity": self.identity(), "ranks": ranks(), "progress": asdict(self.progress)}
            checkpoints.save(self.folder, self.progress.step, tensors, state)

    def run(self, stop: StopRequest, events: Events, export: Callable[[int], None]) -> Metrics | None:
        """Train to the end; the lines of metrics, on the first rank.

        `export` is called on the first rank after each of `export_steps`. Raises Stopped after a stop request,
        when a checkpoint is there, and VocapError where the loss stays without a finite value.
        """
        recipe, progress = self.recipe, self.progress
        metrics = Metrics(self.folder, progress.step) if rank() == 0 else None
        self.model.train()
        prefetch = Prefetch(self.batches, progress.step, recipe.steps)
        bar = tqdm(
            total=recipe.steps,
            initial=progress.step,
            unit="step",
            mininterval=0.5 if sys.stderr.isatty() else 30,
            disable=rank() > 0,
        )
        saved = progress.step
        try:
            for batches in prefetch:
                began = time.perf_counter()
                loss, stopping = self._step(batches, bool(stop.name))
                took = time.perf_counter() - began
                progress.seconds += took
                progress.recent_seconds += took
                progress.step += 1
                bar.update()
                bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
                last = progress.step == recipe.steps
                if progress.step % recipe.log_every == 0 or last:
                    row = self._row()
                    if metrics is not None:
                        metrics.add(row)
                        events.add(row)
                if progress.step in recipe.export_steps and rank() == 0:
                    export(progress.step)  # before the checkpoint: what goes on from it exports later steps only
                if stopping or last or progress.step % recipe.checkpoint_every == 0:
                    self.save()
                    saved = progress.step
                if stopping and not last:
                    raise Stopped(
                        f"told to stop ({stop.name or 'another process was'}); a checkpoint of step {saved} is in "
                        f"{self.folder}: the same command goes on from it"
                    )
        finally:
            bar.close()
            prefetch.close()
        return metrics

    def _step(self, batches: list[Batch], stop: bool) -> tuple[float, bool]:
        """One update; the mean loss of its masked tokens in nats, and whether any rank was told to stop."""
        recipe, progress = self.recipe, self.progress
        masked, tokens, stopping = summed(
            [sum(len(batch.targets) for batch in batches), sum(batch.tokens for batch in batches), stop],
            self.device,
        )
        rate = learning_rate(progress.step, recipe.learning_rate, recipe.warmup, recipe.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        nats = self.gradients(batches, progress.step, masked)
        norm = clip_gradients(self.model.parameters(), recipe.clip)
        self._update(nats, masked, norm)
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
            (output.loss / max(1.0, masked)).backward()
            nats += output.loss.item()
            candidates += output.candidates
        sum_gradients(self.model.parameters())
        nats, candidates, calls = summed([nats, candidates, len(batches)], self.device)
        progress.candidates += candidates
        progress.calls += int(calls)
        return nats

    def _update(self, nats: float, masked: float, norm: torch.Tensor) -> None:
        """Move the weights, unless loss or gradient is no finite number: then the step is passed over."""
        progress = self.progress
        norm_value = norm.item()
        total = torch.tensor([nats, norm_value], dtype=torch.float64)
        if torch.isfinite(total).all():
            self.optimizer.step()
            progress.nats += nats
            progress.masked += int(masked)
            progress.skipped_in_row = 0
        else:
            progress.skipped += 1
            progress.skipped_in_row += 1
            if rank() == 0:
                log.warning(
                    "step %d passed over: loss %s, norm of the gradient %s", progress.step, nats, norm_value
                )
        self.optimizer.zero_grad(set_to_none=True)
        if progress.skipped_in_row >= BAD_STEPS:
            raise VocapError(
                f"step {progress.step}: loss or gradient no finite number for {BAD_STEPS} steps in a row; its "
                "batch: "
                f"{self._batch_named(progress.step)}; lower the learning rate, or look at these blocks. "
                "Checkpoints of "
                f"earlier steps are in {self.folder}"
            )

    def _batch_named(self, step: int) -> str:
        languages, blocks = self.batches.members(step)
        named = [
            f"{self.data.languages[language]} block {block}"
            for language, block in zip(languages.tolist(), blocks.tolist(), strict=True)
        ]
        return ", ".join(named[:8]) + (f" and {len(named) - 8} more" if len(named) > 8 else "")

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


def working_precision(wanted: str, device: torch.device) -> torch.dtype:
    """The type that the layers' products are made in."""
    able = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    if wanted == "bf16" and device.type == "cuda" and not able:
        raise VocapError("precision bf16: this GPU has none; write auto or fp32")
    return torch.bfloat16 if wanted == "bf16" or (wanted == "auto" and able) else torch.float32
