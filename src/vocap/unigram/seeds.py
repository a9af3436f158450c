"""Seed pieces from the suffix array (`MakeSeedSentencePieces`).

SentencePiece builds the suffix array of all sentences. Seeds never cross U+2581, so the
text of the word types with weights gives the same substrings, frequencies and order
(see `seed_text`), and is 3 to 9 times shorter where words repeat. Seeds are short, so
suffixes are sorted no further than a seed can reach, in parts by their first characters:
so a part stays in the processor's caches, and no array but their order spans the text.

Seeds are the substrings with two different continuations, so a word that is always
followed by a space is none.

By default no piece mixes two scripts (`unicode_script.cc`, Unicode 9).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocap.errors import VocapError
from vocap.files.large_arrays import is_large, new_array
from vocap.unigram.kernels import ONE_THREAD, Workers, kernel
from vocap.unigram.text_settings import RESERVED, SPACE, XLM_R, TextSettings
from vocap.unigram.training_text import SEPARATOR
from vocap.unigram.word_types import WordTypes

_MAX = 2**31 - 1  # positions, and occurrences of a type, are 32-bit numbers
_PART = 1 << 17  # suffixes that are sorted at a time: their text stays in the caches
_PARTS = 1 << 10  # and at most about twice as many parts
_PARTS_AT_ONCE = 16  # whose seeds are compared
NO_SCRIPT, INHERITED, ALONE = -1, -2, -3

# Code points, hexadecimal, that have a script in the table of the pinned fontTools and
# none in Scripts.txt of Unicode 9; gaps of unassigned ones are bridged. With another
# fontTools, compare the two again.
YOUNGER = """
558 560 588-589 58B-58C 5C8-5C9 5EF 61C-61D 7FD-7FF 860-89F 8B5 8BE-8D3 9FC-9FE A76 AFA-AFF B53-B55
C04 C3C
C5C-C5D C77 C84 CDC-CDD CF3-D00 D04 D3B-D3C D81 E86 E89 E8C E8E-E93 E98 EA0 EA8-EA9 EAC EBA ECE 170D
1715-171F 180F 1878 1ABF-1AF0 1B4C-1B4F 1B7D-1B7F 1C89-1CBF 1DF6-1DFA 209D-209F 2C2F 2C5F 312E-312F
31BB-31BF 4DB6-4DBF 9FD6-9FFF A7AF A7B8-A7F6 A82C A8FE-A8FF AB66-AB6D FBC2-FBD2 FD40-FD4F FD90-FD91
FDC8-FDCF FDFE-FDFF 1032D-1032F 10570-105F3 10780-107BF 10940-10959 10A34-10A35 10A48 10D00-10D8F
10E80-10FF6 11070-11075 110C2-110CD 11144-11147 111CE-111CF 1123F-11241 1133B 11380-113E2 1145A
1145E-11461 116B8-116B9 116D0-116E3 1171A 11740-11746 11800-1183B 11900-11959 119A0-11ABF
11B00-11B0A 11B60-11B67 11BC0-11BF9 11D00-11DF1 11EE0-11F5A 11FB0-11FFF 1246F 12475-1247F
12550-12686 12F90-12FF2 1342F-143FA 16100-16139 16A70-16AC9 16D40-16D79 16E40-16ED3 16F45-16F4F
16F7F-16F87 16FE1-16FF6 187ED-187FF 18AF3-18D20 18D80-191D2 1AFF0-1AFFE 1B002-1B2FB 1CF00-1CF46
1D127-1D128 1D25B-1D25C 1DF00-1DFFF 1E030-1E08F 1E100-1E14F 1E290-1E2FF 1E4D0-1E4F9 1E5D0-1E5FF
1E6C0-1E6FF 1E7E0-1E7FE 1E94B 2A6D7-2A6DF 2B735-2B73F 2B81E 2CEA2-2EE5D 30000-33479 3D000-3FC3F
"""
OLDER = {0x953: "Deva", 0x954: "Deva"}  # Inherited since Unicode 11


@dataclass(frozen=True)
class SeedText:
    """`text` int32 [N]: code points of all types, each with a separator after it; behind
    them second copies of some. `weight` int32 [N]: the number of places in the training
    text of a position, 0 at separators.
    """

    text: np.ndarray
    weight: np.ndarray


def seed_text(words: WordTypes, memory: int | None = None) -> SeedText:
    """Each type with the character after it in the corpus: U+2581, or 0 at the end of a line.

    A substring is a seed if it occurs with two different continuations. A type is
    followed by U+2581 (the next word) or by 0 (the end of the line); one that is
    followed by both gets a second copy with 0, after all others. Large arrays lie on the
    disk by `memory` (MB). Raises VocapError for a type that occurs 2^31 times.
    """
    weight = np.where(words.inside > 0, words.inside, words.last)
    both = np.flatnonzero((words.inside > 0) & (words.last > 0))
    if max(weight.max(initial=0), words.last.max(initial=0)) > _MAX:
        raise VocapError(f"a word occurs more than {_MAX} times; train on fewer lines")
    last, weight = words.last[both].astype(np.int32), weight.astype(np.int32)
    size = len(words.text) + int(words.length[both].sum(dtype=np.int64)) + 2 * len(both)
    copied, weights = (new_array(size, np.int32, is_large(4 * size, memory)) for _ in range(2))
    copied[: len(words.text)] = words.text
    copy_types(words.text, words.start, words.length, weight, both, last, copied, weights)
    return SeedText(copied, weights)


@kernel(
    "void(int32[::1], int32[::1], int32[::1], int32[::1], int64[::1], int32[::1], int32[::1], "
    "int32[::1])"
)
def copy_types(text, start, length, weight, both, last, copied, weights):
    """Put the types `both` behind the text in `copied`, each with two 0 after it; fill
    `weights`, of zeros, with the weight of each position.
    """
    for t in range(start.size):
        weights[start[t] : start[t] + length[t]] = weight[t]
    at = text.size
    for number in range(both.size):
        begin, size = start[both[number]], length[both[number]]
        for place in range(size):  # an assignment of slices takes five seconds to compile
            copied[at + place] = text[begin + place]
        weights[at : at + size] = last[number]
        at += size + 2


@kernel("int64[::1](int32[::1])")
def code_point_counts(text):
    """Occurrences of each code point, indexed by code point up to the highest."""
    highest = np.int32(0)
    for character in text:
        highest = max(highest, character)
    counts = np.zeros(highest + 1, np.int64)
    for character in text:
        counts[character] += 1
    return counts


def scripts(text: np.ndarray, settings: TextSettings = XLM_R) -> np.ndarray:
    """A number for the Unicode script of each code point of `text`, indexed by code
    point, int16.

    As `IsValidSentencePiece` groups them: Hiragana, Katakana and U+30FC count as Han;
    U+2581 has none; Inherited takes the script before it; characters without a script
    are Common. ALONE: no part of a longer piece.
    """
    alphabet = np.flatnonzero(code_point_counts(text))
    table = np.full(int(alphabet[-1]) + 1 if len(alphabet) else 1, NO_SCRIPT, np.int16)
    if settings.split_by_unicode_script:
        _number_scripts(table, alphabet)
    for zero in _ZEROS:
        if settings.split_digits:
            table[zero : zero + 10] = ALONE
        elif not settings.split_by_number:
            table[zero : zero + 10] = NO_SCRIPT
    return table


def _number_scripts(table: np.ndarray, alphabet: np.ndarray) -> None:
    """Fill the places of `alphabet` with numbers of scripts."""
    from fontTools import unicodedata

    numbers: dict[str, int] = {}
    for point, younger in zip(alphabet.tolist(), is_younger(alphabet).tolist(), strict=True):
        name = "Zyyy" if younger else OLDER.get(point) or unicodedata.script(chr(point))
        if name in ("Hira", "Kana") or point == 0x30FC:
            name = "Hani"
        elif name == "Zzzz":
            name = "Zyyy"
        table[point] = INHERITED if name == "Zinh" else numbers.setdefault(name, len(numbers))


def is_younger(points: np.ndarray) -> np.ndarray:
    """Whether each code point got its script after Unicode 9, bool of the shape of
    `points`.
    """
    ranges = [entry.split("-") for entry in YOUNGER.split()]
    first = np.array([int(one[0], 16) for one in ranges])
    last = np.array([int(one[-1], 16) for one in ranges])
    place = np.searchsorted(first, points, side="right") - 1
    return (place >= 0) & (points <= last[place])


MAX_SEEDS = 1_000_000  # seed_sentencepiece_size

_DEPTHS = 257  # of nodes: -1 to the largest common prefix in uint8
_ZEROS = (0x30, 0xFF10)  # the digits that `is_unicode_decimal_number` knows

_SPACE, _RESERVED, _SEPARATOR = ord(SPACE), ord(RESERVED), ord(SEPARATOR)


@dataclass(frozen=True)
class Seeds:
    """S substrings of the text, best first: the suffixes `order[left[s]:right[s]]`
    begin with seed s, which has `depth[s]` characters and scores `score[s]` = frequency
    x depth (int32 [S], the last int64).
    """

    left: np.ndarray
    right: np.ndarray
    depth: np.ndarray
    score: np.ndarray


@dataclass(frozen=True)
class Suffixes:
    """Places in a text of which no suffix is left out that a seed begins: `order` int32
    [S]. Two of them share two characters only where both have ranks from one of the
    `bounds` (int64, rising from 0 to S) to the next: this is a part.
    """

    order: np.ndarray
    bounds: np.ndarray


def divide_suffixes(
    text: np.ndarray, settings: TextSettings = XLM_R, memory: int | None = None
) -> Suffixes:
    """The parts of the suffixes of `text` int32, each in the order of the text, of about
    `_PART` suffixes or a thousandth of all, or those that begin with two characters.

    On the disk where they are large by `memory` (MB).
    """
    counts, rank = code_point_counts(text), ranks(text)
    alphabet, most = np.flatnonzero(counts), max(_PART, len(text) // _PARTS)
    # an entry for each character, or for each that follows it where it is frequent
    base = np.cumsum([0, 0, *np.where(counts[alphabet] > most, len(alphabet), 1).tolist()])
    reading = text, rank, base, settings.allow_whitespace_only_pieces
    sizes = np.zeros(base[-1], np.int64)
    count_suffixes(*reading, sizes)
    begins = np.cumsum(sizes) - sizes
    total = int(sizes.sum())
    bounds = np.unique([0, *begins[np.flatnonzero(np.diff(begins // most)) + 1].tolist(), total])
    part = np.searchsorted(bounds, begins, side="right") - 1
    order = new_array(total, np.int32, is_large(4 * total, memory))
    place_suffixes(*reading, part, bounds.copy(), order)
    return Suffixes(order, bounds)


def ranks(text: np.ndarray) -> np.ndarray:
    """The number of each code point of `text` among those in it, from 1 on, int32."""
    counts = code_point_counts(text)
    return np.cumsum(counts > 0, dtype=np.int32)


def sort_suffixes(
    text: np.ndarray, rank: np.ndarray, places: np.ndarray, settings: TextSettings = XLM_R
) -> np.ndarray:
    """Sort `places` by the characters that follow there, in place, as far as seeds go: to
    one character more than the longest piece, or to one that no piece goes on with.

    Returns how many of these the suffixes of ranks r - 1 and r share, or more, uint8
    [S]. Characters are compared as whole numbers, as many as 63 bits hold at a time.
    """
    shared = np.zeros(len(places), np.uint8)
    bits = int(rank[-1]).bit_length()
    longest, runs = settings.max_sentencepiece_length + 1, settings.allow_whitespace_only_pieces
    tied, group, depth = np.arange(len(places)), np.zeros(len(places), np.uint64), 0
    while len(tied):
        width = (63 - int(group[-1]).bit_length()) // bits
        those = places[tied]
        keys = suffix_keys(text, rank, those, group, depth, width, bits, longest, runs)
        by_key = np.argsort(keys)
        places[tied] = those[by_key]
        again, group = compare_keys(keys[by_key], tied, depth, width, bits, shared)
        tied = tied[again]
        depth += width
    return shared


def find_seeds(
    source: SeedText,
    suffixes: Suffixes,
    limit: int = MAX_SEEDS,
    workers: Workers = ONE_THREAD,
    settings: TextSettings = XLM_R,
) -> Seeds:
    """Valid substrings with at least two different continuations; the `limit` best by
    (score, suffix order). Sorts `suffixes`, each part by itself.
    """
    text, rank = source.text, ranks(source.text)
    script, longest = scripts(text, settings), np.int32(settings.max_sentencepiece_length)
    runs = settings.allow_whitespace_only_pieces

    least = 0  # a seed of this score comes behind enough others

    def seeds_of_part(first: int, stop: int) -> tuple[NDArray[Any], ...]:
        places = suffixes.order[first:stop]
        shared = sort_suffixes(text, rank, places, settings)
        arguments = text, source.weight, places, shared, script, longest, runs
        return interval_tree(*arguments, first, least)

    kinds = (np.int32, np.int32, np.int32, np.int64)
    found: list[NDArray[Any]] = [np.empty(0, kind) for kind in kinds]
    # the best of some parts, and of the next ones: all would take more memory than the text
    for first in range(0, len(suffixes.bounds) - 1, _PARTS_AT_ONCE):
        parts = workers.map(suffixes.bounds[first : first + _PARTS_AT_ONCE + 1], seeds_of_part)
        found = [np.concatenate(column) for column in zip(found, *parts, strict=True)]
        if len(found[0]) > limit:
            best = np.argsort(-found[3], kind="stable")[:limit]
            least = int(found[3][best[-1]])
            best.sort()
            found = [column[best] for column in found]
    best = np.argsort(-found[3], kind="stable")
    return Seeds(*(column[best] for column in found))


def valid_stretches(words: WordTypes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The trained types, cut wherever two neighbours cannot stand in one piece: the
    parts that are valid pieces, but for their length.

    Returns their places in `words.text`, lengths (2 characters or more) and types,
    int32 each.
    """
    trained, settings = slice(words.trained), words.settings
    script = scripts(words.text, settings)
    runs = settings.allow_whitespace_only_pieces
    return cut(words.text, words.start[trained], words.length[trained], script, runs)


@kernel("boolean(int32[::1], int64, int64, int16[::1], boolean)", allocates=False)
def is_valid(text, start, length, script, runs):
    """`TrainerInterface::IsValidSentencePiece` for a substring of 2 characters to the
    longest length.

    `runs`: whether several U+2581 and nothing else are valid.
    """
    if runs:
        run = 0
        while run < length and text[start + run] == _SPACE:
            run += 1
        if run == length:
            return True
    previous = NO_SCRIPT
    for position in range(start, start + length):
        character = text[position]
        if character in (0, _RESERVED, _SEPARATOR):
            return False
        if character == _SPACE:
            if position > start:
                return False
            continue
        current = script[character]
        if current == ALONE:
            return False
        if current == INHERITED:
            current = previous
        if current != NO_SCRIPT and previous != NO_SCRIPT and current != previous:
            return False
        previous = current
    return True


@kernel("boolean(int32, boolean, boolean)", inner=True, allocates=False, inlined=True)
def is_end(character, is_first, runs):
    """Whether no piece goes on with a character, which is its first one or is not."""
    is_inner_space = character == _SPACE and not is_first and not runs
    return is_inner_space or character in (0, _RESERVED, _SEPARATOR)


@kernel("int64(int32[::1], int64, int32[::1], int64[::1], boolean)", inner=True, allocates=False)
def entry_of(text, at, rank, base, runs):
    """The entry of the suffix at a place; -1 where no seed begins."""
    if at + 1 >= text.size or is_end(text[at], True, runs) or is_end(text[at + 1], False, runs):
        return -1
    number = rank[text[at]]
    entry = base[number]
    return entry + rank[text[at + 1]] - 1 if base[number + 1] - entry > 1 else entry


@kernel("void(int32[::1], int32[::1], int64[::1], boolean, int64[::1])", allocates=False)
def count_suffixes(text, rank, base, runs, sizes):
    for at in range(text.size):
        entry = entry_of(text, at, rank, base, runs)
        if entry >= 0:
            sizes[entry] += 1


@kernel(
    "void(int32[::1], int32[::1], int64[::1], boolean, int64[::1], int64[::1], int32[::1])",
    allocates=False,
)
def place_suffixes(text, rank, base, runs, part, following, order):
    """Fill `order`; `following`: the next place of each part, which rises."""
    for at in range(text.size):
        entry = entry_of(text, at, rank, base, runs)
        if entry >= 0:
            order[following[part[entry]]] = at
            following[part[entry]] += 1


@kernel(
    "uint64[::1](int32[::1], int32[::1], int32[::1], uint64[::1], int64, int64, int64, int64, "
    "boolean)"
)
def suffix_keys(text, rank, places, group, depth, width, bits, longest, runs):
    """The `group` of each place and, below it, the ranks of `width` characters from
    `depth` on, `bits` each; 0 behind the last one that `sort_suffixes` compares.
    """
    keys = np.empty(places.size, np.uint64)
    for number in range(places.size):
        key, begin = group[number], np.int64(places[number])
        stop = min(text.size, begin + longest)
        at, missing = begin + depth, width
        while missing and at < stop:
            character = text[at]
            key = key << np.uint64(bits) | np.uint64(rank[character])
            missing -= 1
            if is_end(character, at == begin, runs):
                break
            at += 1
        keys[number] = key << np.uint64(bits * missing)
    return keys


@kernel(
    "Tuple((int64[::1], uint64[::1]))(uint64[::1], int64[::1], int64, int64, int64, uint8[::1])"
)
def compare_keys(keys, rows, depth, width, bits, shared):
    """Fill `shared` of the `rows` whose sorted `keys` have the group of the row before.

    Returns the numbers of the keys that are equal and hold `width` characters, and new
    groups of these, rising from 0.
    """
    again = np.empty(keys.size, np.int64)
    group = np.empty(keys.size, np.uint64)
    count, groups = 0, np.uint64(0)
    low, one = np.uint64(width * bits), (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    begin = 0
    for number in range(1, keys.size + 1):
        is_new = number == keys.size or keys[number] != keys[begin]
        if is_new:
            if number - begin > 1 and keys[begin] & one:
                for member in range(begin, number):
                    again[count], group[count] = member, groups
                    count += 1
                groups += np.uint64(1)
            begin = number
        if number < keys.size and keys[number - 1] >> low == keys[number] >> low:
            common, shift = depth, low
            while shift:
                shift -= np.uint64(bits)
                character = keys[number] >> shift & one
                if character != keys[number - 1] >> shift & one or not character:
                    break
                common += 1
            shared[rows[number]] = common
    return again[:count].copy(), group[:count].copy()


@kernel("UniTuple(int32[::1], 3)(int32[::1], int32[::1], int32[::1], int16[::1], boolean)")
def cut(text, start, length, script, runs):
    """`valid_stretches` of the types `text[start[t]:start[t] + length[t]]`."""
    place = np.empty(text.size // 2 + 1, np.int32)
    size = np.empty(place.size, np.int32)
    number = np.empty(place.size, np.int32)
    found = 0
    for t in range(start.size):
        begin, end = start[t], start[t] + length[t]
        for at in range(begin + 1, end + 1):
            stop = at
            if at < end and is_valid(text, at - 1, 2, script, runs):
                # the last space of a run is in one piece with what follows, or with the run
                in_run = at - 1 > begin and text[at - 1] == _SPACE and text[at] != _SPACE
                if not in_run:
                    continue
                stop = at - 1
            if stop - begin >= 2 and is_valid(text, begin, stop - begin, script, runs):
                place[found], size[found], number[found] = begin, stop - begin, t
                found += 1
            begin = stop
    return place[:found].copy(), size[:found].copy(), number[:found].copy()


@kernel(
    "Tuple((int32[::1], int32[::1], int32[::1], int64[::1]))"
    "(int32[::1], int32[::1], int32[::1], uint8[::1], int16[::1], int32, boolean, int64, int64)"
)
def interval_tree(text, weight, order, lcp, script, longest, runs, first, least):
    """Walk the nodes of the suffix tree in the order of `esaxx_private::suffixtree`;
    keep the valid ones.

    A node is an interval of the suffix array whose suffixes share `depth` characters;
    here, of the part `order` from rank `first` on. Each suffix is a leaf. Suffixes of weight 0
    (text that is not trained on) are passed over: a node counts if two of its children
    hold trained suffixes. Returns left, right, depth int32 and score int64 of the nodes of
    2 to `longest` characters whose score is above `least`.
    """
    size = order.size
    # Fewer nodes than suffixes; memory is used as they are filled.
    left = np.empty(size, np.int32)
    right = np.empty(size, np.int32)
    depths = np.empty(size, np.int32)
    score = np.empty(size, np.int64)
    found = 0
    # The stack of open intervals: where each begins, what its suffixes share, and its
    # trained ones so far.
    begin = np.empty(_DEPTHS, np.int32)
    depth = np.empty(_DEPTHS, np.int32)
    mass = np.empty(_DEPTHS, np.int64)  # weight of all its suffixes
    children = np.empty(_DEPTHS, np.int32)
    begin[0], depth[0], mass[0], children[0] = 0, -1, 0, 0
    top = 0
    for rank in range(1, size + 1):
        shared = np.int32(lcp[rank]) if rank < size else np.int32(-1)
        # the interval closed last, which becomes a child: at first the suffix before
        start = rank - 1
        carried = np.int64(weight[order[start]])
        while depth[top] > shared:
            mass[top] += carried
            children[top] += carried > 0
            start = begin[top]
            carried = mass[top]
            if (
                1 < depth[top] <= longest
                and carried > 1
                and carried * depth[top] > least
                and children[top] >= 2
                and is_valid(text, order[start], depth[top], script, runs)
            ):
                left[found], right[found] = first + start, first + rank
                depths[found] = depth[top]
                score[found] = carried * depth[top]
                found += 1
            top -= 1
        if depth[top] < shared:
            top += 1
            begin[top], depth[top], mass[top], children[top] = start, shared, 0, 0
        mass[top] += carried
        children[top] += carried > 0
    return (
        left[:found].copy(),
        right[:found].copy(),
        depths[:found].copy(),
        score[:found].copy(),
    )
