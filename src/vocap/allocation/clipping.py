"""From the union of the chosen vocabularies to exactly the pieces that there is room for."""

from collections.abc import Iterator, Mapping, Sequence

from vocap.errors import UsageError


def clip(
    union: Sequence[str], required: Sequence[str], capacity: int, slices: Iterator[Mapping[str, float]]
) -> tuple[list[str], list[str]]:
    """The pieces kept and the pieces dropped, both sorted.

    `slices` gives candidates, piece to score (natural log), one mapping after the other as long as more must go:
    first the new pieces of the last step, then all pieces by their best score. Within a mapping the lowest score
    goes first, then the first by code point; a single character never goes, required or not.
    Raises UsageError where the capacity is below the characters alone.
    """
    kept = set(union)
    kept.update(required)
    dropped: list[str] = []
    excess = len(kept) - capacity
    if excess > 0:
        characters = sum(len(piece) == 1 for piece in kept)
        if characters > capacity:
            raise UsageError(
                f"a total of {capacity + 5} leaves room for {capacity} pieces beside the 5 special tokens, below "
                f"the {characters} required characters; use at least {characters + 5}, or fewer languages"
            )
    while excess > 0:
        scores = next(slices)
        candidates = [piece for piece in scores if len(piece) > 1 and piece in kept]
        going = sorted(candidates, key=lambda piece: (scores[piece], piece))[:excess]
        kept.difference_update(going)
        dropped.extend(going)
        excess -= len(going)
    return sorted(kept), sorted(dropped)
