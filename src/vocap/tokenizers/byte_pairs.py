"""Byte-pair encoding of the text of all languages: weighted or parity-aware merges, every
T of one training.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from vocap.bpe.cutting import Pretokenization
from vocap.bpe.measure import ids_of_sizes, measure_merges, read_heldout
from vocap.bpe.model_file import read_bpe
from vocap.bpe.multilingual import (
    WeightedLanguage,
    count_languages,
    train_parity,
    train_weighted,
)
from vocap.bpe.tokenizer_json import Rows, build_bpe, describe_merges
from vocap.bpe.training import MERGES, Execution, merges_for
from vocap.bpe.words import Alphabet, byte_alphabet
from vocap.errors import SettingError, UsageError
from vocap.files.io import read_object
from vocap.files.paths import as_totals, folders
from vocap.progress import Steps
from vocap.section import ConfigSection
from vocap.tables.curve import Measured, write_sizes
from vocap.tables.sampling_probabilities import Weights
from vocap.text_files.named_texts import read_development
from vocap.text_files.text import Text, Texts
from vocap.tokenizer_files import REGEX
from vocap.tokenizer_files.id_layout import XLM_R_LAYOUT, IdLayout
from vocap.tokenizers.settings import BpeTraining
from vocap.tokenizers.sizes import points_below
from vocap.tokenizers.trained import TrainedBpe, warn_if_short
from vocap.tokenizers.weighted_text import whole_text
from vocap.unigram.text_settings import XLM_R, TextSettings

# bytes of memory for a byte of text in several languages: dev/measurements.md
MEMORY = 6


@overload
def train_bpe(
    corpora: Texts | Text,
    weights: Weights | None = ...,
    total: int | None = ...,
    *args: Any,
    **fields: Any,
) -> TrainedBpe: ...


@overload
def train_bpe(
    corpora: Texts | Text,
    weights: Weights | None,
    total: Sequence[int],
    *args: Any,
    **fields: Any,
) -> dict[int, TrainedBpe]: ...


def train_bpe(
    corpora: Texts | Text,
    weights: Weights | None = None,
    total: int | Sequence[int] | None = None,
    output: str | Path | None = None,
    *,
    development: str | Mapping[str, Sequence[str]] | None = None,
    curve: str | Path | None = None,
    settings: ConfigSection | None = None,
    **fields: object,
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
        T, or several; by default that of `settings`.
    output
        Folder to write. For several totals, {total} in it stands for T. Without it
        nothing is written.
    development
        Aligned lines of each language, or the pattern of their files with {lang}, for
        parity. A line is "" where there is no translation.
    curve
        Table to write, with the tokens and the ALP of heldout.txt in the folder of each
        language at eight T up to the largest.
    settings, **fields
        A `BpeTraining`, or `Bpe` or `ParityBpe` of a configuration, and fields of
        `BpeTraining` in the place of its own: alpha, per, split, regex, digits,
        contractions, without, parity, first, window, memory, text, layout, counts.

    Returns
    -------
    TrainedBpe or dict
        The tokenizer, or for several totals a tokenizer by total.

    Raises
    ------
    UsageError
        For settings that exclude each other, and a T that does not hold the alphabet.
    VocapError
        For a text that is missing, empty or not UTF-8.
    """
    totals = as_totals(total, settings)
    own = BpeTraining.given(settings, **fields, total=max(totals))
    places = folders(output, totals)
    if own.first > min(totals):
        raise SettingError("from", f"{own.first}: more merges than T = {min(totals)}; take fewer")
    if own.parity and development is None:
        raise SettingError("parity", "it follows parallel text; give development too")
    how = own.pretokenization(own.text)
    rows = Rows(how, own.layout)
    text = whole_text(
        corpora,
        weights,
        own.alpha,
        own.per or "line",
        without=own.without or (),
        memory=(MEMORY, own.memory),
        counts=None if how.regex else own.counts,
    )
    codes = list(text.parts)
    parallel: Mapping[str, Sequence[str]] = {}
    if isinstance(development, Mapping):
        parallel = development
    elif development is not None and own.parity:
        parallel = read_development(development, codes)
    languages = count_languages(text.parts, how, parallel, own.memory)
    alphabet = byte_alphabet()
    merges = choose_merges(languages, alphabet, rows, totals, own)
    if curve:
        write_sizes(curve, _measure_heldout(corpora, codes, alphabet, merges, rows, max(totals)))
    facts = own.facts() | how.settings.changed()
    description = {"kind": own.kind, "settings": facts, "text": text.facts}
    made = {}
    for asked in sorted(set(totals)):
        kept = merges_for(merges, rows.tokens(asked, alphabet), len(alphabet.names))
        made[asked] = as_bpe_tokenizer(alphabet, kept, rows, description, asked)
        warn_if_short(places.get(asked, text.name), asked, made[asked].total)
        if output is not None:
            made[asked].write(places[asked])
    return made if isinstance(total, Collection) else made[totals[0]]


def cut_bpe(
    larger: str | Path,
    total: int,
    *,
    text: TextSettings = XLM_R,
    layout: IdLayout = XLM_R_LAYOUT,
) -> TrainedBpe:
    """The tokenizer of a smaller T of the same training: the first merges of `larger`, a
    folder of `train_bpe`. No text is read.

    `text`, `layout`: those of the training. Raises UsageError for a T that does not
    hold the alphabet, VocapError for a folder that holds no such tokenizer.
    """
    read, told = read_bpe(larger), read_object(Path(larger, "description.json"))
    facts = told["settings"]
    del facts["total"]  # of the larger one
    own = {name: facts[name] for name in ("digits", "contractions", REGEX) if name in facts}
    rows = Rows(Pretokenization(facts["split"], text, **own), layout)
    # numbers of symbols and tokens, which `Rows.ids` spreads around the user's symbols
    merges = read.merges - len(rows.controls) - len(rows.symbols)
    alphabet = byte_alphabet()
    kept = merges_for(merges, rows.tokens(total, alphabet), len(alphabet.names))
    description = {"kind": told["kind"], "settings": facts, "text": told["text"]}
    return as_bpe_tokenizer(alphabet, kept, rows, description, total)


def choose_merges(
    languages: Iterable[WeightedLanguage],
    alphabet: Alphabet,
    rows: Rows,
    totals: Sequence[int],
    order: BpeTraining,
) -> NDArray[np.int32]:
    """The merges of the largest T, int32 [M, 3]."""
    # a total that does not hold the alphabet is refused before the training
    wanted = max(rows.tokens(total, alphabet) for total in totals)
    trainings = 2 if order.first else 1
    with Steps("merges", trainings * wanted // MERGES) as steps:

        def progress(tokens: int) -> None:
            steps.advance()

        execution = Execution(order.memory, progress)
        if order.parity:
            return train_parity_merges(languages, alphabet, wanted, rows, order, execution)
        return train_weighted(languages, alphabet, wanted, rows.reserved, execution=execution)


def train_parity_merges(
    languages: Iterable[WeightedLanguage],
    alphabet: Alphabet,
    wanted: int,
    rows: Rows,
    order: BpeTraining,
    execution: Execution,
) -> NDArray[np.int32]:
    """The merges of `train_parity` behind the first weighted ones of the order."""
    languages, given = list(languages), None
    if order.first:
        most = min(len(alphabet.names) + order.first, wanted)
        weighted = train_weighted(languages, alphabet, most, rows.reserved, execution=execution)
        given = weighted[: order.first]
    return train_parity(languages, alphabet, wanted, rows.reserved, given, order.window, execution)


def as_bpe_tokenizer(
    alphabet: Alphabet,
    merges: NDArray[np.int32],
    rows: Rows,
    description: Mapping[str, Any],
    total: int,
) -> TrainedBpe:
    """The tokenizer of merges (int32 [M, 3]) with its tables (`describe_merges`)."""
    built = build_bpe(alphabet, merges, rows)
    table, facts = describe_merges(built, merges, rows, description, total)
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
    paths = {code: Path(corpora) / code / "heldout.txt" for code in languages}
    found = [read_heldout(code, path, rows) for code, path in paths.items() if path.is_file()]
    texts = [text for text in found if text is not None]
    ranks = ids_of_sizes(alphabet, merges, rows, points_below(largest))
    return measure_merges(texts, alphabet, merges, ranks)
