"""Dead pieces: a piece is dead if segmenting its own string gives other pieces, so that no text can hold it.

The best split of a piece is its best segmentation without the piece itself. Where it scores at least as high, the
piece is shadowed; raising the score just above the split makes the piece reachable again.
"""

from collections.abc import Mapping

import numpy as np
from sentencepiece import SentencePieceProcessor, sentencepiece_model_pb2

from vocap.tokenizer_files.layout import STEP, Contents
from vocap.tokenizer_files.model_file import NORMAL

UNKNOWN_PENALTY = 10.0  # kUnkPenalty of unigram_model.cc: an unknown character costs the lowest score less 10
SYMBOL_SCORE = -0.1  # a user-defined symbol of n characters: n * max(0, highest score) - 0.1


def best_split(piece: str, scores: Mapping[str, float], unknown: float) -> tuple[float, list[str]]:
    """Score and pieces of the best segmentation of `piece` (n code points) without `piece` itself.

    `scores` holds natural logarithms; a character that is no piece costs `unknown`. The longest last piece wins
    ties, as in SentencePiece's `EncodeOptimized`. A single character has no split: -inf.

    >>> best_split("abc", {"a": -1.0, "b": -1.0, "bc": -1.5, "abc": -9.0, "c": -1.0}, -20.0)
    (-2.5, ['a', 'bc'])
    """
    length = len(piece)
    best = [0.0] + [-np.inf] * length
    start = [0] * (length + 1)
    for begin in range(length):
        here = best[begin]
        for end in range(begin + 1, length + 1 if begin else length):
            score = scores.get(piece[begin:end])
            if score is None:
                if end > begin + 1:
                    continue
                score = unknown
            if here + score > best[end]:
                best[end] = here + score
                start[end] = begin
    if length < 2:
        return -np.inf, []
    parts, end = [], length
    while end:
        parts.append(piece[start[end] : end])
        end = start[end]
    return float(best[length]), parts[::-1]


def raise_shadowed(contents: Contents) -> tuple[np.ndarray, dict[str, list[str]]]:
    """Raise every shadowed piece of `contents` to its best split + 2^-10, shortest pieces first.

    The scores must be multiples of 2^-10 already. A split holds shorter pieces only, so one pass by length is
    enough, and raising a piece never shadows another. Returns the new scores [n] and, for each piece raised, the
    pieces that shadowed it. Pieces that hold a user-defined symbol stay as they are: the symbol comes first.
    """
    scores = dict(zip(contents.pieces, np.asarray(contents.scores, np.float64).tolist(), strict=True))
    table = scores | symbol_scores(contents)
    unknown = min(scores.values()) - UNKNOWN_PENALTY
    raised = {}
    for piece in sorted(contents.pieces, key=lambda piece: (len(piece), piece)):
        if len(piece) < 2:
            continue
        split, parts = best_split(piece, table, unknown)
        if split >= table[piece] and not any(symbol in piece for symbol in contents.symbols):
            table[piece] = split + STEP
            raised[piece] = parts
    return np.array([table[piece] for piece in contents.pieces]), raised


def symbol_scores(contents: Contents) -> dict[str, float]:
    """The scores of the user-defined symbols of `contents` in a lattice (`unigram_model.cc`)."""
    highest = max(0.0, float(np.max(contents.scores)))
    return {symbol: len(symbol.encode()) * highest + SYMBOL_SCORE for symbol in contents.symbols}


def dead_pieces(proto) -> dict[str, list[str]]:
    """Every dead piece of a `ModelProto`, with the pieces that its string becomes, by SentencePiece itself.

    All pieces of type NORMAL are tried; in the order of their ids.
    """
    processor = bare_processor(proto)
    pieces = [(index, entry.piece) for index, entry in enumerate(proto.pieces) if entry.type == NORMAL]
    answers = processor.encode([piece for _, piece in pieces], out_type=int, num_threads=1)
    return {
        piece: processor.id_to_piece(ids)
        for (index, piece), ids in zip(pieces, answers, strict=True)
        if ids != [index]
    }


def bare_processor(proto) -> SentencePieceProcessor:
    """The model with an identity normaliser and no dummy prefix: a string reaches the lattice as it is."""
    bare = sentencepiece_model_pb2.ModelProto()
    bare.CopyFrom(proto)
    bare.normalizer_spec.Clear()
    bare.normalizer_spec.name = "identity"
    bare.normalizer_spec.add_dummy_prefix = False
    bare.normalizer_spec.remove_extra_whitespaces = False
    bare.normalizer_spec.escape_whitespaces = False
    return SentencePieceProcessor(model_proto=bare.SerializeToString(deterministic=True))
