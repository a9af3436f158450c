"""Does the forecast of `vocap size` hold? Small models of several T, trained with equal
operations.

    python benchmarks/size.py --corpora results/corpora -o OUT --tokenizers FOLDER
        [FOLDER ...]
        [--seeds 1,2,3] [--steps 150] [--threads 1]

FOLDER holds the sentencepiece.model of one T. `--steps`: of the largest T; a smaller T
gets as many steps as cost the same by the formula of `vocap size`. Shape, text and
batches are those of benchmarks/downstream.py; the output bias starts at the words'
frequencies. Seed by seed; a run is a file of OUT/runs, and is not made again. Prints,
and writes to OUT/size.tsv, a row for each T: steps, CPU seconds of training and final
validation, operations of a token and of a byte, bytes of text read, and bits per byte
of held-out text under the exact full softmax: means over the languages of each resource
group and over all, with the standard deviation over the seeds.
"""

import argparse
import json
import time
from pathlib import Path

import pandas as pd
import sentencepiece
import torch
from downstream import BATCH, GROUPS, LENGTH, SHAPE, bytes_per_step, table, tokenize, train

from vocap.pretraining.settings import Shape, count_parameters
from vocap.size.forecast import ModelCosts

COSTS = ModelCosts(count_parameters(Shape(**SHAPE), 0), Shape(**SHAPE).hidden)


def equal_steps(totals: list[int], steps: int) -> dict[int, int]:
    """Steps of each T that cost as much as `steps` of the largest."""
    most = COSTS.training_operations(max(totals)) * steps
    return {total: round(most / COSTS.training_operations(total)) for total in totals}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--tokenizers", type=Path, nargs="+", metavar="FOLDER", required=True)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--heldout-blocks", type=int, default=8, help="of each language")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--table", type=Path, default=Path("config/languages.tsv"))
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    (options.output / "runs").mkdir(parents=True, exist_ok=True)
    folders = {}
    for folder in options.tokenizers:
        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.model"))
        folders[model.get_piece_size()] = folder
    steps = equal_steps(list(folders), options.steps)
    for seed in options.seeds.split(","):
        for total, folder in sorted(folders.items()):
            path = options.output / "runs" / f"{seed} {total}.json"
            if path.exists():
                continue
            tokens = options.output / "tokens" / str(total)
            languages = tokenize(options.corpora, folder, tokens)
            own = argparse.Namespace(**vars(options), kind="full", output_bias="unigram")
            own.steps, began = steps[total], time.process_time()
            row = train(folder, tokens, languages, int(seed), own)
            row |= {"tokenizer": total, "cpu_s": time.process_time() - began}
            row |= {"bytes_per_step": bytes_per_step(tokens, languages)}
            path.write_text(json.dumps(row) + "\n", encoding="utf-8")
            print(
                f"seed {seed} T {total}: {row['bits_per_byte']:.4f} bits per byte, "
                f"{row['cpu_s']:.0f} s",
                flush=True,
            )
    found = table(options).sort_index()
    runs = [
        json.loads(path.read_text("utf-8"))
        for path in sorted((options.output / "runs").glob("*.json"))
    ]
    seconds = pd.DataFrame(runs).groupby("tokenizer")["cpu_s"].mean()
    per_token = pd.Series({total: COSTS.training_operations(total) for total in found.index})
    bytes_read = found["bytes_per_step"] * pd.Series(steps)
    facts = {
        "steps": pd.Series(steps),
        "cpu_s": seconds,
        "mflop_per_token": per_token / 1e6,
        "mflop_per_byte": per_token * BATCH * LENGTH / found["bytes_per_step"] / 1e6,
        "mbytes_read": bytes_read / 1e6,
    }
    found = pd.DataFrame(facts).join(
        found[[*GROUPS, "all", "text", *(f"{name}_sd" for name in (*GROUPS, "all"))]]
    )
    found.index.name = "total"
    found.to_csv(options.output / "size.tsv", sep="\t")
    print(found.round(4).to_string())


if __name__ == "__main__":
    main()
