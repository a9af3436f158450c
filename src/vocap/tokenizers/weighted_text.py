"""The text of several languages, its lines counted so often that each language has its
share, or a sample in one text.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vocap.errors import SettingError, UsageError, VocapError
from vocap.tables.sampling_probabilities import (
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
from vocap.unigram.counts import CountableText, Counts

ONLY = "text"  # the code of a text that is of no language


@dataclass(frozen=True)
class MultilingualText:
    """The text named train of each language, read a block at a time or counted before;
    `name` is the text in messages, `facts` its entries in a description.
    """

    name: str
    parts: dict[str, CountableText]
    facts: dict[str, Any]


def sampled_text(text: Text, alpha: float | None = None) -> MultilingualText:
    """A sample that `vocap mix` drew, with this alpha if it is known. Raises as
    `text_blocks`.
    """
    part = CountableText({"train": text_blocks(text)})
    lines = part.size("lines")
    facts: dict[str, Any] = {"sentences": lines}
    if alpha is not None:
        facts["alpha"] = alpha
    return MultilingualText(text_name(text), {ONLY: part}, {**facts, "lines": lines})


def whole_text(
    corpora: Texts | Text,
    weights: Weights | None,
    alpha: float,
    per: str = "line",
    without: Collection[str] = (),
    memory: tuple[float, int | None] = (0, None),
    counts: str | Path | None = None,
) -> MultilingualText:
    """All lines of all languages with n above 0, weighted to their shares q (Equation 3).

    `corpora`: a folder with {language}/train.txt, or the text of each language, or one
    text. `weights`: n by language, of which those `without` are left out; without
    weights the number of lines. The shares are of the lines, or of the characters
    (`per`: line or character). `memory`: bytes that the training takes for each byte of
    text, and its limit in MB, for `warn_of_memory`. `counts`: the path of those of each text,
    with {lang}. Raises UsageError for a folder without weights, VocapError for a text
    that is missing or has no line, and where no n is above 0.
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
    warn_of_memory(_name(corpora), texts.values(), *memory)
    parts = {}
    for language, text in texts.items():
        found = None if counts is None else Counts.open(counts, {"train": text}, language)
        parts[language] = CountableText({"train": text_blocks(text)}, found)
    lines = {language: part.size("lines") for language, part in parts.items()}
    for language, count in lines.items():
        if not count:
            raise VocapError(
                f"{text_name(texts[language])}: no line, but {language} has a weight; give it "
                "n = 0, or some text"
            )
    q = sampling_probabilities(list((lines if weights is None else n).values()), alpha).tolist()
    amounts = list(lines.values())
    if per != "line":
        amounts = [part.size("characters") for part in parts.values()]
    times = line_weights(q, amounts).tolist()
    facts: dict[str, Any] = {
        "sentences": "all",
        "alpha": alpha,
        "lines": sum(lines.values()),
        "least_weight": min(times),
        "largest_weight": max(times),
        "largest_share_error": round(share_error(q, amounts, times), 4),
    }
    if per != "line":
        facts["per"] = per
    for language, weight in zip(parts, times, strict=True):
        parts[language] = replace(parts[language], weight=weight)
    return MultilingualText(_name(corpora), parts, facts)


def _name(corpora: Texts | Text) -> str:
    """The name of the text in messages."""
    return "texts" if isinstance(corpora, Mapping) else text_name(corpora)
