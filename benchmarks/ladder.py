"""The ladder against SentencePiece, in one run on the same cores.

    python benchmarks/ladder.py TEXT [TEXT ...] [--sizes 1000:50000:1000] [--threads 2] [--samples 6]

For each text: `vocap train` (one SentencePiece training and its ALP) at a few of the reachable sizes, in between
interpolated, so that all sizes add up to what they would take; the bare training at the smallest size; and `vocap
ladder` for all sizes with one thread and with more. Every figure is a process of its own, from start to files on
disk; compiled kernels are cached, as after a first run. Prints a table: wall seconds, and the ratios.
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


def run(*arguments: str) -> tuple[float, float]:
    """Wall seconds and peak memory in MB of a Python process."""
    begin = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"failed: {' '.join(arguments)}")
    return time.perf_counter() - begin, usage.ru_maxrss / 1024


def measure(text: Path, sizes: str, threads: int, samples: int, folder: Path) -> dict[str, float]:
    empty = folder / "empty.txt"
    empty.write_text("")

    def ladder(number: int) -> tuple[float, float]:
        return run(*VOCAP, "ladder", text, "-o", folder / "ladder", "--sizes", sizes, "--threads", str(number))

    def single(size: int) -> float:
        point = folder / "point.tsv"
        return run(
            *VOCAP, "train", "--size", str(size), "--train", text, "--heldout", empty,
            "--models", folder / "models", "--point", point,
        )[0]  # fmt: skip

    ladder(1)  # compiles kernels, if need be, and finds what can be reached
    reached = [point.size for point in read_points(folder / "ladder" / "curve.tsv") if point.ok]
    chosen = sorted({reached[round(index)] for index in np.linspace(0, len(reached) - 1, samples)})
    trainings = float(np.interp(reached, chosen, [single(size) for size in chosen]).sum())
    one, memory = ladder(1)
    more, _ = ladder(threads)
    bare = {n: run("-c", TRAIN.format(n), text, str(reached[0]))[0] for n in (1, threads)}
    for size in chosen:  # equal bytes, or the comparison is worth nothing
        same = (folder / "models" / f"{size}.model").read_bytes()
        assert same == (folder / "ladder" / "models" / f"{size}.model").read_bytes(), size
    return {
        "MB": text.stat().st_size / 1e6,
        "models": len(reached),
        "trainings s": trainings,
        "ladder s": one,
        f"ladder, {threads} threads s": more,
        "trainings : ladder": trainings / one,
        f"one training at {reached[0]} s": bare[1],
        "ladder : that": one / bare[1],
        f"that with {threads} threads s": bare[threads],
        f"ladder : that, {threads} threads": more / bare[threads],
        "1 thread : more": one / more,
        "ladder peak MB": memory,
    }


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
        print(text.name, *(f"  {name:<32} {value:10.2f}" for name, value in figures.items()), sep="\n", flush=True)


if __name__ == "__main__":
    main()
