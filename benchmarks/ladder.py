"""The ladder against SentencePiece, in one run on the same cores.

    python benchmarks/ladder.py TEXT [TEXT ...] [--sizes 1000:50000:1000] [--threads 2] [--samples 6]

For each text: `vocap train` (one SentencePiece training and its ALP) at a few of the reachable sizes, in between
interpolated, so that all sizes add up to what they would take; the bare training at the smallest size; and `vocap
ladder` for all sizes with one thread and with more. Every figure is a process of its own, from start to files on
disk; compiled kernels are cached, as after a first run. Prints a table: seconds by the clock (on an idle machine,
these count) and of the processors, and the ratios.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from vocap.vocabularies.curve import read_points
from vocap.vocabularies.settings import parse_sizes

VOCAP = ["-c", "from vocap.cli import main; main()"]
TRAIN = "import sys, vocap.vocabularies.training as t; t.train(sys.argv[1], int(sys.argv[2]), threads={})"


def run(*arguments: str) -> np.ndarray:
    """Wall seconds, processor seconds and peak memory in MB of a Python process, float64 [3]."""
    begin = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"failed: {' '.join(arguments)}")
    wall = time.perf_counter() - begin
    return np.array([wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024])


def measure(text: Path, sizes: str, threads: int, samples: int, folder: Path) -> list[tuple[str, float, float]]:
    """Rows of the table: what, by the clock, by the processors."""
    empty = folder / "empty.txt"
    empty.write_text("")

    def ladder(number: int) -> np.ndarray:
        return run(*VOCAP, "ladder", text, "-o", folder / "ladder", "--sizes", sizes, "--threads", str(number))

    def single(size: int) -> np.ndarray:
        files = [
            "--train",
            text,
            "--heldout",
            empty,
            "--models",
            folder / "models",
            "--point",
            folder / "point.tsv",
        ]
        return run(*VOCAP, "train", "--size", str(size), *files)

    ladder(1)  # compiles kernels, if need be, and finds what can be reached
    reached = [point.size for point in read_points(folder / "ladder" / "curve.tsv") if point.ok]
    chosen = sorted({reached[round(index)] for index in np.linspace(0, len(reached) - 1, samples)})
    singles = np.array([single(size) for size in chosen])
    for size in chosen:  # equal bytes, or the comparison is worth nothing
        same = (folder / "models" / f"{size}.model").read_bytes()
        assert same == (folder / "ladder" / "models" / f"{size}.model").read_bytes(), size
    trainings = np.array([np.interp(reached, chosen, column).sum() for column in singles.T])
    one, more = ladder(1), ladder(threads)
    bare = {n: run("-c", TRAIN.format(n), text, str(reached[0])) for n in (1, threads)}
    rows = {
        f"{len(reached)} trainings with ALP, s": trainings,
        "ladder, s": one,
        f"ladder with {threads} threads, s": more,
        f"training of {reached[0]}, no ALP, s": bare[1],
        f"training of {reached[0]} with {threads} threads, s": bare[threads],
        "trainings : ladder": trainings / one,
        "ladder : one training": one / bare[1],
        f"ladder : one training, {threads} threads": more / bare[threads],
        f"ladder, 1 : {threads} threads": one / more,
        "peak MB of ladder; of training": np.array([one[2], bare[1][2]]),
    }
    return [(name, row[0], row[1]) for name, row in rows.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--sizes", default="1000:50000:1000")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--samples", type=int, default=6)
    options = parser.parse_args()
    parse_sizes(options.sizes)
    for text in options.texts:
        with tempfile.TemporaryDirectory() as folder:
            figures = measure(text, options.sizes, options.threads, options.samples, Path(folder))
        print(f"{text.name}, {text.stat().st_size / 1e6:.2f} MB{'clock':>26}{'processors':>12}")
        print(*(f"  {name:<36}{wall:9.2f}{cpu:12.2f}" for name, wall, cpu in figures), sep="\n", flush=True)


if __name__ == "__main__":
    main()
