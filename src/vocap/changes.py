"""The changed parameters of a job, old and new value, for the end of a dry run."""

import ast
import json
from collections.abc import Collection, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

LONGEST = 80  # characters of a value that are shown


def describe(old: Collection[str], new: Mapping[str, str]) -> list[str]:
    """One line for each value that differs, from parameters as Snakemake records them (`repr`).

    `old`: those that only the record has, without names; `new`: name to value of those that only the job has.
    Of command lines, the options that differ are shown; of JSON, the keys.

    >>> describe(["'--max-sentences=1000 --seed=1'"], {"arguments": "'--max-sentences=1000 --seed=7'"})
    ['--seed=1 -> --seed=7']
    >>> describe(["0.9995"], {"coverage": "0.999"})
    ['coverage: 0.9995 -> 0.999']
    """
    waiting = sorted(map(_value, old), key=str)
    lines = []
    for name, text in sorted(new.items()):
        value = _value(text)
        before = max(waiting, key=lambda other: _likeness(other, value), default=None)
        if before is None:
            lines.append(f"{name}: {_short(value)} is new")
            continue
        waiting.remove(before)
        lines += _differences(name, before, value)
    return lines + [f"no longer: {_short(value)}" for value in waiting]


def _value(text: str) -> Any:
    """A recorded value; its text where it is no literal."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _likeness(a: Any, b: Any) -> float:
    return (type(a) is type(b)) + SequenceMatcher(None, str(a)[:2000], str(b)[:2000], autojunk=False).ratio()


def _differences(name: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, str) and isinstance(new, str):
        a, b = _json(old), _json(new)
        if a is not None and b is not None:
            yield from _of_maps("", a, b)
            return
        if old.startswith("--") or new.startswith("--"):
            gone = [word for word in old.split() if word not in new.split()]
            come = [word for word in new.split() if word not in old.split()]
            yield f"{_short(' '.join(gone)) or 'nothing'} -> {_short(' '.join(come)) or 'nothing'}"
            return
    yield f"{name}: {_short(old)} -> {_short(new)}"


def _json(text: str) -> dict | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _of_maps(path: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for key in dict.fromkeys([*old, *new]):
        a, b = old.get(key), new.get(key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            yield from _of_maps(f"{path}{key}.", a, b)
        elif a != b:
            yield f"{path}{key}: {'none' if a is None else _short(a)} -> {'none' if b is None else _short(b)}"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 4]} ..."
