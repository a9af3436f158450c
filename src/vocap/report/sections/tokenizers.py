"""Each tokenizer: description, measures, round trips."""

import pandas

from vocap.report.data.comparison import frame
from vocap.report.data.results import Results, Tokenizer
from vocap.report.page.blocks import (
    CodeBlock,
    Fold,
    Note,
    PageBlock,
    Paragraph,
    without_results,
)
from vocap.report.page.rendering import sentence
from vocap.report.page.tables import Table, caption, columns_of, specified

STATUS = {  # of pieces.tsv
    "ok": "in use as scored",
    "character": "required characters added",
    "symbol": "symbols",
}
COUNTS = ("lines", "sentences", "tokens", "english_tokens")


def section(results: Results) -> list[PageBlock]:
    """All tokenizers, checks of their files, then one part each."""
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
        *without_results(results.absent(results.tokenizers, "tokenizers"), "warning"),
    ]


def _made(results: Results) -> Table:
    rows = []
    for one in results.configured_tokenizers():
        told, text = one.description, one.text
        # the name of a rule of scores; "scores" explains it
        rule = one.settings.get("scores") or told.get("scores") or ""
        remark = "a sample of the lines" if text.get("sample") else ""
        about = {
            "tokenizer": one.name,
            "kind": one.kind,
            "method": one.method,
            "weights": one.weights,
            "remark": remark if text else "text not stated",
            "scores": str(rule),
        }
        rows.append({**told, **text, **about})
    return specified("tokenizers", rows)


def _checks(results: Results) -> list[PageBlock]:
    """Lines that come back, a row a tokenizer: their number and share, the worst language, its
    share and example.
    """
    rows = []
    for one in results.configured_tokenizers():
        trips = one.round_trips.dropna(subset="share").sort_values(["share", "language"])
        if len(trips):
            lines, back = trips.texts.sum(), trips.identical.sum()
            worst = trips.reset_index().iloc[0]
            found = {
                "tokenizer": one.name,
                "back_texts": int(lines),
                "back_share": back / lines if lines else None,
                "back_worst_share": worst.share,
                "back_worst": "" if worst.share == 1 else results.name(worst.language),
                "back_example": worst.example,
            }
            rows.append(found)
    return [specified("checks", rows)] if rows else []


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
        more = [*columns_of("measures"), *columns_of("parallel")]
        said = {"of": tokenizer.name, "measured": caption("measures")}
        blocks.append(specified("evaluation", results.with_names(whole), more, **said))
    if len(tokenizer.unknown):
        blocks.append(_unknown(results, tokenizer))
    return blocks


def _unknown(results: Results, tokenizer: Tokenizer) -> Table:
    rows = tokenizer.unknown.reset_index().astype({"count": int})
    rows = rows.sort_values(["count", "language", "character"], ascending=[False, True, True])

    def shown(text: str) -> str:
        """With its code points, since marks and controls cannot be seen alone."""
        parts = (f"{one if one.isprintable() else ''} U+{ord(one):04X}".strip() for one in text)
        return " ".join(parts)

    rows = rows.assign(character=rows.character.map(shown))
    return specified("unknown", results.with_names(rows), of=tokenizer.name)
