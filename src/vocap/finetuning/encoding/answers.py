"""Answers from the scores of windows, cut out of the original context."""

from collections.abc import Sequence

import numpy as np

from vocap.finetuning.encoding.features import SpanFeatures
from vocap.finetuning.examples import Question

N_BEST = 20  # starts and ends of a window that are looked at
MAX_ANSWER = 30  # subwords


def best_answers(
    features: SpanFeatures,
    examples: Sequence[Question],
    start_scores: Sequence[np.ndarray],
    end_scores: Sequence[np.ndarray],
    n_best: int = N_BEST,
    max_answer: int = MAX_ANSWER,
) -> list[str]:
    """The answer of every question: the highest start + end of all its windows, of at most `max_answer` subwords.

    `start_scores`, `end_scores`: float [length] of each input. Looked at are the `n_best` starts and ends of each
    window (xTune's `compute_predictions_logits`); where none of these go together, all of them. A start counts in
    the window that gives it the most context. The answer is the text of the original context from the first
    token's first character to the last one's last. Empty only where the context has no token.
    """
    found: list[tuple[float, str]] = [(-np.inf, "")] * len(examples)
    fallback = list(found)
    for number, (starts, ends) in enumerate(zip(start_scores, end_scores, strict=True)):
        example = features.example[number]
        offsets, best = features.offsets[number], features.best[number]
        for kept, count in ((found, n_best), (fallback, None)):
            if kept is fallback and found[example][0] > -np.inf:
                continue
            span = best_span(starts, ends, offsets[:, 0] >= 0, best, count, max_answer)
            if span is not None and span[0] > kept[example][0]:
                text = examples[example].context[offsets[span[1], 0] : offsets[span[2], 1]]
                kept[example] = (span[0], text)
    return [best[1] if best[0] > -np.inf else rest[1] for best, rest in zip(found, fallback, strict=True)]


def best_span(
    starts: np.ndarray,
    ends: np.ndarray,
    inside: np.ndarray,
    best: np.ndarray,
    n_best: int | None,
    max_answer: int,
) -> tuple[float, int, int] | None:
    """The highest score of one window, and its first and last position; None where no pair is allowed.

    `starts`, `ends`: float [length]; `inside`, `best`: bool [length], where an answer may lie and may begin;
    `n_best`: how many starts and ends are looked at, None for all.
    """
    firsts, lasts = highest(starts, n_best), highest(ends, n_best)
    firsts, lasts = firsts[inside[firsts] & best[firsts]], lasts[inside[lasts]]
    sums = starts[firsts][:, None].astype(np.float64) + ends[lasts][None, :]
    length = lasts[None, :] - firsts[:, None] + 1
    sums[(length < 1) | (length > max_answer)] = -np.inf
    if not sums.size or not np.isfinite(highest_sum := sums.max()):
        return None
    first, last = divmod(int(sums.argmax()), len(lasts))
    return float(highest_sum), int(firsts[first]), int(lasts[last])


def highest(scores: np.ndarray, count: int | None) -> np.ndarray:
    """The positions of the highest scores, highest first, of equals the first."""
    return np.argsort(-scores, kind="stable")[:count]
