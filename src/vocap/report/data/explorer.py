"""The data of the page's explorer: curves, weights, the overlap of pieces, and the run's allocations."""

import base64
import contextlib
import itertools
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import ValidationError

from vocap.allocation.settings import Allocation as Settings
from vocap.allocation.solution import Inputs
from vocap.report.data.results import Results
from vocap.tables.curve import Point
from vocap.tables.piece_index import PieceIndex, hash_pieces
from vocap.unigram import COVERAGE

BUDGET = 4_000_000  # characters of the packed overlap
MOST_THINNED = 1024


@dataclass(frozen=True)
class Overlap:
    """C classes of pieces, and for each language the intervals of sizes in which it holds a class.

    `times` int64 [C] is the number of pieces of a class. The first `len(characters)` classes are these
    characters, by code point, one piece each. `entries[k]`: int64 arrays `class`, `start`, `stop` [E_k], by class:
    language k holds the class in the vocabularies of rank start to stop - 1.
    `thinned` is 1 where all pieces are counted; else of the pieces that languages share 1 in `thinned` was
    taken, by its hash, and counts as that many.
    """

    characters: str
    times: np.ndarray
    entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
    thinned: int = 1


def find_overlap(
    indexes: Sequence[PieceIndex], tables: Sequence[Mapping[str, float] | None], thinned: int = 1
) -> Overlap:
    """The classes of the pieces of these languages. `tables`: the characters of each language's text.

    `thinned` is a power of 2.
    """
    # numbers of all pieces, characters of the text among them, and each one's languages with intervals of sizes
    single = [_single_characters(index) for index in indexes]
    characters = sorted({*(c for table in tables if table for c in table), *(c for s in single for c in s)})
    parts = [hash_pieces(characters), *(index.hashes for index in indexes)]
    hashes, number = np.unique(np.concatenate(parts), return_inverse=True)
    bounds = np.cumsum([len(part) for part in parts])
    mine = [number[low:high] for low, high in itertools.pairwise(bounds)]
    slots = max(len(index.sizes) for index in indexes) + 1
    code = np.concatenate(
        [(k * slots + index.start.astype(np.int64)) * slots + index.stop for k, index in enumerate(indexes)]
    )
    piece = np.concatenate([ids[index.piece] for ids, index in zip(mine, indexes, strict=True)])
    # all pieces of one language are counted once; of shared ones 1 in `thinned`, that many times
    shared = np.bincount(np.concatenate(mine), minlength=len(hashes)) > 1  # an index has a piece once
    taken, times = ~shared | (hashes % np.uint64(thinned) == 0), np.where(shared, thinned, 1)
    is_character = np.zeros(len(hashes), bool)
    is_character[number[: len(characters)]] = True
    times[is_character], taken[is_character] = 1, True

    # pieces that the same languages hold at the same sizes are one class
    others = taken & ~is_character
    _, found = np.unique(_classify(piece, code, len(hashes))[others], return_inverse=True)
    classes = np.full(len(hashes), -1)
    classes[number[: len(characters)]] = np.arange(len(characters))
    classes[others] = len(characters) + found
    counts = np.bincount(classes[taken], times[taken]).astype(np.int64)

    # the intervals of each language, by class
    kept = taken[piece]
    language, interval = np.divmod(code[kept], slots**2)
    distinct = np.unique((language * len(counts) + classes[piece[kept]]) * slots**2 + interval)
    owner, interval = np.divmod(distinct, slots**2)
    entries = []
    for k in range(len(indexes)):
        low, high = np.searchsorted(owner, [k * len(counts), (k + 1) * len(counts)])
        held = owner[low:high] - k * len(counts)
        entries.append((held, *np.divmod(interval[low:high], slots)))
    return Overlap("".join(characters), counts, entries, thinned)


def _classify(piece: np.ndarray, code: np.ndarray, number: int) -> np.ndarray:
    """A class for each of `number` pieces [number]: pieces with the same codes have the same.

    The k-th pass distinguishes pieces by their k-th code, so that similar classes have near numbers.
    """
    span = int(code.max(initial=0)) + 1
    piece, code = np.divmod(np.sort(piece * span + code), span)
    first = np.searchsorted(piece, np.arange(number + 1))
    lengths, first = np.diff(first), first[:-1]
    classes = np.zeros(number, np.int64)
    rows, before, low, depth = np.flatnonzero(lengths > 0), 0, 1, 0
    while len(rows):
        _, found = np.unique((classes[rows] - before) * span + code[first[rows] + depth], return_inverse=True)
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


def pack(overlap: Overlap, tables: Sequence[Mapping[str, float] | None], stops: Sequence[int]) -> str:
    """Base64 of the zlib stream that `overlap.js` reads; `stops[k]` is the number of sizes of language k.

    The arrays follow one another, each as planes: all lowest bytes, then all second ones and so on, for most of
    the higher ones are zero. uint32 `times` [C]; of all entries, language after language, the distance in classes
    to the one before, then start, then sizes from stop to the end of the ladder; of all rows of the tables the
    character's number, and float64 its count per line.
    """
    number = {character: place for place, character in enumerate(overlap.characters)}
    rows = [(number[character], per_line) for table in tables for character, per_line in (table or {}).items()]
    arrays = [
        overlap.times,
        np.concatenate([np.diff(piece, prepend=0) for piece, _, _ in overlap.entries]),
        np.concatenate([start for _, start, _ in overlap.entries]),
        np.concatenate([last - stop for (_, _, stop), last in zip(overlap.entries, stops, strict=True)]),
        np.array([character for character, _ in rows]),
    ]
    planes = [_planes(array.astype("<u4")) for array in arrays]
    planes.append(_planes(np.array([per_line for _, per_line in rows], "<f8")))
    return base64.b64encode(zlib.compress(b"".join(planes), 9)).decode()


def _planes(array: np.ndarray) -> bytes:
    return array.view(np.uint8).reshape(len(array), array.itemsize).T.tobytes()


def make_explorer(results: Results, budget: int = BUDGET) -> dict[str, Any] | None:
    """The data of the explorer's script; None without languages or without an allocation to compare with.

    `thinned`: of the pieces that languages share, 1 in so many is counted.
    """
    inputs, present = results.inputs, present_choices(results)
    if not inputs.languages or not present:
        return None
    # the curves of each language, and the pieces that they share
    overlap, packed = _fitting(inputs, budget)
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
        "present": [
            {
                "name": one.name,
                "settings": {**one.settings.model_dump(), "coverage": one.coverage},
                "sizes": one.sizes,
                "measured": {
                    language: {"alp": model.alp, "heldout": model.alp_heldout, "tokens": model.tokens_per_sentence}
                    for language, model in one.models.items()
                },
            }
            for one in present
        ],
        "thinned": overlap.thinned,
    }


@dataclass(frozen=True)
class Present:
    """A finished allocation: its settings, and the size of each language."""

    name: str
    settings: Settings
    coverage: float
    sizes: dict[str, int | None]
    models: dict[str, Point]  # of a rule that makes models: each language's own, of no size of its curve


def present_choices(results: Results) -> list[Present]:
    """The allocations with known settings and sizes, in the order of the configuration, then any others."""
    found = []
    for name in results.configured("allocation", results.allocations):
        entry = results.allocations[name]
        settings = dict(entry.summary.get("settings") or {})
        coverage = settings.pop("coverage", COVERAGE)
        settings = {name: value for name, value in settings.items() if name in Settings.model_fields}
        with contextlib.suppress(ValidationError):  # of a rule that is not here
            sizes = {share.language: share.size for share in entry.shares}
            found.append(Present(name, Settings(**settings), coverage, sizes, entry.models))
    return [one for one in found if one.sizes]


def _fitting(inputs: Inputs, budget: int) -> tuple[Overlap, str]:
    """The overlap of all pieces if it fits the budget packed, else of as many shared ones as do."""
    indexes = [entry.index for entry in inputs.languages]
    tables = [entry.characters for entry in inputs.languages]
    thinned = 1
    while True:
        overlap = find_overlap(indexes, tables, thinned)
        packed = pack(overlap, tables, [len(index.sizes) for index in indexes])
        if len(packed) <= budget or thinned == MOST_THINNED:
            return overlap, packed
        thinned *= 2
