"""Whole files or none: everything is written beside its target and renamed when complete."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: str | os.PathLike, mode: str = "w") -> Iterator[IO]:
    """Open a temporary file beside `path` that becomes `path` when the block ends without an error.

    Text is UTF-8 with `\\n` line ends. On an error the temporary file is removed and an older `path` stays.
    Raises OSError (no space, no permission) as the system gives it.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    try:
        with open(temporary, mode, **text) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def replacing_directory(path: str | os.PathLike) -> Iterator[Path]:
    """Give an empty directory beside `path` that takes the place of `path` when the block ends well."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        yield temporary
        if target.exists():
            shutil.rmtree(target)
        os.replace(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def write_text(path: str | os.PathLike, text: str) -> None:
    """Write `text` to `path`, whole or not at all."""
    with replacing(path) as file:
        file.write(text)
