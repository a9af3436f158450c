"""Stop requests: a signal before the time limit, a checkpoint, a distinct exit status."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from vocap.errors import VocapError

# SIGURG: SLURM's `--signal=URG@300`, ignored by other processes; SIGTERM: the end of its time; SIGINT: Ctrl-C
SIGNALS = (signal.SIGURG, signal.SIGTERM, signal.SIGINT)


class Stopped(VocapError):
    """The run stopped on request after a checkpoint; call it again. Exit status: EX_TEMPFAIL."""

    exit_code = 75


class StopRequest:
    """The stop request of this process; `name` of the signal, if any."""

    name = ""

    def __init__(self) -> None:
        self.before = {number: signal.getsignal(number) for number in SIGNALS}

    def __call__(self, number: int, frame: object) -> None:
        self.name = signal.Signals(number).name
        signal.signal(signal.SIGINT, self.before[signal.SIGINT])  # a second Ctrl-C ends it at once


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Record the signals in a `StopRequest` instead of ending on them."""
    request = StopRequest()
    try:
        for number in SIGNALS:
            signal.signal(number, request)
        yield request
    finally:
        for number, handler in request.before.items():
            signal.signal(number, handler)
