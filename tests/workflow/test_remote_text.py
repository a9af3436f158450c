"""A run on text of the Hub: the listing stands for the files, so that an unchanged
corpus makes nothing again, and a new revision the language whose files it changes.
"""

import os
import signal
import subprocess
import time

import pytest

from tests.storage.hub import TOKEN, local_hub
from tests.storage.ranges import Fault
from tests.storage.shards import LETTERS, Words, as_parquet
from tests.workflow.conftest import BIN, copy_workflow, parse_counts

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


@pytest.fixture
def remote(hub, tmp_path):
    """A copy of the workflow whose text is the Hub's, and a function that runs it."""
    workflow = copy_workflow(tmp_path / "clone")
    source = {
        "path": f"hf://datasets/{NAME}/data/{{lang}}/train/*.parquet",
        "format": "parquet:text",
        "codes": CODES,
    }
    corpora = {"source": "web", "sources": {"web": source}, "scan_bytes": 40_000}
    workflow.write_config(languages=list(CODES), corpora=corpora, tokenizers={}, allocation={})

    def run(*arguments):
        result = workflow.snakemake(*arguments, environment=hub.environment(TOKEN))
        assert result.returncode == 0, result.stdout
        return result.stdout

    return workflow, run


def secrets_in(folder):
    """Files of a run that hold the token."""
    return [
        os.path.join(place, name)
        for place, _, names in os.walk(folder)
        for name in names
        if TOKEN.encode() in open(os.path.join(place, name), "rb").read()
    ]


def test_a_listing_stands_for_the_files(hub, remote):
    workflow, run = remote
    first = run("corpora")
    assert TOKEN not in first and secrets_in(workflow.folder) == []
    counts = parse_counts(first)
    assert counts["list_files"] == 2
    assert parse_counts(run("-n", "corpora")) == {}

    trains = {code: workflow.folder / f"results/corpora/{code}/train.txt" for code in CODES}
    before = {code: (file.read_bytes(), file.stat().st_mtime_ns) for code, file in trains.items()}
    new = as_parquet(Words(LETTERS["rus_Cyrl"], 9, 3000).lines(200, 12), 50)
    hub.datasets[NAME].commit({shard("rus_Cyrl", 1): new})
    run("corpora", "--forcerun", "list_files")
    after = {code: (file.read_bytes(), file.stat().st_mtime_ns) for code, file in trains.items()}
    assert after["de"] == before["de"]
    assert after["ru"][0] != before["ru"][0]
    assert parse_counts(run("-n", "corpora")) == {}


def test_text_is_fetched_by_local_jobs_and_kept_over_an_interruption(hub, remote):
    """With `fetch: true` the jobs that read from elsewhere are local; after Ctrl-C the
    run goes on, and gives what an uninterrupted one gives.
    """
    workflow, run = remote
    run("corpora")
    expected = (workflow.folder / "results/corpora/ru/train.txt").read_bytes()
    workflow.write_config(
        languages=list(CODES),
        corpora={
            "source": "web",
            "sources": {
                "web": {
                    "path": f"hf://datasets/{NAME}/data/{{lang}}/train/*.parquet",
                    "format": "parquet:text",
                    "codes": CODES,
                }
            },
            "scan_bytes": 40_000,
            "fetch": True,
        },
        tokenizers={},
        allocation={},
        results="fetched",
    )
    hub.seen.clear()
    fault = Fault("/rus_Cyrl/train/002", delay_s=30, times=1, method="GET")
    hub.faults.append(fault)
    process = subprocess.Popen(
        [BIN / "snakemake", "--configfile", "test.yaml", "--cores", "1", "corpora"],
        cwd=workflow.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env={
            "PATH": f"{BIN}:/usr/bin:/bin",
            "HOME": str(workflow.folder),
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            **hub.environment(TOKEN),
        },
    )
    while fault.times and process.poll() is None:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=60)[0]
    assert process.returncode != 0, said
    assert not (workflow.folder / "fetched/corpora/ru/train.txt").exists()
    hub.faults.clear()
    run("corpora")
    assert (workflow.folder / "fetched/corpora/ru/train.txt").read_bytes() == expected
