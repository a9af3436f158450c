"""What goes wrong with servers: one clear line without anything secret, and nothing
half written; what passes is waited for.
"""

import signal
import time

import pytest

from tests.cases import read_cases
from tests.commands import ended
from tests.server import Fault
from tests.storage.conftest import COLLECTION, GATED, PRIVATE, outputs, sample_german, written
from tests.storage.hub import SIGNATURE, TOKEN
from tests.storage.objects import KEY, SECRET
from tests.test_interruption import LINE, interrupt, start
from vocap.errors import VocapError
from vocap.storage import remote

PASSWORD, QUERY = "ThePasswordOfTheTests", "TheQueryOfTheTestsIsSecret"
SECRETS = (TOKEN, SIGNATURE, KEY, SECRET, PASSWORD, QUERY)
AT_ONCE = {"Retry-After": "0"}
SHARD = "data/deu_Latn/train/000_00000.parquet"


def check_secrets(result, folder):
    """Nothing secret in what a command said and wrote."""
    texts = [result.stdout, result.stderr]
    texts += [(folder / name).read_bytes().decode(errors="replace") for name in written(folder)]
    found = [(secret, text) for secret in SECRETS for text in texts if secret in text]
    assert found == []


def sampled(places, out, *words, token=None, changes=(), status=0, **options):
    """The result of `vocap sample` into an empty folder."""
    out.mkdir(exist_ok=True)
    environment = places.environment(token) | dict(changes)
    result = ended(*sample_german(out, *words, **options), status=status, **environment)
    check_secrets(result, out)
    return result


def refused(places, out, *words, status=1, **options):
    """The one line of a sample that fails; it leaves nothing."""
    result = sampled(places, out, *words, status=status, **options)
    (line,) = result.stderr.splitlines()
    assert result.stdout == "" and line.startswith("vocap: error: ")
    assert written(out) == []
    return line


HUB = f"hf://datasets/{COLLECTION}"


@pytest.mark.parametrize(("path", "token", "said"), read_cases(__file__))
def test_what_is_not_there_or_not_allowed(places, tmp_path, path, token, said):
    status = 2 if path.startswith("nowhere") else 1
    path = path.format(hub=HUB, private=PRIVATE, gated=GATED, shard=SHARD)
    token = token and token.format(token=TOKEN)
    line = refused(places, tmp_path, path, token=token, status=status)
    place = "/".join(path.split("/")[:5]).partition("@")[0]
    assert said in line and place in line


def test_no_credentials_for_a_bucket(places, tmp_path):
    changes = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    line = refused(places, tmp_path, f"s3://bucket/{SHARD}", changes=changes)
    assert "AWS_ACCESS_KEY_ID" in line


WEB = [
    (Fault("none.parquet", 404), "no such file"),
    (Fault("", 403), "no permission"),
    (Fault("", 503, AT_ONCE), "503"),
    (Fault("", whole=True, method="GET"), "range"),
]


@pytest.mark.parametrize(("fault", "said"), WEB, ids=["404", "403", "503", "whole"])
def test_faults_of_the_web(places, tmp_path, fault, said):
    """The address has a user, a password and a key: none is told."""
    places.web.faults.append(fault)
    name = "none.parquet" if fault.status == 404 else SHARD
    host = places.web.address.removeprefix("http://")
    line = refused(places, tmp_path, f"http://user:{PASSWORD}@{host}/{name}?key={QUERY}")
    assert said in line and f"{host}/{name}" in line


@pytest.mark.parametrize("open_port", [True, False])
def test_a_connection_that_always_fails(places, monkeypatch, open_port):
    """Six attempts take half a minute: here it is two."""
    monkeypatch.setattr(remote, "ATTEMPTS", 2)
    places.web.faults.append(Fault(SHARD, cut=100, method="GET"))
    host = places.web.address if open_port else "http://127.0.0.1:9"
    with (
        pytest.raises(VocapError, match="the connection fails") as caught,
        remote.RemoteFile(f"{host}/{SHARD}?key={QUERY}") as file,
    ):
        file.read(1000)
    assert QUERY not in str(caught.value)
    assert len(places.web.asked(SHARD)) == 3 * open_port  # the length, and two attempts


def passing(match):
    """Faults that pass: too many requests, no service, a connection cut in a file."""
    return [
        Fault(match, 429, AT_ONCE, times=1, method="GET"),
        Fault(match, 503, AT_ONCE, times=1, method="GET"),
        Fault(match, cut=1000, times=1, after=1, method="GET"),
    ]


def test_faults_of_the_hub_that_pass(places, tmp_path):
    """A page of the listing too; the storage's signed addresses are not told."""
    places.hub.faults += [
        Fault("/api/", 503, AT_ONCE, times=1, after=1),  # its first request is not for text
        Fault("cursor", 429, AT_ONCE, times=1),
        *passing("/storage/"),
    ]
    sampled(places, tmp_path / "hub", f"{HUB}/data/deu_Latn/train/*")
    local = sampled(places, tmp_path / "here", places.folder / "data/deu_Latn/train")
    assert outputs(tmp_path / "hub") == outputs(tmp_path / "here"), local.stderr
    assert not any(fault.times for fault in places.hub.faults)


def listed(places, listing, *words):
    result = ended(
        "list-files", *words, "--language", "de", "--source", "web", "-o", listing,
        **places.environment(),
    )  # fmt: skip
    check_secrets(result, listing.parent)


def replaced_on_the_web(places):
    body = bytearray(places.files[SHARD])
    body[100] ^= 1
    places.web.files[SHARD] = bytes(body)


def replaced_in_the_store(places):
    places.objects.put("bucket", {SHARD: places.files[SHARD][::-1]})


def removed_from_the_hub(places):
    """A history that was rewritten: the revision of the listing is no more."""
    dataset = places.hub.datasets[COLLECTION]
    dataset.revisions.pop(dataset.names["main"])
    dataset.commit(places.files)


@pytest.mark.parametrize(
    ("kind", "change"),
    [("http", replaced_on_the_web), ("s3", replaced_in_the_store), ("hf", removed_from_the_hub)],
)
def test_a_shard_replaced_since_the_listing(places, tmp_path, kind, change):
    listing = tmp_path / "list" / "files.json"
    listing.parent.mkdir()
    starts = {"http": places.web.address, "s3": "s3://bucket", "hf": HUB}
    listed(places, listing, f"{starts[kind]}/{SHARD}")
    try:
        change(places)
        line = refused(places, tmp_path / "out", "--listing", listing)
    finally:  # for the other tests
        places.web.files.clear()
        places.objects.put("bucket", {SHARD: places.files[SHARD]})
    assert "list" in line and SHARD in line


def test_a_new_revision_changes_no_listing(places, tmp_path):
    """A listing keeps to its revision: who samples by it reads what it named."""
    places.hub.add("own/moving", {SHARD: places.files[SHARD]})
    listing = tmp_path / "list" / "files.json"
    listing.parent.mkdir()
    listed(places, listing, f"hf://datasets/own/moving/{SHARD}")
    places.hub.datasets["own/moving"].commit({SHARD: places.files[SHARD.replace("000_", "001_")]})
    sampled(places, tmp_path / "hub", "--listing", listing)
    sampled(places, tmp_path / "here", places.folder / SHARD)
    assert outputs(tmp_path / "hub") == outputs(tmp_path / "here")


@pytest.mark.parametrize(
    ("name", "format", "damage"),
    [
        (SHARD, "parquet:text", lambda body: body[: len(body) // 2]),
        (SHARD, "parquet:text", lambda body: body[:2000] + bytes(3000) + body[5000:]),
        (
            "data/deu_Latn/extra/00/part.jsonl.zst",
            "jsonl:text",
            lambda body: body[:2000] + bytes(3000) + body[5000:],
        ),
    ],
    ids=["cut", "parquet", "zst"],
)
def test_a_broken_shard(places, tmp_path, name, format, damage):
    places.hub.add("own/broken", {name: damage(places.files[name])})
    line = refused(places, tmp_path, f"hf://datasets/own/broken/{name}", format=format)
    assert name in line


def test_an_interrupted_sample_leaves_nothing(places, tmp_path, monkeypatch):
    """Ctrl-C while the server lets it wait, for longer than this test does."""
    fault = Fault("002_00000", delay_s=3600, times=1)
    places.web.faults.append(fault)
    for name, value in places.environment().items():
        monkeypatch.setenv(name, value)
    words = [f"{places.web.address}/{SHARD.replace('000_', f'{shard:03}_')}" for shard in range(4)]
    process = start(*sample_german(tmp_path, *words))
    while fault.times and process.poll() is None:
        time.sleep(0.01)
    assert interrupt(process, signal.SIGINT, 0.1) == (130, f"{LINE}\n")
    assert written(tmp_path) == []
