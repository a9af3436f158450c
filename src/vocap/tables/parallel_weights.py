"""Weights of languages that follow parallel text: larger, the more tokens the same sentences take."""

from collections.abc import Mapping, Sequence
from decimal import Context, Decimal

EXACT = Context(prec=40)  # decimal powers are the same on every machine


def reference_language(parallel: Mapping[str, Sequence[str]]) -> str | None:
    """The language that others are compared with: English, or the one with the most lines; None without any."""
    if "en" in parallel:
        return "en"
    return max(sorted(parallel), key=lambda code: sum(map(bool, parallel[code])), default=None)


def reference_lines(parallel: Mapping[str, Sequence[str]], language: str) -> tuple[list[str], int]:
    """The lines of `language` that the reference language has too, and the bytes of UTF-8 of these in the latter.

    `parallel`: aligned lines by language, empty where one has no translation; none of `language` gives ([], 0).

    >>> reference_lines({"en": ["one", "two", ""], "de": ["eins", "", "drei"]}, "de")
    (['eins'], 3)
    """
    pairs = zip(parallel.get(language, ()), parallel.get(reference_language(parallel), ()), strict=False)
    shared = [(own, other) for own, other in pairs if own and other]
    return [own for own, _ in shared], sum(len(other.encode("utf-8")) for _, other in shared)


def fair_factors(tokens: Sequence[int], references: Sequence[int], power: float) -> list[Decimal]:
    """(x / mean of x)^power of each language, x = tokens a byte of the reference; 1 for one without either.

    `tokens` of each language's lines of `reference_lines`, `references` their bytes.

    >>> [int(factor * 8) for factor in fair_factors([2, 6, 0], [10, 10, 0], 1)]
    [4, 12, 8]
    """
    rates = [
        EXACT.divide(Decimal(count), Decimal(size)) if count and size else None
        for count, size in zip(tokens, references, strict=True)
    ]
    known = [rate for rate in rates if rate]
    mean = EXACT.divide(sum(known, Decimal(0)), Decimal(max(1, len(known))))
    exponent = Decimal(str(power))
    return [EXACT.power(EXACT.divide(rate, mean), exponent) if rate else Decimal(1) for rate in rates]
