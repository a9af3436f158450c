"""The effect of each number of new pieces, before any is added: `vocap extend --pieces A:B:C`.

The row of 0 pieces is the tokenizer as it is; an empty cell is not measured. Of the added language's text:
`tokens_per_line`, `saved_share` (of the tokens without new pieces), `never_used` (new pieces that do not occur),
`alp` (Equation 1, nats a line). Of the other languages' lines: `changed_lines` and `changed_share`. `rows`: those
that the model gains, fewer than pieces where it has spare ones; `memory_mb`: theirs, in millions of bytes.
"""

import json
import logging
from collections.abc import Mapping, Sequence
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
KNEE = "knee"
COLUMNS = {  # of the table, and how it is printed
    "pieces": ("pieces", "{:,}"),
    "total": ("total", "{:,}"),
    "tokens_per_line": ("tokens/line", "{:.2f}"),
    "saved_share": ("saved", "{:.1%}"),
    "changed_lines": ("lines changed", "{:,}"),
    "changed_share": ("share", "{:.2%}"),
    "never_used": ("never used", "{:,}"),
    "rows": None,
    "memory_mb": ("memory MB", "{:.1f}"),
    "alp": ("ALP", "{:.2f}"),
    "status": ("status", "{}"),
}


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
    # measure
    part = "heldout" if own["heldout"] else "train"
    texts = [path for parts in others.values() for path in parts.values()]
    rows, lines = _measure(source, own["train"], own[part], texts, settings, counts, model)
    # the knee: the number farthest above the line from no new piece to the last
    known = [row for row in rows if row["saved_share"] is not None]
    knee = find_knee(*(np.array([row[key] for row in known]) for key in ("pieces", "saved_share")))
    notes = [f"tokens, ALP and pieces never used: of {settings['language']} {part}"]
    if lines:
        notes[0] += f"; lines changed: of {lines:,} of {len(others)} other languages"
    else:
        notes.append("no text of other languages was given: changes for them are not measured")
    if knee is not None:
        known[knee]["status"] = KNEE
        pieces, total = known[knee]["pieces"], known[knee]["total"]
        notes.append(f"knee: {pieces:,} pieces (T = {total:,}), up to the largest number measured")
    # table and chart
    chart = _draw(known, settings["language"])
    with replacing_directory(out, owned=(TABLE, CHART)) as folder:
        write_tsv(folder / TABLE, tuple(COLUMNS), [tuple(row[key] for key in COLUMNS) for row in rows])
        if chart is not None:
            (folder / CHART).write_bytes(chart)
    # the same to print, without columns that no row has
    kept = [key for key, form in COLUMNS.items() if form and any(row[key] not in (None, "ok") for row in rows)]
    table = [[COLUMNS[key][0] for key in kept]]
    table += [
        ["" if row[key] in (None, "ok") else COLUMNS[key][1].format(row[key]).replace("%", " %") for key in kept]
        for row in rows
    ]
    left = [kept.index("status")] if "status" in kept else []
    return [*aligned(table, left), *notes, f"written: {out / TABLE}"]


def _measure(
    source: Adaptable,
    text: Path,
    measured: Path,
    texts: Sequence[Path],
    settings: Mapping[str, Any],
    counts: Sequence[int],
    model,
) -> tuple[list[dict[str, Any]], int]:
    """The rows, and the number of lines in `texts`; the new pieces are of `text`, the tokens of `measured`."""
    # the texts under the tokenizer as it is
    before = corpus_alp(source.encoder, read_sentences(measured))
    if before is None:
        raise VocapError(f"{measured}: no line in it; give text with a sentence a line")
    known = _hashes(source, texts)
    lines, spare, row_bytes = len(known), 0, None  # `spare`: rows of the model that no id has
    if model is not None:
        from vocap.adapt.model_rows import row_bytes_of  # torch: only where it is needed

        spare = model.get_input_embeddings().num_embeddings - source.total
        row_bytes = row_bytes_of(model)

    def row(total: int, after: CorpusAlp, changed: int, more: int) -> dict[str, Any]:
        return {
            "pieces": total - source.total,
            "total": total,
            "tokens_per_line": after.tokens_per_sentence,
            "saved_share": 1 - after.tokens / before.tokens if before.tokens else None,
            "changed_lines": changed if lines else None,
            "changed_share": changed / lines if lines else None,
            "never_used": int(np.count_nonzero(after.counts[source.total :] == 0)),
            "rows": more,
            "memory_mb": None if row_bytes is None else more * row_bytes / 1e6,
            "alp": after.alp,
            "status": "ok",
        }

    # and under each extended one
    learned = source.learn(text, counts, settings)
    rows = [row(source.total, before, 0, 0)]
    with Steps("sweep", len(counts)) as steps:
        for count in counts:
            if (available := learned.available(count)) < count:
                status = f"too little text: at most {available} new pieces"
                numbers = {"pieces": count, "total": source.total + count, "status": status}
                rows.append(dict.fromkeys(COLUMNS) | numbers)
            else:
                after = learned.extended(count)
                changed = int(np.count_nonzero(_hashes(after, texts) != known))
                alp = corpus_alp(after.encoder, read_sentences(measured))
                rows.append(row(after.total, alp, changed, count - spare))
            steps.advance()
    return rows, lines


def _hashes(tokenizer: Adaptable, texts: Sequence[Path]) -> np.ndarray:
    """A hash of each line's ids, int64 [lines]: equal ids, equal hashes."""
    blocks = (tokenizer.encoder.encode_batch(lines) for path in texts for lines in read_sentences(path))
    return np.fromiter((hash(tuple(ids)) for rows in blocks for ids in rows), np.int64)


FONT = "Liberation Sans, Arial, sans-serif"  # vl-convert carries it, so files look alike everywhere
LINE, MARKED = "#1f5fa8", "#c4510a"
WIDTH, HEIGHT = 560, 180  # px
PANELS = {
    "saved_share": "tokens saved",
    "changed_share": "lines of other languages that change",
    "never_used": "new pieces never used",
}


def _draw(points: Sequence[Mapping[str, Any]], language: str) -> bytes | None:
    """The figure as SVG, a panel a measure that the points have; the knee is marked. None without altair.

    As the report's still figures it has one font and no opacity, so that its bytes are the same in every run.
    """
    try:
        import altair as alt  # seconds; an extra
        import vl_convert
    except ModuleNotFoundError as error:
        logger.info("no figure: %s is not installed; %s", error.name, missing_extra(error.name or ""))
        return None
    panels = []
    for key, title in PANELS.items():
        rows = [{"n": point["pieces"], "y": point[key], "knee": point["status"] == KNEE} for point in points]
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
