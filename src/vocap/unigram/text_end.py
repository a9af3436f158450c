"""The end of the text, on which seeds of SentencePiece 0.2.2 depend besides word types (see `seeds`).

0.2.2 looks at the substrings of the whole text, a 0 after every line, that are followed by different characters.
It passes over one with which the text ends. So a seed that is always followed by the same words up to a line's
end, as the last line ends, does not count there: its frequency is that of the other occurrences, if that is 2 or
more.
"""

import bisect
import re
from collections.abc import Collection, Iterable

import numpy as np

from vocap.unigram.seeds import MAX_PIECE_LENGTH
from vocap.unigram.suffixes import suffix_array
from vocap.unigram.text_settings import META_PIECES, RESERVED, SPACE
from vocap.unigram.training_text import SEPARATOR, as_read, is_trainable, trainer_normalizer

_WORD = re.compile(f"{SPACE}?[^{SPACE}\0]+")


def frequencies_at_the_end(blocks: Iterable[list[str]], required: Collection[str]) -> dict[str, int]:
    """The frequencies of the seeds that depend on the end of the text; below 2, there is no seed.

    `blocks`: the training lines; `required`: the characters that have pieces, all others being U+2585.
    """
    lines = sentences(blocks, required) if required else []
    text = np.frombuffer("".join(line + "\0" for line in lines).encode("utf-32-le"), np.int32).copy()
    if not len(text):
        return {}
    order = suffix_array(text)
    end = len(text) - _repeated_end(text, order)
    words = set(_WORD.findall(text[end:].tobytes().decode("utf-32-le")))
    frequencies = {}
    for seed in {word[-size:] for word in words for size in range(2, MAX_PIECE_LENGTH + 1)}:
        first, last = _interval(text, order, [ord(character) for character in seed])
        frequency = _frequency(text, order[first:last], end)
        if frequency < last - first:
            frequencies[seed] = frequency
    return frequencies


def sentences(blocks: Iterable[list[str]], required: Collection[str]) -> list[str]:
    """The training lines as the trainer sees them and in its order (`TrainerInterface::LoadSentences`).

    It moves the last line into the place of each that normalises to nothing, and does not look whether that one
    does too.
    """
    normalizer = trainer_normalizer()
    metas = re.compile("|".join(map(re.escape, META_PIECES)))
    rare = re.compile(f"[^{re.escape(''.join(required))}]")
    lines = []
    for block in blocks:
        for line in normalizer.normalize([line for line in map(as_read, block) if is_trainable(line)]):
            lines.append(rare.sub(RESERVED, metas.sub(SEPARATOR, line)))
    place = 0
    while place < len(lines):
        if not lines[place]:
            lines[place] = lines[-1]
            lines.pop()
        place += 1
    return lines


def _interval(text: np.ndarray, order: np.ndarray, codes: list[int]) -> tuple[int, int]:
    """The range of suffixes that begin with these code points."""

    def beginning(place):
        return text[place : place + len(codes)].tolist()

    first = bisect.bisect_left(order, codes, key=beginning)
    return first, bisect.bisect_right(order, codes, lo=first, key=beginning)


def _repeated_end(text: np.ndarray, order: np.ndarray) -> int:
    """The length of the longest end of the text that occurs elsewhere too."""

    def is_repeated(length):
        first, last = _interval(text, order, text[len(text) - length :].tolist())
        return last - first > 1

    low, high = 0, 1
    while high <= len(text) and is_repeated(high):
        low, high = high, 2 * high
    high = min(high, len(text))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_repeated(middle) else (low, middle)
    return low


def _frequency(text: np.ndarray, places: np.ndarray, end: int) -> int:
    """The number of a string's `places`, in suffix order, that share a substring which does not end the text.

    All share a substring; if the text ends with it in the first place, the others share a longer one, and so on.
    The text from `end` on occurs elsewhere too, a longer end does not.
    """
    longest = text[places[-1] :]
    for passed, place in enumerate(places[:-1].tolist()):
        suffix = text[place:]
        if place < end or len(suffix) > len(longest) or (suffix != longest[: len(suffix)]).any():
            return len(places) - passed
    return 0
