"""The lines of texts under a tokenizer and under the one made of it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from vocap.adapt.adaptable import Adaptable
from vocap.text_files.named_texts import Parts, read_sentences
from vocap.unigram.usage import Columns, Segments, cells, shared_prefix, sums_by_side

EXAMPLES_KEPT = 3
SAMPLES_KEPT = 8  # lines of a text on which a model is compared
_SHOWN = 80  # characters of an example
# The columns of comparison.tsv, sums and ratios of sums
CHECKS: Columns = {
    "lines": "lines_before",
    "identical": "identical",
    "share": "identical / lines_before",
    "tokens_before": "paid_before",
    "tokens_after": "paid_after",
    "unforeseen": "unforeseen",
}
CHECK_COLUMNS = ("language", "part", *CHECKS, "example")


@dataclass
class LineCheck:
    """The lines of one text `before` and `after`: `identical` lines have the same pieces;
    `unforeseen` use one that training text did not. `samples`: the ids before of lines
    whose every token stays.

    `unforeseen` of held-out text: the lines that would have changed if it had not been
    read, an estimate for unseen text; None where it is not measured.
    """

    before: Segments
    after: Segments
    identical: int = 0
    unforeseen: int | None = None
    examples: list[str] = field(default_factory=list)
    samples: list[list[int]] = field(default_factory=list)

    @cached_property
    def sums(self) -> dict[str, Any]:
        """Those of both sides, of all lines."""
        counted = {"identical": self.identical, "unforeseen": self.unforeseen}
        return sums_by_side(before=self.before, after=self.after) | counted

    @property
    def lines(self) -> int:
        return self.sums["lines_before"]

    def cells(self) -> tuple[Any, ...]:
        """The cells of comparison.tsv behind language and part; no share where there is
        no line.
        """
        return *cells(CHECKS, self.sums).values(), "; ".join(self.examples)


Checks = Mapping[tuple[str, str], LineCheck]  # by language and part


def check_lines(
    before: Adaptable, after: Adaptable, texts: Parts, foreseen: Collection[str] | None = None
) -> dict[tuple[str, str], LineCheck]:
    """Segment every line of every text with both; one block of lines is held at a time.

    `foreseen`: the pieces that were chosen without held-out text, for its check.
    """
    pieces = before.encoder.pieces
    places = {piece: new for new, piece in enumerate(after.encoder.pieces)}
    renamed = [places.get(piece, -1) for piece in pieces]
    unforeseen = set()
    if foreseen is not None:
        unforeseen = {old for old, piece in enumerate(pieces) if piece not in foreseen}
    checks = {}
    for code, parts in texts.items():
        for part, text in parts.items():
            check = checks[code, part] = LineCheck(
                Segments(before.encoder), Segments(after.encoder)
            )
            if foreseen is not None and part == "heldout":
                check.unforeseen = 0
            for lines in read_sentences(text):
                rows = check.before.add(lines), check.after.add(lines)
                for line, old, new in zip(lines, *rows, strict=True):
                    if check.unforeseen is not None and not unforeseen.isdisjoint(old):
                        check.unforeseen += 1
                    mapped = [renamed[number] for number in old]
                    if old and len(check.samples) < SAMPLES_KEPT and -1 not in mapped:
                        check.samples.append(old)
                    if mapped == new:
                        check.identical += 1
                    elif len(check.examples) < EXAMPLES_KEPT:
                        splits = before.tokens(line), after.tokens(line)
                        check.examples.append(show_change(line, *splits))
    return checks


def show_change(line: str, one: Sequence[str], other: Sequence[str]) -> str:
    """The line, shortened, and the part of both splits that differs, with a piece on
    either side.

    >>> show_change("a b c d", ["a", "b", "c", "d"], ["a", "bc", "d"])
    '“a b c d”: a b c d → a bc d'
    """
    start = shared_prefix(one, other)
    end = shared_prefix(one[start:][::-1], other[start:][::-1])
    first, last = max(start - 1, 0), max(end - 1, 0)
    parts = (" ".join(side[first : len(side) - last]) for side in (one, other))
    shown = [text if len(text) <= _SHOWN else text[:_SHOWN] + "…" for text in (line, *parts)]
    return "“{}”: {} → {}".format(*shown)
