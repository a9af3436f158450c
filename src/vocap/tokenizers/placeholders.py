"""User-defined symbols through the normaliser: found as SentencePiece finds them, and kept as they are written.

At each place of a text, SentencePiece takes the longest symbol, else the longest key of the table, and continues
behind it (`PrefixMatcher`, `Normalizer::NormalizePrefix`). One pass finds them so and puts a fence behind each; a
symbol that the table or NFC would change is then replaced by a placeholder until both are done.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

from tokenizers import Regex, normalizers

from vocap.errors import VocapError
from vocap.tokenizers.patterns import character_class, inside_keys, literal


class Codes:
    """Sequences of two code points that stand for something inside the normaliser, and that no text can forge.

    The first one, `escape`, is replaced in the text by `literal` before anything else, and `literal` by it at the
    end; wherever it stands in between, a step of the normaliser has put it. The code points are noncharacters and
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
