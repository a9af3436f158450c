"""Groups of the configured tokenizers: those of one training, and the pairs to compare."""

import hashlib
import json
from collections.abc import Mapping

from vocap.allocation.settings import Allocation
from vocap.tokenizers.settings import Bpe, BytePair, Joint, Kind, Vocap

FILES = ("sentencepiece.model", "pieces.tsv", "description.json")  # of a unigram tokenizer's folder
BYTE_PAIR_FILES = (BytePair.file, "tokenizer_config.json", *FILES[1:])


def descent_name(entry: Joint, *further: object) -> str:
    """A name that all entries share which one descent gives: alpha, and a hash of the other settings but T.

    `further`: settings outside of the entry that decide its content.
    """
    return f"{entry.alpha}-{_hash(entry.byte_fallback or False, entry.user_defined_symbols or [], *further)}"


def training_name(entry: BytePair, *further: object) -> str:
    """A name that all entries share which one training of byte-pair encoding gives.

    It is their kind, and a hash of the other settings but T. Weights that follow
    parallel text depend on T, so it is one of their settings.
    """
    apart = isinstance(entry, Bpe) and entry.fairness
    return f"{entry.kind}-{_hash(entry.model_dump(exclude=set() if apart else {'total'}), *further)}"


def _hash(*settings: object) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]


def compared_pairs(tokenizers: Mapping[str, Kind], allocations: Mapping[str, Allocation]) -> list[tuple[str, str]]:
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
