"""A server of files on loopback that keeps to byte ranges, counts what it sends, and
fails as told; the base of the local Hub.
"""

import hashlib
import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

FOREVER = 10**9
BODY = b"".join(b"%06d some line of text\n" % number for number in range(20_000))


class Request(NamedTuple):
    """What a client asked for (`condition`: If-Range), and the bytes of content that it
    was sent.
    """

    method: str
    path: str
    range: str | None
    condition: str | None
    status: int
    sent: int


@dataclass
class Fault:
    """What happens `times` times to requests whose path and query hold `match`, after
    the first `after` of them.

    `status`: of an answer without content, with `headers`; 0: the content, or `body` in its
    place, of which the connection ends behind `cut` bytes. `whole`: the Range is ignored;
    `unconditional`: If-Range is; `untagged`: no ETag. `delay_s`: before the answer.
    """

    match: str
    status: int = 0
    headers: dict[str, str] | None = None
    cut: int | None = None
    body: bytes | None = None
    whole: bool = False
    unconditional: bool = False
    untagged: bool = False
    delay_s: float = 0.0
    times: int = FOREVER
    after: int = 0
    method: str = ""


@dataclass(frozen=True)
class Content:
    """Bytes, or a file on this machine, with the entity tag."""

    data: bytes | Path

    @property
    def size(self) -> int:
        return len(self.data) if isinstance(self.data, bytes) else self.data.stat().st_size

    @property
    def etag(self) -> str:
        if isinstance(self.data, bytes):
            return hashlib.sha256(self.data).hexdigest()
        found = self.data.stat()
        return f"{found.st_mtime_ns:x}-{found.st_size:x}"

    def send(self, stream, start: int, end: int) -> None:
        if isinstance(self.data, bytes):
            stream.write(self.data[start:end])
            return
        with open(self.data, "rb") as file:
            file.seek(start)
            while start < end:
                block = file.read(min(end - start, 1 << 18))
                stream.write(block)
                start += len(block)


class RangeServer(ThreadingHTTPServer):
    """Serves `files` by path (without its first slash), or the files below `folder`."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, folder: Path | None = None, handler: type | None = None) -> None:
        super().__init__(("127.0.0.1", 0), handler or RangeHandler)
        self.folder = folder
        self.files: dict[str, bytes] = {}
        self.faults: list[Fault] = []
        self.seen: list[Request] = []
        self.lock = threading.Lock()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def url(self, path: str) -> str:
        return f"{self.address}/{path}"

    def handle_error(self, request, client_address) -> None:
        """A client that hangs up is no error of the server's."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def find(self, path: str) -> Content | None:
        """The content at a path."""
        if path in self.files:
            return Content(self.files[path])
        file = None if self.folder is None else self.folder / path
        return Content(file) if file is not None and file.is_file() else None

    def fault_of(self, method: str, address: str) -> Fault | None:
        """The fault of this request, which it uses up."""
        with self.lock:
            for fault in self.faults:
                if fault.match not in address or fault.method not in ("", method):
                    continue
                if fault.after:
                    fault.after -= 1
                elif fault.times:
                    fault.times -= 1
                    return fault
        return None

    def asked(self, match: str = "") -> list[Request]:
        """The requests for paths that hold `match`."""
        return [request for request in self.seen if match in request.path]

    def reset(self) -> None:
        """Forget faults and requests."""
        self.faults.clear()
        self.seen.clear()


class RangeHandler(BaseHTTPRequestHandler):
    """Answers GET and HEAD with files, whole or in part."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: RangeServer
    fault: Fault | None = None

    def log_message(self, *arguments) -> None:
        pass

    def do_GET(self) -> None:
        self.fault = self.server.fault_of(self.command, self.path)
        if self.fault and self.fault.delay_s:
            time.sleep(self.fault.delay_s)
        if self.fault and self.fault.status:
            self.refuse(self.fault.status, self.fault.headers)
            return
        self.answer()

    do_HEAD = do_POST = do_GET

    def answer(self) -> None:
        """Answer a request that is not to fail."""
        content = self.server.find(self.path.partition("?")[0].lstrip("/"))
        if content is None:
            self.refuse(404)
        else:
            self.send_content(content)

    def note(self, status: int, sent: int = 0) -> None:
        asked = (self.headers["Range"], self.headers["If-Range"])
        with self.server.lock:
            self.server.seen.append(Request(self.command, self.path, *asked, status, sent))

    def refuse(self, status: int, headers: dict[str, str] | None = None) -> None:
        """An answer without content."""
        self.note(status)
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def send_object(self, value: object, headers: dict[str, str] | None = None) -> None:
        """An answer of JSON."""
        body = json.dumps(value).encode()
        self.note(200)
        self.send_response(200)
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_content(self, content: Content, headers: dict[str, str] | None = None) -> None:
        """The content, whole or the range that was asked for; cut short by a fault."""
        fault = self.fault or Fault("")
        content = content if fault.body is None else Content(fault.body)
        size, etag = content.size, f'"{content.etag}"'
        accepted = (None, self.headers["If-Range"] if fault.unconditional else etag)
        bounds = None if fault.whole else self.bounds(size, accepted)
        if bounds is not None and bounds[0] >= size:
            self.refuse(416, {"Content-Range": f"bytes */{size}"})
            return
        start, end = bounds or (0, size)
        stop = end if fault.cut is None else min(end, start + fault.cut)
        status = 206 if bounds else 200
        self.note(status, 0 if self.command == "HEAD" else stop - start)
        self.send_response(status)
        if bounds:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        sent = {"Accept-Ranges": "bytes", "Content-Length": str(end - start)} | (headers or {})
        if not fault.untagged:
            sent["ETag"] = etag
        for name, value in sent.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            content.send(self.wfile, start, stop)
        self.close_connection = self.close_connection or stop < end

    def bounds(self, size: int, accepted: tuple[str | None, ...]) -> tuple[int, int] | None:
        """The range that was asked for, the end excluded; None for the whole."""
        asked = self.headers["Range"]
        if not asked or self.headers["If-Range"] not in accepted:
            return None
        first, _, last = asked.removeprefix("bytes=").partition("-")
        if not first:
            return max(0, size - int(last)), size
        return int(first), min(size, int(last) + 1) if last else size


@contextmanager
def at_work(server: RangeServer) -> Iterator[RangeServer]:
    """The server at work, in a thread."""
    with server:
        threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()
        yield server
        server.shutdown()
