"""Files of the bits and bytes of lines of text (`vocap.tables.bits_per_byte`), and
intervals of differences from them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from vocap.errors import VocapError
from vocap.files.io import replacing

BITS_FILE = "bits.npz"  # the file of a tokenizer's lines
PARTS = ("heldout", "parallel")  # of the text in a file
RESAMPLES, WITHIN = 1000, 0.95  # of the bootstrap, and the share of them that an interval holds
PART = 1 << 22  # drawn numbers of lines that are held at a time


def write_lengths(path: str | Path, lengths: Mapping[tuple[str, str], np.ndarray]) -> None:
    """Write bits and bytes of lines, [2, lines], by part ("heldout", "parallel") and
    language.
    """
    arrays: dict[str, Any] = {
        f"{part}/{code}": found.astype(np.float32) for (part, code), found in lengths.items()
    }
    with replacing(Path(path), "wb") as file:
        np.savez(file, **arrays)


def read_lengths(path: str | Path, part: str) -> dict[str, np.ndarray]:
    """The lines of a part that have bits, by language. Raises VocapError, naming the
    file, for another one.
    """
    try:
        with np.load(path) as file:
            found = {
                name.split("/", 1)[1]: file[name] for name in file if name.startswith(f"{part}/")
            }
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise VocapError(
            f"{path}: not a file of bits ({error}); run vocap evaluate again"
        ) from None
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
    means, drawn = np.zeros(len(names)), np.zeros((RESAMPLES, len(names)))
    for code in shared:
        table = np.stack(
            [*(lengths[name][code][0] for name in names), lengths[names[0]][code][1]],
            1,
            dtype=float,
        )
        sums, count = table.sum(0), len(table)
        means += sums[:-1] / sums[-1] / len(shared)
        step = max(1, PART // count)
        for start in range(0, RESAMPLES, step):
            rows = min(step, RESAMPLES - start)
            lines = random.integers(count, size=(rows, count)) + count * np.arange(rows)[:, None]
            often = np.bincount(lines.ravel(), minlength=rows * count).reshape(rows, count)
            sums = often @ table
            drawn[start : start + rows] += sums[:, :-1] / sums[:, -1:] / len(shared)
    drawn -= drawn[:, [int(means.argmin())]]
    low, high = np.quantile(drawn, [(1 - WITHIN) / 2, (1 + WITHIN) / 2], axis=0)
    found = zip(means.tolist(), low.tolist(), high.tolist(), strict=True)
    return dict(zip(names, found, strict=True))
