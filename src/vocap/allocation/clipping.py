"""From the union of the chosen vocabularies to exactly the pieces that there is room for."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from vocap.allocation import SPECIALS
from vocap.errors import UsageError


def clip(
    union: Iterable[str], capacity: int, slices: Iterator[Mapping[str, float]], required: Collection[str] = ()
) -> tuple[list[str], list[str]]:
    """The pieces kept, in the order of `union`, and the pieces dropped, the first to go first.

    `slices` gives candidates, piece to score (natural log), one mapping after the other as long as more must go:
    first the new pieces of the last step, then all pieces by their best score. Within a mapping the lowest score
    goes first, then the first by code point; a single character never goes, `required` or not.
    Raises UsageError where the capacity is below the single characters alone.
    """
    union = list(union)
    excess = len(union) - capacity
    if excess <= 0:
        return union, []
    characters = sum(len(piece) == 1 for piece in union)
    if characters > capacity:
        raise UsageError(
            f"a total of {capacity + SPECIALS} leaves room for {capacity} pieces beside the {SPECIALS} special "
            f"tokens, but the chosen vocabularies hold {characters} single characters ({len(required)} of them "
            f"required), which are never clipped; use a total of at least {characters + SPECIALS}, or leave out "
            "languages"
        )
    present = set(union)
    dropped: dict[str, None] = {}
    while len(dropped) < excess:
        scores = next(slices)
        candidates = [piece for piece in scores if len(piece) > 1 and piece in present and piece not in dropped]
        candidates.sort(key=lambda piece: (scores[piece], piece))
        dropped.update(dict.fromkeys(candidates[: excess - len(dropped)]))
    return [piece for piece in union if piece not in dropped], list(dropped)
