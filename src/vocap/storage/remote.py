"""Files of other machines: which paths are theirs, their clients, exact ranges of their
bytes, and one line for each error.
"""

import io
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from vocap.errors import UsageError, VocapError, missing_extra
from vocap.files.paths import REMOTE

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

Result = TypeVar("Result")
MOST_FETCHED = 1 << 24  # bytes of one request: a cut connection costs no more
ATTEMPTS = 6  # of a request
LONGEST_WAIT_S = 300  # that a server may ask for
_WEB = ("http", "https")
_PASSING = (408, 429, 500, 502, 503, 504)  # states of HTTP that may pass
# classes of errors of connections: of aiohttp and fsspec
_FAILED = {"ClientPayloadError", "ClientConnectionError", "FSTimeoutError"}
_REFUSED = (401, 403)
# by protocol: the package of the client, and where it finds credentials
_CLIENTS = {
    "hf": ("huggingface_hub", "set HF_TOKEN, or accept the data set's terms on its page"),
    "s3": ("s3fs", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or storage_options: "
           "{anon: true} for a public bucket"),
    "gs": ("gcsfs", "set GOOGLE_APPLICATION_CREDENTIALS, or storage_options: {token: anon} for a "
           "public bucket"),
    "https": ("aiohttp", "write the headers that the server asks for under storage_options"),
}  # fmt: skip
_REPLACED = "another file is in its place since it was listed; list the files again"
_SAME = {"s3a": "s3", "gcs": "gs", "http": "https"}
# what names the version of a file: of S3 and the web, the Hub, Google's store
_VERSIONS = ("ETag", "blob_id", "etag", "Last-Modified", "xet_hash")


@dataclass(frozen=True)
class Shard:
    """A file of a text: its path, its bytes as stored, and what names its version."""

    path: str
    size: int
    version: str | None = None


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Whether a path is one of another machine: `scheme://`.

    >>> is_remote("s3://bucket/de.txt"), is_remote("/data/de.txt")
    (True, False)
    """
    return bool(REMOTE.match(os.fspath(path)))


def address_of(path: str | os.PathLike[str]) -> str:
    """The path as messages may name it: without user, password and query.

    >>> address_of("https://me:secret@example.org/de.txt?key=1"), address_of("s3://b/part-?.txt")
    ('https://example.org/de.txt', 's3://b/part-?.txt')
    """
    name = os.fspath(path)
    if not is_remote(name):
        return name
    name = re.sub(r"(?<=://)[^/@]*@", "", name)
    return name.partition("?")[0] if name.startswith(("http://", "https://")) else name


def _protocol(path: str) -> str:
    scheme = path.partition("://")[0].lower()
    return _SAME.get(scheme, scheme)


def file_system(path: str) -> tuple["AbstractFileSystem", str]:
    """The client of a remote path, and the path in it.

    Options of the client come from its own environment variables and fsspec's
    configuration. Raises VocapError where its package is not installed, UsageError for a
    scheme that no client has.
    """
    package, _ = _CLIENTS.get(_protocol(path), ("fsspec", ""))
    try:
        from fsspec.core import url_to_fs

        with reading(path):
            client, inner = url_to_fs(path)
    except ImportError:
        remedy = missing_extra(package) or f"pip install {package}"
        raise VocapError(f"{address_of(path)}: takes {package}, not installed; {remedy}") from None
    return client, inner


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn every error of a client in the block into one line: the address, what
    happened and the remedy, without anything secret.
    """
    try:
        yield
    except (VocapError, ImportError):
        raise
    except Exception as error:
        raise VocapError(f"{address_of(path)}: {_explained(os.fspath(path), error)}") from None


def _explained(path: str, error: Exception) -> str:
    """What happened and the remedy, in words of ours: those of a client may hold
    addresses with keys.
    """
    status, kinds = _status(error), _kinds(error)
    protocol = _protocol(path)
    if isinstance(error, ValueError) and "Protocol not known" in str(error):
        raise UsageError(
            f"{address_of(path)}: no client reads {protocol}:// paths; they are hf://, s3://, "
            "gs://, https:// and what else fsspec knows"
        ) from None
    credentials = _CLIENTS.get(protocol, ("", "give the client its credentials"))[1]
    if "FileExpired" in kinds or status == 412:
        return _REPLACED
    if status in _REFUSED or kinds & {"PermissionError", "NoCredentialsError"}:
        # the Hub answers so for what it does not have, too
        absent = "no such data set, or " if protocol == "hf" else ""
        return f"{absent}no permission to read it; {credentials}"
    if status in _PASSING:
        return f"the server keeps answering {status}; run again later"
    if status == 404 or ("FileNotFoundError" in kinds and not kinds & _FAILED):
        return "no such file; check the path, or list the files again"
    if "range requests" in str(error):
        return "the server sends whole files only, no ranges; download the file first"
    if status is not None:
        return f"the server answers {status}; check the address"
    return (
        f"the connection fails ({type(error).__name__}); check the network and the address, and "
        "run again"
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and those that it was raised from."""
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__ or link.__context__


def _kinds(error: BaseException) -> set[str]:
    """The names of the classes of an error and its causes."""
    return {kind.__name__ for link in _chain(error) for kind in type(link).__mro__}


def _status(error: BaseException) -> int | None:
    """The state of HTTP that a client's error stands for, if it tells one."""
    for link in _chain(error):
        response = getattr(link, "response", None)
        if isinstance(response, Mapping):  # of botocore
            metadata = response.get("ResponseMetadata", {})
            found = metadata.get("HTTPStatusCode")
        else:
            found = getattr(response, "status_code", None)  # of huggingface_hub
        if found is None:  # of aiohttp; of gcsfs
            found = getattr(link, "code" if type(link).__name__ == "HttpError" else "status", None)
        if isinstance(found, int | str) and str(found).isdecimal():
            return int(found)
    return None


def _wait_s(error: BaseException, failures: int) -> float | None:
    """Seconds until the next attempt after an error that may pass; None for another.

    Retry-After of the answer, else 1, 2, 4, ... seconds.
    """
    if _status(error) not in _PASSING and not _kinds(error) & _FAILED:
        return None
    for link in _chain(error):
        answer = getattr(link, "response", link)  # of huggingface_hub; of aiohttp
        asked = (getattr(answer, "headers", None) or {}).get("Retry-After", "")
        if asked.isdecimal():
            return min(float(asked), LONGEST_WAIT_S)
    return 2.0 ** (failures - 1)


def retried(request: Callable[[], Result], attempts: int) -> Result:
    """The result of a request that is repeated where an error may pass; raises the
    client's error.
    """
    failures = 0
    while True:
        try:
            return request()
        except Exception as error:
            failures += 1
            wait = _wait_s(error, failures)
            if wait is None or failures >= attempts:
                raise
            time.sleep(wait)


def remote_shard(path: str, info: Mapping[str, Any]) -> Shard:
    """A file by a client's `info`, where an ETag, a hash or a date names its version;
    raises VocapError for a folder, and where the number of bytes is not known.
    """
    if info["type"] == "directory":
        raise VocapError(f"{address_of(path)}: a folder, not a file; name files, as in FOLDER/*")
    if info["size"] is None:
        raise VocapError(
            f"{address_of(path)}: its server does not tell its length; download it first"
        )
    version = next((str(info[name]) for name in _VERSIONS if info.get(name)), None)
    return Shard(path, int(info["size"]), version)


class RemoteFile(io.RawIOBase):
    """A file of another machine, to be read in exact ranges: a read fetches what was
    asked for, in requests of at most 16 MiB.

    Raises VocapError as `reading`, and for a file that is not the one that was listed.

    Attributes
    ----------
    size : int
        Bytes of the file.
    consumed : int
        Bytes fetched so far.
    """

    def __init__(self, file: str | Shard) -> None:
        super().__init__()
        path = file.path if isinstance(file, Shard) else file
        self.path, self.consumed, self._place = path, 0, 0
        client, inner = file_system(path)
        with reading(path):
            self._file, info = retried(lambda: _open(client, inner), ATTEMPTS)
        # clients of the Hub, S3 and Google's store repeat a range themselves
        self._attempts = ATTEMPTS if _protocol(path) == "https" else 1
        found = remote_shard(path, info)
        self.size = found.size
        if isinstance(file, Shard) and found not in (file, replace(file, version=None)):
            raise VocapError(f"{address_of(path)}: {_REPLACED}")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self.size}[whence]
        self._place = max(0, start + offset)
        return self._place

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        view = view[: max(0, self.size - self._place)]
        for start in range(0, len(view), MOST_FETCHED):
            part = view[start : start + MOST_FETCHED]
            with reading(self.path):
                found = retried(partial(self._fetch, len(part)), self._attempts)
            if len(found) < len(part):
                raise VocapError(f"{address_of(self.path)}: {_REPLACED}")
            part[:] = found
            self._place += len(found)
        self.consumed += len(view)
        return len(view)

    def _fetch(self, count: int) -> bytes:
        self._file.seek(self._place)
        return self._file.read(count)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _open(client: "AbstractFileSystem", inner: str) -> tuple[Any, Mapping[str, Any]]:
    """The file without read-ahead, and what its server says of it."""
    if inner.partition("://")[0] not in _WEB:
        file = client.open(inner, "rb", cache_type="none")
        return file, getattr(file, "details", None) or client.info(inner)
    info = client.info(inner)
    headers = {**client.kwargs.get("headers", {}), "Accept-Encoding": "identity"}
    if (version := info.get("ETag", "")) and not version.startswith("W/"):
        headers["If-Match"] = version
    # a length of 0 makes the client ask for it again
    file = client.open(inner, "rb", cache_type="none", size=info["size"], headers=headers)
    return file, info
