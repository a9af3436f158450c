"""Factories of results folders in the formats of the stages, and of a small run with
real allocations.
"""

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.report.pages import edit, write
from vocap.allocation.inputs import Inputs, LanguageInput
from vocap.allocation.settings import Allocation
from vocap.allocation.solution import Solution, solve, write_allocation
from vocap.files.io import write_tsv
from vocap.finetuning.tasks import TASKS
from vocap.languages import read_languages
from vocap.tables.bits_per_byte import bits_per_byte
from vocap.tables.curve import Point, write_characters, write_points
from vocap.tables.line_bits import write_lengths
from vocap.tables.piece_index import NAME, build, save_index
from vocap.tokenizers.evaluation import COLUMNS as EVALUATION
from vocap.tokenizers.evaluation import PARALLEL_COLUMNS, ROUND_TRIP_COLUMNS

CODES = ["de", "en", "fa", "hi", "ja", "no", "ru", "sw"]
STEP = 40
# the allocation that the page starts from
PRESENT = {"total": 900, "alpha": 0.7, "beta": 0.7, "rule": "paper"}
COVERAGE = 0.99


def make_corpora(
    folder: Path, codes: list[str], missing: tuple[str, ...] = (), seed: int = 1
) -> None:
    """stats.json of each language and weights.tsv."""
    rng = random.Random(seed)
    weights = []
    for code in codes:
        lines = int(10 ** rng.uniform(3.2, 5.6))
        heldout = max(lines // 100, min(500, lines // 10))
        gone = code in missing
        stats = {
            "language": code,
            "source": "starter",
            "read": 0 if gone else int(lines * 1.3),
            "kept": 0 if gone else lines,
            "train": 0 if gone else lines - heldout,
            "heldout": 0 if gone else heldout,
            "empty": lines // 50,
            "overlong": lines // 900,
            "invalid_utf8": lines // 5000,
            "duplicates": lines // 9,
            "left_out": lines // 70,
            "bytes": lines * 120,
            "complete": code != codes[0],
            "n": lines,
            "missing": "no package of the starter corpus has this language" if gone else None,
        }
        if code == codes[2]:
            stats["missing"] = "only 612 lines in mediawiki; bring your own text"
        path = folder / "corpora" / code / "stats.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(stats))
        if not gone:
            weights.append((code, lines, "lines"))
    package = {
        "package": "mediawiki",
        "version": "1:1.39",
        "licence": "GPL-2.0-or-later",
        "origin": "apt",
    }
    archive = folder / "corpora" / "starter" / "archives" / "mediawiki.json"
    archive.parent.mkdir(parents=True)
    archive.write_text(json.dumps(package | {"sha256": "ab" * 32, "missing": None}))
    write_tsv(folder / "corpora" / "weights.tsv", ("language", "n", "source"), weights)


def make_curves(folder: Path, codes: list[str], sizes: range, seed: int = 2) -> None:
    """curve.tsv of each language: ALP rising with the logarithm of the size, some sizes
    out of reach.
    """
    rng = random.Random(seed)
    for code in codes:
        scale, slope = rng.uniform(180, 420), rng.uniform(8, 26)
        last = sizes[-1] if rng.random() < 0.6 else rng.choice(sizes[len(sizes) // 4 :])
        points = []
        for size in sizes:
            if code in ("ja", "zh") and size == sizes[0]:
                status = "2,613 required characters do not fit in 1,000 ids"
                points.append(Point(size, status=status))
            elif size > last:
                status = f"the text has pieces for {last + 377} ids at most"
                points.append(Point(size, status=status))
            else:
                alp = -scale + slope * math.log2(size / 1000 + 0.6) - rng.random() * 0.2
                heldout = alp * 1.02 - size / 9000
                points.append(Point(size, size, alp, heldout, 30 - 2 * math.log2(size / 500)))
        write_points(folder / "vocabularies" / code / "curve.tsv", points)


def make_allocation(
    folder: Path, name: str, codes: list[str], total: int, rule: str = "paper", seed: int = 3
) -> None:
    """allocation.tsv, vocabulary.tsv and summary.json of one allocation."""
    rng = random.Random(seed)
    table = read_languages()
    rows = []
    for code in codes:
        fact = table[code].facts.get("paper_allocated_thousands") if code in table else None
        size = max(1, round(float(fact or 3) * rng.uniform(0.5, 1.2) * total / 500_000 * 3)) * 1000
        n = rng.randrange(1000, 300_000)
        rows.append((code, n, n**0.7, 0.05, size, rng.random() / 100, size * 6 // 10))
    total_weight = sum(row[2] for row in rows)
    rows = [(code, n, weight / total_weight, *rest) for code, n, weight, *rest in rows]
    out = folder / "allocation" / name
    columns = ("language", "n", "q", "weight", "size", "gain", "own_pieces")
    write_tsv(out / "allocation.tsv", columns, rows)
    pieces = [(f"▁piece{number}", ",".join(codes[:2])) for number in range(500)]
    write_tsv(out / "vocabulary.tsv", ("piece", "languages"), pieces)
    chosen = {"rule": rule, "union": total - 11, "objective": -658.1}
    summary = {
        "settings": {"total": total, "alpha": 0.7, "beta": 0.7, "rule": rule},
        "languages": len(codes),
        "left_out": {},
        "union_before_clipping": total + 212,
        "clipped": 217,
        "short": 0,
        "pieces": total - 5,
        "chosen": chosen,
        "other_rules": [chosen | {"rule": "paper"}] if rule == "pieces" else [],
        "exhausted": codes[:2],
        "warnings": ["2 languages are at the end of their curves; add sizes or text"],
    }
    (out / "summary.json").write_text(json.dumps(summary))
    if rule == "pieces":  # a model of each language
        for code, _, _, _, size, *_ in rows:
            alp, heldout = -100.0 - rng.random(), -101.0 - rng.random()
            path = out / "vocabularies" / code / "curve.tsv"
            write_points(path, [Point(size - 7, size - 7, alp, heldout, 20.5)])


def make_tokenizer(
    folder: Path,
    name: str,
    kind: str,
    codes: list[str],
    total: int,
    seed: int = 4,
    text: dict | None = None,
) -> None:
    """description.json, evaluation.tsv, parity.tsv and pieces.tsv of one tokenizer."""
    base = random.Random(7)
    rng = random.Random(seed)
    table = read_languages()
    rows, parity = [], []
    for place, code in enumerate(codes):
        alp = -base.uniform(130, 340) + math.log(total / 1e5) * 6
        alp += rng.gauss(2.5, 2.5) if kind == "vocap" else 0
        resource = table[code].resource if code in table else "low"
        used, renyi = rng.random() / 10, 0.4 + rng.random() / 5
        unknown = rng.random() / 900
        whole = (0.52, 1.8, 0.8, 0.0)  # words, digits per token, numbers alike, broken UTF-8
        measures = (alp, 33.3, 1.45, 3.21, 4.4, unknown, used, renyi, 0.21, *whole, 31 + place)
        rows.append((code, resource, 500, *measures))
        lines = min(1500, 500 + place * 200)
        identical = lines - 3 * (place % 2)
        example = "normaliser 2: “a b”: ▁a b | ▁a▁b; tie 1: “c d”: ▁c d | ▁c▁d" * (place % 2)
        parity.append((code, lines, identical, identical / lines, example))
    out = folder / "tokenizers" / name
    write_tsv(out / "evaluation.tsv", (*EVALUATION[:16], "unknown_bytes"), rows)
    trips = [(code, "text", 500, 490, 0.98, "spaces 10: “a  b” → “a b”") for code in codes]
    write_tsv(out / "roundtrip.tsv", ROUND_TRIP_COLUMNS, trips)
    write_tsv(out / "parity.tsv", ("language", "lines", "identical", "share", "example"), parity)
    pieces = [
        (f"▁piece{number}", number + 4, -number / 1024, "en", "ok", "") for number in range(300)
    ]
    write_pieces(out, [*pieces, ("▁shadow", 304, -20.0, "de,en", "dead", "▁sha dow")])
    if text is None:
        text = {"lines": 1_280_000, "alpha": 0.7}
        text |= {"beta": 0.7} if kind == "vocap" else {"sentences": "all"}
    description = {
        "kind": kind,
        "total": total,
        "settings": {"coverage": 0.9995, "byte_fallback": False, "user_defined_symbols": []},
        "scores": "the mixture of the languages' own probabilities",
        "pieces": total - 5,
        "dead": 1,
        "dead_share": 1 / (total - 5),
        "text": text,
    }
    (out / "description.json").write_text(json.dumps(description))


def write_pieces(folder: Path, pieces: list[tuple]) -> None:
    columns = ("piece", "id", "score", "languages", "status", "shadowed_by")
    write_tsv(folder / "pieces.tsv", columns, pieces)


def make_baseline(folder: Path, name: str, codes: list[str]) -> None:
    """A tokenizer from elsewhere: evaluated, on parallel text too, and nothing else."""
    make_tokenizer(folder, name, "file", codes, 250_002, seed=6)
    out = folder / "tokenizers" / name
    for file in ("description.json", "parity.tsv", "pieces.tsv"):
        (out / file).unlink()
    rows = [
        (code, 1000, 30_000 + 1000 * place, 1 + place / 30, 30_000, 0, 0, 1 + place / 30)
        for place, code in enumerate(codes)
    ]
    columns = [name for name in PARALLEL_COLUMNS if not name.startswith(("bytes", "bigram"))]
    write_tsv(out / "parallel.tsv", columns, rows)
    write_tsv(
        out / "unknown.tsv",
        ("language", "character", "count"),
        [(codes[0], "ꙮ", 12), (codes[-1], "\u0301", 3)],
    )


def make_byte_pair(
    folder: Path, name: str, kind: str, codes: list[str], total: int, seed: int, **settings
) -> None:
    """A tokenizer of kind `bpe` or `parity-bpe`: as `make_tokenizer`, without
    parity.tsv and owners of pieces.
    """
    text = {"sentences": "all", "alpha": 0.7, "lines": 1000}
    make_tokenizer(folder, name, kind, codes, total, seed, text)
    out = folder / "tokenizers" / name
    (out / "parity.tsv").unlink()
    write_pieces(out, [(f" piece{n}", n + 4, -n, "", "ok", "") for n in range(300)])
    asked = {"total": total, "alpha": 0.7, "split": "words", **settings}
    scores = {"scores": "by the order of merges", "merges": total - 261, "dead": 0}
    edit(out / "description.json", settings=asked, **scores)


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
    described: bool = True,
    seed: int = 9,
    tokenizer: str = "vocap100k",
    causal: bool = False,
) -> None:
    """metrics.jsonl and description.json of one model, its exact loss falling; of a
    causal one bits of lines.
    """
    rng = random.Random(f"{name} {seed}")
    out = folder / "pretraining" / name
    out.mkdir(parents=True)
    with open(out / "metrics.jsonl", "w", encoding="utf-8") as file:
        for step in range(100, 600, 100):
            bits = 2 + 100 / step + rng.random() / 10
            scores = {"exact_loss": 3 * bits, "bits_per_byte": bits, "accuracy": 0.25, "mrr": 0.375}
            row = {"step": step, "loss": 4.5, **scores, "tokens_per_s": 1234.5, "candidates": 321.5}
            row |= {"refresh_s": 0.0, "memory_mb": 456.7, "seconds": step * 0.6, "skipped": 0}
            file.write(json.dumps(row | {"languages": dict.fromkeys(codes, scores)}) + "\n")
    if described:
        facts = {
            "tokenizer": tokenizer,
            "parameters": 2**20 * 13,
            "settings": {"loss": loss},
            "device": "CPU",
        }
        if causal:
            facts |= {"bits_per_byte": "code length of the text", "seed": seed}
            facts["settings"]["objective"] = "causal"
            lines = {
                code: [[rng.uniform(100, 200) for _ in range(30)], [60] * 30] for code in codes
            }
            write_lengths(
                out / "code-length.npz",
                {("parallel", code): np.array(lines[code]) for code in codes},
            )
        (out / "description.json").write_text(json.dumps(facts))


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
        rows = [
            (code, metric, mean + place - (len(codes) - 1) / 2, deviation, seeds)
            for metric, mean in means.items()
            for place, code in enumerate(codes)
        ]
        rows += [("mean", metric, mean, deviation, seeds) for metric, mean in means.items()]
        write_tsv(out / "summary.tsv", ("language", "metric", "mean", "std", "seeds"), rows)
        choice = {
            "task": task,
            "rule": "paper",
            "label": f"chosen on {task}",
            "learning_rate": 1e-5,
            "epochs": 4,
        }
        development = {
            "task": task,
            "split": "dev",
            "languages": codes,
            "absent": [],
            "metric": "f1",
        }
        lists = {
            "languages": codes,
            "absent": [],
            "blank": [],
            "outside": [],
            "seeds": list(range(seeds)),
        }
        settings = [{"learning_rate": 1e-5, "epochs": 4, "value": 50.0}]
        content = {**choice, **lists, "development": development, "settings": settings, **said}
        (out / "selection.json").write_text(json.dumps(content))
    content = {"average": 61.25, "std": 0.75, "tasks": tasks, "missing": missing}
    content["languages"] = dict.fromkeys(tasks, 4)
    (folder / "finetuning" / name / "average.json").write_text(json.dumps(content))


def make_other_tokenizers(folder: Path, codes: list[str]) -> None:
    """Beside `make_results`: an allocation by pieces at T = 100,000, its tokenizer, and
    a second JOINT.
    """
    make_allocation(folder, "p100k", codes, 100_000, "pieces")
    text = {"lines": 1_280_817, "alpha": 0.7, "beta": 0.7}
    make_tokenizer(folder, "pieces100k", "vocap", codes, 100_000, seed=11, text=text)
    text = {"sentences": 500_000, "lines": 500_000, "word_types": 81_234, "alpha": 0.49}
    make_tokenizer(folder, "beta100k", "joint", codes, 100_000, seed=12, text=text)
    make_tokenizer(folder, "joint100k", "joint", codes, 100_000, seed=5, text={})  # of an older run


def make_results(
    folder: Path, codes: list[str] | None = None, sizes: range = range(1000, 9000, 1000)
) -> Path:
    """All four stages: two allocations, VOCAP and JOINT at two sizes, a language
    without text.
    """
    codes = codes or ["en", "de", "ru", "hi", "fa", "it", "sw", "km", "ja", "fi", "sa"]
    make_corpora(folder, codes, missing=codes[-1:])
    codes = codes[:-1]
    make_curves(folder, codes, sizes)
    for total, rule in ((100_000, "paper"), (200_000, "paper")):
        make_allocation(folder, f"v{total // 1000}k", codes, total, rule)
        make_tokenizer(folder, f"vocap{total // 1000}k", "vocap", codes, total)
        make_tokenizer(folder, f"joint{total // 1000}k", "joint", codes, total, seed=5)
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
        per_line = {
            character: count / lines for character, count in sorted(counts.items(), key=_order)
        }
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
