"""The pieces that a new language adds to a tokenizer, with scores that change the others little."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from vocap.errors import VocapError
from vocap.tokenizer_files.layout import STEP, Contents, round_scores
from vocap.tokenizer_files.shadowing import UNKNOWN_PENALTY, best_split, symbol_scores
from vocap.unigram import COVERAGE
from vocap.unigram.text_settings import META_PIECES, TextSettings

COARSE, WIDEST = 2.0, 16  # the first descent: sizes from the number of new pieces up to so many times as many
FINE = 1.06  # then sizes by this factor: of the new pieces, at most so many are clipped


def additions(scores: Mapping[str, float], taken: Collection[str], symbols: Collection[str]) -> dict[str, float]:
    """The pieces of a language's model that are new: not `taken`, and without a user-defined symbol inside."""
    return {
        piece: score
        for piece, score in scores.items()
        if piece not in taken and not any(symbol in piece for symbol in symbols)
    }


def clip(new: Mapping[str, float], count: int) -> dict[str, float]:
    """`count` of the new pieces: single characters first, then by score, then by string."""
    ordered = sorted(new, key=lambda piece: (len(piece) > 1, -new[piece], piece))
    return {piece: new[piece] for piece in ordered[:count]}


def choose_model(words, taken: Collection[str], symbols: Sequence[str], wanted: int, coverage: float = COVERAGE):
    """Size and scores of the smallest model of a language that has `wanted` new pieces, by two descents.

    `words` as `load_word_types` gives them. Where the text cannot give as many, the largest model that it gives.
    Raises VocapError where it gives none.
    """
    found: dict[int, dict[str, float]] = {}

    def enough(size: int) -> bool:
        return len(additions(found[size], taken, symbols)) >= wanted

    def descend(sizes: Collection[int]) -> int | None:
        """Train these sizes, down to the first with too few new pieces; the largest size possible, if known."""
        most = None
        for size, scores, limit in _descend(words, sorted(sizes), coverage):
            most = limit or most
            if scores is not None:
                found[size] = scores
                if not enough(size):
                    break
        return most

    least = len(words.required) + len(META_PIECES)
    steps = int(math.log(WIDEST, COARSE)) + 1
    most = descend({max(least, math.ceil(wanted * COARSE**step) + len(META_PIECES)) for step in range(steps + 1)})
    if most is not None and not any(map(enough, found)):
        descend({most})
    if not found:
        raise VocapError("the text gives no vocabulary: it holds no word")
    if not any(map(enough, found)):
        return max(found), found[max(found)]
    upper = min(filter(enough, found))
    lower = max([least, *(size for size in found if size < upper)])
    between = [math.ceil(upper / FINE**step) for step in range(1, int(math.log(upper / lower, FINE)) + 1)]
    if between:
        descend(between)
    size = min(filter(enough, found))
    return size, found[size]


def _descend(
    words, sizes: Sequence[int], coverage: float
) -> Iterator[tuple[int, dict[str, float] | None, int | None]]:
    """Each size, its model's pieces and scores (None where there is none), and the largest size, if known."""
    from sentencepiece import sentencepiece_model_pb2

    from vocap.tokenizer_files.layout import read_contents
    from vocap.unigram.kernels import one_compiler

    with one_compiler():
        from vocap.unigram.ladder import train_sizes

    for rung in train_sizes(words, sizes, coverage):
        scores = None
        if rung.model is not None:
            contents = read_contents(
                sentencepiece_model_pb2.ModelProto.FromString(rung.model), "the language's model"
            )
            scores = dict(zip(contents.pieces, contents.scores.tolist(), strict=True))
        yield rung.point.size, scores, rung.most


def normalises_alike(proto, settings: TextSettings, coverage: float = COVERAGE) -> bool:
    """Whether the tokenizer normalises text by the same table as the models that the ladder gives."""
    from sentencepiece import sentencepiece_model_pb2

    from vocap.unigram.ladder import specifications

    own = sentencepiece_model_pb2.ModelProto.FromString(specifications(coverage, 4, settings=settings))
    return own.normalizer_spec.precompiled_charsmap == proto.normalizer_spec.precompiled_charsmap


def score_additions(contents: Contents, new: Mapping[str, float], share: float) -> dict[str, float]:
    """The scores of the new pieces beside `contents`, whose scores stay.

    log(share p(x)), p of the language's own model, as in a mixture where the language has this share of the
    tokens; not below the lowest old score, on which the penalty of unknown characters depends; and, as in
    `raise_shadowed`, 2^-10 above the best split where that would win, shortest pieces first.
    """
    lowest = float(np.min(contents.scores))
    table = dict(zip(contents.pieces, np.asarray(contents.scores, np.float64).tolist(), strict=True))
    table |= symbol_scores(contents)
    shifted = round_scores(np.array(list(new.values())) + math.log(share))
    own = dict(zip(new, np.maximum(shifted, math.ceil(lowest / STEP) * STEP).tolist(), strict=True))
    for piece in sorted(own, key=lambda piece: (len(piece), piece)):
        split, _ = best_split(piece, table, lowest - UNKNOWN_PENALTY)
        table[piece] = max(own[piece], math.floor(split / STEP) * STEP + STEP) if len(piece) > 1 else own[piece]
    return {piece: table[piece] for piece in new}


def append(proto, scores: Mapping[str, float]):
    """A copy of the `ModelProto` with these pieces behind all others, by score descending, then by string."""
    from vocap.tokenizer_files.model_file import NORMAL

    longer = type(proto)()
    longer.CopyFrom(proto)
    for score, piece in sorted((-score, piece) for piece, score in scores.items()):
        longer.pieces.add(piece=piece, score=-score, type=NORMAL)
    longer.trainer_spec.vocab_size = len(longer.pieces)
    return longer


def find_origins(proto, pieces: Sequence[str]) -> list[list[int]]:
    """The ids of each piece's string under the old model, as it is: no normalising, no space before it."""
    from vocap.tokenizer_files.shadowing import BATCH, bare_processor

    processor = bare_processor(proto)
    origins: list[list[int]] = []
    for begin in range(0, len(pieces), BATCH):
        origins += processor.encode(list(pieces[begin : begin + BATCH]), out_type=int, num_threads=1)
    return origins
