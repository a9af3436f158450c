"""The conda environments pin what the extra `all` of pyproject.toml pins."""

import re
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement

from tests.workflow.conftest import ROOT

ENVIRONMENTS = sorted((ROOT / "envs").glob("*.yaml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def pins() -> dict[str, str]:
    listed = map(Requirement, PROJECT["optional-dependencies"]["all"])
    return {pin.name: str(pin.specifier).removeprefix("==") for pin in listed if pin.name != "vocap"}


@pytest.mark.parametrize("path", ENVIRONMENTS, ids=lambda path: path.stem)
def test_an_environment_equals_the_pins(path):
    environment = yaml.safe_load(path.read_text("utf-8"))
    packages = next(entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    assert packages
    for package in packages:
        name, version = package.split("==")
        assert pins()[name] == version
    assert path.with_suffix(".post-deploy.sh").resolve() == ROOT / "envs" / "install-vocap.sh"


def test_every_rule_with_a_command_names_an_environment():
    for path in (ROOT / "rules").glob("*.smk"):
        for rule in re.split(r"\n(?=rule )", path.read_text("utf-8"))[1:]:
            if "shell:" in rule:
                assert re.search(r'conda:\s+"\.\./envs/\w+\.yaml"', rule), rule.splitlines()[0]
                assert "log:" in rule, rule.splitlines()[0]
                assert "benchmark:" in rule, rule.splitlines()[0]
                assert "mem_mb" in rule, rule.splitlines()[0]
