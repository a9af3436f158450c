"""The files of a text with their sizes and versions, as one listing found them."""

import glob
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vocap.errors import UsageError, VocapError
from vocap.files.io import replacing
from vocap.files.paths import each_once, expand
from vocap.files.written import read_written, written_by
from vocap.storage.remote import (
    ATTEMPTS,
    Shard,
    address_of,
    file_system,
    is_remote,
    reading,
    remote_shard,
    retried,
)

EMPTY = "the file is empty"


@dataclass(frozen=True)
class Listing:
    """The files of a text, in the order in which they are read."""

    shards: tuple[Shard, ...]

    @property
    def total(self) -> int:
        """Bytes of all files, as stored."""
        return sum(shard.size for shard in self.shards)

    def sha256(self) -> str:
        """A hash of the files, in hexadecimal.

        It stays where a data set of the Hub has a new revision with the same files.
        """
        files = [
            (re.sub(r"@[0-9a-f]{40}(?=/)", "", shard.path), shard.size, shard.version)
            for shard in self.shards
        ]
        return hashlib.sha256(json.dumps(files).encode()).hexdigest()

    def write(self, path: str | Path, language: str = "", source: str = "") -> None:
        """Write the listing as JSON, for `read`."""
        files = [asdict(shard) for shard in self.shards]
        content = {"language": language, "source": source, "files": files}
        with replacing(path) as out:
            out.write(json.dumps(content, indent=1, ensure_ascii=False) + "\n")

    @classmethod
    def read(cls, path: str | Path) -> "Listing":
        """The listing in a file."""
        with written_by("list-files", path):
            files = read_written(path, "list-files")["files"]
            return cls(tuple(Shard(**entry) for entry in files))


def named_text(files: Sequence[str], listing: str | Path | None) -> Listing | list[Path]:
    """The text of the FILEs or of the listing; raises UsageError unless one is given."""
    if bool(files) == bool(listing):
        raise UsageError("give files or a listing, and not both")
    if listing:
        return Listing.read(listing)
    return list_shards(files) if any(map(is_remote, files)) else list(map(Path, files))


def list_shards(patterns: Sequence[str]) -> Listing:
    """The files of paths, folders and patterns, on this machine or others; those of
    each in sorted order, one named by several once.

    A data set of the Hub is listed at the revision that it has now, which becomes part
    of the paths. Raises VocapError where nothing matches, or a client reports an error.
    """
    found: dict[str, Shard] = {}
    for pattern in patterns:
        if is_remote(pattern):
            shards = _remote_shards(pattern)
        else:
            shards = list(map(local_shard, expand(pattern)))
        if not shards:
            raise VocapError(f"{address_of(pattern)}: no file matches it; check the path")
        found |= {shard.path: shard for shard in shards}
    return Listing(tuple(found[path] for path in each_once(found)))


def local_shard(path: str) -> Shard:
    """A file of this machine, of 0 bytes where it is none."""
    return Shard(path, os.path.getsize(path) if os.path.isfile(path) else 0)


def lacking(shard: Shard) -> str | None:
    """Why a path of a text holds none; None for a file of some bytes, and for a pipe.

    A key of 0 bytes stands for a folder of a bucket.
    """
    path = shard.path
    if shard.size:
        return None
    if is_remote(path) or os.path.isfile(path):
        return EMPTY
    if os.path.exists(path):
        return "a folder without files" if os.path.isdir(path) else None
    if os.path.islink(path):
        return "a link to a file that is not there"
    return "no file matches this pattern" if glob.has_magic(path) else "no such file"


def with_text(shards: Sequence[Shard]) -> list[Shard]:
    """The files without empty ones, such as Spark's `_SUCCESS`."""
    return [shard for shard in shards if lacking(shard) != EMPTY]


def check_present(language: str, shards: Sequence[Shard]) -> None:
    """Raises VocapError for a path that is not there or matches nothing, for a folder,
    and where all files are empty.
    """
    for shard in with_text(shards) or shards:
        if problem := lacking(shard):
            raise VocapError(
                f"{address_of(shard.path)}: {problem}; put text in {language} there, give "
                f"{language} another source under corpora, or leave it out"
            )


def _remote_shards(pattern: str) -> list[Shard]:
    client, inner = file_system(pattern)
    with reading(pattern):
        infos = retried(lambda: _infos(client, inner), ATTEMPTS)
    shards = [remote_shard(client.unstrip_protocol(info["name"]), info) for info in infos]
    return sorted(shards, key=lambda shard: shard.path)


def _infos(client: Any, inner: str) -> list[Mapping[str, Any]]:
    """What a client says of the files of a path, a folder or a pattern."""
    if hasattr(client, "resolve_path"):
        inner = _pinned(client, inner)
    # in an address of the web ? begins a query
    fixed = re.split(r"[*\[]" if is_remote(inner) else r"[*?\[]", inner, maxsplit=1)[0]
    if fixed != inner:
        infos = client.glob(inner, detail=True).values()
    else:
        info = client.info(inner)
        folder = info["type"] == "directory"
        infos = client.find(inner, detail=True).values() if folder else [info]
    # hidden files, and those in hidden folders below the fixed part, are left out
    return [
        info
        for info in infos
        if info["type"] == "file" and "/." not in info["name"].removeprefix(fixed.rstrip("/"))
    ]


def _pinned(client: Any, inner: str) -> str:
    """A path on the Hub at the commit that its revision, or the main branch, names."""
    from huggingface_hub import HfApi

    place = client.resolve_path(inner)
    if not hasattr(place, "repo_id") or re.fullmatch(r"[0-9a-f]{40}", place.revision):
        return inner
    api = HfApi(endpoint=client.endpoint, token=client.token)
    commit = api.repo_info(place.repo_id, revision=place.revision, repo_type=place.repo_type).sha
    before, _, _ = place.root.partition("@")
    return f"{before}@{commit}/{place.path_in_repo}"
