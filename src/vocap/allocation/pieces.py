"""The rule `pieces`, from curves, texts and a trunk to a `Solution`, and the languages'
models on its pieces.

The rule maximises Equation 2, sum_i q_i^beta ALP_i(V), over one set V of T - 5 pieces
that all languages share.

    trunk:  tokens of byte-pair encoding of the texts of all languages, each line as often
            as its language weighs, in the order of merges; they serve every T
    branch: of them the first 1.5 for each piece are offered to every language whose text
            holds them; EM; rounds that prune a tenth, and end at exactly T - 5 pieces

Candidates by likelihood, such as seeds of SentencePiece, would serve text of the same
domain better, and text of another one worse (docs/allocation.md).
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from sentencepiece import SentencePieceProcessor

from vocap.allocation import language_state as states
from vocap.allocation import solution as solutions
from vocap.allocation.inputs import Inputs, LanguageInput, uneven_lines
from vocap.allocation.settings import LARGEST, Allocation
from vocap.bpe.training import Execution, piece_candidates
from vocap.errors import UsageError, VocapError, log
from vocap.files.io import replacing, scratch_directory
from vocap.files.large_arrays import is_large
from vocap.files.written import written_by
from vocap.progress import Steps
from vocap.tables.sampling_probabilities import fair_factors
from vocap.text_files.named_texts import reference_lines
from vocap.text_files.text import Text, Texts, language_text, text_blocks
from vocap.tokenizer_files.encoders import SentencePieceEncoder
from vocap.unigram import descent
from vocap.unigram.alp import corpus_alp
from vocap.unigram.counts import Counts
from vocap.unigram.em import approximate_counts
from vocap.unigram.text_settings import XLM_R, TextSettings
from vocap.unigram.word_types import WordTypes, load_word_types, trained_types

OFFERED = 1.5  # tokens offered for each piece of T; measured in dev/measurements.md
ROUNDS = 2  # of descents with weights that follow tokens
MEMORY = 1 << 28  # bytes of the languages' states in memory; the others lie in files
BRANCH_RATE = 0.9  # smaller steps near T
CORE = 0.5  # of T, if the settings do not say; measured in dev/measurements.md
OFFER_ROUNDS = 3  # of EM after an offer of pieces

Readers = Mapping[str, Callable[[], WordTypes]]  # of a language's word types


@dataclass(frozen=True)
class Trunk:
    """The part of a descent that does not depend on T.

    `tokens`: of byte-pair encoding of the texts of all languages, in the order of
    merges, enough for every T up to `largest`; `required`: characters that are always
    pieces.
    """

    tokens: list[str]
    required: frozenset[str]
    largest: int = LARGEST

    def offer_for(self, capacity: int) -> tuple[list[str], NDArray[np.float32]]:
        """The pieces with which the branch to `capacity` pieces begins, and their scores float32.

        First the characters, then the tokens; the score of the n-th is -log n, until EM
        has counted it.
        """
        beside = max(0, capacity - len(self.required))
        pieces = [*sorted(self.required), *self.tokens[: int(OFFERED * beside)]]
        return pieces, -np.log(np.arange(1, len(pieces) + 1)).astype(np.float32)


def grow_trunk(
    texts: Readers,
    weights: Mapping[str, float],
    required: Iterable[str],
    threads: int = 1,
    largest: int = LARGEST,
    memory: int | None = None,
) -> Trunk:
    """The trunk of all languages, for every T up to `largest`.

    `texts`: word types by language; `required`: characters that are always pieces,
    beside those of the languages. `memory`: MB, above which distinct words of one
    language wait in files for those of the others, and merges keep fewer places.
    """
    always = set(required)
    parts: list[WordTypes] = []

    def trained(count: Callable[[], WordTypes]) -> WordTypes:
        words = count()
        return trained_types(words, is_large(len(texts) * words.text.nbytes, memory))

    with Steps("trunk", len(texts) + 1) as steps:
        for _, words in states.in_order(texts, trained, threads):
            parts.append(words)
            always.update(words.required)
            steps.advance()
        tokens = piece_candidates(
            parts, list(weights.values()), int(OFFERED * largest), Execution(memory)
        )
        steps.advance()
    return Trunk(tokens, frozenset(always), largest)


def write_trunk(path: str | Path, trunk: Trunk, weights: Mapping[str, float]) -> None:
    """Write a trunk and the `weights` of its languages, whole or not at all; each T can
    be a job of its own.
    """
    with replacing(path, "wb") as file:
        np.savez(
            file,
            required=_code_points(sorted(trunk.required)),
            tokens=_code_points(trunk.tokens),
            largest=np.int64(trunk.largest),
            languages=np.array(list(weights)),
            weights=np.array(list(weights.values()), np.float64),
        )


def read_trunk(path: str | Path, weights: Mapping[str, float]) -> Trunk:
    """Read a trunk; raises VocapError for one of other languages or weights."""
    with written_by("trunk", path), np.load(path) as held:
        made_for = dict(zip(held["languages"].tolist(), held["weights"].tolist(), strict=True))
        required = frozenset(_strings(held["required"]))
        trunk = Trunk(_strings(held["tokens"]), required, int(held["largest"]))
    if made_for != dict(weights):
        raise VocapError(
            f"{path}: a trunk of other languages or weights than this allocation; make it again "
            "(vocap trunk)"
        )
    return trunk


def _code_points(pieces: list[str]) -> NDArray[np.int32]:
    """Pieces as code points, int32, with a 0 between them: no piece holds one."""
    return np.frombuffer("\0".join(pieces).encode("utf-32-le"), np.int32)


def _strings(points: NDArray[np.int32]) -> list[str]:
    text = points.tobytes().decode("utf-32-le")
    return text.split("\0") if text else []


@dataclass(frozen=True)
class DescentSource:
    """The texts and tables of a descent.

    `corpora` holds {language}/train.txt, and heldout.txt where there is one; `scratch`:
    a path beside which a temporary folder is made, if not in the system's; `text`: the
    settings with which the languages' models were trained; `parallel`: aligned
    development lines by language, empty where one has no translation; `counts`: files
    of counts of the texts, as a path with {lang}; `memory`: as of `grow_trunk`, and of
    `build_lattice`.
    """

    inputs: Inputs
    corpora: Texts
    coverage: float
    scratch: str | Path | None
    threads: int = 1
    text: TextSettings = XLM_R
    parallel: Mapping[str, Sequence[str]] = field(default_factory=dict)
    counts: str | Path | None = None
    memory: int | None = None

    def texts_of(self, language: str, heldout: bool = True) -> dict[str, Text]:
        """The training text of a language, and its held-out text where there is one and
        it is asked for.
        """
        found = {"train": language_text(self.corpora, language)}
        if heldout and not isinstance(self.corpora, Mapping):
            path = Path(self.corpora, language, "heldout.txt")
            found |= {"heldout": path} if path.is_file() else {}
        return found

    def name_of(self, language: str) -> str:
        """The training text of a language in messages."""
        text = language_text(self.corpora, language)
        return str(text) if isinstance(text, str | Path) else f"the text of {language}"


def weights_of(inputs: Inputs, settings: Allocation) -> dict[str, float]:
    """The weight of a nat a line of each language."""
    _, weights = solutions.weigh_nats(inputs, settings)
    return dict(zip((entry.language for entry in inputs.languages), weights.tolist(), strict=True))


def make_trunk(
    source: DescentSource,
    settings: Allocation,
    weights: Mapping[str, float] | None = None,
    largest: int = LARGEST,
) -> Trunk:
    """The part of the descent that T up to `largest` share; of the settings, alpha,
    beta, per and without count.

    `weights`: of a nat a line of each language, if not those of the settings.
    """
    texts = texts_of_corpora(source)
    weights = weights or weights_of(source.inputs, settings)
    q, _ = solutions.weigh_nats(source.inputs, settings)
    required = solutions.required_in_inputs(source.inputs, q, source.coverage)
    return grow_trunk(texts, weights, required, source.threads, largest, source.memory)


def solver(
    source: DescentSource, trunk_file: str | Path | None = None
) -> Callable[[Allocation], tuple[solutions.Solution, dict[str, states.LanguageUnigram]]]:
    """A function that solves for each settings; all share one trunk, read from a file
    or made at the first.
    """
    trunks: list[Trunk] = []

    def solve_one(
        settings: Allocation,
    ) -> tuple[solutions.Solution, dict[str, states.LanguageUnigram]]:
        if not trunks:
            weights = weights_of(source.inputs, settings)
            trunks.append(
                read_trunk(trunk_file, weights) if trunk_file else make_trunk(source, settings)
            )
        if settings.total > trunks[0].largest:
            raise UsageError(
                f"{trunk_file}: a trunk for totals up to {trunks[0].largest}, not "
                f"{settings.total}; make it again with: vocap trunk --largest {settings.total}"
            )
        return solve(source, settings, trunks[0])

    return solve_one


def solve(
    source: DescentSource, settings: Allocation, trunk: Trunk
) -> tuple[solutions.Solution, dict[str, states.LanguageUnigram]]:
    """Allocate by pieces: exactly T - 5 of them, or all that occur in best segmentations.

    Returns what the files say, and the languages' models. Raises UsageError as
    `descend_to_total`.
    """
    found = descend_to_total(source, settings, trunk)
    return _solution(source, settings, found), found.models


@dataclass(frozen=True)
class Descent:
    """The end of a descent: the price of a piece, the pieces, the languages' models on
    them, the weight of a nat a line of each language, and warnings.
    """

    price: float
    pieces: list[str]
    models: dict[str, states.LanguageUnigram]
    weights: Mapping[str, float]
    warnings: list[str]

    @property
    def owners(self) -> dict[str, list[str]]:
        """The languages of each piece, sorted by piece."""
        holders: list[list[str]] = [[] for _ in self.pieces]
        for language, model in self.models.items():
            for number in model.numbers.tolist():
                holders[number].append(language)
        return dict(sorted(zip(self.pieces, holders, strict=True)))

    @property
    def lines(self) -> int:
        """The training lines of all languages."""
        return sum(model.lines for model in self.models.values())


def descend_to_total(source: DescentSource, settings: Allocation, trunk: Trunk) -> Descent:
    """Choose the pieces of one T, and train the languages' models on them.

    With `token_fairness` P, `ROUNDS` more descents with trunks of their own, each with
    the weights of the one before times (tokens of its models on parallel text /
    mean)^P. Raises UsageError for a total below the characters that must be pieces, and
    for P without parallel text.
    """
    weights = weights_of(source.inputs, settings)
    power, warnings = settings.token_fairness, []
    if power:
        parallel = {code: reference_lines(source.parallel, code) for code in weights}
        absent = [code for code, (lines, _) in parallel.items() if not lines]
        if len(absent) == len(weights):
            raise UsageError(
                "token_fairness follows parallel text, and no language has any; give its files"
            )
        if absent:
            warnings.append(
                f"no parallel text, so no change of weight by token_fairness: {', '.join(absent)}"
            )
    price, pieces, models = _descend(source, settings, trunk, weights)
    for number in range(1, ROUNDS + 1 if power else 1):
        weights = follow(weights, models, parallel, power)
        log.info("round %d of token_fairness %g", number, power)
        trunk = make_trunk(source, settings, weights)
        price, pieces, models = _descend(source, settings, trunk, weights)
    if source.text.byte_fallback or source.text.user_defined_symbols:
        models = {code: _measured(source, code, model) for code, model in models.items()}
    return Descent(price, pieces, models, weights, warnings)


def follow(
    weights: Mapping[str, float],
    models: Mapping[str, states.LanguageUnigram],
    parallel: Mapping[str, tuple[Sequence[str], int]],
    power: float,
) -> dict[str, float]:
    """The weights times (x / mean of x)^power, x = tokens of a language's own model a
    byte of the reference.

    `parallel`: a language's lines, and the bytes of those of the reference language;
    without lines it keeps its weight.
    """
    tokens = []
    for code in weights:
        encode = SentencePieceProcessor(model_proto=models[code].model).encode
        tokens.append(sum(map(len, encode(list(parallel[code][0])))))
    factors = fair_factors(tokens, [parallel[code][1] for code in weights], power)
    return {
        code: weight * float(factor)
        for (code, weight), factor in zip(weights.items(), factors, strict=True)
    }


def _descend(
    source: DescentSource, settings: Allocation, trunk: Trunk, weights: Mapping[str, float]
) -> tuple[float, list[str], dict[str, states.LanguageUnigram]]:
    """The price of a piece, the pieces, and the languages' models on them."""
    capacity, required = settings.capacity, len(trunk.required)
    if required > capacity:
        raise UsageError(
            f"a total of {settings.total} holds {capacity} pieces beside {settings.reserved} "
            f"special tokens and other rows, but {required} characters must be pieces; use a total "
            f"of at least {required + settings.reserved}, or leave out languages"
        )
    texts = texts_of_corpora(source, heldout=True)
    core = CORE if settings.core is None else settings.core
    scratch = TemporaryDirectory() if source.scratch is None else scratch_directory(source.scratch)
    with scratch as folder:
        languages = states.LanguageStore(Path(folder), MEMORY)
        chosen = branch(
            trunk, capacity, core, texts, weights, languages, source.threads, source.memory
        )
        pieces, models = settle(
            chosen, languages, source.coverage, source.threads, source.text, source.memory
        )
    return chosen.price, pieces, models


def _measured(
    source: DescentSource, language: str, model: states.LanguageUnigram
) -> states.LanguageUnigram:
    """The model with its ALP on all lines: the descent knows no bytes, and no lines
    with user-defined symbols.
    """
    encoder = SentencePieceEncoder(SentencePieceProcessor(model_proto=model.model))
    results = (
        corpus_alp(encoder, text_blocks(text)()) for text in source.texts_of(language).values()
    )
    found = list(filter(None, results))
    alp = [result.alp for result in found]
    return replace(model, alp=alp, tokens_per_sentence=found[0].tokens_per_sentence)


def _solution(source: DescentSource, settings: Allocation, found: Descent) -> solutions.Solution:
    """The content of the files: rows, vocabulary, and the comparison with the rules
    of sizes.
    """
    pieces, models = found.pieces, found.models
    # the problem of the rules that choose sizes, with the same weights
    problem, q, required = solutions.pose(source.inputs, settings, source.coverage)
    problem = problem.weighed(list(found.weights.values()), [own.value for own in problem.curves])
    _, others = solutions.assess(problem, settings)
    objective = sum(own.weight * models[own.language].alp[0] for own in problem.curves)

    vocabulary = found.owners
    sizes = [models[entry.language].size for entry in source.inputs.languages]
    short = problem.capacity - len(pieces)
    warnings = [*source.inputs.warnings, *uneven_lines(source.inputs, settings)]
    if short:
        warnings.append(
            f"a total of {settings.total} is above all that the texts can use: {len(pieces)} "
            f"pieces and {settings.reserved} other rows; the vocabulary stays {short} short (more "
            "text fills it)"
        )
    return solutions.Solution(
        rows=solutions.make_rows(
            source.inputs, problem, q, vocabulary, sizes, [found.price] * len(sizes)
        ),
        vocabulary=vocabulary,
        capacity=problem.capacity,
        required=len(required),
        required_added=sum(not held for held in vocabulary.values()),
        union=len(pieces),
        clipped=0,
        short=short,
        objective_smallest=problem.objective([0] * len(problem.curves)),
        chosen=solutions.Assessment(settings.rule, len(pieces), objective),
        others=list(others.values()),
        exhausted=[],
        warnings=warnings + found.warnings,
        lines=found.lines,
    )


def texts_of_corpora(
    source: DescentSource, heldout: bool = False
) -> dict[str, Callable[[], WordTypes]]:
    """For each language a function that counts `corpora/{language}/train.txt`, and
    `heldout.txt` if asked for.

    Raises VocapError, naming the file, where a training text is missing; the functions
    raise it for a text that has no character, and for one that is not that of the
    language's `characters.tsv`.
    """
    for entry in source.inputs.languages:
        text = language_text(source.corpora, entry.language)
        if isinstance(text, str | Path) and not Path(text).is_file():
            raise VocapError(
                f"{text}: no such file, but {entry.language} has a curve; put the training text "
                f"there, or name {entry.language} under `without`"
            )
    return {
        entry.language: partial(_count, source, entry, heldout) for entry in source.inputs.languages
    }


def _count(source: DescentSource, entry: LanguageInput, heldout: bool) -> WordTypes:
    texts, counts = source.texts_of(entry.language, heldout), None
    if source.counts is not None:
        counts = Counts.open(source.counts, texts, entry.language)
    blocks = {part: text_blocks(text) for part, text in texts.items()}
    words = load_word_types(blocks, source.coverage, source.text, counts, source.memory)
    name = source.name_of(entry.language)
    if not words.required:
        raise VocapError(f"{name}: no text; put some there, or leave out {entry.language}")
    if not entry.characters:
        return words
    # the languages' tables tell whether they come from this text, read with these
    # settings
    for character, count in words.required.items():
        expected = entry.characters.get(character, 0.0) * words.sentences["train"]
        if not math.isclose(count, expected, rel_tol=1e-9):
            raise VocapError(
                f"{name}: not the text of the language's vocabularies: it holds {character!r} "
                f"{count:,} times, characters.tsv {expected:,.0f}; train them again, or give "
                "the text options of their training"
            )
    return words


@dataclass(frozen=True)
class Chosen:
    """The result of a branch: `kept` bool of its `pieces`, `required` bool, and the
    last round that was pruned.
    """

    pieces: list[str]
    required: NDArray[np.bool_]
    kept: NDArray[np.bool_]
    last: states.Round

    @property
    def price(self) -> float:
        """Weighted loss of likelihood, nats a line, of the 1,000 kept pieces of the
        smallest losses.
        """
        losses = np.sort(self.last.loss[self.kept & ~self.required])
        return float(losses[:1000].sum() * (1000 / max(1, min(1000, len(losses)))))


def branch(
    trunk: Trunk,
    capacity: int,
    core: float,
    texts: Readers,
    weights: Mapping[str, float],
    languages: states.LanguageStore,
    threads: int = 1,
    memory: int | None = None,
) -> Chosen:
    """The `capacity` pieces of one T, or all that the texts can use; `languages` holds
    the states meanwhile, lattices in files as by `build_lattice`.

    Of the first `core` x `capacity` tokens of byte-pair encoding, or as many as fit
    beside the required pieces (at most `capacity`), pruning keeps all that EM uses in
    some language.
    """
    pieces, scores = trunk.offer_for(capacity)
    required = np.array([piece in trunk.required for piece in pieces])
    offer = states.make_offer(pieces, scores)
    for code, language in states.in_order(
        texts, lambda count: states.with_pieces(count(), offer, memory), threads
    ):
        languages.put(code, language)
    now = last = states.play_round(
        languages,
        weights,
        required,
        lambda language: states.estimate(language, OFFER_ROUNDS),
        threads,
    )
    beside = capacity - int(np.count_nonzero(required))
    first = set(trunk.tokens[: min(int(core * capacity), beside)])
    required = required | (now.used & np.array([piece in first for piece in pieces]))
    while now.size > capacity:
        last, size = now, max(capacity, int(BRANCH_RATE * now.size))
        if size == capacity:
            break
        # a piece stays in a language until all lose it, so that each chosen one is a
        # piece of some model
        kept = last.best(required, size)
        now = states.play_round(
            languages, weights, required, partial(states.prune, kept=kept, dropping=False), threads
        )
    # Where best paths no longer use some of the pieces, the best of the pruned ones
    # take their place.
    return Chosen(
        pieces, required, last.best(required if now is last else now.used, capacity), last
    )


def settle(
    chosen: Chosen,
    languages: states.LanguageStore,
    coverage: float,
    threads: int = 1,
    settings: TextSettings = XLM_R,
    memory: int | None = None,
) -> tuple[list[str], dict[str, states.LanguageUnigram]]:
    """The chosen pieces, and the unigram model of each language on them, from the
    states that `branch` has left.

    All are offered to every language once more, as the tokenizer will have them all. A
    piece that EM then drops everywhere stays one of the languages that had it before.
    """
    numbers = np.flatnonzero(chosen.kept)
    offer = states.make_offer(
        [chosen.pieces[number] for number in numbers.tolist()], chosen.last.scores[numbers]
    )

    def again(
        code: str, language: states.LanguageState
    ) -> tuple[states.LanguageState, tuple[NDArray[np.int64], NDArray[np.int32]]]:
        had = np.searchsorted(numbers, states.only(language, chosen.kept).alive)
        language = states.estimate(
            states.offer_again(language, offer, memory), OFFER_ROUNDS - 1, dropping=False
        )
        # lattices keep the pieces that EM drops here, since some of them are forced
        # into the model
        state = descent.run_em(language.corpus, language.state, approximate_counts, last=True)
        language = replace(language, state=state)
        return language, (had, language.alive)

    held, had = offer.length == 1, {}
    for code, (before, alive) in languages.step(again, threads):
        held[alive] = True
        had[code] = before

    def finish(
        code: str, language: states.LanguageState
    ) -> tuple[states.LanguageState, states.LanguageUnigram]:
        return language, states.make_model(
            language, coverage, had[code][~held[had[code]]], settings
        )

    return list(offer.pieces), dict(languages.step(finish, threads))
