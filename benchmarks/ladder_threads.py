"""What a second thread gains: ladders with one thread and with two, in turn, by the clock.

    python benchmarks/ladder_threads.py TEXT ... [--runs 5] [--sizes 1000:50000:1000]

For each text: seconds of all runs, the gain of the medians, processor seconds and peak
memory; then two ladders of one thread side by side, which share nothing: what they gain
on one is all that the machine has to give in this hour. All must give the same bytes.
"""

import argparse
import filecmp
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

COMMAND = "from vocap.command import main; main()"


@dataclass(frozen=True)
class Run:
    """Seconds by the clock, processor seconds, peak MB of the largest process."""

    wall: float
    cpu: float
    peak: float


def ladders(text: Path, sizes: str, threads: int, folders: list[Path]) -> Run:
    """Ladders of a text that begin at once, one a folder."""
    ladder = [
        sys.executable,
        "-c",
        COMMAND,
        "ladder",
        text,
        "--sizes",
        sizes,
        "--threads",
        str(threads),
        "-o",
    ]
    begin = time.perf_counter()
    children = [
        subprocess.Popen([*ladder, folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for folder in folders
    ]
    cpu, peak = 0.0, 0.0
    for child in children:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            sys.exit(f"{text}: vocap ladder ended with {child.returncode}; run it alone to see why")
        cpu, peak = cpu + usage.ru_utime + usage.ru_stime, max(peak, usage.ru_maxrss / 1024)
    return Run(time.perf_counter() - begin, cpu, peak)


def same_files(one: Path, other: Path) -> bool:
    """Whether two folders hold the same models and the same curve."""
    names = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    if names != sorted(path.relative_to(other) for path in other.rglob("*") if path.is_file()):
        return False
    return all(filecmp.cmp(one / name, other / name, shallow=False) for name in names)


def measure(text: Path, sizes: str, runs: int) -> None:
    ways = {"one thread": (1, 1), "two threads": (2, 1), "two ladders of one": (1, 2)}
    taken: dict[str, list[Run]] = {way: [] for way in ways}
    with tempfile.TemporaryDirectory() as temporary:
        folders = {
            way: [Path(temporary, f"{way} {number}") for number in range(copies)]
            for way, (_, copies) in ways.items()
        }
        for _ in range(runs):
            for way, (threads, _) in ways.items():
                taken[way].append(ladders(text, sizes, threads, folders[way]))
        [first, *others] = [folder for kept in folders.values() for folder in kept]
        if not all(same_files(first, folder) for folder in others):
            sys.exit(f"{text}: not the same bytes with one thread and with two")
    print(f"{text.name}, {text.stat().st_size / 1e6:.1f} MB; the same bytes in all")
    print(f"  {'':<20}{'CPU s':>9}{'peak MB':>9}  seconds")
    for way, found in taken.items():
        walls = " ".join(f"{wall:.2f}" for wall in sorted(run.wall for run in found))
        peak = max(run.peak for run in found)
        print(f"  {way:<20}{median(run.cpu for run in found):9.2f}{peak:9.0f}  {walls}")
    one, two, both = (median(run.wall for run in found) for found in taken.values())
    print(f"  gain of two threads {one / two:.2f}, of two ladders {2 * one / both:.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--sizes", default="1000:50000:1000")
    options = parser.parse_args()
    for text in options.texts:
        measure(text, options.sizes, options.runs)


if __name__ == "__main__":
    main()
