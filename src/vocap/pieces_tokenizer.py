"""A tokenizer by rule pieces in one call, from the text of the languages: what
`vocap allocate --rule pieces` and `vocap fit` make of it.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from vocap.allocation.inputs import Inputs, LanguageInput
from vocap.allocation.pieces import DescentSource, descend_to_total, make_trunk
from vocap.allocation.settings import AllocationRun
from vocap.allocation.stage import Parallel, as_allocation, parallel_lines
from vocap.errors import UsageError, log
from vocap.files.paths import as_totals
from vocap.section import ConfigSection
from vocap.tables.allocated import Allocated
from vocap.tables.curve import mean_counts
from vocap.tables.piece_index import build
from vocap.tables.sampling_probabilities import Weights, load_weights
from vocap.text_files.text import Texts, language_text
from vocap.tokenizer_files.id_layout import XLM_R_LAYOUT, IdLayout
from vocap.tokenizers.fitting import fit
from vocap.tokenizers.trained import TrainedUnigram, check_unigram_text
from vocap.unigram.text_settings import TextSettings
from vocap.unigram.training_text import count_characters

NO_PIECES, NO_CURVE = build([], ()), np.zeros(0)


class PiecesTraining(AllocationRun):
    """The settings of `train_pieces`: those of an allocation by rule pieces, the layout."""

    rule: str = "pieces"
    layout: IdLayout = XLM_R_LAYOUT


def train_pieces(
    corpora: Texts,
    weights: Weights,
    total: int | None = None,
    output: str | Path | None = None,
    *,
    development: Parallel | None = None,
    settings: ConfigSection | None = None,
    **fields: object,
) -> TrainedUnigram:
    """Train a tokenizer on the pieces that one descent over all languages keeps.

    The descent maximises Equation 2 over one set of pieces that all languages share. It
    needs only text, no ladders or curves.

    Parameters
    ----------
    corpora
        The training text of each language, or a folder with LANG/train.txt.
    weights
        n_i of Equation 3: lines of text, or any other weight, by language or as a table
        with the columns language and n.
    total
        T, the number of all ids of the tokenizer, special tokens included; by default
        that of `settings`.
    output
        Folder to write sentencepiece.model, pieces.tsv and description.json to. Without
        it nothing is written.
    development
        As in `allocate`.
    settings, **fields
        A `PiecesTraining`, or `Allocation` of a configuration, and fields of
        `PiecesTraining` in the place of its own: alpha, beta, per, core, token_fairness,
        coverage, without, threads, memory, text (also the ids for bytes and symbols), layout.

    Returns
    -------
    TrainedUnigram

    Raises
    ------
    UsageError
        For settings that do not fit each other, or a total that is too small.
    VocapError
        For text that is missing, or not UTF-8.
    """
    (total,) = as_totals(total, settings)
    own = PiecesTraining.given(settings, **fields, total=total, rule="pieces")
    check_unigram_text(own.text, own.layout)
    entry = as_allocation(own).model_copy(update={"special_tokens": own.layout.rows})
    weights = load_weights(weights)
    n = {code: amount for code, amount in weights.items() if code not in own.without}
    inputs = _inputs_of_texts(corpora, n, own.text)
    parallel = parallel_lines(development, [one.language for one in inputs.languages])
    source = DescentSource(
        *(inputs, corpora, own.coverage, output, own.threads, own.text, parallel),
        *(own.counts, own.memory),
    )
    found = descend_to_total(source, entry, make_trunk(source, entry))
    for warning in found.warnings:
        log.warning("warning: %s", warning)
    ladders = {code: model.ladder for code, model in found.models.items()}
    chosen = Allocated(
        sizes={code: model.size for code, model in found.models.items()},
        owners=found.owners,
        settings=entry.model_dump(),
        lines=found.lines,
    )
    text, layout = own.text.rows_alone(), own.layout
    return fit(chosen, ladders, n, output, alpha=own.alpha, text=text, layout=layout)


def _inputs_of_texts(corpora: Texts, n: Mapping[str, float], settings: TextSettings) -> Inputs:
    """The languages with text, and the characters of it; rule pieces reads no curve."""
    languages = []
    for language in sorted(code for code in n if n[code]):
        counts, lines = count_characters(language_text(corpora, language), settings)
        characters = mean_counts(counts, lines)
        languages.append(LanguageInput(language, n[language], NO_PIECES, NO_CURVE, characters))
    if not languages:
        raise UsageError("weights: no language is left; give one an n above 0")
    return Inputs(languages)
