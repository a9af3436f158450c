"""Results of the stages as plain data, and the numbers that the page computes from them."""

from typing import Any


def find(value: Any, *path: str) -> Any:
    """A value inside nested objects by its keys; None where it is not there.

    >>> find({"settings": {"total": 5}}, "settings", "total"), find({"settings": "none"}, "settings", "total")
    (5, None)
    """
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def as_number(value: Any) -> float | int | None:
    """A value of a JSON file where it is a number, else None."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
