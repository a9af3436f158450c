"""Byte-pair encoding of the text of all languages: weighted or parity-aware merges, every
T of one training.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from vocap.bpe.cutting import Pretokenization
from vocap.bpe.measure import HeldOut, ids_of_sizes, measure_merges, read_heldout
from vocap.bpe.model_file import read_bpe
from vocap.bpe.multilingual import (
    WeightedLanguage,
    count_languages,
    train_parity,
    train_weighted,
)
from vocap.bpe.tokenizer_json import Rows, build_bpe, describe_merges
from vocap.bpe.training import MERGES, merges_for
from vocap.bpe.words import Alphabet, byte_alphabet
from vocap.errors import UsageError
from vocap.files.io import read_object
from vocap.options import folders
from vocap.progress import Steps
from vocap.tables.curve import Measured, write_sizes
from vocap.tables.sampling_probabilities import Weights
from vocap.text_files.named_texts import read_development
from vocap.text_files.text import Text, Texts
from vocap.tokenizer_files import REGEX, SPLITS
from vocap.tokenizer_files.id_layout import XLM_R_LAYOUT, IdLayout
from vocap.tokenizers.sizes import points_below
from vocap.tokenizers.trained import TrainedBpe, as_totals, warn_if_short
from vocap.tokenizers.weighted_text import whole_text
from vocap.unigram.text_settings import XLM_R, TextSettings

# bytes of memory for a byte of text in several languages: dev/measurements.md
MEMORY = 9

Progress = Callable[[int], None]


@dataclass(frozen=True)
class MergeOrder:
    """Which pair is merged next: the heaviest, or that of the language with the longest
    parallel text (`parity`).

    The fields are parameters of `train_bpe`.
    """

    parity: bool = False
    first: int = 0
    window: int = 0

    def check(self, totals: Sequence[int], development: bool) -> None:
        """Raise UsageError for fields that exclude each other, or without the
        `development` text that they follow.
        """
        if self.first and not self.parity:
            raise UsageError(
                "--from counts the merges before those of --parity; give both, or leave it out"
            )
        if self.window and not self.parity:
            raise UsageError("--window is of the merges of --parity; give both, or leave it out")
        if self.first > min(totals):
            raise UsageError(f"--from {self.first}: more merges than T = {min(totals)}; take fewer")
        if self.parity and not development:
            raise UsageError("--parity follows parallel text; give --development PATTERN")

    @property
    def kind(self) -> str:
        """The kind of the tokenizer."""
        return "parity-bpe" if self.parity else "bpe"

    def facts(self) -> dict[str, Any]:
        """Its entries in a description."""
        found: dict[str, Any] = {"from": self.first} if self.parity else {}
        if self.window:
            found["window"] = self.window
        return found


@overload
def train_bpe(
    corpora: Texts | Text,
    weights: Weights | None,
    total: int,
    output: str | Path | None = ...,
    *,
    alpha: float = ...,
    per: str = ...,
    split: str = ...,
    regex: str | None = ...,
    digits: str | None = ...,
    contractions: bool | None = ...,
    development: str | Mapping[str, Sequence[str]] | None = ...,
    parity: bool = ...,
    first: int = ...,
    window: int = ...,
    without: Sequence[str] = ...,
    settings: TextSettings = ...,
    layout: IdLayout = ...,
    curve: str | Path | None = ...,
) -> TrainedBpe: ...


@overload
def train_bpe(
    corpora: Texts | Text,
    weights: Weights | None,
    total: Sequence[int],
    *args: Any,
    **options: Any,
) -> dict[int, TrainedBpe]: ...


def train_bpe(  # noqa: PLR0913  # options of the command
    corpora: Texts | Text,
    weights: Weights | None,
    total: int | Sequence[int],
    output: str | Path | None = None,
    *,
    alpha: float = 0.7,
    per: str = "line",
    split: str = SPLITS[0],
    regex: str | None = None,
    digits: str | None = None,
    contractions: bool | None = None,
    development: str | Mapping[str, Sequence[str]] | None = None,
    parity: bool = False,
    first: int = 0,
    window: int = 0,
    without: Sequence[str] = (),
    settings: TextSettings = XLM_R,
    layout: IdLayout = XLM_R_LAYOUT,
    curve: str | Path | None = None,
) -> TrainedBpe | dict[int, TrainedBpe]:
    """Train byte-pair encoding on the text of all languages, for every T at once.

    Pairs are counted over the words of all training lines, weighted by their languages.
    No sample is drawn. Where the text has fewer than T pieces, the tokenizer is
    smaller, and the log has a warning.

    Parameters
    ----------
    corpora
        The text of each language, in a mapping or as {language}/train.txt in a folder,
        or one text.
    weights
        n of each language, or a table with the columns language and n. By default it is
        the number of lines.
    total
        T, or several.
    output
        Folder to write. For several totals, {total} in it stands for T. Without it
        nothing is written.
    alpha, per
        Exponent of the share of a language (Equation 3), and whether the shares count
        by "line" or by "character".
    split, regex, digits, contractions
        How text is cut into words before merging. `split` is a name of `SPLITS`, and
        `regex` an expression whose matches are the words. `digits`, one of `DIGITS`,
        says how numbers are cut, and `contractions` whether English contractions are
        words.
    development
        Aligned lines of each language, or the pattern of their files with {lang}, for
        parity. A line is "" where there is no translation.
    parity, first, window
        With `parity` each merge is for the language whose parallel text has most
        tokens, after `first` weighted merges. No language gets more than twice its
        share of the last `window` merges.
    without
        Codes of languages whose text is left out.
    settings, layout
        How text is read, and the special tokens.
    curve
        Table to write, with the tokens and the ALP of heldout.txt in the folder of each
        language at eight T up to the largest.

    Returns
    -------
    TrainedBpe or dict
        The tokenizer, or for several totals a tokenizer by total.

    Raises
    ------
    UsageError
        For arguments that exclude each other, and a T that does not hold the alphabet.
    VocapError
        For a text that is missing, empty or not UTF-8.
    """
    totals = as_totals(total)
    places = folders(output, totals)
    order = MergeOrder(parity, first, window)
    order.check(totals, development is not None)
    own: dict[str, Any] = {"digits": digits, "contractions": contractions, REGEX: regex}
    own = {name: value for name, value in own.items() if value is not None}
    how = Pretokenization(split if regex is None else REGEX, settings, **own)
    rows = Rows(how, layout)
    text = whole_text(corpora, weights, alpha, per, without=without, memory=MEMORY)
    codes = [part.language for part in text.parts]
    parallel: Mapping[str, Sequence[str]] = {}
    if isinstance(development, Mapping):
        parallel = development
    elif development is not None and order.parity:
        parallel = read_development(development, codes)
    blocks = {part.language: part.blocks for part in text.parts}
    languages = count_languages(blocks, [part.weight for part in text.parts], how, parallel)
    alphabet = byte_alphabet()
    merges = choose_merges(languages, alphabet, rows, totals, order)
    if curve:
        write_sizes(curve, _measure_heldout(corpora, codes, alphabet, merges, rows, max(totals)))
    facts = {"alpha": alpha, "split": how.split, **own, **order.facts()} | how.settings.changed()
    description = {"kind": order.kind, "settings": facts, "text": text.facts}
    made = {}
    for asked in sorted(set(totals)):
        kept = merges_for(merges, rows.tokens(asked, alphabet), len(alphabet.names))
        made[asked] = as_bpe_tokenizer(alphabet, kept, rows, description, asked)
        warn_if_short(places.get(asked, text.name), asked, made[asked].total)
        if output is not None:
            made[asked].write(places[asked])
    return made[total] if isinstance(total, int) else made


def cut_bpe(
    larger: str | Path,
    total: int,
    *,
    settings: TextSettings = XLM_R,
    layout: IdLayout = XLM_R_LAYOUT,
) -> TrainedBpe:
    """The tokenizer of a smaller T of the same training: the first merges of `larger`, a
    folder of `train_bpe`. No text is read.

    `settings`, `layout`: those of the training. Raises UsageError for a T that does not
    hold the alphabet, VocapError for a folder that holds no such tokenizer.
    """
    read, told = read_bpe(larger), read_object(Path(larger, "description.json"))
    facts = told["settings"]
    del facts["total"]  # of the larger one
    own = {name: facts[name] for name in ("digits", "contractions", REGEX) if name in facts}
    rows = Rows(Pretokenization(facts["split"], settings, **own), layout)
    # numbers of symbols and tokens, which `Rows.ids` spreads around the user's symbols
    merges = read.merges - len(rows.controls) - len(rows.symbols)
    alphabet = byte_alphabet()
    kept = merges_for(merges, rows.tokens(total, alphabet), len(alphabet.names))
    description = {"kind": told["kind"], "settings": facts, "text": told["text"]}
    return as_bpe_tokenizer(alphabet, kept, rows, description, total)


def choose_merges(
    languages: Sequence[WeightedLanguage],
    alphabet: Alphabet,
    rows: Rows,
    totals: Sequence[int],
    order: MergeOrder,
) -> NDArray[np.int32]:
    """The merges of the largest T, int32 [M, 3]."""
    # a total that does not hold the alphabet is refused before the training
    wanted = max(rows.tokens(total, alphabet) for total in totals)
    trainings = 2 if order.first else 1
    with Steps("merges", trainings * wanted // MERGES) as steps:

        def progress(tokens: int) -> None:
            steps.advance()

        if order.parity:
            return train_parity_merges(languages, alphabet, wanted, rows, order, progress)
        return train_weighted(languages, alphabet, wanted, rows.reserved, progress=progress)


def train_parity_merges(
    languages: Sequence[WeightedLanguage],
    alphabet: Alphabet,
    wanted: int,
    rows: Rows,
    order: MergeOrder,
    progress: Progress,
) -> NDArray[np.int32]:
    """The merges of `train_parity` behind the first weighted ones of the order."""
    given = None
    if order.first:
        most = min(len(alphabet.names) + order.first, wanted)
        weighted = train_weighted(languages, alphabet, most, rows.reserved, progress=progress)
        given = weighted[: order.first]
    return train_parity(languages, alphabet, wanted, rows.reserved, given, order.window, progress)


def as_bpe_tokenizer(
    alphabet: Alphabet,
    merges: NDArray[np.int32],
    rows: Rows,
    description: Mapping[str, Any],
    total: int,
) -> TrainedBpe:
    """The tokenizer of merges (int32 [M, 3]) with its tables (`describe_merges`)."""
    built = build_bpe(alphabet, merges, rows)
    table, facts = describe_merges(built, alphabet, merges, rows, description, total)
    return TrainedBpe(facts, table, built, rows.layout)


def _measure_heldout(
    corpora: Texts | Text,
    languages: Sequence[str],
    alphabet: Alphabet,
    merges: NDArray[np.int32],
    rows: Rows,
    largest: int,
) -> list[Measured]:
    """The rows of the table of `vocap size`: heldout.txt of each language that has one,
    at the T that the text gives.
    """
    if not isinstance(corpora, str | Path):
        raise UsageError("curve: it is of heldout.txt in a folder of corpora; give one")
    texts: list[HeldOut] = []
    for code in languages:
        path = Path(corpora) / code / "heldout.txt"
        found = read_heldout(code, path, rows) if path.is_file() else None
        if found is not None:
            texts.append(found)
    ranks = ids_of_sizes(alphabet, merges, rows, points_below(largest))
    return measure_merges(texts, alphabet, merges, ranks)
