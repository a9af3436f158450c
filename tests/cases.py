"""Cases of tests from YAML files, and edits of JSON files."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from vocap.errors import VocapError
from vocap.files.io import read_object, write_json


def read_cases(module: str) -> dict:
    """Lists of cases by name, from the file beside the module of tests."""
    return yaml.safe_load(Path(module).with_suffix(".yaml").read_text("utf-8"))


def refused(call, line: str, says: str, status: int = 1, **named) -> str:
    """The one line with which a call is refused: it matches the pattern `says`."""
    with pytest.raises(VocapError) as error:
        call(line, **named)
    message = str(error.value)
    assert re.search(says, message) and "\n" not in message, message
    assert error.value.exit_code == status
    return message


def read_lines_of_json(path: Path) -> list[dict]:
    """The object of each line of a file."""
    return list(map(json.loads, path.read_text("utf-8").splitlines()))


def edit(path: Path, **entries: Any) -> None:
    """Set entries of a JSON file."""
    write_json(path, read_object(path) | entries)


def set_at(content: Any, path: str, value: Any = None) -> None:
    """Set the value at a path of keys and places in JSON content; "-" appends; without a
    value it is removed.
    """
    *keys, last = (int(key) if key.isdigit() else key for key in path.split("/"))
    for key in keys:
        content = content[key]
    if value is None:
        del content[last]
    elif last == "-":
        content.append(value)
    else:
        content[last] = value


def spoil(folder: Path, files: dict[str, str | None]) -> None:
    """Give files below a folder other content, written in Latin-1; a file or folder
    without one is removed.
    """
    for name, content in files.items():
        path = folder / name
        if content is not None:
            path.write_text(content, "latin-1")
        elif path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
