"""`vocap init` of text on other machines: a configuration of patterns, which Snakemake
plans without a request.
"""

import pytest
import yaml

from tests.commands import vocap
from tests.storage.conftest import COLLECTION, sample_options
from tests.workflow.conftest import ROOT, Workflow, parse_counts


def configured(places, tmp_path, address, *options, status=0):
    """What `vocap init` of an address says, in a folder of its own."""
    run = vocap("init", address, *options, cwd=tmp_path, **places.environment())
    assert run.returncode == status and "Traceback" not in run.stderr, run.stderr
    return run


@pytest.mark.parametrize(
    ("address", "path"),
    [
        (f"hf://datasets/{COLLECTION}/data/{{lang}}/train/*", None),
        ("s3://bucket/data/", "s3://bucket/data/{lang}/train/*.parquet"),
    ],
)
def test_a_configuration_of_text_elsewhere(places, tmp_path, address, path):
    """Of S3 the JSON Lines in `extra` are left out: of each language the format with
    most bytes is taken.
    """
    run = configured(places, tmp_path, address, "-o", "own.yaml")
    path = path or f"{address}.parquet"
    written = yaml.safe_load((tmp_path / "own.yaml").read_text("utf-8"))
    assert written["corpora"]["sources"] == {
        "mine": {
            "path": path,
            "codes": {"de": "deu_Latn", "ru": "rus_Cyrl"},
            "format": "parquet:text",
        }
    }
    assert written["results"] == str(tmp_path / "results")
    assert ("left out: deu_Latn/extra/00/part.jsonl.zst" in run.stderr) == ("s3" in address)
    # all of the text is read, as of the same files here
    places.hub.reset()
    run = Workflow(ROOT).snakemake(
        "-n", "--nolock", configfile=tmp_path / "own.yaml",
        environment={"HOME": str(tmp_path), **places.environment()},
    )  # fmt: skip
    assert run.returncode == 0, run.stdout
    assert parse_counts(run.stdout)["list_files"] == 2 and not places.hub.seen
