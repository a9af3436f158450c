"""Lines on standard error about work that takes long."""

import logging
import os
import time

FIRST_S = 5.0  # nothing is said of shorter work
LONGEST_S = 60.0  # from one line to the next, at most: the time doubles up to it

logger = logging.getLogger(__name__)


class Progress:
    """How much of a file is done: a line after 5 s, then after 10 s more, 20 s more, up to one a minute."""

    def __init__(self, name: str | os.PathLike):
        self.name = name
        self._start = time.monotonic()
        self._pause = FIRST_S
        self._next = self._start + FIRST_S

    def tell(self, lines: int, consumed: int, size: int) -> None:
        """Note that `lines` were taken from `consumed` of `size` bytes (0: unknown) of the file."""
        now = time.monotonic()
        if now < self._next:
            return
        self._pause = min(2 * self._pause, LONGEST_S)
        self._next = now + self._pause
        elapsed = now - self._start
        share = ""
        if 0 < consumed <= size:
            left = elapsed * (size - consumed) / consumed
            share = f", {consumed / size:.0%} of the file, about {left:.0f} s left"
        logger.info("%s: %s lines in %.0f s%s", self.name, f"{lines:,}", elapsed, share)
