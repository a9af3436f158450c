"""The ladder against SentencePiece, in one run on the same cores.

    python benchmarks/ladder.py TEXT [TEXT ...] [--made MEGABYTES] [--sizes
        1000:50000:1000] [--threads 2]
        [--samples 6] [--repeat 1]

For each text, or as many MEGABYTES made from it by benchmarks/made_text.py (in no more
lines than SentencePiece takes): `vocap train` (one SentencePiece training and its ALP)
at a few of the reachable sizes, in between interpolated, so that all sizes add up to
what they would take; the bare training at the smallest size; and `vocap ladder` for all
sizes, all with one thread and with more. Every model
trained one by one must have the bytes of the ladder's. Every figure is a process of its
own, from start to files on disk, the fastest of `--repeat`; compiled kernels are
cached, as after a first run. Prints seconds by the clock (on an idle machine, these
count) and of the processors, the ratios, and the peaks of memory; then the share of
each stage of the ladder in the time of one thread. 10 MB take 5 (Russian) to 12
(Japanese) minutes of processor time.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np

from vocap.tables.curve import parse_sizes, read_points
from vocap.unigram.sentencepiece_trainer import INPUT_SENTENCES

VOCAP = ["-c", "from vocap.command import main; main()"]
TRAIN = (
    "import sys, vocap.unigram.sentencepiece_trainer as t; t.train(sys.argv[1], "
    "int(sys.argv[2]), threads={})"
)
MADE_TEXT = Path(__file__).with_name("made_text.py")

# Stages by the functions that they are, each where its caller looks it up.
STAGES = {
    "words": ("word_types.load_word_types",),
    "seeds, lattices": ("descent.seed",),
    "E steps": ("sizes.expected_counts",),
    "E steps in lanes": ("lanes.expected_counts",),
    "M steps": ("descent.run_m_step",),
    "order of pruning": ("descent.prune_order",),
    "lattices of fewer pieces": ("descent.select_pieces",),
    "final pieces": ("sizes.finalise",),
    "ALP": ("sizes.token_counts", "sizes.average_log_probability"),
    "model files": ("sizes.model_bytes",),
}


def run(*arguments: str) -> np.ndarray:
    """Wall seconds, processor seconds and peak memory in MB of a Python process,
    float64 [3].
    """
    begin = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ,
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"failed: {' '.join(map(str, arguments))}")
    wall = time.perf_counter() - begin
    return np.array([wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024])


def run_ladder(text: Path, folder: Path, sizes: str, threads: int) -> np.ndarray:
    """`vocap ladder`, to `folder`; an earlier one there would be taken up again."""
    shutil.rmtree(folder, ignore_errors=True)
    options = ["-o", folder, "--sizes", sizes, "--threads", str(threads)]
    return run(*VOCAP, "ladder", text, *options)


def run_training(text: Path, folder: Path, size: int) -> np.ndarray:
    """`vocap train`, to `folder`."""
    (folder / "empty.txt").write_text("")
    files = [
        "--models",
        folder / "models",
        "--point",
        folder / "point.tsv",
        "--heldout",
        folder / "empty.txt",
    ]
    return run(*VOCAP, "train", "--size", str(size), "--train", text, *files)


def measure(options: argparse.Namespace, text: Path, folder: Path):
    """Rows of the table (what, by the clock, by the processors), the sizes trained with
    theirs, peaks in MB.
    """
    sizes, threads = options.sizes, options.threads
    best = partial(fastest, options.repeat)
    # compiles kernels, if need be, and finds what can be reached
    run_ladder(text, folder / "ladder", sizes, 1)
    reached = [point.size for point in read_points(folder / "ladder" / "curve.tsv") if point.ok]
    chosen = sorted(
        {reached[round(index)] for index in np.linspace(0, len(reached) - 1, options.samples)}
    )
    singles = np.array([run_training(text, folder, size) for size in chosen])
    for size in chosen:  # equal bytes, or the comparison is worth nothing
        same = (folder / "models" / f"{size}.model").read_bytes()
        assert same == (folder / "ladder" / "models" / f"{size}.model").read_bytes(), size
    trainings = np.array([np.interp(reached, chosen, column).sum() for column in singles.T])
    ladders = {n: best(run_ladder, text, folder / f"ladder-{n}", sizes, n) for n in (1, threads)}
    bare = {n: best(run, "-c", TRAIN.format(n), text, str(reached[0])) for n in (1, threads)}
    rows = {
        f"{len(reached)} trainings with ALP, s": trainings,
        "ladder, s": ladders[1],
        f"ladder with {threads} threads, s": ladders[threads],
        f"training of {reached[0]}, no ALP, s": bare[1],
        f"training of {reached[0]} with {threads} threads, s": bare[threads],
        "trainings : ladder": trainings / ladders[1],
        f"trainings : ladder with {threads} threads": trainings / ladders[threads],
        "ladder : one training": ladders[1] / bare[1],
        f"ladder : one training, {threads} threads": ladders[threads] / bare[threads],
        f"ladder, 1 : {threads} threads": ladders[1] / ladders[threads],
    }
    peaks = {"ladder": ladders[1], f"with {threads} threads": ladders[threads], "training": bare[1]}
    return (
        [(name, row[0], row[1]) for name, row in rows.items()],
        [(size, *row[:2]) for size, row in zip(chosen, singles, strict=True)],
        {name: row[2] for name, row in peaks.items()},
    )


def fastest(repeat: int, function, *arguments) -> np.ndarray:
    """The run with the fewest seconds by the clock."""
    return min((function(*arguments) for _ in range(repeat)), key=lambda figures: figures[0])


def stages(text: Path, sizes: list[int]) -> list[tuple[str, float]]:
    """Processor seconds of each stage of a ladder in this process, with one thread."""
    begin = time.process_time()
    from vocap.text_files.records import read_blocks
    from vocap.unigram import descent, lanes, word_types
    from vocap.unigram import ladder as all_sizes

    modules = {
        "descent": descent,
        "lanes": lanes,
        "sizes": all_sizes,
        "word_types": word_types,
    }
    spent = Counter({"imports": time.process_time() - begin})

    def timed(stage: str, function):
        def call(*arguments, **options):
            begin = time.process_time()
            try:
                return function(*arguments, **options)
            finally:
                spent[stage] += time.process_time() - begin

        return call

    for stage, names in STAGES.items():
        for name in names:
            module, function = modules[name.split(".")[0]], name.split(".")[1]
            setattr(module, function, timed(stage, getattr(module, function)))
    words = word_types.load_word_types({"train": lambda: read_blocks(text)})
    for _ in all_sizes.train_sizes(words, sizes):
        pass
    spent["the rest"] = time.process_time() - begin - sum(spent.values())
    return [(stage, spent[stage]) for stage in ("imports", *STAGES, "the rest")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--made", type=float, help="megabytes to make from each text")
    parser.add_argument("--sizes", default="1000:50000:1000")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--samples", type=int, default=6)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--stages-only", action="store_true", help="no trainings")
    options = parser.parse_args()
    for text in options.texts:
        with tempfile.TemporaryDirectory() as folder:
            compare(
                options,
                make(text, options.made, Path(folder)) if options.made else text,
                Path(folder),
            )


def make(text: Path, megabytes: float, folder: Path) -> Path:
    """As much text, made from another one."""
    made = folder / f"made-{text.name}"
    subprocess.run([sys.executable, MADE_TEXT, text, str(megabytes), "-o", made], check=True)
    while count_lines(made) > INPUT_SENTENCES:
        join_lines(made)
    return made


def count_lines(text: Path) -> int:
    with open(text, "rb") as file:
        return sum(1 for _ in file)


def join_lines(text: Path) -> None:
    """Make one line of two."""
    joined = text.with_suffix(".joined")
    with open(text, "rb") as file, open(joined, "wb") as out:
        for first in file:
            out.write(first.rstrip(b"\n") + b" " + next(file, b"\n"))
    joined.replace(text)


def compare(options: argparse.Namespace, text: Path, folder: Path) -> None:
    """Measure one text and print its tables."""
    if (lines := count_lines(text)) > INPUT_SENTENCES:
        sys.exit(
            f"{text}: {lines} lines; SentencePiece would train on {INPUT_SENTENCES} of them, the "
            "ladder on all"
        )
    print(f"{text.name}, {text.stat().st_size / 1e6:.2f} MB")
    if not options.stages_only:
        figures, trained, peaks = measure(options, text, folder)
        print(f"{'clock':>48}{'processors':>12}")
        singles = [(f"training of {size} with ALP, s", wall, cpu) for size, wall, cpu in trained]
        print(
            *(f"  {name:<36}{wall:10.2f}{cpu:12.2f}" for name, wall, cpu in singles + figures),
            sep="\n",
        )
        print(
            "  peak MB: " + ", ".join(f"{name} {peak:.0f}" for name, peak in peaks.items()),
            flush=True,
        )
    print(f"{'processors, s':>48}")
    found = in_child(text, parse_sizes(options.sizes))
    print(*(f"  {name:<36}{seconds:10.2f}" for name, seconds in found), sep="\n", flush=True)


def in_child(text: Path, sizes: list[int]) -> list[tuple[str, float]]:
    """`stages` in a fresh process, which has imported nothing and changed nothing."""
    from multiprocessing import get_context

    with get_context("spawn").Pool(1) as pool:
        return pool.apply(stages, (text, sizes))


if __name__ == "__main__":
    main()
