"""The programs whose translations make the starter corpus, and fetching them with the
ordinary clients.

Wheels come by `pip download`, of a known sha256; MediaWiki by `apt-get download`, which
checks its signature. A Debian mirror keeps the newest version only, so version and
sha256 are recorded instead of checked. Nothing is installed.
"""

import errno
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml

from vocap.errors import UsageError, VocapError, log
from vocap.files.io import file_sha256, write_text

# Seconds for one call of a client; the largest package takes 3 s on a fast line, 43 MB
# at 1 Mbit/s take 6 minutes.
TIMEOUT_S = 1200


@dataclass(frozen=True)
class Package:
    """One program. `pattern` matches the paths of its catalogues and captures `code`,
    their language.
    """

    name: str
    kind: str  # "wheel", fetched by pip, or "deb", fetched by apt-get
    version: str  # of a deb: the version known here; the mirror keeps only the newest
    sha256: str
    licence: str
    pattern: str
    catalogue: str  # "json", "mo" or "po"
    wikitext: bool = False  # messages are in MediaWiki's markup
    english_ids: bool = (
        True  # the message ids of a gettext catalogue are English sentences, not keys
    )
    # programming language to a pattern of the paths of its files
    code: Mapping[str, str] = field(default_factory=dict)

    def match(self, path: str) -> re.Match[str] | None:
        """The match of the path of a catalogue; None for any other file."""
        return re.fullmatch(self.pattern, path)

    def code_of(self, path: str) -> str | None:
        """The programming language of a file of source code that belongs to the corpus;
        None for any other.
        """
        return next(
            (language for language, pattern in self.code.items() if re.fullmatch(pattern, path)),
            None,
        )


def _read(name: str) -> Any:
    return yaml.safe_load(Path(__file__).with_name(name).read_bytes())


# in the order in which their lines are taken
PACKAGES = {name: Package(name, **fields) for name, fields in _read("packages.yaml").items()}
# Where Debian's package cannot be had: the same messages from MediaWiki's own site.
MEDIAWIKI_ARCHIVE = "https://releases.wikimedia.org/mediawiki/1.39/mediawiki-1.39.17.tar.gz"
CODES = _read("codes.yaml")


def package_named(name: str) -> Package:
    """The package called `name`; raises UsageError for one that is not in the table."""
    if name not in PACKAGES:
        raise UsageError(
            f"unknown starter package {name!r}; the known ones are: {', '.join(PACKAGES)}"
        )
    return PACKAGES[name]


def paper_code(code: str, known: Container[str]) -> str | None:
    """The code among `known` that means the same language and script as `code`, or None.

    >>> paper_code("zh_CN", {"zh", "pt"}), paper_code("pt_BR", {"zh", "pt"})
    ('zh', None)
    """
    code = code.lower().replace("_", "-")
    if code in known:
        return code
    code = CODES["same"].get(code, code)
    if code in CODES["home"]:
        code = code.partition("-")[0]
    return code if code in known else None


class Unavailable(Exception):
    """A package that is not available now, with the reason."""


def fetch_package(package: Package, output: Path, archive_url: str = MEDIAWIKI_ARCHIVE) -> None:
    """Fetch `package` to `output` and describe it in `output` + ".json".

    MediaWiki comes from `archive_url` where apt-get does not have it. Where no source
    answers, `output` is left empty and the description has the reason under `missing`.
    Raises VocapError for a wrong sha256.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    facts: dict[str, str | int | None] = {
        "package": package.name,
        "licence": package.licence,
        "missing": None,
    }
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
            log.warning(
                "%s is not available: %s\n"
                "The run continues without its text. Once it is available: snakemake --cores all "
                "--forcerun %s",
                package.name, reason, output,
            )  # fmt: skip
        else:
            # check and describe it
            sha256 = file_sha256(archive)
            if package.kind == "wheel" and sha256 != package.sha256:
                raise VocapError(
                    f"{package.name} {version}: sha256 {sha256} instead of {package.sha256}. The "
                    "package index served another file than the one pinned in "
                    "src/vocap/starter/packages.yaml: check the index (PIP_INDEX_URL, pip.conf) "
                    "before trusting it"
                )
            if origin == "apt" and sha256 != package.sha256:
                log.warning(
                    "%s %s (sha256 %s) is not the version known here, %s: the corpus will differ "
                    "a little",
                    package.name, version, sha256, package.version,
                )  # fmt: skip
            facts |= {
                "version": version,
                "origin": origin,
                "sha256": sha256,
                "bytes": archive.stat().st_size,
            }
            os.replace(archive, output)
            log.info("%s %s from %s, sha256 %s", package.name, version, origin, sha256)
    write_text(
        f"{output}.json", json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    )


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
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{client}: {error}") from None
    if "No space left on device" in done.stdout:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder.parent))
    if done.returncode:
        lines = list(filter(None, map(str.strip, done.stdout.splitlines())))
        errors = [line for line in lines if line.startswith(("ERROR:", "E:"))] or lines
        raise Unavailable(
            f"{client} failed (is this machine online?): {' '.join(errors[-3:])[:600]}"
        )


def _wheel(package: Package, folder: Path) -> Path:
    log.info("fetching %s %s with pip", package.name, package.version)
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    # A wheel that is only read may ask for another Python than this one.
    command += ["--ignore-requires-python", "--no-input", "--disable-pip-version-check"]
    command += ["--progress-bar", "off", "--retries", "3", "--timeout", "30"]
    _call(
        "pip",
        [*command, "-d", str(folder / "wheels"), f"{package.name}=={package.version}"],
        folder,
    )
    return next((folder / "wheels").glob("*.whl"))


def _mediawiki(
    package: Package, folder: Path, output: Path, archive_url: str
) -> tuple[Path, str, str]:
    """Archive, version and origin: Debian's package, or else MediaWiki's own
    archive.
    """
    try:
        archive = _debian_package(package, folder)
        return archive, unquote(archive.name.split("_")[1]), "apt"
    except Unavailable as reason:
        by_apt = str(reason)
    from vocap.corpora.download import download  # takes as long to import as all else here

    log.info("%s: %s; trying %s", package.name, by_apt, archive_url)
    # Beside the output, not in the temporary folder: the next call resumes a partial
    # file.
    archive = output.with_name(f".{output.name}.tar.gz")
    try:
        download(archive_url, archive)
    except VocapError as error:
        raise Unavailable(f"{by_apt}; and {error}") from None
    archive.with_name(archive.name + ".json").unlink()  # the description has the same facts
    version = archive_url.rsplit("/", 1)[-1].removeprefix("mediawiki-").removesuffix(".tar.gz")
    return archive, version, archive_url


def _debian_package(package: Package, folder: Path) -> Path:
    """`apt-get download` with folders of its own: no root is needed, the system's lists
    stay as they are.
    """
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
    log.info("fetching %s with apt-get", package.name)
    _call("apt-get", ["apt-get", *settings, "-q", "update"], work)
    _call("apt-get", ["apt-get", *settings, "-q", "download", package.name], work)
    return next(work.glob(f"{package.name}_*.deb"))
