"""The entry of the `vocap` command, and its end after Ctrl-C or SIGTERM: one line, exit
status 130 or 143.

It can be interrupted before anything else is imported.
"""

import atexit
import ctypes
import gc
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from traceback import walk_stack
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
LINE = "vocap: interrupted; nothing half-written was left"
# of mallopt(3)
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
MIB = 1 << 20


def exit_after(run: Callable[[], int]) -> None:
    """Call `run` and exit with the status that it returns; after a signal with one
    line, and 128 + its number.
    """
    number: int = signal.SIGINT

    def interrupt(received: int, frame: FrameType | None) -> None:
        nonlocal number
        number = received
        if _must_finish(frame):
            threading.Timer(0.05, signal.raise_signal, [received]).start()
            return
        raise KeyboardInterrupt

    for each in SIGNALS:
        if signal.getsignal(each) is not signal.SIG_IGN:  # as of a job in the background
            signal.signal(each, interrupt)
    try:
        status = run()
    except KeyboardInterrupt:
        print(LINE, file=sys.stderr, flush=True)
        status = 128 + number
    atexit.register(_ignore_signals)
    # Python would search all objects for cycles as it ends: 0.1 s, with torch 0.9 s
    gc.freeze()
    sys.exit(status)


def _ignore_signals() -> None:
    """All is written, and Python resets its handlers as it ends: a signal that comes then
    would make a failure of the status.
    """
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)


def _must_finish(frame: FrameType | None) -> bool:
    """Whether an exception raised in a frame might be lost.

    Callbacks of llvmlite swallow it, and compiled loops go on without the object for which
    they ask Python (`_numba_unpickle`). An import swallows it too (`except:` of a library),
    or makes another error of it, or keeps a lock for which other threads wait; the
    compiling of loops that a module asks for (numba) can take long, and is interrupted.
    """
    code = [one.f_code for one, _ in walk_stack(frame)]
    files = [each.co_filename for each in code]
    if any("llvmlite" in each.co_filename or each.co_name == "_numba_unpickle" for each in code):
        return True
    ends = (file for file in files if "/numba/" in file or "<frozen importlib" in file)
    return "<frozen importlib" in next(ends, "")


@contextmanager
def at_once() -> Iterator[None]:
    """In the block a signal ends the process as by default, without the line.

    For a long call of C code that keeps Python's lock: until it returns no handler
    would run.
    """
    if threading.current_thread() is not threading.main_thread():  # which alone has signals
        yield
        return
    handlers = {number: signal.signal(number, signal.SIG_DFL) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def reuse_freed_memory() -> None:
    """Let malloc of glibc keep the memory of arrays below 64 MiB for later ones.

    By default it gives back most of it at once, and the kernel clears each page of the
    next array. Other C libraries lack the function, and stay as they are.
    """
    with suppress(AttributeError, OSError, TypeError):
        change = ctypes.CDLL(None).mallopt
        change(M_MMAP_THRESHOLD, 64 * MIB)
        change(M_TRIM_THRESHOLD, 256 * MIB)


def main() -> None:
    """Run the command line and exit."""

    def run() -> int:
        from vocap.cli import run

        # lists of all lines and their ids hold no cycles, and a search for some after every
        # 700 new objects takes a tenth of the time
        gc.set_threshold(100_000)
        # a terminal that is not UTF-8 gets escapes of what it cannot show
        if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
            sys.stdout.reconfigure(errors="backslashreplace")
        reuse_freed_memory()
        return run()

    exit_after(run)
