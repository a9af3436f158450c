"""Messages for errors of a configuration, a line each: the key, the error, the
remedy.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import ErrorDetails

from vocap.errors import one_line
from vocap.files.io import key_lines
from vocap.section import UNKNOWN

YAML_BOOLEAN = 'YAML reads an unquoted no, yes, on or off as true or false; write "no" in quotes'


def with_lines(mistakes: Sequence[str], files: Sequence[Any]) -> list[str]:
    """Mistakes as lines, behind `FILE, line N: ` of the key that each begins with, or else
    of its section; alone where no file has the key.

    Of several `files` it is the last one that has most of the key.
    """
    places = {name: f"{path}, line {line}: " for path in files for name, line in key_lines(path)}
    lines = []
    for mistake in mistakes:
        key = mistake.partition(": ")[0]
        names = [name for name in places if f"{key}.".startswith(f"{name}.")]
        lines.append(one_line(places.get(max(names, key=len, default=""), "") + mistake))
    return lines


def describe_all(details: Sequence[ErrorDetails], config: Mapping[str, Any]) -> list[str]:
    """A line for each finding of pydantic on a configuration: its key, pydantic's message,
    the value.
    """
    lines: dict[str, str] = {}  # with the key of each
    for detail in details:
        kind, value = detail["type"], detail["input"]
        message = detail["msg"].removeprefix("Value error, ")
        shown = kind == UNKNOWN or isinstance(value, Mapping) or repr(value) in message
        if not shown:
            message += f", not {value!r}"[:200]
        if kind in ("string_type", "invalid_key") and isinstance(value, bool):
            message += f" ({YAML_BOOLEAN})"
        key = _key(detail, config)
        lines[f"{key}: {message}"] = key
    # of a union pydantic names each branch: the one that fits down to a deeper key
    return [
        line
        for line, key in lines.items()
        if not any(other.startswith(f"{key}.") for other in lines.values())
    ]


def _key(detail: ErrorDetails, config: Any) -> str:
    """The key of a finding, without the parts that pydantic adds, such as the kind of an
    entry: they are no keys of the configuration.
    """
    path = []
    for part in detail["loc"]:
        try:
            config = config[part]
            path.append(str(part))
        except (LookupError, TypeError):
            continue
    if detail["type"] == "missing":
        path.append(str(detail["loc"][-1]))
    return ".".join(path)
