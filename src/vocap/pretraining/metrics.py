"""metrics.jsonl: a line of JSON for every so many steps, kept beside the checkpoints until the run ends."""

import json
import os
import resource
from pathlib import Path
from typing import Any

import torch

from vocap.errors import UsageError
from vocap.extras import remedy
from vocap.files import replacing

FILE = "metrics.jsonl"


class Metrics:
    """The lines of one run: those up to `step` are kept, later ones belong to what was lost with a kill."""

    def __init__(self, folder: Path, step: int) -> None:
        self.path = folder / FILE
        lines = self._lines(step)
        with replacing(self.path) as out:
            out.writelines(lines)

    def _lines(self, step: int) -> list[str]:
        if not self.path.exists():
            return []
        kept = []
        for line in self.path.read_text("utf-8").splitlines(keepends=True):
            try:
                early = line.endswith("\n") and json.loads(line)["step"] <= step
            except (ValueError, KeyError, TypeError):
                early = False
            if early:
                kept.append(line)
        return kept

    def add(self, row: dict[str, Any]) -> None:
        """Append one line and bring it to the disk: a checkpoint that comes after it counts on it."""
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
                raise UsageError(f"--tensorboard: TensorBoard is not installed; {remedy('tensorboard')}") from None
            self._writer = SummaryWriter(str(folder))

    def add(self, row: dict[str, Any]) -> None:
        """Every number of a line, the languages' under their codes."""
        if self._writer is None:
            return
        for name, value in row.items():
            if name == "languages":
                for language, scores in value.items():
                    for score, number in scores.items():
                        if number is not None:
                            self._writer.add_scalar(f"{score}/{language}", number, row["step"])
            elif name != "step" and value is not None:
                self._writer.add_scalar(name, value, row["step"])
        self._writer.flush()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def peak_memory_mb(device: torch.device) -> float:
    """The most that this process has held so far, MB (10^6 bytes): of the GPU where it has one."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
