"""A Hugging Face tokenizer as this stage uses it: ids and offsets in batches, and the frame of special tokens."""

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from vocap.errors import UsageError, VocapError
from vocap.tokenizer_files.encoders import refusals

DEFINITION = "tokenizer.json"
_BATCH_CHARACTERS = 1 << 20  # tokenised at once: an encoding takes some 100 bytes a token until it is read


def load_tokenizer(folder: Path):
    """The fast tokenizer of a Hugging Face folder; code in it is not run. Raises VocapError without one."""
    from transformers import AutoTokenizer  # seconds, which a wrong call need not take

    remedy = f"name a folder with {DEFINITION}; save_pretrained of a model's fast tokenizer makes one"
    if not (folder / DEFINITION).is_file():
        raise VocapError(f"{folder}: no {DEFINITION} there; {remedy}")
    with refusals(folder):
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def check_budget(budget: int, needed: int, max_length: int) -> None:
    """Raise UsageError where special tokens (and a question) leave less than `needed` ids of an input."""
    if budget < needed:
        raise UsageError(
            f"inputs of {max_length} ids leave {max(0, budget)} for the text; make them longer, or "
            "questions shorter"
        )


class InputEncoder:
    """Text to ids and offsets, by a fast tokenizer, whose truncation and padding it switches off.

    A literal "<s>" in a text is text. Special tokens stand as the tokenizer itself places them: `before` the first
    text, `between` two, `after` the second, each a list of ids; a lone text ends like the first of two
    (`<s> words </s></s>`, as in xTune).
    """

    def __init__(self, tokenizer) -> None:
        """`tokenizer`: a `PreTrainedTokenizerFast`, or any object whose `backend_tokenizer` is a `Tokenizer`.

        Raises VocapError for a tokenizer without an unknown token or a frame of special tokens.
        """
        self.backend: Tokenizer = tokenizer.backend_tokenizer
        self.backend.no_truncation()
        self.backend.no_padding()
        self.backend.encode_special_tokens = True
        name = getattr(tokenizer, "name_or_path", "") or "the tokenizer"
        if tokenizer.unk_token_id is None:
            raise VocapError(f"{name}: no unknown token; take a tokenizer of a masked language model")
        self.unk_id: int = tokenizer.unk_token_id
        self.space_id: int | None = self.backend.token_to_id("▁")
        self.before, self.between, self.after = self._frame(name)

    @classmethod
    def of(cls, tokenizer) -> "InputEncoder":
        """`tokenizer` itself where it is an encoder already."""
        return tokenizer if isinstance(tokenizer, cls) else cls(tokenizer)

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
        """int32 [tokens] ids and int32 [tokens, 2] offsets in code points of every text, in the original text.

        Spaces are no part of a token: that of `▁cat` is `cat`, and `▁` alone is empty.
        """
        for batch in _batches(texts):
            for text, encoding in zip(
                batch, self.backend.encode_batch(batch, add_special_tokens=False), strict=True
            ):
                ids = np.array(encoding.ids, dtype=np.int32)
                offsets = np.array(encoding.offsets, dtype=np.int32).reshape(-1, 2)
                # also before a text without a space at its start, whose first character it would be
                offsets[ids == self.space_id, 1] = offsets[ids == self.space_id, 0]
                yield ids, trimmed(text, offsets)


def trimmed(text: str, offsets: np.ndarray) -> np.ndarray:
    """`offsets` (int32 [tokens, 2]) from the first seen character of each token to the last that is its own.

    Spaces, controls and format characters are unseen. Its own are also characters up to the next token or space
    that no token holds (of `a` and a combining mark, tokenizers that compose them keep the place of `a`), and
    format characters that follow (joiners, zero-width spaces): annotators marked them with
    the word: 13 of XTREME's answers end so, and none ends before one.
    """
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    kinds = _kinds()[codes]
    places = np.arange(len(text), dtype=np.int32)
    next_seen = _next(np.where(kinds == _SEEN, places, len(text)))
    next_other = _next(np.where(kinds == _FORMAT, len(text), places))
    next_space = _next(np.where(kinds == _SPACE, places, len(text)))
    last_seen = np.zeros(len(text) + 1, dtype=np.int32)  # one past the last before each place
    last_seen[1:] = np.maximum.accumulate(np.where(kinds == _SEEN, places + 1, 0))
    start = np.minimum(next_seen[offsets[:, 0]], offsets[:, 1])
    end = np.maximum(last_seen[offsets[:, 1]], start)
    next_token = np.append(offsets[1:, 0], len(text)).astype(np.int32)
    own = np.maximum(next_other[end], np.minimum(next_space[end], next_token))
    return np.stack([start, np.where(end > start, own, end)], axis=1)


def _next(places: np.ndarray) -> np.ndarray:
    """int32 [length + 1]: the lowest of `places` from each place on."""
    return np.append(np.minimum.accumulate(places[::-1])[::-1], len(places)).astype(np.int32)


_SEEN, _SPACE, _FORMAT = 0, 1, 2


@cache
def _kinds() -> np.ndarray:
    """int8 [code points]: which characters are seen, which are spaces or controls, which give a format."""
    kinds = dict.fromkeys(("Zs", "Zl", "Zp", "Cc"), _SPACE) | {"Cf": _FORMAT}
    return np.array([kinds.get(unicodedata.category(chr(code)), _SEEN) for code in range(0x110000)], dtype=np.int8)


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
