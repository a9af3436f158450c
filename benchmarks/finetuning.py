"""Fine-tuning's steps by three kinds of batches, and evaluation's, in one run: python
benchmarks/finetuning.py

Batches of inputs of like length, as `vocap finetune` makes them; random batches padded
to their longest; and random batches padded to the longest input allowed, as the scripts
of XTREME and xTune do. Rounds alternate, so that a busy machine slows all alike, and
seconds are of the processor, on one thread. Files: PAN-X (128 ids), XNLI (256, its
English development file) and TyDiQA (384) of VOCAP_DATA/xtreme.

    VOCAP_DATA=... python benchmarks/finetuning.py --tokenizer
        results/tokenizers/NAME/huggingface [--steps 20]
"""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from vocap.finetuning.encoding import InputEncoder, encode_examples, load_fast_tokenizer
from vocap.finetuning.features import (
    Features,
    InputBatch,
    LengthBatches,
    assemble_inputs,
    evaluation_batches,
)
from vocap.finetuning.run import HEADS, TOKENS, Tuner
from vocap.finetuning.settings import Finetuning
from vocap.finetuning.tasks import TASKS, DataSet
from vocap.pretraining.model import build_language_model
from vocap.pretraining.settings import Recipe, Shape
from vocap.training.loop import build_optimizer

FILES = {"panx": "train", "xnli": "dev", "tydiqa": "train"}
EXAMPLES = 4000
KINDS = ("padded to the longest allowed", "padded to the longest of the batch", "of like length")


def load_file(xtreme: Path, task: str, encoder: InputEncoder) -> Features:
    found = DataSet(TASKS[task], FILES[task], "en")
    limit = EXAMPLES if task != "tydiqa" else EXAMPLES // 10
    examples = DataSet(found.task, found.split, "en").read(xtreme)[:limit]
    return encode_examples(found, examples, encoder, Finetuning().recipes[task])


def build_tuner(shape: Shape, vocabulary: int, task: str) -> Tuner:
    torch.manual_seed(1)
    config = build_language_model(shape, vocabulary).transformer.config
    kind = TASKS[task].kind
    if kind != "spans":
        config.num_labels = len(TASKS[task].labels)
    return Tuner(HEADS[kind].from_config(config), kind, Finetuning().recipes[task].pooling)


def makers(
    features: Features, batch: int, longest: int, pad: int
) -> dict[str, Callable[[int], InputBatch]]:
    """The batch of a step, by kind; all take the inputs at random."""
    by_length = LengthBatches(features, batch, seed=1, pad=pad)
    order = np.random.default_rng(1).permutation(len(features))

    def random(step: int, width: int | None) -> InputBatch:
        first = step * batch % len(order)
        return assemble_inputs(features, order[first : first + batch], pad, width)

    return dict(
        zip(
            KINDS,
            (lambda step: random(step, longest), lambda step: random(step, None), by_length.step),
            strict=True,
        )
    )


def time_training(
    tuner: Tuner, features: Features, longest: int, steps: int, batch: int
) -> dict[str, float]:
    """Ids that are no padding a second of the processor, by kind of batch."""
    optimizer = build_optimizer(tuner, 1e-5, Recipe())
    kinds = makers(features, batch, longest, tuner.pad)
    seconds, tokens = dict.fromkeys(KINDS, 0.0), dict.fromkeys(KINDS, 0)
    tuner.train()
    for step in range(steps + 1):
        for kind, make in kinds.items():
            began = time.process_time()
            made = make(step)
            tuner.loss(made).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            if step:  # the first round warms up
                seconds[kind] += time.process_time() - began
                tokens[kind] += made.tokens
    return {kind: tokens[kind] / seconds[kind] for kind in KINDS}


@torch.inference_mode()
def time_evaluation(tuner: Tuner, features: Features, longest: int, batch: int) -> dict[str, float]:
    """The same for predicting: by length in large batches, and in the file's order,
    padded to the longest.
    """
    tuner.eval()
    lengths = features.lengths[: 40 * batch]
    speeds = {}
    plain = [
        np.arange(start, min(start + batch, len(lengths)))
        for start in range(0, len(lengths), batch)
    ]
    for kind, groups, width in (
        (KINDS[0], plain, longest),
        (KINDS[2], list(evaluation_batches(lengths, TOKENS["cpu"])), None),
    ):
        began = time.process_time()
        for numbers in groups:
            tuner(assemble_inputs(features, numbers, tuner.pad, width))
        speeds[kind] = int(lengths.sum()) / (time.process_time() - began)
    return speeds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokenizer", type=Path, required=True, help="a Hugging Face folder")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=128)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    xtreme = Path(os.environ["VOCAP_DATA"], "xtreme")
    encoder = InputEncoder(load_fast_tokenizer(arguments.tokenizer))
    vocabulary = encoder.backend.get_vocab_size()
    shape = Shape(
        layers=arguments.layers,
        hidden=arguments.hidden,
        heads=2,
        intermediate=4 * arguments.hidden,
        positions=384,
    )
    print("| file | ids an input, mean and most | what | " + " | ".join(KINDS) + " | times |")
    print("|---|---|---|" + "---|" * (len(KINDS) + 1))
    for task in FILES:
        features = load_file(xtreme, task, encoder)
        longest = Finetuning().recipes[task].max_length
        lengths = features.lengths
        for what, timed in (
            (
                "train",
                time_training(
                    build_tuner(shape, vocabulary, task),
                    features,
                    longest,
                    arguments.steps,
                    arguments.batch,
                ),
            ),
            (
                "predict",
                time_evaluation(
                    build_tuner(shape, vocabulary, task), features, longest, arguments.batch
                ),
            ),
        ):
            cells = [f"{timed[kind]:,.0f}" if kind in timed else "" for kind in KINDS]
            times = timed[KINDS[2]] / timed[KINDS[0]]
            print(
                f"| {task} | {lengths.mean():.0f}, {lengths.max()} | {what} | {' | '.join(cells)} "
                f"| {times:.2f} |"
            )


if __name__ == "__main__":
    main()
