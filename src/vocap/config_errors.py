"""Messages for errors of a configuration, a line each: the key, the error, the
remedy.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from vocap.files.io import key_lines
from vocap.pretraining.loss_kinds import LOSSES, LossSettings
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


def describe_all(details: Sequence[ErrorDetails], settings: type[BaseModel]) -> list[str]:
    """A line for each finding of pydantic on `settings`, but none for a missing key
    that a mistyped one stands for.
    """
    lines: dict[str, str] = {}  # with the key, where it is missing
    meant: set[str] = set()
    for detail in details:
        path, known = find_section(detail["loc"], settings)
        key = ".".join(path)
        if path[0] == "languages":
            key, message = "languages", f"give a list of codes, or all; not {detail['input']!r}"
        elif detail["type"] == "extra_forbidden":
            near = get_close_matches(path[-1], known, n=1)
            meant.update(".".join([*path[:-1], name]) for name in near)
            message = f"no such key here; {_remedy(near, known)}"
        else:
            message = _message(detail)
        hint = _hint(detail["input"], detail["type"] not in NO_NAMES)
        lines[f"{key}: {message}{hint}"] = key if detail["type"] == "missing" else ""
    return [line for line, missing in lines.items() if missing not in meant]


def find_section(
    loc: Sequence[str | int], settings: type[BaseModel]
) -> tuple[list[str], list[str]]:
    """The key of a finding, without the kind of an entry, which pydantic puts into it,
    and the keys of its section.
    """
    path: list[str] = []
    sections: list[type[BaseModel]] = [settings]
    section = sections  # that of the last part
    is_name = False  # of an entry of a map, which no section knows
    for part in map(str, loc):
        section = sections
        chosen = [one for one in sections if part in _kinds_of(one)]
        if len(sections) > 1 and chosen and not is_name:
            sections = chosen
            continue
        path.append(part)
        if is_name:
            is_name = False
            continue
        fields = [one.model_fields[part] for one in sections if part in one.model_fields]
        if fields:
            sections = [found for field in fields for found in _sections_in(field.annotation)]
            is_name = any(get_origin(field.annotation) is dict for field in fields)
    known = [field.alias or name for one in section for name, field in one.model_fields.items()]
    return path, list(dict.fromkeys(known))


def _sections_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The classes of settings in the type of a field."""
    if annotation is LossSettings:
        yield from LOSSES.values()
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _sections_in(inner)


def _kinds_of(section: type[BaseModel]) -> tuple[str, ...]:
    """The values that `kind` may have in an entry; none where it has no such key."""
    field = section.model_fields.get("kind")
    return get_args(field.annotation) if field else ()


def _message(detail: ErrorDetails) -> str:
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
    return ""


def _remedy(near: Sequence[str], known: Sequence[str]) -> str:
    if near:
        return f"did you mean {near[0]}?"
    return f"check its indentation; known are {', '.join(known)}"
