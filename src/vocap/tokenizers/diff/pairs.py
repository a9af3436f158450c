"""Which tokenizers of a configuration are compared: JOINT with VOCAP, of one T each."""

from collections.abc import Mapping

from vocap.allocation.settings import Allocation
from vocap.tokenizers.settings import Joint, Tokenizer, Vocap


def compared_pairs(
    tokenizers: Mapping[str, Tokenizer], allocations: Mapping[str, Allocation]
) -> list[tuple[str, str]]:
    """Every JOINT tokenizer with every VOCAP tokenizer of the same T: names of A and B, smallest T first."""
    pairs = [
        (entry.total, a, b)
        for a, entry in tokenizers.items()
        if isinstance(entry, Joint)
        for b, other in tokenizers.items()
        if isinstance(other, Vocap) and allocations[other.allocation].total == entry.total
    ]
    return [(a, b) for _, a, b in sorted(pairs)]
