"""Parity of the two forms of a tokenizer, its round trips, and the tokens of parallel text by language."""

from typing import Any

from vocap.report.data.comparisons import UNKNOWN_LIMIT, unfit
from vocap.report.data.results import ALL, Results, Tokenizer, by_resource
from vocap.report.page.blocks import Block, Note, Text
from vocap.report.page.tables import LONG, Column, Table, language_columns
from vocap.tokenizers.evaluation import gini, relative_costs

WORST = 5
PREMIUM = "ratio_to_english"


def parity(results: Results) -> list[Block]:
    """One row a tokenizer, then the worst languages of those whose forms differ anywhere."""
    measured = [tokenizer for tokenizer in results.tokenizers.values() if _compared(tokenizer)]
    if not measured:
        return []
    blocks: list[Block] = [_overview(results, measured)]
    worst = _worst_parity(results, measured)
    alike = Text("No line differs: both forms of every tokenizer gave the same ids on all lines compared.")
    return [*blocks, worst if worst.rows else alike]


def round_trips(results: Results) -> list[Block]:
    """One row a tokenizer: the share of held-out lines that decode to themselves, and the worst language."""
    rows = []
    for tokenizer in results.tokenizers.values():
        measured = [row for row in tokenizer.round_trips if row["share"] is not None]
        if not measured:
            continue
        texts, identical = (sum(row[key] or 0 for row in measured) for key in ("texts", "identical"))
        worst = min(measured, key=lambda row: (row["share"], row["language"]))
        name = "" if worst["share"] == 1 else results.name(worst["language"])
        rows.append(
            (tokenizer.name, len(measured), texts, identical / texts, worst["share"], name, worst["example"])
        )
    columns = [
        Column("tokenizer", "Tokenizer"),
        Column("languages", "Languages", "number"),
        Column("texts", "Lines", "number"),
        Column("share", "Come back", "number", 2, share=True),
        Column("worst_share", "in the worst language", "number", 2, share=True),
        Column("worst", "Worst language"),
        Column("example", "Losses there"),
    ]
    caption = (
        "Held-out lines that are the same after encoding and decoding. Lines with other characters were "
        "normalised, those with other spaces had several in a row or some at an end. From "
        "results/tokenizers/{name}/roundtrip.tsv."
    )
    title = "Text that comes back from each tokenizer"
    return [Table("round-trips", title, caption, columns, rows, folded=True)] if rows else []


def _compared(tokenizer: Tokenizer) -> list[dict[str, Any]]:
    return [row for row in tokenizer.parity if row["share"] is not None]


def _overview(results: Results, measured: list[Tokenizer]) -> Table:
    rows = []
    for tokenizer in measured:
        compared = _compared(tokenizer)
        known = [results.lines(row["language"]) for row in compared]
        worst = min(compared, key=lambda row: (row["share"], row["language"]))
        lines, identical = (sum(row[key] or 0 for row in compared) for key in ("lines", "identical"))
        of = None if None in known else sum(known)
        alike = identical / lines if lines else None
        name = "" if worst["share"] == 1 else results.name(worst["language"])
        rows.append((tokenizer.name, len(compared), lines, of, lines - identical, alike, worst["share"], name))
    columns = [
        Column("tokenizer", "Tokenizer"),
        Column("languages", "Languages", "number"),
        Column("lines", "Lines compared", "number"),
        Column("of", "of lines", "number"),
        Column("different", "Different", "number"),
        Column("share", "Identical", "number", 3, share=True),
        Column("worst_share", "in the worst language", "number", 3, share=True),
        Column("worst", "Worst language"),
    ]
    caption = (
        "Lines for which sentencepiece.model and the Hugging Face export give the same ids. "
        f"{_sample(results, rows)} Tokenizers of byte-pair encoding have one form alone. From "
        "results/tokenizers/{name}/parity.tsv and results/corpora/{language}/stats.json."
    )
    alike = not any(row[4] for row in rows)
    return Table("parity", "Parity of the two exports", caption, columns, rows, folded=alike)


def _sample(results: Results, rows: list[tuple]) -> str:
    """The number of lines compared, their total, and their choice."""
    of = [(row[2], row[3]) for row in rows]
    if any(total is None for _, total in of):
        return "The total number of lines is not known, since some stats.json of the corpora are missing."
    if all(lines >= total for lines, total in of):
        return "All lines of all languages were compared, training and held out."
    seed = results.settings.get("seed")
    drawn = f"drawn with seed {seed}" if isinstance(seed, int) else "drawn with the run’s seed"
    counts = list(dict.fromkeys(f"{lines:,} of {total:,}" for lines, total in of))
    return (
        f"Compared was a sample: {' or '.join(counts[:3])} lines; of each language all held-out lines, and of the "
        f"training lines either all or, where it has many, some {drawn}."
    )


def _worst_parity(results: Results, measured: list[Tokenizer]) -> Table:
    rows: list[dict[str, Any]] = []
    for tokenizer in measured:
        different = [row | {"tokenizer": tokenizer.name} for row in _compared(tokenizer) if row["share"] < 1]
        rows += sorted(different, key=lambda row: (row["share"], row["language"]))[:WORST]
    columns = [
        Column("tokenizer", "Tokenizer"),
        *language_columns(results, group=False),
        Column("lines", "Lines compared", "number"),
        Column("of", "of lines", "number", value=lambda row: results.lines(row["language"])),
        Column("share", "Identical", "number", 3, share=True),
        Column("example", "Kinds of difference, with the first line of each"),
    ]
    caption = (
        f"The {WORST} worst languages of each tokenizer whose forms differ on any line. Every kind of difference "
        "has its number of lines and an example: the line, SentencePiece’s pieces, the export’s. From "
        "results/tokenizers/{name}/parity.tsv, which has all languages."
    )
    title = "Differences between the two exports"
    return Table.of("parity-worst", title, caption, columns, rows, folded=len(rows) > LONG)


def parallel(results: Results) -> list[Block]:
    """One row a tokenizer that was measured on parallel text; nothing where none was."""
    measured = [tokenizer for tokenizer in results.tokenizers.values() if _counted(tokenizer)]
    notes: list[Block] = []
    if not measured:
        return []
    groups = results.groups()
    rows = []
    for tokenizer in measured:
        apart = unfit(results, tokenizer)
        counted = [row for row in _counted(tokenizer) if row["language"] not in apart]
        if named := [row["language"] for row in _counted(tokenizer) if row["language"] in apart]:
            listed = ", ".join(f"{results.name(code)} ({apart[code]})" for code in named)
            notes.append(Note(f"{tokenizer.name}, in no Gini coefficient and no mean: {listed}.", "warning"))
        if not counted:
            continue
        costs = relative_costs(counted)
        priced = [{**row, "resource": results.resource(row["language"])} for row in counted]
        means = {mean["resource"]: mean[PREMIUM] for mean in by_resource(priced, (PREMIUM,))}
        inequality = gini(costs) if costs and min(costs) >= 0 and sum(costs) else None
        averages = (means.get(group) for group in (ALL, *groups))
        most = _most_tokens(results, counted)
        lines = [row["lines"] for row in counted]
        rows.append((tokenizer.name, len(counted), max(lines), min(lines), inequality, *averages, most))
    columns = [
        Column("tokenizer", "Tokenizer"),
        Column("languages", "Languages", "number"),
        Column("lines", "Sentences", "number"),
        Column("fewest", "in the language with fewest", "number"),
        Column("gini", "Gini coefficient", "number", 4),
        Column("premium", "Times English, mean", "number", 2),
        *(Column(f"premium_{group}", group, "number", 2) for group in groups),
        Column("worst", "Languages with most tokens"),
    ]
    caption = (
        "The Gini coefficient is of the languages’ tokens per sentence, as multiples of English: 0 if all have "
        "equally many, towards 1 if few have nearly all. Times English: a language’s tokens over those of English "
        "on the sentences that both have, plain means over all languages and each resource group. Languages "
        "without such sentences are not counted, nor are those with more than "
        f"{100 * UNKNOWN_LIMIT:.0f} % <unk> on held-out lines, or left out by the allocation. From "
        "results/tokenizers/{name}/parallel.tsv."
    )
    said = (
        "On parallel text every language has the same content, so the number of tokens is its cost: length of "
        "context, time and money."
    )
    if results.parallel_text:
        said += f" The text: {results.parallel_text}."
    if not rows:
        return notes
    return [Text(said), Table("parallel", "Fairness on parallel text", caption, columns, rows), *notes]


def parallel_by_language(results: Results, tokenizer: Tokenizer) -> Table:
    """All languages of one tokenizer, by name."""
    apart = unfit(results, tokenizer)
    columns = [
        *language_columns(results, group=False),
        Column("lines", "Sentences", "number"),
        Column("tokens", "Tokens", "number", bar=True),
        Column("english_tokens", "English tokens", "number"),
        Column(PREMIUM, "Times English", "number", 3),
        Column("apart", "Reason for exclusion", value=lambda row: apart.get(row["language"])),
    ]
    caption = (
        "The sentences that a language shares with English: the number of tokens, and its ratio to that of "
        "English on the same sentences. "
        f"From results/tokenizers/{tokenizer.name}/parallel.tsv."
    )
    name, title = f"parallel-{tokenizer.name}", f"{tokenizer.name} on parallel text"
    return Table.of(name, title, caption, columns, tokenizer.parallel, folded=True)


def _counted(tokenizer: Tokenizer) -> list[dict[str, Any]]:
    return [row for row in tokenizer.parallel if row["lines"] and row["tokens"] is not None]


def _most_tokens(results: Results, rows: list[dict[str, Any]]) -> str:
    """The languages of most tokens per sentence, with their premium where English is there."""
    worst = sorted(rows, key=lambda row: (-relative_costs([row])[0], row["language"]))[:WORST]
    return ", ".join(
        results.name(row["language"]) + (f" {row[PREMIUM]:.2f}" if row[PREMIUM] is not None else "")
        for row in worst
    )
