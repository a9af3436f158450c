"""The rules of a precompiled character map, as the specification of a SentencePiece
model holds it.
"""

import functools
from collections.abc import Iterator

import numpy as np

_LEAF = np.uint32(1 << 8)  # DoubleArrayUnit::has_leaf
_VALUE = np.uint32((1 << 31) - 1)  # DoubleArrayUnit::value
# DoubleArrayUnit::label: a leaf's has the highest bit, so it matches no byte
_LABEL = np.uint32(1 << 31 | 0xFF)


def read_charsmap(blob: bytes) -> dict[str, str]:
    """Key to replacement of every rule of a precompiled character map; empty for an
    empty blob.

    A map is
    `<bytes of the trie: uint32><trie: a Darts double array of uint32 units>` and
    `<replacements, each ended by NUL>`
    (`Normalizer::DecodePrecompiledCharsMap`).
    """
    replacements = blob[4 + int.from_bytes(blob[:4], "little") :]

    @functools.cache  # keys share theirs
    def replacement(start: int) -> str:
        return replacements[start : replacements.index(0, start)].decode("utf-8")

    rules: dict[str, str] = {}
    keys = [b""]
    for leaves, starts, parent, label in _levels(blob):
        # the replacements of keys that end here, then the keys of the next level
        if len(leaves):
            ended = b"\0".join([keys[place] for place in leaves.tolist()]).decode("utf-8")
            rules.update(zip(ended.split("\0"), map(replacement, starts.tolist()), strict=True))
        keys = [
            keys[key] + bytes((byte,))
            for key, byte in zip(parent.tolist(), label.tolist(), strict=True)
        ]
    return rules


def last_characters(blob: bytes) -> set[str]:
    """The characters that end a key of a character map: text that holds none of them
    holds no key.
    """
    ended: set[int] = set()
    tails: np.ndarray = np.zeros(1, np.uint32)  # of each node the bytes of its last character
    for leaves, _, parent, label in _levels(blob):
        ended.update(tails[leaves].tolist())
        continued = (label & 0xC0) == 0x80
        tails = np.where(continued, tails[parent] << 8, 0) | label
    return {tail.to_bytes(4, "big").lstrip(b"\0").decode() for tail in ended}


def _levels(
    blob: bytes,
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """The trie by level: places of the nodes at which keys end, where their replacements
    start, and of each node of the next level the place of its parent, and its byte.
    """
    units = np.frombuffer(blob[4 : 4 + int.from_bytes(blob[:4], "little")], "<u4")
    # every unit with a byte as its label is the child of a node, by the node's base
    labels = units & _LABEL
    children = np.flatnonzero(labels <= 0xFF).astype(np.uint32)
    owners = children ^ labels[children]
    order = np.lexsort((labels[children], owners))
    children, owners = children[order], owners[order]
    nodes: np.ndarray = np.zeros(min(1, len(units)), np.uint32)
    while len(nodes):
        found = units[nodes]
        bases = nodes ^ ((found >> 10) << ((found & (1 << 9)) >> 6))  # DoubleArrayUnit::offset
        leaves = np.flatnonzero(found & _LEAF)
        first = np.searchsorted(owners, bases)
        counts = np.searchsorted(owners, bases, "right") - first
        parent = np.repeat(np.arange(len(bases)), counts)
        before = np.cumsum(counts) - counts
        nodes = children[np.arange(len(parent)) + (first - before)[parent]]
        yield leaves, units[bases[leaves]] & _VALUE, parent, labels[nodes]
