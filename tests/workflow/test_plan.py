"""`vocap plan` against Snakemake: jobs of dry runs, benchmarks of a run; the profile
for clusters, without one.
"""

import json
import re
import subprocess
from base64 import b64encode
from pathlib import Path

import pytest
import yaml
from pandas import read_csv

from tests.commands import ended
from tests.tokenizers.scripts import model
from tests.workflow.conftest import ROOT, parse_counts
from vocap.files.io import read_object
from vocap.forecast.jobs import read_jobs
from vocap.forecast.needs import read_needs
from vocap.forecast.run import forecast_run


def plan(folder, *arguments, **how) -> subprocess.CompletedProcess:
    return ended("plan", *arguments, cwd=folder, **how)


def planned_counts(workflow, configfile=None) -> dict[str, int]:
    """Jobs by rule, with that which runs nothing; none needs more than 16 GB of memory."""
    chosen = ("--configfile", configfile) if configfile else ()
    rules = json.loads(plan(workflow.folder, "--json", *chosen).stdout)["rules"]
    assert all(row["memory_mb"] < 16_000 for row in rules.values())
    return {"all": 1, **{rule: row["jobs"] for rule, row in rules.items()}}


@pytest.mark.parametrize("configfile", [None, "config/smoke.yaml"])
def test_jobs_are_those_of_the_dry_run(workflow, configfile):
    """Those of a dry run in a clean folder: with results of an earlier run they stay
    the same.
    """
    assert planned_counts(workflow, configfile) == workflow.planned(configfile=configfile)


def test_jobs_of_the_papers_grid_are_those_of_the_dry_run(workflow, paper_dry_run):
    assert planned_counts(workflow, "config/paper.yaml") == parse_counts(paper_dry_run)


def test_jobs_of_the_reference_engine_of_local_files_and_of_baselines(workflow):
    (workflow.folder / "baseline.model").write_bytes(model().SerializeToString())
    baselines = {name: {"kind": "file", "path": f"{name}.model"} for name in ("baseline", "absent")}
    workflow.write_config(
        vocabularies={"engine": "sentencepiece"}, tokenizers={"mono": None, **baselines}
    )
    counts = planned_counts(workflow, "test.yaml")
    assert counts == workflow.planned()
    assert counts["train"] == 3 * 3


def test_a_run_of_byte_pairs_alone_trains_no_ladder(workflow):
    """Nor is it forecast; the target `vocabularies` still trains one a language."""
    tokenizers = {"vocap": None, "joint": None, "mono": None, "b": {"kind": "bpe", "total": 400}}
    workflow.write_config(allocation={"a": None, "b": None}, tokenizers=tokenizers)
    counts = planned_counts(workflow, "test.yaml")
    assert counts == workflow.planned() and not counts.keys() & {"ladder", "compile"}
    assert workflow.planned("vocabularies")["ladder"] == 3
    workflow.write_config(allocation={"b": None}, tokenizers={**tokenizers, "joint": None})
    assert workflow.planned()["ladder"] == 3


def test_a_tokenizer_from_elsewhere_is_read_before_the_first_job(workflow):
    """A damaged one is said by the dry run and by the forecast; a good one is measured
    with its cut.
    """
    ranks = [b64encode(bytes([byte])).decode() for byte in range(256)]
    lines = [f"{token} {rank}" for rank, token in enumerate(ranks)]
    (workflow.folder / "theirs.tiktoken").write_text("\n".join([*lines, "AAE= 255"]))
    entry = {"kind": "file", "path": "theirs.tiktoken", "split": "o200k"}
    workflow.write_config(tokenizers={"theirs": entry})
    said = "vocap: error: tokenizers.theirs: theirs.tiktoken, line 257: 'AAE= 255' is no new token"
    assert said in workflow.refused("-n")
    assert said in plan(workflow.folder, "--configfile", "test.yaml", status=1).stderr
    (workflow.folder / "theirs.tiktoken").write_text("\n".join(lines))
    shown = workflow.ran("-n", "-p", "results/tokenizers/theirs/evaluation.tsv")
    assert "--tokenizer theirs=theirs.tiktoken" in shown and "--split=o200k" in shown


WRITE_ASKED = """
def write_asked():
    jobs = [job for job in workflow.dag.jobs if job.benchmark]
    asked = {str(job.benchmark): job.resources["mem_mb"] for job in jobs}
    Path("asked.json").write_text(json.dumps(asked))

atexit.register(write_asked)
"""


def test_a_run_asks_for_what_is_forecast_and_takes_no_more(finished, monkeypatch):
    """Every job of a finished run has a forecast, which its request equals but for the
    text: there the files' own size counts.
    """
    monkeypatch.chdir(finished.folder)
    costs = forecast_run(["test.yaml"]).costs
    Path("Snakefile").write_text(Path("Snakefile").read_text("utf-8") + WRITE_ASKED, "utf-8")
    finished.ran("-n", "--forceall")
    asked = read_object(Path("asked.json"))
    asked = {
        name.removeprefix("logs/benchmarks/").removesuffix(".tsv"): megabytes - 350
        for name, megabytes in asked.items()
    }
    assert asked.keys() == set(costs.index)
    for name, megabytes in asked.items():
        assert megabytes == pytest.approx(costs.loc[name, "memory_mb"], abs=2 + 0.02 * megabytes)
        measured = read_csv(f"logs/benchmarks/{name}.tsv", sep="\t").iloc[0]
        assert measured["s"] < 1 or measured["max_rss"] <= megabytes, name


def test_wrong_calls_say_what_to_do(workflow):
    folder = workflow.folder
    assert "project's root" in plan(folder / "rules", status=2).stderr
    (folder / "wrong.yaml").write_text("- a list\n")
    assert "not a map" in plan(folder, "--configfile", "wrong.yaml", status=2).stderr


def test_gpus_are_assumed_where_a_core_would_train_for_more_than_a_day(workflow):
    models = {"m": {"tokenizer": "joint", "loss": "full", "steps": 10_000}}
    workflow.write_config(pretraining={"block": 64, "models": models})
    arguments = ("--configfile", "test.yaml")
    shown = plan(workflow.folder, *arguments, "--no-gpu").stdout
    assert "Training: on cores of 0.1 TFLOPS each" in shown and "GPU  " not in shown
    shown = plan(workflow.folder, *arguments, "--tflops", "100").stdout
    assert "on GPUs of 100 TFLOPS each" in shown and "of pretraining/pretrain/m." in shown
    models["m"] |= {"steps": 1}
    workflow.write_config(pretraining={"block": 64, "models": models})
    assert "on cores" in plan(workflow.folder, *arguments).stdout
    assert "on GPUs of 495 TFLOPS" in plan(workflow.folder, *arguments, "--gpu").stdout


def test_a_function_forecasts_files_and_their_content(workflow, monkeypatch):
    monkeypatch.chdir(workflow.folder)
    content = yaml.safe_load(Path("test.yaml").read_text("utf-8"))
    shown = json.loads(plan(workflow.folder, "--configfile", "test.yaml", "--json").stdout)
    found = forecast_run(content)
    assert found.costs.equals(forecast_run(["test.yaml"]).costs)
    assert json.loads(json.dumps(found.as_plain())) == shown
    assert shown["total"]["cpu_s"] == pytest.approx(sum(found.costs["cpu_s"]))


def test_jobs_come_by_the_stages_of_their_rules(workflow, monkeypatch):
    monkeypatch.chdir(workflow.folder)
    stages = [job.stage for job in read_jobs([Path("test.yaml")])]
    assert stages.index("corpora") < stages.index("vocabularies") < stages.index("tokenizers")


def rules_of_files() -> dict[str, str]:
    """The text of every rule by its name; of rules in a loop, by what their name begins
    with.
    """
    rules = {}
    for path in (ROOT / "rules").glob("*.smk"):
        parts = re.split(
            r"(?m)^ *(?:(?:rule|checkpoint) ?(\w*)|use rule \w+ as (\w+) with):$",
            path.read_text("utf-8"),
        )
        for named, used, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            name = named or used or re.search(r'name:\s+f"(\w+)', text)[1]
            assert name not in rules
            rules[name] = text
    return rules


def test_every_rule_shows_its_parts_and_has_a_row_in_the_table_of_needs():
    made = {name: text for name, text in rules_of_files().items() if "output:" in text}
    for name, text in made.items():
        assert all(f"{part}:" in text for part in ("log", "benchmark", "message")), name
        assert any(rule.startswith(name) for rule in read_needs()), name
        if "shell:" in text:
            parts = ("conda", "resources", "params")
            assert all(f"{part}:" in text for part in parts), name
            assert "**run_params(" in text, name
            assert re.search(rf'\*\*needs\(\s*f?"{name}(\{{|")', text), name
    beginnings = tuple(made)
    assert all(rule.startswith(beginnings) for rule in read_needs())


PROFILE = yaml.safe_load((ROOT / "slurm/config.yaml").read_text("utf-8"))


def test_the_default_profile_replaces_no_key_of_it():
    """Snakemake adds profiles/default to every other profile and lets it replace whole
    keys.
    """
    assert (
        not PROFILE.keys()
        & yaml.safe_load((ROOT / "profiles/default/config.yaml").read_text("utf-8")).keys()
    )


def test_a_dry_run_takes_the_profile(workflow):
    assert "Using profiles slurm" in workflow.ran("--profile", "slurm", "-n")


def test_no_rule_retries_by_itself():
    """The Snakemake inside a job would retry too, in the same allocation."""
    for name, rule in rules_of_files().items():
        assert "retries:" not in rule, name


def test_eight_gpus_a_model_are_commented_in():
    """The block for the paper, which takes the place of `pretrain`."""
    text = (ROOT / "slurm/config.yaml").read_text("utf-8")
    block = re.search(r"(?m)^  # pretrain:\n(?:  #   .*\n)+", text)[0]
    given = yaml.safe_load(re.sub(r"(?m)^  # ", "", block))["pretrain"]
    assert given["gpu"] == 8 and given.keys() > PROFILE["set-resources"]["pretrain"].keys()


def test_the_profile_names_rules_that_are_there():
    assert PROFILE["set-resources"].keys() <= rules_of_files().keys()
