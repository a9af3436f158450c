"""Text that another process reads and normalises while this one imports the kernels and counts words.

Reading takes as long as the start of numba: of the ladder with two threads, half a second at 4 MB of text.
"""

import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from vocap.errors import VocapError
from vocap.interruption import SIGNALS
from vocap.unigram.text_settings import XLM_R, TextSettings
from vocap.unigram.training_text import Sentences, texts_of

_AHEAD = 16  # blocks that wait to be counted: each a megabyte of text, as two to four of code points


class ReadingProcess:
    """Reads text files one after the other from now on; `texts` as those of `texts_of`.

    A text asked for again, or not in its turn, is read here. Raises VocapError, while its block is waited for, for
    text that is not UTF-8 and where the process was killed.
    """

    def __init__(self, files: Mapping[str, Path], settings: TextSettings = XLM_R):
        import multiprocessing

        # A copy of this process starts at once; elsewhere than on Linux, system libraries do not survive that.
        context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        self.connection, sender = context.Pipe(duplex=False)
        self.process = context.Process(target=_send, args=(files, settings, self.connection, sender), daemon=True)
        with _blocked_signals():  # in the process too, until it has handlers of its own
            self.process.start()
        sender.close()  # each process has only its own end, so that it sees the end of the other one
        self.unread = list(files)
        self.here = texts_of(files, settings)
        self.texts: dict[str, Callable[[], Iterator[Sentences]]]
        self.texts = {name: partial(self._receive, name) for name in files}

    def _receive(self, name: str) -> Iterator[Sentences]:
        if self.unread[:1] != [name]:
            yield from self.here[name]()
            return
        self.unread.pop(0)
        try:
            while (block := self.connection.recv()) is not None:
                if isinstance(block, Exception):
                    raise block
                yield block
        except EOFError:
            raise VocapError("the process that reads the texts was killed; is there enough memory?") from None


def _send(files: Mapping[str, Path], settings: TextSettings, receiver, connection) -> None:
    """The process: the blocks of each text, and None after them."""
    for number in SIGNALS:  # a signal ends it without a word: the process that counts reports it
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    receiver.close()
    try:
        for text in texts_of(files, settings).values():
            for block in made_ahead(text(), _AHEAD):
                connection.send(block)
            connection.send(None)
    except BrokenPipeError:
        pass  # the process that counts has ended, and reported why
    except (VocapError, OSError) as error:
        connection.send(error)


@contextmanager
def _blocked_signals() -> Iterator[None]:
    """Hold back the signals that end a command until the block has ended."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def made_ahead(items: Iterable, most: int) -> Iterator:
    """The items in their order; a thread makes up to `most` of them before they are asked for."""
    items, end = iter(items), object()
    with ThreadPoolExecutor(1) as maker:
        coming = deque(maker.submit(next, items, end) for _ in range(most))
        while (item := coming.popleft().result()) is not end:
            coming.append(maker.submit(next, items, end))
            yield item
