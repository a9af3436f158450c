"""Byte-pair encoding of one text against `BpeTrainer` of tokenizers, one core each.

    python benchmarks/byte_pairs.py TEXT.txt [--size 50000] [--split words] [--runs 3]

Prints a row a run: seconds of each (text in, merges out), whether the merges are equal,
and the peak memory of each in its own process.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

ENVIRONMENT = {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("text", type=Path)
    parser.add_argument("--size", type=int, default=50_000)
    parser.add_argument("--split", default="words")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--one", choices=["theirs", "ours"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(globals()[options.one](options)))
        return
    print("run\tBpeTrainer s\tvocap s\tequal merges\tBpeTrainer MB\tvocap MB")
    for run in range(1, options.runs + 1):
        found = {}
        for side in ("theirs", "ours"):
            command = [sys.executable, __file__, *sys.argv[1:], "--one", side]
            done = subprocess.run(
                command, env={**os.environ, **ENVIRONMENT}, stdout=subprocess.PIPE, check=True
            )
            found[side] = json.loads(done.stdout)
        theirs, ours = found["theirs"], found["ours"]
        equal = theirs["merges"] == ours["merges"]
        print(
            run,
            f"{theirs['s']:.1f}",
            f"{ours['s']:.1f}",
            equal,
            theirs["mb"],
            ours["mb"],
            sep="\t",
            flush=True,
        )


def theirs(options) -> dict:
    from tokenizers import Tokenizer, models, trainers

    from vocap.bpe.words import byte_characters
    from vocap.text_files.records import read_lines
    from vocap.tokenizer_files.cuts import Cut

    begin = time.perf_counter()
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = Cut(
        options.split, digits="1" if options.split == "words" else None
    ).pre_tokenizer()
    trainer = trainers.BpeTrainer(
        vocab_size=options.size, initial_alphabet=sorted(byte_characters()), show_progress=False
    )
    tokenizer.train_from_iterator(read_lines(options.text), trainer)
    seconds = time.perf_counter() - begin
    return _result(seconds, json.loads(tokenizer.to_str())["model"]["merges"])


def ours(options) -> dict:
    from functools import partial

    from vocap.bpe.cutting import Pretokenization
    from vocap.bpe.tokenizer_json import Rows, build_bpe
    from vocap.bpe.training import apply
    from vocap.bpe.words import byte_alphabet, count_words
    from vocap.text_files.records import read_blocks
    from vocap.tokenizer_files.id_layout import XLM_R_LAYOUT
    from vocap.unigram.text_settings import text_settings

    begin = time.perf_counter()
    how = Pretokenization(options.split, text_settings("lossless"))
    words = count_words([partial(read_blocks, options.text)], how)
    alphabet = byte_alphabet()
    counts = words.counts.sum(1, keepdims=True)
    merges = apply(alphabet, alphabet.symbols(words), counts, options.size)
    seconds = time.perf_counter() - begin
    tokenizer = build_bpe(byte_alphabet(), merges, Rows(how, XLM_R_LAYOUT))
    return _result(seconds, json.loads(tokenizer.to_str())["model"]["merges"])


def _result(seconds: float, merges: list) -> dict:
    return {
        "s": seconds,
        "merges": merges,
        "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


if __name__ == "__main__":
    main()
