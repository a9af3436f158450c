"""Sizes of the languages beside the paper's Table 9; the explorer, which computes
others on the page.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
import pandas
from markupsafe import Markup

from vocap.allocation.inputs import LanguageInput
from vocap.allocation.settings import Allocation as Settings
from vocap.report.data.results import AllocationResults, Results
from vocap.report.page import blocks as page
from vocap.report.page.blocks import Fold, Note, PageBlock, Paragraph, Script
from vocap.report.page.rendering import sentence
from vocap.report.page.tables import Column, Table, rounded, specified
from vocap.report.paper import paper_languages, paper_size
from vocap.tables.piece_index import hash_pieces
from vocap.unigram.text_settings import COVERAGE

LONGEST = 4  # bytes of a character
BUDGET = 4_000_000  # characters of the packed overlap; ten times those of 86 languages


def section(results: Results) -> list[PageBlock]:
    """The allocations side by side, in total and by language; details of each
    folded.
    """
    entries = results.allocations.values()
    return [
        Paragraph(
            "Algorithm 1 raises the language whose next step gains the most weighted ALP "
            "until the union of all chosen vocabularies is full."
        ),
        _overview(results),
        _sizes(results),
        Fold(
            "Each allocation: summary, and sizes by language",
            [Fold(entry.name, _one(results, entry)) for entry in entries],
        ),
        *page.without_results(results.absent(results.allocations, "allocation"), "warning"),
    ]


def _overview(results: Results) -> Table:
    """A row an allocation."""
    rows = []
    for entry in results.allocations.values():
        row = {"allocation": entry.name, "languages": len(entry.shares), "pieces": entry.pieces}
        row |= {"sum_of_sizes": sum(entry.sizes.values()), "rank_correlation": _correlation(entry)}
        rows.append(entry.settings | row)
    correlated = any(row["rank_correlation"] is not None for row in rows)
    correlation = [Column("rank_correlation", "Rank correlation with the paper", "number", 3)]
    return specified("allocations", rows, correlation if correlated else [])


def _sizes(results: Results) -> Table:
    """Every language's size in every allocation."""
    sizes = {
        Column(f"size_{entry.name}", entry.name, "number", bar=True): entry.sizes
        for entry in results.allocations.values()
    }
    return specified("sizes", results.rows(sizes), [*sizes])


def _correlation(entry: AllocationResults) -> float | None:
    """Spearman's, of its sizes and the paper's; None for an allocation on fewer than half of the
    paper's languages, whose sizes do not compare.
    """
    sizes = {code: paper_size(code, "paper_allocated_thousands") for code in paper_languages()}
    both = pandas.DataFrame({"paper": sizes, "own": pandas.Series(entry.sizes, dtype=float)})
    found = both.corr("spearman", min_periods=(len(sizes) + 1) // 2).iloc[0, 1]
    return None if pandas.isna(found) else float(found)


def _one(results: Results, entry: AllocationResults) -> list[PageBlock]:
    """All of the summary, and the sizes."""
    summary = {key: value for key, value in entry.summary.items() if key != "warnings"}
    blocks: list[PageBlock] = [page.CodeBlock.of_file(summary, "summary.json")] if summary else []
    shares = entry.shares.assign(own_share=entry.shares.own_pieces / entry.shares["size"])
    rows = results.with_names(shares.reset_index())
    gained = "of the last step taken (nats per line; none for a language at its smallest size)"
    if entry.text_rule:
        gained = "of the last pieces kept (nats per line; one price for all languages)"
    return [*blocks, specified("allocation", rows, of=entry.name, gained=gained)]


def explorer(results: Results) -> list[PageBlock]:
    """The explorer, or the reason that there is none."""
    data = make_explorer(results)
    if data is None:
        reason = (
            results.no_inputs
            or "No allocation has its settings on file, or the pieces do not fit the page."
        )
        said = (
            "<strong>No explorer here.</strong> {} <code>snakemake --cores all allocation</code> "
            "makes the missing files."
        )
        return [Note(Markup(said).format(reason))]
    others = [one["name"] for one in data["present"] if one["settings"]["rule"] != "paper"]
    return [Script("explorer", data), Paragraph(sentence("explorer", others=others))]


def find_overlap(
    languages: Sequence[LanguageInput],
) -> tuple[str, list[int], pandas.DataFrame]:
    """The classes of the pieces of these languages: pieces that the same languages hold at the
    same sizes.

    The first classes are single characters, by code point, one piece each: those of the first
    value. The second is the number of pieces of every class. The frame has a row for each
    interval of sizes in which a language (by its number) holds a class: `language`, `class`,
    `start`, `stop`, the vocabularies of rank start to stop - 1.
    """
    found: set[str] = set()
    parts = []
    for place, entry in enumerate(languages):
        index = entry.index
        short = index.strings(np.flatnonzero(np.diff(index.offsets) <= LONGEST))
        found |= {*(entry.characters or {}), *(piece for piece in short if len(piece) == 1)}
        columns = {"hash": index.hashes[index.piece], "start": index.start, "stop": index.stop}
        parts.append(pandas.DataFrame(columns).assign(language=place))
    characters = sorted(found)
    # classes are numbered as they come, so that those of one language follow each other
    # by size: packed, that is a third less
    interval = ["language", "start", "stop"]
    held = pandas.concat(parts, ignore_index=True).sort_values(interval)
    numbers = held.groupby(interval).ngroup()
    holders: defaultdict[int, tuple[int, ...]] = defaultdict(tuple)
    for piece, number in zip(held["hash"].tolist(), numbers.tolist(), strict=True):
        holders[piece] += (number,)
    sets = pandas.Series(holders)
    single = pandas.Series(range(len(characters)), hash_pieces(characters))
    others = sets[~sets.index.isin(single.index)]
    several = pandas.Series(others.factorize()[0] + len(single), others.index)
    classes = pandas.concat([single, several])
    held["class"] = held["hash"].map(classes)
    rows = held[["class", *interval]].drop_duplicates().sort_values(["language", "class", "start"])
    return "".join(characters), np.bincount(classes).tolist(), rows


def make_explorer(results: Results) -> dict[str, Any] | None:
    """The data of the explorer's script; None without languages, an allocation, or
    space for it.

    `packed`: base64 of the compressed JSON that `overlap.js` reads: `times`, and for each
    language its rows of `find_overlap` as lists, a class as the distance to the one before,
    the rows of its table, which are numbers of characters and their counts per line, and the
    columns of its curve.
    """
    names = results.configured("allocation", results.allocations)
    present = [results.allocations[name] for name in names]
    present = [entry for entry in present if entry.settings]
    if not results.inputs or not present:
        return None
    characters, times, held = find_overlap(results.inputs)
    number = {character: place for place, character in enumerate(characters)}
    languages, packed, colours = [], [], results.colours()
    for place, entry in enumerate(results.inputs):
        own, table = held[held.language == place], entry.characters or {}
        points = results.trained(entry.language)
        languages.append(
            {
                "code": entry.language,
                "name": results.name(entry.language),
                "colour": colours[results.amounts[entry.language]],
                "n": entry.n,
                "length": math.fsum(table.values()),  # characters a line
                "sizes": [point.size for point in points],
            }
        )
        packed.append(
            {
                "piece": np.diff(own["class"], prepend=0).tolist(),
                "start": own.start.tolist(),
                "stop": own.stop.tolist(),
                "character": [number[one] for one in table],
                "perLine": list(table.values()),
                "alp": [point.alp for point in points],
                # shown, not computed with
                "heldout": rounded((point.alp_heldout for point in points), 3),
                "tokens": rounded((point.tokens_per_sentence for point in points), 3),
            }
        )
    coded = page.pack(orjson.dumps({"times": times, "languages": packed}))
    if len(coded) > BUDGET:
        return None
    shown = {entry.language for entry in results.inputs}
    # the ranges of the controls, and the allocations to compare with
    schema = Settings.model_json_schema()["properties"]
    return {
        "folder": results.folder,
        "limits": {key: schema[key]["maximum"] for key in ("alpha", "beta", "fairness")},
        "alphabet": characters,
        "languages": languages,  # in the order of `vocap allocate`, on which ties depend
        "shown": [code for code in results.languages if code in shown],
        "packed": coded,
        "present": list(map(_present, present)),
    }


def _present(entry: AllocationResults) -> dict[str, Any]:
    """An allocation of this run, which the explorer compares with, and starts from where
    it is by the paper's rule.
    """
    return {
        "name": entry.name,
        "settings": {"coverage": COVERAGE, **entry.settings},
        "sizes": entry.sizes,
        "measured": {
            language: {
                "alp": model.alp,
                "heldout": model.alp_heldout,
                "tokens": model.tokens_per_sentence,
            }
            for language, model in entry.models.items()
        },
    }
