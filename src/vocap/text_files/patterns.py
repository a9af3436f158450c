"""The files of a path: one file, all of a folder, or those that match a pattern; formats of text."""

import glob
import os
import re
from collections.abc import Iterable

COMPRESSED = (".gz", ".xz", ".zst", ".bz2")  # endings of names
REMOTE = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def check_local(path: str) -> str:
    """The path itself; raises ValueError for an address of another machine, with the remedy."""
    if scheme := REMOTE.match(path):
        raise ValueError(
            f"{scheme[0]} paths are not read: download the files first and give their folder as path, or give one "
            "file's http or https address as url"
        )
    return path


def expand(path: str) -> list[str]:
    """The files of `path`, in sorted order; empty where there is none.

    A folder gives all files in it and in its folders, a pattern (`* ? [...]`, `**` for folders) those that match.
    Hidden files, and those that `vocap fetch` keeps beside a file, are left out. The order is that of the
    characters' code points, the same on every machine.
    """
    if os.path.isdir(path):
        found = [
            os.path.join(folder, name)
            for folder, folders, names in os.walk(path)
            if not _hide(folders)
            for name in names
            if not name.startswith(".")
        ]
    elif os.path.exists(path):
        return [path]
    else:
        found = [name for name in glob.glob(path, recursive=True) if not os.path.isdir(name)]
    known = set(found)
    return sorted(
        name
        for name in found
        if not name.endswith((".part", ".part.json")) and name.removesuffix(".json") not in known - {name}
    )


def expand_all(paths: Iterable[str]) -> list[str]:
    """The files of each of `paths`, in their order; a path without files stays as it is."""
    return [file for path in paths for file in expand(path) or [path]]


def _hide(folders: list[str]) -> None:
    """Keep `os.walk` from folders whose names begin with a dot."""
    folders[:] = [name for name in folders if not name.startswith(".")]


def check_format(value: str) -> str:
    """`text`, `jsonl:FIELD`, `tsv:COLUMN` or `parquet:COLUMN`; raises ValueError for anything else."""
    kind, colon, field = value.partition(":")
    if (kind == "text" and not colon) or (kind in ("jsonl", "tsv", "parquet") and field):
        return value
    raise ValueError(
        "write text, jsonl:FIELD (as in jsonl:text), tsv:COLUMN (its number from 1, or its name) or parquet:COLUMN"
    )
