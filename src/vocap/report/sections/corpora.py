"""The text of each language, and the packages and the parallel text of the starter corpus."""

from typing import Any

from vocap.report.data import as_number
from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, Section, Text, not_run, text_of
from vocap.report.page.tables import LONG, Column, Table, language_columns


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
        if any(code in results.shared_lines for code in results.languages):
            blocks.append(_shared_lines(results))
    return Section("corpora", "Text of each language", "Corpora", blocks)


def _table(results: Results) -> Table:
    stats = {code: results.corpora[code] for code in results.languages if code in results.corpora}

    def n(code: str) -> float | int | None:
        return _count(results.weights.get(code, stats[code]).get("n"))

    def complete(code: str) -> str:
        found = stats[code]
        return "" if found.get("missing") else "yes" if found.get("complete", True) else "no: scan limit"

    def count(key: str, title: str, bar: bool = False) -> Column:
        return Column(key, title, "number", bar=bar, value=lambda code: _count(stats[code].get(key)))

    columns = [
        *language_columns(results, group=False),
        Column("source", "Source", value=lambda code: text_of(stats[code].get("source"))),
        count("read", "Lines read"),
        count("kept", "Kept", bar=True),
        count("train", "Train"),
        count("heldout", "Held out"),
        count("empty", "Empty"),
        count("overlong", "Overlong"),
        count("invalid_utf8", "Not UTF-8"),
        count("duplicates", "Duplicates"),
        count("left_out", "Over the limit"),
        count("bytes", "Bytes"),
        Column("n", "n", "number", value=n),
        Column("n_source", "n from", value=lambda code: results.weights.get(code, {}).get("source", "")),
        Column("complete", "Read whole", value=complete),
    ]
    caption = (
        "Counts of lines, and bytes of text, by language. Kept lines are those in the sample, training and held "
        "out together; empty, overlong, invalid and duplicate lines are left out, and sampled lines over the "
        "limit in characters; n is the number of lines (or the configured weight) "
        "that weighs the language in Equation 3. From "
        "results/corpora/{language}/stats.json and weights.tsv."
    )
    return Table.of("corpora", "Lines by language", caption, columns, stats, folded=len(stats) > LONG)


def _packages(results: Results) -> Table:
    columns = [
        Column("package", "Package"),
        Column("version", "Version"),
        Column("licence", "Licence"),
        Column("origin", "From"),
        Column("bytes", "Bytes", "number", value=lambda entry: _count(entry.get("bytes"))),
        Column("missing", "Reason of absence"),
        Column("sha256", "SHA-256"),
    ]
    caption = (
        "The sources of the starter corpus; its text stays under these licences. From "
        "results/corpora/starter/archives/{package}.json."
    )
    title = "Packages of the starter corpus"
    return Table.of("packages", title, caption, columns, results.packages, folded=True)


def _shared_lines(results: Results) -> Table:
    def count(name: str) -> Column:
        return Column(
            name, name.capitalize(), "number", value=lambda code: _count(results.shared_lines[code].get(name))
        )

    columns = [*language_columns(results, group=False), count("development"), count("test")]
    codes = [code for code in results.languages if code in results.shared_lines]
    caption = (
        "Lines that each language shares with English in the two sets of parallel text that the starter corpus "
        "holds out of all other text: messages with the same key, of which a language lacks some. From "
        "results/corpora/starter/text/report.json."
    )
    title = "Parallel text of the starter corpus"
    return Table.of("starter-parallel", title, caption, columns, codes, folded=True)


def _count(value: Any) -> float | int | None:
    """A number of a JSON file, or of a table's cell; None for anything else."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
        return int(value) if value.is_integer() else value
    return as_number(value)
