"""Words encoded by merges, the one of lowest rank first, as `tokenizers` does, and the merges applied."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vocap.bpe.pairs import find_pair, key_of, slot_of
from vocap.bpe.replay import add_merges, symbol_counts
from vocap.bpe.words import Alphabet, Words
from vocap.unigram.kernels import kernel

NEVER = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Merges:
    """`merges` int32 [M, 3] (both symbols, the new one), found by hash: `keys` uint64 [M], `slots` int32."""

    merges: np.ndarray
    keys: np.ndarray
    slots: np.ndarray

    @classmethod
    def of(cls, merges: np.ndarray) -> "Merges":
        """Those in this order; of a pair that is there twice, the first counts."""
        merges = np.ascontiguousarray(merges[:, :3], np.int32)
        keys = np.empty(len(merges), np.uint64)
        slots = np.zeros(1 << (2 * len(merges) + 2).bit_length(), np.int32)
        enter(merges, keys, slots)
        return cls(merges, keys, slots)


@dataclass(frozen=True)
class Applications:
    """The merges that were applied to words, in any order: `rank` int32 [E] of the merge, `after` int32 [E], the
    highest rank of it and those before it in its word, and `word` int32 [E].

    A tokenizer of the first r merges applies those with `after` below r.
    """

    rank: np.ndarray
    after: np.ndarray
    word: np.ndarray


def encode_words(symbols: tuple[np.ndarray, np.ndarray], known: Merges) -> Applications:
    """The merges applied where words are encoded, `symbols` as of `Alphabet.symbols`."""
    return Applications(*apply_lowest(*symbols, known.merges, known.keys, known.slots))


def count_tokens(words: Words, text: int, alphabet: Alphabet, known: Merges) -> int:
    """The number of tokens of one of the texts of `words`."""
    symbols = alphabet.symbols(words)
    counts = words.counts[:, text]
    applied = encode_words(symbols, known)
    return int(np.diff(symbols[1]) @ counts) - int(counts[applied.word].sum())


def counts_at(
    words: Words, text: int, alphabet: Alphabet, known: Merges, ranks: Sequence[int]
) -> Iterator[np.ndarray]:
    """Occurrences of every token, int64 [V], under the first r merges, for each r of the ascending `ranks`."""
    symbols, base = alphabet.symbols(words), len(alphabet.names)
    applied = encode_words(symbols, known)
    weights = words.counts[:, text][applied.word]
    order = np.argsort(applied.after, kind="stable")
    ordered, rows = applied.after[order], known.merges[applied.rank[order]]
    counts = np.zeros(max(base, int(known.merges[:, 2].max(initial=0)) + 1), np.int64)
    counts[:base] = symbol_counts(symbols, words.counts[:, text], base)
    done = 0
    for rank in ranks:
        end = max(done, int(np.searchsorted(ordered, rank, side="left")))
        add_merges(counts, rows[done:end], weights[order[done:end]])
        done = end
        yield counts.copy()


@kernel("void(int32[:, ::1], uint64[::1], int32[::1])")
def enter(merges, keys, slots):
    """Fill `keys` and the empty `slots`."""
    for rank in range(merges.shape[0]):
        keys[rank] = key_of(merges[rank, 0], merges[rank, 1], 0)
        slot = slot_of(keys[rank], keys, slots)
        if not slots[slot]:
            slots[slot] = rank + 1


@kernel(
    "Tuple((int32[::1], int32[::1], int32[::1]))(int32[::1], int64[::1], int32[:, ::1], uint64[::1], int32[::1])"
)
def apply_lowest(symbols, starts, merges, keys, slots):
    """`encode_words`: in each word the neighbours of lowest rank merge, of equal ones the first, to the end."""
    rank_of, after = np.empty(symbols.size, np.int32), np.empty(symbols.size, np.int32)
    word_of = np.empty(symbols.size, np.int32)
    done, longest = 0, np.int64(1)
    for word in range(starts.size - 1):
        longest = max(longest, starts[word + 1] - starts[word])
    current, ranks = np.empty(longest, np.int32), np.empty(longest, np.int32)
    for word in range(starts.size - 1):
        length = starts[word + 1] - starts[word]
        for at in range(length):
            current[at] = symbols[starts[word] + at]
        for at in range(length - 1):
            found = find_pair(key_of(current[at], current[at + 1], 0), keys, slots)
            ranks[at] = found if found >= 0 else NEVER
        highest = -1
        while length > 1:
            best = 0
            for at in range(1, length - 1):
                if ranks[at] < ranks[best]:
                    best = at
            rank = ranks[best]
            if rank == NEVER:
                break
            highest = max(highest, rank)
            rank_of[done], after[done], word_of[done] = rank, highest, word
            done += 1
            current[best] = merges[rank, 2]
            length -= 1
            for at in range(best + 1, length):
                current[at] = current[at + 1]
                ranks[at] = ranks[at + 1]
            for at in range(max(best - 1, 0), min(best + 1, length - 1)):
                found = find_pair(key_of(current[at], current[at + 1], 0), keys, slots)
                ranks[at] = found if found >= 0 else NEVER
    return rank_of[:done].copy(), after[:done].copy(), word_of[:done].copy()
