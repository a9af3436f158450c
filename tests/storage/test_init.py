"""`vocap init` of text on other machines: a configuration of patterns, which Snakemake
plans without a request.
"""

import pytest
import yaml

from tests.commands import ended
from tests.storage.conftest import COLLECTION, OUTPUTS, sample_options
from tests.workflow.conftest import ROOT, Workflow, parse_counts

TRAIN = f"hf://datasets/{COLLECTION}/data/{{lang}}/train/*.parquet"


def init(places, folder, *words, status=0) -> str:
    """What `vocap init` says on the log, run in `folder`."""
    return ended("init", *words, cwd=folder, status=status, **places.environment()).stderr


def test_a_configuration_of_a_data_set(places, tmp_path):
    """Sizes are those of the listing; of one file of each language footer and texts are
    read, and no other file.
    """
    init(places, tmp_path, TRAIN, "-o", "own.yaml")
    contents = {request.path for request in places.hub.seen if request.sent}
    assert len(contents) == 2
    written = yaml.safe_load((tmp_path / "own.yaml").read_text("utf-8"))
    assert written["languages"] == ["de", "ru"]
    assert written["results"] == "./results-own"
    assert written["corpora"]["sources"]["mine"] == {
        "path": TRAIN,
        "codes": {"de": "deu_Latn", "ru": "rus_Cyrl"},
        "format": "parquet:text",
    }
    # T of all shards, as for the same files here
    init(places, tmp_path, places.folder, "-o", "local.yaml")
    local = yaml.safe_load((tmp_path / "local.yaml").read_text("utf-8"))
    assert local["tokenizers"] == written["tokenizers"]
    # a plan asks no server, and a sample reads what the source names
    places.hub.reset()
    run = Workflow(ROOT).snakemake(
        "-n",
        "--nolock",
        configfile=tmp_path / "own.yaml",
        environment={"HOME": str(tmp_path), **places.environment()},
    )
    assert run.returncode == 0, run.stdout
    assert parse_counts(run.stdout)["list_files"] == 2 and not places.hub.seen
    path = TRAIN.replace("{lang}", "deu_Latn")
    ended("sample", path, *sample_options(tmp_path), **places.environment())
    assert (tmp_path / OUTPUTS["train"]).read_text("utf-8").count("\n") > 1000


def test_a_pattern_of_a_bucket_is_the_source(places, tmp_path):
    address = "s3://bucket/data/{lang}/*/*.parquet"
    init(places, tmp_path, address)
    written = yaml.safe_load((tmp_path / "config.yaml").read_text("utf-8"))
    assert written["corpora"]["sources"]["mine"]["path"] == address


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        (f"hf://datasets/{COLLECTION}/data/{{lang}}/*.txt", 1, "no file matches it"),
        (f"hf://datasets/{COLLECTION}/data/deu_Latn/{{lang}}/*", 1, "no text of a known language"),
        (f"hf://datasets/{COLLECTION}/data", 2, "write {lang} in the place of the language"),
        ("s3://bucket/data/{lang}/**", 2, "files of jsonl and parquet; let it end"),
        ("https://me:secret@example.org/{lang}.txt?key=secret", 2, "would be in the config"),
    ],
)
def test_addresses_without_text_are_one_line(places, tmp_path, address, status, said):
    *_, line = init(places, tmp_path, address, status=status).splitlines()
    assert said in line and "secret" not in line
    assert not list(tmp_path.iterdir())
