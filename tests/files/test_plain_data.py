"""YAML and JSON: what plain YAML means is read, all else is one line that names the
file and its line.
"""

import json

import pytest
import yaml

from tests.cases import read_cases
from tests.workflow.conftest import ROOT
from vocap.errors import UsageError, VocapError
from vocap.files.io import parse_yaml, read_object, read_yaml

CASES = read_cases(__file__)


@pytest.mark.parametrize(("text", "says"), CASES["yaml"])
def test_wrong_yaml_is_one_line(tmp_path, text, says):
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


@pytest.mark.parametrize(
    "path", sorted((ROOT).glob("*/**/*.yaml")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_files_of_the_project_mean_what_pyyaml_reads(path):
    """Profiles, environments and cost tables too: none has a key twice."""
    assert read_yaml(path) == yaml.safe_load(path.read_text("utf-8"))


def test_merged_keys_may_be_given_again():
    text = "a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\nc: {<<: [*a, {z: 1}], z: 4}"
    assert parse_yaml(text, "made") == yaml.safe_load(text)


def test_an_object_is_read_as_json_reads_it(tmp_path):
    value = {"a": [1, 2.5, None, True], "ж": {"\u2028": "\U0001f600"}}
    (tmp_path / "x.json").write_text(
        json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8"
    )
    assert read_object(tmp_path / "x.json") == value
    marked = b"\xef\xbb\xbf" + (tmp_path / "x.json").read_bytes()  # as some editors write it
    (tmp_path / "x.json").write_bytes(marked)
    assert read_object(tmp_path / "x.json") == value


LONG = [['{"a": ' + "[" * 100_000, "not JSON"], ['{"a": ' + "9" * 5_000 + "}", "not JSON"]]


@pytest.mark.parametrize(("content", "said"), CASES["json"] + LONG)
def test_anything_else_is_one_error_with_its_remedy(tmp_path, content, said):
    (tmp_path / "x.json").write_text(content, "latin-1")
    with pytest.raises(VocapError, match=rf"x\.json.*{said}.*; make it again$"):
        read_object(tmp_path / "x.json", "make it again")


def test_an_absent_file_is_named_with_its_remedy(tmp_path):
    with pytest.raises(VocapError, match=r"x\.json: no such file; run its stage again$"):
        read_object(tmp_path / "x.json")
