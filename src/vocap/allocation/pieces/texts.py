"""The languages' texts as word types, checked against the tables made of the same text."""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

from vocap.allocation.inputs import Inputs, LanguageInput
from vocap.errors import VocapError
from vocap.vocabularies.ladder.sentences import texts_of
from vocap.vocabularies.ladder.word_types import WordTypes, count_word_types


def texts_of_corpora(
    corpora: Path, inputs: Inputs, coverage: float, heldout: bool = False
) -> dict[str, Callable[[], WordTypes]]:
    """For each language a function that counts `corpora/{language}/train.txt`, and `heldout.txt` if asked for.

    Raises VocapError, naming the file, where a training text is missing; the functions raise it for a text that
    has no character, and for one that is not that of the language's `characters.tsv`.
    """
    for entry in inputs.languages:
        path = corpora / entry.language / "train.txt"
        if not path.is_file():
            raise VocapError(
                f"{path}: no such file, but {entry.language} has a curve; put the training text there, or leave "
                f"the language out (--without {entry.language})"
            )
    return {
        entry.language: partial(_count, corpora / entry.language, entry, coverage, heldout)
        for entry in inputs.languages
    }


def _count(folder: Path, entry: LanguageInput, coverage: float, heldout: bool) -> WordTypes:
    files = {"train": folder / "train.txt"}
    if heldout and (folder / "heldout.txt").is_file():
        files["heldout"] = folder / "heldout.txt"
    words = count_word_types(texts_of(files), coverage)
    if not words.required:
        raise VocapError(f"{files['train']}: no text; put some there, or leave out {entry.language}")
    _check(files["train"], words, entry)
    return words


def _check(path: Path, words: WordTypes, entry: LanguageInput) -> None:
    """Compare the required characters with `characters.tsv`, which is made with the language's models."""
    if entry.characters is None:
        return
    lines = words.sentences["train"]
    for character, count in words.required.items():
        expected = entry.characters.get(character, 0.0) * lines
        if not math.isclose(count, expected, rel_tol=1e-9):
            raise VocapError(
                f"{path}: not the text of the language's vocabularies: it holds {character!r} {count:,} times, "
                f"where characters.tsv has {expected:,.0f}; train the vocabularies again, or restore the old text"
            )
