r"""SentencePiece's normalisation written in the steps that a `tokenizer.json` can hold.

SentencePiece replaces, from left to right, the longest key of its table
(`Normalizer::NormalizePrefix`). `Precompiled`, the step of `tokenizers` that reads the
same table, works by grapheme: under 6 bytes it takes the shortest key and drops the
rest of the grapheme (tone marks vanish), above that it sees single code points. So:

1. A break (U+0001, which the table deletes, or a code where it deletes nothing) goes
   before the marks that would join a grapheme of a key: then `Precompiled` sees one
   code point at a time, which it maps exactly.
2. Keys of several code points are what NFC composes, once each of their code points is
   mapped. A fence goes before every mark that NFC would compose or reorder although it
   ends no key.
3. `Precompiled`, `NFC`, and the fences away. The few keys that NFC does not know
   (scripts younger than its tables) are replaced before, one by one.

A small table that does not compose as NFC does, as of a user's own file, is replaced
key by key instead (`replacements`).

User-defined symbols are found as SentencePiece finds them, and kept as they are
written: at each place of a text, it takes the longest symbol, else the longest key of
the table, and continues behind it (`PrefixMatcher`). One pass finds them so and puts a
fence behind each; a symbol that the table or NFC would change is then replaced by a
placeholder until both are done.

Fences and the placeholders of user-defined symbols are sequences of two code points
that no text can hold (`Codes`). All of this is computed from the table of the model at
hand. See docs/tokenizers.md.
"""

import functools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import TypeVar

from tokenizers import Regex, normalizers

from vocap.errors import VocapError

SPACE = "\u2581"
# between texts that are normalised in one call: NFC never composes across a
# noncharacter
SEPARATOR = "\ufdd1"
MAX_SINGLE_KEYS = 1000  # every key replaced on its own costs 0.2 microseconds a line
# Contains whatever continues a grapheme (Extend and SpacingMark of UAX 29) in any
# version of Unicode: all but the categories of characters that do not, so that
# unassigned code points are in it. A needless break has no effect.
_JOINERS = (
    r"[^\p{L}\p{N}\p{P}\p{S}\p{Z}\p{Cc}\p{Co}]\x{e33}\x{eb3}\x{ff9e}\x{ff9f}\x{1f3fb}-\x{1f3ff}"
)
Group = TypeVar("Group")
JOINER = "\u200d"
_NFC, _NFD = normalizers.NFC(), normalizers.NFD()


class Codes:
    """Sequences of two code points that stand for something inside the normaliser, and
    that no text can forge.

    The first one, `escape`, is replaced in the text by `literal` before anything else,
    and `literal` by it at the end; in between, each one was put there by a step of the
    normaliser. The code points are noncharacters and of private use, none of them in
    `taken`: no table maps them, and they neither compose nor join a grapheme.
    """

    def __init__(self, taken: set[str]):
        self._free = (character for character in inert_characters() if character not in taken)
        self.escape = next(self._free)
        self.literal, self.fence, self.prefix = self.new(), self.new(), self.new()

    def new(self) -> str:
        """A code that was not given before."""
        return self.escape + next(self._free)


def inert_characters() -> Iterator[str]:
    """The noncharacters U+FDD0 to U+FDEF, then the private use code points."""
    return map(chr, chain(range(0xFDD0, 0xFDF0), range(0xE000, 0xF900), range(0xF0000, 0xFFFFE)))


def build_normalizer(
    rules: dict[str, str],
    charsmap: bytes,
    symbols: Sequence[str] = (),
    dummy_prefix: bool = True,
    remove_extra_spaces: bool = True,
) -> normalizers.Normalizer:
    """The normalizer that gives what SentencePiece's gives, for every text.

    `rules` is `read_charsmap(charsmap)`; `symbols` are the user-defined symbols, which
    are kept as they are written. Raises VocapError where the table cannot be expressed.
    """
    steps: list[normalizers.Normalizer] = []
    prefix: normalizers.Normalizer = normalizers.Prepend(SPACE)  # leaves an empty text as it is
    if remove_extra_spaces and (spaced := [symbol for symbol in symbols if " " in symbol]):
        raise VocapError(
            f"the user-defined symbol {spaced[0]!r} holds a space, and the model's normaliser "
            "removes spaces; leave the symbol out"
        )
    if rules:
        codes = Codes(set("".join(chain(rules, rules.values(), symbols))))
        steps.append(normalizers.Replace(codes.escape, codes.literal))
        if dummy_prefix and not remove_extra_spaces:
            # only a text that is empty from the start gets no prefix, not one whose
            # characters are deleted
            steps.append(normalizers.Prepend(codes.prefix))
            prefix = normalizers.Replace(codes.prefix, SPACE)
        changed = _changed_without_rule(rules)
        if changed and len(rules) <= MAX_SINGLE_KEYS:
            steps += replacements(rules, symbols, codes)
        else:
            hide, show = symbol_steps(
                rules, symbols, codes, composing_characters(rules) | reordered_characters()
            )
            if not any(
                JOINER in key for key in rules
            ):  # clients in JavaScript change it in a table
                code = codes.new()
                hide.append(normalizers.Replace(JOINER, code))
                show.insert(0, normalizers.Replace(code, JOINER))
            steps += [*hide, *_charsmap_steps(rules, charsmap, codes, changed), *show]
    if remove_extra_spaces:
        steps += [normalizers.Replace(Regex(" {2,}"), " "), normalizers.Replace(Regex(r"\A "), "")]
    if dummy_prefix:
        steps.append(prefix)
    steps.append(normalizers.Replace(" ", SPACE))
    if remove_extra_spaces:
        # a prefix before nothing and a U+2581 of the text itself go too; looking behind
        # keeps long runs linear
        steps.append(normalizers.Replace(Regex(rf"(?<!{SPACE}){SPACE}+\z"), ""))
    if rules:
        steps.append(normalizers.Replace(codes.literal, codes.escape))
    return normalizers.Sequence(steps)


def _charsmap_steps(
    rules: dict[str, str], charsmap: bytes, codes: Codes, changed: int
) -> list[normalizers.Normalizer]:
    """The steps of the table and of NFC; `changed`: the code points that NFC changes besides."""
    deleted = {key for key, value in rules.items() if len(key) == 1 and not value}
    separator = min(deleted, default="") or codes.new()
    single = single_keys(rules)
    if changed or len(single) > MAX_SINGLE_KEYS:
        raise VocapError(
            f"the model's normaliser differs from Unicode's NFC in {len(single)} rules and "
            f"{changed} code points, too many for an export; train the model with nmt_nfkc"
        )
    return [
        *(normalizers.Replace(key, rules[key]) for key in single),
        # a deletion at the very start of a text would shift the offsets in
        # `Precompiled`
        *([normalizers.Replace(Regex(rf"\A{character_class(deleted)}+"), "")] if deleted else []),
        normalizers.Replace(Regex(fences(rules, deleted)), codes.fence),
        normalizers.Replace(Regex(breaks(rules)), separator),
        normalizers.Precompiled(charsmap),
        *([] if deleted else [normalizers.Replace(separator, "")]),
        _NFC,
        normalizers.Replace(codes.fence, ""),
    ]


def single_keys(rules: dict[str, str]) -> list[str]:
    """The keys of several code points whose value is not the NFC of their mapped code
    points, longest first.
    """
    several = [key for key in rules if len(key) > 1]
    if not several:
        return []
    mapped = SEPARATOR.join(several).translate(_single_rules(rules))
    composed = _NFC.normalize_str(mapped).split(SEPARATOR)
    return by_length(
        key for key, value in zip(several, composed, strict=True) if rules[key] != value
    )


def by_length(texts: Iterable[str]) -> list[str]:
    """The texts from the longest down, of equal length by code points."""
    return sorted(texts, key=lambda text: (-len(text), text))


def _changed_without_rule(rules: dict[str, str]) -> int:
    """The number of code points whose value (themselves, where no rule has them) is not
    in NFC.
    """
    written = SEPARATOR.join(_characters()).translate(_single_rules(rules))
    composed = _NFC.normalize_str(written)
    values = zip(written.split(SEPARATOR), composed.split(SEPARATOR), strict=True)
    return sum(value != other for value, other in values)


def _single_rules(rules: dict[str, str]) -> dict[int, str]:
    """The values of single code points, by their numbers, as `str.translate` takes
    them.
    """
    return {ord(key): value for key, value in rules.items() if len(key) == 1}


@functools.cache
def _characters() -> list[str]:
    """Every code point of the planes that hold characters: the others are unassigned or
    of private use.
    """
    codes = chain(range(0xD800), range(0xE000, 0x40000), range(0xE0000, 0xE1000))
    return [chr(code) for code in codes if chr(code) != SEPARATOR]


def breaks(rules: dict[str, str]) -> str:
    """A regular expression of the places, inside graphemes of less than 6 bytes, that
    need a break.
    """
    first = {key[0] for key in rules}
    short = [character for character in first if ord(character) < 0x800]  # 1 or 2 bytes
    long = [character for character in first if 0x800 <= ord(character) < 0x10000]  # 3 bytes
    return (
        rf"(?<={character_class(short)})(?=[{_JOINERS}])"
        rf"|(?<={character_class(long)})(?=[\x{{1}}-\x{{7ff}}&&[{_JOINERS}]])"
        r"|(?<=\r)(?=\n)"
    )


def fences(rules: dict[str, str], deleted: set[str]) -> str:
    """A regular expression of the places before which NFC must not look back.

    They lie before a code point that NFC composes, or that follows another mark and
    could be reordered; but not inside a key. Not at the start of a text: there
    `NormalizedString` loses its alignment.
    """
    reordered = reordered_characters()
    composing = composing_characters(rules)
    values = {character: rules.get(character, character) for character in composing | reordered}
    values |= {key: value for key, value in rules.items() if len(key) == 1 and value}
    after = {key for key, value in values.items() if value[0] in composing} | composing
    marks = {key for key, value in values.items() if value[0] in reordered}
    before = {key for key, value in values.items() if value[-1] in reordered} | deleted
    return (
        rf"(?<=[\s\S])(?={character_class(after | marks)})"
        rf"(?:(?<={character_class(before)})|(?={character_class(after)}))"
        rf"(?!{inside_keys(rules)})"
    )


def composing_characters(rules: dict[str, str]) -> set[str]:
    """Code points that NFC or a key joins to the one before them."""
    return set("".join([key[1:] for key in rules])) | _composed_by_nfc()


@functools.cache
def _composed_by_nfc() -> frozenset[str]:
    decomposed = _NFD.normalize_str(SEPARATOR.join(_characters())).split(SEPARATOR)
    return frozenset("".join([text[1:] for text in decomposed]))


@functools.cache
def reordered_characters() -> frozenset[str]:
    """The marks (canonical combining class above 0) that the NFC of `tokenizers` moves,
    asked of itself.
    """
    codes = (*range(0x300, 0xD800), *range(0xF900, 0x20000), *range(0xE0000, 0xE0200))
    candidates = [chr(code) for code in codes if chr(code) != SEPARATOR]
    last = "\u0345"  # of the highest class, 240: any other mark moves before it
    pairs = [last + character for character in candidates]
    moved = _NFC.normalize_str(SEPARATOR.join(pairs)).split(SEPARATOR)
    alone = _NFC.normalize_str(SEPARATOR.join(candidates)).split(SEPARATOR)
    return frozenset({last}) | {
        character
        for character, pair, result, same in zip(candidates, pairs, moved, alone, strict=True)
        if result != pair and same == character
    }


def symbol_steps(
    rules: dict[str, str], symbols: Sequence[str], codes: Codes, moved: set[str]
) -> tuple[list[normalizers.Normalizer], list[normalizers.Normalizer]]:
    """The steps before the table is applied and those after NFC.

    `moved` are the code points that NFC joins to others or reorders. A symbol without
    any of these and of the table's keys stays in the text; the fence behind it keeps
    its last code point from what follows.
    """
    hidden = [
        symbol
        for symbol in symbols
        if any(character in rules or character in moved for character in symbol)
    ]
    first = {key[0] for key in rules}
    if not hidden and not any(symbol[-1] in first for symbol in symbols):
        return [], []
    longest = by_length(symbols)
    hide: list[normalizers.Normalizer] = [
        normalizers.Replace(Regex(_behind(longest, _swallowing(rules, symbols))), codes.fence)
    ]
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


def _behind(symbols: Sequence[str], keys: Sequence[str]) -> str:
    r"""An expression of the places behind symbols as they are found from left to right,
    the first of `symbols` before the others; `keys`: expressions that may take one.

    Where no two can overlap it needs no `\K`, which other engines than Oniguruma lack.

    >>> _behind(["<a>", "b+"], []), _behind(["aa"], [])
    ('(?<=\\x{3c}\\x{61}\\x{3e}|\\x{62}\\x{2b})', '(?:\\x{61}\\x{61})\\K')
    """
    taken = "|".join([*map(literal, symbols), *keys])
    overlapping = any(
        other.startswith(symbol[start:]) or symbol[start:].startswith(other)
        for symbol in symbols
        for other in symbols
        for start in range(symbol == other, len(symbol))
    )
    return rf"(?:{taken})\K" if keys or overlapping else f"(?<={taken})"


def replacements(
    rules: dict[str, str], symbols: Sequence[str], codes: Codes
) -> list[normalizers.Normalizer]:
    """The steps of a whole table, each key by itself: found in one pass, then by
    placeholders, then the values.
    """
    texts = rules | {symbol: symbol for symbol in symbols}
    found = "|".join(map(literal, dict.fromkeys([*by_length(symbols), *by_length(rules)])))
    hidden = {text: codes.new() for text in by_length(texts)}
    return [
        normalizers.Replace(Regex(rf"(?:{found})\K"), codes.fence),
        *(normalizers.Replace(text + codes.fence, code) for text, code in hidden.items()),
        *(normalizers.Replace(code, texts[text]) for text, code in hidden.items()),
    ]


def _swallowing(rules: dict[str, str], symbols: Sequence[str]) -> list[str]:
    """Expressions of the keys that may take the start of a symbol, or of another such
    key; longest first.
    """
    several = [key for key in rules if len(key) > 1]
    starts: set[str] = set()
    keys: set[str] = set()
    new = {symbol[0] for symbol in symbols}
    while new - starts:
        starts |= new
        keys = {key for key in several if not starts.isdisjoint(key[1:])}
        new = {key[0] for key in keys}
    firsts = grouped((key[1:], key[0]) for key in keys)
    return [character_class(firsts[end]) + literal(end) for end in by_length(firsts)]


def grouped(pairs: Iterable[tuple[Group, str]]) -> dict[Group, frozenset[str]]:
    """The second ones of pairs by their first ones."""
    found = defaultdict(set)
    for group, text in pairs:
        found[group].add(text)
    return {group: frozenset(texts) for group, texts in found.items()}


NOTHING = r"[^\s\S]"  # matches nowhere


def character_class(characters: Iterable[str]) -> str:
    r"""A regular expression's class of these characters, in ranges.

    >>> character_class("acbx")
    '[\\x{61}-\\x{63}\\x{78}]'
    """
    codes = enumerate(sorted(map(ord, characters)))
    runs = [[code for _, code in run] for _, run in groupby(codes, lambda one: one[1] - one[0])]
    ranges = [literal(chr(run[0])) + f"-\\x{{{run[-1]:x}}}" * (len(run) > 1) for run in runs]
    return f"[{''.join(ranges)}]" if ranges else NOTHING


def inside_keys(rules: dict[str, str]) -> str:
    """Alternatives that match inside a key of `rules`: the code points before, and the
    next one.

    Keys with a common beginning are merged into classes: 220,255 keys become some
    hundred alternatives. Every beginning of a key is a key (checked in the tests), so
    each prefix counts.
    """
    several = [key for key in rules if len(key) > 1]
    alternatives = []
    for length in range(1, max(map(len, several), default=1)):
        # the first code points by those after them; the last ones by the first ones and those
        # between; those between
        starts = grouped((key[1 : length + 1], key[0]) for key in several if len(key) > length)
        endings = grouped(((firsts, rest[:-1]), rest[-1]) for rest, firsts in starts.items())
        middles = grouped(((firsts, lasts), middle) for (firsts, middle), lasts in endings.items())
        for (firsts, lasts), between in middles.items():
            ends = character_class(lasts)
            if length <= 2:
                inner = [character_class(between)] if length == 2 else [""]
            else:
                inner = ["".join(map(literal, text)) for text in sorted(between)]
            alternatives += [f"(?<={character_class(firsts)}{text}){ends}" for text in inner]
    return "(?:" + "|".join(sorted(alternatives)) + ")" if alternatives else NOTHING


def literal(text: str) -> str:
    r"""An expression of the text itself.

    >>> literal("a.")
    '\\x{61}\\x{2e}'
    """
    return "".join(f"\\x{{{ord(character):x}}}" for character in text)
