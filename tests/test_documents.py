"""README and docs: links lead somewhere, files and commands named are there, the
picture is the workflow.
"""

import pkgutil
import re
import runpy
import tomllib
from pathlib import Path

import click
import pytest
import yaml
from snakemake.utils import update_config

from vocap import __version__
from vocap.cli import VERBS, vocap
from vocap.config import load

ROOT = Path(__file__).parents[1]
PAGES = ("*.md", "config/*.md", "dev/*.md", "docs/*.md")
DOCUMENTS = sorted(path for pattern in PAGES for path in ROOT.glob(pattern))
FOLDERS = "benchmarks|config|dev|docs|envs|profiles|rules|slurm|src|tests"


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def anchors(document: Path) -> set[str]:
    """What GitHub calls the headings of a document."""
    headings = re.findall(r"^#+ (.*)$", document.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands(text: str) -> list[str]:
    """Every `vocap VERB ...` of code blocks and of code within a line, continued lines
    joined.
    """
    blocks = re.findall(r"^```(?:sh)?\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    blocks += ["\n".join(re.findall(r"^    (vocap .*|  +.*)$", text, re.MULTILINE))]
    lines = re.sub(r"\\\n\s*|\n\s{4,}", " ", "\n".join(blocks)).splitlines()
    return [line for line in lines if re.match(r"vocap [a-z]", line)] + re.findall(
        r"`(vocap [a-z][^`]*)`", text
    )


@pytest.mark.parametrize("document", DOCUMENTS, ids=names(DOCUMENTS))
def test_links_lead_to_files_and_headings_that_exist(document):
    text = document.read_text("utf-8")
    targets = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(
        r'(?:src|href|srcset)="([^"]+)"', text
    )
    for target in targets:
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = document.parent / path if path else document
        assert file.exists(), f"{document.name}: {target}"
        assert not anchor or anchor in anchors(file), f"{document.name}: {target}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=names(DOCUMENTS))
def test_files_of_the_project_that_a_document_names_exist(document):
    text = document.read_text("utf-8")
    for path in re.findall(rf"(?<![\w/.])((?:{FOLDERS})/[\w./*-]*[\w*])", text):
        assert list(ROOT.glob(path.replace("STAGE", "*"))), f"{document.name}: {path}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=names(DOCUMENTS))
def test_verbs_and_options_that_a_document_names_exist(document):
    context = click.Context(vocap)
    for line in commands(document.read_text("utf-8")):
        verb = line.split()[1]
        assert verb in VERBS, f"{document.name}: {line}"
        known = {
            option
            for parameter in vocap.get_command(context, verb).params
            for option in parameter.opts
        }
        for option in re.findall(r"(?<=[\s\[|(])(--?[a-z][a-z0-9-]*)", line.split(" #")[0]):
            assert option in known | {"-h", "--help"}, f"{document.name}: {option} in {line}"


@pytest.mark.parametrize(
    "name",
    ["README.md", "docs/choose.md", "docs/corpora.md", "docs/finetuning.md", "docs/pretraining.md"],
)
def test_the_configuration_that_a_document_shows_can_be_used(name):
    examples = re.findall(
        r"^```yaml\n(.*?)^```", (ROOT / name).read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert examples
    for example in examples:
        sections = yaml.safe_load(example)
        merged = yaml.safe_load((ROOT / "config/sources.yaml").read_text("utf-8"))
        # its example is a whole configuration, the others are sections of one
        if name != "README.md":
            others = yaml.safe_load((ROOT / "config/config.yaml").read_text("utf-8"))
            if "tokenizers" in sections:  # models are of the tokenizers that it replaces
                del others["pretraining"]
            update_config(merged, {key: others[key] for key in others.keys() - sections.keys()})
        update_config(merged, sections)
        assert load(merged).languages


@pytest.mark.parametrize("document", DOCUMENTS, ids=names(DOCUMENTS))
def test_modules_and_functions_that_a_document_names_exist(document):
    for name in re.findall(r"\bvocap\.[a-z_]+(?:\.\w+)*", document.read_text("utf-8")):
        assert pkgutil.resolve_name(name), f"{document.name}: {name}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=names(DOCUMENTS))
def test_no_line_of_a_document_begins_as_a_comment_of_the_site(document):
    assert not re.search(r"^ *% ", document.read_text("utf-8"), re.MULTILINE)


def test_the_page_on_commands_has_every_verb():
    table = (ROOT / "docs" / "commands.md").read_text("utf-8").split("## Files")[0]
    assert set(re.findall(r"`vocap ([a-z-]+)[^`]*`", table)) - {"VERB"} == set(VERBS)


def test_every_page_has_a_place_in_the_site():
    site = yaml.safe_load((ROOT / "docs" / "toc.yml").read_text("utf-8"))
    files = [
        site["root"],
        *(entry["file"] for group in site["subtrees"] for entry in group["entries"]),
    ]
    assert sorted(f"{file}.md" for file in files) == sorted(names(DOCUMENTS))


def test_every_page_of_the_docs_can_be_reached_from_the_readme():
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        document = waiting.pop()
        if document in reached:
            continue
        reached.add(document)
        links = re.findall(r"\]\(([^)#\s]+\.md)", document.read_text("utf-8"))
        waiting += [
            (document.parent / link).resolve() for link in links if not link.startswith("http")
        ]
    assert set(DOCUMENTS) <= reached


def test_the_picture_is_that_of_the_workflow():
    program = runpy.run_path(str(ROOT / "dev" / "make_workflow_picture.py"))
    assert program["PICTURE"].read_text("utf-8") == program["render"](), (
        "run python dev/make_workflow_picture.py"
    )


def test_the_licence_and_the_version_are_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert project["license"] == citation["license"] == "Apache-2.0"
    assert project["version"] == citation["version"] == __version__
    assert f"\n## {__version__}\n" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert "Apache License\n                           Version 2.0" in (ROOT / "LICENSE").read_text(
        "utf-8"
    )
