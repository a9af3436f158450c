"""Time, memory and learning of a pre-training by loss.

    python benchmarks/pretraining.py gpu --out FOLDER [--text TEXT] [--limit SECONDS]
        every stage on a GPU
    python benchmarks/pretraining.py head [--vocabulary 500000] [--out FOLDER] [...]
        the head alone, on a CPU

`gpu` measures on one GPU: the tests marked `gpu`, the head alone, whole steps of the
paper's models, and the learning by each loss in equal time. Each row is kept as soon as
it is measured, in FOLDER/STAGE.jsonl; the same command goes on after the last one, until
nothing is left (exit status 0, else 75). A kernel that this machine lacks is a row that
says so. FOLDER/summary.md has the tables. `--dry-run`: every stage at tiny sizes on a
CPU, for a look at the tables.

Weights are as initialised, so that they share few neighbours: V' of k-NN is given the
size that the paper's speeds fit. Tokens follow Zipf's law (1/rank over V).
"""

import argparse
import json
import platform
import sys
from pathlib import Path

import torch


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="what", required=True)
    gpu = commands.add_parser("gpu", help="every stage on a GPU")
    gpu.add_argument("--out", type=Path, required=True, help="folder of the tables")
    gpu.add_argument(
        "--text", type=Path, help="folder of benchmarks/learning.py prepare, for the learning"
    )
    gpu.add_argument("--limit", type=float, default=1e9, help="seconds after which no row is begun")
    gpu.add_argument("--stage", help="one stage alone, in this process")
    gpu.add_argument("--dry-run", action="store_true", help="tiny sizes, on a CPU")
    head = commands.add_parser("head", help="the head alone, on a CPU")
    head.add_argument("--vocabulary", type=int, default=500_000)
    head.add_argument("--width", type=int, default=768)
    head.add_argument("--targets", type=int, nargs="+", default=[256], help="N")
    head.add_argument(
        "--steps", type=int, default=8, help="calls of each, of which the fastest counts"
    )
    head.add_argument("--threads", type=int)
    head.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.what == "gpu":
        sys.exit(measure_gpu(arguments, gpu))
    measure_head(arguments)


def measure_gpu(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    from gpu.stages import STAGES, run

    if arguments.stage and arguments.stage not in STAGES:
        parser.error(f"--stage {arguments.stage}: one of {', '.join(STAGES)}")
    if not arguments.dry_run and not torch.cuda.is_available():
        parser.error(f"torch {torch.__version__} sees no GPU here; --dry-run needs none")
    return run(arguments)


def measure_head(arguments: argparse.Namespace) -> None:
    from pretraining_head import run_head

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    machine = platform.processor() or platform.machine()
    facts = {"torch": torch.__version__, "device": machine, "threads": torch.get_num_threads()}
    print(json.dumps(facts))
    rows = run_head(arguments)
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        content = {**facts, "arguments": {**vars(arguments), "out": None}, "rows": rows}
        (arguments.out / "pretraining-head.json").write_text(
            json.dumps(content, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
