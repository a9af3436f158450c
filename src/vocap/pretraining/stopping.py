"""Stopping in good order: a signal before the time limit, a checkpoint, an exit status of its own."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from vocap.errors import VocapError

# SIGURG: SLURM's `--signal=URG@300`, which every other process ignores; SIGTERM: its end; SIGINT: Ctrl-C
SIGNALS = (signal.SIGURG, signal.SIGTERM, signal.SIGINT)


class Stopped(VocapError):
    """The run was told to stop and has left a checkpoint; to be called again. Status: EX_TEMPFAIL."""

    exit_code = 75


class StopRequest:
    """Whether this process was told to stop, and by which signal."""

    name = ""

    def __init__(self) -> None:
        self.before = {number: signal.getsignal(number) for number in SIGNALS}

    def __call__(self, number: int, frame: object) -> None:
        self.name = signal.Signals(number).name
        signal.signal(signal.SIGINT, self.before[signal.SIGINT])  # a second Ctrl-C ends it at once


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Note the signals in a `StopRequest` instead of dying of them."""
    request = StopRequest()
    try:
        for number in SIGNALS:
            signal.signal(number, request)
        yield request
    finally:
        for number, handler in request.before.items():
            signal.signal(number, handler)
