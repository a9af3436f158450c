"""Plain data in JSON and YAML files, with one clear error and its line for anything else, a key twice too."""

import json
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import ComposerError

from vocap.errors import UsageError, VocapError, explain

_MERGE = "tag:yaml.org,2002:merge"


def read_object(
    path: str | Path, remedy: str = "run its stage again", absent: str | None = None
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


class _KeyTwice(ComposerError):
    """A key that a map holds twice."""


class _Loader(yaml.SafeLoader):
    """PyYAML's loader of plain data, which alone takes the last of two equal keys."""

    def compose_mapping_node(self, anchor):
        node = super().compose_mapping_node(anchor)
        first: dict[tuple[str, str], int] = {}  # by key: its line
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                if (name := (key.tag, key.value)) in first:
                    words = f"the key {key.value[:80]!r} is given twice, first in line {first[name]}; keep one"
                    raise _KeyTwice(None, None, words, key.start_mark)
                first[name] = key.start_mark.line + 1
        return node


def read_yaml(path: str | Path, remedy: str = "name a file of YAML") -> Any:
    """The content of a YAML file, or of a JSON one named `.json`: dicts, lists, texts, numbers, dates.

    Raises UsageError, naming file and line, for a file that is not there or not UTF-8, for what is no YAML, and
    for a key that is given twice.
    """
    path = Path(path)
    try:
        if path.suffix == ".json":
            return read_object(path, remedy)
        return parse_yaml(path.read_text(encoding="utf-8"), path)
    except UsageError:
        raise
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 ({error.reason} at byte {error.start}); {remedy}") from None
    except OSError as error:
        raise UsageError(f"{explain(error)}; {remedy}") from None
    except VocapError as error:  # of JSON
        raise UsageError(str(error)) from None


def parse_yaml(text: str, where: object) -> Any:
    """The content of a text; `where` names it in messages. Raises as `read_yaml`.

    >>> parse_yaml("sizes: [1000, 2000]", "example")
    {'sizes': [1000, 2000]}
    """
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        words = " ".join(filter(None, (error.context, error.problem)))
        kind = "" if isinstance(error, _KeyTwice) else "not YAML: "
        raise UsageError(f"{where}{line}: {kind}{' '.join(words.split())[:300]}") from None
    except Exception as error:  # of the reader, which knows no line, and of numbers and dates that are none
        raise UsageError(f"{where}: not YAML: {' '.join(str(error).split())[:300]}") from None
