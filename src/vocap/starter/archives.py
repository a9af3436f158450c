"""The catalogues inside a wheel, a Debian package or a .tar.gz, read as a stream; nothing is unpacked to disk."""

import gzip
import io
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from vocap.errors import VocapError

MAX_FILE_BYTES = 16 << 20  # the largest catalogue of the six packages has 2 MB
MAX_TOTAL_BYTES = 1 << 30  # the largest package holds 124 MB of catalogues

_BROKEN = (zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, gzip.BadGzipFile)


def read_members(path: str | os.PathLike, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """The content of every regular file of an archive whose path is `wanted`, in order of path.

    The kind of archive is read off its first bytes. Paths come without a leading `./`. Raises VocapError for an
    archive that is corrupt, of another kind, or that holds more than the bounds above.
    """
    path = Path(path)
    members: dict[str, bytes] = {}
    total = 0
    try:
        with path.open("rb") as file:
            for name, size, read in _entries(file, path):
                name = name.removeprefix("./")
                if not wanted(name):
                    continue
                total += size
                if size > MAX_FILE_BYTES or total > MAX_TOTAL_BYTES:
                    raise VocapError(f"{path}: {name} claims {size} bytes, {total} with those before it; not read")
                content = read(size)
                if len(content) != size:
                    raise VocapError(f"{path}: {name} is cut short; {_REMEDY}")
                members[name] = content
    except _BROKEN as error:
        raise VocapError(f"{path}: a corrupt archive ({error}); {_REMEDY}") from None
    return dict(sorted(members.items()))


_REMEDY = "delete it and fetch it again with: vocap starter-fetch"

Entry = tuple[str, int, Callable[[int], bytes]]


def _entries(file: IO[bytes], path: Path) -> Iterator[Entry]:
    magic = file.read(8)
    file.seek(0)
    if magic.startswith(b"PK\x03\x04"):
        return _zip_entries(file)
    if magic == b"!<arch>\n":
        return _tar_entries(_debian_data(file, path), "r|")
    if magic.startswith(b"\x1f\x8b"):
        return _tar_entries(file, "r|gz")
    raise VocapError(f"{path}: neither a wheel nor a Debian package nor a .tar.gz; {_REMEDY}")


def _zip_entries(file: IO[bytes]) -> Iterator[Entry]:
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            if not entry.is_dir():
                yield entry.filename, entry.file_size, lambda size, entry=entry: _read_zipped(archive, entry, size)


def _read_zipped(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, size: int) -> bytes:
    try:
        with archive.open(entry) as member:
            return member.read(size)
    except RuntimeError as error:  # encrypted, or compressed by a method that Python does not know
        raise zipfile.BadZipFile(f"{entry.filename}: {error}") from None


def _tar_entries(file: IO[bytes], mode: str) -> Iterator[Entry]:
    with tarfile.open(fileobj=file, mode=mode) as archive:
        for entry in archive:
            if entry.isfile():
                yield entry.name, entry.size, lambda size, entry=entry: archive.extractfile(entry).read(size)


def _debian_data(file: IO[bytes], path: Path) -> IO[bytes]:
    """The decompressed `data.tar` of a Debian package: an ar archive, deb(5)."""
    file.seek(8)
    while header := file.read(60):
        if len(header) < 60 or header[58:] != b"`\n" or not header[48:58].strip().isdigit():
            break
        name, size = header[:16].decode("ascii", "replace").strip().rstrip("/"), int(header[48:58])
        start = file.tell()
        if name.startswith("data.tar"):
            part = io.BufferedReader(_Part(file, start, size), 1 << 20)
            if name.endswith(".xz"):
                return lzma.open(part)
            if name.endswith(".gz"):
                return gzip.open(part)
            if name.endswith(".zst"):
                import zstandard

                return zstandard.ZstdDecompressor().stream_reader(part)
            if name == "data.tar":
                return part
            raise VocapError(f"{path}: {name} is compressed in a way that is not known here; please report it")
        file.seek(start + size + size % 2)
    raise VocapError(f"{path}: a Debian package without its data.tar; {_REMEDY}")


class _Part(io.RawIOBase):
    """Bytes `start` to `start + size` of a file, as a file."""

    def __init__(self, file: IO[bytes], start: int, size: int) -> None:
        self.file, self.left = file, size
        file.seek(start)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        content = self.file.read(min(len(buffer), self.left))
        self.left -= len(content)
        buffer[: len(content)] = content
        return len(content)
