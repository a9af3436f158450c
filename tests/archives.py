"""Archives of made files: zip and wheel, tar, Debian package."""

import io
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

CONTROL = (
    "Package: {}\nVersion: {}\nArchitecture: all\nMaintainer: a <a@example.org>\nDescription: x\n"
)


def write_zip(path: Path, files: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def tar_bytes(
    files: Mapping[str, str | bytes], links: Iterable[tuple[bytes, str, Path]] = ()
) -> bytes:
    """A .tar.gz file; `links`: type, name and target of each, which come first."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for kind, name, target in links:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, str(target)
            archive.addfile(member)
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def write_tar(path: Path, files: Mapping[str, str | bytes], links=()) -> Path:
    path.write_bytes(tar_bytes(files, links))
    return path


def debian_bytes(
    folder: Path, files: Mapping[str, bytes], name: str = "x", version: str = "1"
) -> bytes:
    """A package made by Debian's own program, in `folder`."""
    if not shutil.which("dpkg-deb"):
        pytest.skip("there is no dpkg-deb here")
    root, made = folder / "root", folder / "made.deb"
    control = CONTROL.format(name, version).encode()
    for path, content in {"DEBIAN/control": control, **files}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    subprocess.run(["dpkg-deb", "--build", root, made], check=True, capture_output=True)
    shutil.rmtree(root)
    return made.read_bytes()
