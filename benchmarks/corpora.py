"""How fast `vocap sample` reads text, by format, on one core: MB of text a second,
beside the decompressor alone.

    python benchmarks/corpora.py [TEXT]

TEXT: a plain UTF-8 file of a sentence a line; without it 64 MB are made (words by
Zipf's law, Latin and Cyrillic). CPU time, the better of two runs. "full": the sample
takes every line; "sampled": one line in twenty.
"""

import bz2
import gzip
import importlib.util
import json
import lzma
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from backports import zstd

from vocap.corpora.sampling import draw_sample
from vocap.text_files import Layout
from vocap.text_files.lines import LineFile
from vocap.text_files.records import Corpus, TextFile

MEGABYTES = 64


def made_text(megabytes: int) -> bytes:
    """Lines of 3 to 30 words, half of them Latin, half Cyrillic."""
    generator = np.random.default_rng(0)
    words = []
    for first, size in (("a", 26), ("а", 32)):
        letters = np.array([chr(ord(first) + offset) for offset in range(size)])
        words += [
            "".join(generator.choice(letters, length))
            for length in generator.integers(2, 11, 20_000)
        ]
    lines, length = [], 0
    while length < megabytes * 10**6:
        half = 20_000 * int(generator.integers(2))
        ranks = np.minimum(generator.zipf(1.2, int(generator.integers(3, 31))), 20_000) - 1
        lines.append(" ".join(words[half + rank] for rank in ranks))
        length += len(lines[-1].encode()) + 1
    return "\n".join([*lines, ""]).encode()


def write_formats(text: bytes, folder: Path) -> list[tuple[str, Path, Layout]]:
    lines = text.decode().split("\n")[:-1]
    jsonl = "".join(
        json.dumps({"id": n, "text": line}, ensure_ascii=False) + "\n"
        for n, line in enumerate(lines)
    )
    articles = [" . ".join(lines[start : start + 40]) for start in range(0, len(lines), 40)]
    files = {
        "plain": (text, Layout()),
        "gz": (gzip.compress(text, 6), Layout()),
        "xz": (lzma.compress(text, preset=6), Layout()),
        "zst": (zstd.compress(text, 3), Layout()),
        "bz2": (bz2.compress(text), Layout()),
        "jsonl": (jsonl.encode(), Layout("jsonl", "text")),
        "tsv": (
            "".join(f"{n}\teng\t{line}\n" for n, line in enumerate(lines)).encode(),
            Layout("tsv", "3"),
        ),
        "articles, split": (
            "".join(
                json.dumps({"text": article}, ensure_ascii=False) + "\n" for article in articles
            ).encode(),
            Layout("jsonl", "text", split_sentences=True),
        ),
    }
    written = []
    for name, (content, layout) in files.items():
        path = folder / name.replace(", ", "-")
        path.write_bytes(content)
        written.append((name, path, layout))
    if importlib.util.find_spec("pyarrow"):
        from pyarrow import parquet, table

        path = folder / "parquet"
        parquet.write_table(table({"id": range(len(lines)), "text": lines}), path)
        written.append(("parquet", path, Layout("parquet", "text")))
    return written


def decompressed(path: Path, layout: Layout):
    return TextFile(path, layout) if layout.kind == "parquet" else LineFile(path).blocks()


def seconds(run) -> float:
    times = []
    for _ in range(2):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    text = Path(sys.argv[1]).read_bytes() if len(sys.argv) > 1 else made_text(MEGABYTES)
    lines = text.count(b"\n")
    print(f"{len(text) / 1e6:.0f} MB of text, {lines:,} lines")
    print(
        f"{'format':<16}{'full MB/s':>11}{'sampled MB/s':>14}"
        f"{'decompressor MB/s':>19}{'sampled/decompressor':>22}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name, path, layout in write_formats(text, Path(folder)):
            alone = seconds(
                lambda path=path, layout=layout: sum(map(len, decompressed(path, layout)))
            )
            full, part = (
                seconds(
                    lambda path=path, layout=layout, size=size: draw_sample(
                        Corpus([path], layout), size, seed=1
                    )
                )
                for size in (lines, max(1, lines // 20))
            )
            speeds = [len(text) / 1e6 / taken for taken in (full, part, alone)]
            print(
                f"{name:<16}{speeds[0]:>11.0f}{speeds[1]:>14.0f}"
                f"{speeds[2]:>19.0f}{speeds[1] / speeds[2]:>22.2f}"
            )


if __name__ == "__main__":
    main()
