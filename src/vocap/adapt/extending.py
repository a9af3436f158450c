"""The pieces that a new language adds to a tokenizer, with scores that change the others little."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import takewhile

import numpy as np

from vocap.errors import VocapError
from vocap.tokenizer_files.layout import STEP, Contents, read_contents, round_scores
from vocap.tokenizer_files.shadowing import UNKNOWN_PENALTY, best_split, symbol_scores
from vocap.unigram import COVERAGE
from vocap.unigram.text_settings import META_PIECES

WIDEST = 16  # the first descent: sizes from the number of new pieces up to so many times as many, by powers of two
FINE = 12  # then so many sizes to a power of two, by 6 %: of the new pieces, at most so many are clipped


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


def choose_models(
    words, taken: Collection[str], symbols: Sequence[str], wanted: Collection[int], coverage: float = COVERAGE
) -> dict[int, tuple[int, dict[str, float]]]:
    """For each number of new pieces in `wanted`, the smallest model of a language with as many: size and scores.

    Sizes are powers of two and, between, 2^(n/12) rounded up, or the smallest or largest that the text gives; two
    descents train those that all of `wanted` need. A number's model does not depend on the others. Where the text
    cannot give as many pieces, the largest model that it gives. `words` as `load_word_types` gives them. Raises
    VocapError where the text gives none.
    """
    found: dict[int, tuple[int, bytes]] = {}  # size to the number of new pieces and the model

    def descend(sizes: Collection[int]) -> int | None:
        """Train these sizes, down to the first with too few pieces; the largest size possible, if known."""
        most = None
        for size, model, limit in _descend(words, sorted(sizes), coverage):
            most = limit or most
            if model is not None:
                found[size] = len(additions(_scores(model), taken, symbols)), model
                if found[size][0] < min(wanted):
                    break
        return most

    def within(count: int) -> tuple[dict[int, int], int | None]:
        """New pieces by size up to the largest tried for `count`, and the smallest size with `count`, if any."""
        limit = max(least, 2 ** _exponents(count)[-1])
        sizes = {size: found[size][0] for size in sorted(found, reverse=True) if size <= limit}
        enough = list(takewhile(lambda size: sizes[size] >= count, sizes))
        return sizes, enough[-1] if enough else None

    least = len(words.required) + len(META_PIECES)
    most = descend({max(least, 2**exponent) for count in wanted for exponent in _exponents(count)})
    if most is not None and any(within(count)[1] is None for count in wanted):
        descend({most})
    if not found:
        raise VocapError("the text gives no vocabulary: it holds no word")
    between: set[int] = set()
    for count in wanted:
        sizes, upper = within(count)
        if upper is not None:
            lower = max([least, *(size for size in sizes if size < upper)])
            steps = range(math.floor(FINE * math.log2(lower)), math.ceil(FINE * math.log2(upper)) + 1)
            fine = (math.ceil(2 ** (step / FINE)) for step in steps)
            between.update(size for size in fine if lower < size < upper)
    if between:
        descend(between)
    chosen = {}
    for count in wanted:
        sizes, smallest = within(count)
        size = max(sizes) if smallest is None else smallest
        chosen[count] = size, _scores(found[size][1])
    return chosen


def _exponents(count: int) -> range:
    """Powers of two that are tried for `count` new pieces: from below it to `WIDEST` times as many."""
    return range(count.bit_length() - 1, (count * WIDEST - 1).bit_length() + 1)


def _scores(model: bytes) -> dict[str, float]:
    """The pieces of a model and their scores."""
    from sentencepiece import sentencepiece_model_pb2

    contents = read_contents(sentencepiece_model_pb2.ModelProto.FromString(model), "the language's model")
    return dict(zip(contents.pieces, contents.scores.tolist(), strict=True))


def _descend(words, sizes: Sequence[int], coverage: float) -> Iterator[tuple[int, bytes | None, int | None]]:
    """Each size, its model (None where there is none), and the largest size, if known."""
    from vocap.unigram.kernels import one_compiler

    with one_compiler():
        from vocap.unigram.ladder import train_sizes

    for rung in train_sizes(words, sizes, coverage):
        yield rung.point.size, rung.model, rung.most


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


def extend_proto(contents: Contents, proto, available: Mapping[str, float], count: int, share: float):
    """The `ModelProto` with `count` of the new pieces behind all others, scored by `score_additions`."""
    return append(proto, score_additions(contents, clip(available, count), share))


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
