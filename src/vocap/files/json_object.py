"""JSON files of one object, with one clear error for an invalid one."""

import json
import os
from pathlib import Path
from typing import Any

from vocap.errors import VocapError


def read_object(
    path: str | os.PathLike, remedy: str = "run its stage again", absent: str | None = None
) -> dict[str, Any]:
    """The object that a file holds.

    Raises VocapError, naming file, line and `remedy`, for a file that is not UTF-8, no JSON or another value, and
    for one with a key twice; for one that is not there with the remedy `absent`, where that is another.
    """
    path = Path(path)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(found := dict(pairs)) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise VocapError(f"{path}: duplicate key {twice!r}; {remedy}")
        return found

    try:
        value = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique)
    except FileNotFoundError:
        raise VocapError(f"{path}: no such file; {absent or remedy}") from None
    except UnicodeDecodeError as error:
        raise VocapError(f"{path}: not UTF-8 ({error.reason} at byte {error.start}); {remedy}") from None
    except json.JSONDecodeError as error:
        raise VocapError(f"{path}, line {error.lineno}: not JSON ({error.msg}); {remedy}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, thousands of brackets
        raise VocapError(f"{path}: not JSON ({error}); {remedy}") from None
    if not isinstance(value, dict):
        raise VocapError(f"{path}: a {type(value).__name__}, not an object; {remedy}")
    return value
