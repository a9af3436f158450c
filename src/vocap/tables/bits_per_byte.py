"""What bits per byte are, of bigrams, causal and masked models: the only place of these
formulas.

A loss a token depends on the tokenizer: long tokens are harder to predict, and fewer. So
models and tokenizers of different vocabularies are compared by the bits that a text
takes over the bytes that it has in UTF-8, which no tokenizer changes.

Counted are -log2 p of every token of a line, the end of the line (which adds no byte),
and 8 bits for each byte of a character that `<unk>` stands for, beside its token: else a
tokenizer would gain from not knowing it. Left out are the begin token, padding, and
special tokens that no text has. The denominator is the bytes of the raw line. So the
bits of a bigram or of a causal model are a code length: of the text, if the tokenizer is
lossless, else of the normalised text, which is less (`CODE_LENGTH`).

Those of a masked model are none, since it guesses each token from both sides: the mean
loss of a masked token times the tokens of the text, without unknown characters. They
compare masked models of different tokenizers on one text.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

BITS_OF_A_BYTE = 8  # of an unknown character, paid beside its token
# lossless or not
CODE_LENGTH = {
    True: "code length of the text",
    False: "code length of the normalised text",
}
Floats = NDArray[np.floating[Any]]


def bigram_bits(probabilities: Floats, line: NDArray[np.int64], lines: int) -> Floats:
    """Bits of each line, [lines], from the probability of each token, [tokens], and the
    number of its line.
    """
    return np.asarray(np.bincount(line, -np.log2(probabilities), minlength=lines), np.float64)


def causal_bits(nats: Floats, line: NDArray[np.int64], lines: int) -> Floats:
    """Bits of each line, [lines], from -ln p of each token, [tokens], and the number of
    its line.
    """
    return np.bincount(line, nats, lines) / math.log(2)


def with_unknown_bytes(bits: Floats, unknown_bytes: NDArray[np.int64]) -> Floats:
    """Bits of lines with those of the characters that `<unk>` stands for, [lines];
    `unknown_bytes`: their bytes in UTF-8.
    """
    return bits + BITS_OF_A_BYTE * unknown_bytes


def bits_per_byte(lengths: Floats) -> float | None:
    """Bits over bytes of lines, [2, lines]; None without a byte, or without bits
    (NaN).
    """
    bits, size = lengths.sum(1).tolist()
    return bits / size if size and bits == bits else None


def model_bits_per_byte(
    nats: Floats, predicted: Floats, tokens: Floats, size: Floats, unknown_bytes: Floats
) -> float:
    """Bits per byte of the texts of some languages, [languages] each, under a language model.

    `nats`: the sum of the losses of `predicted` tokens: of a causal model all `tokens`
    of the text, of a masked one some of them, whose mean stands for all. `size`: bytes
    of the text; `unknown_bytes`: those behind `<unk>`, 0 for a masked model.
    """
    bits = (nats / predicted * tokens).sum() / math.log(2)
    return float((bits + BITS_OF_A_BYTE * unknown_bytes.sum()) / size.sum())
