"""One writer a folder: a lock that dies with its holder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vocap.errors import VocapError


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, which names its holder, for the folder that it lies in.

    The system lets go of it with the process, however that ends. Raises VocapError where another holds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise VocapError(
                f"{path.parent}: another run writes here ({holder}); wait for its end, or stop it"
            ) from None
        file.truncate(0)
        file.write(f"{os.uname().nodename}, process {os.getpid()}\n")
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)
