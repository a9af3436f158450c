"""The sweep of `vocap extend`: every number of new pieces measured, from one training."""

import logging
from pathlib import Path

from sentencepiece import SentencePieceProcessor

from vocap.adapt import extending
from vocap.adapt import sweep as rows
from vocap.adapt.language_text import read_words
from vocap.errors import VocapError, missing_extra
from vocap.progress import Steps
from vocap.text_files.named_texts import read_sentences
from vocap.tokenizer_files.encoders import SentencePieceEncoder
from vocap.tokenizer_files.layout import serialize
from vocap.unigram.alp import corpus_alp

logger = logging.getLogger(__name__)


def sweep(source, ladder, own, others, settings, counts: list[int], model, out: Path) -> list[str]:
    """Measure each number of new pieces in `counts` (rising), write the table. Returns the lines to print.

    `source` is a `SourceTokenizer` or `PairSource`; `ladder` a `PieceLadder` or `PairLadder` of the new language,
    `own` and `others` the texts of it and of the others.
    """
    part = "heldout" if own["heldout"] else "train"
    before = corpus_alp(source.encoder, read_sentences(own[part]))
    if before is None:
        raise VocapError(f"{own[part]}: no line in it; give text with a sentence a line")
    table = None
    if model is not None:
        from vocap.adapt.model_rows import check_rows, row_bytes  # torch: only where it is needed

        table = check_rows(model, source.total - 1), row_bytes(model)
    ladder.train(counts)
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
            available = ladder.available(count)
            if available < count:
                status = f"too little text: at most {available} new pieces"
                points.append(rows.Point(count, source.total + count, status=status))
            else:
                after = ladder.extended(count)
                changed = sum(ladder.changed_lines(after, path) for path in texts)
                alp = corpus_alp(after, read_sentences(own[part]))
                points.append(rows.measure(before, alp, source.total, changed if lines else None, lines, table))
            steps.advance()
    points = rows.mark_knee(points)
    rows.write_sweep(out, points, _chart(points, settings["language"]))
    return [*rows.shown(points), *_notes(points, settings, others, lines, part, out)]


class PieceLadder:
    """The new pieces of a unigram model: `source` a `SourceTokenizer`, `text` that of the new language."""

    def __init__(self, source, text: Path, settings):
        self.source, self.text, self.settings = source, text, settings

    def train(self, counts: list[int]) -> None:
        """Choose the models of so many new pieces."""
        coverage, symbols = self.settings["coverage"], self.source.contents.symbols
        words = read_words(self.source, self.text, coverage)
        models = extending.choose_models(words, self.source.ids, symbols, counts, coverage)
        self.new = {
            count: extending.additions(scores, self.source.ids, symbols) for count, (_, scores) in models.items()
        }

    def available(self, count: int) -> int:
        """The new pieces of the model for `count` of them."""
        return len(self.new[count])

    def extended(self, count: int):
        """The encoder with `count` new pieces."""
        share = self.settings["share"]
        proto = extending.extend_proto(self.source.contents, self.source.proto, self.new[count], count, share)
        return SentencePieceEncoder(SentencePieceProcessor(model_proto=serialize(proto)))

    def changed_lines(self, after, path: Path) -> int:
        """The lines of a text that the encoder `after` segments otherwise."""
        return rows.count_changed(after.encode_batch, self.source.total, read_sentences(path))


def _notes(points, settings, others, lines: int, part: str, out: Path) -> list[str]:
    """Which texts the columns are of, and the knee in words."""
    notes = [f"tokens, ALP and pieces never used: of {settings['language']} {part}"]
    if lines:
        notes[0] += f"; lines changed: of {lines:,} of {len(others)} other languages"
    else:
        notes.append("no text of other languages was given: changes for them are not measured")
    for point in points:
        if point.status == rows.KNEE:
            notes.append(f"knee: {point.pieces:,} pieces (T = {point.total:,}), up to the largest number measured")
    return [*notes, f"written: {out / rows.TABLE}"]


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
