"""Downloads over http and https that go on where they were cut, within a call and over calls."""

import hashlib
import json
import logging
import os
import re
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPResponse, InvalidURL
from pathlib import Path

from tqdm import tqdm

from vocap import __version__
from vocap.errors import UsageError, VocapError
from vocap.files import write_text

log = logging.getLogger(__name__)

RETRIES = 6  # attempts in a row that bring nothing new; with waits of 1, 2, 4, ... s about a minute
LONGEST_WAIT_S = 300  # that a server may ask for
_CHUNK = 1 << 16


class _Again(Exception):
    """This attempt failed and another may do better, after `wait_s` if the server said so."""

    def __init__(self, why: str, wait_s: float | None = None) -> None:
        super().__init__(why)
        self.wait_s = wait_s


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https only (the standard handler also takes ftp)."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if not newurl.lower().startswith(("http://", "https://")):
            raise urllib.error.HTTPError(newurl, code, "not allowed", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    """An opener that knows no file:, ftp: or data: at all."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.UnknownHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPErrorProcessor,
        _Redirects,
    ):
        opener.add_handler(handler())
    return opener


def is_gone(url: str, timeout_s: float = 30) -> bool:
    """Whether a server says that it has no such file (404, 410); False where it says anything else, or nothing."""
    request = urllib.request.Request(url, method="HEAD", headers={"User-Agent": f"vocap/{__version__}"})
    try:
        with _opener().open(request, timeout=timeout_s):
            return False
    except urllib.error.HTTPError as error:
        with error:
            return error.code in (404, 410)
    except (OSError, HTTPException, ValueError):
        return False


class _Part:
    """What has arrived: `{output}.part`, and beside it, in `.part.json`, which version of the file it is of."""

    def __init__(self, output: Path, url: str) -> None:
        self.path = output.with_name(output.name + ".part")
        self._note_path = output.with_name(output.name + ".part.json")
        self._url = url
        self.etag: str | None = None
        self.last_modified: str | None = None
        self.total: int | None = None
        try:
            note = json.loads(self._note_path.read_bytes())
            known = note["url"] == url and self.path.exists()
            texts = [note["etag"], note["last_modified"]]
            sound = all(text is None or isinstance(text, str) for text in texts)
            sound &= note["total_bytes"] is None or isinstance(note["total_bytes"], int)
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            known = sound = False
        if known and sound:
            self.etag, self.last_modified, self.total = *texts, note["total_bytes"]
        if not self.validator:
            self.restart(None, None, None)

    @property
    def validator(self) -> str | None:
        """What If-Range may hold: a strong ETag, else the date; without either nothing can be resumed safely."""
        strong = self.etag and not self.etag.startswith("W/")
        return self.etag if strong else self.last_modified

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def restart(self, etag: str | None, last_modified: str | None, total: int | None) -> None:
        """Throw away what there is and note the version that comes now."""
        if self.size:
            os.truncate(self.path, 0)
        self.etag, self.last_modified, self.total = etag, last_modified, total
        if etag or last_modified or total is not None:
            note = {"url": self._url, "etag": etag, "last_modified": last_modified, "total_bytes": total}
            write_text(self._note_path, json.dumps(note) + "\n")

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
        self._note_path.unlink(missing_ok=True)


def download(
    url: str,
    output: Path,
    sha256: str | None = None,
    limit_bytes: int | None = None,
    pause: Callable[[float], None] = time.sleep,
    timeout_s: float = 60,
) -> dict:
    """Fetch `url` to `output`, all of it or its first `limit_bytes`; returns what `{output}.json` says too.

    Keys: `url etag total_bytes fetched_bytes complete`; `total_bytes` is None where the server does not say. What
    arrives is kept in `{output}.part` and asked to go on with If-Range, so that two versions of a file never mix.
    Raises UsageError for an address that is not http(s); VocapError, naming the address, where the server says no
    (404), redirects elsewhere than http(s), stays unreachable, or `sha256` (hexadecimal) is another.
    """
    if not re.match(r"https?://[^/]", url, re.IGNORECASE):
        raise UsageError(
            f"{url}: only http:// and https:// addresses are fetched; give a file of this machine as path"
        )
    if sha256 is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise UsageError(f"--sha256 {sha256}: not 64 hexadecimal digits")
    output.parent.mkdir(parents=True, exist_ok=True)
    part = _Part(output, url)
    opener = _opener()
    failures, best = 0, part.size
    with tqdm(desc=output.name, unit="B", unit_scale=True, unit_divisor=1024, disable=None) as bar:
        while not _arrived(part, limit_bytes):
            try:
                _attempt(opener, url, part, limit_bytes, timeout_s, bar)
                break
            except _Again as error:
                failures = 1 if part.size > best else failures + 1
                best = max(best, part.size)
                wait_s = 2.0 ** (failures - 1) if error.wait_s is None else error.wait_s
                if failures > RETRIES or wait_s > LONGEST_WAIT_S:
                    asked = f" (it asks to wait {wait_s:.0f} s)" if error.wait_s else ""
                    raise VocapError(
                        f"{url}: {error}{asked}; {part.size:,} bytes are kept in {part.path}: "
                        "the same command goes on from there later"
                    ) from None
                log.warning("%s: %s; again in %.0f s", url, error, wait_s)
                pause(wait_s)
    if sha256 is not None:
        found = _sha256(part.path)
        if found != sha256.lower():
            part.remove()
            raise VocapError(
                f"{url}: its SHA-256 is {found}, not {sha256.lower()}; check the address and the hash"
            )
    fetched = part.size
    complete = fetched == part.total if part.total is not None else limit_bytes is None or fetched < limit_bytes
    note = {"url": url, "etag": part.etag, "total_bytes": fetched if complete else part.total}
    note |= {"fetched_bytes": fetched, "complete": complete}
    write_text(f"{output}.json", json.dumps(note, indent=2) + "\n")
    os.replace(part.path, output)
    part.remove()
    return note


def _arrived(part: _Part, limit_bytes: int | None) -> bool:
    """Whether an earlier call fetched all; one that fetched more than is wanted now is cut."""
    wanted = min((size for size in (part.total, limit_bytes) if size is not None), default=None)
    if wanted is None or not part.validator:
        return False
    if part.size > wanted:
        os.truncate(part.path, wanted)
    return part.path.exists() and part.size == wanted


def _attempt(
    opener: urllib.request.OpenerDirector,
    url: str,
    part: _Part,
    limit_bytes: int | None,
    timeout_s: float,
    bar: tqdm,
) -> None:
    """One request, from where `part` ends; returns when all is there, else raises _Again or VocapError."""
    if not part.validator:
        part.restart(None, None, None)
    start = part.size
    headers = {"User-Agent": f"vocap/{__version__}", "Accept-Encoding": "identity"}
    if start or limit_bytes is not None:
        headers["Range"] = f"bytes={start}-" + (str(limit_bytes - 1) if limit_bytes is not None else "")
    if start:
        headers["If-Range"] = part.validator
    try:
        response = opener.open(urllib.request.Request(url, headers=headers), timeout=timeout_s)
    except urllib.error.HTTPError as error:
        with error:
            _refused(url, error, part)
    except (InvalidURL, ValueError) as error:
        raise UsageError(f"{url}: not a proper address ({error}); write spaces and the like as %20") from None
    except (OSError, HTTPException) as error:  # URLError is an OSError
        reason = getattr(error, "reason", None) or error
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise VocapError(f"{url}: {reason}; the site's certificate is not trusted here") from None
        if isinstance(reason, socket.gaierror):
            reason = f"{reason}; is this machine online, and the address right?"
        raise _Again(str(reason) or type(reason).__name__) from None
    with response:
        _position(response, part, start)
        wanted = min((size for size in (part.total, limit_bytes) if size is not None), default=None)
        bar.total, bar.n = wanted, part.size
        _append(response, part, wanted, bar)
    if wanted is not None and part.size < wanted:
        raise _Again(f"the connection was cut at {part.size:,} of {wanted:,} bytes")


def _position(response: HTTPResponse, part: _Part, start: int) -> None:
    """Bring `part` to where the body of `response` goes on: its end, or nothing at all."""
    etag, last_modified = response.headers["ETag"], response.headers["Last-Modified"]
    if response.status == 200:  # Range ignored, or another version than the one begun
        length = response.headers["Content-Length"]
        part.restart(etag, last_modified, int(length) if length and length.isdecimal() else None)
        return
    content_range = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+|\*)", response.headers["Content-Range"] or "")
    if response.status != 206 or content_range is None:
        raise VocapError(f"{response.url}: an unexpected answer, status {response.status}; check the address")
    total = None if content_range[3] == "*" else int(content_range[3])
    if not start:
        part.restart(etag, last_modified, total)
    elif (part.etag and etag and etag != part.etag) or (part.total and total and total != part.total):
        part.restart(None, None, None)
        raise _Again("the file changed while it was fetched; starting over", 0)
    if int(content_range[1]) != start:
        part.restart(None, None, None)
        raise _Again(f"the server sent bytes from {content_range[1]} on, not from {start}; starting over")


def _append(response: HTTPResponse, part: _Part, wanted: int | None, bar: tqdm) -> None:
    told = time.monotonic()
    with open(part.path, "ab") as file:
        size = file.tell()
        while wanted is None or size < wanted:
            try:
                chunk = response.read(_CHUNK if wanted is None else min(_CHUNK, wanted - size))
            except (OSError, HTTPException) as error:
                file.flush()
                raise _Again(
                    f"the connection was cut at {size:,} bytes ({error or type(error).__name__})"
                ) from None
            if not chunk:
                return
            file.write(chunk)
            size += len(chunk)
            bar.update(len(chunk))
            if bar.disable and time.monotonic() - told > 30:
                told = time.monotonic()
                log.info("%s: %s of %s bytes", part.path, f"{size:,}", f"{wanted:,}" if wanted else "unknown")


def _refused(url: str, error: urllib.error.HTTPError, part: _Part) -> None:
    """Always raises: _Again for what may pass, VocapError for what will not."""
    if error.code == 416 and part.size:
        part.restart(None, None, None)
        raise _Again("the file is shorter than what had been fetched; starting over", 0)
    if error.code in (408, 429) or error.code >= 500:
        raise _Again(f"{error.code} {error.reason}", _retry_after(error.headers["Retry-After"]))
    if 300 <= error.code < 400:
        target = error.url if error.url != url else "itself"
        raise VocapError(f"{url}: redirects to {target}; only http and https are followed, ten times at most")
    remedy = "check the address and the code of the language in it; dated dumps go away after some weeks"
    raise VocapError(f"{url}: {error.code} {error.reason}; {remedy}")


def _retry_after(value: str | None) -> float | None:
    """Seconds to wait by a Retry-After header: a number of seconds, or a date; None where it says nothing."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
