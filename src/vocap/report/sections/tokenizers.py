"""Each tokenizer: description, measures on held-out and parallel text, parity of its two exports, round trips."""

from typing import Any

import pandas

from vocap.report.data import as_number, find
from vocap.report.data.comparison import frame, grouped, ids_of, method, records, text_facts, weights
from vocap.report.data.results import ALL, Results, Tokenizer, order_groups
from vocap.report.page.blocks import Block, Code, Fold, Note, Section, Text, not_run, without_results
from vocap.report.page.tables import LONG, Column, Table, language_columns

MEASURES = [
    Column("alp", "ALP", "number", 2),
    Column("tokens_per_sentence", "Tokens per line", "number", 2),
    Column("tokens_per_word", "Tokens per word", "number", 3),
    Column("chars_per_token", "Characters per token", "number", 3),
    Column("bytes_per_token", "Bytes per token", "number", 3),
    Column("unk_rate", "Unknown", "number", 3, share=True),
    Column("vocabulary_used", "Vocabulary used", "number", 1, share=True),
    Column("renyi", "Rényi efficiency", "number", 3),
    Column("single_char_share", "Single characters", "number", 1, share=True),
    Column("whole_words", "Whole words", "number", 1, share=True),
    Column("digits_per_token", "Digits per token", "number", 2),
    Column("numbers_alike", "Numbers alike", "number", 1, share=True),
    Column("broken_utf8", "Broken UTF-8", "number", 2, share=True),
    Column("ratio_to_english", "Times English", "number", 2),
]
MEASURED = (
    "ALP in nats per line; words are separated by white space (none in scripts without spaces); unknown is the "
    "share of tokens that are <unk>, vocabulary used the share of the tokenizer’s ids that occur, Rényi "
    "efficiency its entropy of order 2.5 over the logarithm of the ids, single characters the share of tokens "
    "of one character, whole words the share of words that are one token, digits per token those of tokens that "
    "hold some, numbers alike the share of numbers cut like most of as many digits, broken UTF-8 the share of "
    "tokens whose bytes are no whole characters; times English: tokens over those of English on the sentences "
    "of parallel text that both have."
)
STATUS = {  # of pieces.tsv
    "ok": "in use as scored",
    "character": "required characters added",
    "symbol": "symbols",
}
WORST = 5  # languages of a tokenizer whose forms differ most


def section(results: Results) -> Section:
    """All tokenizers by resource group, checks of their files, then one part each."""
    if not results.tokenizers:
        absent = not_run("tokenizers", "No tokenizer has been made yet.")
        return Section("tokenizers", "The tokenizers", "Tokenizers", [absent])
    rows = frame(results)
    blocks: list[Block] = [_made(results)]
    if len(rows):
        blocks.append(_by_group(results, rows))
    blocks += _checks(results)
    blocks += [
        Note(
            f"Missing in results/tokenizers/{one.name}: {', '.join(one.missing)}. Run the tokenizers stage again.",
            "warning",
        )
        for one in results.tokenizers.values()
        if one.missing
    ]
    folds = [Fold(f"{one.name} ({one.kind})", _one(results, one, rows)) for one in results.configured_tokenizers()]
    blocks.append(Fold("Each tokenizer: description, pieces, languages", folds))
    blocks += without_results(results.absent("tokenizers", results.tokenizers), "warning")
    return Section("tokenizers", "The tokenizers", "Tokenizers", blocks)


def _made(results: Results) -> Table:
    columns = [
        Column("tokenizer", "Tokenizer"),
        Column("kind", "Kind"),
        Column("total", "T", "number"),
        Column("pieces", "Pieces", "number"),
        Column("dead", "Dead", "number"),
        Column("dead_share", "Dead share", "number", 3, share=True),
        Column("raised", "Raised", "number"),
        Column("dropped", "Dropped", "number"),
        Column("method", "Pieces chosen by"),
        Column("lines", "Lines read", "number"),
        Column("word_types", "Word types", "number"),
        Column("weights", "Weights"),
        Column("remark", "Remark"),
        Column("scores", "Scores"),
    ]
    rows = []
    for tokenizer in results.configured_tokenizers():
        description, text = tokenizer.description, text_facts(tokenizer)
        row = {column.key: as_number(description.get(column.key)) for column in columns} | text
        row |= {"tokenizer": tokenizer.name, "kind": tokenizer.kind, "method": method(results, tokenizer)}
        row["total"] = ids_of(tokenizer) if tokenizer.kind == "file" else tokenizer.total
        row["weights"] = weights(tokenizer)
        row["remark"] = "a sample of the lines" if text.get("sample") else "" if text else "text not stated"
        rule = find(description, "settings", "scores")  # its name; "scores" explains it
        row["scores"] = str(rule or description.get("scores") or "")
        rows.append(row)
    caption = (
        "T counts every id. A dead piece can never be used, since another segmentation of it always scores "
        "higher; raised pieces were dead and got the score of their best split, dropped ones were replaced by "
        "required pieces. Pieces of byte-pair encoding are its alphabet and its merges, scored by their order. "
        "Compare tokenizers only where they have read the same text. Lines read: all different lines that the "
        "pieces were learnt from; word types: different words in them; weights: a language with n lines has the "
        "share q = n^alpha / sum of them, and its mean ALP the weight q^beta in an allocation. A tokenizer from "
        "elsewhere (kind file) is only evaluated: its T is the least common denominator of the shares of its "
        "vocabulary that were used, with 20 languages or more. From results/tokenizers/{name}/description.json."
    )
    return Table.of("tokenizers", "Kind, size and training text of each tokenizer", caption, columns, rows)


def _by_group(results: Results, rows: pandas.DataFrame) -> Table:
    order = [*order_groups(set(rows.resource)), ALL]
    rows = pandas.concat([rows, rows.assign(resource=ALL)])
    means = grouped(rows, ["tokenizer", "resource"]).reset_index()
    place = {name: k for k, name in enumerate([*dict.fromkeys(rows.tokenizer), *order])}
    means = means.sort_values(["tokenizer", "resource"], key=lambda names: names.map(place))
    columns = [
        Column("tokenizer", "Tokenizer"),
        Column("kind", "Kind", value=lambda row: results.tokenizers[row["tokenizer"]].kind),
        Column("resource", "Group"),
        Column("languages", "Languages", "number"),
        *MEASURES,
    ]
    caption = (
        f"Plain means over the languages of each resource group, on held-out lines. {MEASURED} ALP rewards <unk>: "
        "compare it only where the share of unknown tokens is near 0. From "
        "results/tokenizers/{name}/evaluation.tsv and parallel.tsv."
    )
    title = "All tokenizers by resource group"
    return Table.of("tokenizers-by-group", title, caption, columns, records(means), folded=True)


def _checks(results: Results) -> list[Block]:
    """One row a tokenizer: parity of its two forms, and lines that come back; the languages that differ most."""
    rows, worst = [], []
    for tokenizer in results.configured_tokenizers():
        known = [row for row in tokenizer.parity if row["share"] is not None]
        trips = [row for row in tokenizer.round_trips if row["share"] is not None]
        if not known and not trips:
            continue
        row: dict[str, Any] = {"tokenizer": tokenizer.name} | _shares(results, trips, "texts", "back_")
        if known:
            row |= _shares(results, known, "lines", "")
            of = [results.lines(one["language"]) for one in known]
            row |= {"of": None if None in of else sum(of), "different": row["lines"] - row["identical"]}
        rows.append(row)
        different = [one | {"tokenizer": tokenizer.name} for one in known if one["share"] < 1]
        worst += sorted(different, key=lambda one: (one["share"], one["language"]))[:WORST]
    if not rows:
        return []
    columns = [
        Column("tokenizer", "Tokenizer"),
        Column("lines", "Lines compared", "number"),
        Column("of", "of lines", "number"),
        Column("different", "Different", "number"),
        Column("share", "Identical", "number", 3, share=True),
        Column("worst_share", "in the worst language", "number", 3, share=True),
        Column("worst", "Worst language"),
        Column("back_texts", "Lines encoded and decoded", "number"),
        Column("back_share", "Come back", "number", 2, share=True),
        Column("back_worst_share", "in the worst language", "number", 2, share=True),
        Column("back_worst", "Worst language"),
        Column("back_example", "Losses there"),
    ]
    caption = (
        "Parity: lines for which sentencepiece.model and the Hugging Face export give the same ids. "
        "Tokenizers of byte-pair encoding have one form alone. Come back: held-out "
        "lines that are the same after encoding and decoding; those with other characters were normalised, "
        "those with other spaces had several in a row or some at an end. From "
        "results/tokenizers/{name}/parity.tsv, roundtrip.tsv and results/corpora/{language}/stats.json."
    )
    title = "Checks: parity of the two exports, text that comes back"
    blocks: list[Block] = [Table.of("checks", title, caption, columns, rows, folded=not worst)]
    if worst:
        blocks.append(_differences(results, worst))
    elif any("share" in row for row in rows):
        blocks.append(
            Text("No line differs: both forms of every tokenizer gave the same ids on all lines compared.")
        )
    return blocks


def _shares(results: Results, rows: list[dict[str, Any]], counted: str, prefix: str) -> dict[str, Any]:
    """Lines, identical ones and their share, the worst language and its share and example; keys with `prefix`."""
    if not rows:
        return {}
    lines, identical = (sum(row[key] or 0 for row in rows) for key in (counted, "identical"))
    worst = min(rows, key=lambda row: (row["share"], row["language"]))
    found = {counted: lines, "identical": identical, "share": identical / lines if lines else None}
    found |= {"worst_share": worst["share"], "example": worst["example"]}
    found["worst"] = "" if worst["share"] == 1 else results.name(worst["language"])
    return {f"{prefix}{key}": value for key, value in found.items()}


def _differences(results: Results, rows: list[dict[str, Any]]) -> Table:
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


def _one(results: Results, tokenizer: Tokenizer, rows: pandas.DataFrame) -> list[Block]:
    blocks: list[Block] = []
    if tokenizer.description:
        blocks.append(Code.of_file(tokenizer.description, "description.json"))
    if tokenizer.pieces:
        counts = tokenizer.pieces.counts
        listed = ", ".join(f"{count:,} {STATUS.get(status, status)}" for status, count in counts.items())
        total = sum(count for status, count in counts.items() if status != "dropped")
        dead = counts.get("dead", 0)
        share = f" The dead are {100 * dead / total:.3f}\u00a0% of the pieces in the model." if dead else ""
        blocks.append(Text(f"All pieces by status: {listed}.{share}"))
    own = rows[rows.tokenizer == tokenizer.name] if len(rows) else rows
    if len(own):
        columns = [
            *language_columns(results),
            Column("lines", "Lines", "number"),
            *MEASURES,
            Column("sentences", "Sentences, parallel", "number"),
            Column("tokens", "Tokens", "number", bar=True),
            Column("english_tokens", "English tokens", "number"),
            Column("unfit", "Reason for exclusion from means"),
        ]
        caption = (
            f"On the held-out lines of each language, and on the sentences of parallel text that it shares with "
            f"English. {MEASURED} From results/tokenizers/{tokenizer.name}/evaluation.tsv and parallel.tsv."
        )
        name, title = f"evaluation-{tokenizer.name}", f"{tokenizer.name} by language"
        blocks.append(Table.of(name, title, caption, columns, records(_whole(own)), folded=True))
    if tokenizer.unknown:
        blocks.append(_unknown(results, tokenizer))
    return blocks


def _whole(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Counts as whole numbers, which a join with absent rows makes floats of."""
    return rows.astype(dict.fromkeys(("lines", "sentences", "tokens", "english_tokens"), "Int64"))


def _unknown(results: Results, tokenizer: Tokenizer) -> Table:
    def visible(row: dict[str, str]) -> str:
        """A character with its code point, since marks and controls cannot be seen alone."""
        return " ".join(f"{one if one.isprintable() else ''} U+{ord(one):04X}".strip() for one in row["character"])

    columns = [
        *language_columns(results, group=False),
        Column("character", "Character", value=visible),
        Column("count", "Times", "number", value=lambda row: int(row["count"])),
    ]
    rows = sorted(tokenizer.unknown, key=lambda row: (-int(row["count"]), row["language"], row["character"]))
    caption = (
        "Characters of the held-out lines that are no piece and become <unk>, most frequent first. From "
        f"results/tokenizers/{tokenizer.name}/unknown.tsv."
    )
    title = f"{tokenizer.name}: unknown characters"
    return Table.of(f"unknown-{tokenizer.name}", title, caption, columns, rows, folded=True, limit=50)
