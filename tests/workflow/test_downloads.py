"""Downloads besides text, through the workflow, from a faulty server on this machine."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

TRAIN, DEV = "data/xtreme/squad/train-v1.1.json", "data/xtreme/squad/dev-v1.1.json"
MODEL = {
    "tokenizer": "vocap",
    "loss": {"kind": "knn", "k": 5},
    "shape": {"layers": 1, "hidden": 16, "heads": 2, "intermediate": 16, "positions": 64},
    "steps": 4,
    "warmup": 1,
}
BODIES = {"train-v1.1.json": b'{"data": "train"}' * 9000, "dev-v1.1.json": b'{"data": "dev"}'}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_HEAD(self):
        self.server.seen.append((self.path.rpartition("/")[2], "HEAD"))
        self.send_response(200 if self.path.rpartition("/")[2] in BODIES else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self):
        name = self.path.rpartition("/")[2]
        body = BODIES.get(name)
        self.server.seen.append((name, self.headers["Range"]))
        if body is None or name in self.server.gone:
            self.send_error(404)
            return
        first = int((self.headers["Range"] or "bytes=0-").removeprefix("bytes=").partition("-")[0])
        cut = name in self.server.cut and not first
        self.send_response(206 if first else 200)
        self.send_header("ETag", '"1"')
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body) - first))
        self.end_headers()
        self.wfile.write(body[first : len(body) // 2] if cut else body[first:])
        self.close_connection = True


@pytest.fixture
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.seen, server.gone, server.cut = [], set(), set()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def configure(workflow, server, bodies=BODIES):
    """A run that fetches SQuAD's two files from this server, which SHA-256 are of `bodies`."""
    address = f"http://127.0.0.1:{server.server_port}"
    downloads = {
        name.replace("-v1.1.json", "").join(("squad-", "")): {
            "url": f"{address}/{name}",
            "sha256": hashlib.sha256(body).hexdigest(),
        }
        for name, body in bodies.items()
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
    server.cut.add("train-v1.1.json")
    run = workflow.snakemake("--", TRAIN)
    assert run.returncode == 0, run.stdout[-3000:]
    assert "fetched: XTREME, to data/xtreme: squad, xquad" in run.stdout
    assert (workflow.folder / TRAIN).read_bytes() == BODIES["train-v1.1.json"]
    assert brought.read_text() == "mine"
    resumed = [asked for name, asked in server.seen if name == "train-v1.1.json" and asked]
    assert resumed == [f"bytes={len(BODIES['train-v1.1.json']) // 2}-"]
    planned = workflow.planned("finetuning")
    assert "unpack_squad" not in planned and planned["unpack_xquad"] == 1


@pytest.mark.parametrize(("fault", "says"), [("gone", "404"), ("changed", "its SHA-256 is")])
def test_a_file_that_is_gone_or_another_stops_with_the_address(workflow, server, fault, says):
    if fault == "gone":
        server.gone.add("train-v1.1.json")
        configure(workflow, server)
    else:
        configure(workflow, server, {**BODIES, "train-v1.1.json": b"another"})
    run = workflow.snakemake("--", TRAIN)
    assert run.returncode != 0
    assert says in run.stdout and f"127.0.0.1:{server.server_port}/train-v1.1.json" in run.stdout
    assert "Traceback" not in run.stdout
    assert not (workflow.folder / TRAIN).exists()
    assert not list((workflow.folder / "results").rglob("train-v1.1.json"))


def test_a_baseline_tokenizer_is_fetched(workflow, server):
    body = b"not a model, but the same bytes"
    BODIES["sentencepiece.bpe.model"] = body
    url = f"http://127.0.0.1:{server.server_port}/sentencepiece.bpe.model"
    workflow.write_config(
        downloads={"theirs": {"url": url, "sha256": hashlib.sha256(body).hexdigest()}},
        tokenizers={"baseline": {"kind": "file", "download": "theirs"}},
    )
    file = "results/corpora/files/theirs/sentencepiece.bpe.model"
    run = workflow.snakemake("--", file)
    assert run.returncode == 0 and "fetched: tokenizers: theirs" in run.stdout
    assert (workflow.folder / file).read_bytes() == body
    assert json.loads((workflow.folder / f"{file}.json").read_text())["complete"] is True
    assert workflow.planned("--", "results/tokenizers/baseline/evaluation.tsv")["evaluate"] == 1


def test_a_dry_run_asks_nobody(workflow, server):
    configure(workflow, server)
    run = workflow.snakemake("-n")
    assert run.returncode == 0, run.stdout[-3000:]
    assert "to bring, planned as if there: data/xtreme/panx (docs/finetuning.md)" in run.stdout
    assert not server.seen and not (workflow.folder / "data").exists()
