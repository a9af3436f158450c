"""The Hugging Face form of a tokenizer: the same ids, `AutoTokenizer` loads it, no code comes with it."""

import logging
from collections.abc import Sequence
from pathlib import Path

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
)

from vocap.errors import VocapError
from vocap.tokenizer_files.charsmap import read_charsmap
from vocap.tokenizer_files.encoders import SentencePieceEncoder
from vocap.tokenizer_files.hugging_face import template, write_folder
from vocap.tokenizer_files.id_layout import MASK, IdLayout, layout_of, role_ids
from vocap.tokenizer_files.layout import STEP, check_spaces
from vocap.tokenizer_files.model_file import (
    BYTE,
    CONTROL,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    build_processor,
    read_model,
)
from vocap.tokenizer_files.normalizer import SPACE, build_normalizer
from vocap.tokenizer_files.placeholders import inert_characters
from vocap.tokenizer_files.placeholders import literal as literal_expression

logger = logging.getLogger(__name__)

MAX_SCORE = 128.0  # nats: sums of 128 pieces and more are exact in float32 (multiples of 2^-10 below 2^14)
NEVER = -1e6  # the score of pieces that text must not match: `Unigram` would match them, SentencePiece does not
FLT_MIN = 2.0**-126  # where SentencePiece's search for the highest score starts
WORDS_APART = [pre_tokenizers.Split(SPACE, "merged_with_next")]


def build_tokenizer(proto, name: str = "the model", layout: IdLayout | None = None) -> Tokenizer:
    """The `tokenizers.Tokenizer` that gives the ids of SentencePiece's model `proto`, id by id.

    `proto` is a checked `ModelProto` of type unigram; `name` is said in errors; `layout` says which special tokens
    stand around a text, by default those that the model has.
    Raises VocapError for a model of another kind or with a setting that tokenizer.json cannot hold.
    """
    _check(proto, name)
    symbols = [entry.piece for entry in proto.pieces if entry.type == USER_DEFINED]
    text_pieces = [entry.piece for entry in proto.pieces if entry.type in (NORMAL, USER_DEFINED)]
    _warn_of_unknown_characters([entry.piece for entry in proto.pieces if entry.type == NORMAL], symbols, name)
    tokenizer = Tokenizer(
        models.Unigram(
            scores_of(proto),
            unk_id=role_ids(proto)["unk"],
            byte_fallback=bool(proto.trainer_spec.byte_fallback),
        )
    )
    normalizer = normalizer_of(proto, name)
    splits = []
    if SPACE in text_pieces and not any(SPACE in piece[1:] for piece in text_pieces):
        # words apart: the best path of a line is that of its words, which `Unigram` remembers; but an unknown
        # U+2581 is one token with the unknown characters before it
        splits += WORDS_APART
    if unknown := unknown_in_literals(proto):
        if proto.trainer_spec.byte_fallback:
            splits.append(pre_tokenizers.Split(Regex(unknown), "isolated"))
        else:  # another unknown character; runs of them still become one token
            known = set("".join(text_pieces))
            other = next(character for character in inert_characters() if character not in known)
            normalizer = normalizers.Sequence([normalizer, normalizers.Replace(Regex(unknown), other)])
    tokenizer.normalizer = normalizer
    if splits:
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(splits)
    tokenizer.decoder = _decoder(proto)
    ids = {entry.piece: number for number, entry in enumerate(proto.pieces)}
    tokenizer.post_processor = template(layout or layout_of(proto), ids)
    controls = [entry.piece for entry in proto.pieces if entry.type in (CONTROL, UNKNOWN)]
    tokenizer.add_special_tokens(
        [AddedToken(token, lstrip=token == MASK, normalized=False, special=True) for token in controls]
    )
    _check_ids(tokenizer, proto, name)
    return tokenizer


def normalizer_of(proto, name: str = "the model") -> normalizers.Normalizer:
    """The normaliser of `proto` as `tokenizers` has it. Raises VocapError where it cannot be expressed."""
    spec = proto.normalizer_spec
    symbols = [entry.piece for entry in proto.pieces if entry.type == USER_DEFINED]
    rules = read_charsmap(spec.precompiled_charsmap, name)
    try:
        return build_normalizer(
            rules, spec.precompiled_charsmap, symbols, spec.add_dummy_prefix, spec.remove_extra_whitespaces
        )
    except VocapError as error:
        raise VocapError(f"{name}: {error}") from None


def scores_of(proto) -> list[tuple[str, float]]:
    """Piece and score by id, as `Unigram` must see them to choose what `Model::EncodeOptimized` chooses.

    A user-defined symbol scores 0.1 below the highest piece score for each of its bytes (which is 0 where all
    scores are negative). Control, unknown and byte pieces are `NEVER`.
    """
    highest = max((entry.score for entry in proto.pieces if entry.type == NORMAL), default=0.0)
    bonus = max(highest, FLT_MIN)
    scores = []
    for entry in proto.pieces:
        if entry.type == NORMAL:
            score = entry.score
        elif entry.type == USER_DEFINED:
            score = len(entry.piece.encode("utf-8")) * bonus - 0.1
        else:
            score = NEVER
        scores.append((entry.piece, score))
    return scores


def unknown_in_literals(proto) -> str:
    """A regular expression of the unknown character in a literal `<s>` of the text; empty where there is none.

    Against a path with an unknown character, `Unigram` would prefer the piece `<s>`, whatever its score: the
    penalty of the former is counted from the lowest score. One character of each such literal (special tokens,
    byte pieces) that no piece can cover there is enough to tell it from the piece.
    """
    text_pieces = [entry.piece for entry in proto.pieces if entry.type in (NORMAL, USER_DEFINED)]
    holding: dict[str, list[str]] = {}
    places: dict[tuple[str, str], list[str]] = {}  # the literal before a character, and it: what follows
    for literal in (entry.piece for entry in proto.pieces if entry.type in (CONTROL, UNKNOWN, BYTE)):
        for place in sorted(range(len(literal)), key=lambda place: literal[place].isalnum()):
            character = literal[place]
            if character not in holding:
                holding[character] = [piece for piece in text_pieces if character in piece]
            if not any(_covers(piece, literal, place) for piece in holding[character]):
                places.setdefault((literal[:place], character), []).append(literal[place + 1 :])
                break
    return "|".join(
        f"(?<={literal_expression(before)}){literal_expression(character)}"
        f"(?={'|'.join(map(literal_expression, sorted(after)))})"
        for (before, character), after in places.items()
    )


def _covers(piece: str, literal: str, place: int) -> bool:
    """Whether the piece, laid over the literal in any way, may hold its character at `place`."""
    for own, character in enumerate(piece):
        if character == literal[place]:
            shift = place - own
            shared = range(max(0, shift), min(len(literal), shift + len(piece)))
            if all(literal[position] == piece[position - shift] for position in shared):
                return True
    return False


def export(model: str | Path, output: str | Path, layout: IdLayout | None = None) -> int:
    """Write the files `EXPORTED` of `model` as the folder `output`, in the place of an older one and its card.

    Returns the number of ids. Raises VocapError as `build_tokenizer` and `read_model` do, UsageError where
    `output` holds anything else.
    """
    return write_export(read_model(model), str(model), output, layout)


def write_export(proto, name: str, output: str | Path, layout: IdLayout | None = None) -> int:
    """As `export`, of a checked `ModelProto` that errors and warnings call `name`.

    `layout` gives the special tokens around a text and the longest input; by default `layout_of` the model.
    """
    own = layout_of(proto)
    layout = layout or own
    if set(layout.names) != set(own.names):
        raise VocapError(
            f"{name}: its special tokens are {', '.join(own.names)}, not those of the layout, "
            f"{', '.join(layout.names)}; give the layout that it was made with"
        )
    tokenizer = build_tokenizer(proto, name, layout)
    tokens = {role: proto.pieces[number].piece for role, number in role_ids(proto).items()}
    one = SentencePieceEncoder(build_processor(proto, name))
    forms = {"sentencepiece": one.encode_batch}
    write_folder(output, tokenizer, tokens, layout.model_max_length, one.pieces, forms)
    return len(proto.pieces)


def _check(proto, name: str) -> None:
    from sentencepiece import sentencepiece_model_pb2

    kind = proto.trainer_spec.model_type
    if kind != sentencepiece_model_pb2.TrainerSpec.UNIGRAM:
        kind = sentencepiece_model_pb2.TrainerSpec.ModelType.Name(kind)
        raise VocapError(f"{name}: a model of type {kind}; only unigram models are exported")
    check_spaces(proto, name)
    if unused := [entry.piece for entry in proto.pieces if entry.type == UNUSED]:
        raise VocapError(
            f"{name}: the piece {unused[0]!r} is of type UNUSED, which tokenizer.json cannot hold; take it out"
        )
    _check_scores([entry for entry in proto.pieces if entry.type == NORMAL], name)


def _check_scores(entries: Sequence, name: str) -> None:
    """Raise VocapError for a score whose sums differ between float32 and float64; warn of sums that may."""
    beyond = [entry for entry in entries if not abs(entry.score) <= MAX_SCORE]  # true of a NaN
    if beyond:
        raise VocapError(
            f"{name}: {len(beyond)} pieces have scores beyond {MAX_SCORE:.0f} nats, such as {beyond[0].piece!r} "
            f"with {beyond[0].score:g}: SentencePiece's 32-bit sums and the 64-bit sums of tokenizers would "
            "choose different pieces; train the model again"
        )
    rough = sum(entry.score % STEP != 0 for entry in entries)
    if rough:
        logger.warning(
            "%s: %d scores are no multiples of 2^-10: the two forms may choose different pieces of equal score; "
            "vocap mono rounds them, parity.tsv says how often",
            name,
            rough,
        )


def _check_ids(tokenizer: Tokenizer, proto, name: str) -> None:
    """Every piece has its id of the model, and there are no others."""
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    for number, entry in enumerate(proto.pieces):
        if vocabulary.get(entry.piece) != number:
            raise VocapError(
                f"{name}: piece {entry.piece!r} has id {number}, in the export {vocabulary.get(entry.piece)}; "
                "is it there twice?"
            )
    if len(vocabulary) != len(proto.pieces):
        raise VocapError(f"{name}: {len(proto.pieces)} pieces became {len(vocabulary)} tokens; make it anew")


def _warn_of_unknown_characters(pieces: list[str], symbols: list[str], name: str) -> None:
    """The penalty of an unknown character depends on `NEVER`: without effect while each character is a piece."""
    single = {piece for piece in (*pieces, *symbols) if len(piece) == 1}
    without = sorted(set("".join(pieces)) - single)
    if without:
        logger.warning(
            "%s: %d characters occur in pieces and are none themselves (%s): where they stand alone, "
            "SentencePiece and the export may differ; parity.tsv says how often",
            name,
            len(without),
            " ".join(without[:20]),
        )
    for symbol in symbols:
        if not (unknown := set(symbol) - single):
            continue
        ends = tuple(symbol[place:] for place in range(1, len(symbol)))
        if over := [piece for piece in pieces if piece.startswith(ends) and not symbol.endswith(piece)]:
            logger.warning(
                "%s: the piece %r begins inside the symbol %r, whose character %r is no piece: where both could "
                "stand, SentencePiece and the export may differ; parity.tsv says how often",
                name,
                over[0],
                symbol,
                min(unknown),
            )


def _decoder(proto) -> decoders.Decoder:
    if not proto.trainer_spec.byte_fallback:
        scheme = "always" if proto.normalizer_spec.add_dummy_prefix else "never"
        return decoders.Metaspace(replacement=SPACE, prepend_scheme=scheme, split=False)
    steps = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    if proto.normalizer_spec.add_dummy_prefix:
        steps.append(decoders.Replace(Regex(r"\A "), ""))
    return decoders.Sequence(steps)
