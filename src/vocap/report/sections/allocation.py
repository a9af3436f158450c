"""Sizes of the languages beside the paper's Table 9; the explorer, which computes
others on the page.
"""

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas
from markupsafe import Markup

from vocap.allocation.settings import Allocation as Settings
from vocap.report.data.results import AllocationResults, Results
from vocap.report.page import blocks as page
from vocap.report.page.blocks import Explorer, Fold, Note, PageBlock, Paragraph, Section, not_run
from vocap.report.page.tables import Column, Table, specified
from vocap.report.paper import on_paper_languages, paper_size
from vocap.tables.piece_index import PieceIndex, hash_pieces
from vocap.unigram.text_settings import COVERAGE

PAPER_SIZES = "paper_allocated_thousands"
BUDGET = 4_000_000  # characters of the packed overlap; ten times those of 86 languages


def section(results: Results) -> Section:
    """The allocations side by side, in total and by language; details of each
    folded.
    """
    blocks: list[PageBlock] = []
    if not results.allocations:
        blocks.append(not_run("allocation", "No vocabulary has been allocated yet."))
    else:
        blocks.append(
            Paragraph(
                "Algorithm 1 raises the language whose next step gains the most weighted ALP "
                "until the union of "
                "all chosen vocabularies is full. The optimality gap is the distance of an "
                "allocation’s objective "
                "from an upper bound for any choice of sizes, in percent of the distance from "
                "every language at "
                "its smallest size (100 %) to the bound (0 %). A rule that chooses pieces "
                "instead of sizes can "
                "pass the bound: its gap is negative."
            )
        )
        for entry in results.allocations.values():
            blocks += _warnings(entry)
        blocks.append(_overview(results))
        if any(entry.shares for entry in results.allocations.values()):
            blocks.append(_sizes(results))
        each = [Fold(entry.name, _one(results, entry)) for entry in results.allocations.values()]
        blocks.append(Fold("Each allocation: summary, and sizes by language", each))
        blocks += page.without_results(results.absent("allocation", results.allocations), "warning")
    return Section("allocation", "Vocabulary size of each language", "Allocation", blocks)


def _overview(results: Results) -> Table:
    """A row an allocation. A gap is 1 minus the share of the distance to the bound that
    was gained.
    """
    correlation = [Column("rank_correlation", "Rank correlation with the paper", "number", 3)]
    more = correlation if any(_comparable(entry) for entry in results.allocations.values()) else []
    rows = []
    for entry in results.allocations.values():
        row: dict[str, Any] = {
            key: entry.setting(key) for key in ("rule", "total", "alpha", "beta")
        }
        row |= {"allocation": entry.name, "languages": len(entry.shares), "pieces": entry.pieces}
        assessed = [entry.summary.get("chosen") or {}, *(entry.summary.get("other_rules") or ())]
        gaps = {
            one.get("rule"): 1 - one["way_percent"] / 100
            for one in assessed
            if one.get("way_percent")
        }
        row |= {"optimality_gap": gaps.get(row["rule"]), "optimality_gap_paper": gaps.get("paper")}
        row["sum_of_sizes"] = sum(size or 0 for size in entry.sizes.values())
        rows.append(row | {"rank_correlation": _correlation(entry)})
    return specified("allocations", rows, more)


def _warnings(entry: AllocationResults) -> list[PageBlock]:
    """Notes above the sizes: the stage's warnings, and missing files."""
    found = entry.summary.get("warnings") or []
    if isinstance(found, str):
        found = [found]
    said = [page.text_of(warning) for warning in found]
    if not entry.summary:
        said.append("summary.json is missing: the optimality gap and the clipping are not known.")
    if not entry.shares:
        said.append("allocation.tsv is missing or empty: no sizes to show.")
    return [Note(f"{entry.name}: {text}", "warning") for text in said]


def _sizes(results: Results) -> Table:
    """Every language's size in every allocation."""
    entries = [entry for entry in results.allocations.values() if entry.shares]
    rows = []
    for code in results.languages:
        sizes = {f"size_{one.name}": one.sizes[code] for one in entries if code in one.sizes}
        if sizes:
            rows.append(results.about(code) | sizes)
    more = [Column(f"size_{entry.name}", entry.name, "number", bar=True) for entry in entries]
    return specified("sizes", rows, more)


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


def explorer(results: Results) -> Section:
    """The explorer, or the reason that there is none."""
    return Section("explorer", "Allocation explorer", "Explorer", _blocks(results))


def _blocks(results: Results) -> list[PageBlock]:
    # reasons for none
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
        "The page computes Algorithm 1 itself, from the curves and from the pieces that "
        "languages share: move a "
        "slider to see each language’s size, and its gain or loss against an allocation of this "
        "run. ALP and "
        "tokens are of a language’s own vocabulary, before all are merged. {} gives the same "
        "sizes for the "
        "lines to copy."
    )
    blocks: list[PageBlock] = [Paragraph(intro.format(page.code("vocap allocate")))]
    if others := [one.name for one, said in results.computed() if said.rule != "paper"]:
        blocks.append(
            Paragraph(
                f"The allocations of other rules ({', '.join(others)}) are shown as computed. For "
                "a rule that "
                "reads the languages’ text, the size is the number of pieces that a language uses."
            )
        )
    return [*blocks, Explorer(data)]


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
    times: np.ndarray
    entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]]


def find_overlap(
    indexes: Sequence[PieceIndex], tables: Sequence[Mapping[str, float] | None]
) -> Overlap:
    """The classes of the pieces of these languages. `tables`: the characters of each
    language's text.
    """
    # numbers of all pieces, characters of the text among them, and each one's languages
    # with intervals of sizes
    single = [_single_characters(index) for index in indexes]
    characters = sorted(
        {*(c for table in tables if table for c in table), *(c for s in single for c in s)}
    )
    parts = [hash_pieces(characters), *(index.hashes for index in indexes)]
    hashes, number = np.unique(np.concatenate(parts), return_inverse=True)
    mine = np.split(number, np.cumsum([len(part) for part in parts])[:-1])[1:]
    slots = max(len(index.sizes) for index in indexes) + 1
    code = np.concatenate(
        [
            (k * slots + index.start.astype(np.int64)) * slots + index.stop
            for k, index in enumerate(indexes)
        ]
    )
    piece = np.concatenate([ids[index.piece] for ids, index in zip(mine, indexes, strict=True)])
    # pieces that the same languages hold at the same sizes are one class
    others = np.ones(len(hashes), bool)
    others[number[: len(characters)]] = False
    _, found = np.unique(_classify(piece, code, len(hashes))[others], return_inverse=True)
    classes = np.full(len(hashes), -1)
    classes[number[: len(characters)]] = np.arange(len(characters))
    classes[others] = len(characters) + found
    counts = np.bincount(classes)

    # the intervals of each language, by class
    language, interval = np.divmod(code, slots**2)
    distinct = np.unique((language * len(counts) + classes[piece]) * slots**2 + interval)
    owner, interval = np.divmod(distinct, slots**2)
    entries = []
    for k in range(len(indexes)):
        low, high = np.searchsorted(owner, [k * len(counts), (k + 1) * len(counts)])
        held = owner[low:high] - k * len(counts)
        entries.append((held, *np.divmod(interval[low:high], slots)))
    return Overlap("".join(characters), counts, entries)


def _classify(piece: np.ndarray, code: np.ndarray, number: int) -> np.ndarray:
    """A class for each of `number` pieces [number]: pieces with the same codes have the same.

    The k-th pass distinguishes pieces by their k-th code, so that similar classes have
    near numbers.
    """
    span = int(code.max(initial=0)) + 1
    piece, code = np.divmod(np.sort(piece * span + code), span)
    first = np.searchsorted(piece, np.arange(number + 1))
    lengths, first = np.diff(first), first[:-1]
    classes = np.zeros(number, np.int64)
    rows, before, low, depth = np.flatnonzero(lengths > 0), 0, 1, 0
    while len(rows):
        _, found = np.unique(
            (classes[rows] - before) * span + code[first[rows] + depth], return_inverse=True
        )
        classes[rows] = low + found
        before, low = low, low + int(found.max()) + 1
        depth += 1
        rows = rows[lengths[rows] > depth]
    return classes


def _single_characters(index: PieceIndex) -> list[str]:
    """The pieces that are one character."""
    lead = index.text[index.offsets[:-1]]
    length = 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
    return index.strings(np.flatnonzero(length == np.diff(index.offsets)))


def pack(
    overlap: Overlap, tables: Sequence[Mapping[str, float] | None], stops: Sequence[int]
) -> str:
    """Base64 of the zlib stream that `overlap.js` reads; `stops[k]` is the number of
    sizes of language k.

    The arrays follow one another, each as planes: all lowest bytes, then all second
    ones and so on, for most of the higher ones are zero. uint32 `times` [C]; of all
    entries, language after language, the distance in classes to the one before, then
    start, then sizes from stop to the end of the ladder; of all rows of the tables the
    character's number, and float64 its count per line.
    """
    number = {character: place for place, character in enumerate(overlap.characters)}
    rows = [
        (number[character], per_line)
        for table in tables
        for character, per_line in (table or {}).items()
    ]
    arrays = [
        overlap.times,
        np.concatenate([np.diff(piece, prepend=0) for piece, _, _ in overlap.entries]),
        np.concatenate([start for _, start, _ in overlap.entries]),
        np.concatenate(
            [last - stop for (_, _, stop), last in zip(overlap.entries, stops, strict=True)]
        ),
        np.array([character for character, _ in rows]),
    ]
    planes = [_planes(array.astype("<u4")) for array in arrays]
    planes.append(_planes(np.array([per_line for _, per_line in rows], "<f8")))
    return base64.b64encode(zlib.compress(b"".join(planes), 9)).decode()


def _planes(array: np.ndarray) -> bytes:
    return array.view(np.uint8).reshape(len(array), array.itemsize).T.tobytes()


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
    packed = pack(overlap, tables, [len(index.sizes) for index in indexes])
    if len(packed) > BUDGET:
        return None
    languages = []
    for entry, (piece, _, _) in zip(inputs.languages, overlap.entries, strict=True):
        points = results.trained(entry.language)
        languages.append(
            {
                "code": entry.language,
                "name": results.name(entry.language),
                "group": results.resource(entry.language),
                "n": entry.n,
                "sizes": [point.size for point in points],
                "alp": [point.alp for point in points],
                "heldout": [point.alp_heldout for point in points],
                "tokens": [point.tokens_per_sentence for point in points],
                "entries": len(piece),
                "characters": len(entry.characters or ()),
            }
        )
    # the ranges of the controls, and the allocations to compare with
    schema = Settings.model_json_schema()["properties"]
    return {
        "folder": results.folder,
        "limits": {key: schema[key]["maximum"] for key in ("alpha", "beta", "fairness")},
        "classes": len(overlap.times),
        "alphabet": overlap.characters,
        "languages": languages,  # in the order of `vocap allocate`, on which ties depend
        "shown": sorted((one["code"] for one in languages), key=results.rank),
        "packed": packed,
        "present": [_present(entry, said) for entry, said in present],
    }


def _present(entry: AllocationResults, settings: Settings) -> dict[str, Any]:
    """An allocation of this run, which the explorer starts from or compares with."""
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
