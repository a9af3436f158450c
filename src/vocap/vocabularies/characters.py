"""Normalised text as the trainer sees it: its normaliser, its special characters, the lines that it skips.

Nothing here imports numpy: the process that normalises text for a ladder should start at once.
"""

from vocap.corpora import MAX_LINE_BYTES

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
