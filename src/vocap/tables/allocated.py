"""What a tokenizer is made from: the result of an allocation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vocap.result import Result


@dataclass(frozen=True, repr=False)
class Allocated(Result):
    """The result of an allocation.

    `sizes`: language to size of its chosen model; `owners`: piece to its languages, in
    the file's order; `settings`: those in `summary.json`, and `lines` of the text of a
    rule that reads it, if recorded.
    """

    sizes: dict[str, int]
    owners: dict[str, list[str]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    lines: int | None = None
