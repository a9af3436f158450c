"""Differences in segmentation between two tokenizers of one size: languages, words, sentences, pieces."""

from typing import Any

from vocap.report.data.results import Diff, Results
from vocap.report.page.blocks import Block, Fold, Note, Section, Text, code, counted
from vocap.report.page.tables import LONG, Column, Table, language_columns

STEADY = 0.005  # percent: below it as many tokens as before
SHOWN = 40  # rows of long tables on the page


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
        parts = [_words(results, diff), _examples(results, diff), _languages(results, diff), _pieces(diff)]
        if place == 0:
            blocks += [_sentence(diff), *parts]
        else:
            blocks.append(Fold(f"{diff.b} against {diff.a}", [_sentence(diff), *parts]))
    return Section("segmentation", "Differences in segmentation", "Segmentation", blocks)


def _sentence(diff: Diff) -> Text:
    moves = [row.get("change_percent") or 0.0 for row in diff.languages]
    fewer, more = sum(move < -STEADY for move in moves), sum(move > STEADY for move in moves)
    pieces = diff.summary.get("pieces") or {}
    both = (pieces.get("same") or 0) + (pieces.get("moved") or 0)
    return Text(
        code(diff.b)
        + f" needs fewer tokens than {diff.a} in {fewer} of {counted(len(moves), 'language')} and more in {more}. "
        f"{both:,} pieces are in both, {pieces.get('only_a') or 0:,} only in {diff.a}, "
        f"{pieces.get('only_b') or 0:,} only in {diff.b}."
    )


def _languages(results: Results, diff: Diff) -> Table:
    def share(key: str, title: str, digits: int, bar: bool = True) -> Column:
        def value(row: dict[str, Any]) -> float | None:
            percent = row.get(f"{key}_percent")
            return None if percent is None else percent / 100

        return Column(key, title, "number", digits, share=True, bar=bar, value=value)

    columns = [
        *language_columns(results),
        Column("lines", "Lines", "number"),
        Column("lines_changed", "Lines segmented differently", "number"),
        Column("tokens_per_sentence_a", f"Tokens per line, {diff.a}", "number", 2),
        Column("tokens_per_sentence_b", diff.b, "number", 2),
        share("change", "Change", 2, bar=False),
        share("words_changed", "Words segmented differently", 1),
        share("characters_changed", "Text segmented differently", 1),
    ]
    caption = (
        f"Held-out lines under {diff.a} and {diff.b}. "
        "Words are separated by white space; text segmented differently is the share of characters between "
        f"borders that both have, where one cuts and the other does not. From "
        f"results/tokenizers/diff/{diff.name}/languages.tsv."
    )
    name, title = f"diff-{diff.name}", f"Languages, {diff.a} to {diff.b}"
    return Table.of(name, title, caption, columns, diff.languages, folded=len(diff.languages) > LONG)


def _words(results: Results, diff: Diff) -> Table:
    columns = [
        Column("count", "Times", "number"),
        *language_columns(results, group=False),
        Column("word", "Word"),
        Column("split_a", diff.a),
        Column("split_b", diff.b),
    ]
    caption = (
        "The words that are segmented differently, the most frequent of all languages first; of a word of more "
        "than 20 characters, as of text without spaces, the part that differs. U+2581 (▁) begins a word. From "
        f"results/tokenizers/diff/{diff.name}/words.tsv, which has more."
    )
    title = f"Words segmented differently, {diff.a} and {diff.b}"
    return Table.of(f"diff-words-{diff.name}", title, caption, columns, diff.words, limit=SHOWN)


def _examples(results: Results, diff: Diff) -> Table:
    columns = [
        *language_columns(results, group=False),
        Column("tokens_a", f"Tokens, {diff.a}", "number"),
        Column("tokens_b", diff.b, "number"),
        Column("split_a", f"{diff.a} cuts"),
        Column("split_b", f"{diff.b} cuts"),
    ]
    rows = [row for row in diff.examples if row.get("kind") != "same"]
    rows.sort(key=lambda row: (row["tokens_b"] - row["tokens_a"], row["language"]))
    caption = (
        f"Of every language the held-out line that loses the largest share of its tokens under {diff.b}, and one "
        "that gains it; the most saved first. Lines of at most 160 characters. From "
        f"results/tokenizers/diff/{diff.name}/examples.tsv."
    )
    title = f"Sentences side by side, {diff.a} and {diff.b}"
    return Table.of(f"diff-sentences-{diff.name}", title, caption, columns, rows, limit=SHOWN)


def _pieces(diff: Diff) -> Table:
    columns = [
        Column("only_in", "Only in"),
        Column("piece", "Piece"),
        Column("uses", "Uses in the held-out text", "number"),
    ]
    rows = [
        (name, row["piece"], row[f"uses_{side}"])
        for name, side, found in ((diff.a, "a", diff.only_a), (diff.b, "b", diff.only_b))
        for row in found
    ]
    rows.sort(key=lambda row: (-row[2], row[1]))
    caption = (
        "Pieces that one of the two lacks, the most used first. From "
        f"results/tokenizers/diff/{diff.name}/pieces.tsv, which has all, and those whose id moved."
    )
    title = f"Pieces of one only, {diff.a} or {diff.b}"
    return Table(f"diff-pieces-{diff.name}", title, caption, columns, rows, folded=True, limit=SHOWN)
