"""Scores of a given vocabulary compared by held-out ALP.

    VOCAP_DATA=DATA python benchmarks/fitting.py [--alpha 0.7] [--seed 1] [--out FOLDER]

DATA/text/mono holds {language}.txt.xz, a sentence a line. Each language's lines are
shuffled and halved: models of several sizes are trained on one half, the vocabulary is
the union of the chosen models' pieces, and every candidate segments the other half. ALP
is Equation 1 on the held-out half of each language; the q-weighted mean over languages
decides.
"""

import argparse
import lzma
import os
import random
import time
from pathlib import Path

import numpy as np
from sentencepiece import SentencePieceProcessor

from vocap.files.io import write_tsv
from vocap.tokenizer_files.layout import (
    Contents,
    build_model,
    dead_pieces,
    raise_shadowed,
    read_contents,
    round_scores,
    serialize,
)
from vocap.tokenizer_files.model_file import read_model
from vocap.tokenizers.fitting import mixture
from vocap.unigram.alp import average_log_probability, count_tokens
from vocap.unigram.sentencepiece_trainer import train

# sizes as an allocation would give them: more to those with more text, below what half
# the text can reach
SIZES = {
    "am": 8000, "ar": 12000, "de": 16000, "en": 14000, "fi": 16000,
    "hi": 3000, "ja": 12000, "ka": 4000, "km": 8000, "ko": 20000,
    "la": 12000, "my": 5000, "ru": 20000, "th": 10000, "zh": 16000,
}  # fmt: skip


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
    """One model a language, trained on its half; kept in `folder` from one run to the
    next.
    """
    paths = {}
    for language, size in SIZES.items():
        paths[language] = folder / f"{language}.{size}.{seed}.model"
        if not paths[language].exists():
            paths[language].write_bytes(train(train_lines[language], size))
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--heldout", type=int, default=4000, help="lines of each language")
    parser.add_argument(
        "--alpha",
        type=float,
        default=0.7,
        help="of Equation 3; 2 or 3 makes some languages very small",
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

    def processor(scores: np.ndarray):
        contents = Contents(pieces, round_scores(scores))
        return SentencePieceProcessor(model_proto=serialize(build_model(contents, normalizer)))

    def count(processor, lines: list[str]) -> np.ndarray:
        return count_tokens(processor.encode, processor.get_piece_size(), [lines])[0]

    tokens = {
        language: count(own[language], lines[:2000]).sum() / min(2000, len(lines))
        for language, lines in train_lines.items()
    }
    by_token = {language: q[language] * tokens[language] for language in q}
    by_token = {language: value / sum(by_token.values()) for language, value in by_token.items()}

    least = -np.inf
    best = [max(model.get(piece, least) for model in models.values()) for piece in pieces]
    p_max = np.where(np.isneginf(best), np.nan, best)
    p_mix = mixture(pieces, models, q)
    p_token = mixture(pieces, models, by_token)
    candidates = {
        "maximum of the models": p_max,
        "mixture, weights q by sentence": p_mix,
        "mixture, weights q by token": p_token,
    }

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
        print(
            f"{name}: {before:.3f}, raised {after:.3f} ({time.process_time() - begin:.0f} s)",
            flush=True,
        )
    columns = ["scores", "mean", "equal_mean", "dead_share", "raised", "gain_of_raising", *SIZES]
    table = [
        (
            name,
            weighted(alps),
            sum(alps.values()) / len(alps),
            dead,
            raised,
            gain,
            *(alps[code] for code in SIZES),
        )
        for name, alps, dead, raised, gain in rows
    ]
    write_tsv(options.out / "fitting.tsv", columns, table)
    print(f"{len(pieces)} pieces; {options.out / 'fitting.tsv'}")
    for row in table:
        print(f"{row[1]:9.3f} {row[2]:9.3f}  {row[0]}")


if __name__ == "__main__":
    main()
