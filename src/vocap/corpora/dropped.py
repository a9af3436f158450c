"""Lines that were read and are not used: the share from which a person is told, or the text is refused."""

from collections.abc import Iterable, Mapping
from typing import Any

from vocap.corpora import MAX_LINE_BYTES
from vocap.errors import VocapError

WARNED = 0.01  # of a text's lines dropped as overlong
REFUSED = 0.5

_LIMIT = f"longer than {MAX_LINE_BYTES:,} bytes, SentencePiece's limit"


def check_dropped(path: str, counts: Mapping[str, int], split_sentences: bool) -> list[str]:
    """Warnings on the counts of a sample, for a text whose first file is `path`.

    Raises VocapError where most lines are too long to be learnt from and nothing cut them into sentences yet.
    """
    overlong, lines = counts["overlong"], counts["read"] - counts["empty"]
    remedy = (
        "cut them at shorter distances: they have little punctuation"
        if split_sentences
        else "if they are whole documents, cut them into sentences: split_sentences: true (vocap sample "
        "--split-sentences)"
    )
    said = f"{overlong:,} of {lines:,} lines are {_LIMIT}"
    if overlong > REFUSED * lines and not split_sentences:
        raise VocapError(f"{path}: {said}, and would be dropped; {remedy}")
    warnings = []
    if overlong > WARNED * lines:
        warnings.append(f"{said}, and were dropped; {remedy}")
    if counts["no_field"] > counts["valid"]:
        lacking, valid = counts["no_field"], counts["valid"]
        warnings.append(f"{lacking:,} records do not have the field; the others gave {valid:,} lines")
    return warnings


def overlong_languages(stats: Iterable[Mapping[str, Any]]) -> str:
    """One warning for all languages of which a share of lines above `WARNED` is overlong; empty for none."""
    shares = {}
    for entry in stats:
        overlong, lines = entry.get("overlong", 0), entry.get("read", 0) - entry.get("empty", 0)
        if overlong > WARNED * lines:
            shares[entry["language"]] = overlong / lines
    if not shares:
        return ""
    named = ", ".join(f"{language} {share:.0%}" for language, share in shares.items())
    return f"lines {_LIMIT}, were dropped: {named}; cut documents into sentences with split_sentences: true"
