"""The conda environments pin what pyproject.toml pins."""

import re
import tomllib

import pytest
import yaml

from tests.workflow.conftest import ROOT

ENVIRONMENTS = sorted((ROOT / "envs").glob("*.yaml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def pins() -> dict[str, str]:
    listed = [
        *PROJECT["dependencies"],
        *(pin for extra in PROJECT["optional-dependencies"].values() for pin in extra),
    ]
    return dict(requirement.split("==") for requirement in listed)


def test_every_direct_dependency_is_pinned():
    assert all(re.fullmatch(r"[A-Za-z0-9.-]+==[0-9][0-9a-z.]*", pin) for pin in PROJECT["dependencies"])


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
