"""The conda environments pin what the extra `all` of pyproject.toml pins."""

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
