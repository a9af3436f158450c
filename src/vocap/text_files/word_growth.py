"""How fast a text brings new words, which decides how large a vocabulary it can give."""

import bz2
import math

# Where a word begins without a space: SentencePiece's normalization makes it one.
ZERO_WIDTH_SPACE = "\u200b"


def compressed_words(text: str) -> int:
    """Bytes of the distinct words of a text under bzip2, in their order."""
    words = dict.fromkeys(text.replace(ZERO_WIDTH_SPACE, " ").split())
    return len(bz2.compress("\n".join(words).encode()))


def word_growth(text: str, megabytes: float) -> tuple[float, float]:
    """The bytes of the distinct words under bzip2 as a power law of the megabytes of
    text: those of one megabyte, and the power.

    `text`: the beginning of a text, of so many `megabytes`. The power is that from its
    first half to the whole of it (Heaps' law). Compressed, words that share their parts
    count little, so that inflected and unsegmented languages compare with others.
    """
    whole = compressed_words(text)
    power = math.log2(whole / compressed_words(text[: len(text) // 2]))
    return whole / megabytes**power, power
