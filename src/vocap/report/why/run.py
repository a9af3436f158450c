"""The results of a run as the answers of all its languages read them."""

import statistics
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, lru_cache
from math import nan
from pathlib import Path
from typing import Any

import pandas

from vocap.errors import UsageError, listed
from vocap.files.io import unescape
from vocap.files.written import written_by
from vocap.report.data.comparison import frame, front_page
from vocap.report.data.loading import load_results
from vocap.report.data.results import Results
from vocap.report.data.sentences import Cutter, cutter
from vocap.tables.frames import records

COSTS = ["ratio_to_english", "rank", "of", "tokens_per_sentence", "training_ids"]


@lru_cache(8)
def count_shared(path: Path) -> tuple[pandas.DataFrame, pandas.Series, pandas.Series]:
    """Pieces of a vocabulary.tsv: those that a language (column) shares with each (row), itself
    for all that it holds; by language those of it alone, and its single characters.
    """
    with written_by("allocate", path):
        rows = pandas.read_csv(path, sep="\t", quoting=3, dtype=str, keep_default_na=False)
        single = rows.piece.map(unescape).str.len() == 1
        found = rows.groupby(["languages", single]).size().reset_index(name="count")
    holds = found.languages.str.get_dummies(",")
    counts = holds.mul(found["count"], axis=0)
    return holds.T @ counts, counts[holds.sum(axis=1) == 1].sum(), counts[found.piece].sum()


@dataclass(frozen=True, eq=False)
class Run:
    """`folder` holds the results of the stages."""

    folder: Path
    results: Results

    @cached_property
    def front(self) -> list[str]:
        """The tokenizers of the first page of the report, the one to take first."""
        return front_page(self.results)

    @cached_property
    def cutters(self) -> dict[str, Cutter]:
        """Those of the front's tokenizers that are there."""
        made = [name for name in self.front if self.results.tokenizers[name].forms]
        return {name: cutter(self.folder / "tokenizers" / name) for name in made}

    @cached_property
    def costs(self) -> dict[tuple[str, str], dict[str, Any]]:
        """By tokenizer and language `COSTS`: tokens of parallel text over those of English, the
        rank of the language by them (1 is the cheapest) and the number of ranks, tokens of a
        held-out line, ids that training text uses.
        """
        rows = frame(self.results)
        ratios = rows.groupby("tokenizer").ratio_to_english
        rows = rows.assign(rank=ratios.rank(method="min"), of=ratios.transform("count"))
        found = zip(rows.tokenizer, rows.language, strict=True)
        return dict(zip(found, records(rows[COSTS]), strict=True))

    @cached_property
    def shares(self) -> dict[tuple[str, str], dict[str, Any]]:
        """By allocation and language the settings and the row of allocation.tsv, with what all
        rows of it have in common; `held`, `next_size` and `next_gain` are not known yet.
        """
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for name, entry in self.results.allocations.items():
            rows = entry.shares.reset_index().assign(
                **dict.fromkeys(("held", "next_size", "next_gain")),
                name=name,
                by_pieces=entry.text_rule is not None,
                last_gain=entry.shares.gain.min(),
                median_weight=entry.shares.weight.median(),
            )
            found |= {(name, row["language"]): entry.settings | row for row in records(rows)}
        return found

    @cached_property
    def median_end(self) -> float | None:
        """The size where the curve of the median language ends; None without a curve."""
        curves = map(self.results.trained, self.results.curves)
        ends = [points[-1].size for points in curves if points]
        return statistics.median(ends) if ends else None

    @cached_property
    def tokens(self) -> dict[tuple[str, int], float]:
        """By language and size of its curve the tokens of a training line."""
        return {
            (code, point.size): point.tokens_per_sentence or nan
            for code in self.results.curves
            for point in self.results.trained(code)
        }

    def heldout(self, code: str) -> Path:
        """The file of the held-out lines of a language."""
        return self.folder / "corpora" / code / "heldout.txt"


def open_run(
    folder: Path, table: Path | None = None, settings: dict[str, Any] | None = None
) -> Run:
    """Read the results of a run that its settings name, with the names of a table of languages.
    Raises UsageError for a folder that holds none.
    """
    results = load_results(folder, table, settings or {})
    if not results.languages:
        raise UsageError(
            f"{folder}: no results of a run (corpora/, vocabularies/, allocation/, tokenizers/); "
            "give the folder that the stages wrote to"
        )
    return Run(folder, results)


def find_language(run: Run, named: str) -> str:
    """The code of a language of the run by its code or name; UsageError with near ones."""
    languages = run.results.languages
    codes = {word.casefold(): code for code in languages for word in (languages[code].name, code)}
    if found := codes.get(named.casefold()):
        return found
    near = [codes[word] for word in get_close_matches(named.casefold(), codes, cutoff=0.5)]
    known = [f"{languages[code].name} ({code})" for code in dict.fromkeys(near or languages)]
    raise UsageError(f"{run.folder}: no language {named!r} in this run; it has {listed(known, 5)}")
