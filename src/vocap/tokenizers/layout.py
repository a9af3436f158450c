"""The layout that every tokenizer shares: XLM-R's ids, rounded scores, a model file of exactly T ids.

`<s>` 0, `<pad>` 1, `</s>` 2, `<unk>` 3, then 256 byte pieces if asked for, user-defined symbols, the pieces by
(score descending, string ascending), and `<mask>` T - 1.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from sentencepiece import SentencePieceProcessor, sentencepiece_model_pb2

from vocap.errors import VocapError
from vocap.tokenizers.settings import META
from vocap.vocabularies.model_file import BYTE, CONTROL, NORMAL, UNKNOWN, USER_DEFINED

STEP = 2.0**-10  # sums of its multiples are exact in float32 (SentencePiece) and float64 (tokenizers) below 2^14
BYTES = [f"<0x{value:02X}>" for value in range(256)]
ROUNDING = "every piece score is rounded to the nearest multiple of 2^-10, so that float32 and float64 sums agree"


@dataclass(frozen=True)
class Contents:
    """What a tokenizer is made of, whatever the layout: distinct `pieces`, `scores` float [n] (natural log)."""

    pieces: list[str]
    scores: np.ndarray
    symbols: list[str] = field(default_factory=list)
    byte_fallback: bool = False

    @property
    def rows(self) -> int:
        """T: the ids of the final tokenizer."""
        return len(META) + 256 * self.byte_fallback + len(self.symbols) + len(self.pieces)


def round_scores(scores: np.ndarray) -> np.ndarray:
    """Scores [n] on the grid of 2^-10, float64."""
    return np.rint(np.asarray(scores, np.float64) / STEP) * STEP


def build_model(contents: Contents, normalizer_spec):
    """The `ModelProto` of `contents` in the shared layout; scores are rounded here. Raises as `lay_out`."""
    return lay_out(replace(contents, scores=round_scores(contents.scores)), normalizer_spec)


def lay_out(contents: Contents, normalizer_spec):
    """The `ModelProto` of `contents` in the shared layout, every score as it is.

    `normalizer_spec` is that of a trained model, so that text is normalised as in its training.
    Raises VocapError for a piece that stands twice, is empty, or has the name of another row.
    """
    scores = np.asarray(contents.scores, np.float64)
    if not np.isfinite(scores).all():
        worst = contents.pieces[int(np.flatnonzero(~np.isfinite(scores))[0])]
        raise VocapError(f"the score of piece {worst!r} is not a finite number; every piece needs one")
    taken = set(META) | set(contents.symbols) | (set(BYTES) if contents.byte_fallback else set())
    for piece in contents.pieces:
        if not piece or "\0" in piece:
            raise VocapError(f"a piece is {piece!r}; SentencePiece takes neither an empty piece nor a NUL")
        if piece in taken:
            raise VocapError(f"the piece {piece!r} stands twice among the ids; remove one of the two")
        taken.add(piece)
    proto = sentencepiece_model_pb2.ModelProto()

    def add(piece: str, score: float, kind: int) -> None:
        proto.pieces.add(piece=piece, score=score, type=kind)

    for meta in META[:-1]:
        add(meta, 0.0, UNKNOWN if meta == "<unk>" else CONTROL)
    for name in BYTES if contents.byte_fallback else ():
        add(name, 0.0, BYTE)
    for symbol in contents.symbols:
        add(symbol, 0.0, USER_DEFINED)
    for score, piece in sorted(zip((-scores).tolist(), contents.pieces, strict=True)):
        add(piece, -score, NORMAL)
    add(META[-1], 0.0, CONTROL)
    proto.normalizer_spec.CopyFrom(normalizer_spec)
    spec = proto.trainer_spec  # nothing of where and when it was trained: equal contents, equal bytes
    spec.model_type = sentencepiece_model_pb2.TrainerSpec.UNIGRAM
    spec.vocab_size = len(proto.pieces)
    spec.bos_id, spec.pad_id, spec.eos_id, spec.unk_id = (
        META.index(name) for name in ("<s>", "<pad>", "</s>", "<unk>")
    )
    spec.bos_piece, spec.pad_piece, spec.eos_piece, spec.unk_piece = "<s>", "<pad>", "</s>", "<unk>"
    spec.byte_fallback = contents.byte_fallback
    spec.user_defined_symbols.extend(contents.symbols)
    return proto


def read_contents(proto, name: str) -> Contents:
    """The pieces, symbols and byte fallback of any unigram `ModelProto`; `name` is said in errors.

    Special tokens are left out: the layout brings its own. Raises VocapError for a model of another type, and as
    `check_spaces`.
    """
    check_spaces(proto, name)
    if proto.trainer_spec.model_type != sentencepiece_model_pb2.TrainerSpec.UNIGRAM:
        kind = sentencepiece_model_pb2.TrainerSpec.ModelType.Name(proto.trainer_spec.model_type)
        raise VocapError(f"{name}: a model of type {kind}; train it with --model_type=unigram")
    pieces, scores, symbols, byte_rows = [], [], [], 0
    for entry in proto.pieces:
        if entry.type == NORMAL:
            pieces.append(entry.piece)
            scores.append(entry.score)
        elif entry.type == USER_DEFINED:
            symbols.append(entry.piece)
        elif entry.type == BYTE:
            byte_rows += 1
    if byte_rows not in (0, 256):
        raise VocapError(f"{name}: {byte_rows} byte pieces; a model has none or 256: train it again")
    if not pieces:
        raise VocapError(f"{name}: no pieces besides the special tokens; train it again")
    return Contents(pieces, np.array(scores, np.float64), symbols, byte_rows == 256)


def check_spaces(proto, name: str) -> None:
    """Raise VocapError where spaces are not the beginnings of words, which no tokenizer here can hold."""
    if not proto.normalizer_spec.escape_whitespaces or proto.trainer_spec.treat_whitespace_as_suffix:
        raise VocapError(
            f"{name}: its spaces are not the beginnings of words (escape_whitespaces, "
            "treat_whitespace_as_suffix); train it with SentencePiece's defaults"
        )


def serialize(proto) -> bytes:
    """The bytes of the model file; raises VocapError unless SentencePiece loads them with the ids as laid out.

    `<mask>` may stand anywhere: behind it are the pieces of a language that was added later.
    """
    data = proto.SerializeToString(deterministic=True)
    total = len(proto.pieces)
    try:
        processor = SentencePieceProcessor(model_proto=data)
    except RuntimeError as error:
        raise VocapError(f"SentencePiece does not load the model that was built: {error}") from None
    ids = [processor.bos_id(), processor.pad_id(), processor.eos_id(), processor.unk_id()]
    mask = processor.piece_to_id("<mask>")
    if ids != [0, 1, 2, 3] or processor.get_piece_size() != total or proto.pieces[mask].piece != "<mask>":
        raise VocapError(
            f"SentencePiece reads other ids than were laid out: {ids}, {processor.get_piece_size()} rows"
        )
    return data
