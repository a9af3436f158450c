"""ALP of every language at every size: the paper's Figure 1."""

from vocap.report import curve_charts
from vocap.report.blocks import Block, Section, Text, not_run
from vocap.report.figures import Figure
from vocap.report.results import Results
from vocap.report.tables import Column, Table
from vocap.vocabularies.knee import outline

PAPER_FIGURE = ("hi", "fa", "it", "ru")  # the four languages of the paper's Figure 1


def section(results: Results) -> Section:
    """The curves, a summary by language, and every point as a file."""
    blocks: list[Block] = []
    if not any(results.trained(code) for code in results.curves):
        blocks.append(not_run("vocabularies", "No monolingual vocabulary has been trained yet."))
    else:
        chosen = _first_choice(results)
        blocks.append(
            Text(
                "One unigram vocabulary for each language and size. A larger vocabulary segments a language into "
                "fewer pieces and its ALP rises, steeply at first: where the curve flattens, further pieces are "
                "better spent on another language. The knee of a curve is the point that lies farthest above the "
                "straight line between its ends. To choose a size by eye, look at the knee, and at how far the "
                "held-out curve still rises beyond it."
            )
        )
        blocks.append(
            Figure(
                "alp-curves",
                "ALP against vocabulary size",
                "ALP in nats per line on each language’s training lines; for the chosen languages also on their "
                "held-out lines (dashed), and a diamond at the knee. Lines of different corpora differ in length, "
                "so compare the shapes of curves, not their heights; “gain” shows each curve from its smallest "
                "size on. The paper’s Figure 1.",
                f"Line chart of {len(results.curves)} languages: ALP rises with vocabulary size for all and "
                "flattens. The numbers are in the table that follows.",
                lambda: curve_charts.curves(results, chosen),
                lambda: curve_charts.live_curves(results, chosen),
                {
                    "languages": [
                        {"code": code, "name": language.name, "group": language.resource}
                        for code, language in sorted(results.languages.items(), key=lambda item: item[1].name)
                        if results.trained(code)
                    ],
                    "chosen": chosen,
                    "groups": results.groups(),
                    "told": curve_charts.TOLD,
                },
                table="curves",
            )
        )
        blocks += [_summary(results), _points(results)]
    return Section("curves", "How ALP grows with the vocabulary", "ALP curves", blocks)


def _first_choice(results: Results) -> list[str]:
    """All of a few languages; of many the paper's four, or else the first two languages of each group."""
    trained = [code for code in results.languages if results.trained(code)]
    if len(trained) <= 6:
        return trained
    paper = [code for code in PAPER_FIGURE if results.trained(code)]
    if paper:
        return paper
    members = [
        [code for code in results.languages if results.trained(code) and results.resource(code) == group]
        for group in results.groups()
    ]
    return [code for group in members for code in group[:2]]


def _summary(results: Results) -> Table:
    rows = []
    for code in results.languages:
        found = outline(results.curves.get(code, ()))
        if found:
            trained = len(results.trained(code))
            row = [code, results.name(code), results.resource(code), trained, len(results.curves[code]) - trained]
            for point in (found.start, found.knee, found.end):
                row += [point.size, point.alp, point.alp_heldout] if point else [None, None, None]
            best = found.best_heldout.size if found.best_heldout else None
            rows.append((*row, best, found.end.tokens_per_sentence, found.start_reason, found.end_reason))
    columns = [
        Column("language", "Code"),
        Column("name", "Language"),
        Column("resource", "Group"),
        Column("trained", "Sizes trained", "number"),
        Column("unreachable", "Out of reach", "number"),
        Column("smallest", "Start", "number"),
        Column("alp_smallest", "ALP there, train", "number", 1),
        Column("alp_heldout_smallest", "held out", "number", 1),
        Column("knee", "Knee", "number"),
        Column("alp_knee", "ALP there, train", "number", 1),
        Column("alp_heldout_knee", "held out", "number", 1),
        Column("largest", "End", "number"),
        Column("alp_largest", "ALP there, train", "number", 1),
        Column("alp_heldout_largest", "held out", "number", 1),
        Column("best_heldout", "Highest held out at", "number"),
        Column("tokens_per_sentence_largest", "Tokens per line at the end", "number", 1),
        Column("start_reason", "Starts there because"),
        Column("end_reason", "Ends there because"),
    ]
    caption = (
        "For each language where its curve starts, bends and ends (ids, the three of SentencePiece included), and "
        "the ALP there in nats per line, on all training lines and on all held-out lines; the size with the "
        "highest held-out ALP; why smaller and larger sizes have no model. The knee is the point farthest above "
        "the straight line from start to end, so it depends on where the curve ends: compare knees of curves that "
        "end alike. From results/vocabularies/{language}/curve.tsv."
    )
    title = "Where each curve starts, bends and ends"
    return Table("curve-summary", title, caption, columns, rows, folded=len(rows) > 20)


def _points(results: Results) -> Table:
    rows = [
        (code, point.size, point.pieces, point.alp, point.alp_heldout, point.tokens_per_sentence, point.status)
        for code in results.languages
        for point in results.curves.get(code, ())
    ]
    columns = [
        Column("language", "Code"),
        Column("size", "Size", "number"),
        Column("pieces", "Pieces", "number"),
        Column("alp", "ALP, train", "number", 2),
        Column("alp_heldout", "ALP, held out", "number", 2),
        Column("tokens_per_sentence", "Tokens per line", "number", 2),
        Column("status", "Status"),
    ]
    caption = (
        "All points of all curves: ALP in nats per line. The page shows the first 100 rows, the files have all "
        "of them. From results/vocabularies/{language}/curve.tsv."
    )
    return Table("curves", "Every point", caption, columns, rows, folded=True, limit=100)
