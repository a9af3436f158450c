"""What every training shares: steps, checkpoints, the stop; a step depends on what a checkpoint holds alone."""

import logging
import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from tqdm import tqdm

from vocap.errors import VocapError
from vocap.pretraining import checkpoints
from vocap.pretraining.batches import Prefetch, Steps
from vocap.pretraining.products import check_kernels, half_type
from vocap.pretraining.ranks import rank, ranks
from vocap.pretraining.stopping import Stopped, StopRequest

log = logging.getLogger(__name__)

BAD_STEPS = 10  # in a row, without a finite loss and gradient, that end a run
SCALE, SCALE_STEPS = 128.0, 128  # of fp16's gradients at first, and good steps until it doubles: InfoXLM's
PRECISIONS = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


@dataclass
class Progress:
    """Where a run stands."""

    step: int = 0
    seconds: float = 0.0  # of training: without measurements, checkpoints and exports
    recent_seconds: float = 0.0  # the same, since the last line of metrics
    skipped: int = 0
    skipped_in_row: int = 0


class Loop(ABC):
    """A training of `steps` updates, from a checkpoint of `folder` or from the start.

    What it trains on and how it takes a step are the subclass's, which sets the five attributes and the precision.
    In fp16 it multiplies each loss by the scaler's factor and takes it off the gradients before it clips them.
    """

    model: nn.Module
    optimizer: Optimizer
    batches: Steps
    progress: Progress
    device: torch.device

    def __init__(self, folder: Path, steps: int, checkpoint_every: int) -> None:
        self.folder, self.steps, self.checkpoint_every = folder, steps, checkpoint_every

    def set_precision(self, wanted: str, device: torch.device) -> None:
        """Set `device`, `dtype` of the layers' products, and `scaler`, which leaves all as it is but in fp16."""
        self.device, self.dtype = device, working_precision(wanted, device)
        half = self.dtype == torch.float16
        self.scaler = torch.amp.GradScaler(
            device.type, init_scale=SCALE, growth_interval=SCALE_STEPS, enabled=half
        )
        if half and wanted == "auto" and rank() == 0:
            log.info("this GPU has no bf16: precision auto takes fp16, with a scale for the gradients")

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What must be the same for a checkpoint to be gone on with."""

    @abstractmethod
    def take_step(self, batch: Any, stop: bool) -> tuple[float, bool]:
        """One update; its mean loss, and whether any rank was told to stop."""

    @abstractmethod
    def batch_named(self, step: int) -> str:
        """What a step is trained on, for a message."""

    @abstractmethod
    def further_tensors(self) -> dict[str, dict[str, Tensor]]:
        """What a checkpoint holds besides weights and moments, by file."""

    @abstractmethod
    def load_further(self, load: Callable[[str], dict[str, Tensor]]) -> None:
        """Take back `further_tensors`; `load` gives those of a file."""

    def restore(self) -> None:
        """Go on from the last whole checkpoint, if there is one."""
        state = checkpoints.latest(self.folder)
        if state is None:
            return
        try:
            self._take_back(state)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise VocapError(
                f"{self.folder}/step-{state['step']}: a damaged checkpoint ({error!r:.300}); delete that folder, "
                "and the one before it is used"
            ) from None
        if rank() == 0:
            log.info("going on from step %d of %s", state["step"], self.folder)

    def _take_back(self, state: Mapping[str, Any]) -> None:
        checkpoints.check_settings(self.folder, state["identity"], self.identity())
        if state["ranks"] != ranks():
            log.warning("the checkpoint is of %d processes, this run has %d", state["ranks"], ranks())

        def load(name: str) -> dict[str, Tensor]:
            return checkpoints.load_tensors(self.folder, state["step"], name)

        checkpoints.restore_module(self.model, load("model"))
        checkpoints.restore_optimizer(self.optimizer, load("optimizer"))
        self.load_further(load)
        self.scaler.load_state_dict(state.get("scaler", {}))
        self.progress = type(self.progress)(**state["progress"])

    def save(self) -> None:
        """Write a checkpoint of the present state; the first rank does, for all have the same."""
        if rank() == 0:
            tensors = {
                "model": checkpoints.module_tensors(self.model),
                "optimizer": checkpoints.optimizer_tensors(self.optimizer),
                **self.further_tensors(),
            }
            state = {"identity": self.identity(), "ranks": ranks(), "progress": asdict(self.progress)}
            state["scaler"] = self.scaler.state_dict()
            checkpoints.save(self.folder, self.progress.step, tensors, state)

    def train(self, stop: StopRequest, after_step: Callable[[bool], None]) -> None:
        """Train to the end. `after_step` is called after each step, before its checkpoint, with whether it is the
        last.

        Raises Stopped after a stop request, when a checkpoint is there, and VocapError where the loss stays
        without a finite value, be it in the last steps alone. Such steps leave no checkpoint.
        """
        progress = self.progress
        self.model.train()
        prefetch = Prefetch(self.batches, progress.step, self.steps)
        bar = tqdm(
            total=self.steps,
            initial=progress.step,
            unit="step",
            mininterval=0.5 if sys.stderr.isatty() else 30,
            disable=rank() > 0,
        )
        saved = progress.step
        try:
            for batch in prefetch:
                began = time.perf_counter()
                loss, stopping = self.take_step(batch, bool(stop.name))
                took = time.perf_counter() - began
                progress.seconds += took
                progress.recent_seconds += took
                progress.step += 1
                bar.update()
                bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
                last = progress.step == self.steps
                after_step(last)
                due = stopping or last or progress.step % self.checkpoint_every == 0
                if due and not progress.skipped_in_row:  # else the weights may be no numbers any more
                    self.save()
                    saved = progress.step
                if stopping and not last:
                    there = f"a checkpoint of step {saved}" if saved else "no checkpoint"
                    raise Stopped(
                        f"told to stop ({stop.name or 'another process was'}); {there} is in {self.folder}: the "
                        f"same command goes on from it"
                    )
            if progress.skipped_in_row > 1:
                raise self._without_numbers(progress.step - 1)
        finally:
            bar.close()
            prefetch.close()

    def update(self, loss: float, norm: Tensor) -> bool:
        """Move the weights and clear the gradients; whether it did.

        A step whose loss, or whose gradient's norm, is no finite number is passed over. Raises VocapError after
        `BAD_STEPS` of them in a row, among which those do not count whose gradients were scaled too high for fp16.
        """
        progress, norm_value = self.progress, norm.item()
        finite = math.isfinite(loss) and math.isfinite(norm_value)
        overflowed = math.isfinite(loss) and self.scaler.is_enabled() and self.scaler.get_scale() > 1
        self.scaler.update()
        if finite:
            self.optimizer.step()
            progress.skipped_in_row = 0
        elif overflowed:
            progress.skipped += 1
            log.debug("step %d passed over: gradients above fp16's range", progress.step)
        else:
            progress.skipped += 1
            progress.skipped_in_row += 1
            if rank() == 0:
                log.warning(
                    "step %d passed over: loss %s, norm of the gradient %s", progress.step, loss, norm_value
                )
        self.optimizer.zero_grad(set_to_none=True)
        if progress.skipped_in_row >= BAD_STEPS:
            raise self._without_numbers(progress.step)
        return finite

    def _without_numbers(self, step: int) -> VocapError:
        """Why the run cannot go on, or must not end, after steps up to `step` that were passed over."""
        found = checkpoints.steps(self.folder)
        there = f"a checkpoint of step {found[-1]}" if found else "no checkpoint"
        return VocapError(
            f"step {step}: loss or gradient no finite number for {self.progress.skipped_in_row} steps in a row; "
            f"its batch: {self.batch_named(step)}; lower the learning rate, or look at its data. "
            f"{self.folder} has {there}"
        )


def working_precision(wanted: str, device: torch.device) -> torch.dtype:
    """The type that the layers' products are made in. Raises VocapError for bf16 on a GPU without it, and
    where torch has no kernels for the GPU.
    """
    check_kernels(device)
    able = half_type(device)
    if wanted == "bf16" and device.type == "cuda" and able != torch.bfloat16:
        raise VocapError(
            "precision bf16: this GPU has none; write fp16, fp32, or auto, which takes the best it has"
        )
    return (able or torch.float32) if wanted == "auto" else PRECISIONS[wanted]
