"""The ladder against SentencePiece: random texts, random sizes.

    python benchmarks/fuzzing/ladder.py [--seed 1] [--texts 1000] [--minutes 10]
        [--first 0] [--sizes 3]
        [--kinds runs,splits,...] [--keep FOLDER]

Text number n is drawn from the seed and n alone, of kind n modulo the number of kinds;
`KINDS` lists them. For each, the ladder trains some sizes at once, SentencePiece one by
one: models must have equal bytes, sizes out of reach the same reason, and the ALP on
training and held-out lines must be that of `encode`. A size at the bottom, one at the
top or one out of reach is among them, and some texts get two threads or another
coverage.

A difference is printed at once, with the options that repeat it; with `--keep`, the
text of a model that differs goes to FOLDER, less the lines that it differs without. The
counts come last, by kind. Exit status 1 where a model or a reason differs. An ALP may
differ by ties (docs/ladder.md, Differences): those are counted, and not failures.

Ten minutes of processor time compare some 6,000 texts and 18,000 models.
"""

import argparse
import itertools
import logging
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import sentencepiece

from vocap.tables.curve import MAX_SIZE
from vocap.tokenizer_files.encoders import SentencePieceEncoder
from vocap.unigram import sentencepiece_trainer
from vocap.unigram.alp import average_log_probability, count_tokens
from vocap.unigram.ladder import Rung, train_sizes
from vocap.unigram.text_settings import COVERAGE
from vocap.unigram.word_types import load_word_types

# First code points of runs of letters, some outside the first plane, some with a script
# younger than Unicode 9.
SCRIPTS = [
    0x61,
    0x430,
    0x5D0,
    0x915,
    0xE01,
    0x10D0,
    0x1200,
    0x1780,
    0x3042,
    0x4E00,
    0xAC00,
    0x10400,
    0x16F00,
    0x1E900,
]
ODD = [
    *"\t\r\0\u00a0\u00ad\u0301\u0345\u0387\u0640\u093c\u0e33\u1160\u180e\u200b\u200d\u200f\u2028\u2581\u2585\u3000",
    *"\u30fc\u3099\ua9cf\ue000\ufb01\ufdfa\ufe0f\ufeff\uff21\ufffd\U0001f469\U0001f3fd\U000e0041\U0010ffff",
    *(
        "<unk>",
        "<s>",
        "</s>",
        "<",
        "\u2581\u2581",
        "\u2585\u2581",
        "a\u0301",
        "\u1112\u1161\u11ab",
        "1",
        "23",
        ".",
    ),
]


def alphabet(draw: random.Random, most: int) -> list[str]:
    """Letters of one script."""
    first = draw.choice(SCRIPTS)
    return [chr(first + number) for number in range(draw.randint(1, most))]


def words(draw: random.Random, letters: list[str], count: int, longest: int) -> list[str]:
    return ["".join(draw.choices(letters, k=draw.randint(1, longest))) for _ in range(count)]


def lines_of(
    draw: random.Random, lexicon: list[str], count: int, longest: int, gap: str = " "
) -> list[str]:
    """Lines of words drawn from a lexicon, all alike or by Zipf's law."""
    weights = [1 / rank for rank in range(1, len(lexicon) + 1)] if draw.random() < 0.5 else None
    return [
        gap.join(draw.choices(lexicon, weights, k=draw.randint(1, longest))) for _ in range(count)
    ]


def runs(draw: random.Random) -> list[str]:
    """Short words with runs of a part, of which `a|aa` and `aa|a` are splits with the
    same sum.

    Counts are small and pieces many, so that losses of pruning differ in their last
    bit, or not at all.
    """
    first = draw.choice([0x1200, 0x4E00, 0xAC00, 0x16F00])
    letters = [chr(first + number) for number in range(draw.randint(10, 75))]
    lexicon = []
    for _ in range(draw.randint(50, 400)):
        a, b, c = draw.choices(letters, k=3)
        short = [
            a,
            a + a,
            a * 3,
            a * 3,
            a * 4,
            a + b,
            a + b + c,
            a + b + b,
            (a + b) * 3,
            a * 3 + b,
            b + a * 3,
        ]
        lexicon.append(draw.choice(short))
    if draw.random() < 0.7:
        return [" ".join(lexicon[at : at + 6]) for at in range(0, len(lexicon), 6)]
    return lines_of(draw, lexicon, draw.randint(10, 200), draw.randint(1, 4))


def splits(draw: random.Random) -> list[str]:
    """Long words that are chains of a few parts: pieces of equal counts, and with
    several best splits.
    """
    letters = alphabet(draw, 40)
    parts = words(draw, letters, draw.randint(2, 40), draw.randint(1, 6))
    chains = [
        "".join(draw.choices(parts, k=draw.randint(1, 12))) for _ in range(draw.randint(2, 150))
    ]
    return lines_of(draw, chains, draw.randint(2, 80), draw.randint(1, 4))


def periodic(draw: random.Random) -> list[str]:
    """Words that repeat a part, whose pieces in another order make the same word."""
    letters = alphabet(draw, 6)
    parts = words(draw, letters, draw.randint(1, 5), draw.randint(1, 5))
    chains = [
        draw.choice(parts) * draw.randint(1, 20) + draw.choice(["", *parts])
        for _ in range(draw.randint(1, 60))
    ]
    return lines_of(draw, chains, draw.randint(1, 60), draw.randint(1, 4))


def pairs(draw: random.Random) -> list[str]:
    """All combinations of some parts, equally often: equal scores everywhere."""
    parts = words(draw, alphabet(draw, 12), draw.randint(2, 6), draw.randint(1, 3))
    chains = ["".join(chain) for chain in itertools.product(parts, repeat=draw.randint(2, 3))]
    draw.shuffle(chains)
    return [" ".join(chains[at : at + 20]) for at in range(0, len(chains), 20)] * draw.randint(1, 4)


def counts(draw: random.Random) -> list[str]:
    """Few words, each very often or hardly."""
    lexicon = words(draw, alphabet(draw, 8), draw.randint(1, 8), draw.randint(1, 12))
    text = []
    for word in lexicon:
        times = int(10 ** draw.uniform(0, 4))
        text += [" ".join([word] * min(times, 300))] * -(-times // 300)
    draw.shuffle(text)
    return text


def odd(draw: random.Random) -> list[str]:
    """Characters that the normaliser or the trainer treats in their own manner, between
    letters of two scripts.
    """
    letters = [*draw.sample(ODD, draw.randint(1, 8)), *alphabet(draw, 4), *alphabet(draw, 4)]
    lexicon = words(draw, letters, draw.randint(1, 60), draw.randint(1, 12))
    return lines_of(
        draw, lexicon, draw.randint(1, 60), draw.randint(1, 10), draw.choice([" ", "", "\u3000"])
    )


def planes(draw: random.Random) -> list[str]:
    """Characters of all planes."""
    points = [
        point for point in draw.choices(range(0x11_0000), k=40) if not 0xD800 <= point < 0xE000
    ]
    points += [draw.randrange(0xA0, 0x3400) for _ in range(40)]
    letters = [chr(point) for point in draw.sample(points, draw.randint(2, 40))]
    lexicon = words(draw, letters, draw.randint(1, 40), draw.randint(1, 6))
    return lines_of(draw, lexicon, draw.randint(1, 40), draw.randint(1, 8))


def tiny(draw: random.Random) -> list[str]:
    """A few characters."""
    return words(draw, [*alphabet(draw, 3), " "], draw.randint(1, 4), draw.randint(1, 10))


def unbroken(draw: random.Random) -> list[str]:
    """Long lines without a space, some longer than the trainer takes."""
    lexicon = words(draw, alphabet(draw, 30), draw.randint(2, 80), draw.randint(1, 5))
    return lines_of(draw, lexicon, draw.randint(1, 12), draw.choice([10, 100, 600]), "")


def usual(draw: random.Random) -> list[str]:
    """Words of a made language."""
    lexicon = words(draw, alphabet(draw, 30), draw.randint(10, 300), draw.randint(2, 9))
    return lines_of(draw, lexicon, draw.randint(5, 150), draw.randint(2, 12))


KINDS: dict[str, Callable[[random.Random], list[str]]] = {
    kind.__name__: kind
    for kind in (runs, splits, periodic, pairs, counts, odd, planes, tiny, unbroken, usual)
}


@dataclass(frozen=True)
class Case:
    """A text to compare, and how."""

    lines: list[str]
    heldout: list[str]
    coverage: float
    threads: int


def draw_case(kind: str, draw: random.Random) -> Case:
    """A text of one of the KINDS, and some held-out lines: of the same text, and with
    letters that it lacks.
    """
    lines = KINDS[kind](draw)
    unseen = "".join(draw.choices("".join(lines) or "a", k=30)) + " z"
    heldout = [*draw.sample(lines, min(len(lines), 3)), unseen]
    coverage = draw.choice([COVERAGE, COVERAGE, COVERAGE, 1.0, 0.98])
    return Case(lines, heldout, coverage, draw.choice([1, 1, 1, 2]))


def ladder(case: Case, sizes: list[int]) -> dict[int, Rung]:
    """All sizes by the ladder."""
    word_types = load_word_types(
        {"train": lambda: [case.lines], "heldout": lambda: [case.heldout]}, coverage=case.coverage
    )
    rungs = train_sizes(word_types, sizes, case.coverage, case.threads)
    return {rung.point.size: rung for rung in rungs}


def draw_sizes(case: Case, draw: random.Random, count: int) -> list[int]:
    """Sizes within reach and just outside it."""
    rungs = ladder(case, [1, MAX_SIZE])
    least, most = rungs[1].least or 4, rungs[MAX_SIZE].most or 5
    ends = {least - 1, least, most, most + 1}
    between = {draw.randint(least, max(least, most)) for _ in range(count)}
    return sorted(size for size in draw.sample(sorted(ends), 1) + sorted(between) if size > 0)


def differing_sizes(case: Case, sizes: list[int]) -> tuple[int, list[int], list[int]]:
    """How many models there are, the sizes whose models or reasons differ, and those
    whose ALPs do.
    """
    rungs = ladder(case, sizes)
    models, differing, alps = 0, [], []
    for size in sizes:
        try:
            expected, reason = sentencepiece_trainer.train(case.lines, size, case.coverage), "ok"
        except sentencepiece_trainer.Unreachable as unreachable:
            expected, reason = None, unreachable.reason
        models += expected is not None
        if (rungs[size].model, rungs[size].point.status) != (expected, reason):
            differing.append(size)
        elif expected is not None:
            encoder = SentencePieceEncoder(
                sentencepiece.SentencePieceProcessor(model_proto=expected)
            )
            expected_alps = [encoded_alp(encoder, lines) for lines in (case.lines, case.heldout)]
            if expected_alps != [rungs[size].point.alp, rungs[size].point.alp_heldout]:
                alps.append(size)
    return models, differing, alps


def encoded_alp(encoder: SentencePieceEncoder, lines: list[str]) -> float:
    """The ALP of whole lines under `encode`."""
    return average_log_probability(*count_tokens(encoder, [lines]))


def reduced(case: Case, size: int) -> list[str]:
    """Lines of a case, in which the model of `size` differs still, and would not
    without any one of them.
    """
    lines, part = case.lines, len(case.lines) // 2
    while part:
        at = 0
        while at < len(lines):
            fewer = lines[:at] + lines[at + part :]
            if fewer and differing_sizes(Case(fewer, fewer[:1], case.coverage, 1), [size])[1]:
                lines = fewer
            else:
                at += part
        part //= 2
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first text")
    parser.add_argument("--kinds", default=",".join(KINDS), help="kinds of text, with commas")
    parser.add_argument("--sizes", type=int, default=3, help="sizes a text, besides one at an end")
    parser.add_argument("--keep", type=Path, help="folder for texts that differ")
    options = parser.parse_args()
    kinds = options.kinds.split(",")
    if unknown := sorted(set(kinds) - set(KINDS)):
        parser.error(f"no such kind: {', '.join(unknown)}; there are {', '.join(KINDS)}")
    logging.disable(logging.WARNING)  # lines that are not trained on
    end = time.monotonic() + 60 * options.minutes
    texts, models, differing, alps = Counter(), Counter(), Counter(), Counter()
    for number in range(options.first, options.first + options.texts):
        if time.monotonic() > end:
            break
        kind = kinds[number % len(kinds)]
        draw = random.Random(f"{options.seed} {kind} {number}")
        case = draw_case(kind, draw)
        sizes = draw_sizes(case, draw, options.sizes)
        made, wrong, ties = differing_sizes(case, sizes)
        texts[kind] += 1
        models[kind] += made
        alps[kind] += len(ties)
        differing[kind] += bool(wrong)
        if wrong or ties:
            repeat = f"--seed {options.seed} --kinds {options.kinds} --first {number} --texts 1"
            print(
                f"{kind}: models differ at {wrong}, ALPs at {ties} of {sizes}: {repeat}", flush=True
            )
        if wrong and options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            path = options.keep / f"{kind}-{options.seed}-{number}-{wrong[0]}.txt"
            path.write_bytes("".join(f"{line}\n" for line in reduced(case, wrong[0])).encode())
    print(f"{'kind':<10}{'texts':>8}{'differing':>11}{'models':>9}{'ALPs that differ':>18}")
    for kind in kinds:
        print(f"{kind:<10}{texts[kind]:>8}{differing[kind]:>11}{models[kind]:>9}{alps[kind]:>18}")
    all_counts = (counter.total() for counter in (texts, differing, models, alps))
    print("{:<10}{:>8}{:>11}{:>9}{:>18}".format("all", *all_counts))
    sys.exit(differing.total() > 0)


if __name__ == "__main__":
    main()
