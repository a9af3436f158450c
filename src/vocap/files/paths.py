"""Paths: those that a workflow can take as they are, and the files of a path, a folder
or a pattern.
"""

import glob
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

PATHVAR = re.compile(r"<[a-z][a-z0-9_]*>")  # Snakemake's own path variables, as <results>
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
    if brace := re.search(r"[{}]", value):
        raise ValueError(
            f"Snakemake takes {brace[0]} in a path for the start or end of a wildcard; rename the "
            "file or folder"
        )
    if variable := PATHVAR.search(value):
        raise ValueError(
            f"Snakemake takes {variable[0]} in a path for a variable; rename the file or folder"
        )
    if control := re.search(r"[\x00-\x1f\x7f]", value):
        raise ValueError(f"{control[0]!r} is a control character; rename the file or folder")
    if value.startswith("-"):
        raise ValueError("a path that begins with - looks like an option; write the absolute path")
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
    folders) those that match. Hidden files, and those that `vocap fetch` keeps beside a
    file, are left out. The order is that of the characters' code points, the same on
    every machine.
    """
    if os.path.isdir(path):
        path = os.path.join(glob.escape(path), "**")
    elif os.path.exists(path):
        return [path]
    found = [name for name in glob.glob(path, recursive=True) if not os.path.isdir(name)]
    known = set(found)
    return sorted(
        name
        for name in found
        if not name.endswith((".part", ".part.json"))
        and name.removesuffix(".json") not in known - {name}
    )


def expand_all(paths: Iterable[str]) -> list[str]:
    """The files of each of `paths`, in their order; a path without files stays as it
    is.
    """
    return [file for path in paths for file in expand(path) or [path]]
