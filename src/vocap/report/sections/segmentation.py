"""Differences in segmentation between two tokenizers of one size: languages, words, sentences, pieces."""

from functools import partial

from vocap.report.data.results import Diff, Results
from vocap.report.page.blocks import Block, Fold, Note, Section, Text, code, counted
from vocap.report.page.tables import LONG, Column, Table, language_columns

STEADY = 0.005  # percent: below it as many tokens as before
SHOWN = 40  # rows of long tables on the page
CAPTIONS = {  # title and caption by the name of the file
    "words": (
        "Words segmented differently",
        "The words that are segmented differently, the most frequent of all languages first; of a word of more "
        "than 20 characters, as of text without spaces, the part that differs. U+2581 (▁) begins a word. The "
        "file has more.",
    ),
    "examples": (
        "Sentences side by side",
        "Of every language the held-out line that loses the largest share of its tokens under the second "
        "tokenizer, and one that gains it; the most saved first. Lines of at most 160 characters.",
    ),
    "languages": (
        "Languages",
        "Held-out lines. Words are separated by white space; text segmented differently is the share of "
        "characters between borders that both have, where one cuts and the other does not.",
    ),
    "pieces": (
        "Pieces of one only",
        "Pieces that one of the two lacks, the most used first. The file has all, and those whose id moved.",
    ),
}


def section(results: Results) -> Section:
    """One part for each pair that was compared."""
    blocks: list[Block] = []
    if not results.diffs:
        blocks.append(
            Note(
                "No two tokenizers were compared. The workflow compares the first JOINT tokenizer of each T with "
                "the first VOCAP tokenizer of each rule of allocation and this T; any two can be compared with "
                "vocap diff."
            )
        )
    for place, diff in enumerate(results.diffs):
        part = [_sentence(diff), *_tables(results, diff)]
        blocks += part if place == 0 else [Fold(f"{diff.b} against {diff.a}", part)]
    return Section("segmentation", "Differences in segmentation", "Segmentation", blocks)


def _sentence(diff: Diff) -> Text:
    moves = [row.get("change_percent") or 0.0 for row in diff.languages]
    fewer, more = sum(move < -STEADY for move in moves), sum(move > STEADY for move in moves)
    pieces = {key: count or 0 for key, count in (diff.summary.get("pieces") or {}).items()}
    both = pieces.get("same", 0) + pieces.get("moved", 0)
    return Text(
        code(diff.b)
        + f" needs fewer tokens than {diff.a} in {fewer} of {counted(len(moves), 'language')} and more in {more}. "
        f"{both:,} pieces are in both, {pieces.get('only_a', 0):,} only in {diff.a}, "
        f"{pieces.get('only_b', 0):,} only in {diff.b}."
    )


def _tables(results: Results, diff: Diff) -> list[Table]:
    """Words, sentences, languages and pieces."""
    # rows and columns by the name of the file
    number = partial(Column, kind="number")
    language, splits = (
        language_columns(results, group=False),
        [Column("split_a", diff.a), Column("split_b", diff.b)],
    )
    examples = [row for row in diff.examples if row.get("kind") != "same"]
    examples.sort(key=lambda row: (row["tokens_b"] - row["tokens_a"], row["language"]))
    pieces = [row | {"only_in": diff.a, "uses": row["uses_a"]} for row in diff.only_a]
    pieces += [row | {"only_in": diff.b, "uses": row["uses_b"]} for row in diff.only_b]
    pieces.sort(key=lambda row: (-row["uses"], row["piece"]))
    columns = {
        "words": [number("count", "Times"), *language, Column("word", "Word"), *splits],
        "examples": [*language, number("tokens_a", f"Tokens, {diff.a}"), number("tokens_b", diff.b), *splits],
        "languages": [
            *language_columns(results),
            number("lines", "Lines"),
            number("lines_changed", "Lines segmented differently"),
            number("tokens_per_sentence_a", f"Tokens per line, {diff.a}", digits=2),
            number("tokens_per_sentence_b", diff.b, digits=2),
            number("change_percent", "Change, %", digits=2),
            number("words_changed_percent", "Words segmented differently, %", digits=1),
            number("characters_changed_percent", "Text segmented differently, %", digits=1),
        ],
        "pieces": [
            Column("only_in", "Only in"),
            Column("piece", "Piece"),
            number("uses", "Uses in the held-out text"),
        ],
    }
    rows = {"words": diff.words, "examples": examples, "languages": diff.languages, "pieces": pieces}
    options = {"languages": {"folded": len(diff.languages) > LONG}, "pieces": {"folded": True, "limit": SHOWN}}
    # tables, short ones open
    return [
        Table.of(
            f"diff-{name}-{diff.name}",
            f"{title}, {diff.a} and {diff.b}",
            f"{caption} From results/tokenizers/diff/{diff.name}/{name}.tsv.",
            columns[name],
            rows[name],
            **options.get(name, {"limit": SHOWN}),
        )
        for name, (title, caption) in CAPTIONS.items()
    ]
