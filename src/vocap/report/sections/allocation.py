"""Sizes of the languages beside the paper's Table 9; the explorer, which computes
others on the page.
"""

import base64
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import pandas
from markupsafe import Markup
from numpy.typing import NDArray

from vocap.allocation.settings import Allocation as Settings
from vocap.errors import listed
from vocap.report.data.results import AllocationResults, Results
from vocap.report.page import blocks as page
from vocap.report.page.blocks import Explorer, Fold, Note, PageBlock, Paragraph, not_run
from vocap.report.page.tables import Column, Table, specified
from vocap.report.paper import on_paper_languages, paper_size
from vocap.tables.piece_index import PieceIndex, hash_pieces
from vocap.unigram.text_settings import COVERAGE

PAPER_SIZES = "paper_allocated_thousands"
BUDGET = 4_000_000  # characters of the packed overlap; ten times those of 86 languages


def section(results: Results) -> list[PageBlock]:
    """The allocations side by side, in total and by language; details of each
    folded.
    """
    if not results.allocations:
        return [not_run("allocation", "No vocabulary has been allocated yet.")]
    entries = results.allocations.values()
    return [
        Paragraph(
            "Algorithm 1 raises the language whose next step gains the most weighted ALP "
            "until the union of all chosen vocabularies is full."
        ),
        *_warnings(list(entries)),
        _overview(results),
        *([_sizes(results)] if any(entry.shares for entry in entries) else []),
        Fold(
            "Each allocation: summary, and sizes by language",
            [Fold(entry.name, _one(results, entry)) for entry in entries],
        ),
        *page.without_results(results.absent("allocation", results.allocations), "warning"),
    ]


def _overview(results: Results) -> Table:
    """A row an allocation."""
    correlation = [Column("rank_correlation", "Rank correlation with the paper", "number", 3)]
    more = correlation if any(_comparable(entry) for entry in results.allocations.values()) else []
    rows = []
    for entry in results.allocations.values():
        row: dict[str, Any] = {
            key: entry.setting(key) for key in ("rule", "total", "alpha", "beta")
        }
        row |= {"allocation": entry.name, "languages": len(entry.shares), "pieces": entry.pieces}
        row["sum_of_sizes"] = sum(size or 0 for size in entry.sizes.values())
        rows.append(row | {"rank_correlation": _correlation(entry)})
    return specified("allocations", rows, more)


def _warnings(entries: Sequence[AllocationResults]) -> list[PageBlock]:
    """Notes above the sizes: the stage's warnings that Start has not, each once with
    the names of its allocations, and missing files.
    """
    said: dict[str, list[str]] = {}
    for entry in entries:
        texts = [] if entry.summary.get("short") else entry.warnings
        if not entry.summary:
            texts = ["summary.json is missing: the settings and the clipping are not known."]
        for text in texts:
            if text not in entry.uneven:
                said.setdefault(text, []).append(entry.name)
    return [Note(f"{listed(names)}: {text}", "warning") for text, names in said.items()]


def _sizes(results: Results) -> Table:
    """Every language's size in every allocation."""
    entries = [entry for entry in results.allocations.values() if entry.shares]
    sizes = {f"size_{entry.name}": entry.sizes for entry in entries}
    more = [Column(f"size_{entry.name}", entry.name, "number", bar=True) for entry in entries]
    return specified("sizes", results.rows(sizes), more)


def _comparable(entry: AllocationResults) -> bool:
    """Whether its sizes compare with the paper's: it is on the paper's languages."""
    return on_paper_languages(code for code, size in entry.sizes.items() if size is not None)


def _correlation(entry: AllocationResults) -> float | None:
    """Spearman's, of its sizes and the paper's; None for an allocation on other
    languages.
    """
    if not _comparable(entry):
        return None
    rows = [(size, paper_size(code, PAPER_SIZES)) for code, size in entry.sizes.items()]
    found = pandas.DataFrame(rows, dtype=float).dropna().corr("spearman").iloc[0, 1]
    return None if pandas.isna(found) else float(found)


def _one(results: Results, entry: AllocationResults) -> list[PageBlock]:
    """All of the summary, and the sizes."""
    summary = {key: value for key, value in entry.summary.items() if key != "warnings"}
    blocks: list[PageBlock] = [page.CodeBlock.of_file(summary, "summary.json")] if summary else []
    return [*blocks, _table(results, entry)] if entry.shares else blocks


def _table(results: Results, entry: AllocationResults) -> Table:
    rows = []
    for share in entry.shares:
        own, size = share["own_pieces"], share["size"]
        row = {"own_share": own / size if size and own is not None else None}
        rows.append(share | row | results.about(share["language"]))
    gained = "of the last step taken (nats per line; none for a language at its smallest size)"
    if entry.rule and entry.rule.needs_text:
        gained = "of the last pieces kept (nats per line; one price for all languages)"
    return specified("allocation", rows, of=entry.name, gained=gained)


def explorer(results: Results) -> list[PageBlock]:
    """The explorer, or the reason that there is none."""
    if not results.allocations:
        return [not_run("allocation", "There is no allocation to start from.")]
    data = make_explorer(results)
    if data is None:
        reason = (
            results.no_inputs
            or "No allocation has its settings on file, or the pieces do not fit the page."
        )
        said = Markup("<strong>No explorer here.</strong> {} {} makes the missing files.")
        return [Note(said.format(reason, page.code("snakemake --cores all allocation")))]
    # what it computes, what it shows as computed, and where it counts a sample
    intro = Markup(
        "Move a slider: the page computes Algorithm 1 itself, from the curves and from the pieces "
        "that languages share, and the picture above, the sentence and the table show each "
        "language’s size, and its gain or loss against an allocation of this run. ALP and tokens "
        "are of a language’s own vocabulary, before all are merged. {} gives the same sizes for "
        "the lines to copy."
    )
    blocks: list[PageBlock] = [Explorer(data), Paragraph(intro.format(page.code("vocap allocate")))]
    if others := [one.name for one, said in results.computed() if said.rule != "paper"]:
        blocks.append(
            Paragraph(
                f"The allocations of other rules ({', '.join(others)}) are there to compare with, "
                "as they were computed. For a rule that reads the languages’ text, the size is the "
                "number of pieces that a language uses."
            )
        )
    return blocks


@dataclass(frozen=True)
class Overlap:
    """C classes of pieces, and for each language the intervals of sizes in which it
    holds a class.

    `times` int64 [C] is the number of pieces of a class. The first `len(characters)`
    classes are these characters, by code point, one piece each. `entries[k]`: int64
    arrays `class`, `start`, `stop` [E_k], by class: language k holds the class in the
    vocabularies of rank start to stop - 1.
    """

    characters: str
    times: NDArray[np.int64]
    entries: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]


def find_overlap(
    indexes: Sequence[PieceIndex], tables: Sequence[Mapping[str, float] | None]
) -> Overlap:
    """The classes of the pieces of these languages. `tables`: the characters of each
    language's text.
    """
    found: set[str] = set()
    found.update(*map(_single_characters, indexes), *filter(None, tables))
    characters = sorted(found)
    parts = []
    for place, index in enumerate(indexes):
        columns = {"hash": index.hashes[index.piece], "start": index.start, "stop": index.stop}
        parts.append(pandas.DataFrame(columns).assign(language=place))
    # classes are numbered as they come, so that those of one language follow each other
    # by size: packed, that is a third less
    held = pandas.concat(parts, ignore_index=True).sort_values(["language", "start", "stop"])
    # pieces that the same languages hold at the same sizes are one class
    interval = ["language", "start", "stop"]
    held["interval"] = held.groupby(interval).ngroup()
    by_piece = held.sort_values(["hash", "interval"])
    hashes, first = np.unique(by_piece["hash"], return_index=True)
    sets = np.split(by_piece.interval.to_numpy(), first[1:])
    pieces = pandas.Series([numbers.tobytes() for numbers in sets], hashes)
    pieces = pieces[held["hash"].unique()]
    single = pandas.Series(range(len(characters)), hash_pieces(characters))
    others = pieces[~pieces.index.isin(single.index)]
    numbers = others.factorize()[0] + len(single)
    classes = pandas.concat([single, pandas.Series(numbers, others.index)])
    held["class"] = held["hash"].map(classes)
    rows = held[["class", *interval]].drop_duplicates().sort_values(["language", "class", "start"])
    entries = []
    for place in range(len(indexes)):
        own = rows[rows.language == place].astype(np.int64)
        entries.append(tuple(own[key].to_numpy() for key in ("class", "start", "stop")))
    return Overlap("".join(characters), np.bincount(classes), entries)


def _single_characters(index: PieceIndex) -> list[str]:
    """The pieces that are one character."""
    pieces = index.strings(np.arange(len(index.hashes)))
    return [piece for piece in pieces if len(piece) == 1]


def pack(
    overlap: Overlap,
    tables: Sequence[Mapping[str, float] | None],
    curves: Sequence[dict[str, Any]],
) -> str:
    """Base64 of the compressed JSON that `overlap.js` reads.

    `times`, and for each language of `languages` its `entries` as lists, a class as the
    distance to the one before, the rows of its table: numbers of characters, and their
    counts per line; and the columns of its curve.
    """
    number = {character: place for place, character in enumerate(overlap.characters)}
    languages = []
    for (piece, start, stop), table, curve in zip(overlap.entries, tables, curves, strict=True):
        language = {"piece": np.diff(piece, prepend=0), "start": start, "stop": stop}
        found = {key: array.tolist() for key, array in language.items()}
        rows = table or {}
        found |= {"character": [number[one] for one in rows], "perLine": list(rows.values())}
        languages.append(found | curve)
    packed = orjson.dumps({"times": overlap.times.tolist(), "languages": languages})
    return base64.b64encode(zlib.compress(packed, 9)).decode()


def make_explorer(results: Results) -> dict[str, Any] | None:
    """The data of the explorer's script; None without languages, an allocation, or
    space for it.
    """
    inputs, present = results.inputs, results.computed()
    if not inputs.languages or not present:
        return None
    # the curves of each language, and the pieces that they share
    indexes = [entry.index for entry in inputs.languages]
    tables = [entry.characters for entry in inputs.languages]
    overlap = find_overlap(indexes, tables)
    languages, curves = [], []
    for entry in inputs.languages:
        points = results.trained(entry.language)
        languages.append(
            {
                "code": entry.language,
                "name": results.name(entry.language),
                "group": results.resource(entry.language),
                "n": entry.n,
                "length": math.fsum((entry.characters or {}).values()),  # characters a line
                "sizes": [point.size for point in points],
            }
        )
        curves.append(
            {
                "alp": [point.alp for point in points],
                # shown, not computed with
                "heldout": _rounded(point.alp_heldout for point in points),
                "tokens": _rounded(point.tokens_per_sentence for point in points),
            }
        )
    packed = pack(overlap, tables, curves)
    if len(packed) > BUDGET:
        return None
    # the ranges of the controls, and the allocations to compare with
    schema = Settings.model_json_schema()["properties"]
    return {
        "folder": results.folder,
        "limits": {key: schema[key]["maximum"] for key in ("alpha", "beta", "fairness")},
        "alphabet": overlap.characters,
        "languages": languages,  # in the order of `vocap allocate`, on which ties depend
        "shown": sorted((one["code"] for one in languages), key=results.rank),
        "packed": packed,
        "present": [_present(entry, said) for entry, said in present],
    }


def _rounded(values: Iterable[float | None]) -> list[float | None]:
    return [None if value is None else round(value, 3) for value in values]


def _present(entry: AllocationResults, settings: Settings) -> dict[str, Any]:
    """An allocation of this run, which the explorer compares with, and starts from where
    it is by the paper's rule.
    """
    coverage = entry.setting("coverage") or COVERAGE
    return {
        "name": entry.name,
        "settings": {**settings.model_dump(), "coverage": coverage},
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
