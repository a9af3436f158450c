"""What the same sentences cost in each language: premiums over English, and how unequal they are."""

from typing import Any

from vocap.report.blocks import Block, Note, Text
from vocap.report.comparing import UNKNOWN_LIMIT, unfit
from vocap.report.results import Results, Tokenizer
from vocap.report.tables import Column, Table
from vocap.tokenizers.evaluation import ALL, by_resource
from vocap.tokenizers.parallel import gini

WORST = 5
PREMIUM = "ratio_to_english"


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
        tokens = [row["tokens"] for row in counted]
        priced = [{**row, "resource": results.resource(row["language"])} for row in counted]
        means = {mean["resource"]: mean[PREMIUM] for mean in by_resource(priced, (PREMIUM,))}
        rows.append(
            (
                tokenizer.name,
                len(counted),
                counted[0]["lines"],
                gini(tokens) if min(tokens) >= 0 and sum(tokens) else None,
                *(means.get(group) for group in (ALL, *groups)),
                _worst(results, counted),
            )
        )
    columns = [
        Column("tokenizer", "Tokenizer"),
        Column("languages", "Languages", "number"),
        Column("lines", "Sentences", "number"),
        Column("gini", "Gini coefficient", "number", 4),
        Column("premium", "Times English, mean", "number", 2),
        *(Column(f"premium_{group}", group, "number", 2) for group in groups),
        Column("worst", "The dearest languages"),
    ]
    caption = (
        "The Gini coefficient is of the languages’ tokens per sentence: 0 if all take equally many, towards 1 if "
        "few take nearly all. Times English: a language’s tokens over those of English, plain means over all "
        f"languages and each resource group. Languages with more than {100 * UNKNOWN_LIMIT:.0f} % <unk> on "
        "held-out lines, or left out by the allocation, are not counted. From "
        "results/tokenizers/{name}/parallel.tsv."
    )
    said = (
        "On parallel text every language says the same, so the number of tokens is its price: in length of "
        "context, time and money."
    )
    if not rows:
        return notes
    return [Text(said), Table("parallel", "Fairness on parallel text", caption, columns, rows), *notes]


def by_language(results: Results, tokenizer: Tokenizer) -> Table:
    """All languages of one tokenizer, by name."""
    apart = unfit(results, tokenizer)
    rows = [
        (
            row["language"],
            results.name(row["language"]),
            row["lines"],
            row["tokens"],
            row[PREMIUM],
            apart.get(row["language"], ""),
        )
        for row in tokenizer.parallel
    ]
    columns = [
        Column("language", "Code"),
        Column("name", "Language"),
        Column("lines", "Sentences", "number"),
        Column("tokens", "Tokens", "number", bar=True),
        Column(PREMIUM, "Times English", "number", 3),
        Column("apart", "Not counted because"),
    ]
    caption = (
        "The same sentences in every language: how many tokens each takes, and how many times as many as English. "
        f"From results/tokenizers/{tokenizer.name}/parallel.tsv."
    )
    name = f"parallel-{tokenizer.name}"
    return Table(name, f"{tokenizer.name} on parallel text", caption, columns, rows, folded=True)


def _counted(tokenizer: Tokenizer) -> list[dict[str, Any]]:
    return [row for row in tokenizer.parallel if row["tokens"] is not None]


def _dearest(row: dict[str, Any]) -> tuple[int, str]:
    return -(row["tokens"] or 0), row["language"]


def _worst(results: Results, rows: list[dict[str, Any]]) -> str:
    """The languages of most tokens, with their premium where English is there."""
    worst = sorted(rows, key=_dearest)[:WORST]
    return ", ".join(
        results.name(row["language"]) + (f" {row[PREMIUM]:.2f}" if row[PREMIUM] is not None else "")
        for row in worst
    )
