"""Each tokenizer: what it is, how it segments held-out text, and how far the two exports agree."""

import math
from fractions import Fraction

from vocap.report.blocks import Block, Facts, Fold, Note, Section, Text, flatten, not_run
from vocap.report.learnt import text_facts, weights
from vocap.report.results import Results, Tokenizer
from vocap.report.same_size import method
from vocap.report.sections import agreement, fairness
from vocap.report.tables import Column, Table
from vocap.tokenizers.evaluation import by_resource

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
]
MEASURED = (
    "ALP in nats per line; words are what white space separates (none in scripts without spaces); unknown is the "
    "share of tokens that are <unk>, vocabulary used the share of the tokenizer’s ids that occur, Rényi "
    "efficiency its entropy of order 2.5 over the logarithm of the ids, single characters the share of tokens of "
    "one character."
)
T_DERIVED = "; its T is the least common denominator of the shares of its vocabulary that were used"
STATUS = {"ok": "in use as scored", "character": "required characters added"}  # as pieces.tsv has them


def section(results: Results) -> Section:
    """All tokenizers by resource group, then one part each."""
    blocks: list[Block] = []
    if not results.tokenizers:
        blocks.append(not_run("tokenizers", "No tokenizer has been made yet."))
        return Section("tokenizers", "The tokenizers", "Tokenizers", blocks)
    blocks.append(_made(results))
    if any(tokenizer.evaluation for tokenizer in results.tokenizers.values()):
        blocks.append(
            Text(
                "All tokenizers on the same held-out lines. A tokenizer made for one language (mono) is of use "
                "on that language only."
            )
        )
        blocks.append(_by_group(results))
    blocks += agreement.parity(results)
    blocks += fairness.parallel(results)
    for tokenizer in results.tokenizers.values():
        if note := _missing(tokenizer):
            blocks.append(note)
    for name in results.configured("tokenizers", results.tokenizers):
        tokenizer = results.tokenizers[name]
        blocks.append(Fold(f"{name} ({tokenizer.kind}): description, pieces, languages", _one(results, tokenizer)))
    if absent := results.absent("tokenizers", results.tokenizers):
        blocks.append(Note(f"In the configuration, without results here: {', '.join(absent)}.", "warning"))
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
    for tokenizer in map(results.tokenizers.__getitem__, results.configured("tokenizers", results.tokenizers)):
        total = tokenizer.total
        if total is None and tokenizer.kind == "file":
            total = ids_of(tokenizer)
            derived = derived or total is not None
        facts = [tokenizer.description.get(key) for key in ("pieces", "dead", "dead_share", "raised", "dropped")]
        numbers = [
            value if isinstance(value, int | float) and not isinstance(value, bool) else None for value in facts
        ]
        text = text_facts(tokenizer)
        remark = "a sample of the lines" if text.get("sample") else "" if text else "text not stated"
        learnt = (
            method(results, tokenizer),
            text.get("lines"),
            text.get("word_types"),
            weights(tokenizer),
            remark,
        )
        settings = tokenizer.description.get("settings")
        rule = settings.get("scores") if isinstance(settings, dict) else None
        scores = rule or tokenizer.description.get("scores")  # its name; description.json says what it means
        scores = "" if scores is None else str(scores)
        rows.append((tokenizer.name, tokenizer.kind, total, *numbers, *learnt, scores))
    caption = (
        "T counts every id. A dead piece can never be used, since another segmentation of it always scores "
        "higher; raised pieces were dead and got the score of their best split, dropped ones made room for what "
        "must be in the vocabulary. Tokenizers compare only as far as they have seen the same. Lines read: all "
        "different lines that the pieces were learnt from; word types: different words in them; weights: a "
        "language with n lines has the share q = n^alpha / sum of them, and its mean ALP the weight q^beta in an "
        "allocation. A tokenizer from elsewhere (kind file) is only evaluated: how many pieces it "
        f"has is not counted here, see its file{T_DERIVED if derived else ', as for its T'}. From "
        "results/tokenizers/{name}/description.json."
    )
    return Table("tokenizers", "What each tokenizer is", caption, columns, rows)


def ids_of(tokenizer: Tokenizer) -> int | None:
    """T from `vocabulary_used`, each a count over T: the least common denominator of them.

    That is T unless all counts share a factor, which with 20 languages or more is not to be expected; None with
    fewer, and where the cells are no such shares.
    """
    used = [row["vocabulary_used"] for row in tokenizer.evaluation if row["vocabulary_used"]]
    shares = [Fraction(value).limit_denominator(5_000_000) for value in used]
    exact = all(share.numerator / share.denominator == value for share, value in zip(shares, used, strict=True))
    total = math.lcm(*(share.denominator for share in shares))
    return total if exact and len(set(shares)) >= 20 and total <= 5_000_000 else None


def _by_group(results: Results) -> Table:
    rows = []
    for tokenizer in map(results.tokenizers.__getitem__, results.configured("tokenizers", results.tokenizers)):
        members = [
            {**row, "resource": results.resource(row["language"])}
            for row in tokenizer.evaluation
            if row["language"] in results.languages
        ]
        for mean in by_resource(members):
            measures = (mean[column.key] for column in MEASURES)
            rows.append((tokenizer.name, tokenizer.kind, mean["resource"], mean["languages"], *measures))
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
    return Table("tokenizers-by-group", "All tokenizers by resource group", caption, columns, rows, folded=True)


def _missing(tokenizer: Tokenizer) -> Note | None:
    if not tokenizer.missing:
        return None
    names = ", ".join(tokenizer.missing)
    return Note(
        f"Missing in results/tokenizers/{tokenizer.name}: {names}. Run the tokenizers stage again.", "warning"
    )


def _one(results: Results, tokenizer: Tokenizer) -> list[Block]:
    blocks: list[Block] = []
    if tokenizer.description:
        facts = [
            (name.replace("_", " ").replace(".", ": "), value) for name, value in flatten(tokenizer.description)
        ]
        blocks.append(Facts(facts, "All of description.json"))
    if tokenizer.pieces:
        counts = tokenizer.pieces.counts
        listed = ", ".join(f"{count:,} {STATUS.get(status, status)}" for status, count in counts.items())
        total = sum(count for status, count in counts.items() if status != "dropped")
        dead = counts.get("dead", 0)
        share = f" The dead are {100 * dead / total:.3f}\u00a0% of the pieces in the model." if dead else ""
        blocks.append(Text(f"Every piece accounted for: {listed}.{share}"))
    if tokenizer.evaluation:
        blocks.append(_evaluation(results, tokenizer))
    if tokenizer.unknown:
        blocks.append(_unknown(results, tokenizer))
    if tokenizer.parallel:
        blocks.append(fairness.by_language(results, tokenizer))
    return blocks


def _evaluation(results: Results, tokenizer: Tokenizer) -> Table:
    columns = [
        Column("language", "Code"),
        Column("name", "Language"),
        Column("resource", "Group"),
        Column("lines", "Lines", "number"),
        *MEASURES,
    ]
    rows = [
        (
            row["language"],
            results.name(row["language"]),
            row.get("resource") or results.resource(row["language"]),
            row["lines"],
            *(row[column.key] for column in MEASURES),
        )
        for row in tokenizer.evaluation
    ]
    origin = f"results/tokenizers/{tokenizer.name}/evaluation.tsv"
    caption = f"On the held-out lines of each language. {MEASURED} From {origin}."
    name = f"evaluation-{tokenizer.name}"
    return Table(name, f"{tokenizer.name} by language", caption, columns, rows, folded=True)


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
