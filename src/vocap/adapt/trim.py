"""A tokenizer, and its model, for some of its languages."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from vocap.adapt.adaptable import Adaptable, Reason
from vocap.adapt.adapted import Adapted, IdRow, open_model, open_tokenizer
from vocap.adapt.comparison import check_lines
from vocap.errors import SettingError, VocapError
from vocap.section import ConfigSection
from vocap.text_files.named_texts import Parts, find_texts, read_sentences
from vocap.text_files.text import Text, repeatable, text_name
from vocap.unigram.alp import count_tokens

if TYPE_CHECKING:
    from vocap.adapt.model_rows import ModelFiles


class TrimSettings(ConfigSection):
    """Which pieces `trim` keeps."""

    only_used: bool = Field(
        False,
        description="drop the languages' own pieces, too, where the text does not use them",
    )
    min_count: int = Field(
        1, ge=1, description="least number of uses in the text for which a piece is kept"
    )
    all_characters: bool = Field(False, description="keep every single character of any language")


def trim(
    tokenizer: str | Path,
    output: str | Path | None = None,
    *,
    languages: Sequence[str] | None = None,
    text: Mapping[str, Text] | None = None,
    heldout: Mapping[str, Text] | None = None,
    corpora: str | Path | None = None,
    model: str | Path | None = None,
    settings: ConfigSection | None = None,
    **fields: object,
) -> Adapted:
    """Reduce a tokenizer to the pieces that some languages need. Every line is
    segmented before and after, and compared.

    Parameters
    ----------
    tokenizer
        results/tokenizers/NAME, a SentencePiece unigram .model, or a tokenizer.json of
        byte-pair encoding.
    output
        A new folder to write. Without it nothing is written (see `Adapted.write`).
    languages
        The languages to keep, by default all that have text.
    text, heldout
        The text of each language, and its held-out text.
    corpora
        A folder with {language}/train.txt and heldout.txt. Where no text is given, it
        is by default that of the run that made the tokenizer.
    model
        The folder of the tokenizer's Hugging Face model, which is reduced too.
    settings, **fields
        A `TrimSettings`, and its fields in the place of its own: only_used, min_count,
        all_characters.

    Raises
    ------
    UsageError
        For a language without text, and a folder `output` with anything in it.
    VocapError
        For files that are no such tokenizer or model, and where no text has a line.
    """
    own = TrimSettings.given(settings, **fields)
    source = open_tokenizer(tokenizer, output)
    adapted = open_model(model, source)
    folder = Path(corpora) if corpora is not None else None
    if folder is None and not text:
        folder = source.corpora
    texts = find_texts(text or {}, folder, languages, ["train", "heldout"])
    for code, held in (heldout or {}).items():
        if code not in texts:
            raise SettingError(
                "heldout",
                f"{code}={text_name(held)}: {code} is not among the languages; give it text too",
            )
        texts[code]["heldout"] = repeatable(held)
    found = _trim_to(source, texts, {"languages": list(texts), **own.model_dump()}, adapted)
    if output is not None:
        found.write(output)
    return found


def _trim_to(
    source: Adaptable, texts: Parts, settings: Mapping[str, Any], model: "ModelFiles | None"
) -> Adapted:
    # uses of each id in the texts and in the held-out texts
    encoder = source.encoder
    uses = np.zeros((2, encoder.size), np.int64)
    for parts in texts.values():
        for part, text in parts.items():
            counts, _ = count_tokens(encoder, read_sentences(text))
            uses[int(part == "heldout")] += counts
    if not uses.any():
        raise VocapError("no line in any text; give text with a sentence a line")
    # choose, with and without held-out text
    owners = {} if settings["only_used"] else source.owners()
    owned = {piece for piece, codes in owners.items() if not texts.keys().isdisjoint(codes)}
    limits = owned, settings["min_count"], settings["all_characters"]
    choice = source.choose(uses[0], uses[1], *limits)
    foreseen = source.choose(uses[0], np.zeros_like(uses[1]), *limits).reasons
    # cut and compare
    after = source.cut_to(choice, owners)
    checks = check_lines(source, after, texts, foreseen)
    ids: list[IdRow] = []
    for new, (piece, name) in enumerate(zip(after.encoder.pieces, after.names, strict=True)):
        reason = choice.reasons.get(piece or "", Reason.SPECIAL)
        ids.append((source.ids.get(piece or ""), new, name, reason))
    reasons = list(choice.reasons.values())
    facts = {
        "total_before": source.total,
        **choice.facts,
        "kept_for": {reason: reasons.count(reason) for reason in source.reasons},
        "lines_compared": sum(check.lines for check in checks.values()),
        "lines_identical": sum(check.identical for check in checks.values()),
    }
    origins = [[old] for old, *_ in ids if old is not None]
    return Adapted(source, after, "trimmed", settings, facts, ids, checks, model, origins)
