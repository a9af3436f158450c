"""`vocap init` of text on other machines: a configuration of patterns, which Snakemake
plans without a request.
"""

import pytest
import yaml

from tests.cases import read_cases
from tests.commands import ended
from tests.storage.conftest import COLLECTION, sample_german
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
    assert written["languages"] == ["de", "ru"] and written["results"] == "./results-own"
    codes = {"de": "deu_Latn", "ru": "rus_Cyrl"}
    source = {"path": TRAIN, "codes": codes, "format": "parquet:text"}
    assert written["corpora"]["sources"]["mine"] == source
    # T of all shards, as for the same files here
    init(places, tmp_path, places.folder, "-o", "local.yaml")
    local = yaml.safe_load((tmp_path / "local.yaml").read_text("utf-8"))
    assert local["tokenizers"] == written["tokenizers"]
    # a plan asks no server, and a sample reads what the source names
    places.hub.reset()
    environment = {"HOME": str(tmp_path), **places.environment()}
    own = tmp_path / "own.yaml"
    said = Workflow(ROOT).ran("-n", "--nolock", configfile=own, environment=environment)
    assert parse_counts(said)["list_files"] == 2 and not places.hub.seen
    path = TRAIN.replace("{lang}", "deu_Latn")
    ended(*sample_german(tmp_path, path), **places.environment())
    assert (tmp_path / "train.txt").read_text("utf-8").count("\n") > 1000


def test_a_pattern_of_a_bucket_is_the_source(places, tmp_path):
    address = "s3://bucket/data/{lang}/*/*.parquet"
    init(places, tmp_path, address)
    written = yaml.safe_load((tmp_path / "config.yaml").read_text("utf-8"))
    assert written["corpora"]["sources"]["mine"]["path"] == address


@pytest.mark.parametrize(("address", "status", "said"), read_cases(__file__))
def test_addresses_without_text_are_one_line(places, tmp_path, address, status, said):
    *_, line = init(places, tmp_path, address, status=status).splitlines()
    assert said in line and "secret" not in line
    assert not list(tmp_path.iterdir())
