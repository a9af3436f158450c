"""Does a tokenizer serve the model that is trained on it? Small causal models on
several tokenizers.

    python benchmarks/downstream.py --corpora results/corpora -o OUT --tokenizers
        NAME=FOLDER [NAME=FOLDER ...]
        [--parallel "ntrex/{lang}.txt.xz"] [--steps 300] [--seeds 1,2,3] [--device cuda]
        [--settings-json JSON]

FOLDER holds sentencepiece.model or tokenizer.json, or huggingface/ with the latter. The
first tokenizer has `--steps` steps. Each other one is trained twice: for equal bytes of
training text, as many of every language, and for equal operations of the layers and a
full output layer; each time from the beginning, with its own schedule.
`--settings-json` has keys of `pretraining: models: NAME`, which change those of
`SETTINGS`.

Prints, and writes to OUT/downstream.tsv, bits per byte (`vocap code-length`) of
held-out and of parallel lines: means over the languages of each resource group and over
all, then over the seeds; differences from the first tokenizer, paired by seed
(`_apart`), and half their intervals of 95 % (`_half`, Student's t); tokens of training
for each id. A run is a file of OUT/runs, and is not made again; other settings take
another OUT. Calls with other `--seeds` may run side by side, once OUT/tokens is
complete.

On a GPU: --device cuda --steps 20000 --settings-json '{"loss": "full", "batch": 256,
"micro_batch": 64, "shape": {"layers": 12, "hidden": 768, ...}}'
"""

import argparse
import json
import math
import sys
import tempfile
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from transformers import LlamaForCausalLM
from transformers.utils.logging import disable_progress_bar

from vocap.languages import read_languages
from vocap.pretraining.code_length import CausalModel, code_lines, spread_lines
from vocap.pretraining.data import MODELS, Data, load_data
from vocap.pretraining.settings import Recipe, encoder_operations
from vocap.pretraining.tokenizing import tokenize_language
from vocap.pretraining.training import Training
from vocap.text_files import Layout
from vocap.text_files.named_texts import find_aligned
from vocap.tokenizer_files.encoders import load_encoder
from vocap.training.distributed import StopRequest

SHAPE = {
    "layers": 2,
    "hidden": 128,
    "heads": 4,
    "kv_heads": 2,
    "intermediate": 384,
    "deviation": 0.05,
}
# on a CPU, the most for an hour; "full" on a GPU
LOSS = {
    "kind": "target",
    "tau": 2048,
    "finish": 0.1,
}
SETTINGS = {"loss": LOSS, "batch": 8, "micro_batch": 8, "learning_rate": 2e-3, "shape": SHAPE}
BUDGETS = ("bytes", "operations")
GROUPS = ["low", "mid", "high", "all"]
# Student's t by degrees of freedom
T_975 = (
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
)


@dataclass(frozen=True)
class Subject:
    """A tokenizer and its blocks, and what a step holds on average by `BUDGETS`."""

    name: str
    model: Path
    data: Data
    step: dict[str, float]

    def run_file(self, steps: int, seed: int, options: argparse.Namespace) -> Path:
        return options.output / "runs" / f"{self.name} {steps} {seed}.json"


def recipe_of(options: argparse.Namespace, steps: int) -> Recipe:
    own = json.loads(options.settings_json)
    shape = SHAPE | own.pop("shape", {}) | {"positions": options.block}
    often = {"steps": steps, "log_every": steps, "checkpoint_every": steps, "heldout_blocks": 1}
    return Recipe.model_validate(SETTINGS | own | often | {"objective": "causal", "shape": shape})


def prepare(name: str, folder: Path, options: argparse.Namespace) -> Subject:
    """Tokenize every language of the corpora, if that is not done, and see what a step
    holds.
    """
    files = [folder / name for name in (*MODELS, "huggingface/tokenizer.json")]
    model = next((path for path in files if path.exists()), None) or sys.exit(
        f"{folder}: no tokenizer"
    )
    tokens = options.output / "tokens" / name
    languages = sorted(path.parent.name for path in options.corpora.glob("*/train.txt"))
    for code in languages:
        if not (tokens / code / "description.json").exists():
            text, heldout = (
                options.corpora / code / f"{part}.txt" for part in ("train", "heldout")
            )
            tokenize_language(
                code, [str(text)], Layout(), heldout, model, tokens / code, options.block
            )
    recipe = recipe_of(options, steps=10)
    data, shape = (
        load_data(tokens, languages, model.parent, recipe.alpha, recipe.weights),
        recipe.shape,
    )
    # shares of blocks, so that every tokenizer sees as many bytes of a language
    size = np.array([blocks.size_bytes.mean() for blocks in data.train])
    ids = np.array([len(blocks.tokens) / len(blocks) for blocks in data.train])
    q = data.q / size / (data.q / size).sum()
    # operations of a token, forward and backward
    projections = 2 * shape.hidden * (shape.width != shape.hidden)
    operations = encoder_operations(shape, options.block, causal=True)
    operations += 6 * shape.width * (data.vocabulary + projections)
    amounts = recipe.batch * float(q @ size), recipe.batch * float(q @ ids) * operations
    return Subject(name, model, replace(data, q=q), dict(zip(BUDGETS, amounts, strict=True)))


def plans(subjects: list[Subject], steps: int) -> list[tuple[str, Subject, int]]:
    """The steps of every tokenizer for each budget, which `steps` of the first
    tokenizer set.
    """
    first = subjects[0].step
    return [
        (budget, subject, round(steps * first[budget] / subject.step[budget]))
        for budget, subject in product(BUDGETS, subjects)
    ]


def run(subject: Subject, steps: int, seed: int, options: argparse.Namespace) -> dict:
    """Train a model; bits per byte by part and language."""
    with tempfile.TemporaryDirectory() as folder:
        recipe, device = recipe_of(options, steps), torch.device(options.device)
        training = Training(recipe, seed, subject.data, Path(folder), device)
        training.run(StopRequest(), export=lambda step: None)
        training.model.exported().save_pretrained(folder)
        exported = LlamaForCausalLM.from_pretrained(folder).eval().to(device)
    # code lengths
    codes, special = subject.data.languages, subject.data.special
    texts = [("held out", code, options.corpora / code / "heldout.txt") for code in codes]
    if options.parallel:
        texts += [
            ("parallel", *found) for found in find_aligned(options.parallel, codes)[0].items()
        ]
    model = CausalModel(exported, load_encoder(subject.model), special, options.block)
    languages: dict[str, dict[str, float]] = {}
    for part, code, path in texts:
        (bits, size), *_ = code_lines(model, spread_lines(path, options.lines))
        languages.setdefault(part, {})[code] = bits.sum() / size.sum()
    progress = training.progress
    return {"tokens": progress.tokens, "seconds": round(progress.seconds), "languages": languages}


def found_runs(subjects: list[Subject], options: argparse.Namespace) -> pd.DataFrame:
    """A row for each budget, part, tokenizer and seed."""
    groups = {row.code: row.resource for row in read_languages(options.table).values()}
    rows = []
    for budget, subject, steps in plans(subjects, options.steps):
        for path in sorted((options.output / "runs").glob(f"{subject.name} {steps} *.json")):
            found = json.loads(path.read_text("utf-8"))
            row = {
                "equal": budget,
                "tokenizer": subject.name,
                "seed": path.stem.split()[-1],
                "steps": steps,
            }
            row |= {"mb": steps * subject.step["bytes"] / 1e6}
            row |= {"tokens_per_id": found["tokens"] / subject.data.vocabulary}
            for part, bits in found["languages"].items():
                means = pd.Series(bits).groupby(groups).mean().to_dict()
                rows.append(row | {"part": part, "all": np.mean(list(bits.values()))} | means)
    return pd.DataFrame(rows)


def summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Means over the seeds, and differences from the first tokenizer with half their
    intervals.
    """
    first = runs[runs.tokenizer == runs.tokenizer[0]].set_index(["equal", "part", "seed"])[GROUPS]
    rows = []
    for (equal, part, name), own in runs.groupby(["equal", "part", "tokenizer"], sort=False):
        row = {"equal": equal, "part": part, "tokenizer": name, "seeds": len(own)}
        row |= own[["steps", "mb", "tokens_per_id", *GROUPS]].mean().to_dict()
        apart = (own.set_index(["equal", "part", "seed"])[GROUPS] - first).dropna()
        factor = (
            T_975[min(len(apart), 10) - 2] / math.sqrt(len(apart)) if len(apart) > 1 else math.nan
        )
        half = (factor * apart.std()).add_suffix("_half")
        rows.append(row | apart.mean().add_suffix("_apart").to_dict() | half.to_dict())
    return pd.DataFrame(rows).sort_values(["equal", "part"], kind="stable")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--tokenizers", nargs="+", metavar="NAME=FOLDER", required=True)
    parser.add_argument("--parallel", help="pattern of aligned text with {lang}")
    parser.add_argument("--steps", type=int, default=300, help="of the first tokenizer")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--lines", type=int, default=40, help="measured of each file, at most")
    parser.add_argument("--block", type=int, default=128, help="tokens")
    parser.add_argument("--settings-json", default="{}", help="changes of SETTINGS")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--table", type=Path, default=Path("config/languages.tsv"), help="resource groups"
    )
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    disable_progress_bar()
    torch.set_num_threads(options.threads)
    (options.output / "runs").mkdir(parents=True, exist_ok=True)
    pairs = [pair.partition("=") for pair in options.tokenizers]
    subjects = [prepare(name, Path(folder), options) for name, _, folder in pairs]
    seeds = list(map(int, options.seeds.split(",")))
    for budget in BUDGETS:
        planned = [plan for plan in plans(subjects, options.steps) if plan[0] == budget]
        for seed, (_, subject, steps) in product(seeds, planned):
            if not (path := subject.run_file(steps, seed, options)).exists():
                made = run(subject, steps, seed, options)
                path.write_text(json.dumps(made) + "\n", encoding="utf-8")
                print(
                    f"seed {seed}, {subject.name}, equal {budget}: {made['seconds']} s", flush=True
                )
    found = summary(found_runs(subjects, options))
    found.to_csv(options.output / "downstream.tsv", sep="\t", index=False)
    print(found.round(4).to_string(index=False))


if __name__ == "__main__":
    main()
