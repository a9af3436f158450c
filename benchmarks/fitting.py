"""Which scores for a vocabulary that is already chosen, by held-out ALP; and what counting them costs.

    VOCAP_DATA=DATA python benchmarks/fitting.py [--alpha 0.7] [--seed 1] [--out FOLDER]

DATA/text/mono holds {language}.txt.xz, a sentence a line. Each language's lines are shuffled and halved: models of
several sizes are trained on one half, the vocabulary is the union of the chosen models' pieces, the multilingual
sample is drawn from the same half by Equation 3, and every candidate segments the other half. ALP is Equation 1 on
the held-out half of each language; the q-weighted mean over languages decides.

Last, in the same run, the engine's counts of the sample against the naive ways: SentencePiece encoding every line,
and a forward-backward in Python over the same words.
"""

import argparse
import lzma
import math
import os
import random
import time
from collections import Counter
from pathlib import Path

import numpy as np
from sentencepiece import SentencePieceProcessor

from vocap.tokenizers import fitting
from vocap.tokenizers.layout import Contents, build_model, read_contents, round_scores, serialize
from vocap.tokenizers.shadowing import dead_pieces, raise_shadowed
from vocap.tsv import write_tsv
from vocap.vocabularies.alp import average_log_probability, count_tokens
from vocap.vocabularies.ladder.fixed import FixedPieces
from vocap.vocabularies.ladder.word_table import WordTable
from vocap.vocabularies.model_file import read_model
from vocap.vocabularies.training import train

# sizes as an allocation would give them: more to those with more text, below what half the text can reach
SIZES = {
    "am": 8000, "ar": 12000, "de": 16000, "en": 14000, "fi": 16000, "hi": 3000, "ja": 12000, "ka": 4000,
    "km": 8000, "ko": 20000, "la": 12000, "my": 5000, "ru": 20000, "th": 10000, "zh": 16000,
}  # fmt: skip
PRIORS = (0.01, 0.3, 3.0, 30.0)  # prior counts of a piece in EM, on average
NAIVE_LINES = 3000  # for the loop in Python


def read_halves(data: Path, seed: int) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Train and held-out lines of every language."""
    train_lines, heldout = {}, {}
    for language in SIZES:
        with lzma.open(
            data / "text" / "mono" / f"{language}.txt.xz", "rt", encoding="utf-8", newline="\n"
        ) as file:
            lines = [line for line in file.read().split("\n") if line]
        random.Random(f"{seed} {language}").shuffle(lines)
        train_lines[language], heldout[language] = lines[::2], lines[1::2]
    return train_lines, heldout


def chosen_models(train_lines: dict[str, list[str]], folder: Path, seed: int) -> dict[str, Path]:
    """One model a language, trained on its half; kept in `folder` from one run to the next."""
    paths = {}
    for language, size in SIZES.items():
        paths[language] = folder / f"{language}.{size}.{seed}.model"
        if not paths[language].exists():
            paths[language].write_bytes(train(train_lines[language], size))
    return paths


def expectations(pieces: list[str], texts: list[str], scores: np.ndarray) -> np.ndarray:
    """Expected counts of the pieces in normalised `texts` (forward-backward a word type), float64 [n]."""
    types = Counter(word for text in texts for word in split_words(text))
    log_probability = dict(zip(pieces, scores.tolist(), strict=True))
    unknown = float(scores.min()) - 10
    expected = dict.fromkeys(pieces, 0.0)
    for word, count in types.items():
        length = len(word)
        edges = []
        alpha = [1.0] + [0.0] * length
        # scaled by exp(2) a character, as the products of a long word would underflow
        for end in range(1, length + 1):
            total = 0.0
            for begin in range(max(0, end - 16), end):
                score = log_probability.get(word[begin:end])
                if score is None:
                    if end > begin + 1:
                        continue
                    score = unknown
                value = math.exp(score + 2 * (end - begin))
                edges.append((begin, end, value))
                total += alpha[begin] * value
            alpha[end] = total
        beta = [0.0] * length + [1.0]
        if not 1e-250 < alpha[length] < 1e250:
            continue
        for begin, end, value in reversed(edges):
            beta[begin] += value * beta[end]
        for begin, end, value in edges:
            piece = word[begin:end]
            if piece in expected:
                expected[piece] += count * alpha[begin] * value * beta[end] / alpha[length]
    return np.array([expected[piece] for piece in pieces])


def clocked(work) -> tuple[np.ndarray, float]:
    """What `work` gives, and its seconds."""
    begin = time.perf_counter()
    result = work()
    return result, time.perf_counter() - begin


def split_words(text: str) -> list[str]:
    """Cut before each U+2581."""
    return ["\u2581" + word for word in text.split("\u2581") if word]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=12000, help="of the multilingual sample")
    parser.add_argument("--heldout", type=int, default=4000, help="lines of each language")
    parser.add_argument(
        "--alpha", type=float, default=0.7, help="of Equation 3; 2 or 3 makes some languages very small"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/fitting"))
    options = parser.parse_args()
    if "VOCAP_DATA" not in os.environ:
        parser.error("set VOCAP_DATA to the folder that holds text/mono")
    options.out.mkdir(parents=True, exist_ok=True)
    train_lines, heldout = read_halves(Path(os.environ["VOCAP_DATA"]), options.seed)
    heldout = {language: lines[: options.heldout] for language, lines in heldout.items()}
    paths = chosen_models(train_lines, options.out, options.seed)

    models, own = {}, {}
    for language, path in paths.items():
        proto = read_model(path)
        contents = read_contents(proto, str(path))
        models[language] = dict(zip(contents.pieces, contents.scores.tolist(), strict=True))
        own[language] = SentencePieceProcessor(model_proto=proto.SerializeToString())
        normalizer = proto.normalizer_spec
    pieces = sorted(set().union(*models.values()))

    powers = {language: len(lines) ** options.alpha for language, lines in train_lines.items()}
    q = {language: power / sum(powers.values()) for language, power in powers.items()}
    sample = [
        line
        for language, lines in train_lines.items()
        for line in random.Random(options.seed).choices(lines, k=round(options.lines * q[language]))
    ]
    random.Random(options.seed).shuffle(sample)

    def processor(scores: np.ndarray):
        contents = Contents(pieces, round_scores(scores))
        return SentencePieceProcessor(model_proto=serialize(build_model(contents, normalizer)))

    def count(processor, lines: list[str]) -> np.ndarray:
        return count_tokens(processor.encode, processor.get_piece_size(), [lines])[0]

    begin = time.perf_counter()
    fixed = FixedPieces(pieces)
    words = WordTable(1)
    words.add(own["en"].normalize(sample), cut=True, trained=False, text=0)
    reading = time.perf_counter() - begin

    def best(scores: np.ndarray) -> np.ndarray:
        return fixed.best(words, round_scores(scores))

    tokens = {
        language: count(own[language], lines[:2000]).sum() / min(2000, len(lines))
        for language, lines in train_lines.items()
    }
    by_token = {language: q[language] * tokens[language] for language in q}
    by_token = {language: value / sum(by_token.values()) for language, value in by_token.items()}

    p_max = fitting.maximum(pieces, models)
    p_mix = fitting.mixture(pieces, models, q)
    p_token = fitting.mixture(pieces, models, by_token)
    candidates = {
        "maximum of the models": p_max,
        "maximum, 1 Viterbi round": fitting.viterbi(p_max, best, 1),
        "maximum, 2 Viterbi rounds": fitting.viterbi(p_max, best, 2),
        "mixture, weights q by sentence": p_mix,
        "mixture, weights q by token": p_token,
        "mixture by token, 2 Viterbi rounds": fitting.viterbi(p_token, best, 2),
    }
    for prior in PRIORS:
        for rounds in (1, 3):
            candidates[f"EM, prior {prior} x pieces, rounds {rounds}"] = fitting.expectation_maximisation(
                p_token, lambda scores: fixed.expected(words, scores), prior, rounds
            )

    def measure(encoders: dict) -> dict[str, float]:
        return {
            language: average_log_probability(count(encoders[language], lines), len(lines))
            for language, lines in heldout.items()
        }

    def weighted(alps: dict[str, float]) -> float:
        return sum(q[language] * alps[language] for language in q)

    rows = [("each language's own model", measure(own), "", "", "")]
    for name, scores in candidates.items():
        begin = time.process_time()
        rounded = round_scores(scores)
        dead = len(dead_pieces(build_model(Contents(pieces, rounded), normalizer)))
        raised, which = raise_shadowed(Contents(pieces, rounded))
        plain = measure(dict.fromkeys(heldout, processor(scores)))
        alps = measure(dict.fromkeys(heldout, processor(raised)))
        before, after = weighted(plain), weighted(alps)
        rows.append((name, alps, dead / len(pieces), len(which), after - before))
        print(f"{name}: {before:.3f}, raised {after:.3f} ({time.process_time() - begin:.0f} s)", flush=True)
    columns = ["scores", "mean", "equal_mean", "dead_share", "raised", "gain_of_raising", *SIZES]
    table = [
        (name, weighted(alps), sum(alps.values()) / len(alps), dead, raised, gain, *(alps[code] for code in SIZES))
        for name, alps, dead, raised, gain in rows
    ]
    write_tsv(options.out / "fitting.tsv", columns, table)
    print(f"{len(pieces)} pieces, {len(sample)} lines in the sample; {options.out / 'fitting.tsv'}")
    for row in table:
        print(f"{row[1]:9.3f} {row[2]:9.3f}  {row[0]}")

    scores = round_scores(p_token)
    model = processor(scores)
    ids = np.array(model.piece_to_id(pieces))
    by_engine, engine = clocked(lambda: fixed.best(words, scores))
    by_encoding, encoding = clocked(lambda: count(model, sample)[ids])
    print(f"best paths of {len(sample)} lines, {words.known} word types (read once, {reading:.2f} s):")
    print(f"  engine {engine:.2f} s a round, encoding {encoding:.2f} s: {encoding / engine:.1f} times;", end=" ")
    print(f"equal: {(by_engine == by_encoding).all()}")
    normalized = model.normalize(sample[:NAIVE_LINES])
    few = WordTable(1)
    few.add(normalized, cut=True, trained=False, text=0)
    by_engine, engine = clocked(lambda: fixed.expected(few, scores))
    by_loop, loop = clocked(lambda: expectations(pieces, normalized, scores))
    apart = np.abs(by_engine - by_loop).max() / by_loop.max()
    print(f"expected counts of {NAIVE_LINES} lines, {few.known} word types:")
    print(f"  engine {engine:.3f} s a round, Python {loop:.2f} s: {loop / engine:.0f} times;", end=" ")
    print(f"apart by at most {apart:.1e} of the largest")


if __name__ == "__main__":
    main()
