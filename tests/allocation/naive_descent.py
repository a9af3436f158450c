"""One round of the common descent in plain Python, from the definitions: strings,
dictionaries, all segmentations.

EM by Kudo (2018), section 3.2, with the trainer's sparse prior; the loss of a piece as
in section 3.2 and in `Trainer::PruneSentencePieces`, summed over languages with
weights. A token costs `PRICE` nats besides.
"""

import math
from collections import Counter

UNKNOWN = 10.0
PRICE = 32.0


def segmentations(word, scores):
    """Every way to cut a word into pieces; a character without a piece is one of its
    own.
    """
    if not word:
        yield ()
        return
    for end in range(1, len(word) + 1):
        if word[:end] in scores or end == 1:
            for rest in segmentations(word[end:], scores):
                yield (word[:end], *rest)


def cost(path, scores):
    unknown = min(scores.values()) - UNKNOWN
    return sum(scores.get(piece, unknown) - PRICE for piece in path)


def digamma(x):
    step = 1e-5
    return (math.lgamma(x + step) - math.lgamma(x - step)) / (2 * step)


def estimate(words, scores):
    """One round of EM over `words` (word to count): new scores, without the pieces
    expected less than 0.5 times.
    """
    expected = Counter()
    for word, times in words.items():
        paths = list(segmentations(word, scores))
        weights = [math.exp(cost(path, scores)) for path in paths]
        for path, weight in zip(paths, weights, strict=True):
            for piece in path:
                expected[piece] += times * weight / sum(weights)
    kept = {piece: expected[piece] for piece in scores if expected[piece] >= 0.5}
    total = digamma(sum(kept.values()))
    return {piece: digamma(count) - total for piece, count in kept.items()}


def losses(words, scores, lines):
    """The loss of each piece in use, in nats a line: 0 for a single character, which
    nothing replaces.
    """
    counts = Counter()
    for word, times in words.items():
        best = max(segmentations(word, scores), key=lambda path: cost(path, scores))
        for piece in best:
            counts[piece] += times
    tokens = sum(counts[piece] for piece in scores)
    found = {}
    for piece in scores:
        f = counts[piece]
        if not f:
            continue
        if len(piece) == 1:
            found[piece] = 0.0
            continue
        others = {other: score for other, score in scores.items() if other != piece}
        path = max(
            (path for path in segmentations(piece, others) if path != (piece,)),
            key=lambda path: cost(path, others),
        )
        if cost(path, others) > scores[piece] - PRICE:
            continue
        without = tokens + f * (len(path) - 1)
        change = math.log(f / tokens) - sum(
            math.log((counts[other] + f) / without) for other in path
        )
        change += PRICE * (len(path) - 1)
        found[piece] = max(0.0, f * change / lines)
    return found
