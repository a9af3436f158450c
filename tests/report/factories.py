"""Results folders of many languages from those of the smoke configuration, and of a
small run with real allocations.
"""

import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.cases import edit, read_cases
from tests.made_text import write_lines
from tests.report.pages import one_row, write
from vocap.allocation.inputs import Inputs, LanguageInput
from vocap.allocation.settings import Allocation
from vocap.allocation.solution import Solution, solve, write_allocation
from vocap.files.io import read_object, read_tsv, write_json, write_tsv
from vocap.finetuning.tasks import TASKS
from vocap.languages import read_languages
from vocap.tables.bits_per_byte import bits_per_byte
from vocap.tables.curve import Point, read_characters, write_characters, write_points
from vocap.tables.line_bits import write_lengths
from vocap.tables.piece_index import NAME, build, save_index
from vocap.tokenizers.evaluation import PARALLEL_COLUMNS

CODES = ["de", "en", "fa", "hi", "ja", "no", "ru", "sw"]
STEP = 40
# the allocation that the page starts from
PRESENT = {"total": 900, "alpha": 0.7, "beta": 0.7, "rule": "paper"}
COVERAGE = 0.99


MADE = read_cases(__file__)
SMOKE = Path()  # results of the smoke configuration, which a fixture of this folder names
LANGUAGES = ["en", "de", "ru", "hi", "fa", "it", "sw", "km", "ja", "fi"]
MISSING = "sa"  # a language without text
MEASURED = ("description.json", "evaluation.tsv", "pieces.tsv", "roundtrip.tsv")


def scaled(cell: str, chance: random.Random) -> str:
    """A count up to ten times as large, another number up to a tenth larger."""
    if cell.isdigit():
        return str(round(int(cell) * (1 + 9 * chance.random())))
    if "." in cell and cell not in ("0.0", "1.0"):
        return str(float(cell) * (1 + chance.random() / 10))
    return cell


def spread(path: Path, codes: Sequence[str], seed: str = "") -> None:
    """Give a table of the smoke run a row for each language: German's and Russian's in
    turn, with numbers of their own.
    """
    table = read_languages()
    rows = [row for row in read_tsv(path) if row["language"] != "ja"]
    made = []
    for place, code in enumerate(codes):
        row = rows[place % 2]
        cells = {name: scaled(cell, random.Random(f"{seed} {code}")) for name, cell in row.items()}
        cells["language"] = code
        if "resource" in row:
            cells["resource"] = table[code].resource if code in table else "low"
        made.append(tuple(cells.values()))
    write_tsv(path, list(rows[0]), made)


def make_corpora(folder: Path, codes: Sequence[str]) -> None:
    """`corpora` of these languages, and of one more without text."""
    archives = folder / "corpora/starter/archives"
    archives.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("django.json"), archives)
    shutil.copy(SMOKE / "corpora/weights.tsv", folder / "corpora")
    spread(folder / "corpora/weights.tsv", codes)
    for code in dict.fromkeys((*codes, MISSING)):
        path = folder / "corpora" / code / "stats.json"
        path.parent.mkdir()
        shutil.copy(SMOKE / "corpora/de/stats.json", path)
        if code not in codes:
            gone = dict.fromkeys(("read", "kept", "train", "heldout", "bytes"), 0)
            edit(path, language=code, missing="no package has this language", **gone)
            continue
        n = int(one_row(folder / "corpora/weights.tsv", language=code)["n"])
        edit(path, language=code, kept=n, train=n - 62, n=n)


def make_curves(folder: Path, codes: Sequence[str], sizes: Sequence[int] = ()) -> None:
    """`vocabularies`: curves of the smoke run, that of Japanese its own; with `sizes`
    curves of so many points.
    """
    for place, code in enumerate(codes):
        if sizes:
            points = [Point(size, size, -1e5 / size - place, -1e5 / size, 30.25) for size in sizes]
            write_points(folder / "vocabularies" / code / "curve.tsv", points)
            continue
        source = "ja" if code == "ja" else ("de", "ru")[place % 2]
        path = folder / "vocabularies" / code / "curve.tsv"
        path.parent.mkdir(parents=True)
        shutil.copy(SMOKE / "vocabularies" / source / "curve.tsv", path)


def make_allocation(folder: Path, name: str, codes: Sequence[str], total: int) -> Path:
    """`allocation/NAME`; one whose name begins with p is by pieces."""
    out = folder / "allocation" / name
    kind = "small-pieces" if name.startswith("p") else "small"
    ignored = shutil.ignore_patterns("models")
    shutil.copytree(SMOKE / "allocation" / kind, out, ignore=ignored)
    spread(out / "allocation.tsv", codes)
    edit(out / "summary.json", languages=len(codes), **settings_of(out / "summary.json", total))
    for code in set(codes) - {"de", "ja", "ru"} if kind == "small-pieces" else ():
        shutil.copytree(out / "vocabularies/ru", out / "vocabularies" / code)
    return out


def settings_of(path: Path, total: int) -> dict:
    return {"settings": read_object(path)["settings"] | {"total": total}}


def make_tokenizer(folder: Path, name: str, codes: Sequence[str], total: int, **entries) -> Path:
    """`tokenizers/NAME` from the smoke run's of that kind (`vocap100k`: `vocap-small`), with
    these entries of its description.
    """
    source = SMOKE / "tokenizers" / f"{name.rstrip('0123456789k')}-small"
    if not source.is_dir():
        source = SMOKE / "tokenizers/joint-small"
    out = folder / "tokenizers" / name
    out.mkdir(parents=True)
    for file in MEASURED:
        shutil.copy(source / file, out)
        if file in ("evaluation.tsv", "roundtrip.tsv"):
            spread(out / file, codes, seed=name)
    description = out / "description.json"
    edit(description, total=total, **settings_of(description, total))
    edit(description, **entries)
    return out


def make_baseline(folder: Path, name: str, codes: Sequence[str]) -> None:
    """A tokenizer from elsewhere: evaluated, on parallel text too, and nothing else."""
    out = make_tokenizer(folder, name, codes, 250_002)
    for file in ("description.json", "pieces.tsv"):
        (out / file).unlink()
    rows = [
        (code, 1000, 30_000 + 1000 * place, 1 + place / 30, 30_000, 0, 0, 1 + place / 30)
        for place, code in enumerate(codes)
    ]
    columns = [name for name in PARALLEL_COLUMNS if not name.startswith(("bytes", "bigram"))]
    write_tsv(out / "parallel.tsv", columns, rows)


def make_byte_pair(
    folder: Path, name: str, kind: str, codes: Sequence[str], total: int, **settings
) -> Path:
    """A tokenizer of kind `bpe` or `parity-bpe`: without owners of pieces."""
    asked = {"total": total, "alpha": 0.7, "split": "words", **settings}
    out = make_tokenizer(folder, name, codes, total, kind=kind, settings=asked, merges=total - 261)
    pieces = [(f" piece{n}", n + 4, -n, "", "ok", "") for n in range(300)]
    columns = ("piece", "id", "score", "languages", "status", "shadowed_by")
    write_tsv(out / "pieces.tsv", columns, pieces)
    return out


def make_parallel(
    folder: Path, name: str, codes: list[str], seed: int, english: bool = True
) -> None:
    """parallel.tsv of one tokenizer: languages with gaps, and ratios where English is
    there.
    """
    rng = random.Random(seed)
    rows, per_line, bits = [], rng.uniform(20, 40), {}
    for place, code in enumerate(codes):
        lines = 1000 - 7 * (place % 3) * (code != "en")
        own = round(lines * per_line * (1 + 0.1 * (place % 2)))
        tokens = own if code == "en" else round(own * rng.uniform(1, 3))
        size = np.full(lines, 90.0 + place)
        bits["parallel", code] = np.stack([size * np.linspace(2 + seed / 10, 3, lines), size])
        # unknown tokens and bytes; in English the same for all
        unknown = (2, 9) if code == "en" else (place, 7 * place)
        more = int(size.sum()), bits_per_byte(bits["parallel", code]), *unknown
        rows.append(
            (
                code,
                lines,
                tokens,
                tokens / own if english else None,
                own if english else None,
                *more,
                (tokens - unknown[0] + unknown[1]) / (own + 7) if english else None,
            )
        )
    write_tsv(folder / "tokenizers" / name / "parallel.tsv", PARALLEL_COLUMNS, rows)
    write_lengths(folder / "tokenizers" / name / "bits.npz", bits)


def make_model(
    folder: Path,
    name: str,
    loss: dict,
    codes: list[str],
    seed: int = 9,
    tokenizer: str = "vocap100k",
    causal: bool = False,
) -> None:
    """metrics.jsonl and description.json of one model, its exact loss falling; of a
    causal one bits of lines.
    """
    rng = random.Random(f"{name} {seed}")
    out, rows = folder / "pretraining" / name, []
    for step in range(100, 600, 100):
        bits = 2 + 100 / step + rng.random() / 10
        scores = {"exact_loss": 3 * bits, "bits_per_byte": bits, **MADE["scores"]}
        row = {"step": step, "seconds": step * 0.6, "languages": dict.fromkeys(codes, scores)}
        rows.append(json.dumps(MADE["metrics"] | scores | row))
    write_lines(out / "metrics.jsonl", rows)
    facts = MADE["model"] | {"tokenizer": tokenizer, "settings": {"loss": loss}, "seed": seed}
    if causal:
        facts |= {"bits_per_byte": "code length of the text"}
        facts["settings"]["objective"] = "causal"
        bits = {code: [rng.uniform(100, 200) for _ in range(30)] for code in codes}
        lines = {("parallel", code): np.array([bits[code], [60] * 30]) for code in codes}
        write_lengths(out / "code-length.npz", lines)
    write_json(out / "description.json", facts)


def make_finetuned(
    folder: Path,
    name: str,
    tasks: dict[str, dict[str, float]],
    missing: list[str],
    seeds: int = 5,
    **said,
) -> None:
    """summary.tsv and selection.json of one model's tasks, in four of their languages,
    and average.json.
    """
    for task, means in tasks.items():
        out = folder / "finetuning" / name / task
        codes = said.get("languages") or list(TASKS[task].languages[:4])
        deviation = 0.5 if seeds > 1 else None
        apart = {code: place - (len(codes) - 1) / 2 for place, code in enumerate(codes)}
        rows = [
            (code, metric, mean + distance, deviation, seeds)
            for metric, mean in means.items()
            for code, distance in (apart | {"mean": 0}).items()
        ]
        write_tsv(out / "summary.tsv", ("language", "metric", "mean", "std", "seeds"), rows)
        of_task = {"task": task, "languages": codes}
        choice = MADE["selection"] | of_task | {"label": f"chosen on {task}"}
        choice |= {"development": choice["development"] | of_task, "seeds": list(range(seeds))}
        write_json(out / "selection.json", choice | said)
    content = MADE["average"] | {"tasks": tasks, "missing": missing}
    content["languages"] = dict.fromkeys(tasks, 4)
    write_json(folder / "finetuning" / name / "average.json", content)


def make_other_tokenizers(folder: Path, codes: Sequence[str]) -> None:
    """Beside `make_results`: an allocation by pieces at T = 100,000, its tokenizer, and
    a second JOINT.
    """
    make_allocation(folder, "p100k", codes, 100_000)
    make_tokenizer(folder, "pieces100k", codes, 100_000)
    text = {"sentences": 500_000, "lines": 500_000, "word_types": 81_234, "alpha": 0.49}
    make_tokenizer(folder, "beta100k", codes, 100_000, text=text)


def make_results(folder: Path, codes: Sequence[str] = LANGUAGES, sizes: Sequence[int] = ()) -> Path:
    """All four stages: two allocations, VOCAP and JOINT at two sizes, one tokenizer
    from elsewhere, a language without text.
    """
    make_corpora(folder, codes)
    make_curves(folder, codes, sizes)
    for total in (100, 200):
        make_allocation(folder, f"v{total}k", codes, 1000 * total)
        for kind in ("vocap", "joint"):
            make_tokenizer(folder, f"{kind}{total}k", codes, 1000 * total)
    make_baseline(folder, "xlmr", codes)
    return folder


def vocabularies(rng: random.Random, code: str, sizes: list[int]) -> list[list[str]]:
    """Almost nested sets: single characters, pieces of the language's own, pieces that
    several have.
    """
    letters = [chr(0x61 + k) for k in range(20)] + [
        chr(0x400 + CODES.index(code) * 16 + k) for k in range(10)
    ]
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
    """Write `corpora/weights.tsv` and `vocabularies/`; returns the inputs of `vocap
    allocate`.
    """
    rng = random.Random(seed)
    languages = []
    for code in codes:
        sizes = [STEP * (k + 1) for k in range(rng.randint(3, 9))]
        sets = vocabularies(rng, code, sizes)
        bend, reach = rng.uniform(40, 300), rng.uniform(20, 60)
        alp = [-50 - reach / (1 + size / bend) + rng.gauss(0, 0.05) for size in sizes]
        lines = rng.randrange(100, 5000)
        counts = {
            character: rng.randrange(1, 400) ** 2 for character in sets[0] if len(character) == 1
        }
        counts |= {chr(0x3041 + rng.randrange(60)): 1 for _ in range(5)} | {"\t": 3}
        target = folder / "vocabularies" / code
        points = [
            Point(size, size, a, a * 1.01 - size / 90, 9 - size / 99)
            for size, a in zip(sizes, alp, strict=True)
        ]
        write_points(target / "curve.tsv", [*points, Point(9999, status="too little text")])
        write_characters(target / "characters.tsv", counts, lines)
        index = build(sizes, sets)
        save_index(index, target / NAME)
        per_line, _ = read_characters(target / "characters.tsv")
        n = rng.choice([10, 300, 8000, 90_000]) + rng.randrange(100)
        languages.append(LanguageInput(code, n, index, np.array(alp), per_line))
    rows = [(entry.language, entry.n, "lines") for entry in reversed(languages)]
    write_tsv(folder / "corpora" / "weights.tsv", ("language", "n", "source"), rows)
    return Inputs(languages)


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


def sizes_of(inputs: Inputs, **settings) -> list[int]:
    """The sizes that `vocap allocate` chooses, at the coverage of these pages."""
    return [row.size for row in allocate(inputs, COVERAGE, **settings).rows]


def write_choice(
    folder: Path, name: str, inputs: Inputs, coverage: float = 0.9995, **settings
) -> Solution:
    """`results/allocation/NAME` of these settings."""
    solution = allocate(inputs, coverage, **settings)
    write_allocation(
        folder / "allocation" / name, inputs, Allocation(**settings), coverage, solution
    )
    return solution


def by_code(rows: list[list[str]]) -> list[list[str]]:
    """The explorer's rows, which are sorted by name, in the order of the codes."""
    codes = {language.name: code for code, language in read_languages().items()}
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    return sorted(rows, key=lambda row: codes[row[0]])


def make_page(folder: Path, seed: int = 1, codes: Sequence[str] = CODES) -> Inputs:
    """Write `results`, a run with the allocation `PRESENT`, and its page,
    `out/index.html`.
    """
    inputs = make_run(folder / "results", seed, codes)
    write_choice(folder / "results", "present", inputs, COVERAGE, **PRESENT)
    write(folder / "results", folder / "out")
    return inputs
