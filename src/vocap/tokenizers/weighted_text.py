"""The text of several languages, its lines counted so often that each language has its
share, or a sample in one text.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from vocap.errors import SettingError, UsageError, VocapError
from vocap.tables.sampling_probabilities import (
    STEP,
    Weights,
    line_weights,
    load_weights,
    sampling_probabilities,
    share_error,
    weights_without,
)
from vocap.text_files.text import (
    Text,
    Texts,
    language_text,
    text_blocks,
    text_name,
    warn_of_memory,
)

ONLY = "text"  # the code of a text that is of no language


@dataclass(frozen=True)
class Part:
    """The text of a language, `lines` lines, each of which counts `weight` times."""

    language: str
    blocks: Callable[[], Iterator[list[str]]]
    lines: int
    weight: int = 1


@dataclass(frozen=True)
class MultilingualText:
    """Parts, read a block at a time; `name` is the text in messages, `facts` its
    entries in a description.
    """

    name: str
    parts: tuple[Part, ...]
    facts: dict[str, Any]


def sampled_text(text: Text, alpha: float | None = None) -> MultilingualText:
    """A sample that `vocap mix` drew, with this alpha if it is known. Raises as
    `text_blocks`.
    """
    blocks = text_blocks(text)
    part = Part(ONLY, blocks, sum(map(len, blocks())))
    facts: dict[str, Any] = {"sentences": part.lines}
    if alpha is not None:
        facts["alpha"] = alpha
    return MultilingualText(text_name(text), (part,), {**facts, "lines": part.lines})


def whole_text(
    corpora: Texts | Text,
    weights: Weights | None,
    alpha: float,
    per: str = "line",
    step: int = STEP,
    without: Collection[str] = (),
    memory: float = 0,
) -> MultilingualText:
    """All lines of all languages with n above 0, weighted to their shares q (Equation 3).

    `corpora`: a folder with {language}/train.txt, or the text of each language, or one
    text. `weights`: n by language, of which those `without` are left out; without
    weights the number of lines. The shares are of the lines, or of the characters
    (`per`: line or character). `memory`: bytes that the training takes for each byte of
    text, of which `warn_of_memory` warns. Raises UsageError for a folder without weights,
    VocapError for a text that is missing or has no line, and where no n is above 0.
    """
    if weights is None:
        if isinstance(corpora, str | Path) and Path(corpora).is_dir():
            raise SettingError("weights", "missing; corpora needs n of each language")
        texts = corpora if isinstance(corpora, Mapping) else {ONLY: corpora}
    elif not isinstance(corpora, str | Path | Mapping):
        raise UsageError("weights are of several languages; give the text of each by its code")
    else:
        given = weights_without(load_weights(weights), without)
        n = {language: number for language, number in given.items() if number}
        texts = {language: language_text(corpora, language) for language in n}
    if not texts:
        raise VocapError(f"{_name(corpora)}: no language with text; every n of the weights is 0")
    warn_of_memory(_name(corpora), texts.values(), memory)
    blocks = {language: text_blocks(text) for language, text in texts.items()}
    lines = {language: sum(map(len, read())) for language, read in blocks.items()}
    for language, count in lines.items():
        if not count:
            raise VocapError(
                f"{text_name(texts[language])}: no line, but {language} has a weight; give it "
                "n = 0, or some text"
            )
    q = sampling_probabilities(list((lines if weights is None else n).values()), alpha).tolist()
    amounts = list(lines.values())
    if per != "line":
        amounts = [sum(map(len, chain.from_iterable(read()))) for read in blocks.values()]
    found = line_weights(q, amounts, step).tolist()
    facts: dict[str, Any] = {
        "sentences": "all",
        "alpha": alpha,
        "lines": sum(lines.values()),
        "least_weight": min(found),
        "largest_weight": max(found),
        "largest_share_error": round(share_error(q, amounts, found), 4),
    }
    if per != "line":
        facts["per"] = per
    parts = map(Part, blocks, blocks.values(), lines.values(), found)
    return MultilingualText(_name(corpora), tuple(parts), facts)


def _name(corpora: Texts | Text) -> str:
    """The name of the text in messages."""
    return "texts" if isinstance(corpora, Mapping) else text_name(corpora)
