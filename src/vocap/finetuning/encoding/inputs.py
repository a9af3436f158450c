"""A Hugging Face tokenizer as this stage uses it: ids and offsets in batches, and the frame of special tokens."""

from collections.abc import Iterator, Sequence

import numpy as np
from tokenizers import Tokenizer

from vocap.errors import VocapError

_BATCH_CHARACTERS = 1 << 20  # tokenised at once: an encoding takes some 100 bytes a token until it is read


class InputEncoder:
    """Text to ids and offsets, by a fast tokenizer, which stays as it is.

    A literal "<s>" in a text is text. Special tokens stand as the tokenizer itself places them: `before` the first
    text, `between` two, `after` the second, each a list of ids; a lone text ends like the first of two
    (`<s> words </s></s>`, as in xTune).
    """

    def __init__(self, tokenizer) -> None:
        """`tokenizer`: a `PreTrainedTokenizerFast`, or any object whose `backend_tokenizer` is a `Tokenizer`.

        Raises VocapError for a tokenizer without an unknown token or a frame of special tokens.
        """
        self.backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        self.backend.no_truncation()
        self.backend.no_padding()
        self.backend.encode_special_tokens = True
        name = getattr(tokenizer, "name_or_path", "") or "the tokenizer"
        if tokenizer.unk_token_id is None:
            raise VocapError(f"{name}: no unknown token; take a tokenizer of a masked language model")
        self.unk_id: int = tokenizer.unk_token_id
        self.before, self.between, self.after = self._frame(name)

    def _frame(self, name: str) -> tuple[list[int], list[int], list[int]]:
        pair = self.backend.encode("a", "a")
        places: list[list[int]] = [[], [], []]
        texts_seen = 0
        for number, of_text in zip(pair.ids, pair.sequence_ids, strict=True):
            if of_text is None:
                places[texts_seen].append(number)
            else:
                texts_seen = of_text + 1
        if texts_seen != 2 or not (places[0] and places[1]):
            raise VocapError(
                f"{name}: its post-processor puts no special tokens around a pair of texts; "
                "save the tokenizer with the one of its model (<s> A </s></s> B </s> or [CLS] A [SEP] B [SEP])"
            )
        return places[0], places[1], places[2]

    def ids(self, texts: Sequence[str]) -> Iterator[list[int]]:
        """The ids of every text, without special tokens."""
        for batch in _batches(texts):
            for encoding in self.backend.encode_batch_fast(batch, add_special_tokens=False):
                yield encoding.ids

    def ids_and_offsets(self, texts: Sequence[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """int32 [tokens] ids and int32 [tokens, 2] offsets in code points of every text, as they lie in it.

        Spaces and characters without a glyph are no part of a token's ends: ` cat` is `cat`; a token of nothing
        else is empty.
        """
        for batch in _batches(texts):
            for text, encoding in zip(
                batch, self.backend.encode_batch(batch, add_special_tokens=False), strict=True
            ):
                ids = np.array(encoding.ids, dtype=np.int32)
                offsets = np.array(encoding.offsets, dtype=np.int32).reshape(-1, 2)
                yield ids, trimmed(text, offsets)


def trimmed(text: str, offsets: np.ndarray) -> np.ndarray:
    """`offsets` (int32 [tokens, 2]) without invisible characters at either end."""
    visible = np.fromiter((_is_visible(character) for character in text), dtype=bool, count=len(text))
    places = np.arange(len(text), dtype=np.int32)
    next_visible = np.full(len(text) + 1, len(text), dtype=np.int32)  # at or after each place
    next_visible[:-1] = np.minimum.accumulate(np.where(visible, places, len(text))[::-1])[::-1]
    last_visible = np.zeros(len(text) + 1, dtype=np.int32)  # one past the last before each place
    last_visible[1:] = np.maximum.accumulate(np.where(visible, places + 1, 0))
    start = np.minimum(next_visible[offsets[:, 0]], offsets[:, 1])
    end = np.maximum(last_visible[offsets[:, 1]], start)
    return np.stack([start, end], axis=1)


def _is_visible(character: str) -> bool:
    return not character.isspace() and (character.isprintable() or not character.isascii())


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch, size = [], 0
    for text in texts:
        batch.append(text)
        size += len(text) + 16
        if size >= _BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
