"""VOCAP: a unigram model over exactly the allocated pieces, every piece reachable and
listed.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vocap.errors import UsageError, VocapError
from vocap.files.written import read_records, read_written, written_by
from vocap.tables.allocated import Allocated
from vocap.tables.curve import read_points
from vocap.tables.ladder import Vocabularies, known_characters, model_of
from vocap.tables.sampling_probabilities import Weights, language_shares, load_weights
from vocap.tokenizer_files import SPECIALS
from vocap.tokenizer_files import layout as layouts
from vocap.tokenizer_files.id_layout import XLM_R_LAYOUT, IdLayout
from vocap.tokenizer_files.model_file import read_model
from vocap.tokenizers.trained import TrainedUnigram, check_unigram_text
from vocap.unigram.text_settings import XLM_R, TextSettings

if TYPE_CHECKING:
    from sentencepiece.sentencepiece_model_pb2 import NormalizerSpec, TrainerSpec

# a piece that no model scores lies this far (nats) below the lowest one that is scored
UNLISTED = 10.0
HOW = (
    "log sum_l w_l p_l(x), p_l the unigram distribution of language l's model (0 where it lacks "
    "x), w_l the language's share of the tokens that q (alpha of the allocation) gives: q_l times "
    "its tokens a sentence, normalised"
)
REMEDY = "run vocap allocate again"


def fit(
    allocation: str | Path | Allocated,
    vocabularies: Vocabularies,
    weights: Weights,
    output: str | Path | None = None,
    *,
    alpha: float = 0.7,
    text: TextSettings = XLM_R,
    layout: IdLayout = XLM_R_LAYOUT,
) -> TrainedUnigram:
    """Make the VOCAP tokenizer, by giving scores to the pieces of an allocation.

    Parameters
    ----------
    allocation
        Folder with allocation.tsv and vocabulary.tsv, or the result of `allocate`.
    vocabularies
        Ladder of each language, or folder with {language}/curve.tsv and
        {language}/models/{size}.model. The tokenizer normalises text as these models
        do.
    weights
        n of each language, or a table with the columns language and n.
    output
        Folder to write. Without it nothing is written.
    alpha
        Exponent alpha of the share of a language (Equation 3).
    text
        Byte fallback, user-defined and control symbols.
    layout
        The special tokens, as for the allocation.

    Returns
    -------
    TrainedUnigram
        The tokenizer, which has exactly T ids.

    Raises
    ------
    UsageError
        For an allocation with other special tokens or other free rows.
    VocapError
        For files that are missing, damaged or not of the same text.
    """
    check_unigram_text(text, layout)
    allocation = getattr(allocation, "allocated", allocation)  # of `allocate`
    if isinstance(allocation, Allocated):
        chosen, where = allocation, "the allocation"
    else:
        chosen, where = read_allocated(allocation), str(allocation)
    if (rows := chosen.settings.get("special_tokens", SPECIALS)) != layout.rows:
        raise UsageError(
            f"{where}: it leaves {rows} rows to special tokens, the layout has {layout.rows}; "
            f"allocate again with special_tokens {layout.rows}, or give the same layout"
        )
    shares = token_shares(vocabularies, chosen.sizes, sentence_shares(weights, chosen.sizes, alpha))
    models, normalizer, trained = read_models(vocabularies, chosen)
    free = int(chosen.settings.get("other_rows", 0))
    made = fit_pieces(chosen.owners, models, shares, normalizer, text, free, layout, trained)
    how = {name: chosen.settings.get(name) for name in ("rule", "token_fairness")}
    used = {name: value for name, value in how.items() if value}
    made.description["settings"] |= {"alpha": alpha, **used}
    made.description["text"] = learnt_from(vocabularies, chosen)
    if output is not None:
        made.write(output)
    return made


@dataclass(frozen=True)
class ChosenSize:
    """What is read of a row of allocation.tsv."""

    language: str
    size: int


@dataclass(frozen=True)
class OwnedPiece:
    """A row of vocabulary.tsv; `languages` with commas between them."""

    piece: str
    languages: str


def read_allocated(folder: str | Path) -> Allocated:
    """Read the files of an allocation."""
    folder = Path(folder)
    table = folder / "vocabulary.tsv"
    chosen = read_records(folder / "allocation.tsv", ChosenSize, "allocate")
    sizes = {row.language: row.size for row in chosen}
    with written_by("allocate", table):
        rows = read_records(table, OwnedPiece, "allocate")
        owners = {row.piece: row.languages.split(",") if row.languages else [] for row in rows}
        if not sizes.keys() >= set(chain(*owners.values())):
            raise ValueError("a language that has no size")
    if not owners:
        raise VocapError(f"{table}: no piece; {REMEDY} with a larger total")
    summary = folder / "summary.json"
    content = read_written(summary, "allocate") if summary.exists() else {}
    return Allocated(sizes, owners, content.get("settings", {}), content.get("lines"))


def read_models(
    vocabularies: Vocabularies, chosen: Allocated
) -> tuple[dict[str, dict[str, float]], "NormalizerSpec", "TrainerSpec"]:
    """The scores of every chosen model, language to {piece: score}; the normaliser they
    share; a `TrainerSpec`.

    Raises VocapError for a missing or unusable model, for one that lacks a piece it
    should have given, and where two models normalise text differently.
    """
    models, normalizer, trained = {}, None, None
    names: dict[str, str] = {}
    for language, size in chosen.sizes.items():
        model = model_of(vocabularies, language, size)
        path = names[language] = (
            str(model) if isinstance(model, Path) else f"the model of {language} of size {size}"
        )
        proto = read_model(model)
        contents = layouts.read_contents(proto, path)
        models[language] = dict(zip(contents.pieces, contents.scores.tolist(), strict=True))
        if normalizer is None:
            normalizer, trained, first = proto.normalizer_spec, proto.trainer_spec, path
        elif proto.normalizer_spec != normalizer:
            raise VocapError(
                f"{path}: its normaliser is not that of {first}; train all models with "
                "one release of SentencePiece"
            )
    for piece, holders in chosen.owners.items():
        if lacking := [language for language in holders if piece not in models[language]]:
            raise VocapError(
                f"{names[lacking[0]]}: it lacks {piece!r}, so it is another model than the "
                f"allocation read; {REMEDY}"
            )
    return models, normalizer, trained


def sentence_shares(weights: Weights, languages: Collection[str], alpha: float) -> dict[str, float]:
    """q_l of `languages` by Equation 3 over these languages, from n or a table of it.

    Raises VocapError for a table that cannot be used, and for a language that has no n
    above 0 there.
    """
    numbers = load_weights(weights)
    path = "weights" if isinstance(weights, Mapping) else weights
    for language in languages:
        if not numbers.get(language):
            raise VocapError(
                f"{path}: n of language {language!r}, which the allocation chose, is "
                f"{numbers.get(language, 'missing')}; it must be a positive number"
            )
    return language_shares({language: numbers[language] for language in languages}, alpha)


def token_shares(
    vocabularies: Vocabularies, sizes: Mapping[str, int], shares: Mapping[str, float]
) -> dict[str, float]:
    """The share of each language in the tokens of the multilingual text, from its share
    q_l of the sentences.

    A sentence of language l has `tokens_per_sentence` tokens in its chosen model
    (`curve.tsv`). Raises VocapError, naming the file, where the curve does not say.
    """
    tokens = {}
    for language, size in sizes.items():
        if isinstance(vocabularies, Mapping):
            where, points = f"the ladder of {language}", vocabularies[language].points
        else:
            where = str(Path(vocabularies) / language / "curve.tsv")
            points = read_points(where)
        found = [point.tokens_per_sentence for point in points if point.size == size]
        if not found or not found[0]:
            raise VocapError(
                f"{where}: no tokens_per_sentence of size {size}; run vocap curve again"
            )
        tokens[language] = shares[language] * found[0]
    total = sum(tokens.values())
    return {language: value / total for language, value in tokens.items()}


def learnt_from(vocabularies: Vocabularies, chosen: Allocated) -> dict[str, int | float]:
    """Lines of text and exponents of the chosen models, from the files that exist."""
    lines = chosen.lines
    if lines is None:  # those that the models were trained on, if they are known of all
        if isinstance(vocabularies, Mapping):
            counts = [vocabularies[language].lines for language in chosen.sizes]
        else:
            folders = (Path(vocabularies) / language for language in chosen.sizes)
            counts = [known_characters(folder)[1] for folder in folders]
        lines = sum(counts) if all(counts) else None
    facts: dict[str, int | float] = {} if lines is None else {"lines": lines}
    exponents = ("alpha", "beta")
    return facts | {name: chosen.settings[name] for name in exponents if name in chosen.settings}


def fit_pieces(
    owners: Mapping[str, Sequence[str]],
    models: Mapping[str, Mapping[str, float]],
    weights: Mapping[str, float],
    normalizer: "NormalizerSpec",
    settings: TextSettings,
    free: int,
    layout: IdLayout,
    trained: "TrainerSpec",
) -> TrainedUnigram:
    """A model of T = pieces + the layout's rows + `free` ids.

    `owners`: the allocated pieces, each with its languages; the model has exactly
    these, but for rows that byte fallback, user-defined and control symbols of the
    `settings` take. `models`, `normalizer`, `trained`: those of `read_models`;
    `weights`: w_l of each language, with sum 1; `free`: rows that the allocation has
    left to those of the `settings`. Raises UsageError where T is too small for them, or
    `free` too large.
    """
    layout.check_total(len(owners) + layout.rows + free)
    if clash := [name for name in layout.names if name in owners]:
        raise VocapError(
            f"the allocated vocabulary holds the special token {clash[0]!r}; take it out of the "
            "corpora, or give the token another name"
        )

    # scores of all pieces, and those that stay
    pieces, symbols = list(owners), list(settings.user_defined_symbols)
    fitted = mixture(pieces, models, weights)
    fitted = np.where(np.isnan(fitted), np.nanmin(fitted, initial=0.0) - UNLISTED, fitted)
    # the rows that bytes and symbols take beyond the free ones
    if (needed := settings.other_rows(pieces)) < free:
        raise UsageError(
            f"the allocation leaves {free} rows free, byte fallback and symbols take {needed} of "
            f"them; give them as for the allocation, or allocate again with other_rows {needed}"
        )
    kept, dropped = drop_excess(pieces, fitted, symbols, needed - free, layout.rows + free)

    # the model, with shadowed pieces raised
    contents = layouts.Contents(
        [pieces[index] for index in kept],
        layouts.round_scores(fitted[kept]),
        symbols,
        settings.byte_fallback,
        list(settings.control_symbols),
    )
    raised_scores, raised = layouts.raise_shadowed(contents)
    proto = layouts.build_model(
        replace(contents, scores=raised_scores), normalizer, layout, trained
    )
    dead = layouts.dead_pieces(proto)
    # without raising no pieces but these are dead
    before = layouts.build_model(contents, normalizer, layout, trained)
    added = [piece for piece, holders in owners.items() if not holders and piece not in symbols]
    status = (
        dict.fromkeys(added, "character")
        | dict.fromkeys(raised, "raised")
        | dict.fromkeys(dead, "dead")
    )
    own = {"scores": "mixture", "byte_fallback": False, "user_defined_symbols": []}
    rows, description = layouts.describe(
        "vocap",
        proto,
        own | settings.changed(),
        HOW,
        owners,
        status,
        raised | dead,
        [(pieces[index], float(fitted[index])) for index in dropped],
        dead_before_raising=len(layouts.dead_pieces(before, raised | dead)),
        raised=len(raised),
        dropped=len(dropped),
        characters_added=len(added),
    )
    return TrainedUnigram(description, rows, proto)


def mixture(
    pieces: Sequence[str], models: Mapping[str, Mapping[str, float]], weights: Mapping[str, float]
) -> NDArray[np.float64]:
    """log sum_l w_l p_l(x) for each piece, [n]; weights sum to 1; NaN where no model
    has the piece.
    """
    # math, not numpy's vector code: the same bits on every processor
    terms: dict[str, float] = {}
    for language, scores in models.items():
        weight = weights[language]
        for piece, score in scores.items():
            terms[piece] = terms.get(piece, 0.0) + weight * math.exp(score)
    return np.array(
        [math.log(total) if (total := terms.get(piece, 0.0)) > 0 else math.nan for piece in pieces]
    )


def drop_excess(
    pieces: Sequence[str],
    scores: NDArray[np.float64],
    symbols: Collection[str],
    excess: int,
    others: int = 0,
) -> tuple[list[int], list[int]]:
    """Indices of the pieces that stay, in their order, and of the `excess` pieces that
    are dropped, worst first.

    Only pieces of several characters are dropped: those that hold a user-defined symbol
    first, which no text can reach, then the lowest scores (ties: the later string). A
    piece that is itself a symbol is in neither list, for it becomes a symbol. Raises
    UsageError if too few can be dropped; `others`: the rows of T besides pieces.
    """
    pieces_left = [index for index, piece in enumerate(pieces) if piece not in symbols]
    candidates = [index for index in pieces_left if len(pieces[index]) > 1]
    if excess > len(candidates):
        raise UsageError(
            f"T = {len(pieces) + others} is too small by {excess - len(candidates)}: beside "
            f"special tokens and the allocation's single characters {excess} rows of byte fallback "
            "and symbols do not fit; raise the allocation's total, or leave them out"
        )
    # sorts are stable: this settles ties
    by_string = sorted(candidates, key=pieces.__getitem__, reverse=True)
    by_worth = sorted(
        by_string,
        key=lambda index: (not any(symbol in pieces[index] for symbol in symbols), scores[index]),
    )
    dropped = by_worth[:excess]
    gone = set(dropped)
    return [index for index in pieces_left if index not in gone], dropped
