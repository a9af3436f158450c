"""One writer a folder: a lock that dies with its holder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vocap.errors import VocapError
from vocap.files import naming


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, which names its holder, for the folder that it lies in.

    The system lets go of it with the process, however that ends. Raises VocapError where another holds it. Errors
    of the system that name no file get the name of the folder.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with naming(path.parent), open(path, "a+", encoding="utf-8") as file:
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
