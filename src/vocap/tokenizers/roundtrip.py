"""Texts that come back from a tokenizer: decode(encode(text)) == text, and each kind of loss with an example."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

COLUMNS = ("language", "domain", "texts", "identical", "share", "example")
TEXT = "text"  # the domain of natural language
KINDS = ("unknown", "U+2581", "spaces", "characters")
_SHOWN = 24  # characters of an example, from a little before its first difference on


def loss(text: str, decoded: str, unknown: bool) -> str:
    """The reason for which a text does not come back.

    `unknown`: it holds an unknown token; `U+2581`: this character, which stands for a space; `spaces`: only white
    space; `characters`: others, which the normaliser replaced.

    >>> loss("a  b", "a b", False), loss("1½", "11⁄2", False)
    ('spaces', 'characters')
    """
    if unknown:
        return "unknown"
    if decoded.split() != text.replace("\u2581", " ").split():
        return "characters"
    return "U+2581" if "\u2581" in text else "spaces"


@dataclass
class RoundTrips:
    """Counts of one language; `examples` holds the first text of each kind of loss."""

    texts: int = 0
    losses: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def add(
        self, texts: Sequence[str], ids: Sequence[Sequence[int]], decoded: Sequence[str], unk_id: int | None
    ) -> None:
        """Count texts, their ids, and the text of the ids."""
        self.texts += len(texts)
        for text, numbers, back in zip(texts, ids, decoded, strict=True):
            if back != text:
                kind = loss(text, back, unk_id in numbers)
                self.losses[kind] += 1
                self.examples.setdefault(kind, example(text, back))

    def row(self, language: str, domain: str = TEXT) -> tuple:
        """The cells of `COLUMNS`; no share where there is no text."""
        identical = self.texts - self.losses.total()
        share = identical / self.texts if self.texts else None
        shown = (f"{kind} {self.losses[kind]}: {self.examples[kind]}" for kind in KINDS if self.losses[kind])
        return language, domain, self.texts, identical, share, "; ".join(shown)


def example(text: str, decoded: str) -> str:
    """Both texts from a little before their first difference on.

    >>> example("one  two", "one two")
    '“one  two” → “one two”'
    """
    pairs = enumerate(zip(text, decoded, strict=False))
    start = max(0, next((place for place, (a, b) in pairs if a != b), min(len(text), len(decoded))) - _SHOWN // 3)
    return " → ".join(f"“{_part(one, start)}”" for one in (text, decoded))


def _part(text: str, start: int) -> str:
    end = "…" if len(text) > start + _SHOWN else ""
    return ("…" if start else "") + text[start : start + _SHOWN] + end
