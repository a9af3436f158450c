"""Does a tokenizer serve the model that is trained on it? Small models on several tokenizers of one T.

    python benchmarks/downstream.py --corpora results/corpora -o OUT --tokenizers NAME=FOLDER [NAME=FOLDER ...]
        [--seeds 1,2,3] [--steps 150] [--threads 2] [--kind full]

Every model has the shape, text, batches and steps of the default run's, and starts from a seed; FOLDER holds
sentencepiece.model. Seed by seed; a run is a file of OUT/runs, and is not made again. Prints, and writes to
OUT/downstream.tsv, a row for each tokenizer: bits per byte of held-out text under the exact full softmax, means
over the languages of each resource group and over all languages, and of all held-out text together (`text`); the
mean over the seeds, and in `*_sd` the standard deviation over them. `bytes_per_step`: UTF-8 bytes of training text
in the tokens of a step, on average over a language's text, weighted as the languages are drawn: a tokenizer that
needs fewer tokens shows its model more text in equal steps.
"""

import argparse
import json
import tempfile
from pathlib import Path

import pandas as pd
import torch

from vocap.languages import read_languages
from vocap.pretraining.data import load_data
from vocap.pretraining.settings import Recipe
from vocap.pretraining.tokenizing import tokenize_language
from vocap.pretraining.training import Training
from vocap.tables.sampling_probabilities import sampling_probabilities
from vocap.text_files import Layout
from vocap.training.distributed import StopRequest

LENGTH, BATCH, ALPHA = 128, 32, 0.7
SHAPE = {"layers": 2, "hidden": 128, "heads": 2, "intermediate": 512, "positions": LENGTH}
GROUPS = ("low", "mid", "high")


class Last:
    """The last line of a training's metrics."""

    row: dict

    def add(self, row: dict) -> None:
        self.row = row


def tokenize(corpora: Path, tokenizer: Path, tokens: Path) -> list[str]:
    """Blocks of every language of `corpora`, those that are there apart; the languages."""
    languages = sorted(path.parent.name for path in corpora.glob("*/train.txt"))
    for code in languages:
        if not (tokens / code / "description.json").exists():
            text, heldout = (corpora / code / f"{name}.txt" for name in ("train", "heldout"))
            model = tokenizer / "sentencepiece.model"
            tokenize_language(code, [str(text)], Layout(), heldout, model, tokens / code, LENGTH)
    return languages


def bytes_per_step(tokens: Path, languages: list[str]) -> float:
    facts = [json.loads((tokens / code / "description.json").read_text("utf-8"))["train"] for code in languages]
    shares = sampling_probabilities([fact["lines"] for fact in facts], ALPHA)
    each = [share * fact["bytes"] / fact["tokens"] for share, fact in zip(shares, facts, strict=True)]
    return BATCH * LENGTH * float(sum(each))


def train(tokenizer: Path, tokens: Path, languages: list[str], seed: int, options: argparse.Namespace) -> dict:
    recipe = Recipe(
        loss={"kind": options.kind},
        output_bias=options.output_bias,
        shape=SHAPE,
        steps=options.steps,
        batch=BATCH,
        micro_batch=BATCH,
        learning_rate=1e-3,
        warmup=options.steps // 5,
        log_every=options.steps,
        checkpoint_every=options.steps,
        heldout_blocks=options.heldout_blocks,
    )
    data = load_data(tokens, languages, tokenizer, ALPHA, "lines")
    last = Last()
    with tempfile.TemporaryDirectory() as folder:
        Training(recipe, seed, data, Path(folder), torch.device("cpu")).run(
            StopRequest(), lambda step: None, last.add
        )
    return last.row


def table(options: argparse.Namespace) -> pd.DataFrame:
    groups = {row.code: row.resource for row in read_languages(options.table).values()}
    rows = []
    for path in sorted((options.output / "runs").glob("*.json")):
        run = json.loads(path.read_text("utf-8"))
        bits = pd.Series({code: scores["bits_per_byte"] for code, scores in run["languages"].items()})
        means = bits.groupby(groups).mean()
        row = {"tokenizer": run["tokenizer"], "text": run["bits_per_byte"], "all": bits.mean()}
        rows.append(row | {group: means[group] for group in GROUPS} | {"bytes_per_step": run["bytes_per_step"]})
    by_name = pd.DataFrame(rows).groupby("tokenizer", sort=False)
    spread = by_name.std()[["all", *GROUPS, "text"]].add_suffix("_sd")
    return by_name.mean()[[*GROUPS, "all", "text", "bytes_per_step"]].join(spread).assign(seeds=by_name.size())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--tokenizers", nargs="+", metavar="NAME=FOLDER", required=True)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--kind", default="full", help="loss")
    parser.add_argument("--output-bias", choices=["constant", "unigram"], default="constant", help="at the start")
    parser.add_argument("--heldout-blocks", type=int, default=8, help="of each language")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--table", type=Path, default=Path("config/languages.tsv"), help="languages and their groups"
    )
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    (options.output / "runs").mkdir(parents=True, exist_ok=True)
    for seed in options.seeds.split(","):
        for pair in options.tokenizers:
            name, _, folder = pair.partition("=")
            path = options.output / "runs" / f"{seed} {name}.json"
            if path.exists():
                continue
            tokens = options.output / "tokens" / name
            languages = tokenize(options.corpora, Path(folder), tokens)
            row = train(Path(folder), tokens, languages, int(seed), options)
            row |= {"tokenizer": name, "bytes_per_step": bytes_per_step(tokens, languages)}
            path.write_text(json.dumps(row) + "\n", encoding="utf-8")
            print(f"seed {seed} {name}: {row['bits_per_byte']:.4f} bits per byte", flush=True)
    found = table(options)
    found.to_csv(options.output / "downstream.tsv", sep="\t")
    print(found.round(4).to_string())


if __name__ == "__main__":
    main()
