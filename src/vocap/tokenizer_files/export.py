"""The Hugging Face form of a tokenizer: the same ids, `AutoTokenizer` loads it, no code
comes with it.
"""

import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

from vocap.errors import VocapError, log
from vocap.files.io import read_object, replacing_directory, write_json, write_text
from vocap.tokenizer_files import CARD, CHAT_TEMPLATE, EXPORTED, TEMPLATES
from vocap.tokenizer_files.charsmap import read_charsmap
from vocap.tokenizer_files.encoders import HuggingFaceEncoder
from vocap.tokenizer_files.hard_strings import HARD
from vocap.tokenizer_files.id_layout import MASK, TOKEN_ROLES, IdLayout, layout_of, role_ids
from vocap.tokenizer_files.layout import STEP, check_unigram
from vocap.tokenizer_files.model_file import (
    BYTE,
    CONTROL,
    NORMAL,
    UNKNOWN,
    USER_DEFINED,
    build_processor,
    ids_of,
    pieces_of,
    read_model,
)
from vocap.tokenizer_files.normalizer import (
    SPACE,
    build_normalizer,
    inert_characters,
)
from vocap.tokenizer_files.normalizer import literal as literal_expression

# the score of pieces that text must not match: `Unigram` would match them,
# SentencePiece does not
NEVER = -1e6
FLT_MIN = 2.0**-126  # where SentencePiece's search for the highest score starts

NOTHING: Mapping[str, Any] = MappingProxyType({})
SHOWN = 200  # characters of a line in a message
FLAGS = ("single_word", "lstrip", "rstrip", "normalized")  # of an added token
# of another tokenizer_config.json: its tokens, and the class and its code
REPLACED = (
    "added_tokens_decoder",
    "additional_special_tokens",
    "extra_special_tokens",
    "tokenizer_class",
    "auto_map",
    "backend",
)
# classes that give token types where the configuration does not say so
WITH_TYPES = (
    "PreTrainedTokenizerFast",
    "TokenizersBackend",
    "Albert",
    "Deberta",
    "FNet",
    "Herbert",
    "RemBert",
    "XLNet",
)


def build_tokenizer(
    proto: Any, name: str = "the model", layout: IdLayout | None = None
) -> Tokenizer:
    """The `tokenizers.Tokenizer` that gives the ids of SentencePiece's model `proto`,
    id by id.

    `proto` is a checked `ModelProto` of type unigram; `name` is said in errors;
    `layout` says which special tokens stand around a text, by default those that the
    model has. Raises VocapError for a model of another kind or with a setting that
    tokenizer.json cannot hold.
    """
    _check(proto, name)
    # pieces and scores
    tokenizer = Tokenizer(
        models.Unigram(
            scores_of(proto),
            unk_id=role_ids(proto)["unk"],
            byte_fallback=bool(proto.trainer_spec.byte_fallback),
        )
    )
    tokenizer.normalizer, tokenizer.pre_tokenizer = _steps(proto, name)
    # decoder, special tokens
    tokenizer.decoder = _decoder(proto)
    tokenizer.post_processor = special_tokens_step(layout or layout_of(proto), ids_of(proto))
    tokenizer.add_special_tokens(
        [
            AddedToken(token, lstrip=token == MASK, normalized=False, special=True)
            for token in pieces_of(proto, CONTROL, UNKNOWN)
        ]
    )
    return tokenizer


def _steps(
    proto: Any, name: str
) -> tuple[normalizers.Normalizer, pre_tokenizers.PreTokenizer | None]:
    """The normaliser, and the pre-tokeniser that keeps words apart."""
    text_pieces = pieces_of(proto, NORMAL, USER_DEFINED)
    normalizer = normalizer_of(proto, name)
    splits: list[pre_tokenizers.PreTokenizer] = []
    if SPACE in text_pieces and not any(SPACE in piece[1:] for piece in text_pieces):
        # words apart: the best path of a line is that of its words, which `Unigram`
        # remembers; but an unknown U+2581 is one token with the unknown characters
        # before it. Metaspace, since clients in JavaScript know no Split with its next
        splits.append(pre_tokenizers.Metaspace(SPACE, "never", split=True))
    if unknown := unknown_in_literals(proto, text_pieces):
        if proto.trainer_spec.byte_fallback:
            splits.append(pre_tokenizers.Split(Regex(unknown), "isolated"))
        else:  # another unknown character; runs of them still become one token
            known = set("".join(text_pieces))
            other = next(character for character in inert_characters() if character not in known)
            normalizer = normalizers.Sequence(
                [normalizer, normalizers.Replace(Regex(unknown), other)]
            )
    return normalizer, pre_tokenizers.Sequence(splits) if splits else None


def pipeline(proto: Any, name: str) -> dict[str, Any]:
    """The steps of tokenizer.json that `build_tokenizer` makes for the pieces of
    `proto`: they depend on the characters that are pieces.
    """
    holder = Tokenizer(models.Unigram())
    holder.normalizer, holder.pre_tokenizer = _steps(proto, name)
    content = json.loads(holder.to_str())
    return {step: content[step] for step in ("normalizer", "pre_tokenizer")}


def normalizer_of(proto: Any, name: str = "the model") -> normalizers.Normalizer:
    """The normaliser of `proto` as `tokenizers` has it. Raises VocapError where it
    cannot be expressed.
    """
    spec = proto.normalizer_spec
    rules = read_charsmap(spec.precompiled_charsmap)
    try:
        return build_normalizer(
            rules,
            spec.precompiled_charsmap,
            pieces_of(proto, USER_DEFINED),
            spec.add_dummy_prefix,
            spec.remove_extra_whitespaces,
        )
    except VocapError as error:
        raise VocapError(f"{name}: {error}") from None


def scores_of(proto: Any) -> list[tuple[str, float]]:
    """Piece and score by id, as `Unigram` must see them to choose what
    `Model::EncodeOptimized` chooses.

    A user-defined symbol scores 0.1 below the highest piece score for each of its bytes
    (which is 0 where all scores are negative). Control, unknown and byte pieces are
    `NEVER`.
    """
    bonus = max((entry.score for entry in proto.pieces if entry.type == NORMAL), default=0.0)
    bonus = max(bonus, FLT_MIN)

    def score(entry: Any) -> float:
        if entry.type == USER_DEFINED:
            return len(entry.piece.encode()) * bonus - 0.1
        return entry.score if entry.type == NORMAL else NEVER

    return [(entry.piece, score(entry)) for entry in proto.pieces]


def unknown_in_literals(proto: Any, text_pieces: Sequence[str]) -> str:
    """A regular expression of the unknown character in a literal `<s>` of the text;
    empty where there is none; `text_pieces`: the pieces that text may match.

    Against a path with an unknown character, `Unigram` would prefer the piece `<s>`,
    whatever its score: the penalty of the former is counted from the lowest score. One
    character of each such literal (special tokens, byte pieces) that no piece can cover
    there is enough to tell it from the piece.
    """

    @cache
    def holding(character: str) -> list[str]:
        return [piece for piece in text_pieces if character in piece]

    # the literal before a character, and it: what follows
    places: dict[tuple[str, str], list[str]] = {}
    for literal in pieces_of(proto, CONTROL, UNKNOWN, BYTE):
        for place in sorted(range(len(literal)), key=lambda place: literal[place].isalnum()):
            character = literal[place]
            if not any(_covers(piece, literal, place) for piece in holding(character)):
                places.setdefault((literal[:place], character), []).append(literal[place + 1 :])
                break
    return "|".join(
        f"(?<={literal_expression(before)}){literal_expression(character)}"
        f"(?={'|'.join(map(literal_expression, sorted(after)))})"
        for (before, character), after in places.items()
    )


def _covers(piece: str, literal: str, place: int) -> bool:
    """Whether the piece, laid over the literal in any way, may hold its character at
    `place`.
    """
    return any(
        literal[max(start, 0) : start + len(piece)] == piece[max(-start, 0) : len(literal) - start]
        for start in range(place - len(piece) + 1, place + 1)
    )


def special_tokens_step(layout: IdLayout, ids: Mapping[str, int]) -> processors.TemplateProcessing:
    """The special tokens around one text and around two, which an end token separates
    twice, as in XLM-R.
    """
    first, last = ([side] if side else [] for side in layout.around)
    between = [*last, *last] if first and last else [*last, *first]
    return processors.TemplateProcessing(
        single=[*first, "$A", *last],
        pair=[*first, "$A", *between, "$B", *last],
        special_tokens=[(token, ids[token]) for token in dict.fromkeys([*first, *last])],
    )


def export_unigram(
    model: str | Path,
    output: str | Path,
    layout: IdLayout | None = None,
    lines: Iterable[str] = HARD,
) -> int:
    """Write the files `EXPORTED` of `model` as the folder `output`, in the place of an
    older one and its card, if it encodes `lines` as the model does.

    Chat templates beside the model go with it; that of the layout is the first. Returns
    the number of ids. Raises VocapError as `build_tokenizer`, `read_model` and
    `compare_forms` do, UsageError where `output` holds anything else.
    """
    chat = find_templates(Path(model))
    return write_export(read_model(model), str(model), output, layout, chat, lines=lines)


def write_export(
    proto: Any,
    name: str,
    output: str | Path,
    layout: IdLayout | None,
    chat: Mapping[str, str],
    given: Mapping[str, Any] = NOTHING,
    lines: Iterable[str] = HARD,
) -> int:
    """Write the files of a checked `ModelProto`, as `export_unigram`; errors and
    warnings call it `name`.

    `layout` gives the special tokens around a text, the longest input and the first
    chat template; by default `layout_of` the model, and that of `chat`, as in
    `find_templates`; `given` as in `configuration`.
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
    if template := layout.read_template(pieces_of(proto, CONTROL, USER_DEFINED)):
        chat = {**chat, CHAT_TEMPLATE: template}
    check = partial(compare_forms, proto, name, lines)
    write_folder(output, tokenizer, tokens, layout.use, chat, given, check)
    return len(proto.pieces)


def compare_forms(proto: Any, name: str, lines: Iterable[str], definition: Path) -> None:
    """Raise VocapError, which names the line, unless the tokenizer.json `definition`
    gives the ids of the model `proto` for each of `lines`.
    """
    texts = list(lines)
    wanted = build_processor(proto, name).encode(texts, num_threads=1)
    encoder = HuggingFaceEncoder(Tokenizer.from_file(str(definition)), None)
    for text, own, other in zip(texts, wanted, encoder.encode_batch(texts), strict=True):
        if own != other:
            raise VocapError(
                f"{name}: SentencePiece and tokenizer.json give other ids for the line "
                f"{text[:SHOWN]!r}; nothing is exported, see the limits of the export in "
                "docs/tokenizers.md"
            )


def find_settings(file: Path, folders: Sequence[str] = ("",)) -> dict[str, Any]:
    """The tokenizer_config.json in the folder of a tokenizer's file, or in the first of
    `folders` there that has one; empty without.
    """
    places = (file.parent / name / EXPORTED[1] for name in folders)
    return next((read_object(place) for place in places if place.is_file()), {})


def find_templates(file: Path, folders: Sequence[str] = ("",)) -> dict[str, str]:
    """The chat templates, by their paths in it, of the folder of a tokenizer's file, or
    of the first of `folders` there that has one.
    """
    for place in (file.parent / name for name in folders):
        paths = [*place.glob(CHAT_TEMPLATE), *sorted(place.glob(f"{TEMPLATES}/*.jinja"))]
        if paths:
            return {path.relative_to(place).as_posix(): path.read_text("utf-8") for path in paths}
        chat = find_settings(place / EXPORTED[1]).get("chat_template")
        if isinstance(chat, str):
            return {CHAT_TEMPLATE: chat}
    return {}


def write_templates(folder: Path, chat: Mapping[str, str]) -> None:
    """Write the chat templates `chat`, as `find_templates` gives them."""
    for name, text in chat.items():
        (folder / name).parent.mkdir(exist_ok=True)
        write_text(folder / name, text)


def copy_export(source: Path, folder: Path) -> None:
    """Copy an export from the folder `source`, but for its card, which another job may
    be writing.
    """
    for name in EXPORTED:
        if (source / name).is_file():
            shutil.copyfile(source / name, folder / name)
    write_templates(folder, find_templates(source / EXPORTED[0]))


def write_folder(
    output: str | Path,
    tokenizer: Tokenizer,
    tokens: Mapping[str, str],
    use: Mapping[str, Any],
    chat: Mapping[str, str],
    given: Mapping[str, Any],
    check: Callable[[Path], None] | None = None,
) -> None:
    """Write the files `EXPORTED` as the folder `output`, in the place of an older one
    and its card.

    `chat`: as in `find_templates`; `tokens`, `use` and `given` as in `configuration`.
    `check` gets the path of the new tokenizer.json, and stops the export with an error.
    Raises UsageError where `output` holds anything else.
    """
    definition, config, special_tokens = EXPORTED
    settings = configuration(tokenizer, tokens, use, given)
    flags = {
        token["content"]: {key: token[key] for key in ("content", *FLAGS)}
        for token in settings["added_tokens_decoder"].values()
    }
    named = {name: _content(settings[name]) for name in TOKEN_ROLES if name in settings}
    contents = {
        config: settings,
        special_tokens: {
            name: flags[token] if any(flags.get(token, {}).get(flag) for flag in FLAGS) else token
            for name, token in named.items()
        },
    }
    with replacing_directory(
        output, owned=(*EXPORTED, CARD, CHAT_TEMPLATE, f"{TEMPLATES}/", "golden.json")
    ) as folder:  # once made
        tokenizer.save(str(folder / definition), pretty=False)
        if check is not None:
            check(folder / definition)
        for name, content in contents.items():
            write_json(folder / name, content)
        write_templates(folder, chat)


def configuration(
    tokenizer: Tokenizer,
    tokens: Mapping[str, str],
    use: Mapping[str, Any],
    given: Mapping[str, Any] = NOTHING,
) -> dict[str, Any]:
    """The content of tokenizer_config.json; `tokens`: the special token of each role
    that there is; `use`: `IdLayout.use`.

    `given`: the content of that file for the tokenizer that this one is made from. What
    it says stays, the special token of each use and the longest input among it, except
    the list of the tokens with their ids and flags, and the class.
    """
    named = {name: given[name] for name in TOKEN_ROLES if given.get(name)}
    if not named:
        named = {name: tokens[role] for name, role in TOKEN_ROLES.items() if role in tokens}
    # version 4 has a name for each of these, 5 a list
    extra = given.get("extra_special_tokens")
    extra = {"extra_special_tokens": extra} if extra and isinstance(extra, dict) else {}
    added = {
        str(number): {key: getattr(token, key) for key in ("content", *sorted(FLAGS), "special")}
        for number, token in sorted(tokenizer.get_added_tokens_decoder().items())
    }
    known = [_content(token) for token in chain(named.values(), *map(dict.values, extra.values()))]
    further = [
        token["content"]
        for token in added.values()
        if token["special"] and token["content"] not in known
    ]
    settings = {
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
        # of an older file its own: a length that it does not say is unlimited
        **(NOTHING if given else use),
    }
    if str(given.get("tokenizer_class")).startswith(WITH_TYPES):
        del settings["model_input_names"]
    return {
        "added_tokens_decoder": added,
        **named,
        **extra,
        # the key that transformers 4 and 5 read; 5 writes extra_special_tokens
        **({"additional_special_tokens": further} if further else {}),
        **settings,
        **{key: value for key, value in given.items() if key not in REPLACED},
        # measured with transformers 5.23 and 4.57: XLMRobertaTokenizer builds its own
        # pipeline in 5, with other ids than a tokenizer.json of another; LlamaTokenizer
        # does not load without its .model in 4; this one takes the file as it is in both
        "tokenizer_class": "PreTrainedTokenizerFast",
    }


def _content(token: Any) -> Any:
    """The text of a special token, which may be given with its flags."""
    return token.get("content") if isinstance(token, dict) else token


def _check(proto: Any, name: str) -> None:
    """Raise VocapError for a model that tokenizer.json cannot hold; warn of what may
    give other ids in it.
    """
    check_unigram(proto, name)
    # sums of scores in float32 and in float64
    if rough := sum(one.type == NORMAL and one.score % STEP != 0 for one in proto.pieces):
        log.warning(
            "%s: %d scores are no multiples of 2^-10: SentencePiece and tokenizer.json may choose "
            "different pieces of equal score; vocap diff of the two files counts such lines",
            name,
            rough,
        )
    # the penalty of an unknown character depends on `NEVER`: without effect while each
    # character is a piece
    known = set(pieces_of(proto, NORMAL, USER_DEFINED))
    if without := sorted(set("".join(pieces_of(proto, NORMAL))) - known):
        log.warning(
            "%s: %d characters occur in pieces and are none themselves (%s): where they stand "
            "alone, SentencePiece and tokenizer.json may differ; vocap diff of the two files "
            "counts such lines",
            name,
            len(without),
            " ".join(without[:20]),
        )


def _decoder(proto: Any) -> decoders.Decoder:
    if not proto.trainer_spec.byte_fallback:
        scheme = "always" if proto.normalizer_spec.add_dummy_prefix else "never"
        return decoders.Metaspace(replacement=SPACE, prepend_scheme=scheme, split=False)
    steps = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    if proto.normalizer_spec.add_dummy_prefix:
        steps.append(decoders.Replace(Regex(r"\A "), ""))
    return decoders.Sequence(steps)
