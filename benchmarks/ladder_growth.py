"""How the time and memory of `vocap ladder` grow with the text, stage by stage.

    python benchmarks/ladder_growth.py TEXT [TEXT ...] [--sizes 1000:50000:1000]
        [--threads 1] [--single SIZE]

For each text, in a process of its own: what it grows to, then processor seconds and
peak memory of each stage, from start to files. Compiled kernels are cached, as after a
first run. With more threads a stage is what the main thread waits for, so one is the
default. --single: one SentencePiece training of that size beside it, without ALP. Texts
of 10 and 100 MB: benchmarks/made_text.py. Linux only (/proc).
"""

import argparse
import contextlib
import io
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import wraps
from pathlib import Path

STAGES = {  # functions, by module; a stage is the time in them, less that in other ones inside
    "text": [("word_types", "count_word_types")],
    "suffixes": [
        ("seeds", "seed_text"),
        ("seeds", "divide_suffixes"),
        ("seeds", "sort_suffixes"),
    ],
    "seeds": [("seeds", "find_seeds")],
    "lattice": [("descent", "build_lattice")],
    "branches": [("descent", "finish_sizes")],
    "finalise": [("ladder", "finalise")],
    "ALP": [("ladder", "token_counts")],
    "model files": [("ladder", "model_bytes")],
}
# what the results of functions say of the text; no result is kept, as that would be
# memory
SIZES = {
    "count_word_types": lambda words: {
        "lines": words.sentences["train"],
        "word types": words.trained,
        "their characters": len(words.text),
    },
    "find_seeds": lambda seeds: {"seeds": len(seeds.score)},
    "build_lattice": lambda built: {"edges": len(built[0].piece)},
}
TRAIN = (
    "import sys, vocap.unigram.sentencepiece_trainer as t; t.train(sys.argv[1], int(sys.argv[2]))"
)


class Clock:
    """Processor seconds and peak MB of each stage; `current` names the one that
    runs.
    """

    def __init__(self):
        self.seconds: dict[str, float] = {}
        self.peaks: dict[str, int] = {}
        self.current = "start"
        self.grown: dict[str, int] = {}
        self._since = 0.0  # processor time of the process, so imports count as start

    def switch(self, stage: str) -> str:
        """End a stage and begin another; returns the one that ended."""
        ended, now = self.current, time.process_time()
        self.seconds[ended] = self.seconds.get(ended, 0.0) + now - self._since
        status = Path("/proc/self/status").read_text()
        peak = int(status.partition("VmHWM:")[2].split()[0]) // 1024
        self.peaks[ended] = max(self.peaks.get(ended, 0), peak)
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        self.current, self._since = stage, now
        return ended

    def watch(self, module, name: str, stage: str) -> None:
        function = getattr(module, name)

        @wraps(function)
        def watched(*arguments, **options):
            before = self.switch(stage)
            try:
                result = function(*arguments, **options)
                self.grown |= SIZES[name](result) if name in SIZES else {}
                return result
            finally:
                self.switch("descent" if before == "start" else before)

        setattr(module, name, watched)


def profile(text: Path, sizes: str, threads: int, folder: Path) -> tuple[dict, dict, dict]:
    """Run the ladder in this process: what it grew to, seconds and peak MB of the
    stages.
    """
    from importlib import import_module

    from vocap.vocabularies.commands import ladder

    clock = Clock()
    for stage, functions in STAGES.items():
        for module, name in functions:
            clock.watch(import_module(f"vocap.unigram.{module}"), name, stage)
    arguments = [text, "-o", folder, "--sizes", sizes, "--threads", threads]
    with contextlib.redirect_stdout(io.StringIO()):  # the table of the curve
        ladder.main(list(map(str, arguments)), standalone_mode=False)
    clock.switch("end")
    models = len(list((folder / "models").iterdir()))
    return clock.grown | {"models": models}, clock.seconds, clock.peaks


def single(text: Path, size: int) -> tuple[float, float]:
    """Processor seconds and peak MB of one SentencePiece training, with one thread."""
    child = subprocess.Popen(
        [sys.executable, "-c", TRAIN, text, str(size)], stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{text}: SentencePiece trained no model of {size}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--sizes", default="1000:50000:1000")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--single", type=int)
    options = parser.parse_args()
    for text in options.texts:
        with (
            tempfile.TemporaryDirectory() as folder,
            ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process,
        ):
            arguments = text, options.sizes, options.threads, Path(folder)
            grown, seconds, peaks = process.submit(profile, *arguments).result()
        print(f"{text.name}, {text.stat().st_size / 1e6:.1f} MB")
        print(*(f"  {name:<24}{number:>12,}" for name, number in grown.items()), sep="\n")
        print(f"  {'stage':<24}{'CPU seconds':>12}{'peak MB':>10}")
        print(
            *(f"  {name:<24}{seconds[name]:12.2f}{peaks[name]:10d}" for name in seconds), sep="\n"
        )
        print(f"  {'all':<24}{sum(seconds.values()):12.2f}{max(peaks.values()):10d}", flush=True)
        if options.single:
            taken, peak = single(text, options.single)
            print(
                f"  {f'SentencePiece, {options.single}':<24}{taken:12.2f}{peak:10.0f}", flush=True
            )


if __name__ == "__main__":
    main()
