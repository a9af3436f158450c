"""Is a sample of a corpus of many shards fair, and what does it cost?

    PYTHONPATH=. python benchmarks/shards.py amounts [--languages 86] [--measured 86]
    PYTHONPATH=. python benchmarks/shards.py estimates [--corpora 100]
    VOCAP_DATA=DATA PYTHONPATH=. python benchmarks/shards.py vocabularies [LANG...]

amounts: shards of Parquet (1 GB in all, made in a temporary folder; languages share
files by hard links) read by `vocap sample` from a server on this machine and from the
disk. Prints bytes fetched over those of the sampled row groups' column of text, peak
memory, and CPU seconds of both (the server is a process of its own).

estimates: corpora whose lines grow longer or shorter from the first shard to the last,
a tenth of each read. Prints the error of n and how many of the 95 % intervals hold
the true n; and the error where rows are even.

vocabularies: real text in the order of its files, whose domain drifts, as 40 shards.
Prints ALP (Equation 1, nats a line) on held-out lines of the whole, of vocabularies of
the whole, of a sample of all shards, of the beginning of the corpus, and of lines drawn
from the whole; a tenth of the bytes each; and the share of the whole's pieces in each.
"""

import argparse
import json
import lzma
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyarrow import parquet

from tests.storage.ranges import COUNTS
from tests.storage.shards import (
    LETTERS,
    MadeCorpus,
    ShardPool,
    Words,
    as_parquet,
)
from vocap import sample_corpus, train_ladder
from vocap.languages import read_languages

VOCAP = (sys.executable, "-c", "from vocap.command import main; main()")
PARENT = """import resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
sys.exit(status)"""
SENTENCES = 10_000
MADE = 4  # languages with text of their own, in the amounts
DOCUMENT = 15  # lines of a record
SHARE = 10  # of a corpus's bytes, the part that is read
SIZE = 4000  # of the vocabularies


def write_collection(folder: Path, languages: Sequence[str], shards: int, size: int) -> None:
    """Shards of about `size` bytes of every language, of four row groups each."""
    for number, language in enumerate(languages):
        (folder / language).mkdir(parents=True)
        if number >= MADE:
            for file in sorted((folder / languages[number % MADE]).iterdir()):
                os.link(file, folder / language / file.name)
            continue
        words = Words(LETTERS["deu_Latn"], number)
        rows = max(8, round(size / 900))
        for shard in range(shards):
            lines = words.lines(rows * DOCUMENT, 18)
            texts = ["\n".join(part) for part in parts(lines, DOCUMENT)]
            body = as_parquet(texts, -(-rows // 4), seed=shard)
            (folder / language / f"{shard:03}_00000.parquet").write_bytes(body)


@contextmanager
def range_server(folder: Path) -> Iterator[str]:
    """The address of a server of its own process."""
    command = [sys.executable, "-m", "tests.storage.ranges", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


def measure(words: Sequence[object]) -> tuple[float, float]:
    """A command's CPU seconds and its peak memory in MB, told by a small parent: a
    child of this process begins with the memory of this one.
    """
    run = subprocess.run(
        [sys.executable, "-c", PARENT, *VOCAP, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    seconds, memory = run.stdout.split()[-2:]
    return float(seconds), float(memory) / 1024


def sampled_bytes(folder: Path, requests: Sequence[tuple[str, str, int]]) -> tuple[int, int]:
    """The bytes of the text column of the row groups that were read, and their number."""
    ranges = defaultdict(list)
    for path, asked, _ in requests:
        if asked:
            first, last = asked.removeprefix("bytes=").split("-")
            ranges[path].append((int(first), int(last) + 1))
    total = count = 0
    for path, spans in ranges.items():
        metadata = parquet.ParquetFile(folder / path.lstrip("/")).metadata
        for group in range(metadata.num_row_groups):
            column = metadata.row_group(group).column(0)
            start = column.dictionary_page_offset or column.data_page_offset
            end = start + column.total_compressed_size
            if sum(max(0, min(end, b) - max(start, a)) for a, b in spans) > (end - start) / 2:
                total += end - start
                count += 1
    return total, count


def sample_words(language: str, out: Path, files: Sequence[object]) -> list[object]:
    return [
        "sample", *files, "--language", language, "--format", "parquet:text",
        "--max-sentences", SENTENCES, "--train", out / "train.txt",
        "--heldout", out / "heldout.txt", "--stats", out / "stats.json",
    ]  # fmt: skip


def print_amounts(folder: Path, languages: int, shards: int, measured: int) -> None:
    codes = list(read_languages())[:languages]
    text, out = folder / "text", folder / "out"
    out.mkdir()
    write_collection(text, codes, shards, 1_000_000_000 // len(codes) // shards)
    stored = sum(file.stat().st_size for file in text.rglob("*.parquet"))
    print(f"{len(codes)} languages x {shards} shards, {stored / 1e6:,.0f} MB")
    rows = []
    base = statistics.median(measure(["--help"])[0] for _ in range(3))
    with range_server(text) as address:
        for code in codes[:measured]:
            names = sorted(file.name for file in (text / code).iterdir())
            remote = [f"{address}/{code}/{name}" for name in names]
            urllib.request.urlopen(address + COUNTS).read()
            seconds, memory = measure(sample_words(code, out, remote))
            with urllib.request.urlopen(address + COUNTS) as answer:
                requests = json.load(answer)
            stats = json.loads((out / "stats.json").read_text())
            fetched = sum(sent for _, _, sent in requests)
            column, groups = sampled_bytes(text, requests)
            local = [text / code, "--scan-bytes", stats["scanned_bytes"]]
            local_s, local_mb = measure(sample_words(code, out, local))
            rows.append((fetched / column, memory, seconds, local_s, seconds / local_s, local_mb))
            if len(rows) <= 3:
                print(
                    f"{code}: {len(requests)} requests, {fetched:,} bytes, column {column:,} of "
                    f"{groups} row groups, {stats['shards_read']} shards, "
                    f"{stats['valid']:,} lines, n {stats['n']:,} {stats['n_interval']}; "
                    f"{seconds:.2f} s and {memory:.0f} MB, locally {local_s:.2f} and {local_mb:.0f}"
                )
    columns = ("bytes/column", "MB", "CPU s", "local CPU s", "ratio", "local MB")
    for name, values in zip(columns, zip(*rows, strict=True), strict=True):
        print(f"{name:14} median {statistics.median(values):.3f}, largest {max(values):.3f}")
    print(f"start of the command alone: {base:.2f} CPU s")


def sampled_stats(made: MadeCorpus, seed: int) -> dict[str, Any]:
    """The counts of a sample of a tenth of a corpus's bytes."""
    return sample_corpus(
        [made.folder],
        language="de",
        format=made.format,
        scan_bytes=made.stored_bytes // SHARE,
        seed=seed,
    ).stats


def print_estimates(folder: Path, corpora: int) -> None:
    for kind, size in (("parquet", 200_000), ("jsonl", 700_000), ("text", 700_000)):
        pool = ShardPool(folder / kind, kind, seed=1, size=size)
        errors, widths, shares, held = [], [], [], 0
        for number in range(corpora):
            made = pool.drifting(f"drifting-{number}")
            stats = sampled_stats(made, number)
            low, high = stats["n_interval"]
            held += low <= made.lines <= high
            errors.append(abs(stats["n"] / made.lines - 1))
            widths.append((high - low) / made.lines / 2)
            shares.append(stats["scanned_bytes"] / made.stored_bytes)
        print(
            f"{kind}, drifting: {held} of {corpora} intervals hold n; error median "
            f"{statistics.median(errors):.2%}, largest {max(errors):.2%}; half width median "
            f"{statistics.median(widths):.2%}; read median {statistics.median(shares):.1%}"
        )
        errors = []
        for number in range(20):
            made = pool.even(f"even-{number}", 40)
            errors.append(abs(sampled_stats(made, number)["n"] / made.lines - 1))
        median = statistics.median(errors)
        print(f"{kind}, even rows: error median {median:.2%}, largest {max(errors):.2%}")


def measure_vocabulary(lines: list[str], heldout: list[str]) -> tuple[float, set[str]]:
    """ALP on held-out lines of a vocabulary of these lines, and its pieces."""
    with tempfile.TemporaryDirectory() as output:
        curve = train_ladder(lines, output, sizes=[SIZE], heldout=heldout).curve
        from sentencepiece import SentencePieceProcessor

        model = SentencePieceProcessor(model_file=f"{output}/models/{SIZE}.model")
        pieces = {model.id_to_piece(number) for number in range(3, model.get_piece_size())}
    return float(curve["alp_heldout"].iloc[0]), pieces


def parts(lines: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """The lines in groups of `size`."""
    return (lines[start : start + size] for start in range(0, len(lines), size))


def first_bytes(lines: Iterable[str], limit: int) -> list[str]:
    """The first lines, of `limit` bytes together."""
    taken = []
    for line in lines:
        limit -= len(line.encode())
        if limit < 0:
            break
        taken.append(line)
    return taken


def split_heldout(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """The lines but a twentieth, drawn from all of them, and this twentieth."""
    out = set(random.Random(1).sample(range(len(lines)), len(lines) // 20))
    kept = [line for number, line in enumerate(lines) if number not in out]
    return kept, [lines[number] for number in sorted(out)]


def write_shards(folder: Path, lines: Sequence[str]) -> int:
    """The lines as 40 shards of Parquet in their order; returns the bytes as stored."""
    folder.mkdir()
    for number, part in enumerate(parts(lines, -(-len(lines) // 40))):
        (folder / f"{number:03}.parquet").write_bytes(as_parquet(part, -(-len(part) // 8)))
    return sum(file.stat().st_size for file in folder.iterdir())


def print_vocabularies(folder: Path, languages: Sequence[str]) -> None:
    data = Path(os.environ["VOCAP_DATA"]) / "text" / "mono"
    for language in languages:
        with lzma.open(data / f"{language}.txt.xz") as file:
            whole, heldout = split_heldout(file.read().decode().split("\n")[:-1])
        stored = write_shards(folder / language, whole)
        found = sample_corpus(
            [folder / language],
            language=language,
            format="parquet:text",
            scan_bytes=stored // SHARE,
        )
        sampled = [*found.train, *found.heldout]
        limit = sum(len(line.encode()) for line in sampled)
        texts = {
            "sample of all shards": sampled,
            "beginning": first_bytes(whole, limit),
            "lines drawn": first_bytes(random.Random(2).sample(whole, len(whole)), limit),
        }
        alp, pieces = measure_vocabulary(whole, heldout)
        print(f"{language}: {len(whole):,} lines, vocabulary of {SIZE}; whole: ALP {alp:.3f}")
        for name, lines in texts.items():
            own_alp, own = measure_vocabulary(lines, heldout)
            print(
                f"  {name:21} ALP {own_alp:9.3f} ({own_alp - alp:+.3f}), "
                f"{len(pieces & own) / len(pieces):.1%} of its pieces; {len(lines):,} lines"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    amounts = commands.add_parser("amounts")
    amounts.add_argument("--languages", type=int, default=86)
    amounts.add_argument("--shards", type=int, default=40)
    amounts.add_argument("--measured", type=int, default=86, help="languages that are sampled")
    estimates = commands.add_parser("estimates")
    estimates.add_argument("--corpora", type=int, default=100)
    vocabularies = commands.add_parser("vocabularies")
    vocabularies.add_argument("languages", nargs="*", default=["zh", "fi", "en", "th"])
    chosen = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        if chosen.command == "amounts":
            print_amounts(Path(name), chosen.languages, chosen.shards, chosen.measured)
        elif chosen.command == "estimates":
            print_estimates(Path(name), chosen.corpora)
        else:
            print_vocabularies(Path(name), chosen.languages)
    print(f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
