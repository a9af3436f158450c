"""Progress of long work on standard error: lines in a log, a bar on a terminal."""

import sys
import threading
import time
from pathlib import Path

from vocap.errors import log

FIRST_S = 5.0  # shorter work is not reported
LONGEST_S = 60.0  # from one line to the next, at most: the time doubles up to it


class _Clock:
    """The time of the next line: after 5 s, then after 10 s more, 20 s more, up to one
    a minute.
    """

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._pause = FIRST_S
        self._next = self._start + FIRST_S

    def due(self) -> float | None:
        """The seconds since the start where a line is due, else None."""
        now = time.monotonic()
        if now < self._next:
            return None
        self._pause = min(2 * self._pause, LONGEST_S)
        self._next = now + self._pause
        return now - self._start


class Progress:
    """Progress within a file, or what else `whole` names, in lines."""

    def __init__(self, name: str | Path, whole: str = "the file"):
        self.name, self.whole = name, whole
        self._clock = _Clock()

    def tell(self, lines: int, consumed: int, size: int, more: str = "") -> None:
        """Note that `lines`, and `more`, were taken from `consumed` of `size` bytes (0:
        unknown) of the whole.
        """
        elapsed = self._clock.due()
        if elapsed is None:
            return
        share = ""
        if 0 < consumed <= size:
            left = elapsed * (size - consumed) / consumed
            share = f", {consumed / size:.0%} of {self.whole}, about {left:.0f} s left"
        log.info("%s: %s lines%s in %.0f s%s", self.name, f"{lines:,}", more, elapsed, share)


class Steps:
    """Progress in `total` steps of about equal time, with the time left.

    On a terminal a bar that is removed at the end, elsewhere lines. May be called from
    several threads.
    """

    def __init__(self, name: str | Path, total: int) -> None:
        self.name, self.total, self.done = name, max(total, 1), 0
        self._clock, self._bar, self._lock = _Clock(), None, threading.Lock()
        if sys.stderr.isatty():
            from tqdm import tqdm

            form = "{desc}: {percentage:3.0f} % |{bar}| {elapsed}, {remaining} left"
            self._bar = tqdm(
                desc=str(name), total=self.total, delay=1, leave=False, bar_format=form
            )

    def advance(self) -> None:
        """One step more is done; a step beyond the total is not counted, as totals may
        be estimates.
        """
        with self._lock:
            if self.done == self.total:
                return
            self.done += 1
            if self._bar is not None:
                self._bar.update()
            elif (elapsed := self._clock.due()) is not None:
                left = elapsed * (self.total - self.done) / self.done
                share = self.done / self.total
                log.info(
                    "%s: %.0f %% in %.0f s, about %.0f s left",
                    self.name,
                    100 * share,
                    elapsed,
                    left,
                )

    def __enter__(self) -> "Steps":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
