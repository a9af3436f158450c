"""The profile for clusters, without one: its keys, and the resources of every rule."""

import json
import re

import pytest
import yaml

from tests.commands import vocap
from tests.workflow.conftest import ROOT

PROFILE = yaml.safe_load((ROOT / "slurm/config.yaml").read_text("utf-8"))


def test_the_default_profile_replaces_no_key_of_it():
    """Snakemake adds profiles/default to every other profile and lets it replace whole keys."""
    assert not PROFILE.keys() & yaml.safe_load((ROOT / "profiles/default/config.yaml").read_text("utf-8")).keys()


def test_a_dry_run_takes_the_profile(workflow):
    run = workflow.snakemake("--profile", "slurm", "-n")
    assert run.returncode == 0 and "Using profiles slurm" in run.stdout, run.stdout


def test_every_rule_asks_for_more_of_its_memory_and_time_in_a_retry():
    for path in (ROOT / "rules").glob("*.smk"):
        for rule in re.split(r"\n(?: {4})?(?=rule )", path.read_text("utf-8"))[1:]:
            if "shell:" in rule:
                assert re.search(r"\*\*needs\(", rule), rule.splitlines()[0]
            assert "retries:" not in rule  # the Snakemake inside a job would retry too, in the same allocation


def test_eight_gpus_a_model_are_commented_in_and_planned(workflow):
    """The block for the paper, put in the place of `pretrain`: an eighth of the time, and as many GPU hours."""
    path = workflow.folder / "slurm/config.yaml"

    def forecast() -> dict:
        words = ("plan", "--profile", "slurm", "--json", "--configfile", "config/smoke.yaml")
        run = vocap(*words, cwd=workflow.folder)
        return json.loads(run.stdout)["rules"]["pretrain"]

    before = forecast()
    text = path.read_text("utf-8")
    block = re.search(r"(?m)^  # pretrain:\n(?:  #   .*\n)+", text)[0]
    given = yaml.safe_load(re.sub(r"(?m)^  # ", "", block))
    assert given["pretrain"]["gpu"] == 8 and given["pretrain"].keys() > PROFILE["set-resources"]["pretrain"].keys()
    profile = {**PROFILE, "set-resources": {**PROFILE["set-resources"], **given}}
    path.write_text(yaml.safe_dump(profile), "utf-8")
    after = forecast()
    assert after["wall_s"] == pytest.approx(before["wall_s"] / 8)
    assert after["gpu_s"] == before["gpu_s"]


def test_the_profile_names_rules_that_are_there():
    names = set()
    for path in (ROOT / "rules").glob("*.smk"):
        names |= set(re.findall(r"^ *(?:use rule \w+ as|rule) (\w+)\b", path.read_text("utf-8"), re.MULTILINE))
    assert set(PROFILE["set-resources"]) <= names | {"pretrain"}
