"""The workflow as a module of another one, in that one's folder."""

import shutil

import yaml

from tests.workflow.conftest import ROOT, Workflow, parse_counts
from vocap.files.io import read_tsv

FOREIGN = """
configfile: "own.yaml"

module vocap:
    snakefile: "{clone}/Snakefile"
    config: config["vocap"]

use rule * from vocap as vocap_*

onsuccess:
    print("the end of another workflow")

rule all:
    default_target: True
    input: "sizes.txt"

rule sizes:
    input: rules.vocap_tokenizers.input
    output: "sizes.txt"
    shell: "wc -l made/tokenizers/*/pieces.tsv > {{output}}"
"""


def foreign(workflow: Workflow, folder, config: dict) -> Workflow:
    """A workflow in `folder` that uses the one of `workflow` as a module."""
    (folder / "workflow").mkdir(parents=True)
    (folder / "workflow/Snakefile").write_text(FOREIGN.format(clone=workflow.folder))
    own = {"samples": ["its own key"], "vocap": config}
    (folder / "own.yaml").write_text(yaml.safe_dump(own, allow_unicode=True), "utf-8")
    return Workflow(folder)


def test_another_workflow_makes_its_tokenizers(workflow, tmp_path):
    config = yaml.safe_load((workflow.folder / "test.yaml").read_text("utf-8"))
    config |= {"results": "made", "tokenizers": {"mono": config["tokenizers"]["mono"]}}
    other = foreign(workflow, tmp_path / "other", config)
    shutil.copytree(workflow.folder / "text", other.folder / "text")
    said = other.ran(configfile=None)
    counts = parse_counts(said)
    assert counts["vocap_sample"] == 3
    assert counts["vocap_ladder"] == counts["vocap_mono"] == counts["sizes"] == 1
    assert "the end of another workflow" in said and "Tokenizers:" not in said
    made = other.folder / "made"
    assert len(list(read_tsv(made / "vocabularies/ru/curve.tsv"))) == 3
    assert "pieces.tsv" in (other.folder / "sizes.txt").read_text()
    assert (made / "tokenizers/parameters.jsonl").exists()
    assert not (made / "configfiles.txt").exists()
    assert not (workflow.folder / "made").exists() and other.planned(configfile=None) == {}


def test_every_stage_is_planned_and_faults_are_lines(workflow, tmp_path):
    smoke = yaml.safe_load((ROOT / "config/smoke.yaml").read_text("utf-8"))
    smoke["finetuning"]["xtreme"] = str(workflow.folder / "config/smoke-xtreme")
    other = foreign(workflow, tmp_path / "other", smoke)
    counts = other.planned("vocap_all", configfile=None)
    own = workflow.planned(configfile="config/smoke.yaml")
    assert counts == {f"vocap_{name}": count for name, count in own.items()}
    own_file = other.folder / "own.yaml"
    own_file.write_text(own_file.read_text("utf-8").replace("seeds:", "sedes:"), "utf-8")
    said = other.refused("-n", configfile=None)
    assert "finetuning.sedes" in said and "seeds" in said
    snakefile = other.folder / "workflow/Snakefile"
    text = snakefile.read_text().replace("module vocap:", 'module vocap:\n    prefix: "sub"')
    snakefile.write_text(text)
    assert "`results` in its config" in other.refused("-n", configfile=None)


def test_from_another_folder(workflow, tmp_path):
    """`-s` and `--directory`."""
    snakefile = str(workflow.folder / "Snakefile")
    wanted = {"corpora": 1, "sample": 3, "weigh": 1, "mix": 1}
    elsewhere = Workflow(tmp_path / "elsewhere")
    elsewhere.folder.mkdir()
    shutil.copytree(workflow.folder / "text", elsewhere.folder / "text")
    configfile = str(workflow.folder / "test.yaml")
    assert elsewhere.planned("-s", snakefile, "corpora", configfile=configfile) == wanted
    words = ("-s", snakefile, "--directory", str(elsewhere.folder), "corpora")
    there = Workflow(tmp_path)
    assert there.planned(*words, configfile=configfile) == wanted
