"""The effect of each number of new pieces, before any is added: `vocap extend --pieces A:B:C`."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from vocap.adapt.adaptable import Adaptable
from vocap.errors import VocapError, missing_extra
from vocap.files.atomic import replacing_directory
from vocap.files.tsv import aligned, write_tsv
from vocap.progress import Steps
from vocap.tables.curve import find_knee
from vocap.text_files.named_texts import Texts, read_sentences
from vocap.unigram.alp import CorpusAlp, corpus_alp

logger = logging.getLogger(__name__)
TABLE, CHART = "sweep.tsv", "sweep.svg"
OK, KNEE = "ok", "knee"


@dataclass(frozen=True)
class Point:
    """One number of new pieces. The row of 0 pieces is the tokenizer as it is; None where a value is not measured.

    Of the added language's text: `tokens_per_line`, `saved_share` (of the tokens without new pieces), `never_used`
    (new pieces that do not occur) and `alp` (Equation 1, nats a line). Of the other languages' lines:
    `changed_lines` and `changed_share`. `rows`: those that the model gains, fewer than pieces where it has spare
    ones; `memory_mb`: theirs, in millions of bytes.
    """

    pieces: int
    total: int
    tokens_per_line: float | None = None
    saved_share: float | None = None
    changed_lines: int | None = None
    changed_share: float | None = None
    never_used: int | None = None
    rows: int | None = None
    memory_mb: float | None = None
    alp: float | None = None
    status: str = OK


def round_up(before: int, pieces: int, multiple: int) -> int:
    """The least number of new pieces, at least `pieces`, with which the number of ids is a multiple.

    >>> round_up(1000, 20, 128)
    24
    """
    return pieces + -(before + pieces) % multiple


def round_down(before: int, pieces: int, multiple: int) -> int:
    """The largest number of new pieces, at most `pieces`, with which the ids are a multiple; 0 if none."""
    return max(0, pieces - (before + pieces) % multiple)


def sweep(
    source: Adaptable,
    own: Mapping[str, Path | None],
    others: Texts,
    settings: Mapping[str, Any],
    counts: Sequence[int],
    model,
    out: Path,
) -> list[str]:
    """Measure each number of new pieces in `counts` (rising), write the table. Returns the lines to print.

    `own` and `others`: the texts of the new language, by part, and of the others.
    """
    # the texts under the tokenizer as it is
    part = "heldout" if own["heldout"] else "train"
    before = corpus_alp(source.encoder, read_sentences(own[part]))
    if before is None:
        raise VocapError(f"{own[part]}: no line in it; give text with a sentence a line")
    texts = [path for parts in others.values() for path in parts.values()]
    known = _hashes(source, texts)
    spare, row_bytes = 0, None  # rows of the model that no id has, bytes of one
    if model is not None:
        from vocap.adapt.model_rows import row_bytes_of  # torch: only where it is needed

        spare = model.get_input_embeddings().num_embeddings - source.total
        row_bytes = row_bytes_of(model)

    def measure(total: int, after: CorpusAlp, changed: int, rows: int) -> Point:
        return Point(
            total - source.total,
            total,
            after.tokens_per_sentence,
            1 - after.tokens / before.tokens if before.tokens else None,
            changed if len(known) else None,
            changed / len(known) if len(known) else None,
            int(np.count_nonzero(after.counts[source.total :] == 0)),
            rows,
            None if row_bytes is None else rows * row_bytes / 1e6,
            after.alp,
        )

    # the texts under each extended one
    learned = source.learn(own["train"], counts, settings)
    points = [measure(source.total, before, 0, 0)]
    with Steps("sweep", len(counts)) as steps:
        for count in counts:
            if (available := learned.available(count)) < count:
                status = f"too little text: at most {available} new pieces"
                points.append(Point(count, source.total + count, status=status))
            else:
                after = learned.extended(count)
                changed = int(np.count_nonzero(_hashes(after, texts) != known))
                alp = corpus_alp(after.encoder, read_sentences(own[part]))
                points.append(measure(after.total, alp, changed, count - spare))
            steps.advance()
    # table, chart, notes
    points = mark_knee(points)
    chart = _draw(points, settings["language"])
    with replacing_directory(out, owned=(TABLE, CHART)) as folder:
        columns = tuple(field.name for field in fields(Point))
        write_tsv(folder / TABLE, columns, [tuple(asdict(point).values()) for point in points])
        if chart is not None:
            (folder / CHART).write_bytes(chart)
    notes = [f"tokens, ALP and pieces never used: of {settings['language']} {part}"]
    if len(known):
        notes[0] += f"; lines changed: of {len(known):,} of {len(others)} other languages"
    else:
        notes.append("no text of other languages was given: changes for them are not measured")
    notes += [
        f"knee: {point.pieces:,} pieces (T = {point.total:,}), up to the largest number measured"
        for point in points
        if point.status == KNEE
    ]
    return [*_shown(points), *notes, f"written: {out / TABLE}"]


def _hashes(tokenizer: Adaptable, texts: Sequence[Path]) -> np.ndarray:
    """A hash of each line's ids, int64 [lines]: equal ids, equal hashes."""
    blocks = (tokenizer.encoder.encode_batch(lines) for path in texts for lines in read_sentences(path))
    return np.fromiter((hash(tuple(ids)) for rows in blocks for ids in rows), np.int64)


def mark_knee(points: Sequence[Point]) -> list[Point]:
    """The points, the status of one of them `KNEE`: the farthest above the line from no new piece to the last.

    In the curve of `saved_share` over `pieces` (`find_knee`); points without a value are left out.
    """
    known = [place for place, point in enumerate(points) if point.saved_share is not None]
    knee = find_knee(*(np.array([getattr(points[n], key) for n in known]) for key in ("pieces", "saved_share")))
    marked = list(points)
    if knee is not None:
        marked[known[knee]] = replace(marked[known[knee]], status=KNEE)
    return marked


def _shown(points: Sequence[Point]) -> list[str]:
    """The table as lines, without columns that no point has: the status to the left, others to the right."""
    rows = []
    for point in points:
        changed = f"{point.changed_lines or 0:,} ({100 * (point.changed_share or 0):.2f} %)"
        shown = {
            "pieces": f"{point.pieces:,}",
            "total": f"{point.total:,}",
            "tokens/line": f"{point.tokens_per_line or 0:.2f}",
            "saved": f"{100 * (point.saved_share or 0):.1f} %",
            "lines changed": changed if point.changed_lines is not None else "",
            "never used": f"{point.never_used or 0:,}",
            "memory MB": f"{point.memory_mb:.1f}" if point.memory_mb is not None else "",
            "ALP": f"{point.alp or 0:.2f}",
            "status": "" if point.status == OK else point.status,
        }
        if point.alp is None:  # not measured
            shown |= dict.fromkeys(("tokens/line", "saved", "never used", "ALP"), "")
        rows.append(shown)
    kept = [column for column in rows[0] if any(row[column] for row in rows)]
    table = [kept, *([row[column] for column in kept] for row in rows)]
    return aligned(table, left=[kept.index("status")] if "status" in kept else [])


FONT = "Liberation Sans, Arial, sans-serif"  # vl-convert carries it, so files look alike everywhere
LINE, MARKED = "#1f5fa8", "#c4510a"
WIDTH, HEIGHT = 560, 180  # px
PANELS = {
    "saved_share": "tokens saved",
    "changed_share": "lines of other languages that change",
    "never_used": "new pieces never used",
}


def _draw(points: Sequence[Point], language: str) -> bytes | None:
    """The figure as SVG, a panel a measure that the points have; the knee is marked. None without altair.

    As the report's still figures it has one font and no opacity, so that its bytes are the same in every run.
    """
    try:
        import altair as alt  # seconds; an extra
        import vl_convert
    except ModuleNotFoundError as error:
        logger.info("no figure: %s is not installed; %s", error.name, missing_extra(error.name or ""))
        return None
    known = [point for point in points if point.saved_share is not None]
    panels = []
    for key, title in PANELS.items():
        rows = [{"n": p.pieces, "y": getattr(p, key), "knee": p.status == KNEE} for p in known]
        if any(row["y"] is None for row in rows):
            continue
        y = alt.Y("y:Q", title=title, axis=alt.Axis(format=".1%" if key.endswith("share") else ",d"))
        x = alt.X("n:Q", title=f"new pieces of {language}", axis=alt.Axis(format=",d"))
        chart = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y)
        knee = chart.transform_filter("datum.knee").mark_point(
            shape="diamond", size=120, filled=True, color=MARKED, opacity=1
        )
        line = chart.mark_line(point={"color": LINE, "opacity": 1}, color=LINE)
        panels.append((line + knee).properties(width=WIDTH, height=HEIGHT))
    figure = alt.vconcat(*panels).configure(font=FONT, background="white")
    return vl_convert.vegalite_to_svg(json.dumps(figure.to_dict())).encode() + b"\n"
