"""The text of all languages: every training line with the weight of its language, or a sample in one file."""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vocap.errors import VocapError
from vocap.tables.sampling_probabilities import STEP, line_weights, sampling_probabilities, share_error
from vocap.text_files.lines import count_lines

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Part:
    """A file of `lines` lines, each of which counts `weight` times."""

    path: Path
    lines: int
    weight: int = 1


@dataclass(frozen=True)
class MultilingualText:
    """Parts, read a block at a time; `name` is the text in messages, `facts` its entries in a description."""

    name: str
    parts: tuple[Part, ...]
    facts: dict


def warn_if_short(name: object, total: int, reached: int) -> None:
    """Warn of a tokenizer that has fewer ids than T, for want of text."""
    if reached < total:
        log.warning(
            "%s: too little text for T = %d: the tokenizer has %d ids, %d short (more text fills it)",
            name, total, reached, total - reached,
        )  # fmt: skip


def sampled_text(path: str | os.PathLike, alpha: float | None = None) -> MultilingualText:
    """A sample that `vocap mix` drew, with this alpha if it is known. Raises as `read_blocks`."""
    part = Part(Path(path), count_lines(path))
    facts = {"sentences": part.lines, "alpha": alpha, "lines": part.lines}
    return MultilingualText(str(path), (part,), {name: fact for name, fact in facts.items() if fact is not None})


def whole_text(
    corpora: str | os.PathLike, n: Mapping[str, float], alpha: float, step: int = STEP
) -> MultilingualText:
    """`corpora/{language}/train.txt` of all languages with n above 0, weighted to their shares q (Equation 3).

    Raises VocapError for a file that is missing or has no line, and where no n is above 0.
    """
    sizes = {language: number for language, number in n.items() if number}
    if not sizes:
        raise VocapError(f"{corpora}: no language with text; every n of the weights is 0")
    paths = [Path(corpora) / language / "train.txt" for language in sizes]
    lines = [count_lines(path) for path in paths]
    for path, count in zip(paths, lines, strict=True):
        if not count:
            raise VocapError(f"{path}: no line, but {path.parent.name} has a weight; give it n = 0, or some text")
    q = sampling_probabilities(list(sizes.values()), alpha).tolist()
    weights = line_weights(q, lines, step).tolist()
    facts = {
        "sentences": "all",
        "alpha": alpha,
        "lines": sum(lines),
        "least_weight": min(weights),
        "largest_weight": max(weights),
        "largest_share_error": round(share_error(q, lines, weights), 4),
    }
    return MultilingualText(str(corpora), tuple(map(Part, paths, lines, weights)), facts)
