"""Messages for errors of a configuration, a line each: the key, the error, the
remedy.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from vocap.files.io import key_lines
from vocap.pretraining.loss_kinds import LOSSES
from vocap.tokenizers.settings import KINDS as TOKENIZERS

YAML_BOOLEAN = 'YAML reads an unquoted no, yes, on or off as true or false; write "no" in quotes'
# findings where no name of a language was expected
NO_NAMES = {
    "extra_forbidden",
    "int_type",
    "float_type",
}
KINDS = {
    "list_type": "write a list, such as [a, b]",
    "dict_type": "write keys and values, such as {key: value}",
    "model_type": "write keys and values, such as {key: value}",
    "too_short": "the list is empty; name at least one",
    "missing": "this key is missing",
}


def yaml_booleans(config: Mapping[str, Any]) -> Iterator[str]:
    """Errors for an unquoted `no`, which YAML reads as false: Norwegian as a key, or in
    a list of codes.
    """

    def search(path: str, value: Any) -> Iterator[str]:
        if isinstance(value, Mapping):
            for key, entry in value.items():
                if isinstance(key, bool):
                    yield f"{path}: a key is {str(key).lower()}, not a name: {YAML_BOOLEAN}"
                yield from search(f"{path}.{key}" if path else str(key), entry)
        elif isinstance(value, list):
            for number, entry in enumerate(value, start=1):
                if isinstance(entry, bool):
                    yield (
                        f"{path}: entry {number} is {str(entry).lower()}, not a name: "
                        f"{YAML_BOOLEAN}"
                    )
                yield from search(f"{path}.{number}", entry)

    yield from search("", config)


def find_line(mistake: str, files: Sequence[Any]) -> str:
    """`FILE, line N: ` of the key that a mistake begins with, or else of its section;
    "" for a key of no file.

    Of several `files` it is the last one that has most of the key.
    """
    key = mistake.partition(": ")[0]
    found = [
        (len(name), number, f"{path}, line {line}: ")
        for number, path in enumerate(files)
        for name, line in key_lines(path)
        if f"{key}.".startswith(f"{name}.")
    ]
    return max(found)[2] if found else ""


def describe_all(details: Sequence[Mapping[str, Any]], schema: Mapping[str, Any]) -> list[str]:
    """A line for each finding of pydantic, but none for a missing key that a mistyped
    one stands for.
    """
    lines = dict.fromkeys(describe(detail, schema) for detail in details)
    for key, meant in re.findall(
        r"^(.*\.).*: no such key here; did you mean (.*)\?$", "\n".join(lines), re.M
    ):
        lines.pop(f"{key}{meant}: {KINDS['missing']}", None)
    return list(lines)


def describe(detail: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """One line for one finding of pydantic; `schema` is the JSON schema of the
    settings.
    """
    path, kind = _without_kind(detail["loc"])
    key, value = ".".join(map(str, path)), detail["input"]
    if path[0] == "languages":
        message = f"give a list of codes, or all; not {value!r}"
        key = "languages"
    elif detail["type"] == "extra_forbidden":
        message = (
            f"no such key here; {_nearest(str(path[-1]), _known_keys(schema, path[:-1], kind))}"
        )
    else:
        message = _message(detail)
    return f"{key}: {message}{_hint(value, detail['type'] not in NO_NAMES)}"


def _without_kind(loc: Sequence[str | int]) -> tuple[list[str | int], str | None]:
    """The path of a finding, and the kind of the entry, which pydantic puts into it."""
    path = list(loc)
    for start in (
        ["tokenizers"],
        ["pretraining", "models", None, "loss"],
        ["correlation", "model", "loss"],
    ):
        place = len(start) + (start == ["tokenizers"])
        if len(path) > place and all(
            name in (None, part) for name, part in zip(start, path, strict=False)
        ):
            return path[:place] + path[place + 1 :], str(path[place])
    return path, None


def _message(detail: Mapping[str, Any]) -> str:
    kind, value = detail["type"], detail["input"]
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        kinds = list(TOKENIZERS if detail["loc"][0] == "tokenizers" else LOSSES)
        near = get_close_matches(str(value.get("kind")), kinds, n=1)
        return f"kind must be one of {', '.join(kinds)}" + "".join(
            f"; did you mean {one}?" for one in near
        )
    if kind in ("too_short", "missing"):
        return KINDS[kind]
    message = KINDS.get(kind) or detail["msg"].removeprefix("Value error, ")
    message = f"{message[:1].lower()}{message[1:]}"
    if isinstance(value, Mapping) or (isinstance(value, str) and repr(value) in message):
        return message
    return message + f", not {value!r}"[:200]


def _hint(value: Any, may_be_name: bool) -> str:
    if isinstance(value, bool) and may_be_name:
        return f" ({YAML_BOOLEAN})"
    if isinstance(value, str) and re.fullmatch(r"[0-9]+e[+-]?[0-9]+", value):
        return f" (YAML reads {value} as text; write {value.replace('e', '.0e', 1)})"
    return ""


def _nearest(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1)
    if near:
        return f"did you mean {near[0]}?"
    return (
        f"check its indentation; known are {', '.join(known)}" if known else "check its indentation"
    )


def _known_keys(
    schema: Mapping[str, Any], path: Sequence[str | int], kind: str | None
) -> list[str]:
    """The keys that a section may have; `kind` is that of the entry, where there are
    several.
    """
    nodes = _alternatives(schema, schema)
    for part in path:
        inner = [_child(node, part) for node in nodes]
        nodes = [
            entry for node in inner if node is not None for entry in _alternatives(node, schema)
        ]
    nodes = [node for node in nodes if kind in (None, *_kinds(node))] or nodes
    return list(dict.fromkeys(key for node in nodes for key in node.get("properties", ())))


def _kinds(node: Mapping[str, Any]) -> list[str]:
    """The values that `kind` may have in an entry; none where it has no such key."""
    own = node.get("properties", {}).get("kind", {})
    return [own["const"]] if "const" in own else own.get("enum", [])


def _child(node: Mapping[str, Any], part: str | int) -> Mapping[str, Any] | None:
    if isinstance(part, int):
        return node.get("items")
    further = node.get("additionalProperties")
    return node.get("properties", {}).get(part, further if isinstance(further, Mapping) else None)


def _alternatives(node: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The node itself, its references followed, or its alternatives."""
    if "$ref" in node:
        return _alternatives(schema["$defs"][node["$ref"].rsplit("/", 1)[-1]], schema)
    options = node.get("anyOf") or node.get("oneOf")
    return (
        [entry for option in options for entry in _alternatives(option, schema)]
        if options
        else [node]
    )
