"""A Hub on loopback that speaks to the real `huggingface_hub`: data sets with
revisions, private ones, listings in pages, files behind signed addresses.

Commands that read it run in a process of their own, with `environment()`:
`huggingface_hub` reads HF_ENDPOINT as it is imported.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

from tests.server import Content, RangeHandler, RangeServer, at_work

TOKEN = "hf_ThisTokenOfTheTestsIsSecret"
SIGNATURE = "TheSignatureOfTheTestsIsSecret"
LFS = 1 << 10  # bytes from which a file lies in the large file storage


def sha1(text: bytes) -> str:
    return hashlib.sha1(text, usedforsecurity=False).hexdigest()


@dataclass
class Dataset:
    """The revisions of a data set by SHA, each its files by path; branches and tags by
    name.
    """

    private: bool = False
    gated: bool = False
    revisions: dict[str, dict[str, bytes]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    commits: int = 0

    def commit(self, files: Mapping[str, bytes], name: str = "main") -> str:
        """A revision with these files besides those of the last; returns its SHA."""
        held = {**self.revisions.get(self.names.get(name, ""), {}), **files}
        self.commits += 1
        sha = sha1(f"commit {self.commits}".encode())
        self.revisions[sha], self.names[name] = held, sha
        return sha

    def revision(self, name: str) -> str | None:
        """The SHA of a branch, a tag, or a SHA."""
        sha = self.names.get(name, name)
        return sha if sha in self.revisions else None


class Hub(RangeServer):
    """Serves `datasets` by name; `page`: entries of a page of a listing.

    `signed`: a large file is answered by a redirection to a signed address, as of the
    Hub's storage.
    """

    def __init__(self) -> None:
        super().__init__(handler=HubHandler)
        self.datasets: dict[str, Dataset] = {}
        self.page, self.signed = 1000, True

    def add(self, name: str, files: Mapping[str, bytes], **settings: bool) -> Dataset:
        """A data set with one revision."""
        self.datasets[name] = Dataset(**settings)
        self.datasets[name].commit(files)
        return self.datasets[name]

    def environment(self, token: str | None = None) -> dict[str, str]:
        """The variables of a process that is to ask this Hub, with or without a token."""
        return {
            "HF_ENDPOINT": self.address,
            "HF_HUB_DISABLE_IMPLICIT_TOKEN": "0",
            "HF_HOME": "/nonexistent",
            "HF_TOKEN": token or "",
        }


class HubHandler(RangeHandler):
    """The endpoints of the Hub that reading a data set takes."""

    server: Hub

    def answer(self) -> None:
        address = urlsplit(self.path)
        path, query = address.path.strip("/"), parse_qs(address.query)
        if path.startswith("api/datasets/"):
            self.answer_api(path.removeprefix("api/datasets/").split("/"), query)
        elif path.startswith("datasets/"):
            self.answer_file(path.removeprefix("datasets/").split("/"))
        elif path.startswith("storage/"):
            self.answer_storage(path.split("/")[1], query)
        else:
            self.refuse(404)

    def answer_api(self, words: list[str], query: Mapping[str, list[str]]) -> None:
        """OWNER/NAME[/revision/R], OWNER/NAME/tree/R[/PATH], OWNER/NAME/paths-info/R."""
        owner, name, *rest = words
        dataset = self.readable(f"{owner}/{name}")
        if dataset is None:
            return
        sha = self.known(dataset, unquote(rest[1]) if rest else "main")
        if sha is None:
            return
        if not rest or rest[0] == "revision":
            self.send_object({"id": f"{owner}/{name}", "sha": sha, "private": dataset.private})
        elif rest[0] == "tree":
            self.send_tree(dataset.revisions[sha], unquote("/".join(rest[2:])), query)
        else:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            entries = tree(dataset.revisions[sha], "", recursive=True)
            self.send_object([entries[path] for path in form["paths"] if path in entries])

    def answer_file(self, words: list[str]) -> None:
        """OWNER/NAME/resolve/R/PATH."""
        owner, name, _, revision, *rest = words
        dataset = self.readable(f"{owner}/{name}")
        sha = self.known(dataset, unquote(revision)) if dataset is not None else None
        if dataset is None or sha is None:
            return
        body = dataset.revisions[sha].get(unquote("/".join(rest)))
        if body is None:
            self.refuse(404, {"X-Error-Code": "EntryNotFound"})
            return
        content = Content(body)
        headers = {"X-Repo-Commit": sha}
        if self.server.signed and content.size >= LFS:
            self.server.files[content.etag] = body
            headers["X-Linked-Etag"] = f'"{content.etag}"'
            headers["X-Linked-Size"] = str(content.size)
            headers["Location"] = (
                f"{self.server.address}/storage/{content.etag}?Policy=x&Signature={SIGNATURE}"
            )
            self.refuse(302, headers)
            return
        self.send_content(content, headers)

    def answer_storage(self, name: str, query: Mapping[str, list[str]]) -> None:
        content = self.server.find(name)
        if content is None or query.get("Signature") != [SIGNATURE]:
            self.refuse(403)
        else:
            self.send_content(content)

    def readable(self, name: str) -> Dataset | None:
        """The data set, where this client may read it; else an answer as of the Hub,
        which does not tell who asks without a token whether there is one.
        """
        dataset = self.server.datasets.get(name)
        token = (self.headers["Authorization"] or "").removeprefix("Bearer ")
        if token and token != TOKEN:
            self.refuse(401, {"X-Error-Message": "Invalid credentials in Authorization header"})
        elif (dataset is None or dataset.private) and not token:
            # over https the client itself takes this for a missing repository
            self.refuse(
                401,
                {
                    "X-Error-Code": "RepoNotFound",
                    "X-Error-Message": "Invalid username or password.",
                },
            )
        elif dataset is None:
            self.refuse(404, {"X-Error-Code": "RepoNotFound"})
        elif dataset.gated and "/resolve/" in self.path:
            self.refuse(
                403 if token else 401,
                {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access is restricted."},
            )
        else:
            return dataset
        return None

    def known(self, dataset: Dataset, name: str) -> str | None:
        """The SHA of a revision; else an answer."""
        sha = dataset.revision(name)
        if sha is None:
            self.refuse(404, {"X-Error-Code": "RevisionNotFound"})
        return sha

    def send_tree(
        self, files: Mapping[str, bytes], folder: str, query: Mapping[str, list[str]]
    ) -> None:
        """One page of the entries below a folder, with the address of the next."""
        recursive = query.get("recursive", ["false"])[0].lower() == "true"
        entries = list(tree(files, folder, recursive).values())
        if not entries:
            self.refuse(404, {"X-Error-Code": "EntryNotFound"})
            return
        start = int(query.get("cursor", ["0"])[0])
        end = start + self.server.page
        headers = {}
        if end < len(entries):
            path = self.path.partition("?")[0]
            address = f"{self.server.address}{path}?recursive={recursive}&cursor={end}"
            headers["Link"] = f'<{address}>; rel="next"'
        self.send_object(entries[start:end], headers)


def tree(files: Mapping[str, bytes], folder: str, recursive: bool) -> dict[str, dict]:
    """The entries of a listing by path, as JSON; of a file itself where it is one."""
    entries: dict[str, dict] = {}
    if folder in files:
        return {folder: file_entry(folder, files[folder])}
    prefix = f"{folder}/" if folder else ""
    for path in sorted(files):
        if not path.startswith(prefix):
            continue
        parts = path.removeprefix(prefix).split("/")
        for depth in range(1, len(parts) if recursive else min(len(parts), 2)):
            name = prefix + "/".join(parts[:depth])
            entries[name] = {
                "type": "directory",
                "path": name,
                "oid": sha1(name.encode()),
                "size": 0,
            }
        if recursive or len(parts) == 1:
            entries[path] = file_entry(path, files[path])
    return entries


def file_entry(path: str, body: bytes) -> dict:
    entry = {"type": "file", "path": path, "oid": sha1(body), "size": len(body)}
    if len(body) >= LFS:
        entry["lfs"] = {"oid": Content(body).etag, "size": len(body), "pointerSize": 130}
    return entry


@contextmanager
def local_hub() -> Iterator[Hub]:
    """A Hub at work, in a thread."""
    with at_work(Hub()) as server:
        assert isinstance(server, Hub)
        yield server
