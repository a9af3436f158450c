"""The tests marked `gpu`, one row each, as they end."""

import os
import re
import subprocess
import sys
from pathlib import Path

from .table import Table

ROOT = Path(__file__).resolve().parents[2]
MARK = "pytest.mark.gpu"
LINE = re.compile(r"^(tests/\S+::.+?) (PASSED|FAILED|ERROR|SKIPPED(?: \(.*\))?)\s*(?:\[.*\])?$")


def run(table: Table, log: Path, limit_s: float) -> None:
    """Those without a row; their output goes to the file `log`. `limit_s`: seconds
    after which they are ended.

    Modules without such tests are not imported: a bare machine may lack what they need.
    """
    modules = [
        str(path)
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if MARK in path.read_text("utf-8")
    ]
    known = [f"--deselect={row['test']}" for row in table.rows if table.has(test=row["test"])]
    plain = ["-o", "addopts=", "-p", "no:cacheprovider", "-v", "--tb=short", "-m", "gpu"]
    command = [
        "timeout",
        f"{limit_s:.0f}",
        sys.executable,
        "-m",
        "pytest",
        *plain,
        *known,
        *modules,
    ]
    with open(log, "a", encoding="utf-8") as file:
        wide = {**os.environ, "COLUMNS": "400"}  # else reasons are cut off
        process = subprocess.Popen(
            command, cwd=ROOT, env=wide, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for line in process.stdout:
            file.write(line)
            if found := LINE.match(line.rstrip()):
                test, outcome = found.groups()
                skipped = outcome.startswith("SKIPPED")
                table.add(
                    {"test": test},
                    {"left_out": outcome} if skipped else {"outcome": outcome.lower()},
                )
    if not table.rows:
        table.add({"test": "all"}, {"left_out": f"pytest ran none; see {log.name}"})
