"""The training loop of both stages: steps, checkpoints, stop requests, AdamW and the
schedule of its rate.

A step depends on the checkpoint alone.
"""

import json
import math
import os
import resource
import sys
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from torch.optim import Optimizer
from tqdm import tqdm

from vocap import __version__
from vocap.errors import VocapError, log
from vocap.files.io import write_json, write_text
from vocap.training import checkpoints
from vocap.training.distributed import Stopped, StopRequest, rank, working_precision, world_size
from vocap.training.randomness import DROPOUT, generator

FILE = "metrics.jsonl"
BAD_STEPS = 10  # in a row, without a finite loss and gradient, that end a run
# of fp16's gradients at first, and good steps until it doubles: InfoXLM's
SCALE = 128.0
SCALE_STEPS = 128


@dataclass
class TrainingProgress:
    """Counters of a run."""

    step: int = 0
    seconds: float = 0.0  # of training: without measurements, checkpoints and exports
    recent_seconds: float = 0.0  # the same, since the last line of metrics
    skipped: int = 0
    skipped_in_row: int = 0


def learning_rate(step: int, peak_lr: float, warmup: int, steps: int) -> float:
    """The rate of the update number `step`, from 0 on; the last is `steps - 1`.

    >>> [learning_rate(step, 1.0, 2, 6) for step in range(6)]
    [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
    """
    if step < warmup:
        return peak_lr * (step + 1) / warmup
    return peak_lr * (steps - step) / (steps - warmup)


def build_optimizer(model: nn.Module, lr: float, recipe: Any) -> torch.optim.AdamW:
    """torch's fused AdamW over every parameter of `model`, with betas, epsilon and decay
    of a recipe.
    """
    return torch.optim.AdamW(
        model.parameters(),
        lr,
        recipe.betas,
        recipe.epsilon,
        recipe.weight_decay,
        fused=True,
    )


def prefetch(batches: Any, first: int, last: int) -> Generator[Any, None, None]:
    """What `batches.step` gives for the steps from `first` to `last`, the next two made
    in a thread.
    """
    pool = ThreadPoolExecutor(1, thread_name_prefix="batches")
    try:
        made = (pool.submit(batches.step, step) for step in range(first, last))
        waiting = deque(islice(made, 2))
        while waiting:
            ready = waiting.popleft().result()
            waiting.extend(islice(made, 1))
            yield ready
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class Loop(ABC):
    """A training of `steps` updates, from a checkpoint of `folder` or from the start.

    Subclasses define data and steps, and set the five attributes and the precision. In
    fp16 they multiply each loss by the scaler's factor and divide the gradients by it
    before clipping.
    """

    model: nn.Module
    optimizer: Optimizer
    batches: Any  # its method `step` gives the batch of a step as a function of its number
    progress: TrainingProgress
    device: torch.device

    def __init__(self, folder: Path, steps: int, checkpoint_every: int) -> None:
        self.folder, self.steps, self.checkpoint_every = folder, steps, checkpoint_every

    def set_precision(self, wanted: str, device: torch.device) -> None:
        """Set `device`, `dtype` of the layers' products, and `scaler`, which has an
        effect in fp16 only.
        """
        self.device, self.dtype = device, working_precision(wanted, device)
        self.scaler = torch.amp.GradScaler(
            device.type,
            init_scale=SCALE,
            growth_interval=SCALE_STEPS,
            enabled=self.dtype == torch.float16,
        )
        if self.scaler.is_enabled() and wanted == "auto" and rank() == 0:
            log.info("this GPU has no bf16: precision auto takes fp16, and scales the gradients")

    def begin_step(self, peak_lr: float, warmup: int) -> None:
        """Set the learning rate of the present step."""
        rate = learning_rate(self.progress.step, peak_lr, warmup, self.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    @abstractmethod
    def fingerprint(self) -> dict[str, Any]:
        """Settings and data that a checkpoint must match to resume."""

    @abstractmethod
    def take_step(self, batch: Any, stop: bool) -> tuple[float, bool]:
        """One update; its mean loss, and whether any rank received a stop request."""

    @abstractmethod
    def batch_named(self, step: int) -> str:
        """The examples of a step, for a message."""

    @abstractmethod
    def further_tensors(self) -> dict[str, dict[str, Tensor]]:
        """Tensors of a checkpoint besides weights and moments, by file."""

    @abstractmethod
    def load_further(self, load: Callable[[str], dict[str, Tensor]]) -> None:
        """Restore `further_tensors` through `load(file)`."""

    def restore(self) -> None:
        """Resume from the last checkpoint, if any."""
        checkpoint = checkpoints.latest(self.folder)
        if checkpoint is None:
            return
        load = partial(checkpoints.load_tensors, checkpoint)
        try:
            state = checkpoints.load_state(checkpoint)
            checkpoints.check_settings(self.folder, state["identity"], self.fingerprint())
            if state["ranks"] != world_size():
                log.warning("continuing a run of %d processes with another number", state["ranks"])
            checkpoints.restore_module(self.model, load("model"))
            checkpoints.restore_optimizer(self.optimizer, load("optimizer"))
            self.load_further(load)
            self.scaler.load_state_dict(state["scaler"])
            self.progress = type(self.progress)(**state["progress"])
        except VocapError:
            raise
        except Exception as error:
            raise VocapError(
                f"{checkpoint}: a damaged checkpoint ({error!r:.300}); delete that folder, and the "
                "one before it is used"
            ) from None
        if rank() == 0:
            log.info("resuming from step %d of %s", state["step"], self.folder)

    def save(self) -> None:
        """Write a checkpoint of the present state, which is equal on all ranks; the
        first rank writes.
        """
        if rank() == 0:
            tensors = {
                "model": checkpoints.module_tensors(self.model),
                "optimizer": checkpoints.optimizer_tensors(self.optimizer),
                **self.further_tensors(),
            }
            state = {
                "identity": self.fingerprint(),
                "ranks": world_size(),
                "progress": asdict(self.progress),
                "scaler": self.scaler.state_dict(),
            }
            checkpoints.save(self.folder, self.progress.step, tensors, state)

    def train(self, stop: StopRequest, after_step: Callable[[bool], None]) -> None:
        """Train to the end. `after_step` is called after each step, before its
        checkpoint; True: the last step.

        Raises Stopped after a stop request, when the checkpoint is written, and
        VocapError for a loss without a finite value in `BAD_STEPS` steps in a row, or
        in more than one at the end. Such steps leave no checkpoint.
        """
        progress = self.progress
        self.model.train()
        batches = prefetch(self.batches, progress.step, self.steps)
        bar = tqdm(
            total=self.steps,
            initial=progress.step,
            unit="step",
            mininterval=0.5 if sys.stderr.isatty() else 30,
            disable=rank() > 0,
        )
        saved = progress.step
        try:
            for batch in batches:
                # one update
                began = time.perf_counter()
                loss, stopping = self.take_step(batch, bool(stop.name))
                took = time.perf_counter() - began
                progress.seconds += took
                progress.recent_seconds += took
                progress.step += 1
                bar.update()
                bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
                # metrics and a checkpoint
                last = progress.step == self.steps
                after_step(last)
                due = stopping or last or progress.step % self.checkpoint_every == 0
                if (
                    due and not progress.skipped_in_row
                ):  # else the weights may be no numbers any more
                    self.save()
                    saved = progress.step
                # the end on request
                if stopping and not last:
                    there = f"a checkpoint of step {saved}" if saved else "no checkpoint"
                    raise Stopped(
                        f"stopped on request ({stop.name or 'of another process'}); {there} is in "
                        f"{self.folder}: the same command resumes from it"
                    )
            if progress.skipped_in_row > 1:
                raise self._without_numbers(progress.step - 1)
        finally:
            bar.close()
            batches.close()

    def update(self, loss: float, norm: Tensor) -> bool:
        """Update the weights and clear the gradients; returns whether the weights changed.

        A step whose loss or norm of the gradient is not finite is skipped. Raises
        VocapError after `BAD_STEPS` of them in a row; steps whose gradients were scaled
        above fp16's range do not count.
        """
        progress = self.progress
        finite = math.isfinite(loss) and math.isfinite(norm.item())
        overflowed = (
            math.isfinite(loss) and self.scaler.is_enabled() and self.scaler.get_scale() > 1
        )
        self.scaler.update()
        if finite:
            self.optimizer.step()
            progress.skipped_in_row = 0
        else:
            progress.skipped += 1
            progress.skipped_in_row += not overflowed
            if rank() == 0 and not overflowed:
                log.warning(
                    "step %d skipped: loss %s, norm of the gradient %s",
                    progress.step,
                    loss,
                    norm.item(),
                )
        self.optimizer.zero_grad(set_to_none=True)
        if progress.skipped_in_row >= BAD_STEPS:
            raise self._without_numbers(progress.step)
        return finite

    def _without_numbers(self, step: int) -> VocapError:
        """The error of a run after steps, up to `step`, without a finite loss or
        gradient.
        """
        found = checkpoints.steps(self.folder)
        there = f"a checkpoint of step {found[-1]}" if found else "no checkpoint"
        return VocapError(
            f"step {step}: the loss or the gradient was no finite number for "
            f"{self.progress.skipped_in_row} steps in a row; its batch: {self.batch_named(step)}; "
            "lower the learning rate, or look at its data. "
            f"{self.folder} has {there}"
        )


class Metrics:
    """The lines of one run; those after `step` are dropped: a kill lost that part of
    the run.
    """

    def __init__(self, folder: Path, step: int) -> None:
        self.path = folder / FILE
        lines = self.path.read_text("utf-8").splitlines(keepends=True) if self.path.exists() else []
        whole = [line for line in lines if line.endswith("\n")]  # a kill may have cut the last one
        write_text(self.path, "".join(line for line in whole if json.loads(line)["step"] <= step))

    def add(self, row: dict[str, Any]) -> None:
        """Append one line and flush it to the disk, before the checkpoint of the same
        step.
        """
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def publish(
        self, output: Path, name: str, description: dict[str, Any], keep_checkpoints: bool
    ) -> list[dict[str, Any]]:
        """Write the lines and the file `name` to the folder of a complete run, and remove
        its checkpoints unless they are kept; the content of the lines.
        """
        lines = self.path.read_text("utf-8")
        write_text(output / FILE, lines)
        write_json(output / name, description)
        if not keep_checkpoints:
            checkpoints.remove_all(self.path.parent)
            self.path.unlink()
        return [json.loads(line) for line in lines.splitlines()]


def seed_dropout(seed: int, step: int, number: int = 0) -> None:
    """Seed torch for the dropout of one micro-batch of a step."""
    torch.manual_seed(int(generator(seed, DROPOUT, step, number).integers(1 << 63)))


def device_name(device: torch.device) -> str:
    """The name of a GPU, or CPU."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"


def versions() -> dict[str, str]:
    """The versions of the libraries that a training's numbers depend on."""
    return {
        "vocap": __version__,
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }


def peak_memory_mb(device: torch.device) -> float:
    """Peak memory of this process in MB (10^6 bytes): of the GPU where it has one."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
