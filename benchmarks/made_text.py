"""More text than there is: a file of any size that grows like a real one.

    python benchmarks/made_text.py TEXT MEGABYTES -o FILE [--unit words|characters]
        [--seed 1]

No language has 100 MB of text at hand for measurements; this makes them from the few
that there are.

Where words are divided by spaces, the text is continued by a Pitman-Yor process, whose
number of distinct words grows as n^d, as in Heaps' law; d is that of TEXT (between an
eighth of it and the whole). The next word is one drawn from all words so far; where
that has occurred c times, a new one takes its place with probability d / c. A new word
is spelled by the character model below, learnt from the words that TEXT holds once.
Elsewhere, the model spells whole lines.

The character model goes on, after each character, as TEXT does at a random place where
the same 2 or (in 9 of 10 cases, or as --long says) 5 characters have gone before. Equal
seeds give equal bytes. 100 MB take 10 to 20 s.
"""

import argparse
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numba import float64, int32, int64, types, uint64

from vocap.unigram.kernels import kernel
from vocap.unigram.word_table import STORE, WordTable, find_word

SPACE, LINE = ord(" "), ord("\n")
SHORT, LONG = 2, 5  # characters that the next one depends on
LONGEST = 60  # characters of a word spelled
BLOCK = 1 << 20


@kernel("float64(uint64[::1])")
def draw(state):
    """A number from 0 to 1 (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.float64((z ^ (z >> np.uint64(31))) >> np.uint64(11)) / 9007199254740992.0


def places(text: np.ndarray) -> np.ndarray:
    """Where a text goes on after the same SHORT and LONG characters: int32 [6, N].

    Place p of the text is one of `places[0, places[1, p]:places[2, p]]`; rows 3 to 5
    are those of LONG.
    """
    _, codes = np.unique(text, return_inverse=True)
    rows = []
    for context in (SHORT, LONG):
        keys = np.zeros(len(text), np.uint64)
        # 12 bits each: rarer characters share their codes with others
        for back in range(1, context + 1):
            keys = keys << np.uint64(12) | (
                np.roll(codes, back).astype(np.uint64) & np.uint64(4095)
            )
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
        size = np.diff(np.append(first, len(text)))
        bounds = np.empty((2, len(text)), np.int32)
        bounds[:, order] = np.repeat([first, first + size], size, axis=1)
        rows += [order.astype(np.int32), *bounds]
    return np.stack(rows)


@kernel("int64(int64, float64, uint64[::1], int32[:, ::1])")
def jump(place, long, state, places):
    """Another place after the same characters as `place`."""
    row = 3 if draw(state) < long else 0
    first, end = places[row + 1, place], places[row + 2, place]
    return places[row, first + np.int64(draw(state) * (end - first))]


@kernel("int64(int32[::1], int64, float64, uint64[::1], int32[:, ::1], int32[::1])")
def spell(text, place, long, state, places, out):
    """Fill `out` with the characters that follow `place`; returns the place after the
    last one.
    """
    for at in range(out.size):
        place = jump(place, long, state, places)
        out[at] = text[place]
        place = (place + 1) % text.size
    return place


@kernel("int64(int32[::1], int64, float64, uint64[::1], int32[:, ::1], int32[::1])")
def spell_word(text, place, long, state, places, out):
    """Spell a word, as one that begins at `place` does, up to its space or line end;
    returns its length.
    """
    for at in range(out.size - 1):
        out[at] = text[place]
        if text[place] == SPACE or text[place] == LINE:
            return at + 1
        place = jump((place + 1) % text.size, long, state, places)
    out[out.size - 1] = SPACE
    return out.size


@kernel(
    types.UniTuple(int64, 2)(
        int32[::1], int64, int64, int64, float64, int64[::1], int32[::1], int32[::1], float64,
        uint64[::1], int32[:, ::1], STORE,
    )
)  # fmt: skip
def continue_text(
    history, known, until, words, discount, counts, text, starts, long, state, places, store
):  # fmt: skip
    """Append words to the `known` ones of `history`, up to `until`; returns the
    distinct ones, and characters.
    """
    spelled = np.empty(LONGEST, np.int32)
    characters = 0
    for at in range(known, until):
        word = np.int64(history[np.int64(draw(state) * at)])
        if draw(state) * counts[word] < discount:
            for _ in range(8):  # the model may spell a word that is there
                begin = starts[np.int64(draw(state) * starts.size)]
                size = spell_word(text, begin, long, state, places, spelled)
                word = find_word(spelled, 0, size, words, store)
                if word == words:
                    words += 1
                    break
        counts[word] += 1
        history[at] = word
        characters += store.bounds[word + 1] - store.bounds[word]
    return words, characters


@kernel("void(int32[::1], int32[::1], int64[::1], int32[::1])")
def write_words(words, store, bounds, out):
    at = 0
    for word in words:
        for character in range(bounds[word], bounds[word + 1]):
            out[at] = store[character]
            at += 1


def make_lines(text: str, long: float, state: np.ndarray) -> Iterator[np.ndarray]:
    """Endless blocks of code points, spelled character by character."""
    points = code_points(text)
    after = places(points)
    place = 0
    while True:
        out = np.empty(BLOCK, np.int32)
        place = spell(points, place, long, state, after, out)
        yield out


def make_words(text: str, long: float, state: np.ndarray) -> Iterator[np.ndarray]:
    """Endless blocks of code points, word by word; a word has its space or line end."""
    words = re.findall("[^ \n]+[ \n]", text)
    numbers: dict[str, int] = {}
    tokens = np.array([numbers.setdefault(word, len(numbers)) for word in words], np.int32)
    early = len(np.unique(tokens[: len(tokens) // 8]))
    discount = math.log(len(numbers) / early, 8)
    print(
        f"{len(tokens)} words, {len(numbers)} of them distinct, growing as n^{discount:.3f}",
        file=sys.stderr,
    )

    table = WordTable(0)
    for word in numbers:
        points = code_points(word)
        table.reserve(1, len(points))
        table.known = find_word(points, 0, len(points), table.known, table.words) + 1
    counts = np.bincount(tokens)
    once = [word for word, number in numbers.items() if counts[number] == 1]
    learnt = code_points("".join(once))
    starts = np.cumsum([0, *map(len, once[:-1])]).astype(np.int32)
    after = places(learnt)
    known = len(tokens)
    while True:
        until = known + BLOCK // 8
        tokens.resize(until, refcheck=False)
        table.reserve(until - known, LONGEST * (until - known))
        counts.resize(table.known + until - known, refcheck=False)
        table.known, characters = continue_text(
            tokens,
            known,
            until,
            table.known,
            discount,
            counts,
            learnt,
            starts,
            long,
            state,
            after,
            table.words,
        )
        out = np.empty(characters, np.int32)
        write_words(tokens[known:until], table.store, table.bounds, out)
        yield out
        known = until


def code_points(text: str) -> np.ndarray:
    return np.frombuffer(bytearray(text.encode("utf-32-le")), np.int32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path)
    parser.add_argument("megabytes", type=float)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument(
        "--unit", choices=["words", "characters"], help="default: words where 1 in 20 is a space"
    )
    parser.add_argument(
        "--long",
        type=float,
        default=0.9,
        help=f"share of {LONG} characters of context, not {SHORT}",
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    text = options.text.read_text(encoding="utf-8").rstrip("\n") + "\n"
    unit = options.unit or ("words" if text.count(" ") * 20 > len(text) else "characters")
    make = make_words if unit == "words" else make_lines
    left = int(options.megabytes * 1e6)
    with open(options.output, "wb") as out:
        for block in make(text, options.long, np.array([options.seed], np.uint64)):
            data = block.tobytes().decode("utf-32-le").encode()
            if len(data) >= left:
                out.write(data[: data.rfind(b"\n", 0, left) + 1])  # whole lines
                return
            left -= out.write(data)


if __name__ == "__main__":
    main()
