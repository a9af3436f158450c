"""Whether each loss learns: one small model by every loss, judged by the exact loss, by
ranks and by tags.

    python benchmarks/learning.py prepare --text FOLDER --out FOLDER [--vocabulary 50000]
        tokenizer and blocks
    python benchmarks/learning.py train --out FOLDER --xtreme FOLDER [--seeds 1 2 3] [...]
        models, one by one
    python benchmarks/learning.py table --out FOLDER [--steps 400]
        what they reached
    python benchmarks/learning.py picture --out FOLDER [--steps 400] --svg FILE
        how they got there

FOLDER of --text holds {language}.txt, plain or packed. `train` makes every loss with
equal steps, then with equal time: as many steps as take as long as the full softmax
took for that seed, with their own schedule; seed by seed, so that some seeds are
complete when time runs out. It can be stopped at any time: runs that are there, one
file each in FOLDER/runs/STEPS, are not made again. Time is CPU time of one thread,
validation and probe apart; a busy machine hardly counts, refreshing the index does.
Losses that draw words draw as many as make k-NN's mean |V'| in the run of that seed, so
k-NN comes before them; full comes before all that are to take its time.
"""

import argparse
import json
import math
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from learning_results import draw, print_table, run_path, summary
from probe import Tagging, load_tagging, probe

from vocap.corpora.commands import sample
from vocap.pretraining.commands import tokenize
from vocap.pretraining.data import (
    Data,
    Vocabulary,
    heldout_batch,
    heldout_blocks,
    load_data,
    unigram_counts,
)
from vocap.pretraining.settings import Recipe
from vocap.pretraining.training import Training
from vocap.tokenizers.commands import export, joint
from vocap.training.distributed import StopRequest

CHARACTERS = 8_000_000  # of a language, to train on
MIXED = 1_500_000  # of them for the tokenizer, unless said
LENGTH = 32  # short blocks: with few places to look at, attention soon finds the one that helps
WIDTH = 64
# what makes a small model leave the plateau of word frequencies within minutes: they
# are in its bias from the start, and its layers have the gain of 768 units of N(0,
# 0.02)
DEVIATION = round(0.02 * (768 / WIDTH) ** 0.5, 3)
TASKS = {"udpos": ["en"], "panx": ["en", "de"]}  # the probe's, and the languages it is tested on
KNN = "k-NN"
FIRST = ("full", KNN, "k-NN, full finish")  # those that draw no words
CPU = torch.device("cpu")
LINES = 8  # of metrics in a run
SENTENCES = 1500  # of each file


def prepare(text: Path, out: Path, vocabulary: int, length: int, mixed: int) -> None:
    """Write `out`/text, `out`/tokenizer (JOINT, T = `vocabulary`),
    `out`/tokens/{language} of `length` ids.
    """
    files = {path.name.split(".")[0]: path for path in sorted(text.glob("*.txt*"))}
    mix = out / "mix.txt"
    for language, path in files.items():
        folder = out / "text" / language
        folder.mkdir(parents=True, exist_ok=True)
        names = [f"--{name}={folder / name}" for name in ("train", "heldout", "stats")]
        limit = f"--max-characters={CHARACTERS}"
        sample.main([str(path), f"--language={language}", limit, *names], standalone_mode=False)
    with open(mix, "w", encoding="utf-8") as file:
        for language in files:
            lines, held = (
                (out / "text" / language / "train").read_text("utf-8").splitlines(keepends=True),
                0,
            )
            for line in lines:
                file.write(line)
                held += len(line)
                if held > mixed:
                    break
    tokenizer = out / "tokenizer"
    words = [f"--mix={mix}", f"--total={vocabulary}", f"--output={tokenizer}"]
    joint.main(words, standalone_mode=False)
    model = str(tokenizer / "sentencepiece.model")
    export.main([model, f"--output={tokenizer / 'huggingface'}"], standalone_mode=False)
    for language in files:
        folder = out / "text" / language
        tokenize.main(
            [
                str(folder / "train"),
                f"--tokenizer={tokenizer / 'sentencepiece.model'}",
                f"--language={language}",
                f"--heldout={folder / 'heldout'}",
                f"--length={length}",
                f"--output={out / 'tokens' / language}",
            ],
            standalone_mode=False,
        )


class Watch:
    """Stands between a training and its validation: keeps the lines of metrics, with
    the CPU time to each.
    """

    def __init__(self, training: Training) -> None:
        self.validation, training.validation = training.validation, self
        self.rows: list[dict] = []
        self.began, self.validating = time.process_time(), 0.0

    def measure(self, *arguments) -> dict:
        began = time.process_time()
        scores = self.validation.measure(*arguments)
        self.validating += time.process_time() - began
        return scores

    def add(self, row: dict) -> None:
        cpu_s = time.process_time() - self.began - self.validating
        self.rows.append(
            {name: row[name] for name in row if name != "languages"} | {"cpu_s": cpu_s}
        )


def train(arguments) -> None:
    """Every loss for every seed, those that are there apart."""
    out, began = arguments.out, time.perf_counter()
    torch.set_num_threads(1)
    languages = sorted(path.parent.name for path in (out / "tokens").glob("*/description.json"))
    data = load_data(out / "tokens", languages, out / "tokenizer", 0.7, "lines")
    tasks = {
        name: load_tagging(
            arguments.xtreme, out / "tokenizer" / "huggingface", name, languages, SENTENCES, LENGTH
        )
        for name, languages in TASKS.items()
    }
    (out / "runs" / str(arguments.steps)).mkdir(parents=True, exist_ok=True)
    if not (base := out / "untrained.json").exists():
        untrained = build(data, "full", losses(), 1, 1, arguments, out)
        rows = [
            {
                "step": 0,
                "cpu_s": 0.0,
                **untrained.validation.measure(untrained.model, CPU, torch.float32),
            }
        ]
        facts = {"rows": rows, "probes": probes(untrained, tasks)}
        facts["frequencies"] = frequencies(data, arguments.heldout_blocks)
        base.write_text(json.dumps(facts) + "\n", encoding="utf-8")
    for seed, name, budget in order(arguments):
        if time.perf_counter() - began > arguments.limit:
            return
        path = run_path(out, arguments.steps, seed, budget, name)
        if path.exists():
            continue
        run = train_one(data, tasks, name, budget, seed, arguments)
        path.write_text(json.dumps(run) + "\n", encoding="utf-8")
        last = run["rows"][-1]
        print(
            f"seed {seed}, equal {budget:5}  {name:22} {last['step']:5} steps "
            f"{last['cpu_s']:6.1f} CPU s"
            f"  |V'| {last['candidates']:6.0f}  {last['exact_loss']:.3f} nats"
            f"  {last['bits_per_byte']:.4f} bits per byte  accuracy {last['accuracy']:.4f}"
            f"  MRR {last['mrr']:.4f}  {run['probes']}",
            flush=True,
        )


def order(arguments) -> list[tuple[int, str, str]]:
    """(seed, loss, budget): equal steps, then equal time; seed by seed, so that some
    seeds are complete.
    """
    return [
        (seed, name, budget)
        for budget in arguments.budgets
        for seed in arguments.seeds
        for name in losses()
        if name in arguments.losses and (budget, name) != ("time", "full")
    ]


def probes(training: Training, tasks: dict[str, Tagging]) -> dict[str, float]:
    """Chunk F1 in percent of the linear probe by task and language, by "task
    language".
    """
    scores = {name: probe(training.model, tagging) for name, tagging in tasks.items()}
    return {
        f"{task} {language}": score
        for task, found in scores.items()
        for language, score in found.items()
    }


def frequencies(data: Data, blocks: int) -> dict[str, float]:
    """What the words' frequencies alone reach on the masked held-out tokens: the least
    to be learnt.
    """
    counts = unigram_counts(data) + 1.0
    counts[data.special.all] = 0
    targets = heldout_batch(
        heldout_blocks(data.heldout, blocks), Vocabulary(data.vocabulary, data.special)
    ).targets
    values, places = np.unique(counts[targets], return_inverse=True)
    ranks = (counts >= values[:, None]).sum(1)[places]
    nats = -np.log(counts[targets] / counts.sum())
    return {"exact_loss": nats.mean(), "accuracy": (ranks == 1).mean(), "mrr": (1 / ranks).mean()}


def losses(words: int = 0) -> dict[str, dict]:
    """The settings of every loss by name; `words` is k-NN's mean |V'|, which the others
    get too.
    """
    knn = {"kind": "knn", "k": 100, "every": 100}
    return {
        "full": {"kind": "full", "kernel": "chunked"},
        KNN: knn,
        "target sampling": {"kind": "target", "tau": words},
        "NCE": {"kind": "nce", "negatives": words},
        "NEG": {"kind": "neg", "negatives": words},
        "uniform": {"kind": "uniform", "negatives": words},
        "k-NN + uniform": {**knn, "k": 50, "uniform": words // 2},
        "k-NN, full finish": {**knn, "finish": 0.1},
        "target, full finish": {"kind": "target", "tau": words, "finish": 0.1},
        "NCE, full finish": {"kind": "nce", "negatives": words, "finish": 0.1},
    }


def train_one(
    data: Data, tasks: dict[str, Tagging], name: str, budget: str, seed: int, arguments
) -> dict:
    steps = arguments.steps

    def made(which: str) -> dict:
        path = run_path(arguments.out, arguments.steps, seed, "steps", which)
        if not path.exists():
            sys.exit(f"{path}: {name} needs this run before it; train it too (--losses, --budgets)")
        return summary(path)

    words = 0 if name in FIRST else round(made(KNN)["candidates"])
    if budget == "time":
        steps = max(1, round(steps * made("full")["cpu_s"] / made(name)["cpu_s"]))
    with tempfile.TemporaryDirectory() as folder:
        training = build(data, name, losses(words), steps, seed, arguments, Path(folder))
        watch = Watch(training)
        training.run(StopRequest(), lambda step: None, watch.add)
    settings = training.recipe.model_dump(mode="json")
    return {"settings": settings, "rows": watch.rows, "probes": probes(training, tasks)}


def build(
    data: Data, name: str, settings: dict[str, dict], steps: int, seed: int, arguments, folder: Path
) -> Training:
    shape = {
        "layers": 1,
        "hidden": WIDTH,
        "heads": WIDTH // 32,
        "intermediate": 4 * WIDTH,
        "positions": LENGTH,
        "deviation": DEVIATION,
        "dropout": 0.0,  # the text is read once
    }
    recipe = Recipe(
        loss=settings[name],
        shape=shape,
        output_bias="unigram",
        steps=steps,
        batch=arguments.batch,
        micro_batch=arguments.batch,
        learning_rate=arguments.learning_rate,
        warmup=steps // 20,
        log_every=max(1, steps // LINES),
        checkpoint_every=steps,
        heldout_blocks=arguments.heldout_blocks,
    )
    return Training(recipe, seed, data, folder, CPU)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["prepare", "train", "table", "picture"])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--text", type=Path)
    parser.add_argument("--xtreme", type=Path)
    parser.add_argument("--svg", type=Path, help="where the picture goes")
    parser.add_argument("--vocabulary", type=int, default=50_000)
    parser.add_argument(
        "--length", type=int, default=LENGTH, help="tokens of a block that prepare writes"
    )
    parser.add_argument(
        "--mixed", type=int, default=MIXED, help="characters of a language for the tokenizer"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--losses", nargs="+", choices=list(losses()), default=list(losses()))
    parser.add_argument(
        "--budgets", nargs="+", choices=["steps", "time"], default=["steps", "time"]
    )
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument(
        "--batch", type=int, default=32, help=f"blocks of {LENGTH} tokens in a step"
    )
    parser.add_argument("--learning-rate", type=float, default=4e-3)
    parser.add_argument("--heldout-blocks", type=int, default=200, help="of each language")
    parser.add_argument(
        "--limit", type=float, default=math.inf, help="seconds after which no other run begins"
    )
    arguments = parser.parse_args()
    if arguments.what == "prepare":
        if arguments.text is None:
            parser.error("prepare needs --text")
        prepare(
            arguments.text, arguments.out, arguments.vocabulary, arguments.length, arguments.mixed
        )
    elif arguments.what == "train":
        if arguments.xtreme is None:
            parser.error("train needs --xtreme")
        train(arguments)
    elif arguments.what == "table":
        print_table(arguments.out, arguments.steps, list(losses()))
    else:
        if arguments.svg is None:
            parser.error("picture needs --svg")
        draw(arguments.out, arguments.steps, arguments.svg)


if __name__ == "__main__":
    main()
