"""Letters of texts by their scripts, counted for many texts at once."""

import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vocap.languages import UNICODE_SCRIPTS

Counts = NDArray[np.int64]

# The kind of each code point, found when it first occurs: a letter has that of its
# script, the four letters of its code.
_UNSEEN, MARK, _SPACE, OTHER = range(4)
_KINDS: NDArray[np.uint32] = np.zeros(0x110000, np.uint32)


def _script_kind(script: str) -> int:
    return int.from_bytes(script.encode("ascii"), "big")


_NO_SCRIPT = [_script_kind("Zyyy"), _script_kind("Zinh")]


def _kind(character: str) -> int:
    from fontTools.unicodedata import script

    category = unicodedata.category(character)[0]
    if category == "L":
        return _script_kind(script(character))
    if category == "M":
        return MARK
    return _SPACE if character.isspace() else OTHER


def kinds_of(
    texts: Sequence[str],
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]:
    """The code points of some texts together, the kind of each, and where each text
    begins, with the end of the last.
    """
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), "<u4")
    kinds = _KINDS[codes]
    if not kinds.all():
        for code in np.unique(codes[kinds == _UNSEEN]).tolist():
            _KINDS[code] = _kind(chr(code))
        kinds = _KINDS[codes]
    borders = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=borders[1:])
    return codes, kinds, borders


def count_before(found: NDArray[np.bool_], borders: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many are found before each border."""
    before = np.zeros(len(found) + 1, np.int64)
    np.cumsum(found, out=before[1:])
    return before[borders]


def count_letters(texts: Sequence[str], script: str) -> tuple[Counts, Counts, Counts, Counts]:
    """Of each text: letters and marks; characters but white space; letters of the script,
    an ISO 15924 code; and letters that belong to some script.

    Letters that belong to no one script (Common, Inherited: the Japanese long vowel mark)
    are among the first alone.

    >>> [counts.tolist() for counts in count_letters(["Ja, да 2", "カー"], "Latn")]
    [[4, 2], [6, 2], [2, 0], [4, 1]]
    """
    _, kinds, borders = kinds_of(texts)
    is_letter = kinds > OTHER
    is_own = np.isin(kinds, list(map(_script_kind, UNICODE_SCRIPTS.get(script, (script,)))))
    in_script = is_own | (is_letter & ~np.isin(kinds, _NO_SCRIPT))
    found = is_letter | (kinds == MARK), kinds != _SPACE, is_own, in_script
    letters, visible, own, scripted = (np.diff(count_before(one, borders)) for one in found)
    return letters, visible, own, scripted
