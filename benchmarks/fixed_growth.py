"""What the engine takes for pieces that are given: time and memory as the text grows.

    python benchmarks/fixed_growth.py PIECES TEXT [TEXT ...] [--rows 4]

PIECES: a table with a column `piece`, as `vocabulary.tsv` of `vocap allocate`. A megabyte of each text is read in
turn, until all have ended; after an eighth, a quarter, a half and all of them (with four rows), word types are
segmented once and expected counts computed once, under arbitrary scores. Processor seconds, one thread. Linux only
(/proc).
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from vocap.tsv import read_tsv
from vocap.vocabularies.characters import trainer_normalizer
from vocap.vocabularies.ladder.fixed import FixedPieces
from vocap.vocabularies.ladder.word_table import WordTable
from vocap.vocabularies.text import read_blocks


def in_turn(paths: list[Path]) -> Iterator[list[str]]:
    """Blocks of the texts' lines, one of each after the other."""
    texts = [read_blocks(path) for path in paths]
    while texts:
        for text in list(texts):
            lines = next(text, None)
            if lines is None:
                texts.remove(text)
            else:
                yield lines


def seconds(function, *arguments) -> float:
    begin = time.process_time()
    function(*arguments)
    return time.process_time() - begin


def peak_megabytes() -> int:
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pieces", type=Path)
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--rows", type=int, default=4)
    options = parser.parse_args()
    pieces = [row["piece"] for row in read_tsv(options.pieces, required=("piece",))]
    scores = -np.log(np.random.default_rng(1).permutation(len(pieces)) + 10.0)
    print(f"{len(pieces):,} pieces; their trie, s: {seconds(FixedPieces, pieces):.1f}")
    fixed, table, normalizer = FixedPieces(pieces), WordTable(1), trainer_normalizer()
    total = sum(path.stat().st_size for path in options.texts)
    marks = [total >> halvings for halvings in range(options.rows - 1, 0, -1)]
    lines = read = 0
    counting = 0.0

    def add(block: list[str]) -> None:
        table.add(normalizer.normalize(block), True, trained=False, text=0)

    def report() -> None:
        size = sum(array.nbytes for array in (*table.arrays(), table.counts))
        rounds = [seconds(count, table, scores) for count in (fixed.best, fixed.expected)]
        characters = int(table.bounds[table.known])
        figures = (
            f"{lines:12,}{read / 1e6:8.0f}{table.known:12,}{characters:14,}{size / 1e6:10.0f}{counting:10.1f}"
        )
        print(figures + "".join(f"{spent:10.1f}" for spent in rounds) + f"{peak_megabytes():10,}", flush=True)

    names = ("lines", 12), ("MB", 8), ("word types", 12), ("characters", 14), ("table, MB", 10)
    names += tuple((name, 10) for name in ("counting", "best", "expected", "peak MB"))
    print("".join(name.rjust(width) for name, width in names))
    for block in in_turn(options.texts):
        counting += seconds(add, block)
        lines += len(block)
        read += sum(len(line.encode()) + 1 for line in block)
        while marks and read >= marks[0]:
            del marks[0]
            report()
    report()


if __name__ == "__main__":
    main()
