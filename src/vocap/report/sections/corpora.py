"""The text that everything rests on."""

from typing import Any

from vocap.report.blocks import Block, Section, Text, not_run
from vocap.report.results import Results
from vocap.report.tables import Column, Table

COUNTS = (
    "read",
    "kept",
    "train",
    "heldout",
    "empty",
    "overlong",
    "invalid_utf8",
    "duplicates",
    "left_out",
    "bytes",
)


def section(results: Results) -> Section:
    """One row a language, as the corpora stage counted it."""
    blocks: list[Block] = []
    if not results.corpora:
        blocks.append(not_run("corpora", "No text has been sampled yet."))
    else:
        blocks += [
            Text(
                "Lines are sampled in one pass; none is in both the training and the held-out part. Where "
                "reading stopped at the scan limit the number of lines n is extrapolated by bytes, and the row "
                "is marked."
            ),
            _table(results),
        ]
        if results.packages:
            blocks.append(_packages(results))
    return Section("corpora", "The text of each language", "Corpora", blocks)


def _table(results: Results) -> Table:
    rows = []
    for code in results.languages:
        stats = results.corpora.get(code)
        if stats is None:
            continue
        weight = results.weights.get(code, {})
        rows.append(
            (
                code,
                results.name(code),
                _text(stats.get("source")),
                *(_count(stats.get(key)) for key in COUNTS),
                _count(weight.get("n")) if weight else _count(stats.get("n")),
                weight.get("source") or "",
                "" if stats.get("missing") else "yes" if stats.get("complete", True) else "no: scan limit",
            )
        )
    columns = [
        Column("language", "Code"),
        Column("name", "Language"),
        Column("source", "Source"),
        Column("read", "Lines read", "number"),
        Column("kept", "Kept", "number", bar=True),
        Column("train", "Train", "number"),
        Column("heldout", "Held out", "number"),
        Column("empty", "Empty", "number"),
        Column("overlong", "Overlong", "number"),
        Column("invalid_utf8", "Not UTF-8", "number"),
        Column("duplicates", "Duplicates", "number"),
        Column("left_out", "No room", "number"),
        Column("bytes", "Bytes", "number"),
        Column("n", "n", "number"),
        Column("n_source", "n from"),
        Column("complete", "Read whole"),
    ]
    caption = (
        "Counts of lines, and bytes of text, by language. Kept lines are those in the sample, training and held "
        "out together; empty, overlong, invalid and duplicate lines are left out, and sampled lines that the "
        "limit in characters has no room for; n is the number of lines (or what the configuration takes for it) "
        "that weighs the language in Equation 3. From "
        "results/corpora/{language}/stats.json and weights.tsv."
    )
    return Table("corpora", "Lines by language", caption, columns, rows, folded=len(rows) > 20)


def _packages(results: Results) -> Table:
    columns = [
        Column("package", "Package"),
        Column("version", "Version"),
        Column("licence", "Licence"),
        Column("origin", "From"),
        Column("bytes", "Bytes", "number"),
        Column("missing", "Missing because"),
        Column("sha256", "SHA-256"),
    ]
    rows = [
        tuple(
            _count(entry.get(column.key)) if column.kind == "number" else _text(entry.get(column.key))
            for column in columns
        )
        for entry in results.packages
    ]
    caption = (
        "What the starter corpus was taken from; its text stays under these licences. From "
        "results/corpora/starter/archives/{package}.json."
    )
    return Table("packages", "Packages of the starter corpus", caption, columns, rows, folded=True)


def _count(value: Any) -> float | int | None:
    if isinstance(value, bool) or value in (None, ""):
        return None
    if isinstance(value, int | float):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return int(number) if number.is_integer() else number


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(entry)}" for key, entry in value.items())
    return "" if value is None else str(value)
