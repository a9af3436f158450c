"""Files of the bits and bytes of lines of text (`vocap.tables.bits_per_byte`), and
intervals of differences from them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vocap.files.io import replacing
from vocap.files.written import written_by
from vocap.tables.bootstrap import find_interval, resample_ratios

BITS_FILE = "bits.npz"  # the file of a tokenizer's lines
PARTS = ("heldout", "parallel")  # of the text in a file
LINE_TOKENS = "tokens"  # a further part of the file of an evaluation: of aligned text, [lines]
GAP = -1  # of them where the language has no translation
SAMPLES = 1000  # of the bootstrap


def write_lengths(path: str | Path, lengths: Mapping[tuple[str, str], np.ndarray]) -> None:
    """Write by part and language the bits and bytes of lines, [2, lines], and of `LINE_TOKENS`
    [lines].
    """
    arrays: dict[str, Any] = {
        f"{part}/{code}": found.astype(np.float32) for (part, code), found in lengths.items()
    }
    with replacing(Path(path), "wb") as file:
        np.savez(file, **arrays)


def read_lengths(path: str | Path, part: str) -> dict[str, np.ndarray]:
    """The lines of a part that have bits, by language."""
    with written_by("evaluate", path), np.load(path) as file:
        found = {name.split("/", 1)[1]: file[name] for name in file if name.startswith(f"{part}/")}
    return {
        code: lines for code, lines in found.items() if lines.size and not np.isnan(lines).any()
    }


def paired_differences(
    lengths: Mapping[str, Mapping[str, np.ndarray]],
) -> dict[str, tuple[float, float, float]]:
    """Bits per byte of each tokenizer, and the interval of its difference from the
    tokenizer with the fewest.

    `lengths`: tokenizer to language to [2, lines], bits and bytes of each line. Bits
    per byte are the mean over the languages that all have. Paired bootstrap: lines are
    drawn anew in each language, the same for all.
    """
    names = list(lengths)
    languages = next(iter(lengths.values()), {})
    shared = [code for code in languages if all(code in own for own in lengths.values())]
    if not shared:
        return {}
    random = np.random.default_rng(0)
    measures = np.zeros((1 + SAMPLES, len(names)))
    for code in shared:
        parts = np.stack([lengths[name][code].T for name in names]).astype(float)
        measures += resample_ratios(parts, SAMPLES, random) / len(shared)
    means = measures[0]
    low, high = find_interval(measures[1:] - measures[1:, [int(means.argmin())]])
    found = zip(means.tolist(), low.tolist(), high.tolist(), strict=True)
    return dict(zip(names, found, strict=True))
