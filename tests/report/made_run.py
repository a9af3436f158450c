"""A small run that allocations can be computed from: curves, indexes of pieces, characters, weights; its page."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.report.pages import write
from vocap.allocation.inputs import Inputs, LanguageInput
from vocap.allocation.results import write_allocation
from vocap.allocation.settings import Allocation
from vocap.allocation.solution import Solution, solve
from vocap.languages import read_languages
from vocap.tsv import write_tsv
from vocap.vocabularies.character_table import write_characters
from vocap.vocabularies.curve import COLUMNS
from vocap.vocabularies.index import NAME, build, save_index

CODES = ["de", "en", "fa", "hi", "ja", "no", "ru", "sw"]
STEP = 40
PRESENT = {"total": 900, "alpha": 0.7, "beta": 0.7, "rule": "paper"}  # the allocation that the page starts from
OPENED = {**PRESENT, "beta": 0.35}  # the explorer's first answer: an example that has gains and losses
COVERAGE = 0.99


def vocabularies(rng: random.Random, code: str, sizes: list[int]) -> list[list[str]]:
    """Almost nested sets: single characters, pieces of the language's own, pieces that several have."""
    letters = [chr(0x61 + k) for k in range(20)] + [chr(0x400 + CODES.index(code) * 16 + k) for k in range(10)]
    common = [f"c{k}" for k in range(200)]
    present = sorted(rng.sample(letters, 25))
    found = []
    for size in sizes:
        present = [piece for piece in present if len(piece) == 1 or rng.random() > 0.02]
        while len(present) < size:
            piece = rng.choice(common) if rng.random() < 0.45 else f"{code}{rng.randrange(4000)}"
            if piece not in present:
                present.append(piece)
        found.append(sorted(present))
    return found


def make_run(folder: Path, seed: int = 1, codes: Sequence[str] = CODES) -> Inputs:
    """Write `corpora/weights.tsv` and `vocabularies/`; what `vocap allocate` would read of them."""
    rng = random.Random(seed)
    languages = []
    for code in codes:
        sizes = [STEP * (k + 1) for k in range(rng.randint(3, 9))]
        sets = vocabularies(rng, code, sizes)
        bend, reach = rng.uniform(40, 300), rng.uniform(20, 60)
        alp = [-50 - reach / (1 + size / bend) + rng.gauss(0, 0.05) for size in sizes]
        lines = rng.randrange(100, 5000)
        counts = {character: rng.randrange(1, 400) ** 2 for character in sets[0] if len(character) == 1}
        counts |= {chr(0x3041 + rng.randrange(60)): 1 for _ in range(5)} | {"\t": 3}
        target = folder / "vocabularies" / code
        rows = [
            (size, size, a, a * 1.01 - size / 90, 9 - size / 99, "ok") for size, a in zip(sizes, alp, strict=True)
        ]
        write_tsv(target / "curve.tsv", COLUMNS, [*rows, (9999, None, None, None, None, "too little text")])
        write_characters(target / "characters.tsv", counts, lines)
        index = build(sizes, sets)
        save_index(index, target / NAME)
        per_line = {character: count / lines for character, count in sorted(counts.items(), key=_order)}
        n = rng.choice([10, 300, 8000, 90_000]) + rng.randrange(100)
        languages.append(LanguageInput(code, n, index, np.array(alp), per_line))
    rows = [(entry.language, entry.n, "lines") for entry in reversed(languages)]
    write_tsv(folder / "corpora" / "weights.tsv", ("language", "n", "source"), rows)
    return Inputs(languages)


def _order(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def allocate(inputs: Inputs, coverage: float = 0.9995, **settings) -> Solution:
    """As `vocap allocate` does."""
    chosen = Allocation(**settings)
    languages = [entry for entry in inputs.languages if entry.language not in chosen.without]
    indexes = {entry.language: entry.index for entry in languages}

    def scores(code: str, size: int) -> dict[str, float]:
        index = indexes[code]
        rank = index.sizes.tolist().index(size)
        held = index.strings(index.piece[(index.start <= rank) & (rank < index.stop)])
        return {piece: -float(place) for place, piece in enumerate(held)}

    return solve(Inputs(languages), chosen, scores, coverage)


def write_choice(folder: Path, name: str, inputs: Inputs, coverage: float = 0.9995, **settings) -> Solution:
    """`results/allocation/NAME` of these settings."""
    solution = allocate(inputs, coverage, **settings)
    write_allocation(folder / "allocation" / name, inputs, Allocation(**settings), coverage, solution)
    return solution


def by_code(rows: list[list[str]]) -> list[list[str]]:
    """The explorer's rows, which are sorted by name, in the order of the codes."""
    codes = {language.name: code for code, language in read_languages().items()}
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    return sorted(rows, key=lambda row: codes[row[0]])


def make_page(folder: Path, seed: int = 1, codes: Sequence[str] = CODES) -> Inputs:
    """Write `results`, a run with the allocation `PRESENT`, and its page, `out/index.html`."""
    inputs = make_run(folder / "results", seed, codes)
    write_choice(folder / "results", "present", inputs, COVERAGE, **PRESENT)
    write(folder / "results", folder / "out")
    return inputs
