"""Ctrl-C and SIGTERM end a command wherever it is, even where a library swallows the exception that they raise.

A signal raises KeyboardInterrupt in whatever code runs. In a callback, below a bare `except` or in a destructor
(thousands run while transformers imports regex) that exception is lost, and the command would run to its end.
So it is raised again until it arrives. While a module is imported it waits: the C++ code of torch that runs then
ends the process with an abort at any exception of Python's.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
AGAIN_S = 0.5  # between two attempts
AFTER_IMPORT_S = 0.02  # as long as a module is being imported
IMPORT = "<frozen importlib._bootstrap>"  # the file of the frames of an import
PATIENCE_S = 2.0  # after which another signal does not wait for the cleaning up any more
LINE = "vocap: interrupted; nothing half-written was left"

_received: tuple[int, float] | None = None  # the first signal, and when it came
_said = False  # LINE


def received() -> bool:
    """Whether a signal has come that ends this command."""
    return _received is not None


def exit_after(run: Callable[[], int]) -> None:
    """Call `run` and exit with the status that it returns; after a signal with one line, and 128 + its number."""
    global _received, _said
    _install()
    status = 1
    try:
        try:
            status = run()
        except BaseException:  # a library may have made another error of the interrupt
            if not received():
                raise
        finally:
            _end()
    except KeyboardInterrupt:
        _received = _received or (signal.SIGINT, time.monotonic())
        _end()
    if _received is not None:
        if not _said:
            _said = True
            print(LINE, file=sys.stderr, flush=True)
        status = 128 + _received[0]
    sys.exit(status)


@contextmanager
def at_once() -> Iterator[None]:
    """In the block a signal ends the process as by default: at once, and without the line.

    For a long call of C code that keeps Python's lock: until it returns no handler would run.
    """
    ours = [number for number in SIGNALS if signal.getsignal(number) is _interrupt]
    try:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
    except ValueError:  # in another thread than the main one, which alone has signals and is not kept waiting
        ours = []
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, _interrupt)


def _install() -> None:
    try:
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as of a job in the background
                signal.signal(number, _interrupt)
        signal.signal(signal.SIGALRM, _again)
        sys.unraisablehook = _unraisable
    except ValueError:  # not called in the main thread, which alone has signals
        return


def _end() -> None:
    """Raise no exception from here on: a signal ends this process, as nothing is left to clean up."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number in SIGNALS:
        if signal.getsignal(number) is _interrupt:
            signal.signal(number, _leave)


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _received
    if _received is None:
        _received = (number, time.monotonic())
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S, AGAIN_S)
    elif time.monotonic() - _received[1] > PATIENCE_S:
        _leave(number, frame)
    _raise(frame)


def _leave(number: int, frame: FrameType | None) -> None:
    """End at once, with the line unless it has been printed."""
    if not _said:
        line = LINE.split(";")[0] if signal.getsignal(number) is _interrupt else LINE
        os.write(2, f"{line}\n".encode())
    os._exit(128 + (_received[0] if _received else number))


def _again(number: int, frame: FrameType | None) -> None:
    if received():
        _raise(frame)


def _unraisable(lost) -> None:
    """Nothing after a signal: a destructor lost the interrupt, which comes again, or its object was half built."""
    if not received():
        sys.__unraisablehook__(lost)


def _raise(frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, but neither into an import nor into the code that cleans up after it."""
    while frame is not None:
        if frame.f_code.co_filename == IMPORT:
            signal.setitimer(signal.ITIMER_REAL, AFTER_IMPORT_S, AGAIN_S)
            return
        frame = frame.f_back
    error = sys.exception()
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return
        error = error.__context__
    raise KeyboardInterrupt
