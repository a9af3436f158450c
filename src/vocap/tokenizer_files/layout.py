"""The model file of a tokenizer, and its folder: ids in one order for all of a run,
rounded scores, exactly T ids.

Special tokens (XLM-R's: `<s>` 0, `<pad>` 1, `</s>` 2, `<unk>` 3), then control symbols,
reserved ids, 256 byte pieces if asked for, user-defined symbols, the pieces by (score
descending, string ascending), and `<mask>` T - 1.

A piece is dead if segmenting its own string gives other pieces, so that no text can
hold it. The best split of a piece is its best segmentation without the piece itself.
Where it scores at least as high, the piece is shadowed; raising the score just above
the split makes the piece reachable again.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from vocap import __version__
from vocap.errors import VocapError
from vocap.tokenizer_files import model_file
from vocap.tokenizer_files.id_layout import MASK, XLM_R_LAYOUT, IdLayout, layout_of, set_roles
from vocap.tokenizer_files.model_file import (
    BYTE,
    BYTES,
    CONTROL,
    NORMAL,
    SHAPE,
    UNKNOWN,
    USER_DEFINED,
    pieces_of,
)

# sums of its multiples are exact in float32 (SentencePiece) and float64 (tokenizers)
# below 2^14
STEP = 2.0**-10
ROUNDING = (
    "every piece score is rounded to the nearest multiple of 2^-10, so that float32 and "
    "float64 sums agree"
)
UNKNOWN_PENALTY = (
    10.0  # kUnkPenalty of unigram_model.cc: an unknown character costs the lowest score less 10
)
SYMBOL_SCORE = -0.1  # a user-defined symbol of n characters: n * max(0, highest score) - 0.1
PIECE_COLUMNS = ("piece", "id", "score", "languages", "status", "shadowed_by")


@dataclass(frozen=True)
class Contents:
    """The content of a tokenizer in any layout: distinct `pieces`, `scores` float [n]
    (natural log).
    """

    pieces: list[str]
    scores: np.ndarray
    symbols: list[str] = field(default_factory=list)
    byte_fallback: bool = False
    controls: list[str] = field(default_factory=list)


def round_scores(scores: np.ndarray) -> np.ndarray:
    """Scores [n] on the grid of 2^-10, float64."""
    return np.rint(np.asarray(scores, np.float64) / STEP) * STEP


def build_model(
    contents: Contents, normalizer_spec: Any, layout: IdLayout = XLM_R_LAYOUT, trained: Any = None
) -> Any:
    """The `ModelProto` of `lay_out`, with the scores rounded."""
    return lay_out(
        replace(contents, scores=round_scores(contents.scores)), normalizer_spec, layout, trained
    )


def lay_out(
    contents: Contents, normalizer_spec: Any, layout: IdLayout = XLM_R_LAYOUT, trained: Any = None
) -> Any:
    """The `ModelProto` of `contents` in the layout, every score as it is.

    `normalizer_spec` is that of a trained model, so that text is normalised as in its
    training; `trained`: its `TrainerSpec`, of which the keys of `SHAPE` are kept, for
    trainings that are to agree with it. Raises VocapError for two rows of one name.
    """
    names = [*layout.names, *contents.controls, *contents.symbols, *contents.pieces]
    names += BYTES if contents.byte_fallback else ()
    if repeated := [name for name, times in Counter(names).items() if times > 1]:
        raise VocapError(f"duplicate piece {repeated[0]!r} among the ids; remove one of the two")
    proto = sentencepiece_model_pb2.ModelProto()

    def add(piece: str, score: float, kind: int) -> None:
        proto.pieces.add(piece=piece, score=score, type=kind)

    # rows by id
    for special in layout.special:
        add(special.token, 0.0, UNKNOWN if special.role == "unk" else CONTROL)
    for control in (*contents.controls, *layout.reserved_names):
        add(control, 0.0, CONTROL)
    for name in BYTES if contents.byte_fallback else ():
        add(name, 0.0, BYTE)
    for symbol in contents.symbols:
        add(symbol, 0.0, USER_DEFINED)
    for score, piece in sorted(zip((-contents.scores).tolist(), contents.pieces, strict=True)):
        add(piece, -score, NORMAL)
    if layout.mask:
        add(MASK, 0.0, CONTROL)
    # settings; nothing of where and when it was trained: equal contents, equal bytes
    proto.normalizer_spec.CopyFrom(normalizer_spec)
    spec = proto.trainer_spec
    spec.model_type = sentencepiece_model_pb2.TrainerSpec.UNIGRAM
    spec.vocab_size = len(proto.pieces)
    set_roles(proto, layout)
    for name in SHAPE if trained is not None else ():
        if (value := getattr(trained, name)) != getattr(spec, name):
            setattr(spec, name, value)
    spec.byte_fallback = contents.byte_fallback
    spec.user_defined_symbols.extend(contents.symbols)
    spec.control_symbols.extend(contents.controls)
    return proto


def read_contents(proto: Any, name: str) -> Contents:
    """The pieces, symbols and byte fallback of any unigram `ModelProto`; `name` is said
    in errors.

    Its special tokens, reserved ids and mask (`layout_of`) are left out: a layout
    brings its own. Raises VocapError as `check_unigram`.
    """
    check_unigram(proto, name)
    own = set(layout_of(proto).names)
    return Contents(
        pieces_of(proto, NORMAL),
        np.array([entry.score for entry in proto.pieces if entry.type == NORMAL], np.float64),
        pieces_of(proto, USER_DEFINED),
        bool(pieces_of(proto, BYTE)),
        [name for name in pieces_of(proto, CONTROL) if name not in own],
    )


def check_unigram(proto: Any, name: str) -> None:
    """Raise VocapError for a model of another type, or whose spaces are not the
    beginnings of words.
    """
    if proto.trainer_spec.model_type != sentencepiece_model_pb2.TrainerSpec.UNIGRAM:
        kind = sentencepiece_model_pb2.TrainerSpec.ModelType.Name(proto.trainer_spec.model_type)
        raise VocapError(f"{name}: a model of type {kind}; train it with --model_type=unigram")
    if (
        not proto.normalizer_spec.escape_whitespaces
        or proto.trainer_spec.treat_whitespace_as_suffix
    ):
        raise VocapError(
            f"{name}: its spaces are not the beginnings of words (escape_whitespaces, "
            "treat_whitespace_as_suffix); train it with SentencePiece's defaults"
        )


def serialize(proto: Any) -> bytes:
    """The bytes of the model file. Raises VocapError where SentencePiece does not load
    it.
    """
    model_file.build_processor(proto, "the model that was built")
    return proto.SerializeToString(deterministic=True)


def relayout(proto: Any, name: str, layout: IdLayout = XLM_R_LAYOUT) -> Any:
    """The `ModelProto` of a stock model (`<unk> <s> </s>` first) in the layout.

    All its pieces stay, with their scores rounded: in XLM-R's layout a model of `size`
    ids becomes one of size + 2. `name` is said in errors. Raises VocapError for a model
    that is not unigram or has no pieces.
    """
    contents = read_contents(proto, name)
    controls = [control for control in contents.controls if control not in layout.names]
    return build_model(
        replace(contents, controls=controls),
        proto.normalizer_spec,
        layout,
        trained=proto.trainer_spec,
    )


def best_split(
    piece: str, scores: Mapping[str, float], unknown: float, least: float = -np.inf
) -> tuple[float, list[str]]:
    """Score and pieces of the best segmentation of `piece` (n code points) without
    `piece` itself.

    `scores` holds natural logarithms; a character that is no piece costs `unknown`.
    Beginnings that score less than `least` are left out. The longest last piece wins
    ties, as in SentencePiece's `EncodeOptimized`. A single character has no split: -inf.

    >>> best_split("abc", {"a": -1.0, "b": -1.0, "bc": -1.5, "abc": -9.0, "c": -1.0}, -20.0)
    (-2.5, ['a', 'bc'])
    """
    length = len(piece)
    best = [0.0] + [-np.inf] * length
    start = [0] * (length + 1)
    for begin in range(length):
        here = best[begin]
        if here < least:
            continue
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
    """Raise every shadowed piece of `contents` to its best split + 2^-10, shortest
    pieces first.

    The scores must be multiples of 2^-10 already. A split holds shorter pieces only, so
    one pass by length is enough, and raising a piece never shadows another. Returns the
    new scores [n] and, for each piece raised, the pieces that shadowed it. Pieces that
    hold a user-defined symbol stay as they are: the symbol comes first.
    """
    table = lattice_scores(contents)
    raised = _raise_above_splits(contents, contents.pieces, table)
    return np.array([table[piece] for piece in contents.pieces]), raised


def _raise_above_splits(
    contents: Contents, pieces: Collection[str], table: dict[str, float]
) -> dict[str, list[str]]:
    """Raise those of `pieces` in `table` that their best split shadows; the pieces of their
    splits.
    """
    unknown = float(np.min(contents.scores)) - UNKNOWN_PENALTY
    # a beginning that scores less than the piece, whatever follows, shadows nothing: no
    # score is above the highest one, and no raised one unless that is nearly 0
    highest = max(table.values())
    raised = {}
    for piece in sorted(pieces, key=lambda piece: (len(piece), piece)):
        least = table[piece] - highest if highest <= -STEP else -np.inf
        split, parts = best_split(piece, table, unknown, least)
        if split >= table[piece] and not any(symbol in piece for symbol in contents.symbols):
            table[piece] = math.floor(split / STEP) * STEP + STEP
            raised[piece] = parts
    return raised


def score_additions(contents: Contents, new: Mapping[str, float], share: float) -> dict[str, float]:
    """The scores of the new pieces beside `contents`, whose scores stay.

    log(share p(x)), p of the language's own model, as in a mixture where the language
    has this share of the tokens; not below the lowest old score, on which the penalty
    of unknown characters depends; and, as in `raise_shadowed`, 2^-10 above the best
    split where that would win, shortest pieces first.
    """
    lowest = math.ceil(float(np.min(contents.scores)) / STEP) * STEP
    shifted = round_scores(np.array(list(new.values())) + math.log(share))
    own = dict(zip(new, np.maximum(shifted, lowest).tolist(), strict=True))
    table = lattice_scores(contents) | own
    _raise_above_splits(contents, new, table)
    return {piece: table[piece] for piece in new}


def lattice_scores(contents: Contents) -> dict[str, float]:
    """The scores of the pieces and user-defined symbols of `contents` in a lattice
    (`unigram_model.cc`).
    """
    scores = np.asarray(contents.scores, np.float64).tolist()
    highest = max(0.0, max(scores))
    table = dict(zip(contents.pieces, scores, strict=True))
    return table | {one: len(one.encode()) * highest + SYMBOL_SCORE for one in contents.symbols}


def dead_pieces(proto: Any, among: Collection[str] | None = None) -> dict[str, list[str]]:
    """Every dead piece of a `ModelProto`, with the pieces that its string becomes, by
    SentencePiece itself.

    All pieces of type NORMAL are tried, or those `among` some; in the order of their
    ids.
    """
    processor = bare_processor(proto)
    pieces = [
        (index, entry.piece)
        for index, entry in enumerate(proto.pieces)
        if entry.type == NORMAL and (among is None or entry.piece in among)
    ]
    answers = processor.encode([piece for _, piece in pieces], out_type=int, num_threads=1)
    return {
        piece: processor.id_to_piece(ids)
        for (index, piece), ids in zip(pieces, answers, strict=True)
        if ids != [index]
    }


def bare_processor(proto: Any) -> Any:
    """The model with an identity normaliser and no dummy prefix: a string reaches the
    lattice as it is. Raises VocapError where SentencePiece does not load it.
    """
    identity = sentencepiece_model_pb2.NormalizerSpec(
        name="identity",
        add_dummy_prefix=False,
        remove_extra_whitespaces=False,
        escape_whitespaces=False,
    )
    bare = sentencepiece_model_pb2.ModelProto(
        pieces=proto.pieces, trainer_spec=proto.trainer_spec, normalizer_spec=identity
    )
    return model_file.build_processor(bare, "the model that was built")


def describe(
    kind: str,
    proto: Any,
    settings: Mapping[str, Any],
    scores: str,
    owners: Mapping[str, Sequence[str]],
    status: Mapping[str, str],
    shadows: Mapping[str, Sequence[str]],
    left_out: Sequence[tuple[str, float]] = (),
    **more: Any,
) -> tuple[list[tuple[Any, ...]], dict[str, Any]]:
    """Rows of `pieces.tsv`, and the entries of `description.json`: those of every kind,
    and `more` for some.

    Rows are the pieces and symbols by id, then those `left_out` (piece, score), without
    an id. `owners`: piece to languages; `status`: that of pieces which are not `ok`;
    `shadows`: the segmentation of a raised or dead piece.
    """
    kinds = {NORMAL: "ok", USER_DEFINED: "symbol"}
    entries: list[tuple[Any, ...]] = [
        (entry.piece, number, entry.score, status.get(entry.piece, kinds[entry.type]))
        for number, entry in enumerate(proto.pieces)
        if entry.type in kinds
    ]
    entries += [(piece, None, score, "dropped") for piece, score in left_out]
    rows = [
        (piece, *entry, ",".join(owners.get(piece, ())), state, " ".join(shadows.get(piece, ())))
        for piece, *entry, state in entries
    ]
    # entries
    pieces = len(pieces_of(proto, NORMAL))
    dead = list(status.values()).count("dead")
    description = {
        "kind": kind,
        "total": len(proto.pieces),
        "settings": dict(settings),
        "scores": scores,
        "rounding": ROUNDING,
        "pieces": pieces,
        "dead": dead,
        "dead_share": dead / pieces,
        **more,
        "versions": {"vocap": __version__, "sentencepiece": sentencepiece.__version__},
    }
    return rows, description
