"""What is cut differently under two tokenizers of one size: languages, words, sentences, pieces."""

from vocap.report.blocks import Block, Fold, Note, Section, Text, code, counted
from vocap.report.diffs import Diff
from vocap.report.results import Results
from vocap.report.tables import Column, Table

STEADY = 0.005  # percent: below it as many tokens as before
SHOWN = 40  # rows on the page of what is long


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
    return Section("segmentation", "What is cut differently", "Segmentation", blocks)


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
    columns = [
        Column("language", "Code"),
        Column("name", "Language"),
        Column("resource", "Group"),
        Column("lines", "Lines", "number"),
        Column("lines_changed", "cut elsewhere", "number"),
        Column("tokens_per_sentence_a", f"Tokens per line, {diff.a}", "number", 2),
        Column("tokens_per_sentence_b", diff.b, "number", 2),
        Column("change", "Change", "number", 2, share=True),
        Column("words_changed", "Words cut elsewhere", "number", 1, share=True, bar=True),
        Column("characters_changed", "Text cut elsewhere", "number", 1, share=True, bar=True),
    ]
    rows = [
        (
            row["language"],
            results.name(row["language"]),
            results.resource(row["language"]),
            row.get("lines"),
            row.get("lines_changed"),
            row.get("tokens_per_sentence_a"),
            row.get("tokens_per_sentence_b"),
            *(
                None if row.get(key) is None else row[key] / 100
                for key in ("change_percent", "words_changed_percent", "characters_changed_percent")
            ),
        )
        for row in diff.languages
    ]
    caption = (
        f"Held-out lines under {diff.a} and {diff.b}. "
        "Words are what white space separates; text cut elsewhere is the share of characters between "
        f"borders that both have, where one cuts and the other does not. From "
        f"results/tokenizers/diff/{diff.name}/languages.tsv."
    )
    return Table(
        f"diff-{diff.name}", f"Languages, {diff.a} to {diff.b}", caption, columns, rows, folded=len(rows) > 20
    )


def _words(results: Results, diff: Diff) -> Table:
    columns = [
        Column("count", "Times", "number"),
        Column("language", "Code"),
        Column("name", "Language"),
        Column("word", "Word"),
        Column("split_a", diff.a),
        Column("split_b", diff.b),
    ]
    rows = [
        (row["count"], row["language"], results.name(row["language"]), row["word"], row["split_a"], row["split_b"])
        for row in diff.words
    ]
    caption = (
        "The words that are cut elsewhere, the most frequent of all languages first; of a word of more than 20 "
        "characters, as of text without spaces, the part that differs. U+2581 (▁) begins a word. From "
        f"results/tokenizers/diff/{diff.name}/words.tsv, which has more."
    )
    title = f"Words cut elsewhere, {diff.a} and {diff.b}"
    return Table(f"diff-words-{diff.name}", title, caption, columns, rows, limit=SHOWN)


def _examples(results: Results, diff: Diff) -> Table:
    columns = [
        Column("language", "Code"),
        Column("name", "Language"),
        Column("tokens_a", f"Tokens, {diff.a}", "number"),
        Column("tokens_b", diff.b, "number"),
        Column("split_a", f"{diff.a} cuts"),
        Column("split_b", f"{diff.b} cuts"),
    ]
    rows = [
        (
            row["language"],
            results.name(row["language"]),
            row["tokens_a"],
            row["tokens_b"],
            row["split_a"],
            row["split_b"],
        )
        for row in diff.examples
        if row.get("kind") != "same"
    ]
    rows.sort(key=lambda row: (row[3] - row[2], row[0]))
    caption = (
        f"Of every language the held-out line that loses the largest share of its tokens under {diff.b}, and one "
        "that gains it; the most saved first. Lines of at most 160 characters. From "
        f"results/tokenizers/diff/{diff.name}/examples.tsv."
    )
    title = f"Sentences side by side, {diff.a} and {diff.b}"
    return Table(f"diff-sentences-{diff.name}", title, caption, columns, rows, limit=SHOWN)


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
