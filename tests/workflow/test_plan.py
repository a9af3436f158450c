"""`vocap plan` against Snakemake: the jobs of its dry runs, and the benchmarks of a run."""

import json
import re
import subprocess

import pytest
import yaml

from tests.workflow.conftest import BIN, ROOT, parse_counts
from vocap.config import load, read_files
from vocap.plan.costs import read_costs
from vocap.plan.forecast import LOCAL_CORES, make_forecast

LEFT_OUT = {"all"}  # it runs nothing


def dry_run(folder, *arguments) -> dict[str, int]:
    """Jobs of the whole workflow by rule, by Snakemake."""
    run = subprocess.run(
        [BIN / "snakemake", "-n", "--cores", "2", *arguments],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-4000:]
    counts: dict[str, int] = {}
    for rule, count in parse_counts(run.stdout).items():
        if rule not in LEFT_OUT:
            kind = re.sub(r"_\d+$", "", rule)  # joint_descent_1, joint_descent_2
            counts[kind] = counts.get(kind, 0) + count
    return counts


def plan(folder, *arguments, status=0) -> subprocess.CompletedProcess:
    run = subprocess.run(
        [BIN / "vocap", "plan", *arguments], cwd=folder, text=True, capture_output=True, check=False
    )
    assert run.returncode == status, run.stderr
    return run


def planned_counts(folder, *arguments) -> dict[str, int]:
    rules = json.loads(plan(folder, "--json", *arguments).stdout)["rules"]
    return {rule: row["jobs"] for rule, row in rules.items()}


@pytest.mark.parametrize("name", ["config", "smoke", "paper"])
def test_jobs_are_those_of_the_dry_run(workflow, name):
    """A rule that is missing here needs a place in src/vocap/plan/jobs.py, and coefficients in costs.yaml."""
    chosen = [] if name == "config" else ["--configfile", f"config/{name}.yaml"]
    assert planned_counts(workflow.folder, *chosen) == dry_run(workflow.folder, *chosen)


def test_jobs_of_the_reference_engine_of_local_files_and_of_baselines(workflow):
    (workflow.folder / "baseline.model").write_bytes(b"x" * 1000)
    (
        workflow.folder / "text/ru.txt"
    ).unlink()  # the dry run goes on without the language, and its tokenizer must go
    baselines = {name: {"kind": "file", "path": f"{name}.model"} for name in ("baseline", "absent")}
    workflow.write_config(vocabularies={"engine": "sentencepiece"}, tokenizers={"mono": None, **baselines})
    counts = planned_counts(workflow.folder, "--configfile", "test.yaml")
    assert counts == dry_run(workflow.folder, "--configfile", "test.yaml")
    assert counts["train"] == 2 * 3


def test_forecast_against_a_finished_run(finished):
    """Every benchmark belongs to a planned job, and every job has one: same names, so same jobs."""
    arguments = ("--configfile", "test.yaml", "--cores", "2", "--compare")
    result = json.loads(plan(finished.folder, *arguments, "--json").stdout)
    assert (result["missing"], result["foreign"]) == ([], [])
    files = list((finished.folder / "logs/benchmarks").rglob("*.tsv"))
    assert result["total"]["jobs"] == len(files)
    seconds = sum(float(path.read_text().splitlines()[1].split("\t")[0]) for path in files)
    assert result["total"]["measured"]["wall_s"] == pytest.approx(seconds)
    made = ("train.txt", "heldout.txt", "stats.json")
    sampled = sum(
        (finished.folder / f"results/corpora/{lang}/{name}").stat().st_blocks * 512 / 1e6
        for lang in ("de", "ja", "ru")
        for name in made
    )
    assert result["rules"]["sample"]["measured"]["disk_mb"] == pytest.approx(sampled)
    table = plan(finished.folder, *arguments).stdout.splitlines()
    assert [line for line in table if line.startswith("vocabularies")]


def test_a_refit_forecasts_the_run_that_it_was_fitted_on(finished):
    """By processor time: the clock of a busy machine would fit nothing."""
    own = ("--configfile", "test.yaml", "--cores", "2")
    plan(finished.folder, *own, "--refit", "fitted.yaml")
    arguments = (*own, "--compare", "--costs", "fitted.yaml", "--json")
    factor = json.loads(plan(finished.folder, *arguments).stdout)["total"]["factor"]
    for quantity in ("cpu_s", "disk_mb"):
        assert 1 / 1.5 < factor[quantity] < 1.5, quantity


def test_wrong_calls_say_what_to_do(workflow):
    folder = workflow.folder
    assert "let it run first" in plan(folder, "--compare", "--configfile", "test.yaml", status=1).stderr
    assert "no such folder" in plan(folder, "--refit", "out.yaml", "nowhere", status=2).stderr
    assert "for --refit" in plan(folder, "nowhere", status=2).stderr
    assert "exclude each other" in plan(folder, "--compare", "--profile", "slurm", status=2).stderr
    assert "project's root" in plan(folder / "rules", status=2).stderr
    (folder / "wrong.yaml").write_text("vocabularies: {sises: [1000]}\n")
    assert "vocabularies.sises" in plan(folder, "--configfile", "wrong.yaml", status=2).stderr
    (folder / "wrong.yaml").write_text("- a list\n")
    assert "not a map" in plan(folder, "--configfile", "wrong.yaml", status=2).stderr
    benchmark = folder / "logs/benchmarks/corpora/mix-0.7.tsv"
    benchmark.parent.mkdir(parents=True)
    benchmark.write_text("s\tmax_rss\tcpu_time\n1.0\tmany\t1.0\n")
    message = plan(folder, "--compare", "--configfile", "test.yaml", status=1).stderr
    assert "mix-0.7.tsv, line 2" in message and "run its job again" in message


def test_files_that_are_not_there_are_named(workflow):
    (workflow.folder / "text/ru.txt").unlink()
    run = plan(workflow.folder, "--configfile", "test.yaml", status=1)
    assert "tokenizers.mono needs text in 'ru'" in run.stderr and "no file text/ru.txt" in run.stderr
    workflow.write_config(tokenizers={"mono": None})
    run = plan(workflow.folder, "--configfile", "test.yaml")
    assert "left out: 1 of 3 languages" in run.stderr and "ru: no file text/ru.txt" in run.stderr
    for language in ("de", "ja"):
        (workflow.folder / f"text/{language}.txt").unlink()
    run = plan(workflow.folder, "--configfile", "test.yaml", status=1)
    assert "no language has its text" in run.stderr and "ja: no file text/ja.txt" in run.stderr
    assert not run.stdout


def test_slurm_counts_its_own_overhead(workflow):
    local = json.loads(plan(workflow.folder, "--json", "--cores", "100", "--gpu").stdout)
    cluster = json.loads(plan(workflow.folder, "--json", "--profile", "slurm", "--jobs", "100").stdout)
    assert cluster["total"] == local["total"]
    assert cluster["schedule"]["wall_s"] > local["schedule"]["wall_s"]
    assert "submissions" in plan(workflow.folder, "--profile", "slurm").stdout


def test_local_rules_are_those_of_the_workflow(monkeypatch, tmp_path):
    text = "".join(path.read_text("utf-8") for path in (ROOT / "rules").glob("*.smk"))
    rules = re.split(r"(?m)^ *(?:rule|checkpoint) (\w+):", text)[1:]
    local = {name for name, body in zip(rules[::2], rules[1::2], strict=True) if "localrule: True" in body}
    baseline = tmp_path / "baseline.model"
    baseline.write_bytes(b"x" * 1000)
    further = tmp_path / "further.yaml"  # what neither of the two has: a model with a tokenizer from elsewhere
    theirs = {"theirs": {"kind": "file", "path": str(baseline)}}
    further.write_text(
        yaml.safe_dump({"tokenizers": theirs, "pretraining": {"models": {"m": {"tokenizer": "theirs"}}}})
    )
    monkeypatch.chdir(ROOT)
    planned = set()
    for name in ("smoke", "paper"):
        files = ["config/sources.yaml", f"config/{name}.yaml", further]
        planned |= {job.rule for job in make_forecast(load(read_files(files)), read_costs()).jobs if job.local}
    unpacking = {rule for rule in planned if rule.startswith("unpack_")}  # made in a loop, local all of them
    assert planned - unpacking == local - LEFT_OUT
    profile = yaml.safe_load((ROOT / "slurm/config.yaml").read_text("utf-8"))
    assert profile["local-cores"] == LOCAL_CORES
