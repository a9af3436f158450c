"""What the results of functions have in common: a short line in a notebook."""

from collections.abc import Sized
from dataclasses import fields
from pathlib import Path
from typing import Any


class Result:
    """A dataclass that prints in one short line: plain values, and numbers of entries of
    tables and models, which are megabytes.
    """

    def __repr__(self) -> str:
        names = [one.name for one in fields(self)]  # type: ignore[arg-type]  # of its dataclasses
        shown = [_shown(name, getattr(self, name)) for name in names]
        return f"{type(self).__name__}({', '.join(filter(None, shown))})"


def _shown(name: str, value: Any) -> str:
    """A field in words; none for an object without a length."""
    if isinstance(value, int | float | str | Path):
        return f"{name}={value!s:.60}"
    return f"{name}: {len(value)}" if isinstance(value, Sized) else ""
