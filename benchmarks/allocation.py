"""How long does an allocation of the paper's size take? On made curves and pieces: real
ones take days to train.

    python benchmarks/allocation.py [--languages 86] [--sizes 50] [--total 500000]
        [--models 2] [--keep DIR]

Makes LANGUAGES curves of SIZES sizes (1K steps) whose piece sets look like real ones:
almost nested (0.3 % of a size's pieces are not in the next), languages of one family
sharing a quarter of their pieces, all of them a core. Writes curves and indexes, then
times loading them, both rules and the bound, at several T. `--models N` writes .model
files of N of the languages and times their first reading (which makes the index),
scaled up to all.

The bound is a number that no allocation by sizes exceeds. The optimality gap of an
allocation is 1 less the share of the distance from every language at its smallest size
to the bound that its objective covers.
"""

import argparse
import hashlib
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from vocap.allocation.algorithm_1 import Problem, allocate_greedy, merge
from vocap.allocation.inputs import gather
from vocap.allocation.settings import Allocation
from vocap.allocation.solution import solve
from vocap.files.io import write_tsv
from vocap.tables import piece_index
from vocap.tables.curve import COLUMNS
from vocap.tables.sampling_probabilities import sampling_probabilities

FAMILY = 8  # languages to a family
LEAVING = 0.003
ROUNDS = 60  # of the bound's subgradient method


def made_vocabularies(language: int, sizes: list[int], rng: np.random.Generator) -> list[list[str]]:
    """Pieces of each size: the core's, the family's and the language's own, frequent
    ones first.
    """
    largest = int(sizes[-1] * 1.2)
    family = language // FAMILY
    origin = rng.choice(3, size=largest, p=(0.08, 0.25, 0.67))
    number = np.where(origin == 0, rng.permutation(largest), np.arange(largest))
    names = np.array(["c", f"f{family}", f"l{language}"])
    pieces = [
        f"▁{names[kind]}{hashlib.md5(str(n).encode()).hexdigest()[: 3 + n % 6]}{n}"
        for kind, n in zip(origin.tolist(), number.tolist(), strict=True)
    ]
    pieces = np.array(list(dict.fromkeys(pieces)), object)
    vocabularies, present, gone = [], np.zeros(0, np.int64), np.zeros(0, np.int64)
    for size in sizes:
        leaves = rng.random(len(present)) < LEAVING
        gone = np.concatenate([gone, present[leaves]])
        stay = present[~leaves]
        candidates = np.setdiff1d(np.arange(len(pieces)), np.concatenate([stay, gone]))
        present = np.sort(np.concatenate([stay, candidates[: size - 3 - len(stay)]]))
        vocabularies.append(pieces[present].tolist())
    return vocabularies


def write_language(
    folder: Path,
    sizes: list[int],
    vocabularies: list[list[str]],
    rng: np.random.Generator,
    models: bool,
) -> None:
    """A curve like a real one (falling gains, a little noise), and the index or the
    models themselves.
    """
    scale, bend = rng.uniform(40, 120), rng.uniform(800, 6000)
    alp = -100 - scale * np.exp(-np.log1p(np.array(sizes) / bend)) + rng.normal(0, 0.01, len(sizes))
    rows = [
        (size, size, float(value), float(value), 30.0, "ok")
        for size, value in zip(sizes, alp, strict=True)
    ]
    write_tsv(folder / "curve.tsv", COLUMNS, rows)
    if models:
        write_models(folder, sizes, vocabularies)
        return
    for size in sizes:  # a few bytes each: the index answers for them
        path = folder / "models" / f"{size}.model"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"made" * 4096)
    piece_index.save_index(piece_index.build(sizes, vocabularies), folder / piece_index.NAME)


def write_models(folder: Path, sizes: list[int], vocabularies: list[list[str]]) -> None:
    """Files in SentencePiece's own layout."""
    from sentencepiece import sentencepiece_model_pb2

    (folder / "models").mkdir(exist_ok=True)
    for size, pieces in zip(sizes, vocabularies, strict=True):
        proto = sentencepiece_model_pb2.ModelProto()
        for piece, kind in (("<unk>", 2), ("<s>", 3), ("</s>", 3)):
            proto.pieces.add(piece=piece, score=0.0, type=kind)
        for number, piece in enumerate(pieces):
            proto.pieces.add(piece=piece, score=-3 - number / 1e4)
        proto.trainer_spec.model_type = 1
        proto.trainer_spec.vocab_size = size
        proto.normalizer_spec.name = "identity"
        (folder / "models" / f"{size}.model").write_bytes(proto.SerializeToString())


def made_scores(inputs, language: str, size: int) -> dict[str, float]:
    """Scores of one model, when clipping asks for them."""
    index = next(entry.index for entry in inputs.languages if entry.language == language)
    rank = int(np.searchsorted(index.sizes, size))
    members = index.piece[(index.start <= rank) & (rank < index.stop)]
    return {piece: -5 - k / 1e4 for k, piece in enumerate(index.strings(members))}


def timed(what: str, function, *arguments):
    """Run, print the seconds, return the result."""
    start = time.perf_counter()
    result = function(*arguments)
    print(f"{what:<58}{time.perf_counter() - start:8.2f} s", flush=True)
    return result


def upper_bound(problem: Problem, rounds: int = ROUNDS) -> float:
    """A number that no allocation's objective exceeds while its union is within the capacity.

    In the unit of `Problem.objective`. `rounds` of the subgradient method: more give a
    lower bound, in proportional time. Split the price of a piece among the languages
    whose ladder ever holds it: shares y_ip >= 0, their sum over i at most 1. For any
    choice, of nested vocabularies or not, the union has at least sum_i c_i(t_i) pieces,
    c_i(t) the sum of y_ip over the pieces of V_i(t). So for every lambda >= 0

        max F <= lambda T + sum_i max_t [w_i ALP_i(t) - lambda c_i(t)].

    Each language is maximised alone, the best lambda found by bisection; then the
    shares move toward the languages that hold a piece at their present best size. Every
    round gives a bound; the smallest is returned. ALP as measured, not its hull. Pieces
    that every choice holds (required characters, and those that a language has at all
    its sizes) count once and cost no language anything.
    """
    shares = _PriceShares(problem)
    best = np.inf
    for number in range(rounds):
        costs = shares.costs()
        value, ranks = shares.minimise(costs)
        best = min(best, value)
        shares.share(ranks, 0.5 / (1 + 0.3 * number))
    return best


class _PriceShares:
    """The arrays of all languages end to end, without the pieces that every choice
    holds.
    """

    def __init__(self, problem: Problem):
        curves = problem.curves
        width = max(len(own.sizes) for own in curves)
        self.slots = width + 1
        self.values = np.full((len(curves), width), -np.inf)
        for which, own in enumerate(curves):
            self.values[which, : len(own.sizes)] = own.weight * own.value
        # pieces that every choice holds
        always = np.zeros(problem.number, bool)
        always[problem.required] = True
        for own in curves:
            always[own.piece[(own.start == 0) & (own.stop == len(own.sizes))]] = True
        self.available = problem.capacity - int(np.count_nonzero(always))
        # pieces of a single language, and the intervals of shared ones
        owners = np.zeros(problem.number, np.int32)
        for own in curves:
            owners[own.ids] += 1
        alone = owners == 1
        # edges of c_i from pieces of a single language
        self.fixed = np.zeros((len(curves), self.slots))
        shared_piece, pair, start, stop, language = [], [], [], [], []
        pairs = 0
        for which, own in enumerate(curves):
            mine = alone[own.piece] & ~always[own.piece]
            self.fixed[which] += np.bincount(own.start[mine], minlength=self.slots)
            self.fixed[which] -= np.bincount(own.stop[mine], minlength=self.slots)
            priced = ~alone[own.ids] & ~always[own.ids]
            local = np.cumsum(priced) - 1 + pairs
            kept = priced[own.entry]
            pair.append(local[own.entry[kept]])
            start.append(own.start[kept].astype(np.int64))
            stop.append(own.stop[kept].astype(np.int64))
            language.append(np.full(len(pair[-1]), which))
            shared_piece.append(own.ids[priced])
            pairs += int(np.count_nonzero(priced))
        self.pair, self.start, self.stop = map(np.concatenate, (pair, start, stop))
        self.language = np.concatenate(language)
        _, self.piece = np.unique(np.concatenate(shared_piece), return_inverse=True)
        self.pieces = int(self.piece.max(initial=-1)) + 1
        self.from_slot = self.language * self.slots + self.start
        self.to_slot = self.language * self.slots + self.stop
        self.shares = 1 / np.bincount(self.piece, minlength=self.pieces)[self.piece]

    def costs(self) -> np.ndarray:
        """c_i(t) [languages, sizes]."""
        share = self.shares[self.pair]
        cells = self.fixed.size
        edges = np.bincount(self.from_slot, share, cells) - np.bincount(self.to_slot, share, cells)
        return np.cumsum(self.fixed + edges.reshape(self.fixed.shape), axis=1)[:, :-1]

    def minimise(self, costs: np.ndarray) -> tuple[float, np.ndarray]:
        """The smallest bound over lambda (the bound is convex in it), and the best
        ranks there.
        """
        rows = np.arange(len(costs))

        def at(multiplier: float) -> tuple[float, float, np.ndarray]:
            ranks = np.argmax(self.values - multiplier * costs, axis=1)
            spent = float(costs[rows, ranks].sum())
            value = float(self.values[rows, ranks].sum()) + multiplier * (self.available - spent)
            return value, spent, ranks

        low, high = 0.0, 1e-9
        value, spent, ranks = at(low)
        if spent <= self.available:
            return value, ranks
        while at(high)[1] > self.available and high < 1e18:
            low, high = high, high * 4
        best = min((at(low), at(high)), key=lambda result: result[0])
        for _ in range(60):
            middle = (low + high) / 2
            result = at(middle)
            if result[0] < best[0]:
                best = result
            if result[1] > self.available:
                low = middle
            else:
                high = middle
        return best[0], at(high)[2]

    def share(self, ranks: np.ndarray, step: float) -> None:
        """Move the shares of a piece toward the languages that hold it at these
        ranks.
        """
        rank = ranks[self.language]
        holds = np.zeros(len(self.shares))
        holds[self.pair[(self.start <= rank) & (rank < self.stop)]] = 1
        holders = np.bincount(self.piece, holds, self.pieces)
        rate = np.where(holders > 0, step, 0.0)  # without a holder the shares stay
        part = rate / np.maximum(holders, 1)
        self.shares += part[self.piece] * holds - rate[self.piece] * self.shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--languages", type=int, default=86)
    parser.add_argument("--sizes", type=int, default=50)
    parser.add_argument("--total", type=int, nargs="+", default=[250_000, 500_000])
    parser.add_argument(
        "--models",
        type=int,
        default=0,
        help="languages whose real .model files are written and read",
    )
    parser.add_argument("--keep", type=Path, help="work here, and use what is there already")
    options = parser.parse_args()
    sizes = [1000 * (step + 1) for step in range(options.sizes)]
    with tempfile.TemporaryDirectory() as temporary:
        root = options.keep or Path(temporary)
        made = root / "indexes"
        for language in range(options.languages):
            folder = made / f"l{language:02}"
            if not (folder / piece_index.NAME).exists():
                folder.mkdir(parents=True, exist_ok=True)
                rng = np.random.default_rng(language)
                write_language(
                    folder, sizes, made_vocabularies(language, sizes, rng), rng, models=False
                )
        n = {
            f"l{language:02}": float(10 ** (7 - 4 * language / 86))
            for language in range(options.languages)
        }
        print(f"{options.languages} languages x {options.sizes} sizes, {os.cpu_count()} cores")
        inputs = timed("load curves and indexes", gather, made, n)
        q = sampling_probabilities([entry.n for entry in inputs.languages], 0.7)
        rows = [
            [entry.language for entry in inputs.languages],
            [entry.index for entry in inputs.languages],
            [entry.alp for entry in inputs.languages],
            (q**0.7).tolist(),
        ]
        problem = timed("number the pieces alike", merge, *rows, [], 0)
        entries = sum(len(own.ids) for own in problem.curves)
        print(f"  {entries:,} pieces of languages, {problem.number:,} different ones")
        for total in options.total:
            problem = merge(*rows, [], total - 5)
            paper = timed(f"T = {total:,}: paper's rule", allocate_greedy, problem)
            bound = timed(f"T = {total:,}: bound", upper_bound, problem)
            smallest = problem.objective([0] * len(problem.curves))
            way = (problem.objective(paper.fitting) - smallest) / (bound - smallest)
            print(f"  optimality gap {100 * (1 - way):.2f} %, union {paper.fitting_union:,}")
            start = time.perf_counter()
            solve(
                gather(made, n),
                Allocation(total=total),
                lambda language, size: made_scores(inputs, language, size),
            )
            spent = time.perf_counter() - start
            print(f"T = {total:,}: `vocap allocate` but for writing{'':<12}{spent:8.2f} s")
        if options.models:
            read_models(root / "models", options, sizes)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1024 * 1024 if sys.platform == "darwin" else 1024
    )
    print(f"peak memory {peak:,.0f} MB")


def read_models(root: Path, options: argparse.Namespace, sizes: list[int]) -> None:
    """Time the first reading of real model files: parsed, indexed, the index
    written.
    """
    for language in range(options.models):
        folder = root / f"l{language:02}"
        if not (folder / "curve.tsv").exists():
            folder.mkdir(parents=True, exist_ok=True)
            rng = np.random.default_rng(language)
            write_language(folder, sizes, made_vocabularies(language, sizes, rng), rng, models=True)
        (folder / piece_index.NAME).unlink(missing_ok=True)
    start = time.perf_counter()
    for language in range(options.models):
        folder = root / f"l{language:02}"
        piece_index.load_or_build(folder / piece_index.NAME, folder / "models", sizes)
    spent = time.perf_counter() - start
    each = spent / (options.models * options.sizes)
    whole = each * options.languages * options.sizes
    print(
        f"first reading of {options.models * options.sizes} models: {spent:.1f} s, "
        f"{1000 * each:.0f} ms each; "
        f"all {options.languages * options.sizes} would take {whole:.0f} s"
    )


if __name__ == "__main__":
    main()
