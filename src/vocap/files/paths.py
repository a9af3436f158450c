"""Paths: those that a workflow can take as they are, and the files of a path, a folder
or a pattern.
"""

import glob
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from vocap.errors import SettingError

# of wildcards, of Snakemake's own path variables (<results>) and of options; controls
_MISREAD = re.compile(r"[{}\x00-\x1f\x7f]|<[a-z][a-z0-9_]*>|^-")
COMPRESSED = (".gz", ".xz", ".zst", ".bz2")  # endings of names
REMOTE = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def check_path(value: str) -> str:
    """The path itself; raises ValueError for one that Snakemake or a command line would
    read as something else.

    Snakemake replaces `{name}` and `<name>` in every input file, with no way to quote
    them.

    >>> check_path("my text/it's $HOME.txt")
    "my text/it's $HOME.txt"
    """
    if found := _MISREAD.search(value):
        raise ValueError(
            f"Snakemake or a command line takes {found[0]!r} in a path for something else; rename "
            "the file or folder"
        )
    return value


class _Plain:
    """What pydantic reads from `PlainPath`."""

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type, handler: Callable[..., Any]
    ) -> Mapping[str, object]:
        from pydantic_core import core_schema  # commands that only read text do without

        return core_schema.no_info_after_validator_function(
            check_path, core_schema.str_schema(min_length=1)
        )


# a path in the configuration: a str that `check_path` takes
PlainPath = Annotated[str, _Plain]


def check_local(path: str) -> str:
    """The path itself; raises ValueError for an address of another machine, with the
    remedy.
    """
    if scheme := REMOTE.match(path):
        raise ValueError(
            f"{scheme[0]} paths are not read here, only in corpora.sources; download the files "
            "and give their path"
        )
    return path


def expand(path: str) -> list[str]:
    """The files of `path`, in sorted order; empty where there is none.

    A folder gives all files in it and in its folders, a pattern (`* ? [...]`, `**` for
    folders) those that match. Links are followed, and each file is given once, however
    many lead to it (`each_once`); a link to no file is given too. Hidden files, and
    those that `vocap fetch` keeps beside a file, are left out. The order is that of the
    characters' code points, the same on every machine.
    """
    if os.path.isdir(path):
        path = os.path.join(glob.escape(path), "**")
    elif os.path.exists(path):
        return [path]
    found = {name for name in _matching(path) if not os.path.isdir(name)}
    notes = {f"{name}.json" for name in found}
    return each_once(
        sorted(name for name in found - notes if not name.endswith((".part", ".part.json")))
    )


def expand_all(paths: Iterable[str]) -> list[str]:
    """The files of each of `paths`, in their order, each once; a path without files
    stays as it is.
    """
    return each_once(file for path in paths for file in expand(path) or [path])


def each_once(files: Iterable[str]) -> list[str]:
    """The files without those that are an earlier one, by another link to it."""
    found: dict[object, str] = {}
    for file in files:
        found.setdefault(_identity(file), file)
    return list(found.values())


def _identity(path: str) -> object:
    """What tells a file or folder from others: device and number, by which links to it
    are alike; the path where it is not there, or on another machine.
    """
    try:
        status = os.stat(path)
    except OSError:
        return path
    return status.st_dev, status.st_ino or os.path.realpath(path)


def _matching(pattern: str) -> Iterator[str]:
    """What a pattern matches; `**` stands for folders of `_folders`."""
    found = re.fullmatch(r"(|.*?/)\*\*(?:/(.*))?", pattern, re.DOTALL)
    if found is None:
        yield from glob.iglob(pattern)
        return
    before, after = found.groups("*")
    for top in glob.iglob(before) if before else [""]:
        for folder in _folders(top):
            yield from _matching(os.path.join(glob.escape(folder), after))


def _folders(top: str) -> Iterator[str]:
    """The folder and those below it but hidden ones, each once: links to folders are
    followed after all others, and none to a folder that `top` lies in.

    Raises OSError for one that cannot be read.
    """
    start = top or os.curdir
    known = set(map(_identity, map(str, Path(os.path.realpath(start)).parents)))
    waiting = [start]
    for link in waiting:
        for folder, names, _ in os.walk(link, onerror=_raise):
            names[:] = [name for name in names if not name.startswith(".")]
            if (place := _identity(folder)) in known:
                names.clear()
                continue
            known.add(place)
            paths = [os.path.join(folder, name) for name in names]
            waiting += filter(os.path.islink, paths)  # which this loop comes to
            yield folder if top else folder[len(f"{start}/") :]


def _raise(error: OSError) -> None:
    raise error


def as_totals(total: int | Collection[int] | None, settings: Any = None) -> list[int]:
    """The totals of an argument that is one or several, or that of the settings."""
    if total is None:
        total = getattr(settings, "total", None)
    if total is None:
        raise SettingError("total", "give T, the number of all ids")
    return list(total) if isinstance(total, Collection) and not isinstance(total, str) else [total]


def folders(output: str | Path | None, totals: Collection[int]) -> dict[int, Path]:
    """The folder of each total, in rising order: the path with {total} replaced; none
    without a path. UsageError where it has no {total}.
    """
    if output is None:
        return {}
    if len(set(totals)) > 1 and "{total}" not in str(output):
        raise SettingError(
            "output", f"{output}: put {{total}} for T into the path, the folder of several totals"
        )
    return {
        total: Path(str(output).replace("{total}", str(total))) for total in sorted(set(totals))
    }
