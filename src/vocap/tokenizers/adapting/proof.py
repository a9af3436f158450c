"""Is a text segmented as before? Every line under both tokenizers, through the map of their ids."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

COLUMNS = (
    "language",
    "part",
    "lines",
    "identical",
    "share",
    "tokens_before",
    "tokens_after",
    "unforeseen",
    "example",
)
EXAMPLES = 3
_LINE = 80  # characters of an example


@dataclass
class Proof:
    """The lines of one text: `identical` have the same pieces; `unforeseen` use one that training text did not.

    `unforeseen` of held-out text is how many of its lines would have changed had it not been read: what to expect
    of text that nobody has seen. None where it was not asked for.
    """

    lines: int = 0
    identical: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    unforeseen: int | None = None
    examples: list[str] = field(default_factory=list)

    def row(self, language: str, part: str) -> tuple:
        """The cells of `COLUMNS`; no share where there is no line."""
        share = self.identical / self.lines if self.lines else None
        counts = (self.lines, self.identical, share, self.tokens_before, self.tokens_after, self.unforeseen)
        return language, part, *counts, "; ".join(self.examples)


def compare(
    before, after, new_ids: Mapping[int, int], blocks: Iterable[list[str]], foreseen: np.ndarray | None = None
) -> Proof:
    """Segment every line with both encoders; one block of lines is held at a time.

    `new_ids`: the id in `after` of each id of `before` that stays. `foreseen` bool [V before]: the pieces that
    were chosen without this text.
    """
    proof = Proof(unforeseen=None if foreseen is None else 0)
    renamed = [new_ids.get(number, -1) for number in range(before.size)]
    surprising = set() if foreseen is None else set(np.flatnonzero(~foreseen).tolist())
    for lines in blocks:
        proof.lines += len(lines)
        for line, old, new in zip(lines, before.encode_batch(lines), after.encode_batch(lines), strict=True):
            proof.tokens_before += len(old)
            proof.tokens_after += len(new)
            if proof.unforeseen is not None and not surprising.isdisjoint(old):
                proof.unforeseen += 1
            if list(map(renamed.__getitem__, old)) == new:
                proof.identical += 1
            elif len(proof.examples) < EXAMPLES:
                proof.examples.append(_show(before, after, line))
    return proof


def _show(before, after, line: str) -> str:
    """The line, shortened, and the part of both splits that differs, with a piece on either side."""
    one, other = (side.processor.encode(line, out_type=str) for side in (before, after))
    start = next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    end = 0
    while end < min(len(one), len(other)) - start and one[-1 - end] == other[-1 - end]:
        end += 1
    first, last = max(start - 1, 0), max(end - 1, 0)
    shown = [" ".join(side[first : len(side) - last]) for side in (one, other)]
    return f"“{line if len(line) <= _LINE else line[:_LINE] + '…'}”: {shown[0]} → {shown[1]}"
