"""The pieces of any tokenizer in one notation: their own text, U+2581 at the start of a
word. Text without a piece is in brackets, `⟨text⟩`: a piece and <unk> for the same text
differ.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from vocap.tokenizer_files.encoders import (
    BYTE_PIECE,
    SPACE,
    Encoder,
    HuggingFaceEncoder,
    proto_of,
)
from vocap.tokenizer_files.model_file import NORMAL
from vocap.tokenizer_files.ranks import byte_characters
from vocap.tokenizer_files.unknown import UNKNOWN

AT_ONCE = 50_000  # words split at a time
NO_BYTE = 0xFFFD  # in the place of a character that stands for no byte


class Splitter:
    """An encoder, and its pieces in the common notation."""

    def __init__(self, encoder: Encoder):
        self.encoder = encoder
        self._bytes: dict[int, int] = {}  # code points of the byte-level alphabet, if used
        if encoder.byte_level:
            self._bytes = dict.fromkeys(range(256), NO_BYTE)
            self._bytes |= {ord(one): byte for one, byte in byte_characters().items()}
        self.continued = ""
        if isinstance(encoder, HuggingFaceEncoder):
            from tokenizers import models

            model = encoder.tokenizer.model
            if isinstance(model, models.WordPiece):
                self.continued = model.continuing_subword_prefix or ""
        self.prefix = self._find_prefix()

    @cached_property
    def pieces(self) -> list[str | None]:
        """Every id's piece in the common notation; None where an id has none."""
        return [None if piece is None else self._write(piece) for piece in self.encoder.pieces]

    @cached_property
    def texts(self) -> list[str]:
        """The same, "" where an id has none."""
        return [piece or "" for piece in self.pieces]

    def split(self, words: Iterable[str]) -> Iterator[tuple[str, ...]]:
        """The pieces of each word (no spaces inside) after a space; unknown text in
        brackets.
        """
        unknown = self.encoder.unk_id
        texts = (self.prefix + word for word in words)
        piece_of = self.texts.__getitem__
        while part := list(islice(texts, AT_ONCE)):
            for text, row in zip(part, self.encoder.encode_batch(part), strict=True):
                if unknown in row or self.encoder.drops:
                    yield self._with_unknown(text)
                else:
                    yield tuple(map(piece_of, row))

    @cached_property
    def broken(self) -> np.ndarray:
        """Whether the bytes of each id are no whole characters of UTF-8, bool [V]."""

        def is_broken(piece: str) -> bool:
            if byte := BYTE_PIECE.fullmatch(piece):
                return int(byte[1], 16) >= 0x80
            written = self._bytes_of(piece)
            return written.decode("utf-8", "ignore").encode() != written

        return np.array(
            [piece is not None and is_broken(piece) for piece in self.encoder.pieces], bool
        )

    def _with_unknown(self, text: str) -> tuple[str, ...]:
        unknown = self.encoder.unk_id
        # of unigram models, the token is the unknown text itself
        named = None if unknown is None else self.encoder.pieces[unknown]
        parts: dict[Any, str] = {}
        for number, token, *place in self.encoder.tokens(text):
            if number is None or number == unknown:  # once, if bytes of a character are
                itself = text[slice(*place)] if token in (named, UNKNOWN) else token
                parts[tuple(place)] = bracketed(itself)
            else:
                parts[len(parts)] = self._write(token)
        return tuple(parts.values())

    def _bytes_of(self, piece: str) -> bytes:
        """The bytes that a piece is written for, none of one in no byte-level alphabet,
        such as an added token.
        """
        try:
            return piece.translate(self._bytes).encode("latin-1") if self._bytes else b""
        except UnicodeEncodeError:
            return b""

    def _write(self, piece: str) -> str:
        if written := self._bytes_of(piece):
            return written.decode("utf-8", errors="backslashreplace").replace(" ", SPACE)
        if self.continued:
            if piece.startswith(self.continued):
                return piece.removeprefix(self.continued)
            return (
                piece
                if piece.startswith("[") and piece.endswith("]") and len(piece) > 2
                else SPACE + piece
            )
        return piece

    def _find_prefix(self) -> str:
        """The prefix that gives a word its segmentation inside a line: nothing, or a
        space.
        """
        one, other, both, after = self.encoder.encode_batch(["a", "b", "a b", " b"])
        tokens = both[len(one) :]
        return " " if tokens != other and tokens == after else ""


def bracketed(text: str) -> str:
    """Text without a piece, in the common notation."""
    return f"⟨{text}⟩"


def is_bracketed(piece: str) -> bool:
    """Whether a part of a split is text that has no piece."""
    return len(piece) > 2 and piece[0] == "⟨" and piece[-1] == "⟩"


def texts_of(splitter: Splitter) -> Iterator[tuple[int, str]]:
    """Ids of text, and their text: none are special tokens, added ones and single
    bytes.
    """
    encoder = splitter.encoder
    if isinstance(encoder, HuggingFaceEncoder):
        apart = {*encoder.tokenizer.get_added_tokens_decoder(), encoder.unk_id}
    else:
        entries = proto_of(encoder).pieces
        apart = {number for number, entry in enumerate(entries) if entry.type != NORMAL}
    for number, (raw, piece) in enumerate(zip(encoder.pieces, splitter.pieces, strict=True)):
        byte = len(raw or "") == 1 if encoder.byte_level else BYTE_PIECE.fullmatch(raw or "")
        if raw and piece and number not in apart and not byte:
            yield number, piece.replace(SPACE, " ")


def dead_ids(splitter: Splitter, texts: Mapping[int, str]) -> list[int]:
    """Ids that no text is encoded as: the model takes others for their string, or text
    is never read as it.
    """
    encoder = splitter.encoder
    if not isinstance(encoder, HuggingFaceEncoder):
        from vocap.tokenizer_files.layout import dead_pieces

        dead = dead_pieces(proto_of(encoder))
        read = encoder.processor.normalize
        return [
            number
            for number, text in texts.items()
            if (piece := encoder.pieces[number] or "") in dead or not is_read(read, text, piece)
        ]
    tokenizer = encoder.tokenizer
    normalizer, cutter, model = tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.model

    def words(text: str) -> str:
        text = normalizer.normalize_str(text) if normalizer else text
        return "\0".join(word for word, _ in cutter.pre_tokenize_str(text)) if cutter else text

    found = []
    for number, text in texts.items():
        piece = encoder.pieces[number] or ""
        # of no word of its own
        continued = splitter.continued and piece.startswith(splitter.continued)
        whole = continued or [token.id for token in model.tokenize(piece)] == [number]
        part = piece.removeprefix(splitter.continued) if continued else piece
        if not whole or not (splitter.broken[number] or is_read(words, text, part)):
            found.append(number)
    return found


def is_read(words: Callable[[str], str], text: str, piece: str) -> bool:
    """Whether the normalised words of a text, alone or between letters, hold the string
    of a piece.
    """
    return any(piece in words(one) for one in (text, f"a{text}a"))
