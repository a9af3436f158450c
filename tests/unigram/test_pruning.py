"""The second best segmentation of a piece against SentencePiece's own search
(`nbest_encode`).
"""

import random

import numpy as np
import pytest
from sentencepiece import SentencePieceProcessor
from sentencepiece.sentencepiece_model_pb2 import ModelProto

from vocap.unigram import lattice as lattices
from vocap.unigram.segmentation import alternatives, best_other_split, second_of_n_best


def search(scores: dict[str, float], text: str) -> list[list[str]]:
    """The two best segmentations of a text, as `Lattice::NBest` finds them."""
    model = ModelProto()
    for name, kind in (("<unk>", 2), ("<s>", 3), ("</s>", 3)):
        model.pieces.add(piece=name, score=0, type=kind)
    for piece, score in scores.items():
        model.pieces.add(piece=piece, score=score, type=1)
    model.trainer_spec.model_type = 1
    model.normalizer_spec.name = "identity"
    model.normalizer_spec.add_dummy_prefix = False
    model.normalizer_spec.remove_extra_whitespaces = False
    processor = SentencePieceProcessor(model_proto=model.SerializeToString())
    return processor.nbest_encode_as_pieces(text, 2)


class Lattice:
    """The lattice of one text: the arguments of the functions, but for the path."""

    def __init__(self, scores: dict[str, float], text: str):
        self.pieces, self.text = list(scores), text
        values = np.array([*scores.values(), min(scores.values()) - 10], np.float32)
        first, piece, length = [0], [], []
        for begin in reversed(range(len(text))):
            ends = [end for end in range(begin + 1, len(text) + 1) if text[begin:end] in scores]
            numbers = [self.pieces.index(text[begin:end]) for end in ends]
            if begin + 1 not in ends:
                ends, numbers = [*ends, begin + 1], [*numbers, len(scores)]
            piece += numbers
            length += [end - begin for end in ends]
            first.append(len(piece))
        edges = np.array(first, np.uint32), np.array(piece, np.int32), np.array(length, np.uint8)
        types = np.zeros(1, np.int32), np.full(1, len(text), np.int32)
        self.own, self.values = values[self.pieces.index(text)], values
        self.arguments = lattices.Lattice(*edges, *types), 0, len(text)
        self.path = np.empty(256, np.int32)

    def found(self, count: int) -> list[str] | int:
        """The pieces in the path, in the order of the text, or a count that is none."""
        if count < 1:
            return count
        names, at = [], 0
        for number in self.path[:count][::-1].tolist():
            name = self.pieces[number] if number < len(self.pieces) else self.text[at]
            names.append(name)
            at += len(name)
        return names


def check(scores: dict[str, float], text: str) -> bool:
    """Compare; returns whether the first of several best splits would have been another
    one.
    """
    best, second = search(scores, text)
    expected = 0 if len(best) > 1 else second
    lattice = Lattice(scores, text)
    rest = lattice.values, lattice.path
    assert lattice.found(alternatives(*lattice.arguments, lattice.own, *rest)) == expected, (
        scores,
        text,
    )
    assert lattice.found(second_of_n_best(*lattice.arguments, *rest)) == expected, (scores, text)
    split, _, count = best_other_split(*lattice.arguments, *rest)
    return (0 if split > lattice.own else lattice.found(count)) != expected


@pytest.mark.parametrize("letters", ["a", "ab", "abc"])
def test_of_splits_with_sums_that_are_nearly_equal_the_same_one_is_second(letters):
    draw, others = random.Random(letters), 0
    for _ in range(400):
        part = "".join(draw.choices(letters, k=draw.randint(1, 4)))
        text = (part * 16)[: draw.randint(2, 12)]
        begin = draw.sample(range(len(text)), min(len(text), 9))
        pieces = {text[at : at + draw.randint(1, 5)] for at in begin} | {text}
        grid = draw.choice([0.1, 0.3, 1.0])
        scores = {
            piece: -grid * draw.randint(len(piece), 2 * len(piece) + 1) for piece in sorted(pieces)
        }
        if draw.random() < 0.8:
            scores[text] /= 2
        others += check(scores, text)
    assert others > 20


def test_a_search_whose_agenda_is_cut_short_ends_with_the_same_split():
    """A run of 16 letters has 32,767 splits; 10,000 hypotheses are the most that are
    kept.
    """
    text = "a" * 16
    for step in (1.0, 0.1, 0.7):
        scores = {"a" * length: -step * length for length in range(1, 17)}
        for own in (0.5, 1, 1 + 1e-7, 2):
            scores[text] = -16 * step * own
            check(scores, text)
