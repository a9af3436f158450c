"""A vocabulary as MinGram makes it (arXiv 2606.27019), a rival of the project's own, on
the text of a run.

    python benchmarks/mingram.py --corpora results/corpora --total 100000 -o OUT

Byte-pair encoding gives 1.15 times the pieces that T leaves beside the characters. A
word takes the path of fewest pieces, and of those the most probable; two rounds of hard
EM count the pieces of such paths (before the first, pieces are the more probable the
sooner they were merged). Pieces that no path takes are dropped; one sort by count
leaves those of T, and two more rounds give their probabilities.

Text, characters and weights of the languages are those of JOINT. In
OUT/sentencepiece.model every score is log p - `PRICE`, so SentencePiece itself finds
the fewest pieces first: a difference of one piece outweighs all probabilities of a
word.
"""

import argparse
from pathlib import Path

import numpy as np
from sentencepiece import sentencepiece_model_pb2

from vocap.allocation.language_state import BORDER
from vocap.bpe.training import piece_candidates
from vocap.files.io import replacing
from vocap.tables.sampling_probabilities import read_weights
from vocap.tokenizer_files.id_layout import XLM_R_LAYOUT
from vocap.tokenizer_files.layout import Contents, build_model, serialize
from vocap.tokenizers.weighted_text import whole_text
from vocap.unigram import lanes
from vocap.unigram.given_pieces import build_trie, fill_lattice, find_pieces
from vocap.unigram.lattice import Lattice
from vocap.unigram.model_files import model_parts
from vocap.unigram.text_settings import COVERAGE
from vocap.unigram.training_text import count_shared_characters
from vocap.unigram.word_types import WordTypes, count_word_types

SEEDS = 1.15  # pieces of byte-pair encoding for each one that is kept
ROUNDS = 2  # of hard EM before the sort, and after it
PRICE = 512.0  # nats a piece


def word_types(corpora: Path, n: dict[str, float], alpha: float) -> WordTypes:
    """The weighted words of all languages, with the characters that JOINT's tokenizer
    holds.
    """
    text = whole_text(corpora, n, alpha)
    required = count_shared_characters(corpora, n, alpha)
    return count_word_types(list(text.parts.values()), None, "".join(required))


def hard_em(
    words: WordTypes, pieces: list[str], scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Counts int64 [n] of the pieces in the best paths of the last of `ROUNDS`, and
    their log p float64 [n].

    `scores` [n] come before the first round: log p, minus infinity for a piece that is
    left out. Of a single character that no path takes log p is that of half an
    occurrence; of another piece minus infinity.
    """
    # every piece in every word
    bordered = words.text.copy()
    bordered[words.start + words.length] = bordered[words.start - 1] = BORDER
    unknown = len(pieces) + 1
    trie = build_trie(pieces)
    first, number, _ = find_pieces(bordered, trie, len(pieces))
    # an unknown node would count for piece 0
    edges = fill_lattice(bordered, trie, np.arange(1, unknown + 1, dtype=np.int32), number)
    trained = slice(words.trained)
    lattice = Lattice(first, *edges, words.start[trained].copy(), words.length[trained].copy())
    frequency = words.frequencies[None].copy()
    single = np.fromiter(map(len, pieces), np.int64, len(pieces)) == 1
    for _ in range(ROUNDS):
        lowest = scores[np.isfinite(scores)].min() - 10 - PRICE
        own = np.concatenate([[lowest], scores - PRICE, [lowest]]).astype(np.float32)
        counts = np.zeros((1, 1, unknown + 1), np.int64)
        lanes.encoder_counts(
            lattice, frequency, np.tile(own[:, np.newaxis], lanes.LANES), unknown, counts
        )
        counts = counts[0, 0, 1:unknown]
        with np.errstate(divide="ignore"):
            scores = np.log(np.where(single, np.maximum(counts, 0.5), counts) / counts.sum())
    return counts, scores


def mingram(words: WordTypes, total: int) -> tuple[list[str], np.ndarray]:
    """The pieces of a tokenizer of `total` ids in XLM-R's layout, fewer if the text
    gives no more; their log p.
    """
    characters = list(words.required)
    wanted = total - XLM_R_LAYOUT.rows - len(characters)
    pieces = characters + piece_candidates([words], [1.0], int(SEEDS * wanted))
    counts, scores = hard_em(words, pieces, -np.log(1.0 + np.arange(len(pieces))))
    # one sort by count
    order = len(characters) + np.argsort(-counts[len(characters) :], kind="stable")[:wanted]
    kept = np.concatenate([np.arange(len(characters)), order[counts[order] > 0]])
    pieces, scores = [pieces[number] for number in kept], scores[kept]
    _, scores = hard_em(words, pieces, scores)
    used = np.isfinite(scores)
    return [piece for piece, kept in zip(pieces, used, strict=True) if kept], scores[used]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--corpora", type=Path, required=True, help="{language}/train.txt, and weights.tsv"
    )
    parser.add_argument("--total", type=int, required=True, help="T")
    parser.add_argument("--alpha", type=float, default=0.7)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    words = word_types(
        options.corpora, read_weights(options.corpora / "weights.tsv"), options.alpha
    )
    pieces, scores = mingram(words, options.total)
    trained = sentencepiece_model_pb2.ModelProto.FromString(model_parts(COVERAGE)[1])
    proto = build_model(
        Contents(pieces, scores - PRICE), trained.normalizer_spec, trained=trained.trainer_spec
    )
    options.output.mkdir(parents=True, exist_ok=True)
    with replacing(options.output / "sentencepiece.model", "wb") as file:
        file.write(serialize(proto))
    print(
        f"{options.output}: T = {len(proto.pieces)}, {len(words.required)} of them single "
        "characters"
    )


if __name__ == "__main__":
    main()
