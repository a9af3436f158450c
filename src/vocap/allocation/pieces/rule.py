"""The rule `pieces`: from curves and texts to a `Solution`, and the languages' models on its pieces."""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from sentencepiece import SentencePieceProcessor

from vocap.allocation.inputs import Inputs, LanguageInput, uneven_lines
from vocap.allocation.pieces.descent import Trunk, branch, grow_trunk, settle
from vocap.allocation.pieces.language import TEXTS, Unigram
from vocap.allocation.pieces.store import LanguageStore
from vocap.allocation.pieces.trunk_file import read_trunk
from vocap.allocation.settings import Allocation
from vocap.allocation.solution import (
    ROUNDING,
    Assessment,
    Row,
    Solution,
    assess,
    choose,
    pose,
    way_percent,
    weigh,
)
from vocap.errors import UsageError, VocapError
from vocap.files.atomic import scratch_directory
from vocap.tables.sampling_probabilities import fair_factors, reference_lines
from vocap.text_files.lines import read_blocks
from vocap.tokenizer_files.encoders import SentencePieceEncoder
from vocap.unigram.alp import corpus_alp
from vocap.unigram.text_settings import XLM_R, TextSettings
from vocap.unigram.training_text import texts_of
from vocap.unigram.word_types import WordTypes, count_word_types

log = logging.getLogger(__name__)
ROUNDS = 2  # of descents with weights that follow tokens; measured in dev/measurements.md
MEMORY = 1 << 30  # bytes of the languages' states in memory; the others lie in files


@dataclass(frozen=True)
class Source:
    """The texts and tables of a descent.

    `corpora` holds {language}/train.txt, and heldout.txt where there is one; `scratch`: a path beside which a
    temporary folder is made; `text`: the settings with which the languages' models were trained; `parallel`:
    aligned development lines by language, empty where one has no translation.
    """

    inputs: Inputs
    corpora: Path
    coverage: float
    scratch: Path
    threads: int = 1
    text: TextSettings = XLM_R
    parallel: Mapping[str, Sequence[str]] = field(default_factory=dict)


def weights_of(inputs: Inputs, settings: Allocation) -> dict[str, float]:
    """The weight of a nat a line of each language."""
    _, weights = weigh(inputs, settings)
    return dict(zip((entry.language for entry in inputs.languages), weights.tolist(), strict=True))


def make_trunk(source: Source, settings: Allocation, weights: Mapping[str, float] | None = None) -> Trunk:
    """The part of the descent that does not depend on T; of the settings, alpha, beta, per and without count.

    `weights`: of a nat a line of each language, if not those of the settings.
    """
    texts = texts_of_corpora(source)
    weights = weights or weights_of(source.inputs, settings)
    _, _, required = pose(source.inputs, settings, source.coverage)
    with scratch_directory(source.scratch) as folder:
        languages = LanguageStore(folder, MEMORY)
        return grow_trunk(texts, weights, required, languages, source.threads)


def solver(
    source: Source, trunk_file: Path | None = None
) -> Callable[[Allocation], tuple[Solution, dict[str, Unigram]]]:
    """A function that solves for each settings; all share one trunk, read from a file or made at the first."""
    trunks: list[Trunk] = []

    def solve_one(settings: Allocation) -> tuple[Solution, dict[str, Unigram]]:
        if not trunks:
            weights = weights_of(source.inputs, settings)
            trunks.append(read_trunk(trunk_file, weights) if trunk_file else make_trunk(source, settings))
        return solve(source, settings, trunks[0])

    return solve_one


def solve(source: Source, settings: Allocation, trunk: Trunk) -> tuple[Solution, dict[str, Unigram]]:
    """Allocate by pieces: exactly T - 5 of them, or all that occur in best segmentations.

    With `token_fairness` P, `ROUNDS` more descents with trunks of their own, each with the weights of the one
    before times (tokens of its models on parallel text / mean)^P. Raises UsageError for a total below the
    characters that must be pieces, and for P without parallel text.
    """
    weights = weights_of(source.inputs, settings)
    power, warnings = settings.token_fairness, []
    if power:
        parallel = {code: reference_lines(source.parallel, code) for code in weights}
        absent = [code for code, (lines, _) in parallel.items() if not lines]
        if len(absent) == len(weights):
            raise UsageError("token_fairness follows parallel text, and no language has any; give its files")
        if absent:
            warnings.append(f"no parallel text, so no change of weight by token_fairness: {', '.join(absent)}")
    price, pieces, models = _descend(source, settings, trunk, weights)
    for number in range(1, ROUNDS + 1 if power else 1):
        weights = follow(weights, models, parallel, power)
        log.info("round %d of token_fairness %g", number, power)
        trunk = make_trunk(source, settings, weights)
        price, pieces, models = _descend(source, settings, trunk, weights)
    if source.text.byte_fallback or source.text.user_defined_symbols:
        models = {code: _measured(source.corpora / code, model) for code, model in models.items()}
    solution = _solution(source.inputs, settings, source.coverage, weights, price, pieces, models)
    return replace(solution, warnings=solution.warnings + warnings), models


def follow(
    weights: Mapping[str, float],
    models: Mapping[str, Unigram],
    parallel: Mapping[str, tuple[Sequence[str], int]],
    power: float,
) -> dict[str, float]:
    """The weights times (x / mean of x)^power, x = tokens of a language's own model a byte of the reference.

    `parallel`: a language's lines, and the bytes of those of the reference language; without lines it keeps its
    weight.
    """
    tokens = []
    for code in weights:
        encode = SentencePieceProcessor(model_proto=models[code].model).encode
        tokens.append(sum(map(len, encode(list(parallel[code][0])))))
    factors = fair_factors(tokens, [parallel[code][1] for code in weights], power)
    return {code: weight * float(factor) for (code, weight), factor in zip(weights.items(), factors, strict=True)}


def _descend(
    source: Source, settings: Allocation, trunk: Trunk, weights: Mapping[str, float]
) -> tuple[float, list[str], dict[str, Unigram]]:
    """The price of a piece, the pieces, and the languages' models on them."""
    capacity, required = settings.capacity, len(trunk.required)
    if required > capacity:
        raise UsageError(
            f"a total of {settings.total} holds {capacity} pieces beside {settings.reserved} special tokens and "
            f"other rows, but {required} characters must be pieces; use a total of at least "
            f"{required + settings.reserved}, or leave "
            "out languages"
        )
    texts = texts_of_corpora(source, heldout=True)
    with scratch_directory(source.scratch) as folder:
        languages = LanguageStore(folder, MEMORY)
        chosen = branch(trunk, capacity, texts, weights, languages, source.threads)
        pieces, models = settle(chosen, languages, source.coverage, source.threads, source.text)
    return chosen.price, pieces, models


def _measured(folder: Path, model: Unigram) -> Unigram:
    """The model with its ALP on all lines: the descent knows no bytes, and no lines with user-defined symbols."""
    encoder = SentencePieceEncoder(SentencePieceProcessor(model_proto=model.model))
    files = (folder / f"{name}.txt" for name in TEXTS)
    found = [corpus_alp(encoder, read_blocks(file)) for file in files if file.is_file()]
    alp = [result.alp for result in found if result]
    return replace(model, alp=alp, tokens_per_sentence=found[0].tokens_per_sentence)


def _solution(
    inputs: Inputs,
    settings: Allocation,
    coverage: float,
    weights: Mapping[str, float],
    price: float,
    pieces: list[str],
    models: Mapping[str, Unigram],
) -> Solution:
    problem, q, required = pose(inputs, settings, coverage)
    problem = problem.weighed(list(weights.values()), [own.value for own in problem.curves], settings.curve)
    bound, others = assess(problem, choose(problem, settings))
    objective = sum(own.weight * models[own.language].alp[0] for own in problem.curves)
    smallest = problem.objective([0] * len(problem.curves))
    vocabulary = _vocabulary(pieces, models)
    holders = np.zeros(len(pieces), np.int32)
    for model in models.values():
        holders[model.numbers] += 1
    rows = [
        Row(
            language=entry.language,
            n=entry.n,
            q=float(probability),
            weight=float(own.weight),
            size=models[entry.language].size,
            gain=price,
            own_pieces=int(np.count_nonzero(holders[models[entry.language].numbers] == 1)),
        )
        for entry, own, probability in zip(inputs.languages, problem.curves, q, strict=True)
    ]
    short = problem.capacity - len(vocabulary)
    warnings = [*inputs.warnings, *uneven_lines(inputs, settings)]
    if short:
        warnings.append(
            f"a total of {settings.total} is above all that the texts can use: {len(vocabulary)} pieces and "
            f"{settings.reserved} other rows; the vocabulary stays {short} short (more text fills it)"
        )
    return Solution(
        rows=rows,
        vocabulary=vocabulary,
        capacity=problem.capacity,
        required=len(required),
        required_added=sum(not held for held in vocabulary.values()),
        union=len(vocabulary),
        clipped=0,
        short=short,
        objective_smallest=smallest,
        bound=bound,
        chosen=Assessment(settings.rule, len(vocabulary), objective, _way_percent(objective, smallest, bound)),
        others=list(others.values()),
        exhausted=[],
        warnings=warnings,
        lines=sum(model.lines for model in models.values()),
    )


def _way_percent(objective: float, smallest: float, bound: float | None) -> float | None:
    """`solution.way_percent`, and above 100 for an objective above the bound on unions of whole lists."""
    if bound is None or objective <= bound or bound - smallest <= ROUNDING * abs(bound):
        return None if bound is None else way_percent(objective, smallest, bound)
    return 100 * (objective - smallest) / (bound - smallest)


def _vocabulary(pieces: list[str], models: Mapping[str, Unigram]) -> dict[str, list[str]]:
    """Each piece, sorted, with the languages whose model holds it."""
    languages: list[list[str]] = [[] for _ in pieces]
    for language, model in models.items():
        for number in model.numbers.tolist():
            languages[number].append(language)
    return dict(sorted(zip(pieces, languages, strict=True)))


def texts_of_corpora(source: Source, heldout: bool = False) -> dict[str, Callable[[], WordTypes]]:
    """For each language a function that counts `corpora/{language}/train.txt`, and `heldout.txt` if asked for.

    Raises VocapError, naming the file, where a training text is missing; the functions raise it for a text that
    has no character, and for one that is not that of the language's `characters.tsv`.
    """
    for entry in source.inputs.languages:
        path = source.corpora / entry.language / "train.txt"
        if not path.is_file():
            raise VocapError(
                f"{path}: no such file, but {entry.language} has a curve; put the training text there, or leave "
                f"the language out (--without {entry.language})"
            )
    return {entry.language: partial(_count, source, entry, heldout) for entry in source.inputs.languages}


def _count(source: Source, entry: LanguageInput, heldout: bool) -> WordTypes:
    folder = source.corpora / entry.language
    files = {"train": folder / "train.txt"}
    if heldout and (folder / "heldout.txt").is_file():
        files["heldout"] = folder / "heldout.txt"
    words = count_word_types(texts_of(files, source.text), source.coverage, settings=source.text)
    if not words.required:
        raise VocapError(f"{files['train']}: no text; put some there, or leave out {entry.language}")
    _check(files["train"], words, entry)
    return words


def _check(path: Path, words: WordTypes, entry: LanguageInput) -> None:
    """Compare the required characters with `characters.tsv`, which is made with the language's models."""
    if entry.characters is None:
        return
    lines = words.sentences["train"]
    for character, count in words.required.items():
        expected = entry.characters.get(character, 0.0) * lines
        if not math.isclose(count, expected, rel_tol=1e-9):
            raise VocapError(
                f"{path}: not the text of the language's vocabularies: it holds {character!r} {count:,} times, "
                f"where characters.tsv has {expected:,.0f}; train the vocabularies again, or restore the old text"
            )
