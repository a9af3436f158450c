"""Downloads over http and https that resume after an interruption, in the same call or
in a later one.
"""

import json
import re
import time
from pathlib import Path
from typing import Any, NoReturn

import requests
from tqdm import tqdm
from urllib3.exceptions import HTTPError

from vocap import __version__
from vocap.errors import SettingError, UsageError, VocapError, log
from vocap.files.io import file_sha256, write_text

RETRIES = 6  # in a row without new bytes; with waits of 1, 2, 4, ... s about a minute
BACKOFF_S = 1.0
LONGEST_WAIT_S = 300  # that a server may ask for
_CHUNK = 1 << 16
# HTTPError: of the body, which requests leaves to urllib3
_CUT = (requests.ConnectionError, requests.Timeout, HTTPError)
_PASSING = (408, 429, 500, 502, 503, 504)  # states of HTTP that may pass


def download(
    url: str,
    output: Path,
    sha256: str | None = None,
    limit_bytes: int | None = None,
    timeout_s: float = 60,
) -> dict[str, Any]:
    """Fetch `url` to `output`, all of it or its first `limit_bytes`; returns the
    content of `{output}.json`.

    The bytes received are kept in `{output}.part` and resumed with If-Range, so that
    two versions of a file never mix. `sha256`: expected, in hexadecimal; `timeout_s`:
    without an answer or a byte, after which an attempt has failed. The returned dict
    has `url`, `etag`, `total_bytes` (None where the server does not name it),
    `fetched_bytes` and `complete` (whether the file was fetched to its end). Raises
    UsageError for an address or a hash that is none, VocapError, naming the address,
    where the server refuses (404) or stays unreachable, or the SHA-256 differs.
    """
    if sha256 is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise SettingError("sha256", f"{sha256}: not 64 hexadecimal digits")
    output.parent.mkdir(parents=True, exist_ok=True)
    part = _Part(output, url)
    try:
        part.fetch(limit_bytes, timeout_s)
    except ValueError as error:  # of requests for an address, and of its coding
        raise UsageError(
            f"{url}: no http:// or https:// address, or it leads to none ({error}); correct it, or "
            "give a file here as path"
        ) from None
    except (requests.RequestException, HTTPError) as error:
        raise VocapError(
            f"{url}: {_reason(error)}; {part.size:,} bytes are kept in {part.path}: "
            "the same command resumes from there later"
        ) from None
    found = file_sha256(part.path) if sha256 else None
    if sha256 and found != sha256.lower():
        part.remove()
        raise VocapError(
            f"{url}: its SHA-256 is {found}, not {sha256.lower()}; check the address and the hash"
        )
    complete = part.size == part.total if part.total is not None else part.size != limit_bytes
    note = {"url": url, "etag": part.version, "total_bytes": part.size if complete else part.total}
    note |= {"fetched_bytes": part.size, "complete": complete}
    write_text(f"{output}.json", json.dumps(note, indent=2) + "\n")
    part.path.replace(output)
    part.remove()
    return note


class _Part:
    """The bytes received so far, `{output}.part`, and which file they are of,
    `{output}.part.json`.

    `version`: its ETag, else its date; without either nothing can be resumed safely.
    `total`: its length, or None.
    """

    def __init__(self, output: Path, url: str) -> None:
        self.path = output.with_name(output.name + ".part")
        self._note = output.with_name(output.name + ".part.json")
        self.url = url
        self.version = self.total = None
        note = json.loads(self._note.read_bytes()) if self._note.exists() else {}
        if note.get("url") == url:
            self.version, self.total = note["version"], note["total"]

    @property
    def size(self) -> int:
        """Bytes received."""
        return self.path.stat().st_size if self.path.exists() else 0

    def restart(self, version: str | None, total: int | None) -> None:
        """Delete the bytes received and record the version that follows."""
        self.remove()
        self.version, self.total = version, total
        if version:
            write_text(
                self._note, json.dumps({"url": self.url, "version": version, "total": total}) + "\n"
            )

    def remove(self) -> None:
        """Remove both files."""
        self.path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    def fetch(self, limit_bytes: int | None, timeout_s: float) -> None:
        """Fetch what is not there yet; raises errors of requests and urllib3 once
        attempts bring nothing more.
        """
        failures = best = 0
        with tqdm(desc=self.path.stem, unit="B", unit_scale=True, disable=None) as bar:
            while True:
                try:
                    return self._attempt(limit_bytes, timeout_s, bar)
                except _CUT as error:
                    # a connection that is cut after it brought bytes is no reason to
                    # stop
                    failures = 0 if self.size > best else failures + 1
                    best = max(best, self.size)
                    if failures > RETRIES:
                        raise
                    log.warning(
                        "%s: %s; again from byte %s", self.url, _reason(error), f"{self.size:,}"
                    )
                    time.sleep(BACKOFF_S * 2**failures)

    def _attempt(self, limit_bytes: int | None, timeout_s: float, bar: "tqdm[NoReturn]") -> None:
        """One request from the end of the file on."""
        if not self.version:
            self.restart(None, None)
        start = self.size
        headers = {"User-Agent": f"vocap/{__version__}", "Accept-Encoding": "identity"}
        if start or limit_bytes:
            headers["Range"] = f"bytes={start}-{limit_bytes - 1 if limit_bytes else ''}"
        if start and self.version:
            headers["If-Range"] = self.version
        with requests.get(self.url, headers=headers, stream=True, timeout=timeout_s) as response:
            self._position(response, start)
            bar.total, bar.n = self.total, self.size
            with open(self.path, "ab") as file:
                for chunk in response.raw.stream(_CHUNK, decode_content=False):
                    file.write(chunk if limit_bytes is None else chunk[: limit_bytes - file.tell()])
                    bar.update(len(chunk))
                    if file.tell() == limit_bytes:
                        return

    def _position(self, response: requests.Response, start: int) -> None:
        """Bring the file to the start of the response's body: its end, or an empty
        file.
        """
        headers, status = response.headers, response.status_code
        etag = headers.get("ETag", "W/")
        version = headers.get("Last-Modified") if etag.startswith("W/") else etag
        place = re.fullmatch(r"bytes (\d+)-\d+/(.+)", headers.get("Content-Range", ""))
        length = place[2] if place else headers.get("Content-Length", "")
        answer = f"{status} {response.reason}"
        if status in _PASSING:
            wait = headers.get("Retry-After", "0")
            time.sleep(min(LONGEST_WAIT_S, int(wait) if wait.isdecimal() else 0))
            raise requests.ConnectionError(answer)
        # Range ignored, or another version than the one begun; or its beginning
        if status == 200 or (status == 206 and place and not start):
            self.restart(version, int(length) if length.isdecimal() else None)
        elif status not in (206, 416):
            raise VocapError(
                f"{self.url}: {answer}; check the address and the code of the language in it; "
                "dated dumps go away after some weeks"
            )
        elif not place or int(place[1]) != start or version not in (None, self.version):
            self.restart(None, None)
            raise requests.ConnectionError("the file changed while it was fetched; starting over")


def _reason(error: Exception) -> object:
    """What happened, without the description of the connection that urllib3 adds."""
    inner = error.args[0] if error.args else error
    return getattr(inner, "reason", None) or inner
