"""The trie of given pieces."""

import random

import numpy as np

from vocap.unigram.lattice import build_trie, child


def test_a_trie_finds_every_piece_and_no_other():
    chooser = random.Random(5)
    pieces = sorted({"".join(chooser.choices("ab\U0010ffff\0", k=chooser.randint(1, 6))) for _ in range(400)})
    trie = build_trie(pieces)

    def look_up(word):
        node = 0
        for character in word:
            node = child(np.int32(node), np.int32(ord(character)), *trie.arrays)
            if not node:
                return -1
        return int(trie.piece[node])

    for number, piece in enumerate(pieces):
        assert look_up(piece) == number
    for _ in range(400):
        word = "".join(chooser.choices("ab\U0010ffff\0c", k=chooser.randint(1, 7)))
        assert look_up(word) == (pieces.index(word) if word in pieces else -1)
