"""The sweep of `vocap extend`: every number of new pieces measured, from one training of the ladder."""

import logging
from pathlib import Path

from vocap.errors import VocapError, missing_extra
from vocap.progress import Steps

logger = logging.getLogger(__name__)


def sweep(source, own, others, settings, counts: list[int], model, out: Path) -> list[str]:
    """Measure each number of new pieces in `counts` (rising), write the table. Returns the lines to print.

    `source` is a `SourceTokenizer`, `own` and `others` the texts of the new language and of the others.
    """
    from sentencepiece import SentencePieceProcessor

    from vocap.adapt import extending
    from vocap.adapt import sweep as rows
    from vocap.adapt.language_text import read_words
    from vocap.text_files.named_texts import read_sentences
    from vocap.tokenizer_files.encoders import SentencePieceEncoder
    from vocap.tokenizer_files.layout import serialize
    from vocap.unigram.alp import corpus_alp

    symbols, part = source.contents.symbols, "heldout" if own["heldout"] else "train"
    before = corpus_alp(source.encoder, read_sentences(own[part]))
    if before is None:
        raise VocapError(f"{own[part]}: no line in it; give text with a sentence a line")
    table = None
    if model is not None:
        from vocap.adapt.model_rows import check_rows, row_bytes

        table = check_rows(model, source.total - 1), row_bytes(model)
    words = read_words(source, own["train"], settings["coverage"])
    models = extending.choose_models(words, source.ids, symbols, counts, settings["coverage"])
    texts = [path for parts in others.values() for path in parts.values()]
    lines = sum(len(block) for path in texts for block in read_sentences(path))
    points = [
        rows.Point(
            0, source.total, before.tokens_per_sentence, 0.0, 0 if lines else None, 0.0 if lines else None, 0,
            0, None if table is None else 0.0, before.alp,
        )
    ]  # fmt: skip
    with Steps("sweep", len(counts)) as steps:
        for count in counts:
            available = extending.additions(models[count][1], source.ids, symbols)
            if len(available) < count:
                status = f"too little text: at most {len(available)} new pieces"
                points.append(rows.Point(count, source.total + count, status=status))
            else:
                proto = extending.extend_proto(source.contents, source.proto, available, count, settings["share"])
                after = SentencePieceEncoder(SentencePieceProcessor(model_proto=serialize(proto)))
                changed = sum(
                    rows.count_changed(after.encode_batch, source.total, read_sentences(path)) for path in texts
                )
                alp = corpus_alp(after, read_sentences(own[part]))
                points.append(rows.measure(before, alp, source.total, changed if lines else None, lines, table))
            steps.advance()
    points = rows.mark_knee(points)
    rows.write_sweep(out, points, _chart(points, settings["language"]))
    return [*rows.shown(points), *_notes(points, settings, others, lines, part, out)]


def _notes(points, settings, others, lines: int, part: str, out: Path) -> list[str]:
    """Which texts the columns are of, and the knee in words."""
    from vocap.adapt.sweep import KNEE, TABLE

    notes = [f"tokens, ALP and pieces never used: of {settings['language']} {part}"]
    if lines:
        notes[0] += f"; lines changed: of {lines:,} of {len(others)} other languages"
    else:
        notes.append("no text of other languages was given: changes for them are not measured")
    for point in points:
        if point.status == KNEE:
            notes.append(f"knee: {point.pieces:,} pieces (T = {point.total:,}), up to the largest number measured")
    return [*notes, f"written: {out / TABLE}"]


def _chart(points, language: str) -> bytes | None:
    """The table as a figure; None where altair is not installed."""
    try:
        from vocap.adapt.sweep_chart import draw
    except ModuleNotFoundError as error:
        if missing_extra(error.name or "") is None:
            raise
        logger.info("no figure: %s is not installed; %s", error.name, missing_extra(error.name))
        return None
    return draw(points, language)
