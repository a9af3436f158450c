"""VOCAP: a unigram model over exactly the allocated pieces, every piece reachable and listed."""

import logging
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vocap.errors import UsageError, VocapError
from vocap.tokenizer_files.encoders import SentencePieceEncoder
from vocap.tokenizer_files.folder import account, describe
from vocap.tokenizer_files.id_layout import XLM_R_LAYOUT, IdLayout
from vocap.tokenizer_files.layout import Contents, build_model, round_scores
from vocap.tokenizer_files.model_file import build_processor
from vocap.tokenizer_files.shadowing import dead_pieces, raise_shadowed
from vocap.tokenizers.multilingual_text import MultilingualText
from vocap.unigram.alp import corpus_alp
from vocap.unigram.text_settings import XLM_R, TextSettings

ALP_LINES = 50_000  # of the text, for the cost of raising: twice 1 s; ALP is stable to 0.1 % from 10,000 on
UNLISTED = 10.0  # a piece that no model scores lies this far (nats) below the lowest one that is scored
HOW = {
    "mixture": "log sum_l w_l p_l(x), p_l the unigram distribution of language l's model (0 where it lacks x), "
    "w_l the language's share of the tokens that q (alpha of the allocation) gives: q_l times its tokens a "
    "sentence, normalised",
    "max": "max_l log p_l(x), p_l the unigram distribution of language l's model",
}
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fitted:
    """The model, the rows of `pieces.tsv`, and the content of `description.json`."""

    proto: object
    rows: list[tuple]
    description: dict


def fit(
    owners: Mapping[str, Sequence[str]],
    models: Mapping[str, Mapping[str, float]],
    weights: Mapping[str, float],
    normalizer,
    text: MultilingualText,
    scores: str = "mixture",
    settings: TextSettings = XLM_R,
    free: int = 0,
    layout: IdLayout = XLM_R_LAYOUT,
    trained=None,
) -> Fitted:
    """Score the allocated pieces and lay them out as a model of T = pieces + the layout's rows + `free` ids.

    `owners`: the allocated pieces, each with its languages; the model has exactly these, but for rows that byte
    fallback, user-defined and control symbols of the `settings` take. `models`: piece to log probability in each
    language's chosen model; `weights`: w_l of each language, with sum 1, for the mixture; `normalizer`: the
    `NormalizerSpec` of the models; `text` gives the cost of raising; `scores`: a key of `HOW`; `free`: rows that
    the allocation has left to those of the `settings`; `trained`: the `TrainerSpec` of the models. Raises
    UsageError where T is too small for them, or `free` too large.
    """
    total = len(owners) + layout.rows + free
    layout.check_total(total)
    clash = [name for name in layout.names if name in owners]
    if clash:
        raise VocapError(
            f"the allocated vocabulary holds the special token {clash[0]!r}; take it out of the corpora, or give "
            "the token another name"
        )
    symbols = list(settings.user_defined_symbols)
    list(text.first_lines(1))  # errors of the text are raised before the computation
    pieces = list(owners)
    fitted = mixture(pieces, models, weights) if scores == "mixture" else maximum(pieces, models)
    lowest = np.nanmin(fitted) if not np.isnan(fitted).all() else 0.0
    fitted = np.where(np.isnan(fitted), lowest - UNLISTED, fitted)
    kept, lost = _drop_for_extra_rows(pieces, fitted, settings, free, layout.rows)
    names, values = list(kept), np.array(list(kept.values()))
    contents = Contents(
        names, round_scores(values), symbols, settings.byte_fallback, list(settings.control_symbols)
    )
    log.info("raising shadowed pieces among %d", len(names))
    raised_scores, raised = raise_shadowed(contents)
    before = build_model(contents, normalizer, layout, trained)
    proto = build_model(replace(contents, scores=raised_scores), normalizer, layout, trained)
    if len(proto.pieces) != total:
        raise AssertionError(f"{len(proto.pieces)} rows were laid out, not {total}")
    dead = dead_pieces(proto)
    added = [piece for piece, holders in owners.items() if not holders and piece not in symbols]
    status = dict.fromkeys(added, "character") | dict.fromkeys(raised, "raised") | dict.fromkeys(dead, "dead")
    description = describe(
        "vocap",
        proto,
        {"scores": scores, "byte_fallback": False, "user_defined_symbols": [], **settings.changed()},
        HOW[scores],
        len(dead),
        dead_before_raising=len(dead_pieces(before)),
        raised=len(raised),
        dropped=len(lost),
        characters_added=len(added),
        raising=_cost_of_raising(before, proto, text),
    )
    return Fitted(proto, account(proto, owners, status, raised | dead, lost), description)


def mixture(
    pieces: Sequence[str], models: Mapping[str, Mapping[str, float]], weights: Mapping[str, float]
) -> np.ndarray:
    """log sum_l w_l p_l(x) for each piece, [n]; weights sum to 1; NaN where no model has the piece."""
    # math, not numpy's vector code: the same bits on every processor
    terms: dict[str, float] = {}
    for language, scores in models.items():
        weight = weights[language]
        for piece, score in scores.items():
            terms[piece] = terms.get(piece, 0.0) + weight * math.exp(score)
    return np.array([math.log(total) if (total := terms.get(piece, 0.0)) > 0 else math.nan for piece in pieces])


def maximum(pieces: Sequence[str], models: Mapping[str, Mapping[str, float]]) -> np.ndarray:
    """max_l log p_l(x) for each piece, [n]; NaN where no model has the piece."""
    best: dict[str, float] = {}
    for scores in models.values():
        for piece, score in scores.items():
            if score > best.get(piece, -math.inf):
                best[piece] = score
    return np.array([best.get(piece, math.nan) for piece in pieces], np.float64)


def _drop_for_extra_rows(
    pieces: list[str], fitted: np.ndarray, settings: TextSettings, free: int, special: int
) -> tuple[dict[str, float], list[tuple[str, float]]]:
    """The pieces that stay and those that give their rows to byte fallback and symbols, with their scores."""
    symbols = settings.user_defined_symbols
    needed = 256 * settings.byte_fallback + len(settings.control_symbols) + len(set(symbols) - set(pieces))
    if needed < free:
        raise UsageError(
            f"the allocation leaves {free} rows free, byte fallback and symbols take {needed} of them; give them "
            f"as for the allocation, or allocate again with --other-rows {needed}"
        )
    excess = needed - free
    try:
        kept, dropped = drop_excess(pieces, fitted, symbols, excess)
    except ValueError as short:
        raise UsageError(
            f"T = {len(pieces) + special + free} is too small by {short}: beside {special} special tokens and "
            f"the allocation's single characters {excess} rows of byte fallback and symbols do not fit; "
            "raise the allocation's total, or leave them out"
        ) from None
    return (
        {pieces[index]: float(fitted[index]) for index in kept},
        [(pieces[index], float(fitted[index])) for index in dropped],
    )


def drop_excess(
    pieces: Sequence[str], scores: np.ndarray, symbols: Collection[str], excess: int
) -> tuple[list[int], list[int]]:
    """Indices of the pieces that stay, in their order, and of the `excess` pieces that are dropped, worst first.

    Only pieces of several characters are dropped: those that hold a user-defined symbol first, which no text
    can reach, then the lowest scores (ties: the later string). A piece that is itself a symbol is in neither list,
    for it becomes a symbol. Raises ValueError, with the number of rows that are short, if too few can be dropped.
    """
    pieces_left = [index for index, piece in enumerate(pieces) if piece not in symbols]
    candidates = [index for index in pieces_left if len(pieces[index]) > 1]
    if excess > len(candidates):
        raise ValueError(excess - len(candidates))

    by_string = sorted(candidates, key=pieces.__getitem__, reverse=True)  # sorts are stable: this settles ties
    by_worth = sorted(
        by_string, key=lambda index: (not any(symbol in pieces[index] for symbol in symbols), scores[index])
    )
    dropped = by_worth[:excess]
    gone = set(dropped)
    return [index for index in pieces_left if index not in gone], dropped


def _cost_of_raising(before, after, text: MultilingualText) -> dict:
    """ALP on the first lines of the text under the model before and after."""
    log.info("measuring the cost of raising")
    first, then = (
        corpus_alp(
            SentencePieceEncoder(build_processor(model, "the model that was built")), text.first_lines(ALP_LINES)
        )
        for model in (before, after)
    )
    return {"sample_lines": first.sentences, "alp_before": first.alp, "alp_after": then.alp}
