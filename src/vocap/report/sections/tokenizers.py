"""Each tokenizer: description, measures on held-out text, parity of its two exports."""

from vocap.report.data import as_number, find
from vocap.report.data.comparisons import method, text_facts, weights
from vocap.report.data.every_tokenizer import ids_of
from vocap.report.data.results import Results, Tokenizer, by_resource
from vocap.report.page.blocks import Block, Code, Fold, Note, Section, Text, not_run, without_results
from vocap.report.page.tables import Column, Table, language_columns
from vocap.report.sections.tokenizer_checks import parallel, parallel_by_language, parity, round_trips

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
]
MEASURED = (
    "ALP in nats per line; words are separated by white space (none in scripts without spaces); unknown is the "
    "share of tokens that are <unk>, vocabulary used the share of the tokenizer’s ids that occur, Rényi "
    "efficiency its entropy of order 2.5 over the logarithm of the ids, single characters the share of tokens of "
    "one character, whole words the share of words that are one token, digits per token those of tokens that hold "
    "some, numbers alike the share of numbers cut like most of as many digits, broken UTF-8 the share of tokens "
    "whose bytes are no whole characters."
)
T_DERIVED = "; its T is the least common denominator of the shares of its vocabulary that were used"
STATUS = {
    "ok": "in use as scored",
    "character": "required characters added",
    "symbol": "symbols",
}  # as pieces.tsv has them


def section(results: Results) -> Section:
    """All tokenizers by resource group, then one part each."""
    if not results.tokenizers:
        absent = not_run("tokenizers", "No tokenizer has been made yet.")
        return Section("tokenizers", "The tokenizers", "Tokenizers", [absent])
    blocks: list[Block] = [_made(results)]
    if any(tokenizer.evaluation for tokenizer in results.tokenizers.values()):
        blocks.append(
            Text(
                "All tokenizers on the same held-out lines. A tokenizer made for one language (mono) is of use "
                "on that language only."
            )
        )
        blocks.append(_by_group(results))
    blocks += parity(results)
    blocks += round_trips(results)
    blocks += parallel(results)
    blocks += [
        Note(
            f"Missing in results/tokenizers/{one.name}: {', '.join(one.missing)}. Run the tokenizers stage again.",
            "warning",
        )
        for one in results.tokenizers.values()
        if one.missing
    ]
    folds = [Fold(f"{one.name} ({one.kind})", _one(results, one)) for one in results.configured_tokenizers()]
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
    rows, derived = [], False
    for tokenizer in results.configured_tokenizers():
        total = tokenizer.total
        if total is None and tokenizer.kind == "file":
            total = ids_of(tokenizer)
            derived = derived or total is not None
        keys = ("pieces", "dead", "dead_share", "raised", "dropped")
        numbers = [as_number(tokenizer.description.get(key)) for key in keys]
        text = text_facts(tokenizer)
        remark = "a sample of the lines" if text.get("sample") else "" if text else "text not stated"
        counts = (text.get("lines"), text.get("word_types"))
        learnt = (method(results, tokenizer), *counts, weights(tokenizer), remark)
        rule = find(tokenizer.description, "settings", "scores")  # its name; "scores" explains it
        scores = str(rule or tokenizer.description.get("scores") or "")
        rows.append((tokenizer.name, tokenizer.kind, total, *numbers, *learnt, scores))
    caption = (
        "T counts every id. A dead piece can never be used, since another segmentation of it always scores "
        "higher; raised pieces were dead and got the score of their best split, dropped ones were replaced by "
        "required pieces. Pieces of byte-pair encoding are its alphabet and its merges, scored by their order. "
        "Compare tokenizers only where they have read the same text. Lines read: all "
        "different lines that the pieces were learnt from; word types: different words in them; weights: a "
        "language with n lines has the share q = n^alpha / sum of them, and its mean ALP the weight q^beta in an "
        "allocation. A tokenizer from elsewhere (kind file) is only evaluated: its pieces are "
        f"not counted here, see its file{T_DERIVED if derived else ', as for its T'}. From "
        "results/tokenizers/{name}/description.json."
    )
    return Table("tokenizers", "Kind, size and training text of each tokenizer", caption, columns, rows)


def _by_group(results: Results) -> Table:
    rows = []
    for tokenizer in results.configured_tokenizers():
        members = [
            {**row, "resource": results.resource(row["language"])}
            for row in tokenizer.evaluation
            if row["language"] in results.languages
        ]
        about = {"tokenizer": tokenizer.name, "kind": tokenizer.kind}
        rows += [about | mean for mean in by_resource(members, [column.key for column in MEASURES])]
    columns = [
        Column("tokenizer", "Tokenizer"),
        Column("kind", "Kind"),
        Column("resource", "Group"),
        Column("languages", "Languages", "number"),
        *MEASURES,
    ]
    caption = (
        f"Plain means over the languages of each resource group, on held-out lines. {MEASURED} ALP rewards <unk>: "
        "compare it only where the share of unknown tokens is near 0. From "
        "results/tokenizers/{name}/evaluation.tsv."
    )
    title = "All tokenizers by resource group"
    return Table.of("tokenizers-by-group", title, caption, columns, rows, folded=True)


def _one(results: Results, tokenizer: Tokenizer) -> list[Block]:
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
    if tokenizer.evaluation:
        blocks.append(_evaluation(results, tokenizer))
    if tokenizer.unknown:
        blocks.append(_unknown(results, tokenizer))
    if tokenizer.parallel:
        blocks.append(parallel_by_language(results, tokenizer))
    return blocks


def _evaluation(results: Results, tokenizer: Tokenizer) -> Table:
    columns = [
        *language_columns(results, group=False),
        Column("resource", "Group", value=lambda row: row.get("resource") or results.resource(row["language"])),
        Column("lines", "Lines", "number"),
        *MEASURES,
    ]
    origin = f"results/tokenizers/{tokenizer.name}/evaluation.tsv"
    caption = f"On the held-out lines of each language. {MEASURED} From {origin}."
    name, title = f"evaluation-{tokenizer.name}", f"{tokenizer.name} by language"
    return Table.of(name, title, caption, columns, tokenizer.evaluation, folded=True)


def _unknown(results: Results, tokenizer: Tokenizer) -> Table:
    rows = [
        (row["language"], results.name(row["language"]), _visible(row["character"]), _number(row.get("count")))
        for row in tokenizer.unknown
    ]
    rows.sort(key=lambda row: (-(row[3] or 0), row[0], row[2]))
    columns = [
        Column("language", "Code"),
        Column("name", "Language"),
        Column("character", "Character"),
        Column("count", "Times", "number"),
    ]
    caption = (
        "Characters of the held-out lines that are no piece and become <unk>, most frequent first. From "
        f"results/tokenizers/{tokenizer.name}/unknown.tsv."
    )
    name = f"unknown-{tokenizer.name}"
    title = f"{tokenizer.name}: unknown characters"
    return Table(name, title, caption, columns, rows, folded=True, limit=50)


def _visible(character: str) -> str:
    """A character with its code point, since marks and controls cannot be seen alone."""
    return " ".join(f"{one if one.isprintable() else ''} U+{ord(one):04X}".strip() for one in character)


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text else None
    except ValueError:
        return None
    return None if value is None or value != value else int(value) if value.is_integer() else value
