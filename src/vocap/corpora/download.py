"""Downloads over http and https that resume after an interruption, in the same call or in a later one."""

import hashlib
import json
import logging
import os
import re
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import getproxies, proxy_bypass

import urllib3
from tqdm import tqdm
from urllib3.exceptions import HTTPError, InvalidHeader, LocationValueError

from vocap import __version__
from vocap.errors import UsageError, VocapError
from vocap.files.atomic import write_text

log = logging.getLogger(__name__)

RETRIES = 6  # attempts in a row without new bytes; with waits of 1, 2, 4, ... s about a minute
LONGEST_WAIT_S = 300  # the longest Retry-After that is followed
REDIRECTS = 10
_CHUNK = 1 << 16


class _Temporary(Exception):
    """A failure that another attempt may not have, after `wait_s` if the server asked for a time."""

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


def _request(method: str, url: str, headers: dict[str, str], timeout_s: float) -> urllib3.BaseHTTPResponse:
    """The response at the end of the redirects, its body not read; through the proxy of the environment.

    Raises VocapError for a redirect to another scheme than http(s), or too many; errors of urllib3.
    """
    target = url
    for _ in range(REDIRECTS + 1):
        parts = urllib3.util.parse_url(target)
        if parts.scheme not in ("http", "https"):
            break
        proxy = None if proxy_bypass(parts.host or "") else getproxies().get(parts.scheme)
        pool = urllib3.PoolManager() if proxy is None else _proxied(proxy)
        headers = {"User-Agent": f"vocap/{__version__}", **headers}
        options = {"redirect": False, "retries": False, "preload_content": False, "decode_content": False}
        response = pool.request(method, target, headers=headers, timeout=timeout_s, **options)
        location = response.get_redirect_location()
        if not location:
            return response
        response.close()
        target = urljoin(target, location)
    target = "itself" if target == url else target
    raise VocapError(f"{url}: redirects to {target}; only http and https are followed, {REDIRECTS} times at most")


def _proxied(proxy: str) -> urllib3.ProxyManager:
    credentials = urllib3.util.parse_url(proxy).auth
    headers = urllib3.util.make_headers(proxy_basic_auth=credentials) if credentials else None
    return urllib3.ProxyManager(proxy, proxy_headers=headers)


def is_gone(url: str, timeout_s: float = 30) -> bool:
    """Whether a server answers that it has no such file (404, 410); False for any other answer, or none."""
    try:
        response = _request("HEAD", url, {}, timeout_s)
    except (HTTPError, VocapError, ValueError):
        return False
    response.close()
    return response.status in (404, 410)


class _Part:
    """The bytes received so far, `{output}.part`, and the version of the file that they are of, `.part.json`."""

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
        """The value of If-Range: a strong ETag, else the date; without either nothing can be resumed safely."""
        strong = self.etag and not self.etag.startswith("W/")
        return self.etag if strong else self.last_modified

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def restart(self, etag: str | None, last_modified: str | None, total: int | None) -> None:
        """Delete the bytes received and record the version that follows."""
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
    """Fetch `url` to `output`, all of it or its first `limit_bytes`; returns the content of `{output}.json`.

    The bytes received are kept in `{output}.part` and resumed with If-Range, so that two versions of a file never
    mix.

    Parameters
    ----------
    url : http(s) address.
    output : file to write, with `{output}.json` beside it.
    sha256 : expected SHA-256 of the file, in hexadecimal.
    limit_bytes : number of bytes to fetch from the start; None for the whole file.
    pause : function that waits for a number of seconds.
    timeout_s : seconds without an answer or a byte after which an attempt has failed.

    Returns
    -------
    dict with `url`, `etag`, `total_bytes` (None where the server does not name it), `fetched_bytes` and
    `complete` (whether the file was fetched to its end).

    Raises
    ------
    UsageError : the address is not http(s), or `sha256` is not 64 hexadecimal digits.
    VocapError : the server refuses (404), redirects to another scheme or stays unreachable, or the SHA-256
        differs. The message names the address.
    """
    if not re.match(r"https?://[^/]", url, re.IGNORECASE):
        raise UsageError(
            f"{url}: only http:// and https:// addresses are fetched; give a file of this machine as path"
        )
    if sha256 is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise UsageError(f"--sha256 {sha256}: not 64 hexadecimal digits")
    output.parent.mkdir(parents=True, exist_ok=True)
    part = _Part(output, url)
    failures, best = 0, part.size
    with tqdm(desc=output.name, unit="B", unit_scale=True, unit_divisor=1024, disable=None) as bar:
        while not _arrived(part, limit_bytes):
            try:
                _attempt(url, part, limit_bytes, timeout_s, bar)
                break
            except _Temporary as error:
                failures = 1 if part.size > best else failures + 1
                best = max(best, part.size)
                wait_s = 2.0 ** (failures - 1) if error.wait_s is None else error.wait_s
                if failures > RETRIES or wait_s > LONGEST_WAIT_S:
                    asked = f" (it asks to wait over {LONGEST_WAIT_S} s)" if wait_s > LONGEST_WAIT_S else ""
                    raise VocapError(
                        f"{url}: {error}{asked}; {part.size:,} bytes are kept in {part.path}: "
                        "the same command resumes from there later"
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
    """Whether an earlier call fetched all bytes wanted; those beyond are cut off."""
    wanted = min((size for size in (part.total, limit_bytes) if size is not None), default=None)
    if wanted is None or not part.validator:
        return False
    if part.size > wanted:
        os.truncate(part.path, wanted)
    return part.path.exists() and part.size == wanted


def _attempt(url: str, part: _Part, limit_bytes: int | None, timeout_s: float, bar: tqdm) -> None:
    """One request from the end of `part` on. Returns when all is there, else raises _Temporary or VocapError."""
    if not part.validator:
        part.restart(None, None, None)
    start = part.size
    headers = {"Accept-Encoding": "identity"}
    if start or limit_bytes is not None:
        headers["Range"] = f"bytes={start}-" + (str(limit_bytes - 1) if limit_bytes is not None else "")
    if start:
        headers["If-Range"] = part.validator
    try:
        response = _request("GET", url, headers, timeout_s)
    except (LocationValueError, ValueError) as error:
        raise UsageError(f"{url}: not a proper address ({error}); write spaces and the like as %20") from None
    except HTTPError as error:
        reason = _reason(error)
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise VocapError(f"{url}: {reason}; the site's certificate is not trusted here") from None
        if isinstance(reason, socket.gaierror):
            reason = f"{reason}; is this machine online, and the address right?"
        raise _Temporary(str(reason)) from None
    with response:
        if response.status >= 300:
            _refuse(url, response, part)
        _position(url, response, part, start)
        wanted = min((size for size in (part.total, limit_bytes) if size is not None), default=None)
        bar.total, bar.n = wanted, part.size
        _append(response, part, wanted, bar)
    if wanted is not None and part.size < wanted:
        raise _Temporary(f"the connection was cut at {part.size:,} of {wanted:,} bytes")


def _reason(error: HTTPError) -> BaseException:
    """The operating system's error behind one of urllib3, which adds the connection's description."""
    inner = [one for one in (error.__cause__, *error.args) if isinstance(one, OSError)]
    return inner[0] if inner and str(inner[0]) else error


def _position(url: str, response: urllib3.BaseHTTPResponse, part: _Part, start: int) -> None:
    """Bring `part` to the start of the response's body: the end of `part`, or an empty file."""
    etag, last_modified = response.headers.get("ETag"), response.headers.get("Last-Modified")
    if response.status == 200:  # Range ignored, or another version than the one begun
        length = response.headers.get("Content-Length", "")
        part.restart(etag, last_modified, int(length) if length.isdecimal() else None)
        return
    content_range = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+|\*)", response.headers.get("Content-Range", ""))
    if response.status != 206 or content_range is None:
        raise VocapError(f"{url}: an unexpected answer, status {response.status}; check the address")
    total = None if content_range[3] == "*" else int(content_range[3])
    if not start:
        part.restart(etag, last_modified, total)
    elif (part.etag and etag and etag != part.etag) or (part.total and total and total != part.total):
        part.restart(None, None, None)
        raise _Temporary("the file changed while it was fetched; starting over", 0)
    if int(content_range[1]) != start:
        part.restart(None, None, None)
        raise _Temporary(f"the server sent bytes from {content_range[1]} on, not from {start}; starting over")


def _append(response: urllib3.BaseHTTPResponse, part: _Part, wanted: int | None, bar: tqdm) -> None:
    logged = time.monotonic()
    with open(part.path, "ab") as file:
        size = file.tell()
        while wanted is None or size < wanted:
            try:
                chunk = response.read1(_CHUNK if wanted is None else min(_CHUNK, wanted - size))
            except (HTTPError, OSError) as error:
                file.flush()
                raise _Temporary(f"the connection was cut at {size:,} bytes ({error})") from None
            if not chunk:
                return
            file.write(chunk)
            size += len(chunk)
            bar.update(len(chunk))
            if bar.disable and time.monotonic() - logged > 30:
                logged = time.monotonic()
                log.info("%s: %s of %s bytes", part.path, f"{size:,}", f"{wanted:,}" if wanted else "unknown")


def _refuse(url: str, response: urllib3.BaseHTTPResponse, part: _Part) -> None:
    """Always raises: _Temporary for a state that may pass, VocapError for one that does not."""
    answer = f"{response.status} {response.reason}"
    if response.status == 416 and part.size:
        part.restart(None, None, None)
        raise _Temporary("the file is shorter than what had been fetched; starting over", 0)
    if response.status in (408, 429) or response.status >= 500:
        try:
            wait_s = urllib3.Retry().get_retry_after(response)
        except InvalidHeader:
            wait_s = None
        raise _Temporary(answer, wait_s)
    remedy = "check the address and the code of the language in it; dated dumps go away after some weeks"
    raise VocapError(f"{url}: {answer}; {remedy}")


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
