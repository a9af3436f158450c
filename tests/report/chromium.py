"""A real browser to look at pages with: Chromium without a window, driven by its DevTools protocol over a pipe.

Keys, scrolling, the accessibility tree, paper and screens of any width: what `--dump-dom` cannot do.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars"),
)
SHIFT = 8
KEYS = {  # name: code of the key, its number in Windows, the text it types
    "Tab": ("Tab", 9, ""),
    "Enter": ("Enter", 13, "\r"),
    " ": ("Space", 32, " "),
    "Escape": ("Escape", 27, ""),
    "End": ("End", 35, ""),
    "Home": ("Home", 36, ""),
    "ArrowLeft": ("ArrowLeft", 37, ""),
    "ArrowUp": ("ArrowUp", 38, ""),
    "ArrowRight": ("ArrowRight", 39, ""),
    "ArrowDown": ("ArrowDown", 40, ""),
}


class Chromium:
    """The process; a context manager. `profile` is a folder of its own."""

    def __init__(self, profile: Path):
        ours, theirs = os.pipe(), os.pipe()
        # the browser reads descriptor 3 and writes 4: copies far from both first
        read, write = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 30) for end in (ours[0], theirs[1]))
        os.close(ours[0])
        os.close(theirs[1])

        def join() -> None:
            os.dup2(read, 3)
            os.dup2(write, 4)

        self._process = subprocess.Popen(
            [BROWSER, *OPTIONS, "--remote-debugging-pipe", f"--user-data-dir={profile}"],
            preexec_fn=join,
            pass_fds=(3, 4),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read)
        os.close(write)
        self._to, self._from = ours[1], theirs[0]
        self._rest, self._number = b"", 0
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> "Chromium":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.call("Browser.close")
            self._process.wait(10)
        except (OSError, EOFError, TimeoutError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def call(self, method: str, session: str | None = None, seconds: float = 120, **params: Any) -> dict[str, Any]:
        """One command and its answer; events that come meanwhile are kept in `events`.

        Raises RuntimeError for the browser's own errors, TimeoutError, EOFError when it has gone.
        """
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        message |= {"sessionId": session} if session else {}
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        until = time.monotonic() + seconds
        while True:
            answer = self._read(until)
            if answer.get("id") != self._number:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def _read(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._from], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self._from, 1 << 20)
            if not more:
                raise EOFError("the browser has gone")
            self._rest += more
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def open(self, url: str, width: int = 1280, height: int = 900, script: str = "", **media: str) -> "Tab":
        """A tab of that size with the page loaded; `script` runs before the page's own.

        `media` sets what media queries ask for, with `_` for `-`: prefers_color_scheme="dark".
        """
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, session, target)
        for domain in ("Page", "Runtime", "Log"):
            tab.call(f"{domain}.enable")
        tab.call("Performance.enable", timeDomain="threadTicks")  # durations are processor time
        tab.resize(width, height)
        features = [{"name": name.replace("_", "-"), "value": value} for name, value in media.items()]
        tab.call("Emulation.setEmulatedMedia", features=features)
        if script:
            tab.call("Page.addScriptToEvaluateOnNewDocument", source=script)
        tab.call("Page.navigate", url=url)
        tab.until("document.readyState === 'complete' && location.href !== 'about:blank'")
        return tab


class Tab:
    """One page. Errors of its scripts and anything it wrote to the console are in `console`."""

    def __init__(self, browser: Chromium, session: str, target: str):
        self._browser, self._session, self._target = browser, session, target

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **params)

    def close(self) -> None:
        self._browser.call("Target.closeTarget", targetId=self._target)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, awaited if it is a promise."""
        options = {"returnByValue": True, "awaitPromise": True}
        answer = self.call("Runtime.evaluate", expression=expression, **options)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:600])
        return answer["result"].get("value")

    def until(self, expression: str, seconds: float = 60) -> Any:
        """Wait for an expression to be true; its value. Raises TimeoutError."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := self.evaluate(expression):
                return value
            time.sleep(0.05)
        raise TimeoutError(f"never true: {expression}")

    def press(self, key: str, times: int = 1, modifiers: int = 0) -> None:
        """A key as the keyboard gives it, down and up: a name of KEYS, or one character."""
        code, number, text = KEYS.get(key, ("", 0, key))
        event = {"key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": modifiers}
        typed = {"text": text, "unmodifiedText": text} if text else {}
        for _ in range(times):
            self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **event, **typed)
            self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def resize(self, width: int, height: int, scale: float = 1) -> None:
        """The window in CSS pixels; below 500 px wide it is a phone's."""
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 500}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def screenshot(self, clip: dict[str, float] | None = None, scale: float = 1) -> bytes:
        """PNG of the window, or of a rectangle of the page (`x`, `y`, `width`, `height`)."""
        more = {"clip": {**clip, "scale": scale}, "captureBeyondViewport": True} if clip else {}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", **more)["data"])

    def pdf(self) -> bytes:
        """The page on A4 paper."""
        paper = {"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": True}
        return base64.b64decode(self.call("Page.printToPDF", **paper)["data"])

    def accessible(self) -> list[dict[str, Any]]:
        """The accessibility tree of screen readers: role, name and properties of the nodes not ignored."""
        self.call("Accessibility.enable")  # only here: the tree of a large page costs seconds
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        self.call("Accessibility.disable")
        return [
            {
                "role": node["role"]["value"],
                "name": node.get("name", {}).get("value", ""),
                **{one["name"]: one["value"].get("value") for one in node.get("properties", [])},
            }
            for node in nodes
            if not node.get("ignored")
        ]

    @property
    def console(self) -> list[str]:
        """The messages of the page's console, exceptions included, in order."""
        self.call("Runtime.evaluate", expression="0")  # whatever was said before this has arrived after it
        found = []
        for event in self._browser.events:
            params = event.get("params", {})
            if event.get("sessionId") != self._session:
                continue
            if event["method"] == "Runtime.consoleAPICalled":
                found.append(" ".join(str(one.get("value", one.get("description"))) for one in params["args"]))
            elif event["method"] == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"].get("exception", {}).get("description")))
            elif event["method"] == "Log.entryAdded":
                found.append(params["entry"]["text"])
        return found
