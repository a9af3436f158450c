"""The stages on a GPU, in order of worth: each in a process of its own, resumed row by
row.
"""

import argparse
import platform
import subprocess
import sys
import time

import torch

from .sizes import PAPER, TINY, Sizes
from .summary import write_summary
from .table import NoTimeLeft, Table

STAGES = ("works", "head", "step", "learning")
LONGEST_S = 280  # of a stage in one call
UNFINISHED = 75  # exit status: the same command goes on


def run(arguments: argparse.Namespace) -> int:
    """Every stage, or the one named, until `--limit` seconds are over; the exit
    status.
    """
    deadline = time.monotonic() + arguments.limit
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.stage:
        return run_stage(arguments, deadline)
    unfinished = []
    for stage in STAGES:
        if stage == "learning" and arguments.text is None:
            print(
                "== learning: left out: no --text FOLDER with tokenizer/ and tokens/ "
                "(benchmarks/gpu/learning.py)"
            )
            continue
        left = deadline - time.monotonic()
        if left < 10:
            unfinished.append(stage)
            continue
        limit = min(left, LONGEST_S)
        words = [*sys.argv[1:], "--stage", stage, "--limit", f"{limit:.0f}"]
        try:
            status = subprocess.run(
                [sys.executable, sys.argv[0], *words], timeout=limit + 20
            ).returncode
        except subprocess.TimeoutExpired:
            status = UNFINISHED
        print(
            f"== {stage}: {'to be continued' if status == UNFINISHED else f'status {status}'}",
            flush=True,
        )
        if status:
            unfinished.append(stage)
    write_summary(arguments.out)
    if unfinished:
        print(f"not finished: {', '.join(unfinished)}; the same command goes on there")
    return UNFINISHED if unfinished else 0


def run_stage(arguments: argparse.Namespace, deadline: float) -> int:
    """One stage in this process."""
    device = "cpu" if arguments.dry_run else "cuda"
    sizes = TINY if arguments.dry_run else PAPER
    table = Table(arguments.out / f"{arguments.stage}.jsonl", facts(device), deadline)
    try:
        _measure(arguments, sizes, device, table, deadline)
    except NoTimeLeft:
        return UNFINISHED
    return 0


def _measure(
    arguments: argparse.Namespace,
    sizes: Sizes,
    device: str,
    table: Table,
    deadline: float,
) -> None:
    # a stage imports its own modules alone: the machine may lack those of another
    match arguments.stage:
        case "works":
            from . import works

            works.run(table, arguments.out / "works.log", deadline - time.monotonic())
        case "head":
            from . import head

            head.run(table, sizes, device)
        case "step":
            from . import step

            step.run(table, sizes, device)
        case "learning":
            from . import learning

            learning.run(table, sizes, device, arguments.text)


def facts(device: str) -> dict[str, str]:
    """What stands in every row: torch's version and the device."""
    name = (
        torch.cuda.get_device_name()
        if device == "cuda"
        else platform.processor() or platform.machine()
    )
    return {"torch": torch.__version__, "device": name}
