"""metrics.jsonl: a line of JSON every `log_every` steps, kept beside the checkpoints until the run ends."""

import json
import os
import resource
from pathlib import Path
from typing import Any

import torch

from vocap.errors import UsageError, missing_extra
from vocap.files.atomic import replacing

FILE = "metrics.jsonl"


class Metrics:
    """The lines of one run; those after `step` are dropped: a kill lost that part of the run."""

    def __init__(self, folder: Path, step: int) -> None:
        self.path = folder / FILE
        kept = []
        text = self.path.read_text("utf-8") if self.path.exists() else ""
        for line in text.splitlines(keepends=True):
            try:
                early = line.endswith("\n") and json.loads(line)["step"] <= step
            except (ValueError, KeyError, TypeError):
                early = False
            if early:
                kept.append(line)
        with replacing(self.path) as out:
            out.writelines(kept)

    def add(self, row: dict[str, Any]) -> None:
        """Append one line and flush it to the disk, before the checkpoint of the same step."""
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def publish(self, target: Path) -> None:
        """Write the lines to their final place."""
        with replacing(target) as out:
            out.write(self.path.read_text("utf-8"))


class Events:
    """TensorBoard's events of the same numbers, if a folder is given."""

    def __init__(self, folder: Path | None) -> None:
        self._writer = None
        if folder is not None:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                raise UsageError(
                    f"--tensorboard: TensorBoard is not installed; {missing_extra('tensorboard')}"
                ) from None
            self._writer = SummaryWriter(str(folder))

    def add(self, row: dict[str, Any]) -> None:
        """Every number of a line, the languages' under their codes."""
        if self._writer is None:
            return
        numbers = {name: value for name, value in row.items() if name not in ("languages", "step")}
        for language, scores in row["languages"].items():
            numbers |= {f"{score}/{language}": number for score, number in scores.items()}
        for name, number in numbers.items():
            if number is not None:
                self._writer.add_scalar(name, number, row["step"])
        self._writer.flush()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def peak_memory_mb(device: torch.device) -> float:
    """Peak memory of this process in MB (10^6 bytes): of the GPU where it has one."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
