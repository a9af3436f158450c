"""How tokenizers of any kind cut a word, written alike: the pieces' own text, U+2581 where a word begins.

What has no piece is written in brackets, `⟨text⟩`: a piece and <unk> for the same text are not the same.
"""

import json
from collections.abc import Sequence
from functools import cached_property

from vocap.vocabularies.encoders import HuggingFaceEncoder, SentencePieceEncoder

SPACE = "\u2581"
LONG = 20  # characters of a word above which only the parts that differ are shown


class Splitter:
    """An encoder, and what its pieces say in the common writing."""

    def __init__(self, encoder: SentencePieceEncoder | HuggingFaceEncoder):
        self.encoder = encoder
        self._bytes: dict[str, int] | None = None
        self._continued = ""
        self._prefix = ""
        if isinstance(encoder, HuggingFaceEncoder):
            definition = json.loads(encoder.tokenizer.to_str())
            model = definition.get("model") or {}
            if "ByteLevel" in _types(definition.get("decoder")) or "ByteLevel" in _types(
                definition.get("pre_tokenizer")
            ):
                self._bytes = {character: byte for byte, character in enumerate(_byte_characters())}
            if model.get("type") == "WordPiece":
                self._continued = model.get("continuing_subword_prefix") or ""
            self._prefix = self._find_prefix()

    @cached_property
    def pieces(self) -> list[str | None]:
        """Every id's piece in the common writing; None where an id has none."""
        return [None if piece is None else self._write(piece) for piece in self.encoder.pieces]

    def split(self, words: Sequence[str]) -> list[tuple[str, ...]]:
        """The pieces of each word (no spaces inside) where it follows a space; unknown text in brackets."""
        unknown = self.encoder.unk_id
        if isinstance(self.encoder, SentencePieceEncoder):
            rows = self.encoder.processor.encode(list(words), out_type=int, num_threads=1)
            return [
                self._with_unknown(word, row) if unknown in row else tuple(map(self.pieces.__getitem__, row))
                for word, row in zip(words, rows, strict=True)
            ]
        texts = [self._prefix + word for word in words]
        encodings = self.encoder.tokenizer.encode_batch(texts, add_special_tokens=False)
        return [
            tuple(
                self._unknown(text[slice(*place)], token) if number == unknown else self._write(token)
                for token, number, place in zip(encoding.tokens, encoding.ids, encoding.offsets, strict=True)
            )
            for text, encoding in zip(texts, encodings, strict=True)
        ]

    def _with_unknown(self, word: str, ids: Sequence[int]) -> tuple[str, ...]:
        pieces = self.encoder.processor.encode(word, out_type=str)  # unknown text as it stands
        numbered = zip(pieces, ids, strict=True)
        return tuple(bracketed(piece) if number == self.encoder.unk_id else piece for piece, number in numbered)

    def _unknown(self, text: str, token: str) -> str:
        """What has no piece: the token says it (unigram models), or its place in the text."""
        return bracketed(text if token == self.encoder.pieces[self.encoder.unk_id] else token)

    def _write(self, piece: str) -> str:
        if self._bytes is not None:
            values = [self._bytes.get(character) for character in piece]
            if None in values:
                return piece  # an added token, such as <s>
            return bytes(values).decode("utf-8", errors="backslashreplace").replace(" ", SPACE)
        if self._continued:
            if piece.startswith(self._continued):
                return piece.removeprefix(self._continued)
            return piece if piece.startswith("[") and piece.endswith("]") and len(piece) > 2 else SPACE + piece
        return piece

    def _find_prefix(self) -> str:
        """What to put before a word so that it is cut as inside a line: nothing, or a space."""
        tokens = self._tokens("a b")[len(self._tokens("a")) :]
        return " " if tokens != self._tokens("b") and tokens == self._tokens(" b") else ""

    def _tokens(self, text: str) -> list[str]:
        return self.encoder.tokenizer.encode(text, add_special_tokens=False).tokens


def bracketed(text: str) -> str:
    """Text that has no piece, as splits show it."""
    return f"⟨{text}⟩"


def surface(split: Sequence[str]) -> str:
    """The text of pieces, in brackets or not.

    >>> surface(("▁", "⟨%⟩", "⟨"))
    '▁%⟨'
    """
    text = "".join(split)
    if "⟨" not in text:
        return text
    return "".join(
        piece[1:-1] if len(piece) > 2 and piece[0] == "⟨" and piece[-1] == "⟩" else piece for piece in split
    )


def changed_parts(one: Sequence[str], other: Sequence[str]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Where two splits of the same text differ: the shortest parts between borders that both have.

    Where the texts differ (other normalisation), the whole is one part.

    >>> changed_parts(["ab", "c", "d"], ["a", "bc", "d"])
    [(('ab', 'c'), ('a', 'bc'))]
    """
    if surface(one) != surface(other):
        return [(tuple(one), tuple(other))]
    parts = []
    starts, at, done = [0, 0], [0, 0], [0, 0]  # of each side: first piece of the part, pieces taken, characters
    lengths = [[len(surface((piece,))) for piece in split] for split in (one, other)]
    while at[0] < len(one):
        done[0] += lengths[0][at[0]]
        at[0] += 1
        while at[1] < len(other) and done[1] < done[0]:
            done[1] += lengths[1][at[1]]
            at[1] += 1
        if done[0] == done[1]:
            both = tuple(one[starts[0] : at[0]]), tuple(other[starts[1] : at[1]])
            if both[0] != both[1]:
                parts.append(both)
            starts = list(at)
    return parts


def _types(step) -> set[str]:
    """The kinds of a step of tokenizer.json and of all steps inside it."""
    if not isinstance(step, dict):
        return set()
    inner = [*(step.get("decoders") or ()), *(step.get("pretokenizers") or ())]
    return {str(step.get("type"))}.union(*map(_types, inner))


def _byte_characters() -> list[str]:
    """The character that stands for each byte in a byte-level vocabulary (`bytes_to_unicode` of GPT-2)."""
    printable = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    characters, spare = [], 256
    for byte in range(256):
        if byte in printable:
            characters.append(chr(byte))
        else:
            characters.append(chr(spare))
            spare += 1
    return characters
