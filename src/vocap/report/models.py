"""Pre-trained models as the report shows them: what each was, and its lines of metrics."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vocap.errors import VocapError
from vocap.json_object import read_object

METRICS, DESCRIPTION = "metrics.jsonl", "description.json"
NUMBERS = ("step", "exact_loss", "bits_per_byte")  # that every line must have, or null


@dataclass(frozen=True)
class Model:
    """One named model: its description as written (empty where the file is not there), and its metrics."""

    name: str
    description: dict[str, Any]
    rows: list[dict[str, Any]]

    def setting(self, *path: str) -> Any:
        """A value of the description by its keys, None where it is not there."""
        value: Any = self.description
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    @property
    def loss(self) -> str:
        """The kind of its loss, with what tells two of a kind apart."""
        loss = self.setting("settings", "loss")
        if not isinstance(loss, dict):
            return ""
        names = {"k": "k = {}", "tau": "tau = {:,}", "negatives": "{:,} negatives", "uniform": "{:,} uniform"}
        told = [text.format(loss[key]) for key, text in names.items() if loss.get(key)]
        if loss.get("finish"):
            told.append(f"last {100 * loss['finish']:.3g} % full")
        return f"{loss.get('kind', '')}" + (f" ({', '.join(told)})" if told else "")


def load_models(folder: Path, mine: Callable[[str], bool]) -> dict[str, Model]:
    """The models under `folder` that have metrics and are `mine`, by name.

    Raises VocapError, naming file and line, for metrics that cannot be read.
    """
    models = {}
    for path in sorted(folder.glob(f"*/{METRICS}")):
        name = path.parent.name
        if mine(name):
            described = path.parent / DESCRIPTION
            models[name] = Model(name, read_object(described) if described.exists() else {}, _rows(path))
    return models


def training_bytes(folder: Path) -> dict[str, int]:
    """Bytes of each language's lines under `folder`/tokens, which all tokenizers share."""
    sizes = {}
    for path in sorted(folder.glob(f"tokens/*/*/{DESCRIPTION}")):
        size = (read_object(path).get("train") or {}).get("bytes")
        if isinstance(size, int):
            sizes[path.parent.name] = size
    return sizes


def _rows(path: Path) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        try:
            row = json.loads(line)
            usable = all(row[name] is None or isinstance(row[name], int | float) for name in NUMBERS)
        except (ValueError, KeyError, TypeError):
            usable = False
        if not usable:
            raise VocapError(f"{path}, line {number}: no line of metrics; delete the file and run its stage again")
        rows.append(row)
    return rows
