"""The light install: every command without the packages of the extras, and the pins
against the ranges.
"""

import json
import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

from tests.commands import run_python
from tests.made_text import write_lines
from tests.tokenizers.factories import make_lines
from vocap.cli import VERBS
from vocap.errors import EXTRAS as MODULES

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
ABSENT = (
    "scipy",
    "pytest",
    "hypothesis",
    *(module for modules in MODULES.values() for module in modules),
)

# Runs commands, each a line of JSON, in a Python that finds none of the modules of the
# extras.
PROGRAM = f"""
import json, sys
ABSENT = {ABSENT!r}

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
from vocap.cli import run
for line in sys.stdin:
    sys.argv = ["vocap", *json.loads(line)]
    status = run()
    for stream in (sys.stdout, sys.stderr):
        print(f"== {{status}}", file=stream, flush=True)
    loaded = [module for module in ABSENT if module in sys.modules]
    assert not loaded, loaded
"""


def run_light(commands: list[list[str]], folder: Path = ROOT) -> list[tuple[int, str, str]]:
    """Exit status, standard output and standard error of each command, run in `folder`."""
    lines = "".join(json.dumps(command) + "\n" for command in commands)
    done = run_python(PROGRAM, lines, folder)
    out, err = (
        re.split(r"^== (\d+)\n", text, flags=re.MULTILINE) for text in (done.stdout, done.stderr)
    )
    assert len(out) == len(err) == 2 * len(commands) + 1
    return [
        (int(status), a, b) for status, a, b in zip(out[1::2], out[:-1:2], err[:-1:2], strict=True)
    ]


def test_every_command_shows_its_help_or_names_the_extra():
    for verb, (status, out, err) in zip(
        VERBS, run_light([[verb, "--help"] for verb in VERBS]), strict=True
    ):
        if status:
            assert status == 2 and not out, verb
            assert re.fullmatch(
                r"vocap: error: \w+ is not installed; install the extra \[\w+\]: .*\n", err
            ), err
        else:
            assert out.startswith(f"Usage: vocap {verb}"), verb


COMMANDS = """\
ladder corpora/en/train.txt -o v/en --sizes=100,150,200
ladder corpora/ka/train.txt -o v/ka --sizes=100,150,200
allocate --vocabularies=v --weights=weights.tsv --total=280 -o allocation
allocate --rule=pieces --vocabularies=v --weights=weights.tsv --corpora=corpora --total=280 -o p
joint --weights=weights.tsv --corpora=corpora --total=280 -o joint
mix --alpha=0.7 --weights=weights.tsv --corpora=corpora -o mix.txt
fit --allocation=allocation --vocabularies=v --weights=weights.tsv -o fit
export fit/sentencepiece.model -o hf
card fit/sentencepiece.model -o hf/README.md
alp hf/tokenizer.json corpora/en/train.txt
trim fit --languages=en --text=en=corpora/en/train.txt -o trimmed
extend fit --language=xx --text=corpora/en/train.txt --pieces=20 -o extended
diff fit trimmed --corpora=corpora --languages=en
trim fit --languages=en --text=en=corpora/en/train.txt --model=trimmed -o no
"""


def test_a_tokenizer_from_text_without_the_extras(tmp_path):
    """Ladder, allocation, tokenizer, export and all tools that the README gives to the
    light install.
    """
    for language in ("en", "ka"):
        lines = make_lines(language, 600)
        folder = tmp_path / "corpora" / language
        write_lines(folder / "train.txt", lines[:500])
        write_lines(folder / "heldout.txt", lines[500:])
    write_lines(tmp_path / "weights.tsv", ["language\tn", "en\t500", "ka\t500"])
    commands = [line.split() for line in COMMANDS.splitlines()]
    *done, with_model = run_light(commands, tmp_path)
    for command, (status, _, err) in zip(commands, done, strict=False):
        assert status == 0, (command, err)
    assert with_model[0] == 2 and "[train]" in with_model[2].splitlines()[-1]
    assert not (tmp_path / "no").exists()


def test_the_pins_are_one_for_every_dependency_and_within_its_range():
    own = re.compile(r"vocap\[")
    extras = {entry for name in EXTRAS.keys() - {"all", "test", "docs"} for entry in EXTRAS[name]}
    ranges = [*PROJECT["dependencies"], *extras]
    pins = {
        Requirement(pin).name: str(Requirement(pin).specifier)
        for pin in EXTRAS["all"]
        if not own.match(pin)
    }
    assert sorted(pins) == sorted(Requirement(entry).name for entry in ranges)
    for entry in map(Requirement, ranges):
        assert re.fullmatch(r"==[0-9][0-9a-z.]*", pins[entry.name]), entry.name
        assert entry.specifier.contains(Version(pins[entry.name].removeprefix("=="))), entry.name
        assert {"<", ">="} == {part.operator for part in entry.specifier}, entry.name
    assert "vocap[all]" in EXTRAS["test"]


@pytest.mark.parametrize("path", sorted((ROOT / "envs").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_conda_environment_has_the_pins(path):
    environment = yaml.safe_load(path.read_text("utf-8"))
    packages = next(
        entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)
    )
    assert packages and set(packages) <= set(EXTRAS["all"])
    assert path.with_suffix(".post-deploy.sh").resolve() == ROOT / "envs" / "install-vocap.sh"


@pytest.mark.parametrize("extra", MODULES)
def test_the_modules_of_an_extra_are_those_of_its_packages(extra):
    named = {Requirement(entry).name.lower().replace("_", "-") for entry in EXTRAS[extra]}
    distributions = packages_distributions()
    for module in MODULES[extra]:
        if module in distributions:
            assert {name.lower().replace("_", "-") for name in distributions[module]} & named, (
                module
            )


def test_the_plan_without_snakemake_names_the_extra():
    ((status, out, err),) = run_light([["plan", "--configfile", "config/smoke.yaml"]])
    assert (
        (status, out) == (2, "") and "install the extra [workflow]" in err and err.count("\n") == 1
    ), err
