"""VOCAP: a unigram model over exactly the allocated pieces, every piece alive and accounted for."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vocap.errors import UsageError, VocapError
from vocap.progress import Steps
from vocap.tokenizers import fitting
from vocap.tokenizers.accounts import account, describe
from vocap.tokenizers.layout import Contents, build_model, round_scores
from vocap.tokenizers.multilingual_text import MultilingualText
from vocap.tokenizers.settings import META, SPECIALS
from vocap.tokenizers.shadowing import dead_pieces, raise_shadowed
from vocap.vocabularies.alp import average_log_probability
from vocap.vocabularies.encoders import SentencePieceEncoder
from vocap.vocabularies.model_file import build_processor
from vocap.vocabularies.word_counts import count_by_words

ALP_LINES = 50_000  # of the text, for what raising costs: twice 1 s, and ALP is stable to 0.1 % from 10,000 on
HOW = {
    "mixture": "log sum_l w_l p_l(x), p_l the unigram distribution of language l's model (0 where it lacks x), "
    "w_l the language's share of the tokens that q (alpha of the allocation) gives: q_l times its tokens a "
    "sentence, normalised",
    "max": "max_l log p_l(x), p_l the unigram distribution of language l's model",
    "viterbi": "max_l log p_l(x), then 2 rounds of log(max(Viterbi count, 0.5) / sum) on all lines of the "
    "multilingual text, weighted",
    "em": f"the mixture p0, then {fitting.EM_ROUNDS} rounds of log((expected count + {fitting.PRIOR} x pieces x "
    "p0) / sum) on all lines of the multilingual text, weighted",
}
MIXED = ("mixture", "em")  # scores that begin from the mixture, and so need the languages' weights
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
    byte_fallback: bool = False,
    symbols: Sequence[str] = (),
) -> Fitted:
    """Fit the allocated pieces (the keys of `owners`) and lay them out; T = pieces + 5.

    `models` are the chosen models (language to {piece: log probability}), `weights` w_l (sum 1, for `MIXED` ones),
    `normalizer` the `NormalizerSpec` of the models; lines of `text` tell what raising costs, and are counted for
    `viterbi` and `em`, whatever their language. The pieces are those of `owners` and no
    others; only byte fallback and symbols take the rows of some. Raises UsageError where T is too small for these.
    """
    total = len(owners) + SPECIALS
    clash = [piece for piece in owners if piece in META]
    if clash:
        raise VocapError(
            f"the allocated vocabulary holds the special token {clash[0]!r}; take it out of the corpora"
        )
    list(text.first_lines(1))  # what is wrong with the text is better said before the work
    pieces = list(owners)
    fitted = fitting.mixture(pieces, models, weights) if scores in MIXED else fitting.maximum(pieces, models)
    kept, lost = _make_room(pieces, fitting.fill_unlisted(fitted), symbols, byte_fallback)
    names, values = list(kept), np.array(list(kept.values()))
    if scores in ("viterbi", "em"):
        values = _count_and_fit(names, values, scores, text, normalizer)
    contents = Contents(names, round_scores(values), list(symbols), byte_fallback)
    log.info("raising shadowed pieces among %d", len(names))
    raised_scores, raised = raise_shadowed(contents)
    before = build_model(contents, normalizer)
    proto = build_model(replace(contents, scores=raised_scores), normalizer)
    if len(proto.pieces) != total:
        raise AssertionError(f"{len(proto.pieces)} rows were laid out, not {total}")
    dead = dead_pieces(proto)
    added = [piece for piece, holders in owners.items() if not holders and piece not in symbols]
    status = dict.fromkeys(added, "character") | dict.fromkeys(raised, "raised") | dict.fromkeys(dead, "dead")
    description = describe(
        "vocap",
        proto,
        {"scores": scores, "byte_fallback": byte_fallback, "user_defined_symbols": list(symbols)},
        HOW[scores],
        len(dead),
        dead_before_raising=len(dead_pieces(before)),
        raised=len(raised),
        dropped=len(lost),
        characters_added=len(added),
        raising=_cost_of_raising(before, proto, text),
    )
    return Fitted(proto, account(proto, owners, status, raised | dead, lost), description)


def _make_room(
    pieces: list[str], fitted: np.ndarray, symbols: Sequence[str], byte_fallback: bool
) -> tuple[dict[str, float], list[tuple[str, float]]]:
    """The pieces that stay and those that give their rows to byte fallback and symbols, with their scores."""
    excess = 256 * byte_fallback + len(set(symbols) - set(pieces))
    try:
        kept, dropped = fitting.make_room(pieces, fitted, symbols, excess)
    except ValueError as short:
        raise UsageError(
            f"T = {len(pieces) + SPECIALS} is too small by {short}: beside {SPECIALS} special tokens and the "
            f"allocation's single characters there is no room for {excess} rows of byte fallback and symbols; "
            "raise the allocation's total, or leave them out"
        ) from None
    return (
        {pieces[index]: float(fitted[index]) for index in kept},
        [(pieces[index], float(fitted[index])) for index in dropped],
    )


def _cost_of_raising(before, after, text: MultilingualText) -> dict:
    """ALP on the first lines of the text under the model before and after."""
    log.info("measuring what raising costs")
    (counts_before, lines), (counts, _) = (
        count_by_words(SentencePieceEncoder(_processor(model)), text.first_lines(ALP_LINES))
        for model in (before, after)
    )
    return {
        "sample_lines": lines,
        "alp_before": average_log_probability(counts_before, lines),
        "alp_after": average_log_probability(counts, lines),
    }


def _processor(proto):
    return build_processor(proto, "the model that was built")


def _count_and_fit(
    pieces: Sequence[str], values: np.ndarray, scores: str, text: MultilingualText, normalizer
) -> np.ndarray:
    """Scores from counts of the pieces in the text, by its word types: the ladder's engine on given pieces."""
    from vocap.vocabularies.ladder.kernels import one_compiler

    with one_compiler():
        from vocap.vocabularies.ladder.fixed import FixedPieces
        from vocap.vocabularies.ladder.word_table import WordTable

    try:
        fixed = FixedPieces(pieces)
    except ValueError as error:
        raise VocapError(f"{error}; use scores mixture or max, which do not count pieces in text") from None
    words = WordTable(1)
    normalize = _processor(build_model(Contents(list(pieces), values), normalizer)).normalize
    for lines, weight in text.blocks():
        words.add(normalize([line for line in lines if line.strip()]), True, trained=False, text=0, weight=weight)
    log.info("%s: %d word types", text.name, words.known)
    rounds = fitting.ROUNDS if scores == "viterbi" else fitting.EM_ROUNDS
    with Steps("fitting", rounds) as steps:

        def counted(now: np.ndarray) -> np.ndarray:
            counts = fixed.best(words, round_scores(now)) if scores == "viterbi" else fixed.expected(words, now)
            steps.advance()
            return counts

        fit = fitting.viterbi if scores == "viterbi" else fitting.expectation_maximisation
        return fit(values, counted)
