"""YAML files: what plain YAML means is read, all else is one line that names the file and its line."""

import random

import pytest
import yaml

from tests.workflow.conftest import ROOT
from vocap.errors import UsageError
from vocap.files.yaml_file import parse_yaml, read_yaml

WRONG = {
    "key twice": ("a:\n  b: 1\n  b: 2", "line 3: .*the key 'b' is given twice, first in line 2"),
    "key twice in a line": ("a: {b: 1, 'b': 2}", "line 1: .*the key 'b' is given twice"),
    "date": ("a: 1\nb: 2026-99-99", "not YAML: month"),
    "float": ("a: !!float x", "not YAML: .*'x'"),
    "bool": ("a: !!bool x", "not YAML: 'x'"),
    "int": ("a: !!int ''", "not YAML: "),
    "timestamp": ("a: !!timestamp x", "not YAML: "),
    "tag": ("a: !!python/object/apply:os.system [true]", "line 1: .*constructor for the tag"),
    "no YAML": ("a: [", "line 1: not YAML: "),
    "control": ("a: \x01", "not YAML: .*special characters"),
    "alias of nothing": ("a: *b", "line 1: not YAML: found undefined alias 'b'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_yaml_is_one_line(name, tmp_path):
    text, says = WRONG[name]
    (tmp_path / "a.yaml").write_text(text, "utf-8")
    with pytest.raises(UsageError, match=says) as caught:
        read_yaml(tmp_path / "a.yaml")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "a.yaml"))


def test_other_files_are_one_line(tmp_path):
    (tmp_path / "a.yaml").write_bytes(b"a: \xff")
    (tmp_path / "a.json").write_text('{"a": 1, "a": 2}', "utf-8")
    for path in (tmp_path / "a.yaml", tmp_path / "a.json", tmp_path / "none.yaml", tmp_path):
        with pytest.raises(UsageError, match=r"^[^\n]+$"):
            read_yaml(path)


@pytest.mark.parametrize("path", sorted((ROOT).glob("*/**/*.yaml")), ids=lambda path: str(path.relative_to(ROOT)))
def test_files_of_the_project_mean_what_pyyaml_reads(path):
    """Profiles, environments and cost tables too: none has a key twice."""
    assert read_yaml(path) == yaml.safe_load(path.read_text("utf-8"))


def test_random_data_come_back():
    rng = random.Random(1)

    def value(depth):
        kind = rng.randrange(7 if depth else 5)
        if kind < 5:
            return [rng.randrange(10**9), rng.random(), rng.choice(["a", "no", "1:1", "é\n", ""]), None, True][
                kind
            ]
        if kind == 5:
            return [value(depth - 1) for _ in range(rng.randrange(5))]
        return {rng.choice("abcdef"): value(depth - 1) for _ in range(rng.randrange(5))}

    for _ in range(300):
        data = value(5)
        assert parse_yaml(yaml.safe_dump(data, allow_unicode=True), "made") == data


def test_merged_keys_may_be_given_again():
    text = "a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\nc: {<<: [*a, {z: 1}], z: 4}"
    assert parse_yaml(text, "made") == yaml.safe_load(text)
