"""Every size of byte-pair encoding against one training of `BpeTrainer` for the largest, one core each.

    python benchmarks/byte_pairs.py TEXT.txt [--sizes 1000:50000:1000] [--split words] [--runs 3]

Prints a row a run: seconds of `BpeTrainer` (text in, merges out), of the ladder's training and curve (text in, all
points out, models written), whether the merges are equal, and the peak memory of each in its own process.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ENVIRONMENT = {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--sizes", default="1000:50000:1000")
    parser.add_argument("--split", default="words")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--one", choices=["theirs", "ours"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(globals()[options.one](options)))
        return
    print("run\tBpeTrainer s\tladder s\tequal merges\tBpeTrainer MB\tladder MB")
    for run in range(1, options.runs + 1):
        found = {}
        for side in ("theirs", "ours"):
            command = [sys.executable, __file__, *sys.argv[1:], "--one", side]
            done = subprocess.run(command, env={**os.environ, **ENVIRONMENT}, stdout=subprocess.PIPE, check=True)
            found[side] = json.loads(done.stdout)
        theirs, ours = found["theirs"], found["ours"]
        equal = theirs["merges"] == ours["merges"]
        print(run, f"{theirs['s']:.1f}", f"{ours['s']:.1f}", equal, theirs["mb"], ours["mb"], sep="\t", flush=True)


def theirs(options) -> dict:
    from tokenizers import Tokenizer, models, trainers

    from vocap.bpe.pretokenizer import build_pre_tokenizer
    from vocap.bpe.words import byte_characters
    from vocap.text_files.lines import read_lines

    begin = time.perf_counter()
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = build_pre_tokenizer(options.split, True, "bytes")
    size = max(_sizes(options)) - 3  # without <unk>, <s> and </s>
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=sorted(byte_characters()), show_progress=False)
    tokenizer.train_from_iterator(read_lines(options.text), trainer)
    seconds = time.perf_counter() - begin
    return _result(seconds, json.loads(tokenizer.to_str())["model"]["merges"])


def ours(options) -> dict:
    from vocap.bpe.words import Pretokenization
    from vocap.unigram import COVERAGE
    from vocap.unigram.text_settings import text_settings
    from vocap.vocabularies.bpe_ladder import train_sizes

    how = Pretokenization("bytes", options.split, text_settings("lossless"))
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        sizes = _sizes(options)
        train_sizes(options.text, None, sizes, how, COVERAGE, Path(folder))
        seconds = time.perf_counter() - begin
        reached = max(int(path.stem) for path in Path(folder).glob("*.json"))
        largest = json.loads(Path(folder, f"{reached}.json").read_text("utf-8"))
    return _result(seconds, largest["model"]["merges"])


def _sizes(options) -> list[int]:
    from vocap.tables.curve import parse_sizes

    return parse_sizes(options.sizes)


def _result(seconds: float, merges: list) -> dict:
    return {"s": seconds, "merges": merges, "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}


if __name__ == "__main__":
    main()
