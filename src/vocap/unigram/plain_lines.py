"""Lines that normalisation changes in nothing but their spaces, normalised all at once.

Most lines of most languages hold no character that a rule of normalisation could end
with. SentencePiece's normaliser looks each character up in a trie; here one look into a
table tells such lines, in a tenth of the time.
"""

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from vocap.text_files import MAX_LINE_BYTES
from vocap.tokenizer_files.charsmap import last_characters
from vocap.unigram.text_settings import RESERVED, SPACE, TextSettings, read_rules

# lines of a block from which it is worth it: the table takes 35 ms
LEAST = 1000
_SPACE, _END = ord(" "), ord("\n")


class PlainLines:
    """Tells the plain lines of blocks.

    `borders`: texts that a line must not hold, before normalisation or after it.
    """

    def __init__(self, settings: TextSettings, borders: Iterable[str] = ()):
        self.settings = settings
        self.first = frozenset(border[0] for border in borders)

    def take(self, lines: Sequence[str], end: str) -> tuple[bytearray, Sequence[str]]:
        """The plain lines among `lines` as SentencePiece normalises them, code points
        int32, each with `end` after it; and the other lines, as they are.

        Plain is a line with text, of MAX_LINE_BYTES at most, without RESERVED, U+2581,
        carriage returns, the first character of a border, a character that ends a rule
        and, where spaces are removed, two blanks in a row or one at its ends.
        """
        if len(lines) < LEAST:
            return bytearray(), lines
        # each line behind its line end, with the space that normalisation puts there
        begin = "\n " if self.settings.add_dummy_prefix else "\n"
        text = f"{begin}{begin.join(lines)}\n".encode("utf-32-le")
        points = np.frombuffer(bytearray(text), np.int32)
        ends = np.flatnonzero(points == _END)
        if len(ends) != len(lines) + 1:  # a line holds a line end
            return bytearray(), lines
        found = _not_plain(self.settings, self.first)[points]
        if self.settings.remove_extra_whitespaces:
            blank = points <= _SPACE
            pairs = blank[:-1] & blank[1:]
            if self.settings.add_dummy_prefix:
                pairs[ends[:-1]] = False
            found[:-1] |= pairs
        sizes = np.diff(ends)
        other = (sizes == len(begin)) | (sizes > MAX_LINE_BYTES // 4)
        other[np.searchsorted(ends, np.flatnonzero(found), "right") - 1] = True
        np.putmask(points, points == _SPACE, ord(SPACE))
        points[ends] = ord(end)
        if other.any():
            points = points[np.append(np.repeat(~other, sizes), True)]
        others = [lines[place] for place in np.flatnonzero(other).tolist()]
        return bytearray(points[1:].data), others


@cache
def _not_plain(settings: TextSettings, first: frozenset[str]) -> np.ndarray:
    """Whether each code point makes a line no plain one, bool [0x110000]: it ends a rule
    of normalisation, or is the `first` of a border.
    """
    found = last_characters(read_rules(settings))
    found |= {SPACE, RESERVED, "\r", *first}
    if SPACE in first:
        found.add(" ")  # as which a line holds it
    table = np.zeros(0x110000, bool)
    table[[ord(character) for character in found]] = True
    table[_END] = False  # stands between lines
    return table
