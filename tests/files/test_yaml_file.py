"""YAML files: what plain YAML means is read, all else is one line that names the file and its line."""

import random
import resource
import time

import pytest
import yaml

from tests.commands import vocap
from tests.workflow.conftest import ROOT
from vocap.config import load
from vocap.errors import UsageError
from vocap.files.yaml_file import MAX_NODES, check_bounds, parse_yaml, read_yaml

LAUGHS = "\n".join(
    ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
)
LAUGHING_MAPS = "\n".join(
    ["a0: &a0 {k: lol}"] + [f"a{n}: &a{n} {{x: *a{n - 1}, y: *a{n - 1}}}" for n in range(1, 40)]
)
LAUGHING_MERGES = "\n".join(
    ["a0: &a0 {k: lol}"] + [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 10)]
)
HOSTILE = {
    "digits": (f"a: 1\nseed: {'1' * 4400}", "line 2: .*more than 100 digits"),
    "sexagesimal": (f"seed: {'1:' * 300_000}1", "line 1: .*digits"),
    "list of itself": ("languages: &a [*a]", r"line 1: the alias \*a is inside its own anchor"),
    "map of itself": ("report: &a\n  title: *a", r"line 2: the alias \*a is inside its own anchor"),
    "key of itself": ("? &a [*a]\n: 1", "inside its own anchor"),
    "5,000 lists": (f"seed: {'[' * 5000}{']' * 5000}", "line 1: more than 64 levels"),
    "5,000 maps": (f"seed: {'{a: ' * 5000}1{'}' * 5000}", "line 1: more than 64 levels"),
    "5,000 indents": ("\n".join(" " * n + "a:" for n in range(1000)), "line 64: more than 64 levels"),
    "a billion laughs": (LAUGHS, "line 6: more than 100,000 values"),
    "laughing maps": (LAUGHING_MAPS, "more than 100,000 values"),
    "laughing merges": (LAUGHING_MERGES, "more than 100,000 values"),
    "many values": (f"a: [{'1,' * 150_000}]", "more than 100,000 values"),
    "large": (f"a: {'x' * 2_000_000}", "more than 1,048,576 bytes"),
    "key twice": ("a:\n  b: 1\n  b: 2", "line 3: the key 'b' is given twice, first in line 2"),
    "key twice in a line": ("a: {b: 1, 'b': 2}", "line 1: the key 'b' is given twice"),
    "date": ("a: 1\nb: 2026-99-99", "line 2: '2026-99-99' is no timestamp: month"),
    "float": ("a: !!float x", "line 1: 'x' is no float"),
    "bool": ("a: !!bool x", "line 1: 'x' is no bool"),
    "int": ("a: !!int ''", "line 1: '' is no int"),
    "timestamp": ("a: !!timestamp x", "line 1: 'x' is no timestamp"),
    "tag": ("a: !!python/object/apply:os.system [true]", "line 1: .*constructor for the tag"),
    "no YAML": ("a: [", "line 1: not YAML: "),
    "control": ("a: \x01", "not YAML: .*special characters"),
    "alias of nothing": ("a: *b", "line 1: found undefined alias 'b'"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_yaml_is_one_line(name, tmp_path):
    text, says = HOSTILE[name]
    (tmp_path / "a.yaml").write_text(text, "utf-8")
    began, before_kb = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UsageError, match=says) as caught:
        read_yaml(tmp_path / "a.yaml")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "a.yaml"))
    assert time.process_time() - began < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 400_000


def test_other_files_are_one_line(tmp_path):
    (tmp_path / "a.yaml").write_bytes(b"a: \xff")
    (tmp_path / "a.json").write_text('{"a": 1, "a": 2}', "utf-8")
    for path in (tmp_path / "a.yaml", tmp_path / "a.json", tmp_path / "none.yaml", tmp_path, tmp_path / "a\0"):
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


def test_data_without_bounds_are_refused():
    """What Snakemake reads by itself comes as data: from --configfile and --config."""
    itself: list = []
    itself.append(itself)
    laughs: list = ["lol"] * 9
    for _ in range(9):
        laughs = [laughs] * 9
    deep: dict = {}
    for _ in range(5000):
        deep = {"a": deep}
    for value in (itself, laughs, deep, list(range(MAX_NODES + 1))):
        with pytest.raises(UsageError, match=r"^the configuration: more than [^\n]+$"):
            load({"seed": value})
    check_bounds({"a": [list(range(1000))] * 9}, "made")


@pytest.mark.parametrize("call", [["pretrain", "--tokenizer", "t", "--tokens", "t", "-o", "o", "--settings-json"],
                                  ["report", "--results", "r", "-o", "o", "--settings-json"]])  # fmt: skip
@pytest.mark.parametrize("text", ["[" * 50_000, "1" * 5000])
def test_settings_as_json_are_one_line(call, text, tmp_path):
    run = vocap(*call, text, cwd=tmp_path)
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert "Traceback" not in run.stderr
