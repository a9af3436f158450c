"""Lines as the trainer and as `encode` see them, ready to be counted (`TrainerInterface::LoadSentences`).

To normalise text takes as long as to start numba, so with more than one thread it is done by a process of its own
(`Reading`), while this one imports what counts words and trains. That is why nothing here imports numba.
"""

import re
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from vocap.errors import VocapError
from vocap.interruption import SIGNALS
from vocap.vocabularies.characters import META_PIECES, SEPARATOR, is_trainable, trainer_normalizer
from vocap.vocabularies.text import read_blocks

_AHEAD = 16  # blocks that wait to be counted, each of a megabyte of text, and two to four of code points


@dataclass(frozen=True)
class Sentences:
    """A block of normalised lines, as `code_points` gives them: those that are both trained on and encoded, those
    that are only encoded, and those that are only trained on. `lines`: how many there were in the text; each
    counts `weight` times."""

    lines: int
    usual: bytearray
    encoded: bytearray
    trained: bytearray
    weight: int = 1


def code_points(lines: Iterable[str]) -> bytearray:
    """The code points of lines, int32, each line with a line feed after it; writable, as kernels ask for it."""
    return bytearray("".join(f"{line}\n" for line in lines).encode("utf-32-le"))


class Borders:
    """The rows of a model that are no pieces of text: where one stands in a training line, a piece ends."""

    def __init__(self, metas: Sequence[str]):
        longest_first = sorted(metas, key=len, reverse=True)  # as in PrefixMatcher
        self.pattern = re.compile("|".join(map(re.escape, longest_first)))
        self.hint = "<" if all("<" in meta for meta in metas) else ""  # most lines are passed over by it

    def in_line(self, line: str) -> bool:
        return self.hint in line and self.pattern.search(line) is not None

    def replace(self, line: str) -> str:
        """The line with a separator for each (`PrefixMatcher::GlobalReplace`)."""
        return self.pattern.sub(SEPARATOR, line)


def held_out(blocks: Iterable[list[str]]) -> Iterator[Sentences]:
    """Blocks of lines that are only encoded."""
    normalize = trainer_normalizer().normalize
    for lines in blocks:
        yield Sentences(len(lines), bytearray(), code_points(normalize(lines)), bytearray())


def trained_on(
    blocks: Iterable[list[str]], metas: Sequence[str] = META_PIECES, weight: int = 1
) -> Iterator[Sentences]:
    """Blocks of lines that are trained on and encoded; some are only encoded, some are not trained on as they are.

    `metas`: the rows of the model that are no pieces of text, each a border in the lines trained on. `weight`: how
    often each line counts, as if it were there so many times.
    """
    normalize, borders = trainer_normalizer().normalize, Borders(metas)
    for lines in blocks:
        skipped, with_meta, usual = [], [], []
        for line, text in zip(lines, normalize(lines), strict=True):
            if not is_trainable(line):
                skipped.append(text)
            elif borders.in_line(text):
                with_meta.append(text)
            else:
                usual.append(text)
        yield Sentences(
            len(lines),
            code_points(usual),
            code_points(skipped + with_meta),
            code_points(map(borders.replace, with_meta)),
            weight,
        )


def texts_of(files: Mapping[str, Path]) -> dict[str, Callable[[], Iterator[Sentences]]]:
    """What `count_word_types` takes, of text files: the one named train is trained on."""
    return {name: partial(_sentences, name, path) for name, path in files.items()}


def _sentences(name: str, path: Path) -> Iterator[Sentences]:
    blocks = read_blocks(path)
    return trained_on(blocks) if name == "train" else held_out(blocks)


class Reading:
    """Text files that a process of its own reads, from now on; `texts` as those of `texts_of`."""

    def __init__(self, files: Mapping[str, Path]):
        import multiprocessing

        # A copy of this process starts at once; elsewhere than on Linux, system libraries do not survive that.
        context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        self.connection, sender = context.Pipe(duplex=False)
        self.process = context.Process(target=_send, args=(files, self.connection, sender), daemon=True)
        with _signals_later():  # for the process too, until it has let go of this one's handlers
            self.process.start()
        sender.close()  # each process has only its own end, so that it is told when the other one is gone
        self.unread = list(files)
        self.again = texts_of(files)
        self.texts = {name: partial(self._receive, name) for name in files}

    def _receive(self, name: str) -> Iterator[Sentences]:
        if self.unread[:1] != [name]:
            yield from self.again[name]()
            return
        self.unread.pop(0)
        try:
            while (item := self.connection.recv()) is not None:
                if isinstance(item, Exception):
                    raise item
                yield item
        except EOFError:
            raise VocapError("the process that reads the texts was killed; is there enough memory?") from None


@contextmanager
def _signals_later() -> Iterator[None]:
    """Hold back the signals that end a command until the block has ended."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _send(files: Mapping[str, Path], receiver, connection) -> None:
    """What the process of `Reading` does. None ends a text."""
    for number in SIGNALS:  # a signal ends it without a word: the process that counts says it
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    receiver.close()
    try:
        for text in texts_of(files).values():
            for item in ahead(text(), _AHEAD):
                connection.send(item)
            connection.send(None)
    except BrokenPipeError:
        pass  # the process that counts has ended, and said why
    except (VocapError, OSError) as error:
        connection.send(error)


def ahead(items: Iterable, most: int) -> Iterator:
    """The items in their order; up to `most` of them are made by a thread before they are asked for."""
    items, end = iter(items), object()
    with ThreadPoolExecutor(1) as maker:
        coming = deque(maker.submit(next, items, end) for _ in range(most))
        while (item := coming.popleft().result()) is not end:
            coming.append(maker.submit(next, items, end))
            yield item
