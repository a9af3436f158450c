"""Allocation as a function: from curves and weights to a merged vocabulary."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from vocap.allocation.inputs import Inputs, gather
from vocap.allocation.rules import RULES
from vocap.allocation.settings import LARGEST, Allocation, AllocationRun
from vocap.allocation.solution import (
    AllocationRow,
    Solution,
    allocation_summary,
    solve_by_sizes,
    write_allocation,
)
from vocap.errors import SettingError, log
from vocap.files.paths import as_totals, folders
from vocap.result import Result
from vocap.section import ConfigSection
from vocap.tables.allocated import Allocated
from vocap.tables.ladder import Vocabularies
from vocap.tables.sampling_probabilities import Weights, load_weights
from vocap.text_files.named_texts import read_development
from vocap.text_files.text import Texts
from vocap.tokenizer_files import SPECIALS

if TYPE_CHECKING:
    import pandas as pd

    from vocap.allocation.language_state import LanguageUnigram

Solver = Callable[[Allocation], tuple[Solution, "Mapping[str, LanguageUnigram] | None"]]
Parallel = str | Mapping[str, Sequence[str]]


@dataclass(frozen=True, repr=False)
class AllocationResult(Result):
    """One merged vocabulary, of `settings.total` ids with its special tokens.

    `models`: of a rule that reads text, each language's own model on the pieces.
    """

    settings: Allocation
    coverage: float
    inputs: Inputs
    solution: Solution
    models: "Mapping[str, LanguageUnigram] | None" = None

    @property
    def languages(self) -> "pd.DataFrame":
        """A row a language, columns as those of allocation.tsv: the size of its vocabulary,
        its share q (Equation 3) and the weight of a nat a line (Equation 2).
        """
        from vocap.tables.frames import frame_of

        return frame_of(AllocationRow, self.solution.rows)

    @property
    def vocabulary(self) -> "pd.DataFrame":
        """A row a piece, columns as those of vocabulary.tsv; languages are separated by
        commas.
        """
        import pandas as pd

        rows = [(piece, ",".join(held)) for piece, held in self.solution.vocabulary.items()]
        return pd.DataFrame(rows, columns=["piece", "languages"])

    @property
    def summary(self) -> dict[str, Any]:
        """The content of summary.json."""
        return allocation_summary(self.inputs, self.settings, self.coverage, self.solution)

    @property
    def allocated(self) -> Allocated:
        """The pieces and the chosen sizes, for `fit`."""
        sizes = {row.language: row.size for row in self.solution.rows}
        owners, settings = self.solution.vocabulary, self.settings.model_dump()
        return Allocated(sizes, owners, settings, self.solution.lines)

    def write(self, folder: str | Path) -> None:
        """Write the files of `vocap allocate`."""
        write_allocation(
            folder, self.inputs, self.settings, self.coverage, self.solution, self.models
        )


@overload
def allocate(
    vocabularies: Vocabularies, weights: Weights, total: int | None = ..., *args: Any, **fields: Any
) -> AllocationResult: ...


@overload
def allocate(
    vocabularies: Vocabularies, weights: Weights, total: Sequence[int], *args: Any, **fields: Any
) -> dict[int, AllocationResult]: ...


def allocate(
    vocabularies: Vocabularies,
    weights: Weights,
    total: int | Sequence[int] | None = None,
    output: str | Path | None = None,
    *,
    corpora: Texts | None = None,
    trunk: str | Path | None = None,
    development: Parallel | None = None,
    settings: ConfigSection | None = None,
    **fields: object,
) -> AllocationResult | dict[int, AllocationResult]:
    """Divide the T ids of a tokenizer among languages (Algorithm 1, or another rule).

    Parameters
    ----------
    vocabularies
        The ladders of the languages, or a folder that holds LANG/curve.tsv,
        characters.tsv and models/SIZE.model.
    weights
        n_i of Equation 3: lines of text, or any other weight, by language or as a table
        with the columns language and n.
    total
        T, the number of all ids of the tokenizer, special tokens included; by default
        that of `settings`. Several are allowed.
    output
        Folder to write allocation.tsv, vocabulary.tsv and summary.json to. For several
        totals it must contain "{total}". Without it nothing is written.
    corpora
        The training text of each language, or a folder with LANG/train.txt, which rule
        pieces reads.
    trunk
        For rule pieces, the file of `vocap trunk`.
    development
        For rule pieces with token_fairness, the parallel text that tokens are counted on:
        a pattern with {lang}, or aligned lines by language.
    settings, **fields
        An `AllocationRun`, or `Allocation` of a configuration, and fields of
        `AllocationRun` in the place of its own: alpha, beta, per, coverage, without,
        threads, memory, text, rule, fairness, core, token_fairness, other_rows, special_tokens,
        counts.

    Returns
    -------
    AllocationResult, or one for each of several totals by total

    Raises
    ------
    UsageError
        For settings that do not fit each other, or a total that is too small.
    VocapError
        For a file that is missing or damaged.
    """
    totals = list(dict.fromkeys(as_totals(total, settings)))
    runs = [AllocationRun.given(settings, **fields, total=one) for one in totals]
    own, places = runs[0], folders(output, totals)
    _check_rule(own, corpora, trunk, development)
    inputs = gather(vocabularies, load_weights(weights), own.without)
    solve: Solver = partial(solve_by_sizes, inputs, own.coverage)
    if corpora is not None:
        from vocap.allocation.pieces import DescentSource  # numba, which sizes do not need

        parallel = parallel_lines(development, [entry.language for entry in inputs.languages])
        source = DescentSource(
            *(inputs, corpora, own.coverage, output, own.threads, own.text, parallel),
            *(own.counts, own.memory),
        )
        module, function = RULES[own.rule].solver.split(":")
        solve = getattr(import_module(module), function)(source, trunk)
    results = {}
    for run in runs:
        entry = as_allocation(run)
        found = results[entry.total] = AllocationResult(entry, own.coverage, inputs, *solve(entry))
        for warning in found.solution.warnings:
            log.warning("warning: %s", warning)
        if places:
            found.write(places[entry.total])
    return results if isinstance(total, Collection) else results[totals[0]]


def as_allocation(run: AllocationRun) -> Allocation:
    """The settings that results record: those of section allocation."""
    return Allocation(**run.model_dump(include=set(Allocation.model_fields)))


def _check_rule(
    settings: Allocation,
    corpora: Texts | None,
    trunk: str | Path | None,
    development: Parallel | None,
) -> None:
    """Raise UsageError for text that the rule needs and lacks, or does not read."""
    if settings.needs_text and corpora is None:
        raise SettingError("rule", f"{settings.rule} reads the languages' text; add corpora")
    if not settings.needs_text and (corpora or trunk):
        raise SettingError("rule", f"{settings.rule} reads no text; leave out corpora and trunk")
    if bool(settings.token_fairness) != bool(development):
        raise SettingError(
            "token_fairness", "it follows the parallel text of development; give both, or none"
        )


def parallel_lines(
    development: Parallel | None, languages: Sequence[str]
) -> Mapping[str, Sequence[str]]:
    """Aligned lines by language; none of a development that is not given."""
    if isinstance(development, str):
        return read_development(development, languages)
    return development or {}


def make_trunk_file(
    vocabularies: Vocabularies,
    weights: Weights,
    corpora: Texts,
    output: str | Path,
    *,
    largest: int = LARGEST,
    **fields: object,
) -> None:
    """Write the part of rule pieces that all T up to `largest` share, for `allocate`;
    the other arguments as there.
    """
    from vocap.allocation.pieces import DescentSource, make_trunk, weights_of, write_trunk

    own = AllocationRun.given(None, **fields, total=SPECIALS + 1, rule="pieces", other_rows=0)
    inputs = gather(vocabularies, load_weights(weights), own.without)
    source = DescentSource(
        *(inputs, corpora, own.coverage, None, own.threads, own.text),
        counts=own.counts,
        memory=own.memory,
    )
    grown = make_trunk(source, own, largest=largest)
    write_trunk(output, grown, weights_of(inputs, own))
