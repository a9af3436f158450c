"""The table of a stage: one row a line of JSON, kept as soon as it is measured."""

import json
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

ATTEMPTS = 2  # of a row; one that ended its process as often is left out


class NoTimeLeft(Exception):
    """The next row may not end within the limit; the same command resumes there."""


class Table:
    """Rows of one stage, in the order of measurement; a row that is there is not
    measured again.

    Every row has the `facts` (torch's version, the device); rows under other facts
    stay, and count for none of these. `deadline`: of `time.monotonic`, seconds.
    """

    def __init__(self, path: Path, facts: dict[str, Any], deadline: float) -> None:
        self.path, self.facts, self.deadline = path, facts, deadline
        lines = _whole_lines(path)
        self.rows = [line for line in lines if "begun" not in line]
        self.begun = [line["begun"] for line in lines if "begun" in line]

    def has(self, **key: Any) -> bool:
        """Whether the row is there, measured or left out."""
        return any(row.items() >= {**self.facts, **key}.items() for row in self.rows)

    def lacks(self, keys: Iterable[dict[str, Any]]) -> bool:
        """Whether one of these rows is still to be measured."""
        return not all(self.has(**key) for key in keys)

    def measure(self, call: Callable[[], dict[str, Any]], needs_s: float = 5.0, **key: Any) -> None:
        """Add the row `key` with the result of `call`, unless it is there; an error is
        a row too (`left_out`).

        Raises NoTimeLeft where less than `needs_s` seconds are left.
        """
        if self.has(**key):
            return
        whole = {**self.facts, **key}
        if self.begun.count(whole) >= ATTEMPTS:
            self.add(key, {"left_out": f"ended its process {ATTEMPTS} times"})
            return
        if time.monotonic() + needs_s > self.deadline:
            raise NoTimeLeft
        self._append({"begun": whole})
        self.begun.append(whole)
        began = time.monotonic()
        try:
            result = call()
        except Exception as error:  # a kernel that this machine does not have is a row of the table
            text = (str(error).strip() or "no message").splitlines()[0]
            result = {"left_out": f"{type(error).__name__}: {text:.160}"}
        self.add(key, result | {"took_s": round(time.monotonic() - began, 2)})

    def add(self, key: dict[str, Any], result: dict[str, Any]) -> None:
        """Keep and print a row."""
        row = {**self.facts, **key, **result}
        self.rows.append(row)
        self._append(row)
        shown = {
            name: round(value, 4) if isinstance(value, float) else value
            for name, value in row.items()
        }
        print(
            *(
                f"{name}={shown[name]}"
                for name in shown
                if name not in self.facts and name != "curve"
            ),
            flush=True,
        )

    def measured(self, **key: Any) -> list[dict[str, Any]]:
        """The rows under these facts and with this key that hold a measurement."""
        wanted = {**self.facts, **key}.items()
        return [row for row in self.rows if row.items() >= wanted and "left_out" not in row]

    def _append(self, line: dict[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a+b") as file:
            if file.tell() and not _ends_a_line(file):
                file.write(b"\n")
            file.write(json.dumps(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


def _ends_a_line(file: BinaryIO) -> bool:
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a table; one that was cut off by a power cut is left out."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text("utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found
