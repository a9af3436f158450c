"""A copy of the workflow in a folder of its own, run by the real Snakemake on text made
here.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cases import read_cases
from tests.made_text import draw_sentences

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent

CASES = read_cases(__file__)
ALPHABETS, MODEL = CASES["alphabets"], CASES["model"]


def make_text(language: str, lines: int = 1500, seed: int = 0) -> str:
    """Made sentences; Japanese has no spaces."""
    letters = ALPHABETS.get(language, "abcdefghijklmnop")
    sentences = draw_sentences(f"{language} {seed}", letters, "" if language == "ja" else " ")
    return "".join(f"{sentence}\n" for sentence in islice(sentences, lines))


@dataclass
class Workflow:
    """A folder with the Snakefile, its rules and its configuration."""

    folder: Path

    def write_config(self, **changes) -> None:
        """Write test.yaml: the base configuration of these tests with `changes` on its
        top-level keys.
        """
        config = dict(CASES["base"])
        for key, value in changes.items():
            config[key] = {**config[key], **value} if isinstance(config.get(key), dict) else value
        (self.folder / "test.yaml").write_text(yaml.safe_dump(config, allow_unicode=True), "utf-8")

    def start(
        self,
        *arguments: str,
        configfile: str | None = "test.yaml",
        environment: dict[str, str] | None = None,
        **options: Any,
    ) -> subprocess.Popen:
        """Start Snakemake here, with config/config.yaml for None; the output is text,
        both streams in one. `options` are those of Popen.
        """
        chosen = [] if configfile is None else ["--configfile", configfile]
        return subprocess.Popen(
            [BIN / "snakemake", *chosen, "--cores", "2", *arguments],
            cwd=self.folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={
                "PATH": f"{BIN}:/usr/bin:/bin",
                "HOME": str(self.folder),
                "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
                "SLURM_CONF": os.devnull,
                **(environment or {}),
            },
            **options,
        )

    def snakemake(
        self, *arguments: str, timeout: float = 3600, **options: Any
    ) -> subprocess.CompletedProcess:
        """Run Snakemake here, as `start` starts it."""
        with self.start(*arguments, **options) as process:
            try:
                said, _ = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return subprocess.CompletedProcess(process.args, process.returncode, said)

    def ran(self, *arguments: str, **options: Any) -> str:
        """What a run says that ends well."""
        run = self.snakemake(*arguments, **options)
        assert run.returncode == 0, run.stdout[-4000:]
        return run.stdout

    def refused(self, *arguments: str, **options: Any) -> str:
        """What a run says that ends with an error, without a traceback."""
        run = self.snakemake(*arguments, **options)
        assert run.returncode != 0 and "Traceback" not in run.stdout, run.stdout[-4000:]
        return run.stdout

    def planned(self, *arguments: str, configfile: str | None = "test.yaml") -> dict[str, int]:
        """The jobs that a dry run names: rule to count."""
        return parse_counts(self.ran("-n", *arguments, configfile=configfile))


def parse_counts(output: str) -> dict[str, int]:
    """The table of job counts that Snakemake prints; empty when there is nothing to
    do.
    """
    counts = {}
    for line in output.splitlines():
        match = re.fullmatch(r"(\w+)\s+(\d+)", line.strip())
        if match:
            counts[match[1]] = int(match[2])
    counts.pop("total", None)
    return counts


def base_config() -> dict:
    return yaml.safe_load((ROOT / "config" / "config.yaml").read_text("utf-8"))


def copy_workflow(folder: Path) -> Workflow:
    """The files that a run needs, as a fresh clone would have them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("rules", "config", "envs", "profiles", "slurm"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "Snakefile", folder / "Snakefile")
    (folder / "text").mkdir()
    for language in (*ALPHABETS, "fr"):
        (folder / "text" / f"{language}.txt").write_text(make_text(language), "utf-8")
    workflow = Workflow(folder)
    workflow.write_config()
    return workflow


@pytest.fixture
def workflow(tmp_path: Path) -> Workflow:
    """A fresh copy that has not run."""
    return copy_workflow(tmp_path / "clone")


@pytest.fixture(scope="session")
def finished_once(tmp_path_factory) -> Workflow:
    """One copy that has run to its end; tests take copies of it."""
    workflow = copy_workflow(tmp_path_factory.mktemp("finished") / "clone")
    workflow.ran()
    return workflow


@pytest.fixture(scope="session")
def paper_dry_run(tmp_path_factory) -> str:
    """The output of a dry run of the paper's grid on a fresh clone."""
    workflow = copy_workflow(tmp_path_factory.mktemp("paper") / "clone")
    return workflow.ran("-n", configfile="config/paper.yaml")


@pytest.fixture
def finished(finished_once: Workflow, tmp_path: Path) -> Workflow:
    """A copy of a finished run, times of files included, to edit at will."""
    shutil.copytree(finished_once.folder, tmp_path / "clone", symlinks=True)
    return Workflow(tmp_path / "clone")
