"""Any tokenizer as an encoder: text in, ids out. Tokenizers from elsewhere are parsed, never executed.

What tokenizer.json needs is imported in its functions: `vocap train`, a job a size, starts without it.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Protocol

from vocap.errors import VocapError
from vocap.files.plain_data import read_object
from vocap.tokenizer_files import EXPORTED, MASK
from vocap.tokenizer_files.model_file import find_model, load_processor
from vocap.wording import one_line

REMEDY = "save it again with its own library, or use another tokenizer"


class Encoder(Protocol):
    """The interface of a tokenizer for ALP and the intrinsic evaluation."""

    size: int  # ids are below it
    unk_id: int | None
    pieces: list[str | None]  # by id; None where an id has no piece

    def encode_batch(self, lines: list[str]) -> list[list[int]]:
        """The ids of every line, no special tokens added."""

    def decode_batch(self, ids: list[list[int]]) -> list[str]:
        """The text of the ids of every line."""


class SentencePieceEncoder:
    """A SentencePiece processor."""

    def __init__(self, processor):
        self.processor = processor
        self.size: int = processor.get_piece_size()
        self.unk_id: int | None = processor.unk_id()

    @cached_property
    def pieces(self) -> list[str | None]:
        return self.processor.id_to_piece(list(range(self.size)))

    def encode_batch(self, lines: list[str]) -> list[list[int]]:
        # one thread: the workflow starts as many jobs as there are cores
        return self.processor.encode(lines, num_threads=1) if lines else []

    def decode_batch(self, ids: list[list[int]]) -> list[str]:
        return self.processor.decode(ids, num_threads=1) if ids else []


class HuggingFaceEncoder:
    """A `tokenizers.Tokenizer`; errors name `path`.

    Truncation and padding, which a file may ask for, are switched off.
    """

    def __init__(self, tokenizer, unk_id: int | None, path: str | os.PathLike = "the tokenizer"):
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True  # a literal "<s>" in the text is text, as SentencePiece has it
        self.tokenizer, self.unk_id, self.path = tokenizer, unk_id, path
        self.ids: dict[str, int] = tokenizer.get_vocab(with_added_tokens=True)
        self.size: int = max(self.ids.values(), default=-1) + 1

    @cached_property
    def pieces(self) -> list[str | None]:
        pieces: list[str | None] = [None] * self.size
        for piece, number in self.ids.items():
            pieces[number] = piece
        return pieces

    def encode_batch(self, lines: list[str]) -> list[list[int]]:
        with refusals(self.path):
            return [entry.ids for entry in self.tokenizer.encode_batch_fast(lines, add_special_tokens=False)]

    def decode_batch(self, ids: list[list[int]]) -> list[str]:
        return self.tokenizer.decode_batch(ids, skip_special_tokens=False)


@contextmanager
def refusals(path: str | os.PathLike) -> Iterator[None]:
    """Raise every error of the library that reads or runs a tokenizer as a VocapError that names its file.

    The library has no type of its own for them, and a panic of its Rust code is no `Exception`.
    """
    try:
        yield
    except (OSError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit, VocapError):
        raise
    except BaseException as error:
        said = one_line(f"{type(error).__name__}: {error}")
        raise VocapError(f"{path}: not a usable Hugging Face tokenizer ({said}); {REMEDY}") from None


def load_encoder(path: str | os.PathLike) -> SentencePieceEncoder | HuggingFaceEncoder:
    """The tokenizer of a SentencePiece model, a tokenizer.json, or a folder that holds either (the latter first).

    Raises VocapError, naming the file, for anything that is neither.
    """
    path = Path(path)
    definition = path / EXPORTED[0] if path.is_dir() else path
    if not definition.is_file() or not is_json(definition):
        return SentencePieceEncoder(load_processor(find_model(path)))
    with refusals(definition):
        return parse_encoder(definition.read_text("utf-8"), definition)


def parse_encoder(definition: str, path: str | os.PathLike) -> HuggingFaceEncoder:
    """The encoder of the text of a tokenizer.json. Raises VocapError, naming `path`, for one that is refused."""
    from tokenizers import Tokenizer

    with refusals(path):
        model = json.loads(definition)["model"]
        tokenizer = Tokenizer.from_str(definition)
        token, number = model.get("unk_token"), model.get("unk_id")
        return HuggingFaceEncoder(tokenizer, number if token is None else tokenizer.token_to_id(token), path)


def is_json(path: Path) -> bool:
    """Whether a file begins as a JSON object does, which no SentencePiece model does."""
    with open(path, "rb") as file:
        return file.read(64).lstrip().startswith(b"{")


def roles_of(definition: Path, ids: Mapping[str, int]) -> dict[str, str]:
    """The special token of each role of a tokenizer.json with these ids: only those that are there.

    From the tokenizer_config.json beside it; without one, tokens whose names say it. Raises VocapError for a
    configuration that is no JSON object, or names a token that has no id.
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
            raise VocapError(f"{beside}: {name} is {token!r}, which has no id in {definition.name}; correct it")
        found[role] = token
    return found


def special_ids(
    path: str | os.PathLike, encoder: SentencePieceEncoder | HuggingFaceEncoder
) -> tuple[dict[str, int], tuple[int, ...]]:
    """The id of each role that a tokenizer has, the mask among them, and those of its other special tokens.

    `encoder` is that of the file `path`: a SentencePiece model, or a tokenizer.json, whose roles are those of the
    configuration beside it. Raises VocapError as `roles_of`.
    """
    if isinstance(encoder, HuggingFaceEncoder):
        path = Path(path)
        ids = {role: encoder.ids[token] for role, token in roles_of(path, encoder.ids).items()}
        special = {one["id"] for one in read_object(path).get("added_tokens") or () if one.get("special")}
    else:
        model = encoder.processor
        ids = {"unk": model.unk_id(), "bos": model.bos_id(), "eos": model.eos_id(), "pad": model.pad_id()}
        ids = {role: number for role, number in ids.items() if number >= 0}
        special = {number for number, control in enumerate(model.is_control(list(range(encoder.size)))) if control}
        if (mask := model.piece_to_id(MASK)) in special:
            ids["mask"] = mask
    return ids, tuple(sorted(special - set(ids.values())))
