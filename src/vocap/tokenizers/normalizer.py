r"""SentencePiece's normalisation written in the steps that a `tokenizer.json` can hold.

SentencePiece replaces, from left to right, the longest key of its table (`Normalizer::NormalizePrefix`).
`Precompiled`, the step of `tokenizers` that reads the same table, works by grapheme: under 6 bytes it takes the
shortest key and drops the rest of the grapheme (tone marks vanish), above that it sees single code points. So:

1. `BREAK` (U+0001, which the table deletes) goes before the marks that would join a grapheme of a key: then
   `Precompiled` sees one code point at a time, which it maps exactly.
2. Keys of several code points are what NFC composes, once each of their code points is mapped. `FENCE` (a
   noncharacter) goes before every mark that NFC would compose or reorder although it ends no key.
3. `Precompiled`, `NFC`, and the fences away. The few keys that NFC does not know (scripts younger than its
   tables) are replaced before, one by one.

All of this is computed from the table of the model at hand. See docs/huggingface-export.md.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from tokenizers import Regex, normalizers

from vocap.errors import VocapError

FENCE = "\ufdd1"  # no character, in no table: text for interchange never holds it
SPACE = "\u2581"
MAX_SINGLE_KEYS = 200  # every key replaced on its own costs 0.2 microseconds a line
# Contains whatever continues a grapheme (Extend and SpacingMark of UAX 29) in any version of Unicode: all but the
# categories of characters that do not, so that unassigned code points are in it. A needless break has no effect.
_JOINERS = r"[^\p{L}\p{N}\p{P}\p{S}\p{Z}\p{Cc}\p{Co}]\x{e33}\x{eb3}\x{ff9e}\x{ff9f}\x{1f3fb}-\x{1f3ff}"
_NFC = normalizers.NFC()


def build_normalizer(
    rules: dict[str, str],
    charsmap: bytes,
    symbols: Sequence[str] = (),
    dummy_prefix: bool = True,
    remove_extra_spaces: bool = True,
) -> normalizers.Normalizer:
    """The normalizer that gives what SentencePiece's gives, for every text without U+FDD1.

    `rules` is `read_charsmap(charsmap)`; `symbols` are the user-defined symbols, which are kept as they are
    written. Raises VocapError where the table cannot be expressed.
    """
    steps: list[normalizers.Normalizer] = []
    composing = {character for key in rules for character in key[1:]}
    stands_for = _placeholders(rules, symbols)
    for symbol in sorted(stands_for, key=lambda symbol: (-len(symbol), symbol)):
        # a key that starts before the symbol takes its first code point away
        found = Regex(f"(?!{_inside_keys(rules)}){_literal(symbol)}") if symbol[0] in composing else symbol
        steps.append(normalizers.Replace(found, stands_for[symbol]))
    if rules:
        steps += _charsmap_steps(rules, charsmap, [symbol for symbol in symbols if symbol not in stands_for])
    steps += [normalizers.Replace(stands_for[symbol], symbol) for symbol in sorted(stands_for)]
    if remove_extra_spaces:
        # first one space for many: " +\z" alone would try every space of a long run
        steps += [normalizers.Replace(Regex(" {2,}"), " "), normalizers.Replace(Regex(r"\A | \z"), "")]
    if dummy_prefix:
        steps.append(normalizers.Prepend(SPACE))
    steps.append(normalizers.Replace(" ", SPACE))
    return normalizers.Sequence(steps)


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
        return r"[^\s\S]"
    return "[" + "".join(f"\\x{{{a:x}}}" + (f"-\\x{{{b:x}}}" if b > a else "") for a, b in ranges) + "]"


def _charsmap_steps(rules: dict[str, str], charsmap: bytes, symbols: list[str]) -> list[normalizers.Normalizer]:
    deleted = {key for key, value in rules.items() if len(key) == 1 and not value}
    if not deleted:
        raise VocapError(
            "the model's normaliser deletes no control character, so that its rules cannot be put apart; "
            "train the model with nmt_nfkc"
        )
    if any(FENCE in text for rule in rules.items() for text in rule):
        raise VocapError("the model's normaliser has a rule for U+FDD1, a noncharacter; train it with nmt_nfkc")
    separator = min(deleted)
    single = single_keys(rules)
    if len(single) > MAX_SINGLE_KEYS:
        raise VocapError(
            f"{len(single)} rules of the model's normaliser differ from Unicode's NFC, at most "
            f"{MAX_SINGLE_KEYS} can be exported; train the model with nmt_nfkc"
        )
    return [
        *(normalizers.Replace(key, rules[key]) for key in single),
        # a deletion at the very start of a text would shift the offsets in `Precompiled`
        normalizers.Replace(Regex(rf"\A{character_class(deleted)}+"), ""),
        normalizers.Replace(Regex(fences(rules, deleted, symbols)), FENCE),
        normalizers.Replace(Regex(breaks(rules)), separator),
        normalizers.Precompiled(charsmap),
        normalizers.NFC(),
        normalizers.Replace(FENCE, ""),
    ]


def single_keys(rules: dict[str, str]) -> list[str]:
    """The keys of several code points whose value is not the NFC of their mapped code points, longest first."""
    several = [key for key in rules if len(key) > 1]
    mapped = ["".join(rules.get(character, character) for character in key) for key in several]
    # one call: a fence starts a new text for NFC
    composed = _NFC.normalize_str(FENCE.join(mapped)).split(FENCE)
    differing = [key for key, value in zip(several, composed, strict=True) if rules[key] != value]
    return sorted(differing, key=lambda key: (-len(key), key))


def breaks(rules: dict[str, str]) -> str:
    """A regular expression of the places, inside graphemes of less than 6 bytes, that need a break."""
    first = {key[0] for key in rules}
    short = [character for character in first if ord(character) < 0x800]  # 1 or 2 bytes
    long = [character for character in first if 0x800 <= ord(character) < 0x10000]  # 3 bytes
    return (
        rf"(?<={character_class(short)})(?=[{_JOINERS}])"
        rf"|(?<={character_class(long)})(?=[\x{{1}}-\x{{7ff}}&&[{_JOINERS}]])"
        r"|(?<=\r)(?=\n)"
    )


def fences(rules: dict[str, str], deleted: set[str], symbols: Sequence[str] = ()) -> str:
    """A regular expression of the places before which NFC must not look back.

    They lie before a code point that NFC composes, or that follows another mark and could be reordered; but not
    inside a key. Not at the start of a text: there `NormalizedString` loses its alignment.
    """
    reordered = reordered_characters()
    composing = {character for key in rules for character in key[1:]}
    values = {character: rules.get(character, character) for character in composing | reordered}
    values |= {key: value for key, value in rules.items() if len(key) == 1 and value}
    after = {key for key, value in values.items() if value[0] in composing} | composing
    marks = {key for key, value in values.items() if value[0] in reordered}
    before = {key for key, value in values.items() if value[-1] in reordered} | deleted
    literals = "|".join(_literal(symbol) for symbol in sorted(symbols))
    return (
        rf"(?<=[\s\S])(?={character_class(after | marks)})"
        rf"(?:(?<={character_class(before)})|(?={character_class(after)}))"
        rf"(?:(?!{_inside_keys(rules)})" + (f"|(?<={literals})" if literals else "") + ")"
    )


def reordered_characters() -> set[str]:
    """The marks (canonical combining class above 0) that the NFC of `tokenizers` moves, asked of itself."""
    codes = (*range(0x300, 0xD800), *range(0xF900, 0x20000), *range(0xE0000, 0xE0200))
    candidates = [chr(code) for code in codes if chr(code) != FENCE]
    last = "\u0345"  # of the highest class, 240: any other mark moves before it
    pairs = [last + character for character in candidates]
    moved = _NFC.normalize_str(FENCE.join(pairs)).split(FENCE)
    alone = _NFC.normalize_str(FENCE.join(candidates)).split(FENCE)
    return {last} | {
        character
        for character, pair, result, same in zip(candidates, pairs, moved, alone, strict=True)
        if result != pair and same == character
    }


def _inside_keys(rules: dict[str, str]) -> str:
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
                between = ["".join(map(_literal, text)) for text in sorted(middle)]
            alternatives += [f"(?<={character_class(first)}{text}){ends}" for text in between]
    return "(?:" + "|".join(sorted(alternatives)) + ")" if alternatives else r"[^\s\S]"


def _literal(text: str) -> str:
    return "".join(f"\\x{{{ord(character):x}}}" for character in text)


def _placeholders(rules: dict[str, str], symbols: Sequence[str]) -> dict[str, str]:
    """A noncharacter or private code point for each symbol that normalisation would change or split."""
    if not symbols or not rules:
        return {}
    composing = {character for key in rules for character in key[1:]}
    reordered = reordered_characters()
    changed = [
        symbol
        for symbol in symbols
        if any(character in rules or character in composing or character in reordered for character in symbol)
    ]
    free = (chr(code) for code in (*range(0xFDD2, 0xFDF0), *range(0x100000, 0x10FFFE)))
    return dict(zip(changed, free, strict=False))
