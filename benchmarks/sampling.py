"""Samples of the parts of 24 made files: the share of each file's lines, and n.

    python benchmarks/sampling.py [--seeds 200] [--part 6] [--text even growing sorted]
        [--form jsonl jsonl.gz jsonl.xz jsonl.bz2 jsonl.zst jsonl.zst19 parquet]

Each file has about 1.2 MB as stored, and a PART-th of all bytes is read (of Parquet, of
the text's bytes). Texts: `even`; `growing`, whose lines have 5 words in the first file and
28 in the last; `sorted`, even ones with the lines of each file sorted by length.

A row of the table is a text in a form: files that are read; the least and the greatest
share of a file's lines in the samples, over that of all lines, and the standard error of
these shares, mean of the files; n over the true number of lines, mean and standard
deviation; and in how many of the samples the interval of n holds that number.
"""

import argparse
import bz2
import gzip
import io
import itertools
import json
import lzma
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from backports import zstd
from pyarrow import parquet, table

from vocap.corpora.sampling import draw_sample
from vocap.corpora.shard_sample import ShardSample
from vocap.storage.listing import list_shards
from vocap.text_files import Layout
from vocap.text_files.parquet import Footer

FILES, STORED = 24, 1_200_000
KEPT = 1000  # lines of a sample; the shares are those of all lines that it was drawn from
TEXTS = ("even", "growing", "sorted")


def made_lines(file: int, lines: int, text: str) -> bytes:
    """Lines of words that are as frequent as those of a language, each with its file."""
    generator = np.random.default_rng([file, 7])
    letters = np.random.default_rng(1).integers(97, 123, (30_000, 6))
    words = ["".join(map(chr, row)) for row in letters]
    weights = 1 / np.arange(3, len(words) + 3)
    mean = 5 + file if text == "growing" else 17
    counts = generator.integers(3, 2 * mean - 2, lines)
    drawn = generator.choice(words, counts.sum(), p=weights / weights.sum())
    parts = np.split(drawn, np.cumsum(counts)[:-1])
    made = [f"{file} {place} {' '.join(part)}" for place, part in enumerate(parts)]
    ordered = sorted(made, key=len) if text == "sorted" else made
    return "".join(json.dumps({"text": line}) + "\n" for line in ordered).encode()


def parquet_file(lines: bytes) -> bytes:
    texts, file = [json.loads(line)["text"] for line in lines.splitlines()], io.BytesIO()
    parquet.write_table(table({"text": texts}), file, row_group_size=1000)
    return file.getvalue()


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "jsonl": bytes,
    "jsonl.gz": gzip.compress,
    "jsonl.xz": lzma.compress,
    "jsonl.bz2": bz2.compress,
    "jsonl.zst": zstd.compress,
    "jsonl.zst19": lambda text: zstd.compress(text, 19),
    "parquet": parquet_file,
}


def measure(folder: Path, text: str, form: str, seeds: int, part: int) -> list[object]:
    """A row of the table."""
    stored = FORMS[form]
    lines = round(STORED / (len(stored(made_lines(FILES // 2, 4000, text))) / 4000))
    name = f"a.{form.removesuffix('19')}"
    for file in range(FILES):
        (folder / f"{file:02}").mkdir()
        (folder / f"{file:02}" / name).write_bytes(stored(made_lines(file, lines, text)))
    listing = list_shards([str(folder / "*" / name)])
    total = listing.total
    if form == "parquet":
        footers = [Footer.read(path, "text") for path in sorted(folder.glob("*/*"))]
        total = sum(int(footer.column.sum()) for footer in footers)
    layout = Layout.parse(f"{form.partition('.')[0]}:text", False, False, False)
    drawn, ratios, held, read = np.zeros((seeds, FILES)), [], 0, []
    for seed in range(seeds):
        sample = ShardSample(listing.shards, layout, total // part, KEPT, seed)
        valid = draw_sample(sample, KEPT, seed).counts["valid"]
        for one in sample.parts:
            drawn[seed, one.shard] += one.valid
        n, (low, high) = sample.estimate("valid", valid)
        held += low <= lines * FILES <= high
        ratios.append(n / (lines * FILES))
        read.append((drawn[seed] > 0).sum())
    shares = drawn.mean(0) / drawn.mean()
    error = drawn.std(0).mean() / drawn.mean() / seeds**0.5
    row = [np.mean(read), min(shares), max(shares), error, np.mean(ratios), np.std(ratios)]
    return [text, form, *(f"{number:.3g}" for number in row), f"{held}/{seeds}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--part", type=int, default=6)
    parser.add_argument("--text", nargs="+", choices=TEXTS, default=TEXTS)
    parser.add_argument("--form", nargs="+", choices=list(FORMS), default=list(FORMS))
    options = parser.parse_args()
    print("text form read least most error n n_std held".replace(" ", "\t"))
    for text, form in itertools.product(options.text, options.form):
        with tempfile.TemporaryDirectory() as folder:
            row = measure(Path(folder), text, form, options.seeds, options.part)
        print(*row, sep="\t", flush=True)


if __name__ == "__main__":
    main()
