"""A run on text of the Hub: the listing stands for the files, so that an unchanged
corpus makes nothing again, and a new revision the language whose files it changes.
"""

import gzip
import os
import signal
import time
from pathlib import Path

import pytest

from tests.server import Fault
from tests.storage.hub import SIGNATURE, TOKEN, local_hub
from tests.storage.objects import KEY, SECRET, local_objects
from tests.storage.shards import LETTERS, as_parquet, draw_lines
from tests.workflow.conftest import copy_workflow, parse_counts
from vocap.files.io import read_object

CODES = {"de": "deu_Latn", "ru": "rus_Cyrl"}
NAME = "own/private-web"


def shards(language, seed) -> dict[str, bytes]:
    """Three files of a language."""
    lines = draw_lines(LETTERS[language], seed, 12)
    folder = f"data/{language}/train"
    return {f"{folder}/{n:03}_00000.parquet": as_parquet(lines, 200, 50) for n in range(3)}


@pytest.fixture
def hub():
    with local_hub() as server:
        server.add(NAME, shards("deu_Latn", 0) | shards("rus_Cyrl", 1), private=True)
        yield server


def holding(folder: Path, secret: str) -> list[str]:
    """The files below a folder that hold a secret."""
    return [
        str(file)
        for file in folder.rglob("*")
        if file.is_file() and secret.encode() in file.read_bytes()
    ]


def interrupted(workflow, environment, fault) -> str:
    """What a run says that gets Ctrl-C as the fault keeps a job waiting."""
    process = workflow.start(
        "--cores", "1", "corpora", environment=environment, start_new_session=True
    )
    while fault.times and process.poll() is None:
        time.sleep(0.05)
    assert process.poll() is None, process.communicate()[0]
    os.killpg(process.pid, signal.SIGINT)
    return process.communicate(timeout=600)[0]


def test_a_run_on_text_of_the_hub(hub, tmp_path):
    """With `fetch: true`, so that the jobs that read from elsewhere are local: Ctrl-C and
    again; nothing left to do; a new revision of the files of one language.
    """
    workflow, environment = copy_workflow(tmp_path / "clone"), hub.environment(TOKEN)
    source = {
        "path": f"hf://datasets/{NAME}/data/{{lang}}/train/*.parquet",
        "format": "parquet:text",
        "codes": CODES,
    }
    corpora = {"source": "web", "sources": {"web": source}, "scan_bytes": 20_000, "fetch": True}
    workflow.write_config(languages=list(CODES), corpora=corpora)
    folder = workflow.folder / "results/corpora"
    trains = {code: folder / code / "train.txt" for code in CODES}

    hub.faults.append(Fault("/rus_Cyrl/train/00", delay_s=30, times=1, method="GET"))
    said = interrupted(workflow, environment, hub.faults[0])
    assert not trains["ru"].exists(), said
    said += (again := workflow.ran("corpora", environment=environment))
    assert parse_counts(again)["sample"] >= 1
    for secret in (TOKEN, SIGNATURE):
        assert secret not in said and holding(workflow.folder, secret) == []

    before = {code: (file.read_bytes(), file.stat().st_mtime_ns) for code, file in trains.items()}
    assert parse_counts(workflow.ran("-n", "corpora", environment=environment)) == {}
    hub.datasets[NAME].commit(shards("rus_Cyrl", 9))
    said = workflow.ran("listings", "--forcerun", "list_files", environment=environment)
    assert parse_counts(said)["list_files"] == 2
    said = workflow.ran("corpora", environment=environment)
    assert parse_counts(said)["sample"] == 1
    after = {code: (file.read_bytes(), file.stat().st_mtime_ns) for code, file in trains.items()}
    assert after["de"] == before["de"]
    assert after["ru"][0] != before["ru"][0]


def test_options_of_a_client_are_in_no_log_and_no_result(tmp_path):
    """Keys and the endpoint of an object store, under `storage_options` alone."""
    workflow = copy_workflow(tmp_path / "clone")
    with local_objects() as store:
        text = (workflow.folder / "text/de.txt").read_bytes()
        store.put(
            "bucket", {"de/news/1.txt": text[:20_000], "de/news/2.txt.gz": gzip.compress(text)}
        )
        options = {"key": KEY, "secret": SECRET, "endpoint_url": store.address}
        source = {"path": "s3://bucket/{lang}/**/*.txt*", "storage_options": options}
        corpora = {"source": "store", "sources": {"store": source}}
        workflow.write_config(languages=["de"], corpora=corpora, tokenizers={"mono": None})
        for words in (("corpora", "results/report/index.html", "-n"), ("corpora",)):
            assert SECRET not in workflow.ran("-p", *words)
    stats = read_object(workflow.folder / "results/corpora/de/stats.json")
    assert stats["shards_read"] == 2 and stats["complete"]
    assert holding(workflow.folder, SECRET) == [str(workflow.folder / "test.yaml")]
