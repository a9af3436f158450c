"""The split of a word by any tokenizer in one notation: the pieces' own text, U+2581 at the start of a word.

Text without a piece is in brackets, `⟨text⟩`: a piece and <unk> for the same text differ.
"""

import json
import re
from collections.abc import Sequence
from functools import cache, cached_property
from itertools import chain

import numpy as np
from tokenizers.pre_tokenizers import ByteLevel

from vocap.tokenizer_files.encoders import HuggingFaceEncoder, SentencePieceEncoder

SPACE = "\u2581"
BYTE_PIECE = re.compile("<0x([0-9A-F]{2})>")


class Splitter:
    """An encoder, and its pieces in the common notation."""

    def __init__(self, encoder: SentencePieceEncoder | HuggingFaceEncoder):
        self.encoder = encoder
        self._bytes: dict[str, int] | None = None
        self.continued = ""
        if isinstance(encoder, HuggingFaceEncoder):
            definition = json.loads(encoder.tokenizer.to_str())
            model = definition.get("model") or {}
            if "ByteLevel" in step_types(definition.get("decoder"), definition.get("pre_tokenizer")):
                self._bytes = byte_characters()
            if model.get("type") == "WordPiece":
                self.continued = model.get("continuing_subword_prefix") or ""
        self.prefix = self._find_prefix()

    @cached_property
    def pieces(self) -> list[str | None]:
        """Every id's piece in the common notation; None where an id has none."""
        return [None if piece is None else self._write(piece) for piece in self.encoder.pieces]

    def split(self, words: Sequence[str]) -> list[tuple[str, ...]]:
        """The pieces of each word (no spaces inside) after a space; unknown text in brackets."""
        unknown = self.encoder.unk_id
        texts = [self.prefix + word for word in words]
        rows = self.encoder.encode_batch(texts)
        return [
            self._with_unknown(text, row) if unknown in row else tuple(map(self.pieces.__getitem__, row))
            for text, row in zip(texts, rows, strict=True)
        ]

    @property
    def byte_level(self) -> bool:
        """Whether pieces are written in the byte-level alphabet, a character a byte."""
        return self._bytes is not None

    @cached_property
    def broken(self) -> np.ndarray:
        """Whether the bytes of each id are no whole characters of UTF-8, bool [V]."""

        def is_broken(piece: str) -> bool:
            if byte := BYTE_PIECE.fullmatch(piece):
                return int(byte[1], 16) >= 0x80
            values = [self._bytes.get(character) for character in piece] if self._bytes else [None]
            return None not in values and bytes(values).decode("utf-8", "ignore").encode() != bytes(values)

        return np.array([piece is not None and is_broken(piece) for piece in self.encoder.pieces], bool)

    def _with_unknown(self, text: str, ids: Sequence[int]) -> tuple[str, ...]:
        unknown = self.encoder.unk_id
        if isinstance(self.encoder, SentencePieceEncoder):
            pieces = self.encoder.processor.encode(text, out_type=str)  # unknown text is itself
            numbered = zip(pieces, ids, strict=True)
            return tuple(bracketed(piece) if number == unknown else piece for piece, number in numbered)
        encoding = self.encoder.tokenizer.encode(text, add_special_tokens=False)
        named = self.encoder.pieces[unknown]  # of unigram models, the token is the unknown text itself
        return tuple(
            self._write(token)
            if number != unknown
            else bracketed(text[slice(*place)] if token == named else token)
            for token, number, place in zip(encoding.tokens, encoding.ids, encoding.offsets, strict=True)
        )

    def _write(self, piece: str) -> str:
        if self._bytes is not None:
            values = [self._bytes.get(character) for character in piece]
            if None in values:
                return piece  # an added token, such as <s>
            return bytes(values).decode("utf-8", errors="backslashreplace").replace(" ", SPACE)
        if self.continued:
            if piece.startswith(self.continued):
                return piece.removeprefix(self.continued)
            return piece if piece.startswith("[") and piece.endswith("]") and len(piece) > 2 else SPACE + piece
        return piece

    def _find_prefix(self) -> str:
        """The prefix that gives a word its segmentation inside a line: nothing, or a space."""
        one, other, both, after = self.encoder.encode_batch(["a", "b", "a b", " b"])
        tokens = both[len(one) :]
        return " " if tokens != other and tokens == after else ""


def bracketed(text: str) -> str:
    """Text without a piece, in the common notation."""
    return f"⟨{text}⟩"


def is_bracketed(piece: str) -> bool:
    """Whether a part of a split is text that has no piece."""
    return len(piece) > 2 and piece[0] == "⟨" and piece[-1] == "⟩"


def step_types(*steps) -> set[str]:
    """The kinds of some steps of tokenizer.json, which may be absent, and of all steps inside them."""
    found: set[str] = set()
    for step in steps:
        if isinstance(step, dict):
            inner = (step.get(key) or () for key in ("decoders", "pretokenizers", "normalizers"))
            found |= {str(step.get("type"))} | step_types(*chain.from_iterable(inner))
    return found


@cache
def byte_characters() -> dict[str, int]:
    """The byte of each character in a byte-level vocabulary: printable ones their own, the others from 256 on."""
    characters = sorted(ByteLevel.alphabet())
    own = [ord(character) for character in characters if ord(character) < 256]
    others = (byte for byte in range(256) if byte not in own)
    return dict(zip(characters, chain(own, others), strict=True))
