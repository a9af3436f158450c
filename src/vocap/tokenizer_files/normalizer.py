r"""SentencePiece's normalisation written in the steps that a `tokenizer.json` can hold.

SentencePiece replaces, from left to right, the longest key of its table (`Normalizer::NormalizePrefix`).
`Precompiled`, the step of `tokenizers` that reads the same table, works by grapheme: under 6 bytes it takes the
shortest key and drops the rest of the grapheme (tone marks vanish), above that it sees single code points. So:

1. A break (U+0001, which the table deletes, or a code where it deletes nothing) goes before the marks that would
   join a grapheme of a key: then `Precompiled` sees one code point at a time, which it maps exactly.
2. Keys of several code points are what NFC composes, once each of their code points is mapped. A fence goes
   before every mark that NFC would compose or reorder although it ends no key.
3. `Precompiled`, `NFC`, and the fences away. The few keys that NFC does not know (scripts younger than its
   tables) are replaced before, one by one.

A small table that does not compose as NFC does, as of a user's own file, is replaced key by key instead
(`placeholders.replacements`).

Fences and the placeholders of user-defined symbols are sequences of two code points that no text can hold
(`Codes`). All of this is computed from the table of the model at hand. See docs/tokenizers.md.
"""

import functools
from collections.abc import Sequence
from itertools import chain

from tokenizers import Regex, normalizers

from vocap.errors import VocapError
from vocap.tokenizer_files.placeholders import Codes, character_class, inside_keys, replacements, symbol_steps

SPACE = "\u2581"
SEPARATOR = "\ufdd1"  # between texts that are normalised in one call: NFC never composes across a noncharacter
MAX_SINGLE_KEYS = 1000  # every key replaced on its own costs 0.2 microseconds a line
# Contains whatever continues a grapheme (Extend and SpacingMark of UAX 29) in any version of Unicode: all but the
# categories of characters that do not, so that unassigned code points are in it. A needless break has no effect.
_JOINERS = r"[^\p{L}\p{N}\p{P}\p{S}\p{Z}\p{Cc}\p{Co}]\x{e33}\x{eb3}\x{ff9e}\x{ff9f}\x{1f3fb}-\x{1f3ff}"
_NFC, _NFD = normalizers.NFC(), normalizers.NFD()


def build_normalizer(
    rules: dict[str, str],
    charsmap: bytes,
    symbols: Sequence[str] = (),
    dummy_prefix: bool = True,
    remove_extra_spaces: bool = True,
) -> normalizers.Normalizer:
    """The normalizer that gives what SentencePiece's gives, for every text.

    `rules` is `read_charsmap(charsmap)`; `symbols` are the user-defined symbols, which are kept as they are
    written. Raises VocapError where the table cannot be expressed.
    """
    steps: list[normalizers.Normalizer] = []
    prefix = normalizers.Prepend(SPACE)  # leaves an empty text as it is
    if remove_extra_spaces and (spaced := [symbol for symbol in symbols if " " in symbol]):
        raise VocapError(
            f"the user-defined symbol {spaced[0]!r} holds a space, and the model's normaliser removes spaces; "
            "leave the symbol out"
        )
    if rules:
        codes = Codes({character for text in chain(rules, rules.values(), symbols) for character in text})
        steps.append(normalizers.Replace(codes.escape, codes.literal))
        if dummy_prefix and not remove_extra_spaces:
            # only a text that is empty from the start gets no prefix, not one whose characters are deleted
            steps.append(normalizers.Prepend(codes.prefix))
            prefix = normalizers.Replace(codes.prefix, SPACE)
        if len(rules) <= MAX_SINGLE_KEYS and (_holds_separator(rules) or _changed_without_rule(rules)):
            steps += replacements(rules, symbols, codes)
        else:
            hide, show = symbol_steps(rules, symbols, codes, composing_characters(rules) | reordered_characters())
            steps += [*hide, *_charsmap_steps(rules, charsmap, codes), *show]
    if remove_extra_spaces:
        steps += [normalizers.Replace(Regex(" {2,}"), " "), normalizers.Replace(Regex(r"\A "), "")]
    if dummy_prefix:
        steps.append(prefix)
    steps.append(normalizers.Replace(" ", SPACE))
    if remove_extra_spaces:
        # a prefix before nothing and a U+2581 of the text itself go too; looking behind keeps long runs linear
        steps.append(normalizers.Replace(Regex(rf"(?<!{SPACE}){SPACE}+\z"), ""))
    if rules:
        steps.append(normalizers.Replace(codes.literal, codes.escape))
    return normalizers.Sequence(steps)


def _charsmap_steps(rules: dict[str, str], charsmap: bytes, codes: Codes) -> list[normalizers.Normalizer]:
    deleted = {key for key, value in rules.items() if len(key) == 1 and not value}
    if _holds_separator(rules):
        raise VocapError("the model's normaliser has a rule for U+FDD1, a noncharacter; train it with nmt_nfkc")
    separator = min(deleted, default="") or codes.new()
    single = single_keys(rules)
    if len(single) > MAX_SINGLE_KEYS:
        raise VocapError(
            f"{len(single)} rules of the model's normaliser differ from Unicode's NFC, at most "
            f"{MAX_SINGLE_KEYS} can be exported; train the model with nmt_nfkc"
        )
    if without := _changed_without_rule(rules):
        raise VocapError(
            f"Unicode's NFC changes {len(without)} code points that the model's normaliser does not, such as "
            f"U+{ord(without[0]):04X}; train the model with nmt_nfkc"
        )
    return [
        *(normalizers.Replace(key, rules[key]) for key in single),
        # a deletion at the very start of a text would shift the offsets in `Precompiled`
        *([normalizers.Replace(Regex(rf"\A{character_class(deleted)}+"), "")] if deleted else []),
        normalizers.Replace(Regex(fences(rules, deleted)), codes.fence),
        normalizers.Replace(Regex(breaks(rules)), separator),
        normalizers.Precompiled(charsmap),
        *([] if deleted else [normalizers.Replace(separator, "")]),
        _NFC,
        normalizers.Replace(codes.fence, ""),
    ]


def _holds_separator(rules: dict[str, str]) -> bool:
    return any(SEPARATOR in text for text in chain(rules, rules.values()))


def single_keys(rules: dict[str, str]) -> list[str]:
    """The keys of several code points whose value is not the NFC of their mapped code points, longest first."""
    several = [key for key in rules if len(key) > 1]
    if not several:
        return []
    mapped = ["".join(rules.get(character, character) for character in key) for key in several]
    composed = _NFC.normalize_str(SEPARATOR.join(mapped)).split(SEPARATOR)
    differing = [key for key, value in zip(several, composed, strict=True) if rules[key] != value]
    return sorted(differing, key=lambda key: (-len(key), key))


def _changed_without_rule(rules: dict[str, str]) -> list[str]:
    """The code points whose value (themselves, where no rule has them) is not in NFC."""
    values = {character: rules.get(character, character) for character in _characters()}
    composed = _NFC.normalize_str(SEPARATOR.join(values.values())).split(SEPARATOR)
    return [
        character for (character, value), other in zip(values.items(), composed, strict=True) if value != other
    ]


def _characters() -> list[str]:
    """Every code point of the planes that hold characters: the others are unassigned or of private use."""
    codes = chain(range(0xD800), range(0xE000, 0x40000), range(0xE0000, 0xE1000))
    return [chr(code) for code in codes if chr(code) != SEPARATOR]


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


def fences(rules: dict[str, str], deleted: set[str]) -> str:
    """A regular expression of the places before which NFC must not look back.

    They lie before a code point that NFC composes, or that follows another mark and could be reordered; but not
    inside a key. Not at the start of a text: there `NormalizedString` loses its alignment.
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
    return {character for key in rules for character in key[1:]} | _composed_by_nfc()


@functools.cache
def _composed_by_nfc() -> frozenset[str]:
    decomposed = _NFD.normalize_str(SEPARATOR.join(_characters())).split(SEPARATOR)
    return frozenset(character for text in decomposed for character in text[1:])


@functools.cache
def reordered_characters() -> frozenset[str]:
    """The marks (canonical combining class above 0) that the NFC of `tokenizers` moves, asked of itself."""
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
