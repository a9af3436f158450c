"""A tokenizer by rule pieces in one call, from the text of the languages: what
`vocap allocate --rule pieces` and `vocap fit` make of it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from vocap.allocation.inputs import Inputs, LanguageInput
from vocap.allocation.pieces import DescentSource, descend_to_total, make_trunk
from vocap.allocation.settings import check_allocation, rows_beside_pieces
from vocap.allocation.stage import Parallel, parallel_lines
from vocap.errors import UsageError, log
from vocap.tables.allocated import Allocated
from vocap.tables.curve import mean_counts
from vocap.tables.piece_index import build
from vocap.tables.sampling_probabilities import Weights, load_weights
from vocap.text_files.text import Texts, language_text
from vocap.tokenizer_files.id_layout import XLM_R_LAYOUT, IdLayout
from vocap.tokenizers.fitting import fit
from vocap.tokenizers.trained import TrainedUnigram, check_unigram_text
from vocap.unigram.text_settings import COVERAGE, XLM_R, TextSettings
from vocap.unigram.training_text import count_characters

NO_PIECES, NO_CURVE = build([], ()), np.zeros(0)


def train_pieces(  # noqa: PLR0913  # settings of two stages, each by its name
    corpora: Texts,
    weights: Weights,
    total: int,
    output: str | Path | None = None,
    *,
    alpha: float = 0.7,
    beta: float = 0.7,
    per: Literal["line", "character"] = "line",
    core: float | None = None,
    token_fairness: float = 0.0,
    development: Parallel | None = None,
    coverage: float = COVERAGE,
    without: Sequence[str] = (),
    threads: int = 1,
    settings: TextSettings = XLM_R,
    layout: IdLayout = XLM_R_LAYOUT,
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
        T, the number of all ids of the tokenizer, special tokens included.
    output
        Folder to write sentencepiece.model, pieces.tsv and description.json to. Without
        it nothing is written.
    alpha, beta, per, core, token_fairness, development, coverage, without, threads
        As in `allocate`.
    settings
        How text is read, and the ids for bytes and symbols.
    layout
        The special tokens.

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
    check_unigram_text(settings, layout)
    entry = check_allocation(
        total=total,
        rule="pieces",
        alpha=alpha,
        beta=beta,
        per=per,
        core=core,
        token_fairness=token_fairness,
        other_rows=rows_beside_pieces(settings, "pieces"),
        special_tokens=layout.rows,
    )
    n = {code: amount for code, amount in load_weights(weights).items() if code not in without}
    inputs = _inputs_of_texts(corpora, n, settings)
    parallel = parallel_lines(development, [one.language for one in inputs.languages])
    source = DescentSource(inputs, corpora, coverage, output, threads, settings, parallel)
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
    text = TextSettings(
        byte_fallback=settings.byte_fallback,
        user_defined_symbols=settings.user_defined_symbols,
        control_symbols=settings.control_symbols,
    )
    return fit(chosen, ladders, n, output, alpha=alpha, settings=text, layout=layout)


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
