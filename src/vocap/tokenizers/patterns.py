"""Regular expressions (Oniguruma's syntax) of characters and of the keys of a normaliser's table."""

from collections import defaultdict
from collections.abc import Iterable

NOTHING = r"[^\s\S]"  # matches nowhere


def character_class(characters: Iterable[str]) -> str:
    r"""A regular expression's class of these characters, in ranges.

    >>> character_class("acbx")
    '[\\x{61}-\\x{63}\\x{78}]'
    """
    ranges: list[list[int]] = []
    for code in sorted(map(ord, characters)):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    if not ranges:
        return NOTHING
    return "[" + "".join(f"\\x{{{a:x}}}" + (f"-\\x{{{b:x}}}" if b > a else "") for a, b in ranges) + "]"


def inside_keys(rules: dict[str, str]) -> str:
    """Alternatives that match where a key of `rules` goes on: what stands before, and the next code point.

    Keys that share what they start with are put together, as classes: 220,255 keys become some hundred
    alternatives. Every beginning of a key is a key (checked in the tests), so each prefix counts.
    """
    several = [key for key in rules if len(key) > 1]
    alternatives = []
    for length in range(1, max(map(len, several), default=1)):
        starts: dict[str, set[str]] = defaultdict(set)  # the code points after the first: the first ones
        for key in several:
            if len(key) > length:
                starts[key[1 : length + 1]].add(key[0])
        endings: dict[tuple[frozenset, str], set[str]] = defaultdict(set)  # first ones, middle: last ones
        for rest, first in starts.items():
            endings[frozenset(first), rest[:-1]].add(rest[-1])
        middles: dict[tuple[frozenset, frozenset], set[str]] = defaultdict(set)
        for (first, middle), last in endings.items():
            middles[first, frozenset(last)].add(middle)
        for (first, last), middle in middles.items():
            ends = character_class(last)
            if length <= 2:
                between = [character_class(middle)] if length == 2 else [""]
            else:
                between = ["".join(map(literal, text)) for text in sorted(middle)]
            alternatives += [f"(?<={character_class(first)}{text}){ends}" for text in between]
    return "(?:" + "|".join(sorted(alternatives)) + ")" if alternatives else NOTHING


def literal(text: str) -> str:
    r"""An expression of the text itself.

    >>> literal("a.")
    '\\x{61}\\x{2e}'
    """
    return "".join(f"\\x{{{ord(character):x}}}" for character in text)
