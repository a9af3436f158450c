"""The files that a path stands for: one file, all of a folder, or those that match a pattern."""

import glob
import os
import re
from collections.abc import Iterable

REMOTE = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def check_local(path: str) -> str:
    """The path itself; raises ValueError for an address of another machine, with the remedy."""
    if not (scheme := REMOTE.match(path)):
        return path
    if path.startswith("hf://"):
        raise ValueError(HUB_REMEDY)
    if path.startswith(("http://", "https://")):
        raise ValueError("an address is no path: write it under url, or download the file first (vocap fetch)")
    raise ValueError(f"{scheme[0]} paths are not read: copy the files to this machine first")


HUB_REMEDY = (
    "hf:// paths are not read: download the files first and give their folder as path, or give one file's own "
    "address as url: https://huggingface.co/datasets/OWNER/NAME/resolve/main/FILE"
)


def expand(path: str) -> list[str]:
    """The files that `path` stands for, in sorted order; empty where there is none.

    A folder stands for all files in it and in its folders, a pattern (`* ? [...]`, `**` for folders) for the files
    that match. Hidden files, and what `vocap fetch` keeps beside a file, are left out. The order is that of the
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
    """The files that each of `paths` stands for, in their order; a path that stands for none stays as it is."""
    return [file for path in paths for file in expand(path) or [path]]


def _hide(folders: list[str]) -> None:
    """Keep `os.walk` from folders whose names begin with a dot."""
    folders[:] = [name for name in folders if not name.startswith(".")]
