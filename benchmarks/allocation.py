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

from vocap.allocation.algorithm_1 import allocate_greedy, merge, upper_bound
from vocap.allocation.inputs import gather
from vocap.allocation.settings import Allocation
from vocap.allocation.solution import solve
from vocap.files.io import write_tsv
from vocap.tables import piece_index as piece_index
from vocap.tables.curve import COLUMNS
from vocap.tables.sampling_probabilities import sampling_probabilities

FAMILY = 8  # languages to a family
LEAVING = 0.003


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
    mark = piece_index.fingerprint(folder / "models", sizes)
    piece_index.save_index(
        piece_index.build(sizes, vocabularies).of(mark), folder / piece_index.NAME
    )


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
            print(f"  {100 * way:.2f} % of the way, union {paper.fitting_union:,}")
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
