"""Each tokenizer: description, measures, round trips."""

from typing import Any

import pandas

from vocap.report.data.comparison import frame
from vocap.report.data.results import Results, Tokenizer, look_up, numeric
from vocap.report.page.blocks import (
    CodeBlock,
    Fold,
    Note,
    PageBlock,
    Paragraph,
    not_run,
    without_results,
)
from vocap.report.page.rendering import sentence
from vocap.report.page.tables import Table, caption, columns_of, specified
from vocap.tables.frames import records

STATUS = {  # of pieces.tsv
    "ok": "in use as scored",
    "character": "required characters added",
    "symbol": "symbols",
}
COUNTS = ("lines", "sentences", "tokens", "english_tokens")


def section(results: Results) -> list[PageBlock]:
    """All tokenizers, checks of their files, then one part each."""
    if not results.tokenizers:
        return [not_run("tokenizers", "No tokenizer has been made yet.")]
    rows = frame(results)
    incomplete = [
        Note(
            f"Missing in $results/tokenizers/{one.name}: {', '.join(one.missing)}. Run the "
            "tokenizers stage again.",
            "warning",
        )
        for one in results.tokenizers.values()
        if one.missing
    ]
    folds = [
        Fold(f"{one.name} ({one.kind})", _one(results, one, rows))
        for one in results.configured_tokenizers()
    ]
    return [
        _made(results),
        *_checks(results),
        *incomplete,
        Fold("Each tokenizer: description, pieces, languages", folds),
        *without_results(results.absent("tokenizers", results.tokenizers), "warning"),
    ]


def _made(results: Results) -> Table:
    rows = []
    for tokenizer in results.configured_tokenizers():
        description, text = tokenizer.description, tokenizer.text
        counts = ("pieces", "dead", "dead_share", "raised", "dropped", "word_types")
        rule = look_up(description, "settings", "scores")  # its name; "scores" explains it
        row = {key: numeric(description.get(key)) for key in counts} | text
        row |= {
            "tokenizer": tokenizer.name,
            "kind": tokenizer.kind,
            "method": results.method(tokenizer),
            "total": tokenizer.total,
            "weights": tokenizer.weights,
            "remark": "" if text else "text not stated",
            "scores": str(rule or description.get("scores") or ""),
        }
        if text.get("sample"):
            row["remark"] = "a sample of the lines"
        rows.append(row)
    return specified("tokenizers", rows)


def _checks(results: Results) -> list[PageBlock]:
    """Lines that come back, a row a tokenizer."""
    known = {
        tokenizer.name: [row for row in tokenizer.round_trips if row["share"] is not None]
        for tokenizer in results.configured_tokenizers()
    }
    rows = [
        {"tokenizer": name} | _come_back(results, trips) for name, trips in known.items() if trips
    ]
    return [specified("checks", rows)] if rows else []


def _come_back(results: Results, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Lines, those that come back and their share, the worst language and its share and
    example.
    """
    lines = sum(row["texts"] or 0 for row in rows)
    identical = sum(row["identical"] or 0 for row in rows)
    worst = min(rows, key=lambda row: (row["share"], row["language"]))
    return {
        "back_texts": lines,
        "back_share": identical / lines if lines else None,
        "back_worst_share": worst["share"],
        "back_worst": "" if worst["share"] == 1 else results.name(worst["language"]),
        "back_example": worst["example"],
    }


def _one(results: Results, tokenizer: Tokenizer, rows: pandas.DataFrame) -> list[PageBlock]:
    blocks: list[PageBlock] = []
    if tokenizer.description:
        blocks.append(CodeBlock.of_file(tokenizer.description, "description.json"))
    if counts := tokenizer.statuses:
        total = sum(count for status, count in counts.items() if status != "dropped")
        blocks.append(Paragraph(sentence("statuses", counts=counts, names=STATUS, total=total)))
    own = rows[rows.tokenizer == tokenizer.name] if len(rows) else rows
    if len(own):
        # a join with absent rows makes floats of them
        whole = own.astype(dict.fromkeys(COUNTS, "Int64"))
        rows = [row | results.about(row["language"]) for row in records(whole)]
        more = [*columns_of("measures"), *columns_of("parallel")]
        blocks.append(
            specified("evaluation", rows, more, of=tokenizer.name, measured=caption("measures"))
        )
    if tokenizer.unknown:
        blocks.append(_unknown(results, tokenizer))
    return blocks


def _unknown(results: Results, tokenizer: Tokenizer) -> Table:
    def visible(character: str) -> str:
        """A character with its code point, since marks and controls cannot be seen
        alone.
        """
        return " ".join(
            f"{one if one.isprintable() else ''} U+{ord(one):04X}".strip() for one in character
        )

    rows = sorted(
        tokenizer.unknown, key=lambda row: (-int(row["count"]), row["language"], row["character"])
    )
    cells = []
    for row in rows:
        shown = {"character": visible(row["character"]), "count": int(row["count"])}
        cells.append(results.about(row["language"]) | shown)
    return specified("unknown", cells, of=tokenizer.name)
