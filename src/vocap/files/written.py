"""Files that the project wrote: they are read as columns and types, without proofs of
their content, and one message stands for every file that is another.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

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
    """The rows of a table that `vocap COMMAND` wrote, each a `kind`: a dataclass or
    NamedTuple, whose fields are the columns. An empty cell is None where the field may be.

    Raises VocapError as `written_by`.
    """
    types = get_type_hints(kind)
    readers = {name: _reader(types[name]) for name in types}
    with written_by(command, path):
        header, *lines = Path(path).read_bytes().decode().split("\n")
        columns = header.split("\t")
        if lines.pop() or not readers.keys() <= {*columns}:
            raise ValueError("a line is cut, or columns are missing")
        cells = (zip(columns, line.split("\t"), strict=True) for line in lines)
        return [
            kind(**{name: readers[name](cell) for name, cell in row if name in readers})
            for row in cells
        ]


def _reader(kind: Any) -> Any:
    """A function from a cell to its value, of type `kind`."""
    found = [one for one in get_args(kind) if one is not NoneType]
    convert = found[0] if found else kind
    if convert is str:
        return unescape
    return lambda cell: None if found and not cell else convert(cell)


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
