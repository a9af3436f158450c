r"""Whole files or none: output is written beside its target and renamed when complete;
locks, tables, JSON, YAML.

Tables have a header, columns between tabs, UTF-8, `\n`, no quoting: a tab, newline,
carriage return or backslash inside a cell is written `\t`, `\n`, `\r`, `\\`.
"""

import fcntl
import glob
import hashlib
import json
import math
import os
import platform
import re
import shutil
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

from vocap.errors import UsageError, VocapError, explain, listed, named_file, system_error

MARKS = {".snakemake_timestamp"}  # of workflows, in the folders that they make
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_ESCAPED = re.compile(r"[\\\t\n\r]")
_ORIGINALS = {escaped: original for original, escaped in _ESCAPES.items()}
_MERGE = "tag:yaml.org,2002:merge"
# YAML 1.1 takes 1e5 for text, 0100 for 64, 16:40 for 1000
_SCIENTIFIC = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+")
_OTHER_BASE = re.compile(r"[-+]?0[0-7_]+|.*:.*")


def file_sha256(path: str | Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def naming(path: str | Path, temporary: Path | None = None) -> Iterator[None]:
    """Give the system's errors in the block the name of a file: an error of `read` or
    `write` has none.

    That is `path`, unless another file is named; what lies in `temporary` is named as
    if it lay in `path`. An error that a library reports as text (`system_error`) is
    raised as the OSError that it was.
    """
    try:
        yield
    except Exception as error:
        system = system_error(error)
        if system is None:
            raise
        named = Path(named_file(system) or path)
        if temporary is not None and named.is_relative_to(temporary):
            named = Path(path) / named.relative_to(temporary)
        raise OSError(system.errno, system.strerror, str(named)) from error


@contextmanager
def replacing(path: str | Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary file beside `path` that becomes `path` when the block ends
    without an error.

    Text is UTF-8 with `\\n` line ends. On an error the temporary file is removed and an
    older `path` stays. Raises OSError (no space, no permission) as the system gives it,
    VocapError where `path` is a folder.
    """
    target = Path(path)
    if target.is_dir():
        raise VocapError(
            f"{target}: a folder, where a file is to be written; move it away, or name another path"
        )
    temporary = _beside(target)
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    try:
        with naming(target, temporary):
            with open(temporary, mode, **text) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
    except BaseException:
        _remove(temporary)
        raise


@contextmanager
def replacing_directory(path: str | Path, owned: Collection[str] | None = None) -> Iterator[Path]:
    """Give an empty directory beside `path` that takes the place of `path` when the
    block ends well.

    With `owned`, the names of the files that the writer makes (`name/` of folders), a
    `path` that holds anything else stays as it is: raises UsageError, as for a `path`
    that is no directory.
    """
    target = Path(path)
    if target.exists():
        _check_owned(target, owned)
    with _temporary_folder(target, _beside(target)) as temporary:
        yield temporary
        older = _beside(target.with_name(f"{target.name}.older"))
        if target.exists():  # moved away whole, and removed only then
            os.replace(target, older)
        os.replace(temporary, target)
        _remove(older)


@contextmanager
def scratch_directory(path: str | Path) -> Iterator[Path]:
    """Give an empty directory beside `path`, this process's own, that is removed when
    the block ends.
    """
    target = Path(path)
    with _temporary_folder(
        target, _beside(target.with_name(f"{target.name}.scratch"))
    ) as temporary:
        yield temporary


@contextmanager
def _temporary_folder(target: Path, temporary: Path) -> Iterator[Path]:
    try:
        with naming(target, temporary):
            _remove(temporary)  # of an earlier process of this number
            temporary.mkdir()
            yield temporary
    finally:
        _remove(temporary)


def _check_owned(target: Path, names: Collection[str] | None) -> None:
    """Refuse a file, and a folder with more than `names` in it."""
    if not target.is_dir():
        raise UsageError(f"{target}: not a folder; name one to be made, or remove this")
    found = {f"{entry.name}/" if entry.is_dir() else entry.name for entry in os.scandir(target)}
    if names is not None and (foreign := sorted(found - {*names, *MARKS})):
        held = listed([repr(name) for name in foreign], most=1)
        raise UsageError(
            f"{target}: would be replaced as a whole, but holds {held}, which this command did not "
            "make; name another folder, or move that away"
        )


def _beside(target: Path) -> Path:
    """A path of this process's own beside `target`; those of this machine's killed
    processes are removed.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    stem = f".{target.name}.{platform.node()}."
    for stale in target.parent.glob(f"{glob.escape(stem)}*.part"):
        owner = stale.name.removeprefix(stem).removesuffix(".part")
        try:
            os.kill(int(owner), 0)
        except PermissionError:  # alive, of another user
            continue
        except (ProcessLookupError, OverflowError, ValueError):  # no process is named so
            _remove(stale)
    return target.with_name(f"{stem}{os.getpid()}.part")


def _remove(path: Path) -> None:
    """Remove a file or a folder, if it is there; errors are left, as the first one is
    raised.
    """
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def write_text(path: str | Path, text: str) -> None:
    """Write `text` to `path`, whole or not at all."""
    with replacing(path) as file:
        file.write(text)


def write_json(path: str | Path, content: object) -> None:
    """Write plain data to `path`, whole or not at all: indented, in UTF-8, with a line
    end.
    """
    write_text(path, json.dumps(content, ensure_ascii=False, indent=2) + "\n")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, which names its holder, for the folder that it lies in.

    The system releases it when the process ends. Raises VocapError where another
    process holds it; errors of the system that name no file get the name of the folder.
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


def escape(cell: str) -> str:
    r"""Make a cell safe for one column of one line.

    >>> escape("a\tb")
    'a\\tb'
    """
    # most cells hold none of them, and a search alone takes a third of the time
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], cell) if _ESCAPED.search(cell) else cell


def unescape(cell: str) -> str:
    """Undo `escape`."""
    return re.sub(r"\\[\\tnr]", lambda match: _ORIGINALS[match[0]], cell) if "\\" in cell else cell


def number(cell: str) -> float:
    """The number in a cell; NaN for any other text."""
    try:
        return float(cell)
    except ValueError:
        return math.nan


def whole_number(where: str, column: str, cell: str) -> int:
    """The number in a cell. Raises VocapError, naming its place, unless it is a whole
    one above 0.
    """
    if not (cell.isascii() and cell.isdigit() and 0 < len(cell) < 16 and int(cell) > 0):
        raise VocapError(f"{where}: {column} {cell!r} is not a whole number above 0; correct it")
    return int(cell)


def format_cell(value: object) -> str:
    """One cell: None is empty, floats keep all the digits that matter (`repr`), text is
    escaped.
    """
    if type(value) is str:  # the most frequent kinds first
        return escape(value)
    if type(value) is int:
        return str(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(float(value))
    return escape(str(value))


def write_tsv(path: str | Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write `rows` (sequences in the order of `columns`), whole or not at all."""
    with replacing(path) as file:
        file.writelines(table_lines(columns, rows))


def table_lines(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    r"""The lines of a table, its header first.

    >>> list(table_lines(("piece", "score"), [("a\tb", -1.5)]))
    ['piece\tscore\n', 'a\\tb\t-1.5\n']
    """
    yield "\t".join(columns) + "\n"
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"a row of {len(row)} cells under {len(columns)} columns: {row!r}")
        yield "\t".join(map(format_cell, row)) + "\n"


def read_tsv(
    path: str | Path, required: Sequence[str] = (), shortest: int | None = None
) -> Iterator[dict[str, str]]:
    """Yield each line as a dict, column to cell; a line of `shortest` cells or more is
    filled with empty ones.

    Raises VocapError, naming file and line, for a missing file or column, a folder,
    invalid UTF-8, a short line.
    """
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            header = file.readline().rstrip("\r\n").split("\t")
            missing = [column for column in required if column not in header]
            if missing:
                raise VocapError(
                    f"{path}, line 1: no column {', '.join(missing)}; it has: {', '.join(header)}"
                )
            for number, line in enumerate(file, start=2):
                cells = line.rstrip("\r\n").split("\t")
                if shortest and len(cells) >= shortest:
                    cells += [""] * (len(header) - len(cells))
                if len(cells) != len(header):
                    raise VocapError(
                        f"{path}, line {number}: {len(cells)} cells, the header has {len(header)}; "
                        "separate columns by single tabs"
                    )
                plain = map(unescape, cells) if "\\" in line else cells
                yield dict(zip(header, plain, strict=True))
    except FileNotFoundError:
        raise VocapError(f"{path}: no such file; check the path") from None
    except IsADirectoryError:
        raise VocapError(f"{path}: a folder, not a table; name the file") from None
    except UnicodeDecodeError as error:
        raise VocapError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from None


def aligned(rows: Sequence[Sequence[str]], left: Container[int] = ()) -> list[str]:
    """A table as lines for a terminal: columns `left` begin below each other, the
    others end so.

    >>> aligned([["a", "12"], ["bcd", "3"]], left=[0])
    ['a    12', 'bcd   3']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]

    def line(row: Sequence[str]) -> str:
        cells = (
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return "  ".join(cells).rstrip()

    return list(map(line, rows))


def read_object(path: str | Path, remedy: str = "run its stage again") -> dict[str, Any]:
    """The object that a file holds, behind a byte-order mark or without one.

    Raises VocapError, naming file, line and `remedy`, for a file that is not UTF-8, no
    JSON or another value, for one with a key twice, and for one that is not there.
    """
    path = Path(path)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(found := dict(pairs)) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise VocapError(f"{path}: duplicate key {twice!r}; {remedy}")
        return found

    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=unique)
    except FileNotFoundError:
        raise VocapError(f"{path}: no such file; {remedy}") from None
    except (ValueError, RecursionError) as error:  # of its coding, too, and thousands of brackets
        raise VocapError(f"{path}: not JSON ({error}); {remedy}") from None
    if not isinstance(value, dict):
        raise VocapError(f"{path}: a {type(value).__name__}, not an object; {remedy}")
    return value


@cache
def _loader() -> type:
    """PyYAML's loader of plain data, which alone takes the last of two equal keys."""
    import yaml  # files that are no YAML are read and written without it

    class Loader(yaml.SafeLoader):
        def compose_scalar_node(self, anchor: Any) -> Any:
            node = super().compose_scalar_node(anchor)
            plain = node.style is None and node.tag.endswith((":int", ":float"))
            if plain and _OTHER_BASE.fullmatch(node.value):
                base = 60 if ":" in node.value else 8
                raise UsageError(
                    f"line {node.start_mark.line + 1}: YAML reads {node.value} as a number of "
                    f"base {base}; write a decimal number without leading zeros, or "
                    f'"{node.value}" in quotes for text'
                )
            return node

        def compose_mapping_node(self, anchor: Any) -> Any:
            node = super().compose_mapping_node(anchor)
            first: dict[tuple[str, str], int] = {}  # by key: its line
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                    line = key.start_mark.line + 1
                    name = (key.tag, key.value)
                    if name in first:
                        said = (
                            f"the key {key.value[:80]!r} is given twice, first in line "
                            f"{first[name]}; keep one"
                        )
                        raise UsageError(f"line {line}: {said}")
                    first[name] = line
            return node

    return Loader


def read_yaml(path: str | Path, remedy: str = "name a file of YAML") -> Any:
    """The content of a YAML file, or of a JSON one named `.json`: dicts, lists, texts,
    numbers, dates.

    Raises UsageError, naming file and line, for a file that is not there or not UTF-8,
    for what is no YAML, and for a key that is given twice.
    """
    path = Path(path)
    try:
        if path.suffix == ".json":
            return read_object(path, remedy)
        return parse_yaml(path.read_text(encoding="utf-8"), path)
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}: not UTF-8 ({error.reason} at byte {error.start}); {remedy}"
        ) from None
    except OSError as error:
        raise UsageError(f"{explain(error)}; {remedy}") from None
    except VocapError as error:
        raise UsageError(str(error)) from None


def parse_yaml(text: str, where: object) -> Any:
    """The content of a text; `where` names it in messages. Raises as `read_yaml`.

    >>> parse_yaml("sizes: [1000, 2000]", "example")
    {'sizes': [1000, 2000]}
    """
    try:
        return _loader()(text).get_single_data()
    except UsageError as error:
        raise UsageError(f"{where}, {error}") from None
    except Exception as error:  # of its reader, which knows no line, and of dates that are none
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        words = " ".join((getattr(error, "problem", None) or str(error)).split())
        raise UsageError(f"{where}{line}: not YAML: {words[:300]}") from None


def as_number(value: Any) -> Any:
    """The number that a text such as 1e5 stands for, as an int where it is whole; those
    of a list; anything else as it is.

    >>> as_number("1e5"), as_number(2.0), as_number("2.5e-1"), as_number("e5")
    (100000, 2, 0.25, 'e5')
    """
    if isinstance(value, list):
        return list(map(as_number, value))
    if isinstance(value, str) and _SCIENTIFIC.fullmatch(value):
        value = float(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def key_lines(path: str | Path) -> Iterator[tuple[str, int]]:
    """Every key of a YAML file without errors, behind those that it lies in (`a.b`,
    `a.0` in a list); its line.
    """
    import yaml

    def walk(node: Any, before: str) -> Iterator[tuple[str, int]]:
        pairs = node.value if isinstance(node, yaml.MappingNode) else ()
        if isinstance(node, yaml.SequenceNode):
            pairs = enumerate(node.value)
        for key, inner in pairs:
            name = f"{before}{getattr(key, 'value', key)}"
            yield name, getattr(key, "start_mark", inner.start_mark).line + 1
            yield from walk(inner, f"{name}.")

    text = Path(path).read_text("utf-8").replace("\t", " ")  # with which JSON may be indented
    yield from walk(yaml.compose(text, _loader()), "")
