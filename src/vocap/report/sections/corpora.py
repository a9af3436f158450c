"""The text of each language, what is missing (languages, sizes, pieces), and the
curves: the paper's Figure 1.
"""

import re
from itertools import groupby
from typing import Any

from vocap.allocation.inputs import UNEVEN
from vocap.report.data.results import Records, Results, look_up
from vocap.report.page.blocks import Note, PageBlock, Paragraph, not_run, text_of
from vocap.report.page.figures import Figure, drawn_as
from vocap.report.page.rendering import sentence
from vocap.report.page.tables import rounded, specified
from vocap.tables.curve import outline
from vocap.tables.frames import records
from vocap.text_files import MAX_LINE_BYTES

FEW = 12  # languages that are all brought out and labelled
PAPER_FIGURE = ("hi", "fa", "it", "ru")  # the four languages of the paper's Figure 1


def section(results: Results) -> list[PageBlock]:
    """One row a language, as the corpora stage counted it, and a table of each kind of
    gap that there is.
    """
    about: PageBlock = not_run("corpora", "No text has been sampled yet.")
    if results.corpora:
        about = Paragraph(
            "Lines are sampled in one pass; none is in both the training and the held-out part. "
            "Where reading stopped at the scan limit the number of lines n is extrapolated by "
            "bytes, and the row is marked."
        )
    overlong = [
        (results.name(code), stats["overlong"])
        for code, stats in results.corpora.items()
        if stats.get("overlong")
    ]
    notes = []
    if overlong:
        notes.append(Note(sentence("overlong", counts=overlong, limit=MAX_LINE_BYTES), "warning"))
    tables = {
        "corpora": _lines(results),
        "packages": results.packages,
        "missing": little_text(results),
        "unreachable": _unreachable(results),
        "short": short_of_total(results),
        "clipped": _clipped(results),
        "dead": [
            row | {"tokenizer": one.name} for one in results.tokenizers.values() for row in one.dead
        ],
    }
    return [about, *notes, *(specified(name, rows) for name, rows in tables.items() if rows)]


def _lines(results: Results) -> Records:
    """The counts of each language, as stats.json and weights.tsv have them."""
    rows = []
    weights = {row["language"]: row for row in records(results.weights.reset_index())}
    for code in results.languages:
        if stats := results.corpora.get(code):
            weight = weights.get(code, {})
            whole = "yes" if stats.get("complete", True) else "no: scan limit"
            about = {
                **results.about(code),
                "source": text_of(stats.get("source")),
                "n": weight.get("n", stats.get("n")),
                "n_source": weight.get("source"),
                "complete": "" if stats.get("missing") else whole,
            }
            rows.append({**stats, **about})
    return rows


def little_text(results: Results) -> Records:
    """Languages of the run without text (`kept` is 0), or with a remark of the corpora
    stage: the `reason`.
    """
    rows: Records = []
    unfinished = {"missing": "no stats.json: the corpora stage has not finished it"}
    for code in results.languages if results.corpora else ():
        stats = results.corpora.get(code, unfinished)
        kept = stats.get("kept") or 0
        if reason := stats.get("missing") or ("" if kept else "no line was kept"):
            rows.append(results.about(code) | {"kept": kept, "reason": reason})
    return rows


def short_of_total(results: Results) -> Records:
    """Allocations and tokenizers with fewer ids than configured: `kind`, `name`,
    `total`, and ids `short`.
    """
    found = [("allocation", one.name, one.summary) for one in results.allocations.values()]
    found += [("tokenizer", one.name, one.description) for one in results.tokenizers.values()]
    rows = []
    for kind, name, said in found:
        if short := said.get("short"):
            total = look_up(said, "settings", "total") or said.get("total")
            rows.append({"kind": kind, "name": name, "total": total, "short": short})
    return rows


def _unreachable(results: Results) -> Records:
    """Neighbouring sizes without a model whose reasons differ only in their numbers, a
    row each.
    """
    rows = []
    for code in results.languages:
        failed = [point for point in results.curves.get(code, ()) if not point.ok]
        for _, members in groupby(failed, key=lambda point: re.sub(r"\d+", "#", point.status)):
            run = list(members)
            about = results.about(code) | {"first": run[0].size, "last": run[-1].size}
            rows.append(about | {"sizes": len(run), "reason": run[0].status})
    return rows


def _clipped(results: Results) -> Records:
    return [
        {
            **entry.summary,
            "allocation": entry.name,
            "union": entry.summary.get("union_before_clipping"),
            "pieces": entry.pieces,
            "exhausted": text_of(entry.summary.get("exhausted")),
            "dropped": text_of(entry.summary.get("left_out")),
        }
        for entry in results.allocations.values()
    ]


def curves(results: Results) -> list[PageBlock]:
    """The curves, a summary by language, and every point as a file."""
    if not any(results.trained(code) for code in results.curves):
        return [not_run("vocabularies", "No monolingual vocabulary has been trained yet.")]
    said = (
        "One unigram vocabulary for each language and size. A larger vocabulary segments a "
        "language into fewer pieces and its ALP rises, steeply at first: where the curve "
        "flattens, further pieces are better spent on another language. The knee is the point "
        "farthest above the straight line between the curve’s ends."
    )
    points = (
        {"language": code, **vars(point)}
        for code in results.languages
        for point in results.curves.get(code, ())
    )
    return [
        Paragraph(said),
        _figure(results),
        specified("curve-summary", _summary(results)),
        specified("curves", points),
    ]


def _figure(results: Results) -> Figure:
    """Figure 1: all languages faint, the chosen ones in full, held-out dashed, knees as
    diamonds.

    The page's script sets the parameters of the live one: `chosen` (codes), `shown`
    (groups), `gain`, `pointed`.
    """
    colours = results.colours()
    values = {"chosen": _first_choice(results), "gain": lines_differ(results)}
    languages = [
        {"code": code, "name": language.name, "colour": colours[results.amounts[code]]}
        for code, language in results.languages.items()
        if results.trained(code)
    ]
    return drawn_as(
        "alp-curves",
        curve_rows(results),
        {**values, "groups": colours},
        controls={**values, "languages": languages, "groups": list(colours)},
        count=len(results.curves),
    )


def lines_differ(results: Results) -> bool:
    """Whether an allocation warns of lines of different length, so that curves start far
    from each other.
    """
    entries = results.allocations.values()
    return any(text.startswith(UNEVEN) for one in entries for text in one.warnings)


def _first_choice(results: Results) -> list[str]:
    """All of a few languages; of many the paper's four, or else the first two languages
    of each group.
    """
    trained = [code for code in results.languages if results.trained(code)]
    if len(trained) <= FEW:
        return trained
    first: list[str] = []
    for amount in results.colours():
        first += [code for code in trained if results.amounts[code] == amount][:2]
    return [code for code in PAPER_FIGURE if code in trained] or first


def _summary(results: Results) -> Records:
    """The outline of each curve."""
    rows = []
    for code in results.languages:
        points = results.curves.get(code, ())
        if (found := outline(points)) is None:
            continue
        trained = len(results.trained(code))
        row = {**results.about(code), "trained": trained, "unreachable": len(points) - trained}
        ends = {"smallest": found.start, "knee": found.knee, "largest": found.end}
        for place, point in ends.items():
            if point:
                row[place] = point.size
                row[f"alp_{place}"] = point.alp
                row[f"alp_heldout_{place}"] = point.alp_heldout
        row |= {"start_reason": found.start_reason, "end_reason": found.end_reason}
        row["tokens_per_sentence_largest"] = found.end.tokens_per_sentence
        row["best_heldout"] = found.best_heldout and found.best_heldout.size
        rows.append(row)
    return rows


def curve_rows(results: Results) -> Records:
    """The ALP curves, a row a language; short keys: l(anguage), n(ame), k(nee), a0 and
    h0 (ALP at the smallest size); of its points s(ize), a(lp), h(eld-out), t(okens).
    """
    rows = []
    for code in results.curves:
        points = results.trained(code)
        if (found := outline(points)) is None:
            continue
        # every size that was trained has an ALP
        alp = [point.alp for point in points if point.alp is not None]
        held_out = [point.alp_heldout for point in points]
        row: dict[str, Any] = {
            "l": code,
            "n": results.name(code),
            "group": results.amounts[code],
            "s": [point.size for point in points],
            "a": rounded(alp, 2),
            "a0": round(alp[0], 2),
            "h": rounded(held_out, 2),
            "t": rounded((point.tokens_per_sentence for point in points), 2),
        }
        if found.knee:
            row["k"] = found.knee.size
        if first := next((value for value in held_out if value is not None), None):
            row["h0"] = round(first, 2)
        rows.append(row)
    return rows
