"""How often characters occur in the text, and which of them must be pieces."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from vocap.vocabularies import COVERAGE
from vocap.vocabularies.characters import META_PIECES, SEPARATOR, is_trainable, trainer_normalizer


def character_counts(blocks: Iterable[list[str]], meta_pieces: Iterable[str] = META_PIECES) -> Counter[str]:
    """How often each character occurs in the lines as the trainer sees them; one block is held at a time.

    Lines that the trainer skips are left out, spaces are U+2581 and there is one before every line, meta pieces
    are a tab each (`TrainerInterface::LoadSentences`).
    """
    normalizer = trainer_normalizer()
    metas = sorted(set(meta_pieces), key=len, reverse=True)  # the longest wins, as in PrefixMatcher
    counts = np.zeros(0x110000, np.int64)
    for lines in blocks:
        kept = [line for line in lines if is_trainable(line)]
        # The separator of join is taken off again; joined text is one conversion instead of thousands.
        text = "\n".join(normalizer.normalize(kept)) if kept else ""
        if any(meta in text for meta in metas):
            text = _replace_first(text, metas)
        points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
        counts += np.bincount(points, minlength=counts.size)
    counts[[0, ord("\n")]] = 0  # the trainer passes over NUL; line ends are those put in above
    return Counter({chr(point): int(counts[point]) for point in np.flatnonzero(counts)})


def required_characters(
    counts: Mapping[str, float], coverage: float | None = COVERAGE, required_chars: Iterable[str] = ()
) -> list[str]:
    """The characters that SentencePiece makes pieces whatever their use, most frequent first.

    Taken by (count descending, code point ascending), the `required_chars` before all others, also those that do
    not occur, until the share covered, in float32 as there, reaches `coverage`: then required ones are left out
    too. The tab, which stands for meta pieces, is counted but not taken (`TrainerInterface::LoadSentences`).
    A `coverage` of None takes the required ones, all of them and no others.
    """
    named = set(required_chars) - {"\0"}  # which the trainer passes over
    counted = {**dict.fromkeys(named, 0), **counts}
    if coverage is None:
        taken = list(named)
    else:
        total, covered, taken = sum(counts.values()), 0.0, []
        for character in sorted(counted, key=lambda one: (one not in named, -counted[one], one)):
            if not total or np.float32(covered / total) >= np.float32(coverage):
                break
            covered += counted[character]
            taken.append(character)
    return sorted((one for one in taken if one != SEPARATOR), key=lambda one: (-counted[one], one))


def _replace_first(text: str, metas: list[str]) -> str:
    return re.sub("|".join(map(re.escape, metas)), SEPARATOR, text)
