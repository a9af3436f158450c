"""Allocation as a function: from curves and weights to a merged vocabulary."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from vocap.allocation.inputs import Inputs, gather
from vocap.allocation.rules import RULES
from vocap.allocation.settings import LARGEST, Allocation, check_allocation, rows_beside_pieces
from vocap.allocation.solution import (
    AllocationRow,
    Solution,
    allocation_summary,
    solve_by_sizes,
    write_allocation,
)
from vocap.errors import UsageError, log
from vocap.options import folders
from vocap.tables.allocated import Allocated
from vocap.tables.ladder import Vocabularies
from vocap.tables.sampling_probabilities import Weights, load_weights
from vocap.text_files.named_texts import read_development
from vocap.text_files.text import Texts
from vocap.tokenizer_files import SPECIALS
from vocap.unigram.text_settings import COVERAGE, XLM_R, TextSettings

if TYPE_CHECKING:
    import pandas as pd

    from vocap.allocation.language_state import LanguageUnigram

Solver = Callable[[Allocation], tuple[Solution, "Mapping[str, LanguageUnigram] | None"]]
Parallel = str | Mapping[str, Sequence[str]]


@dataclass(frozen=True, repr=False)
class AllocationResult:
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
    vocabularies: Vocabularies,
    weights: Weights,
    total: int,
    output: str | Path | None = ...,
    *,
    corpora: Texts | None = ...,
    alpha: float = ...,
    beta: float = ...,
    per: Literal["line", "character"] = ...,
    coverage: float = ...,
    without: Sequence[str] = ...,
    threads: int = ...,
    settings: TextSettings = ...,
    rule: str = ...,
    fairness: float = ...,
    trunk: str | Path | None = ...,
    core: float | None = ...,
    token_fairness: float = ...,
    development: Parallel | None = ...,
    other_rows: int | None = ...,
    special_tokens: int = ...,
) -> AllocationResult: ...


@overload
def allocate(
    vocabularies: Vocabularies,
    weights: Weights,
    total: Sequence[int],
    *args: Any,
    **options: Any,
) -> dict[int, AllocationResult]: ...


def allocate(  # noqa: PLR0913  # settings of the stage, each by its name
    vocabularies: Vocabularies,
    weights: Weights,
    total: int | Sequence[int],
    output: str | Path | None = None,
    *,
    corpora: Texts | None = None,
    alpha: float = 0.7,
    beta: float = 0.7,
    per: Literal["line", "character"] = "line",
    coverage: float = COVERAGE,
    without: Sequence[str] = (),
    threads: int = 1,
    settings: TextSettings = XLM_R,
    rule: str = "paper",
    fairness: float = 0.0,
    trunk: str | Path | None = None,
    core: float | None = None,
    token_fairness: float = 0.0,
    development: Parallel | None = None,
    other_rows: int | None = None,
    special_tokens: int = SPECIALS,
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
        T, the number of all ids of the tokenizer, special tokens included. Several are
        allowed.
    output
        Folder to write allocation.tsv, vocabulary.tsv and summary.json to. For several
        totals it must contain "{total}". Without it nothing is written.
    corpora
        The training text of each language, or a folder with LANG/train.txt, which rule
        pieces reads.
    alpha, beta
        Exponents of the shares q_i (Equation 3) and of their weights (Equation 2).
    per
        Whether gains are counted by "line" or by "character".
    coverage
        Share of the characters of the multilingual sample that must be pieces.
    without
        Languages to leave out.
    threads
        Number of languages that rule pieces works on at a time. The results do not
        depend on it.
    settings
        How text is read, with the settings that the ladders were trained with.
    rule
        "paper", "pieces", or one that was added to `vocap.allocation.rules.RULES`.
    fairness
        For rule paper, how much more a nat counts in a language far from its best ALP.
    trunk, core, token_fairness, development
        For rule pieces. `trunk` is the file of `vocap trunk`. `core` is the share of
        the pieces that are the first tokens of byte-pair encoding. `token_fairness` is
        the exponent of weights that follow tokens, and `development` the parallel text
        that these are counted on (a pattern with {lang}, or aligned lines by language).
    other_rows
        Number of ids that byte fallback and symbols take, by default that of
        `settings`.
    special_tokens
        Number of ids that special tokens take.

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
    totals = [total] if isinstance(total, int) else list(dict.fromkeys(total))
    if other_rows is None:
        other_rows = rows_beside_pieces(settings, rule)
    entries = [
        check_allocation(
            total=one,
            alpha=alpha,
            beta=beta,
            per=per,
            without=list(without),
            rule=rule,
            fairness=fairness,
            core=core,
            token_fairness=token_fairness,
            other_rows=other_rows,
            special_tokens=special_tokens,
        )
        for one in totals
    ]
    places = folders(output, totals)
    _check_rule(entries[0], corpora, trunk, development)
    inputs = gather(vocabularies, load_weights(weights), without)
    solve: Solver = partial(_solve_by_sizes, inputs, coverage)
    if corpora is not None:
        from vocap.allocation.pieces import DescentSource  # numba, which sizes do not need

        parallel = parallel_lines(development, [entry.language for entry in inputs.languages])
        source = DescentSource(inputs, corpora, coverage, output, threads, settings, parallel)
        module, function = RULES[rule].solver.split(":")
        solve = getattr(import_module(module), function)(source, trunk)
    results = {}
    for entry in entries:
        found = results[entry.total] = AllocationResult(entry, coverage, inputs, *solve(entry))
        for warning in found.solution.warnings:
            log.warning("warning: %s", warning)
        if places:
            found.write(places[entry.total])
    return results[total] if isinstance(total, int) else results


def _solve_by_sizes(inputs: Inputs, coverage: float, settings: Allocation) -> tuple[Solution, None]:
    """As the solver of a rule that reads text, which has models of its own."""
    return solve_by_sizes(inputs, settings, coverage), None


def _check_rule(
    settings: Allocation,
    corpora: Texts | None,
    trunk: str | Path | None,
    development: Parallel | None,
) -> None:
    """Raise UsageError for text that the rule needs and lacks, or does not read."""
    if settings.needs_text and corpora is None:
        raise UsageError(f"--rule {settings.rule} reads the languages' text; add --corpora DIR")
    if not settings.needs_text and (corpora or trunk):
        raise UsageError(f"--rule {settings.rule} reads no text; leave out --corpora and --trunk")
    if bool(settings.token_fairness) != bool(development):
        raise UsageError(
            "--token-fairness follows the parallel text of --development PATTERN; give both, or "
            "none"
        )


def parallel_lines(
    development: Parallel | None, languages: Sequence[str]
) -> Mapping[str, Sequence[str]]:
    """Aligned lines by language; none of a development that is not given."""
    if isinstance(development, str):
        return read_development(development, languages)
    return development or {}


def make_trunk_file(  # noqa: PLR0913  # as of `allocate`
    vocabularies: Vocabularies,
    weights: Weights,
    corpora: Texts,
    output: str | Path,
    *,
    largest: int = LARGEST,
    alpha: float = 0.7,
    beta: float = 0.7,
    per: Literal["line", "character"] = "line",
    coverage: float = COVERAGE,
    without: Sequence[str] = (),
    threads: int = 1,
    settings: TextSettings = XLM_R,
) -> None:
    """Write the part of rule pieces that all T up to `largest` share, for `allocate`;
    the other arguments as there.
    """
    from vocap.allocation.pieces import DescentSource, make_trunk, weights_of, write_trunk

    entry = check_allocation(
        total=SPECIALS + 1, rule="pieces", alpha=alpha, beta=beta, per=per, without=list(without)
    )
    inputs = gather(vocabularies, load_weights(weights), without)
    source = DescentSource(inputs, corpora, coverage, None, threads, settings)
    grown = make_trunk(source, entry, largest=largest)
    write_trunk(output, grown, weights_of(inputs, entry))
