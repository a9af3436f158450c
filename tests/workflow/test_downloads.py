"""Downloads besides text, through the workflow, from a faulty server on this
machine.
"""

import hashlib

import pytest

from tests.server import Fault, RangeServer, at_work
from tests.tokenizers.scripts import model
from tests.workflow.conftest import MODEL
from vocap.files.io import read_object

TRAIN, DEV = "data/xtreme/squad/train-v1.1.json", "data/xtreme/squad/dev-v1.1.json"
BODIES = {"train-v1.1.json": b'{"data": "train"}' * 9000, "dev-v1.1.json": b'{"data": "dev"}'}


@pytest.fixture
def server():
    with at_work(RangeServer()) as server:
        server.files.update(BODIES)
        yield server


def configure(workflow, server):
    """A run that fetches SQuAD's two files from this server."""
    downloads = {
        name.replace("-v1.1.json", "").join(("squad-", "")): {
            "url": server.url(name),
            "sha256": hashlib.sha256(body).hexdigest(),
        }
        for name, body in BODIES.items()
    }
    workflow.write_config(
        downloads=downloads,
        pretraining={"models": {**dict.fromkeys(("knn-100k",)), "m": MODEL}},
        finetuning={"xtreme": "data/xtreme", "download": True, "tasks": ["xquad", "panx"]},
    )


def test_a_free_file_is_fetched_on_from_a_cut_and_what_a_user_brought_stays(workflow, server):
    configure(workflow, server)
    brought = workflow.folder / DEV
    brought.parent.mkdir(parents=True)
    brought.write_text("mine")
    server.faults.append(Fault("train", cut=150_000, times=1))
    said = workflow.ran("--", TRAIN)
    assert "fetched: XTREME, to data/xtreme: squad, xquad" in said
    assert (workflow.folder / TRAIN).read_bytes() == BODIES["train-v1.1.json"]
    assert brought.read_text() == "mine"
    ranges = [request.range for request in server.asked("train-v1.1.json")]
    assert ranges == [None, "bytes=150000-"]
    planned = workflow.planned("finetuning")
    assert "unpack_squad" not in planned and planned["unpack_xquad"] == 1


def test_a_baseline_tokenizer_is_fetched(workflow, server):
    body = model().SerializeToString()
    server.files["sentencepiece.bpe.model"] = body
    url = server.url("sentencepiece.bpe.model")
    workflow.write_config(
        downloads={"theirs": {"url": url, "sha256": hashlib.sha256(body).hexdigest()}},
        tokenizers={"baseline": {"kind": "file", "download": "theirs"}},
    )
    file = "results/corpora/files/theirs/sentencepiece.bpe.model"
    said = workflow.ran("--", file)
    assert "fetched: tokenizers: theirs" in said
    assert (workflow.folder / file).read_bytes() == body
    assert read_object(workflow.folder / f"{file}.json")["complete"] is True
    assert workflow.planned("--", "results/tokenizers/baseline/evaluation.tsv")["evaluate"] == 1
