"""A tokenizer cut to the tokens that the text of some languages needs."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vocap.adapt.adaptable import SPECIAL, Adaptable, Checks, compare_texts, corpora_of, count_uses, write_adapted
from vocap.errors import UsageError, VocapError
from vocap.text_files.named_texts import Texts, find_texts, parse_files, parse_languages
from vocap.wording import listed

logger = logging.getLogger(__name__)


def trim(
    source: Adaptable,
    model,
    languages: str | None,
    texts: Sequence[str],
    heldouts: Sequence[str],
    corpora: Path | None,
    vocabulary: Path | None,
    only_used: bool,
    min_count: int,
    all_characters: bool,
    out: Path,
) -> tuple[list[str], int]:
    """Write the tokenizer for some languages, as `vocap trim` says. Returns lines to print, and T."""
    # texts
    if corpora is None and not texts:
        corpora = corpora_of(source.path)
    files = find_texts(texts, corpora, parse_languages(languages), ["train", "heldout"])
    for code, path in parse_files(heldouts, "--heldout").items():
        if code not in files:
            raise UsageError(f"--heldout {code}={path}: {code} is not among the languages; give it text too")
        files[code]["heldout"] = path
    # the languages' own pieces
    owners = {} if only_used else source.owners(vocabulary)
    if vocabulary is not None and not any(not files.keys().isdisjoint(codes) for codes in owners.values()):
        raise VocapError(f"{vocabulary}: no piece of {', '.join(files)} there; name another table")
    settings = {
        "languages": list(files),
        "min_count": min_count,
        "only_used": only_used,
        "all_characters": all_characters,
    }
    return _trim(source, files, owners, settings, model, out)


def _trim(source: Adaptable, files: Texts, owners, settings, model, out: Path) -> tuple[list[str], int]:
    """Choose, cut, compare, write. Returns the lines to print and T."""
    # choose, with and without held-out text
    text, heldout = count_uses(source.encoder, files)
    owned = {piece for piece, codes in owners.items() if not files.keys().isdisjoint(codes)}
    limits = (owned, settings["min_count"], settings["all_characters"])
    choice = source.choose(text, heldout, *limits)
    foreseen = source.choose(text, np.zeros_like(heldout), *limits).reasons
    if choice.unreachable:
        logger.warning(
            "%s: %d tokens that no text is encoded as are left out: %s",
            source.path,
            len(choice.unreachable),
            listed(choice.unreachable, separator=" "),
        )
    # cut and compare
    after = source.cut_to(choice, owners)
    pieces, number = source.encoder.pieces, {piece: new for new, piece in enumerate(after.encoder.pieces)}
    renamed = {old: number[piece] for old, piece in enumerate(pieces) if piece in number}
    checks = compare_texts(source, after, renamed, files, np.array([piece in foreseen for piece in pieces]))
    ids = [
        (source.ids.get(piece), new, name, choice.reasons.get(piece, SPECIAL))
        for new, (piece, name) in enumerate(zip(after.encoder.pieces, after.names, strict=True))
    ]
    if model is not None:
        from vocap.adapt.model_rows import renumber_specials, replace_rows  # torch

        renumber_specials(model, {old: new for old, new, *_ in ids})
        replace_rows(model, [[old] for old, *_ in ids])
    # write
    kept_for = {reason: sum(why == reason for why in choice.reasons.values()) for reason in source.reasons}
    facts = {
        "total_before": source.total,
        **choice.facts,
        "kept_for": kept_for,
        "lines_compared": sum(found.lines for found in checks.values()),
        "lines_identical": sum(found.identical for found in checks.values()),
    }
    settings = {key: value for key, value in settings.items() if key not in source.unused}
    write_adapted(out, after, "trimmed", settings, ids, checks, facts, model)
    return _trimmed(checks, facts), len(ids)


def _trimmed(checks: Checks, facts: Mapping[str, Any]) -> list[str]:
    """The summary: pieces kept by reason, and lines that changed."""
    lines, identical = facts["lines_compared"], facts["lines_identical"]
    reasons = (f"{count:,} {reason}" for reason, count in facts["kept_for"].items() if count)
    shown = [f"kept: {', '.join(reasons)}"]
    for (code, part), found in checks.items():
        if found.lines:
            note = f"{code} {part}: {found.identical:,} of {found.lines:,} lines as before"
            if found.unforeseen is not None:
                share = 100 * found.unforeseen / found.lines
                note += f"; {found.unforeseen:,} ({share:.2f} %) use pieces that only this text kept"
            shown += [note, *(f"  {example}" for example in found.examples)]
    verdict = "all the same" if lines == identical else f"{lines - identical:,} differ"
    return [*shown, f"{lines:,} lines compared, {verdict}"]
