"""Inputs on the disk, one folder a data set: made once for a tokenizer, memory-mapped by every run of the grid."""

from dataclasses import fields
from pathlib import Path

import numpy as np

from vocap.errors import VocapError
from vocap.finetuning.encoding import Features, PairFeatures, Ragged, SpanFeatures, TagFeatures

KINDS: dict[str, type[Features]] = {"pairs": PairFeatures, "tags": TagFeatures, "spans": SpanFeatures}
STARTS = "-starts"
COUNT = "examples"


def save_features(folder: Path, features: Features) -> None:
    """Write every field as NAME.npy, and of ragged ones NAME-starts.npy too."""
    folder.mkdir(parents=True)
    for field in fields(features):
        value = getattr(features, field.name)
        if isinstance(value, Ragged):
            _save(folder / f"{field.name}.npy", value.values)
            _save(folder / f"{field.name}{STARTS}.npy", value.starts)
        else:
            _save(folder / f"{field.name}.npy", np.asarray(value))


def _save(path: Path, values: np.ndarray) -> None:
    """The bytes of `np.save`, whose own errors do not say why a write failed."""
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(values))
        file.write(np.ascontiguousarray(values).data)


def load_features(folder: Path, kind: str) -> Features:
    """What `save_features` wrote. Raises VocapError for a folder that does not hold it."""

    def load(name: str) -> np.ndarray:
        try:
            return np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise VocapError(
                f"{folder / name}.npy: cannot be read ({error}); delete {folder.parent} and run: vocap encode"
            ) from None

    values = {}
    for field in fields(KINDS[kind]):
        if field.name == COUNT:
            values[field.name] = int(load(COUNT))
        elif field.type in (Ragged, "Ragged"):
            values[field.name] = Ragged(load(field.name), load(f"{field.name}{STARTS}"))
        else:
            values[field.name] = load(field.name)
    return KINDS[kind](**values)


def first_examples(features: Features, count: int | None) -> Features:
    """Those of the first `count` examples; all where it is None. A view of the same arrays."""
    if count is None or count >= features.examples:
        return features
    rows = int(np.searchsorted(features.example, count))
    values = {}
    for field in fields(features):
        value = getattr(features, field.name)
        if field.name == COUNT:
            values[field.name] = count
        elif isinstance(value, Ragged):
            starts = value.starts[: rows + 1]
            values[field.name] = Ragged(value.values[: starts[-1]], starts)
        else:
            values[field.name] = value[:rows]
    return type(features)(**values)
