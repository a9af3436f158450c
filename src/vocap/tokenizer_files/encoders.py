"""Any tokenizer as an encoder: text in, ids out. Tokenizers from elsewhere are parsed,
never executed.

What tokenizer.json needs is imported in its functions: `vocap train`, a job a size,
starts without it.
"""

import json
import os
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vocap.errors import VocapError, one_line
from vocap.files.io import read_object
from vocap.tokenizer_files import EXPORTED, MASK
from vocap.tokenizer_files.model_file import BYTES, CONTROL, find_model, load_processor
from vocap.tokenizer_files.ranks import (
    RANKS,
    TEKKEN,
    byte_characters,
    is_ranks,
    read_ranks,
    read_tekken,
)
from vocap.tokenizer_files.unknown import (
    DELETING,
    STEPS,
    UNKNOWN,
    Token,
    Unknown,
    begins_as_known,
    deleted_by_rules,
    deleted_parts,
    with_unknown_token,
)

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

SPACE = "\u2581"
BYTE_PIECE = re.compile("<0x([0-9A-F]{2})>")
# what normalisation changes: spaces, a line end, characters for others, a mark, and a
# character that is rare
PROBE = "  two\ttabs, \u00bd \ufb01 e\u0301\n\u3000\U0001f9ff "
# the words whose tokens the library remembers (50 MB): by default 10,000, the first that
# it meets, fewer than the distinct ones of a few languages
KEPT_WORDS = 200_000
REMEDY = "save it again with its own library, or use another tokenizer"


class SentencePieceEncoder:
    """A SentencePiece processor; ids are below `size`."""

    def __init__(self, processor: Any) -> None:
        self.processor = processor
        self.size: int = processor.get_piece_size()
        self.unk_id: int | None = processor.unk_id()

    byte_level = False

    @cached_property
    def pieces(self) -> list[str | None]:
        """The piece of each id; None where an id has none."""
        return self.processor.id_to_piece(list(range(self.size)))

    @cached_property
    def drops(self) -> "re.Pattern[str] | None":
        """The text that the normaliser deletes, if it does."""
        return deleted_by_rules(proto_of(self).normalizer_spec)

    def tokens(self, text: str) -> list[Token]:
        """The tokens of a text; of an unknown one, the text itself."""
        pieces = self.processor.encode(text, out_type="immutable_proto").pieces
        deleted = self.drops.finditer(text) if self.drops else ()
        return [(one.id, one.piece, one.begin, one.end) for one in pieces] + [
            (None, one[0], *one.span()) for one in deleted
        ]

    def find_unknown(self, line: str) -> Unknown:
        """What no id stands for, normalised; a space is one byte, that before the line
        none.
        """
        tokens = self.tokens(line)
        lost = [text for number, text, *_ in tokens if number in (None, self.unk_id)]
        if lost and tokens[0][0] == self.unk_id:
            lost[0] = lost[0].removeprefix(SPACE)
        text = "".join(lost).replace(SPACE, " ")
        return Unknown(text, len(text.encode()), sum(number is None for number, *_ in tokens))

    def encode_batch(self, lines: list[str]) -> list[list[int]]:
        """The ids of every line, no special tokens added."""
        # one thread: the workflow starts as many jobs as there are cores
        return self.processor.encode(lines, num_threads=1)

    def decode_batch(self, ids: list[list[int]]) -> list[str]:
        """The text of the ids of every line."""
        return self.processor.decode(ids, num_threads=1) if ids else []


class HuggingFaceEncoder:
    """A `tokenizers.Tokenizer`; errors name `path`.

    Truncation and padding, which a file may ask for, are switched off. `size`: the least
    number of ids, where special tokens have no piece.
    """

    def __init__(
        self, tokenizer: Any, unk_id: int | None, path: str | Path = "the tokenizer", size: int = 0
    ) -> None:
        from tokenizers import models

        os.environ["TOKENIZERS_PARALLELISM"] = (
            "false"  # the workflow starts as many jobs as there are cores
        )
        if isinstance(tokenizer.model, models.BPE | models.Unigram):  # others keep no words
            tokenizer.model._resize_cache(KEPT_WORDS)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = (
            True  # a literal "<s>" in the text is text, as SentencePiece has it
        )
        self.tokenizer, self.unk_id, self.path = tokenizer, unk_id, path
        self.ids: dict[str, int] = tokenizer.get_vocab(with_added_tokens=True)
        self.size: int = max(size, 1 + max(self.ids.values(), default=-1))

    @cached_property
    def pieces(self) -> list[str | None]:
        pieces: list[str | None] = [None] * self.size
        for piece, number in self.ids.items():
            pieces[number] = piece
        return pieces

    @cached_property
    def _steps(self) -> str:
        """The steps that change and cut text, as JSON, without those of an export, which
        keep it.
        """
        steps = self.tokenizer.normalizer, self.tokenizer.pre_tokenizer
        normal, cut = (json.loads(step.__getstate__()) if step else {} for step in steps)
        if begins_as_known(normal.get("normalizers", [])):
            del normal["normalizers"][:STEPS]
        return json.dumps([normal, cut])

    @cached_property
    def _marking(self) -> "Tokenizer | None":
        """The tokenizer with an unknown token, where it is byte-pair encoding that drops
        characters for want of one.
        """
        model = self.tokenizer.model
        if getattr(model, "unk_token", "") is not None:  # unigram models have no attribute
            return None
        names = byte_names(self.byte_level) if model.byte_fallback or self.byte_level else [UNKNOWN]
        affixes = model.continuing_subword_prefix or model.end_of_word_suffix
        held = not affixes and set(names) <= self.ids.keys()
        return None if held else with_unknown_token(self.tokenizer)

    @cached_property
    def byte_level(self) -> bool:
        """Whether pieces are written in the byte-level alphabet, a character a byte."""
        tokenizer = self.tokenizer
        steps = tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder
        return any(b'"ByteLevel"' in step.__getstate__() for step in steps if step)

    @cached_property
    def drops(self) -> bool:
        """Whether it may give no token to a character."""
        return self._marking is not None or DELETING.search(self._steps) is not None

    def tokens(self, text: str) -> list[Token]:
        """The tokens of a text, and the characters that it drops."""
        tokenizer = self._marking or self.tokenizer

        def encode(text: str) -> "Encoding":
            return tokenizer.encode(text, add_special_tokens=False)

        found = encode(text)
        tokens: list[Token] = [
            (None if token == UNKNOWN else number, token, *place)
            for number, token, place in zip(found.ids, found.tokens, found.offsets, strict=True)
        ]
        if not self.drops:
            return tokens
        deleted = deleted_parts(text, tokens, lambda text: encode(text).ids)
        return sorted(chain(tokens, deleted), key=itemgetter(2))

    def find_unknown(self, line: str) -> Unknown:
        """What no id stands for, as it is written. A character of which some bytes have an
        id counts as the others.
        """
        lost = [one for one in self.tokens(line) if one[0] in (None, self.unk_id)]
        places = sorted(set(chain.from_iterable(range(*place) for _, _, *place in lost)))
        text = "".join(map(line.__getitem__, places))
        bytes_alone = self._marking is not None and self.byte_level
        size = len(lost) if bytes_alone else len(text.encode())
        return Unknown(text, size, sum(number is None for number, *_ in lost))

    def encode_batch(self, lines: list[str]) -> list[list[int]]:
        with refusals(self.path):
            entries = self.tokenizer.encode_batch_fast(lines, add_special_tokens=False)
            return [entry.ids for entry in entries]

    def decode_batch(self, ids: list[list[int]]) -> list[str]:
        return self.tokenizer.decode_batch(ids, skip_special_tokens=False)


# the interface of a tokenizer for all that measures text
Encoder = SentencePieceEncoder | HuggingFaceEncoder


@contextmanager
def refusals(path: str | Path) -> Iterator[None]:
    """Raise every error of the library that reads or runs a tokenizer as a VocapError
    that names its file.

    The library has no type of its own for them, and a panic of its Rust code is no
    `Exception`.
    """
    try:
        yield
    except (OSError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit, VocapError):
        raise
    except BaseException as error:
        said = one_line(f"{type(error).__name__}: {error}")
        raise VocapError(
            f"{path}: not a usable Hugging Face tokenizer ({said}); {REMEDY}"
        ) from None


def load_encoder(path: str | Path, split: str | None = None) -> Encoder:
    """The tokenizer of a SentencePiece model, a tokenizer.json, a tekken.json, a file of
    tiktoken's ranks, cut by `split`, or a folder that holds one (the first the last).

    Raises VocapError, naming the file, for anything else.
    """
    path = find_definition(Path(path))
    if path.is_file() and is_ranks(path):
        tokenizer, size = read_ranks(path, split)
        return HuggingFaceEncoder(tokenizer, None, path, size)
    if not path.is_file() or not is_json(path):
        return SentencePieceEncoder(load_processor(find_model(path)))
    return parse_encoder(path.read_bytes(), path)


def find_definition(path: Path) -> Path:
    """The file of a folder that defines its tokenizer, unless that is a .model."""
    places = (path / name for name in (EXPORTED[0], TEKKEN, RANKS))
    return next((place for place in places if place.is_file()), path)


def parse_encoder(definition: bytes, path: str | Path) -> HuggingFaceEncoder:
    """The encoder of the bytes of a tokenizer.json. Raises VocapError, naming `path`,
    for one that is refused.
    """
    from tokenizers import Tokenizer

    with refusals(path):
        definition = definition.removeprefix(BOM_UTF8)
        content = json.loads(definition)
        if "model" not in content and {"config", "vocab"} <= content.keys():
            return HuggingFaceEncoder(read_tekken(Path(path), content), None, path)
        model, tokenizer = content["model"], Tokenizer.from_buffer(definition)
        token, number = model.get("unk_token"), model.get("unk_id")
        return HuggingFaceEncoder(
            tokenizer, number if token is None else tokenizer.token_to_id(token), path
        )


def is_json(path: Path) -> bool:
    """Whether a file begins as a JSON object does, behind a byte-order mark or without
    one; no SentencePiece model does.
    """
    with open(path, "rb") as file:
        return file.read(64).removeprefix(BOM_UTF8).lstrip().startswith(b"{")


def definition_model(path: Path) -> dict[str, Any] | None:
    """The model of a tokenizer.json, or of the one in a folder without a .model; None for
    other files and folders.
    """
    file = find_definition(path)
    if not file.is_file() or (path.is_dir() and any(path.glob("*.model"))) or not is_json(file):
        return None
    model = read_object(file).get("model")
    return model if isinstance(model, dict) else {}


def refuse_definition(path: Path) -> None:
    """Raise VocapError for a file in JSON, or a folder with one and no .model, naming the
    type of its tokenizer: it is no SentencePiece model.
    """
    if (model := definition_model(path)) is None:
        return
    raise VocapError(
        f"{find_definition(path)}: a tokenizer of type {model.get('type', 'unknown')} alone; "
        "adapted and exported are byte-pair encoding with merges, and unigram models with their "
        "SentencePiece .model: name that, or put it beside this file"
    )


def roles_of(definition: Path, ids: Mapping[str, int]) -> dict[str, str]:
    """The special token of each role of a tokenizer.json with these ids: only those
    that are there.

    From the tokenizer_config.json beside it; without one, tokens whose names say it.
    Raises VocapError for a configuration that is no JSON object, or names a token that
    has no id.
    """
    from vocap.tokenizer_files.id_layout import NAMED, TOKEN_ROLES

    beside = definition.with_name(EXPORTED[1])
    if not beside.is_file():
        return {role: token for token, role in {**NAMED, MASK: "mask"}.items() if token in ids}
    content, found = read_object(beside), {}
    for name, role in TOKEN_ROLES.items():
        token = content.get(name)
        token = token.get("content") if isinstance(token, dict) else token
        if token is None or role in found:
            continue
        if token not in ids:
            raise VocapError(
                f"{beside}: {name} is {token!r}, which has no id in {definition.name}; correct it"
            )
        found[role] = token
    return found


def byte_names(level: bool) -> dict[str, str]:
    """The names of the 256 bytes by their pieces, of a byte-level vocabulary or not."""
    if level:
        return {character: BYTES[byte] for character, byte in byte_characters().items()}
    return dict(zip(BYTES, BYTES, strict=True))


def special_ids(path: str | Path, encoder: Encoder) -> tuple[dict[str, int], tuple[int, ...]]:
    """The id of each role that a tokenizer has, the mask among them, and those of its
    other special tokens.

    `encoder` is that of the file `path`: a SentencePiece model, or a tokenizer.json,
    whose roles are those of the configuration beside it. Raises VocapError as
    `roles_of`.
    """
    if isinstance(encoder, HuggingFaceEncoder):
        path = Path(path)
        ids = {role: encoder.ids[token] for role, token in roles_of(path, encoder.ids).items()}
        special = {
            one["id"] for one in read_object(path).get("added_tokens") or () if one.get("special")
        }
    else:
        from vocap.tokenizer_files.id_layout import role_ids

        proto = proto_of(encoder)
        ids = role_ids(proto)
        special = {number for number, one in enumerate(proto.pieces) if one.type == CONTROL}
    return ids, tuple(sorted(special - set(ids.values())))


def find_unknown(
    encoder: Encoder, lines: Sequence[str], ids: Sequence[Sequence[int]]
) -> list[Unknown]:
    """What no id stands for in each line, with its ids."""
    drops, unknown, nothing = encoder.drops, encoder.unk_id, Unknown()
    return [
        encoder.find_unknown(line) if drops or unknown in own else nothing
        for line, own in zip(lines, ids, strict=True)
    ]


def unknown_bytes(
    encoder: Encoder, lines: Sequence[str], ids: Sequence[Sequence[int]]
) -> list[int]:
    """The bytes of UTF-8 of the unknown characters of each line, with its ids."""
    return [found.size for found in find_unknown(encoder, lines, ids)]


def is_lossless(encoder: Encoder) -> bool:
    """Whether text comes back from its ids: that of `PROBE` does, of which every
    normalisation changes a part.
    """
    return encoder.decode_batch(encoder.encode_batch([PROBE])) == [PROBE]


def proto_of(encoder: SentencePieceEncoder) -> Any:
    """The `ModelProto` of a SentencePiece encoder."""
    from sentencepiece import sentencepiece_model_pb2

    return sentencepiece_model_pb2.ModelProto.FromString(encoder.processor.serialized_model_proto())
