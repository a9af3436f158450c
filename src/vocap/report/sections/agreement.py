"""Do the two forms of a tokenizer give the same ids: of how many lines, and what differs."""

from typing import Any

from vocap.report.blocks import Block, Text
from vocap.report.results import Results, Tokenizer
from vocap.report.tables import Column, Table

WORST = 5


def parity(results: Results) -> list[Block]:
    """One row a tokenizer, then the worst languages of those whose forms differ anywhere."""
    measured = [tokenizer for tokenizer in results.tokenizers.values() if _compared(tokenizer)]
    if not measured:
        return []
    blocks: list[Block] = [_overview(results, measured)]
    worst = _worst(results, measured)
    if worst.rows:
        blocks.append(worst)
    else:
        blocks.append(
            Text("No line differs: both forms of every tokenizer gave the same ids on all lines compared.")
        )
    return blocks


def _compared(tokenizer: Tokenizer) -> list[dict[str, Any]]:
    return [row for row in tokenizer.parity if row["share"] is not None]


def _overview(results: Results, measured: list[Tokenizer]) -> Table:
    rows = []
    for tokenizer in measured:
        compared = _compared(tokenizer)
        known = [results.lines(row["language"]) for row in compared]
        worst = min(compared, key=lambda row: (row["share"], row["language"]))
        lines, identical = (sum(row[key] or 0 for row in compared) for key in ("lines", "identical"))
        rows.append(
            (
                tokenizer.name,
                len(compared),
                lines,
                None if None in known else sum(known),
                lines - identical,
                identical / lines if lines else None,
                worst["share"],
                "" if worst["share"] == 1 else results.name(worst["language"]),
            )
        )
    columns = [
        Column("tokenizer", "Tokenizer"),
        Column("languages", "Languages", "number"),
        Column("lines", "Lines compared", "number"),
        Column("of", "of", "number"),
        Column("different", "Different", "number"),
        Column("share", "Identical", "number", 3, share=True),
        Column("worst_share", "in the worst language", "number", 3, share=True),
        Column("worst", "which is"),
    ]
    caption = (
        "Lines that sentencepiece.model and the Hugging Face export turn into the same ids, every one. "
        f"{_sample(results, rows)} From results/tokenizers/{{name}}/parity.tsv and "
        "results/corpora/{language}/stats.json."
    )
    return Table("parity", "Do the two exports agree?", caption, columns, rows)


def _sample(results: Results, rows: list[tuple]) -> str:
    """How many lines of how many, and that they are drawn."""
    of = [(row[2], row[3]) for row in rows]
    if any(total is None for _, total in of):
        return "Of how many lines these were compared is not known: the corpora’s stats.json are not all there."
    if all(lines >= total for lines, total in of):
        return "All lines of all languages were compared, training and held out."
    seed = results.settings.get("seed")
    drawn = f"drawn with seed {seed}" if isinstance(seed, int) else "drawn with the run’s seed"
    counts = list(dict.fromkeys(f"{lines:,} of {total:,}" for lines, total in of))
    return (
        f"Compared was a sample: {' or '.join(counts[:3])} lines; of each language all held-out lines, and of the "
        f"training lines either all or, where it has many, some {drawn}."
    )


def _worst(results: Results, measured: list[Tokenizer]) -> Table:
    rows: list[tuple] = []
    for tokenizer in measured:
        different = [row for row in _compared(tokenizer) if row["share"] < 1]
        for row in sorted(different, key=lambda row: (row["share"], row["language"]))[:WORST]:
            language = row["language"]
            name, of, example = results.name(language), results.lines(language), str(row.get("example") or "")
            rows.append((tokenizer.name, language, name, row["lines"], of, row["share"], example))
    columns = [
        Column("tokenizer", "Tokenizer"),
        Column("language", "Code"),
        Column("name", "Language"),
        Column("lines", "Lines compared", "number"),
        Column("of", "of", "number"),
        Column("share", "Identical", "number", 3, share=True),
        Column("example", "Kinds of difference, with the first line of each"),
    ]
    caption = (
        f"The {WORST} worst languages of each tokenizer whose forms differ on any line. Every kind of difference "
        "has its number of lines and an example: the line, SentencePiece’s pieces, the export’s. From "
        "results/tokenizers/{name}/parity.tsv, which has all languages."
    )
    return Table("parity-worst", "Where the two exports differ", caption, columns, rows, folded=len(rows) > 20)
