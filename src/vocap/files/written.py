"""Files that the project wrote: they are read as columns and types, without proofs of
their content, and one message stands for every file that is another.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from vocap.errors import VocapError
from vocap.files.io import unescape

Record = TypeVar("Record")


@contextmanager
def written_by(command: str, path: str | Path) -> Iterator[None]:
    """Read in the block the file or folder `path`, which `vocap COMMAND` wrote.

    Every error in it but those of the system becomes a VocapError that says so, since
    the file was cut or is another one; for a file that is not there it names the command.
    """
    try:
        yield
    except VocapError:
        raise
    except FileNotFoundError as error:
        raise VocapError(
            f"{error.filename or path}: no such file; make it with: vocap {command}"
        ) from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno:
            raise
        raise _another(command, path) from None


def _another(command: str, path: str | Path) -> VocapError:
    return VocapError(f"{path} is not what `vocap {command}` writes: make it again")


def read_records(path: str | Path, kind: type[Record], command: str) -> list[Record]:
    """The rows of a table that `vocap COMMAND` wrote, each a `kind`: a dataclass whose
    fields are columns, or a NamedTuple of all.

    Raises VocapError as `written_by`.
    """
    from pydantic import TypeAdapter  # commands that read no table do without

    record = TypeAdapter(kind)
    with written_by(command, path):
        header, *lines = Path(path).read_bytes().decode().split("\n")
        columns = header.split("\t")
        if lines.pop() or not get_type_hints(kind).keys() <= {*columns}:
            raise ValueError("a line is cut, or columns are missing")
        return [
            record.validate_python(dict(zip(columns, map(unescape, line.split("\t")), strict=True)))
            for line in lines
        ]


class _Object(dict[str, Any]):
    """An object of a JSON file, in which a key that is missing is an error of the file."""

    def __init__(self, pairs: list[tuple[str, Any]], error: VocapError) -> None:
        super().__init__(pairs)
        self.error = error

    def __missing__(self, key: str) -> Any:
        raise self.error


def read_written(path: str | Path, command: str) -> dict[str, Any]:
    """The object in a JSON file that `vocap COMMAND` wrote.

    A key that it or an object in it does not have is a VocapError as well, where it is
    asked for.
    """
    error = _another(command, path)
    with written_by(command, path):
        content = Path(path).read_bytes()
        found = json.loads(content, object_pairs_hook=lambda pairs: _Object(pairs, error))
        if isinstance(found, _Object):
            return found
    raise error
