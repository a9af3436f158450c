"""User-defined symbols in the normaliser: found as SentencePiece finds them, and kept as they are written.

At each place of a text, SentencePiece takes the longest symbol, else the longest key of the table, and continues
behind it (`PrefixMatcher`, `Normalizer::NormalizePrefix`). One pass finds them so and puts a fence behind each; a
symbol that the table or NFC would change is then replaced by a placeholder until both are done.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from tokenizers import Regex, normalizers

from vocap.errors import VocapError


class Codes:
    """Sequences of two code points that stand for something inside the normaliser, and that no text can forge.

    The first one, `escape`, is replaced in the text by `literal` before anything else, and `literal` by it at the
    end; in between, each one was put there by a step of the normaliser. The code points are noncharacters and
    of private use, none of them in `taken`: no table maps them, and they neither compose nor join a grapheme.
    """

    def __init__(self, taken: set[str]):
        self._free = (character for character in inert_characters() if character not in taken)
        self.escape = next(self._free, "")
        self.literal, self.fence, self.prefix = self.new(), self.new(), self.new()

    def new(self) -> str:
        """A code that was not given before. Raises VocapError where there are no more."""
        character = next(self._free, None)
        if character is None:
            raise VocapError("the symbols and rules of the model leave no free code points; leave symbols out")
        return self.escape + character


def inert_characters() -> Iterator[str]:
    """The noncharacters U+FDD0 to U+FDEF, then the private use code points."""
    return map(chr, chain(range(0xFDD0, 0xFDF0), range(0xE000, 0xF900), range(0xF0000, 0xFFFFE)))


def symbol_steps(
    rules: dict[str, str], symbols: Sequence[str], codes: Codes, moved: set[str]
) -> tuple[list[normalizers.Normalizer], list[normalizers.Normalizer]]:
    """The steps before the table is applied and those after NFC.

    `moved` are the code points that NFC joins to others or reorders. A symbol without any of these and of the
    table's keys stays in the text; the fence behind it keeps its last code point from what follows.
    """
    hidden = [
        symbol for symbol in symbols if any(character in rules or character in moved for character in symbol)
    ]
    first = {key[0] for key in rules}
    if not hidden and not any(symbol[-1] in first for symbol in symbols):
        return [], []
    longest = sorted(symbols, key=lambda symbol: (-len(symbol), symbol))
    taken = "|".join([*map(literal, longest), *_swallowing(rules, symbols)])
    hide: list[normalizers.Normalizer] = [normalizers.Replace(Regex(rf"(?:{taken})\K"), codes.fence)]
    show: list[normalizers.Normalizer] = []
    composing = {character for key in rules for character in key[1:]}
    inside = inside_keys(rules) if any(symbol[0] in composing for symbol in hidden) else ""
    for symbol in longest:
        if symbol in hidden:
            code = codes.new()
            end = symbol + codes.fence
            # the fence may also end a key that the symbol ends
            found = Regex(f"(?!{inside}){literal(end)}") if symbol[0] in composing else end
            hide.append(normalizers.Replace(found, code))
            show.append(normalizers.Replace(code, symbol))
    return hide, show


def replacements(rules: dict[str, str], symbols: Sequence[str], codes: Codes) -> list[normalizers.Normalizer]:
    """The steps of a whole table, each key by itself: found in one pass, then by placeholders, then the values."""
    texts = rules | {symbol: symbol for symbol in symbols}
    first, then = (sorted(some, key=lambda text: (-len(text), text)) for some in (symbols, rules))
    found = "|".join(map(literal, dict.fromkeys((*first, *then))))
    hidden = {text: codes.new() for text in sorted(texts, key=lambda text: (-len(text), text))}
    return [
        normalizers.Replace(Regex(rf"(?:{found})\K"), codes.fence),
        *(normalizers.Replace(text + codes.fence, code) for text, code in hidden.items()),
        *(normalizers.Replace(code, texts[text]) for text, code in hidden.items()),
    ]


def _swallowing(rules: dict[str, str], symbols: Sequence[str]) -> list[str]:
    """Expressions of the keys that may take the start of a symbol, or of another such key; longest first."""
    several = [key for key in rules if len(key) > 1]
    starts, keys = set(), set()
    new = {symbol[0] for symbol in symbols}
    while new - starts:
        starts |= new
        keys = {key for key in several if not starts.isdisjoint(key[1:])}
        new = {key[0] for key in keys}
    firsts = defaultdict(set)  # of the keys by their other code points
    for key in keys:
        firsts[key[1:]].add(key[0])
    ends = sorted(firsts, key=lambda end: (-len(end), end))
    return [character_class(firsts[end]) + literal(end) for end in ends]


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
    """Alternatives that match inside a key of `rules`: the code points before, and the next one.

    Keys with a common beginning are merged into classes: 220,255 keys become some hundred
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
