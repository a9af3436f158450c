"""Characters of normalised text, and which of them must be pieces."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from vocap.corpora import MAX_LINE_BYTES
from vocap.vocabularies import COVERAGE

META_PIECES = ("<unk>", "<s>", "</s>")
RESERVED = "\u2585"  # stands for characters without a piece inside the trainer; lines that contain it are skipped
SEPARATOR = "\t"  # what the trainer puts in the place of a meta piece found in the text


def trainer_normalizer():
    """The normaliser that training applies: nmt_nfkc, U+2581 for spaces and before the line."""
    import sentencepiece

    return sentencepiece.SentencePieceNormalizer(
        rule_name="nmt_nfkc", add_dummy_prefix=True, escape_whitespaces=True, remove_extra_whitespaces=True
    )


def is_trainable(line: str) -> bool:
    """Whether the trainer reads this line at all (`TrainerInterface::LoadSentences`): what it skips is silent."""
    if not line or RESERVED in line:
        return False
    return len(line) * 4 <= MAX_LINE_BYTES or len(line.encode("utf-8")) <= MAX_LINE_BYTES


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


def required_characters(counts: Mapping[str, float], coverage: float = COVERAGE) -> list[str]:
    """The characters that SentencePiece makes pieces whatever their use, most frequent first.

    Taken by (count descending, code point ascending) until the share covered, in float32 as there, reaches
    `coverage`; the tab, which stands for meta pieces, is counted but not taken
    (`TrainerInterface::LoadSentences`).
    """
    total = sum(counts.values())
    required, covered = [], 0.0
    for character, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if np.float32(covered / total) >= np.float32(coverage):
            break
        covered += count
        if character != SEPARATOR:
            required.append(character)
    return required


def _replace_first(text: str, metas: list[str]) -> str:
    return re.sub("|".join(map(re.escape, metas)), SEPARATOR, text)
