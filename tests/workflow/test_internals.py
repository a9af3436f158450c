"""What rules/internals.smk takes from Snakemake's internals, in a workflow of its own, under
the pinned version.
"""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases import read_lines_of_json
from tests.workflow.conftest import ROOT

SNAKEFILE = """
include: "internals.smk"

RESULTS, LOGS, CONFIGFILES, NOTICES = "results", "logs", [], ["the last line"]
RECORDED, LAST_VERSION = {}, None

rule all:
    input:
        expand("results/second/{number}", number=range(75)),

rule first:
    output:
        "results/first/{number}",
    benchmark:
        "logs/benchmarks/made/first/{number}.tsv"
    localrule: True
    shell:
        "touch {output}"

rule second:
    input:
        "results/first/{number}",
    output:
        "results/second/{number}",
    benchmark:
        "logs/benchmarks/made/second/{number}.tsv"
    shell:
        "touch {output}"

onstart:
    begin_run()

if DRY_RUN:
    atexit.register(end_dry_run)
"""


@pytest.fixture
def run(tmp_path):
    """A function that runs Snakemake on these rules in `tmp_path`."""
    shutil.copy(ROOT / "rules/internals.smk", tmp_path)
    (tmp_path / "Snakefile").write_text(SNAKEFILE)

    def snakemake(*arguments: str, **environment: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", "--cores", "2", *arguments],
            cwd=tmp_path,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    return snakemake


def test_the_version_is_the_pinned_one():
    (pin,) = set(re.findall(r'"snakemake==([\d.]+)"', (ROOT / "pyproject.toml").read_text()))
    assert importlib.metadata.version("snakemake") == pin


def test_one_file_names_them_and_each_has_a_reason():
    for path in [ROOT / "Snakefile", *(ROOT / "rules").glob("*.smk")]:
        text = path.read_text("utf-8")
        names = set(re.findall(r"(?<!vocap\.)\bworkflow\.(\w+)", text))
        if path.stem != "internals":
            assert not names, f"{path.name}: move the use of {names} to rules/internals.smk"
        for name in names:
            assert re.search(rf"\b{name}(\.\w+)?: ", text), f"{name}: say why"


def test_a_dry_run_prints_a_hundred_jobs_and_its_notices_last(run):
    assert (said := run("-n")).splitlines()[-1] == "the last line"
    assert len(re.findall("(?m)^(?:local)?rule (?:first|second):", said)) == 100
    assert said.count("\ntotal ") == 1
    shown = run("-n", "-p")
    assert len(re.findall("(?m)^(?:local)?rule (?:first|second):", shown)) == 150


def test_a_dry_run_for_the_forecast_writes_its_jobs(run, tmp_path):
    path = tmp_path / "jobs.jsonl"
    assert "the last line" not in run("-n", VOCAP_JOBS=str(path))
    jobs = {job["name"]: job for job in read_lines_of_json(path)}
    assert len(jobs) == 150
    assert jobs["made/second/7"] == {
        "rule": "second",
        "name": "made/second/7",
        "wildcards": {"number": "7"},
    }


def test_jobs_that_a_killed_run_left_are_cancelled_and_the_run_starts_over(run, tmp_path):
    """With programs that stand for SLURM's clients."""
    left = tmp_path / "left"
    left.touch()
    clients = tmp_path / "clients"
    clients.mkdir()
    for name, body in (
        ("squeue", f'test -e {left} && echo "7|rule_first|{tmp_path}"; true'),
        ("scancel", f"rm {left}; touch {tmp_path}/results/first/0"),
    ):
        (clients / name).write_text(f"#!/bin/sh\n{body}\n")
        (clients / name).chmod(0o755)
    Path(tmp_path, "results/first").mkdir(parents=True)
    said = run("results/second/0", PATH=f"{clients}:{os.environ['PATH']}")
    assert not left.exists() and (tmp_path / "results/second/0").exists()
    # the second of two plans knows the file that came since the first
    assert re.findall(r"(?m)^total +(\d+)$", said) == ["2", "1"]
    assert (tmp_path / "results/configfiles.txt").exists()
