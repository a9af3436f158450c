"""Any tokenizer as an encoder: text in, ids out. Tokenizers from elsewhere are parsed, never executed."""

import os
from functools import cached_property
from pathlib import Path
from typing import Protocol

from vocap.errors import VocapError
from vocap.tokenizer_files import MASK

MAX_JSON_BYTES = 1 << 28  # tokenizer.json of 500,000 pieces has about 40 MB


class Encoder(Protocol):
    """The interface of a tokenizer for ALP and the intrinsic evaluation."""

    size: int  # ids are below it
    unk_id: int | None
    pieces: list[str | None]  # by id; None where an id has no piece

    def encode_batch(self, lines: list[str]) -> list[list[int]]:
        """The ids of every line, no special tokens added."""
        ...

    def decode_batch(self, ids: list[list[int]]) -> list[str]:
        """The text of the ids of every line."""
        ...


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

    def split_batch(self, lines: list[str]) -> list[list[str]]:
        """The pieces of every line; unknown text is itself."""
        return self.processor.encode(lines, out_type=str, num_threads=1) if lines else []

    def decode_batch(self, ids: list[list[int]]) -> list[str]:
        return self.processor.decode(ids, num_threads=1) if ids else []


class HuggingFaceEncoder:
    """A `tokenizers.Tokenizer`, or one in a process of its own (`GuardedTokenizer`), as files are loaded.

    Truncation and padding, which a file may ask for, are switched off.
    """

    def __init__(self, tokenizer, unk_id: int | None):
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True  # a literal "<s>" in the text is text, as SentencePiece has it
        self.tokenizer = tokenizer
        self.unk_id = unk_id
        self.ids: dict[str, int] = tokenizer.get_vocab(with_added_tokens=True)
        self.size: int = max(self.ids.values(), default=-1) + 1

    @cached_property
    def pieces(self) -> list[str | None]:
        pieces: list[str | None] = [None] * self.size
        for piece, number in self.ids.items():
            pieces[number] = piece
        return pieces

    def encode_batch(self, lines: list[str]) -> list[list[int]]:
        return [entry.ids for entry in self.tokenizer.encode_batch_fast(lines, add_special_tokens=False)]

    def decode_batch(self, ids: list[list[int]]) -> list[str]:
        return self.tokenizer.decode_batch(ids, skip_special_tokens=False)


def load_encoder(path: str | os.PathLike) -> SentencePieceEncoder | HuggingFaceEncoder:
    """The tokenizer of a SentencePiece model, a tokenizer.json, or a folder that holds either (the latter first).

    Raises VocapError, naming the file, for anything that is neither.
    """
    from vocap.tokenizer_files.model_file import load_processor

    path = Path(path)
    if path.is_dir():
        path = _in_folder(path)
    try:
        if is_json(path):
            return _load_json(path)
    except FileNotFoundError:
        raise VocapError(
            f"{path}: no such tokenizer; give a .model, tokenizer.json or a folder with one"
        ) from None
    return SentencePieceEncoder(load_processor(path))


def is_json(path: Path) -> bool:
    """Whether a file begins as a JSON object does, which no SentencePiece model does."""
    with open(path, "rb") as file:
        return file.read(64).lstrip().startswith(b"{")


def _in_folder(folder: Path) -> Path:
    if (folder / "tokenizer.json").exists():
        return folder / "tokenizer.json"
    models = sorted(folder.glob("*.model"))
    if len(models) != 1:
        found = ", ".join(model.name for model in models) or "none"
        raise VocapError(f"{folder}: no tokenizer.json, and not one .model ({found}); name the file itself")
    return models[0]


def _load_json(path: Path) -> HuggingFaceEncoder:
    from vocap.tokenizer_files.guarded_tokenizer import GuardedTokenizer

    if path.stat().st_size > MAX_JSON_BYTES:
        raise VocapError(f"{path}: {path.stat().st_size} bytes, too large for a tokenizer; is it the right file?")
    tokenizer = GuardedTokenizer("json", path)
    ids = tokenizer.get_vocab()
    if not ids or max(ids.values()) >= 2 * len(ids) + 1000:
        raise VocapError(
            f"{path}: {len(ids)} tokens with ids up to {max(ids.values(), default=-1)}; save it again"
        )
    return HuggingFaceEncoder(tokenizer, tokenizer.unk_token_id)


def special_ids(
    path: str | os.PathLike, encoder: SentencePieceEncoder | HuggingFaceEncoder
) -> tuple[dict[str, int], tuple[int, ...]]:
    """The id of each role that a tokenizer has, the mask among them, and those of its other special tokens.

    `encoder` is that of the file `path`: a SentencePiece model, or a tokenizer.json, whose roles are those of the
    configuration beside it. Raises VocapError as `roles_of`.
    """
    if isinstance(encoder, HuggingFaceEncoder):
        from vocap.files.json_object import read_object
        from vocap.tokenizer_files.hugging_face import roles_of

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
