"""A run on text of the Hub: the listing stands for the files, so that an unchanged
corpus makes nothing again, and a new revision the language whose files it changes.
"""

import gzip
import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.server import Fault
from tests.storage.hub import SIGNATURE, TOKEN, local_hub
from tests.storage.objects import KEY, SECRET, local_objects
from tests.storage.shards import LETTERS, Words, as_parquet
from tests.workflow.conftest import copy_workflow, parse_counts

CODES = {"de": "deu_Latn", "ru": "rus_Cyrl"}
NAME = "own/private-web"


def shard(language, number):
    return f"data/{language}/train/{number:03}_00000.parquet"


@pytest.fixture
def hub():
    files = {
        shard(language, number): as_parquet(Words(letters, number, 3000).lines(200, 12), 50)
        for language, letters in LETTERS.items()
        for number in range(3)
    }
    with local_hub() as server:
        server.add(NAME, files, private=True)
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
    run = workflow.snakemake("corpora", environment=environment)
    assert run.returncode == 0, run.stdout
    assert parse_counts(run.stdout)["sample"] >= 1
    for secret in (TOKEN, SIGNATURE):
        assert secret not in said + run.stdout and holding(workflow.folder, secret) == []

    before = {code: (file.read_bytes(), file.stat().st_mtime_ns) for code, file in trains.items()}
    run = workflow.snakemake("-n", "corpora", environment=environment)
    assert run.returncode == 0 and parse_counts(run.stdout) == {}, run.stdout
    new = {
        shard("rus_Cyrl", number): as_parquet(
            Words(LETTERS["rus_Cyrl"], 9, 3000).lines(200, 12), 50
        )
        for number in range(3)
    }
    hub.datasets[NAME].commit(new)
    run = workflow.snakemake("listings", "--forcerun", "list_files", environment=environment)
    assert run.returncode == 0 and parse_counts(run.stdout)["list_files"] == 2, run.stdout
    run = workflow.snakemake("corpora", environment=environment)
    assert run.returncode == 0 and parse_counts(run.stdout)["sample"] == 1, run.stdout
    after = {code: (file.read_bytes(), file.stat().st_mtime_ns) for code, file in trains.items()}
    assert after["de"] == before["de"], run.stdout
    assert after["ru"][0] != before["ru"][0], run.stdout


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
        run = workflow.snakemake("-p", "corpora", "results/report/index.html", "-n")
        assert run.returncode == 0 and SECRET not in run.stdout, run.stdout
        run = workflow.snakemake("-p", "corpora")
        assert run.returncode == 0 and SECRET not in run.stdout, run.stdout
    stats = json.loads((workflow.folder / "results/corpora/de/stats.json").read_text("utf-8"))
    assert stats["shards_read"] == 2 and stats["complete"]
    assert holding(workflow.folder, SECRET) == [str(workflow.folder / "test.yaml")]
