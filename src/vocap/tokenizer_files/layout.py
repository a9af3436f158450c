"""The model file of a tokenizer: ids in the order that all of a run share, rounded scores, exactly T ids.

Special tokens (XLM-R's: `<s>` 0, `<pad>` 1, `</s>` 2, `<unk>` 3), then control symbols, reserved ids, 256 byte
pieces if asked for, user-defined symbols, the pieces by (score descending, string ascending), and `<mask>` T - 1.
"""

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
from sentencepiece import sentencepiece_model_pb2

from vocap.errors import VocapError
from vocap.tokenizer_files.id_layout import MASK, XLM_R_LAYOUT, IdLayout, layout_of, set_roles
from vocap.tokenizer_files.model_file import (
    BYTE,
    BYTES,
    CONTROL,
    NORMAL,
    SHAPE,
    UNKNOWN,
    USER_DEFINED,
    build_processor,
)

STEP = 2.0**-10  # sums of its multiples are exact in float32 (SentencePiece) and float64 (tokenizers) below 2^14
ROUNDING = "every piece score is rounded to the nearest multiple of 2^-10, so that float32 and float64 sums agree"


@dataclass(frozen=True)
class Contents:
    """The content of a tokenizer in any layout: distinct `pieces`, `scores` float [n] (natural log)."""

    pieces: list[str]
    scores: np.ndarray
    symbols: list[str] = field(default_factory=list)
    byte_fallback: bool = False
    controls: list[str] = field(default_factory=list)

    def rows(self, layout: IdLayout = XLM_R_LAYOUT) -> int:
        """T: the ids of the final tokenizer."""
        others = len(self.controls) + 256 * self.byte_fallback + len(self.symbols)
        return layout.rows + others + len(self.pieces)


def round_scores(scores: np.ndarray) -> np.ndarray:
    """Scores [n] on the grid of 2^-10, float64."""
    return np.rint(np.asarray(scores, np.float64) / STEP) * STEP


def build_model(contents: Contents, normalizer_spec, layout: IdLayout = XLM_R_LAYOUT, trained=None):
    """The `ModelProto` of `lay_out`, with the scores rounded."""
    return lay_out(replace(contents, scores=round_scores(contents.scores)), normalizer_spec, layout, trained)


def lay_out(contents: Contents, normalizer_spec, layout: IdLayout = XLM_R_LAYOUT, trained=None):
    """The `ModelProto` of `contents` in the layout, every score as it is.

    `normalizer_spec` is that of a trained model, so that text is normalised as in its training; `trained`: its
    `TrainerSpec`, of which the keys of `SHAPE` are kept, for trainings that are to agree with it.
    Raises VocapError for two rows of one name, and for a score that is no number.
    """
    scores = np.asarray(contents.scores, np.float64)
    if infinite := [contents.pieces[place] for place in np.flatnonzero(~np.isfinite(scores))]:
        raise VocapError(f"the score of piece {infinite[0]!r} is not a finite number; every piece needs one")
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
    for score, piece in sorted(zip((-scores).tolist(), contents.pieces, strict=True)):
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


def read_contents(proto, name: str) -> Contents:
    """The pieces, symbols and byte fallback of any unigram `ModelProto`; `name` is said in errors.

    Its special tokens, reserved ids and mask (`layout_of`) are left out: a layout brings its own. Raises
    VocapError as `check_unigram`.
    """
    check_unigram(proto, name)
    pieces, scores, symbols, controls = [], [], [], []
    own = set(layout_of(proto).names)
    for entry in proto.pieces:
        if entry.type == NORMAL:
            pieces.append(entry.piece)
            scores.append(entry.score)
        elif entry.type == USER_DEFINED:
            symbols.append(entry.piece)
        elif entry.type == CONTROL and entry.piece not in own:
            controls.append(entry.piece)
    has_bytes = any(entry.type == BYTE for entry in proto.pieces)
    if not pieces:
        raise VocapError(f"{name}: no pieces besides the special tokens; train it again")
    return Contents(pieces, np.array(scores, np.float64), symbols, has_bytes, controls)


def check_unigram(proto, name: str) -> None:
    """Raise VocapError for a model of another type, or whose spaces are not the beginnings of words."""
    if proto.trainer_spec.model_type != sentencepiece_model_pb2.TrainerSpec.UNIGRAM:
        kind = sentencepiece_model_pb2.TrainerSpec.ModelType.Name(proto.trainer_spec.model_type)
        raise VocapError(f"{name}: a model of type {kind}; train it with --model_type=unigram")
    if not proto.normalizer_spec.escape_whitespaces or proto.trainer_spec.treat_whitespace_as_suffix:
        raise VocapError(
            f"{name}: its spaces are not the beginnings of words (escape_whitespaces, "
            "treat_whitespace_as_suffix); train it with SentencePiece's defaults"
        )


def serialize(proto) -> bytes:
    """The bytes of the model file. Raises VocapError where SentencePiece does not load it."""
    build_processor(proto, "the model that was built")
    return proto.SerializeToString(deterministic=True)


def relayout(proto, name: str, layout: IdLayout = XLM_R_LAYOUT):
    """The `ModelProto` of a stock model (`<unk> <s> </s>` first) in the layout.

    All its pieces stay, with their scores rounded: in XLM-R's layout a model of `size` ids becomes one of
    size + 2. `name` is said in errors. Raises VocapError for a model that is not unigram or has no pieces.
    """
    contents = read_contents(proto, name)
    controls = [control for control in contents.controls if control not in layout.names]
    return build_model(
        replace(contents, controls=controls), proto.normalizer_spec, layout, trained=proto.trainer_spec
    )
