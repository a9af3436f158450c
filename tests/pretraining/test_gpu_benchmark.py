"""`benchmarks/pretraining.py gpu`: a dry run on a CPU, its resumption, and the loss
that only it has.
"""

import subprocess
import sys
from pathlib import Path

import torch

from benchmarks.gpu.table import Table
from tests.cases import read_lines_of_json
from tests.pretraining.factories import pretrain_arguments

ROOT = Path(__file__).resolve().parents[2]
FACTS = {"torch": "2", "device": "one"}


def dry_run(*words: str) -> subprocess.CompletedProcess:
    command = [
        sys.executable,
        str(ROOT / "benchmarks" / "pretraining.py"),
        "gpu",
        "--dry-run",
        *map(str, words),
    ]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def rows_of(path: Path) -> list[dict]:
    return [row for row in read_lines_of_json(path) if "begun" not in row]


def test_a_dry_run_fills_every_table_and_goes_on_where_it_stopped(tmp_path):
    pretrain_arguments(tmp_path / "text")
    out = tmp_path / "out"
    ended = dry_run("--out", out, "--text", tmp_path / "text")
    assert ended.returncode == 0, ended.stderr
    stages = ("works", "head", "step", "learning")
    tables = {stage: rows_of(out / f"{stage}.jsonl") for stage in stages}
    assert all(row["torch"] == torch.__version__ for rows in tables.values() for row in rows)
    left_out = {
        row["head"] for stage in ("head", "step") for row in tables[stage] if "left_out" in row
    }
    assert left_out <= {"full cut cross-entropy", "full Liger, chunk 16"}  # packages
    full = [row for row in tables["head"] if row.get("head", "").startswith("full")]
    losses = {round(row["loss"], 3) for row in full if "loss" in row}
    assert len(losses) == 8  # of each V, d and N, by whatever kernel
    summary = (out / "summary.md").read_text("utf-8")
    assert all(f"## {title}\n" in summary for title in (*tables, "Speeds, and the paper's"))

    path, measured = out / "step.jsonl", tables["step"]
    lines = path.read_text("utf-8").splitlines(keepends=True)  # two of each row: begun, measured
    path.write_text("".join(lines[:-3]) + lines[-3][:20], "utf-8")  # as a power cut leaves it
    assert dry_run("--out", out, "--stage", "step").returncode == 0
    found = Table(path, {name: measured[0][name] for name in FACTS}, 0.0).rows
    assert [row["head"] for row in found] == [row["head"] for row in measured]
    assert found[:-2] == measured[:-2] and found[-2] != measured[-2] and found[-1] != measured[-1]
