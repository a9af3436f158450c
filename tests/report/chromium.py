"""A real browser to look at pages with: Debian's Chromium without a window, driven by
Playwright.
"""

import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

BROWSER = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
# marks of the tests that use it: one worker has the browser
LIVE = [
    pytest.mark.skipif(BROWSER is None, reason="no chromium here: install Debian's chromium"),
    pytest.mark.xdist_group("browser"),
]
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]


class Chromium:
    """The process; a context manager. `profile` is a folder of its own."""

    _driver, _opened = None, 0  # one driver for all browsers of this process, while there are any

    def __init__(self, profile: Path):
        if not Chromium._opened:
            Chromium._driver = sync_playwright().start()
        Chromium._opened += 1
        launch = Chromium._driver.chromium.launch
        self._browser = launch(executable_path=BROWSER, args=OPTIONS, downloads_path=profile)

    def __enter__(self) -> "Chromium":
        return self

    def __exit__(self, *_: object) -> None:
        self._browser.close()
        Chromium._opened -= 1
        if not Chromium._opened:
            Chromium._driver.stop()

    def open(self, url: str, width: int = 1280, height: int = 900, **media: Any) -> "Tab":
        """A tab of that size in CSS pixels with the page loaded; below 500 px wide it
        is a phone's.

        `media` sets what media queries ask for: color_scheme="dark",
        reduced_motion="reduce", device_scale_factor=2.
        """
        size = {"width": width, "height": height}
        return Tab(
            self._browser.new_context(viewport=size, is_mobile=width < 500, **media).new_page(), url
        )


class Tab:
    """One page. Errors of its scripts and anything it wrote to the console are in
    `console`.
    """

    def __init__(self, page: Any, url: str):
        self.console: list[str] = []
        page.on("console", lambda message: self.console.append(message.text))
        page.on("pageerror", lambda error: self.console.append(str(error)))
        self._page, self._session = page, page.context.new_cdp_session(page)
        page.goto(url)

    def close(self) -> None:
        self._page.context.close()

    def __enter__(self) -> "Tab":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        assert kind or self.console == []
        self.close()

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, awaited if it is a promise; not by `eval`, which
        the page forbids.
        """
        options = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        answer = self._session.send("Runtime.evaluate", options)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"])[:600])
        return answer["result"].get("value")

    def until(self, expression: str, seconds: float = 600) -> Any:
        """Wait for an expression to be true; its value. Raises TimeoutError."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := self.evaluate(expression):
                return value
            self._page.wait_for_timeout(50)
        raise TimeoutError(f"never true: {expression}")

    def press(self, key: str, times: int = 1) -> None:
        """A key as the keyboard gives it, down and up: Tab, Shift+Tab, Enter,
        ArrowLeft, or one character.
        """
        for _ in range(times):
            self._page.keyboard.press(key)

    def screenshot(self, clip: dict[str, float]) -> bytes:
        """PNG of a rectangle of the page (`x`, `y`, `width`, `height`)."""
        return self._page.screenshot(clip=clip, full_page=True)

    def accessible(self) -> list[dict[str, Any]]:
        """The accessibility tree of screen readers: role, name and properties of the
        nodes not ignored.
        """
        nodes = self._session.send("Accessibility.getFullAXTree")["nodes"]
        return [
            {
                "role": node["role"]["value"],
                "name": node.get("name", {}).get("value", ""),
                **{one["name"]: one["value"].get("value") for one in node.get("properties", [])},
            }
            for node in nodes
            if not node.get("ignored")
        ]
