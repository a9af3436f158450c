"""A server on this machine with the faults of real servers."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BODY = b"".join(b"%06d some line of text\n" % number for number in range(20_000))


class Server(ThreadingHTTPServer):
    """Serves `bodies` by path, `other` at all other paths, nothing if it is None;
    `seen`: path, Range, If-Range.

    The fault is that of `faults`, else the one that the path names.
    """

    daemon_threads = True

    def __init__(self, other):
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen, self.bodies, self.faults, self.other = [], {}, {}, other

    def url(self, path):
        return f"http://127.0.0.1:{self.server_port}/{path}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        path = self.path.strip("/")
        earlier = sum(1 for seen, _, _ in self.server.seen if seen == path)
        self.server.seen.append((path, self.headers["Range"], self.headers["If-Range"]))
        fault = self.server.faults.get(path, path)
        getattr(self, f"do_{fault.replace('-', '_')}", self.fine)(earlier)

    def fine(self, earlier=0, body=None, etag='"one"', cut=None, ranges=True, length=True):
        body = (
            self.server.bodies.get(self.path.strip("/"), self.server.other)
            if body is None
            else body
        )
        if body is None:
            self.send_error(404)
            return
        start, end, status = 0, len(body), 200
        asked = self.headers["Range"]
        if ranges and asked and self.headers["If-Range"] in (None, etag):
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start, end, status = (
                int(first),
                min(len(body), int(last) + 1) if last else len(body),
                206,
            )
        self.send_response(status)
        if etag:
            self.send_header("ETag", etag)
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(body)}")
        if length:
            self.send_header("Content-Length", str(end - start))
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body[start:end] if cut is None else body[start : min(end, start + cut)])
        self.close_connection = cut is not None or not length

    def do_HEAD(self):
        self.server.seen.append((self.path.strip("/"), "HEAD", None))
        self.send_error(404)

    def do_cut(self, earlier):
        self.fine(cut=150_000 if earlier < 3 else None)

    def do_cut_always(self, earlier):
        self.fine(cut=0)

    def do_cut_without_etag(self, earlier):
        self.fine(cut=150_000 if earlier < 1 else None, etag=None)

    def do_range_ignored(self, earlier):
        self.fine(cut=150_000 if earlier < 1 else None, ranges=False)

    def do_changed(self, earlier):
        if earlier < 1:
            self.fine(body=BODY[::-1], etag='"old"', cut=150_000)
        else:
            self.fine(etag='"new"')

    def do_changed_unasked(self, earlier):
        """A server that ignores If-Range and sends the rest of another version."""
        if earlier < 1:
            self.fine(body=BODY[::-1], etag='"old"', cut=150_000)
            return
        del self.headers["If-Range"]
        self.fine(etag='"new"')

    def do_busy(self, earlier):
        if earlier >= 2:
            self.fine()
            return
        self.send_response(503)
        self.send_header("Retry-After", "1")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_broken(self, earlier):
        self.send_error(500)

    def do_gone(self, earlier):
        self.send_error(404)

    def redirect(self, target):
        self.send_response(302)
        self.send_header("Location", target)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_to_fine(self, earlier):
        self.redirect("/cut")


@contextmanager
def serving(other=BODY):
    """A server at work, in a thread."""
    with Server(other) as server:
        threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()
        yield server
        server.shutdown()
