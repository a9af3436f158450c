"""Fetching the packages of the starter corpus with the ordinary clients, installing nothing.

Wheels come by `pip download`, of a known sha256; MediaWiki by `apt-get download`, which checks its signature. A
Debian mirror keeps the newest version only, so version and sha256 are recorded instead of checked.
"""

import errno
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

from vocap.corpora.download import download
from vocap.errors import VocapError
from vocap.files import file_sha256
from vocap.files.atomic import write_text
from vocap.starter.packages import MEDIAWIKI_ARCHIVE, Package

logger = logging.getLogger(__name__)

# Seconds for one call of a client; the largest package takes 3 s on a fast line, 43 MB at 1 Mbit/s take 6 minutes.
TIMEOUT_S = 1200


class Unavailable(Exception):
    """A package that is not available now, with the reason."""


def fetch_package(package: Package, output: Path, archive_url: str = MEDIAWIKI_ARCHIVE) -> None:
    """Fetch `package` to `output` and describe it in `output` + ".json".

    MediaWiki comes from `archive_url` where apt-get does not have it. Where no source answers, `output` is left
    empty and the description has the reason under `missing`. Raises VocapError for a wrong sha256. An output with
    the right sha256 is not fetched again.
    """
    description = output.with_name(output.name + ".json")
    if _already_there(package, output, description):
        logger.info("%s: already there, its sha256 is right", output)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    facts = {"package": package.name, "licence": package.licence, "missing": None}
    with tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent) as name:
        folder = Path(name).resolve()  # the clients run in folders of their own
        # fetch, or leave an empty file
        try:
            if package.kind == "wheel":
                archive, version, origin = _wheel(package, folder), package.version, "pip"
            else:
                archive, version, origin = _mediawiki(package, folder, output, archive_url)
        except Unavailable as reason:
            facts["missing"] = str(reason)
            write_text(output, "")
            write_text(description, json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
            logger.warning(
                "%s is not available: %s\n"
                "The run continues without its text. Once it is available: snakemake --cores all --forcerun %s",
                package.name, reason, output,
            )  # fmt: skip
            return
        # check and describe it
        sha256 = file_sha256(archive)
        if package.kind == "wheel" and sha256 != package.sha256:
            raise VocapError(
                f"{package.name} {version}: sha256 {sha256} instead of {package.sha256}. The package index served "
                "another file than the one pinned in src/vocap/starter/packages.py: check the index "
                "(PIP_INDEX_URL, pip.conf) before trusting it"
            )
        if origin == "apt" and sha256 != package.sha256:
            logger.warning(
                "%s %s (sha256 %s) is not the version known here, %s: the corpus will differ a little",
                package.name, version, sha256, package.version,
            )  # fmt: skip
        facts |= {"version": version, "origin": origin, "sha256": sha256, "bytes": archive.stat().st_size}
        os.replace(archive, output)
    write_text(description, json.dumps(facts, indent=1, sort_keys=True) + "\n")
    logger.info("%s %s from %s, %.1f MB, sha256 %s", package.name, version, origin, facts["bytes"] / 1e6, sha256)


def _already_there(package: Package, output: Path, description: Path) -> bool:
    try:
        facts = json.loads(description.read_text(encoding="utf-8"))
        known = package.sha256 if package.kind == "wheel" else facts["sha256"]
        return facts["package"] == package.name and facts["missing"] is None and file_sha256(output) == known
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _call(client: str, command: list[str], folder: Path) -> None:
    """Run a client. Raises Unavailable with the end of its messages where it fails."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{client} did not end within {TIMEOUT_S} s") from None
    if "No space left on device" in done.stdout:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder.parent))
    if done.returncode:
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        errors = " ".join([line for line in lines if line.startswith(("ERROR:", "E:"))][-3:] or lines[-3:])[:600]
        raise Unavailable(f"{client} failed (is this machine online?): {errors or f'status {done.returncode}'}")


def _only(found: Iterable[Path], client: str) -> Path:
    files = list(found)
    if len(files) != 1:
        raise Unavailable(f"{client} left {len(files)} files instead of one")
    return files[0]


def _wheel(package: Package, folder: Path) -> Path:
    logger.info("fetching %s %s with pip", package.name, package.version)
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    # A wheel that is only read may ask for another Python than this one.
    command += ["--ignore-requires-python", "--no-input", "--disable-pip-version-check"]
    command += ["--progress-bar", "off", "--retries", "3", "--timeout", "30"]
    _call("pip", [*command, "-d", str(folder / "wheels"), f"{package.name}=={package.version}"], folder)
    return _only((folder / "wheels").glob("*.whl"), "pip")


def _mediawiki(package: Package, folder: Path, output: Path, archive_url: str) -> tuple[Path, str, str]:
    """Archive, version and origin: Debian's package, or else MediaWiki's own archive."""
    try:
        archive = _debian_package(package, folder)
        return archive, unquote(archive.name.split("_")[1]), "apt"
    except Unavailable as reason:
        by_apt = str(reason)
    logger.info("%s: %s; trying %s", package.name, by_apt, archive_url)
    # Beside the output, not in the temporary folder: the next call resumes a partial file.
    archive = output.with_name(f".{output.name}.tar.gz")
    try:
        download(archive_url, archive)
    except VocapError as error:
        raise Unavailable(f"{by_apt}; and {error}") from None
    archive.with_name(archive.name + ".json").unlink()  # the description has the same facts
    version = archive_url.rsplit("/", 1)[-1].removeprefix("mediawiki-").removesuffix(".tar.gz")
    return archive, version, archive_url


def _debian_package(package: Package, folder: Path) -> Path:
    """`apt-get download` with folders of its own: no root is needed, the system's lists stay as they are."""
    apt = shutil.which("apt-get")
    if apt is None:
        raise Unavailable("there is no apt-get here")
    state, cache, work = folder / "state", folder / "cache", folder / "work"
    for needed in (state / "lists" / "partial", cache / "archives" / "partial", work):
        needed.mkdir(parents=True)
    options = {
        "Dir::State": state,
        "Dir::Cache": cache,
        "Dir::State::status": "/var/lib/dpkg/status",
        "Debug::NoLocking": 1,
        "APT::Sandbox::User": "",
        "Acquire::Retries": 3,
        "Acquire::http::Timeout": 30,
        "Acquire::https::Timeout": 30,
    }
    settings = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    logger.info("fetching %s with apt-get", package.name)
    _call("apt-get", [apt, *settings, "-q", "update"], work)
    _call("apt-get", [apt, *settings, "-q", "download", package.name], work)
    return _only(work.glob(f"{package.name}_*.deb"), "apt-get")
