"""Which tokenizers of a configuration are compared: JOINT with one VOCAP tokenizer of each rule, of one T each."""

from collections.abc import Mapping

from vocap.allocation.settings import Allocation
from vocap.tokenizers.settings import Joint, Tokenizer, Vocap


def compared_pairs(
    tokenizers: Mapping[str, Tokenizer], allocations: Mapping[str, Allocation]
) -> list[tuple[str, str]]:
    """Names of A and B, smallest T first, then in the order of `tokenizers`.

    A: the first JOINT tokenizer of its T. B: of each rule of allocation, the first VOCAP tokenizer of that T. Each
    comparison takes about 10 s at T = 100,000 and 86 languages, so further ones are left to `vocap diff`.
    """
    joint: dict[int, str] = {}
    chosen: dict[tuple[int, str], str] = {}
    for name, entry in tokenizers.items():
        if isinstance(entry, Joint):
            joint.setdefault(entry.total, name)
        elif isinstance(entry, Vocap):
            allocation = allocations[entry.allocation]
            chosen.setdefault((allocation.total, allocation.rule), name)
    pairs = [(total, joint[total], b) for (total, _), b in chosen.items() if total in joint]
    return [(a, b) for _, a, b in sorted(pairs, key=lambda pair: pair[0])]
