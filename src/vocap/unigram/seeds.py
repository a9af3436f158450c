"""Seed pieces from the suffix array (`MakeSeedSentencePieces`).

SentencePiece builds the suffix array of all sentences. Seeds never cross U+2581, so the
text of the word types with weights gives the same substrings, frequencies and order
(see `seed_text`), and is 3 to 9 times shorter where words repeat.

Seeds are the substrings with two different continuations, so a word that is always
followed by a space is none.

By default no piece mixes two scripts (`unicode_script.cc`, Unicode 9).
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocap.errors import VocapError
from vocap.unigram.kernels import ONE_THREAD, Workers, kernel
from vocap.unigram.text_settings import RESERVED, SPACE, XLM_R, TextSettings
from vocap.unigram.training_text import SEPARATOR
from vocap.unigram.word_types import WordTypes

_MAX = 2**31 - 1  # positions, and occurrences of a type, are 32-bit numbers
_BLOCK = 1 << 17  # suffixes that a thread takes at a time: some milliseconds
_RANGES = 64  # of so many suffixes or more, whose seeds are compared at a time
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
    """`text` int32 [N]: code points of all types, each with a separator after it.
    `weight` int32 [N]: the number of places in the training text of a position, 0 at
    separators. Type t is `text[start[t]:start[t] + length[t]]` (int32 [T] both);
    separators at `start[t] + length[t]`. Positions from `size` on are second copies.
    """

    text: np.ndarray
    weight: np.ndarray
    start: np.ndarray
    length: np.ndarray
    size: int


def seed_text(words: WordTypes) -> SeedText:
    """Each type with the character after it in the corpus: U+2581, or 0 at the end of a line.

    A substring is a seed if it occurs with two different continuations. A type is
    followed by U+2581 (the next word) or by 0 (the end of the line); one that is
    followed by both gets a second copy with 0, after all others. Raises VocapError for
    a type that occurs 2^31 times.
    """
    weight = np.where(words.inside > 0, words.inside, words.last)
    both = np.flatnonzero((words.inside > 0) & (words.last > 0))
    if max(weight.max(initial=0), words.last.max(initial=0)) > _MAX:
        raise VocapError(f"a word occurs more than {_MAX} times; train on fewer lines")
    last = words.last[both].astype(np.int32)
    text, weight = copy_types(
        words.text, words.start, words.length, weight.astype(np.int32), both, last
    )
    return SeedText(text, weight, words.start, words.length, len(words.text))


@kernel(
    "UniTuple(int32[::1], 2)(int32[::1], int32[::1], int32[::1], int32[::1], int64[::1], "
    "int32[::1])"
)
def copy_types(text, start, length, weight, both, last):
    """The text and, behind it, the types `both`, each with two 0 after it; the weight
    of each position.
    """
    size = text.size
    for t in both:
        size += length[t] + 2
    copied = np.zeros(size, np.int32)
    weights = np.zeros(size, np.int32)
    for place in range(text.size):  # loops: an assignment of slices takes five seconds to compile
        copied[place] = text[place]
    for t in range(start.size):
        weights[start[t] : start[t] + length[t]] = weight[t]
    at = text.size
    for number in range(both.size):
        begin, size = start[both[number]], length[both[number]]
        for place in range(size):
            copied[at + place] = text[begin + place]
        weights[at : at + size] = last[number]
        at += size + 2
    return copied, weights


def suffix_array(text: np.ndarray) -> np.ndarray:
    """Positions of `text` int32 [N] by the code points that follow, int32 [N]; no
    sentinel (`esaxx`).

    Raises VocapError for text of 2^31 bytes or more. Memory: 4 bytes a position and,
    for more than 256 different characters, 10 more (20 for more than 65,536).
    """
    import pydivsufsort

    counts = code_point_counts(text)
    alphabet = np.flatnonzero(counts)
    width = 4
    if len(alphabet) <= 1 << 8:
        width = 1
    elif len(alphabet) <= 1 << 16:
        width = 2
    if len(text) * width > _MAX:
        raise VocapError(
            f"{len(text)} characters in distinct words are too many; train on fewer lines"
        )
    rank = np.zeros(len(counts), np.int32)
    rank[alphabet] = np.arange(len(alphabet))
    order = pydivsufsort.divsufsort(to_bytes(text, rank, width))
    return order if width == 1 else whole_characters(order, width)


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


@kernel("uint8[::1](int32[::1], int32[::1], int64)")
def to_bytes(text, rank, width):
    """The rank of each character in `width` bytes, the highest first, so that bytes
    sort like characters.
    """
    data = np.empty(text.size * width, np.uint8)
    at = 0
    for character in text:
        number = rank[character]
        for byte in range(width - 1, -1, -1):
            data[at] = number >> (8 * byte) & 255
            at += 1
    return data


@kernel("int32[::1](int32[::1], int64)")
def whole_characters(order, width):
    """The suffixes that begin where a character of `width` bytes does; positions
    counted in characters.
    """
    kept = np.empty(order.size // width, np.int32)
    at = 0
    for position in order:
        if position % width == 0:
            kept[at] = position // width
            at += 1
    return kept


def common_prefixes(
    text: np.ndarray, order: np.ndarray, longest: int, workers: Workers = ONE_THREAD
) -> np.ndarray:
    """The number of characters that suffixes `order[r - 1]` and `order[r]` share, up to
    `longest`, uint8 [N].

    Seeds are short, so comparing neighbours costs less than the algorithm for any
    length (Kasai et al. 2001), which jumps through the text three times.
    """
    shared = np.zeros(len(order), np.uint8)
    workers.map(
        [*range(0, len(order), _BLOCK), len(order)],
        lambda begin, stop: compare_neighbours(text, order, longest, begin, stop, shared),
    )
    return shared


@kernel("void(int32[::1], int32[::1], int64, int64, int64, uint8[::1])")
def compare_neighbours(text, order, longest, begin, stop, shared):
    """Fill `shared` from `begin` to `stop`."""
    size = text.size
    for rank in range(max(begin, 1), stop):
        a, b = order[rank - 1], order[rank]
        most = min(longest, size - max(a, b))
        common = 0
        while common < most and text[a + common] == text[b + common]:
            common += 1
        shared[rank] = common


def independent_ranges(shared: np.ndarray) -> np.ndarray:
    """Bounds in the suffix array, int64 [ranges + 1], with no seed on both sides of one.

    `shared` of `common_prefixes`: at a bound, neighbours have less than two characters
    in common.
    """
    return cut_ranges(shared, _BLOCK)


@kernel("int64[::1](uint8[::1], int64)")
def cut_ranges(shared, least):
    """The `independent_ranges` of `least` suffixes or more, but for the last."""
    bounds = np.zeros(shared.size // least + 2, np.int64)
    count = 0
    for rank in range(1, shared.size):
        if shared[rank] <= 1 and rank - bounds[count] >= least:
            count += 1
            bounds[count] = rank
    bounds[count + 1] = shared.size
    return bounds[: count + 2].copy()


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


def find_seeds(
    source: SeedText,
    order: np.ndarray,
    lcp: np.ndarray,
    limit: int = MAX_SEEDS,
    workers: Workers = ONE_THREAD,
    settings: TextSettings = XLM_R,
) -> Seeds:
    """Valid substrings with at least two different continuations; the `limit` best by
    (score, suffix order).

    `lcp` uint8: of `common_prefixes`, counted to more than the longest piece.
    """
    script, longest = scripts(source.text, settings), np.int32(settings.max_sentencepiece_length)
    runs = settings.allow_whitespace_only_pieces
    arguments = source.text, source.weight, order, lcp, script, longest, runs
    bounds = independent_ranges(lcp)
    kinds = (np.int32, np.int32, np.int32, np.int64)
    found: list[NDArray[Any]] = [np.empty(0, kind) for kind in kinds]
    # the best of some parts, and of the next ones: all would take more memory than the text
    for first in range(0, len(bounds) - 1, _RANGES):
        ranges = bounds[first : first + _RANGES + 1]
        parts = workers.map(ranges, partial(interval_tree, *arguments))
        found = [np.concatenate(column) for column in zip(found, *parts, strict=True)]
        if len(found[0]) > limit:
            best = np.sort(np.argsort(-found[2] * found[3], kind="stable")[:limit])
            found = [column[best] for column in found]
    left, right, depth, frequency = found
    score = frequency * depth
    best = np.argsort(-score, kind="stable")
    return Seeds(left[best], right[best], depth[best], score[best])


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


@kernel("boolean(int32[::1], int64, int64, int16[::1], boolean)")
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
    "(int32[::1], int32[::1], int32[::1], uint8[::1], int16[::1], int32, int64, int64, "
    "int64)"
)
def interval_tree(text, weight, order, lcp, script, longest, runs, first, stop):
    """Walk the nodes of the suffix tree in the order of `esaxx_private::suffixtree`;
    keep the valid ones.

    A node is an interval of the suffix array whose suffixes share `depth` characters;
    here, those between `first` and `stop`. Each suffix is a leaf. Suffixes of weight 0
    (text that is not trained on) are passed over: a node counts if two of its children
    hold trained suffixes. Returns left, right, depth int32 and frequency int64 of the
    nodes of 2 to `longest` characters.
    """
    size = stop - first
    # Fewer nodes than suffixes; memory is used as they are filled.
    left = np.empty(size, np.int32)
    right = np.empty(size, np.int32)
    depths = np.empty(size, np.int32)
    frequency = np.empty(size, np.int64)
    found = 0
    # The stack of open intervals: where each begins, what its suffixes share, and its
    # trained ones so far.
    begin = np.empty(_DEPTHS, np.int32)
    depth = np.empty(_DEPTHS, np.int32)
    mass = np.empty(_DEPTHS, np.int64)  # weight of all its suffixes
    children = np.empty(_DEPTHS, np.int32)
    begin[0], depth[0], mass[0], children[0] = first, -1, 0, 0
    top = 0
    for rank in range(first + 1, stop + 1):
        shared = np.int32(lcp[rank]) if rank < stop else np.int32(-1)
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
                and children[top] >= 2
                and is_valid(text, order[start], depth[top], script, runs)
            ):
                left[found], right[found], depths[found] = start, rank, depth[top]
                frequency[found] = carried
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
        frequency[:found].copy(),
    )
