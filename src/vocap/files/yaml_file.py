"""YAML files: plain data within bounds, and one clear error with its line for anything else.

PyYAML alone takes the last of two equal keys, follows anchors into themselves, and ends with whatever exception a
number or a date of impossible form causes.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError
from yaml.parser import ParserError
from yaml.scanner import ScannerError

from vocap.errors import UsageError, VocapError, explain
from vocap.files.json_object import read_object

# The largest configuration here has some 600 values in 6 levels.
MAX_BYTES = 1 << 20
MAX_DEPTH = 64
MAX_NODES = 100_000  # an alias counts as all values that it stands for
MAX_DIGITS = 100

_MERGE = "tag:yaml.org,2002:merge"


def read_yaml(path: str | os.PathLike, remedy: str = "name a file of YAML") -> Any:
    """The content of a YAML file, or of a JSON one named `.json`: dicts, lists, texts, numbers, dates.

    Raises UsageError, naming file and line, for a file that is not there or not UTF-8, for what is no YAML, for a
    key that is given twice, and for more than the bounds above.
    """
    path = Path(path)
    if path.suffix == ".json":
        try:
            return read_object(path, remedy)
        except VocapError as error:
            raise UsageError(str(error)) from None
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise UsageError(f"{path}: more than {MAX_BYTES:,} bytes; {remedy}")
        return parse_yaml(content.decode("utf-8"), path)
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 ({error.reason} at byte {error.start}); {remedy}") from None
    except (OSError, ValueError) as error:  # ValueError: a path with U+0000
        reason = explain(error) if isinstance(error, OSError) else f"{path!s}: {error}"
        raise UsageError(f"{reason}; {remedy}") from None


def parse_yaml(text: str, where: object) -> Any:
    """The content of a text; `where` names it in messages. Raises as `read_yaml`.

    >>> parse_yaml("sizes: [1000, 2000]", "example")
    {'sizes': [1000, 2000]}
    """
    loader = None
    try:
        loader = _Loader(text)
        return loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        syntax = isinstance(error, ScannerError | ParserError)
        words = " ".join(filter(None, ("not YAML:" * syntax, error.context, error.problem)))
        raise UsageError(f"{where}{line}: {' '.join(words.split())[:300]}") from None
    except yaml.YAMLError as error:  # of the reader: a character that YAML does not allow
        raise UsageError(f"{where}: not YAML: {' '.join(str(error).split())[:300]}") from None
    finally:
        if loader is not None:
            loader.dispose()


def check_bounds(value: Any, where: str) -> None:
    """Raise UsageError for data of more than `MAX_DEPTH` levels or `MAX_NODES` values; data may hold itself."""
    level, nodes = [value], 0
    for _ in range(MAX_DEPTH + 1):
        nodes += len(level)
        if nodes > MAX_NODES:
            raise UsageError(
                f"{where}: more than {MAX_NODES:,} values; leave some out, and the aliases (*) of large ones"
            )
        below: list[Any] = []
        for entry in level:
            if isinstance(entry, Mapping | list | tuple | set):
                below.extend(entry.values() if isinstance(entry, Mapping) else entry)
                if nodes + len(below) > MAX_NODES:
                    break
        if not below:
            return
        level = below
    raise UsageError(
        f"{where}: more than {MAX_DEPTH} levels of lists and keys in each other, or one that holds itself"
    )


class _Loader(yaml.SafeLoader):
    """PyYAML's loader of plain data, which stops at the bounds before it builds anything."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = self.nodes = 0
        self.sizes: dict[str, int] = {}  # of anchored nodes, by anchor: how many nodes each stands for

    def compose_node(self, parent, index):
        event = self.peek_event()
        before, anchor = self.nodes, event.anchor
        if self.depth == MAX_DEPTH:
            raise ComposerError(None, None, f"more than {MAX_DEPTH} levels in each other", event.start_mark)
        self.depth += 1
        alias = isinstance(event, yaml.AliasEvent)
        node = super().compose_node(parent, index)
        self.depth -= 1
        if alias and anchor not in self.sizes:
            raise ComposerError(None, None, f"the alias *{anchor} is inside its own anchor", event.start_mark)
        self.nodes += self.sizes[anchor] if alias else 1
        if anchor and not alias:
            self.sizes[anchor] = self.nodes - before
        if self.nodes > MAX_NODES:
            words = f"more than {MAX_NODES:,} values, each alias (*) counted as all that it stands for"
            raise ComposerError(None, None, words, event.start_mark)
        return node

    def compose_mapping_node(self, anchor):
        node = super().compose_mapping_node(anchor)
        first: dict[tuple[str, str], int] = {}  # by key: its line
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                if (name := (key.tag, key.value)) in first:
                    words = f"the key {key.value[:80]!r} is given twice, first in line {first[name]}; keep one"
                    raise ComposerError(None, None, words, key.start_mark)
                first[name] = key.start_mark.line + 1
        return node

    def construct_object(self, node, deep=False):
        try:
            return super().construct_object(node, deep)
        except yaml.YAMLError:
            raise
        except Exception as error:  # of int, float, date and bool, without a position
            words = f"{str(node.value)[:40]!r} is no {node.tag.rsplit(':', 1)[-1]}: {error}"
            raise ConstructorError(None, None, words, node.start_mark) from None

    def construct_yaml_int(self, node):
        if len(node.value) > MAX_DIGITS:
            raise ValueError(f"more than {MAX_DIGITS} digits")
        return super().construct_yaml_int(node)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
