"""Memory and time of a command as the text grows, beside other trainers.

    python benchmarks/scale.py de=TEXT [ja=TEXT ...] -o OUT [--megabytes 100,1000]
        [--commands bpe,joint,pieces,ladder] [--memory none,3000] [--total 100000]

Of each TEXT (a few MB), OUT gets made text of the same language (benchmarks/made_text.py),
of equal sizes that add up to each number of `--megabytes`. Each command runs in processes
of its own, once for each `--memory` that it is given. `ladder` takes the first language
alone, at 50 sizes; `pieces` is a trunk and an allocation, after ladders of two sizes that
are not measured. Others: `BpeTrainer` of tokenizers on the same words, `ffbpe` and
`sentencepiece` (`train_extremely_large_corpus`), where they are installed.

Prints, and writes to OUT/scale.tsv: MB of text, the peak of anonymous memory of all
processes in MB (sampled ten times a second; pages of mapped files do not count), the
most space of temporary files, processor seconds, elapsed seconds. A row that is there is
not made again. Linux only.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

HERE = Path(__file__).parent
VOCAP = [sys.executable, "-m", "vocap"]
COLUMNS = ["command", "languages", "mb", "memory", "peak_mb", "disk_mb", "cpu_s", "s"]
THEIRS = {
    "BpeTrainer": """
import sys
from vocap.bpe.words import byte_characters
from vocap.text_files.records import read_lines
from vocap.tokenizer_files.cuts import Cut
from tokenizers import Tokenizer, models, trainers
total, *paths = sys.argv[1:]
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = Cut("words", digits="1").pre_tokenizer()
trainer = trainers.BpeTrainer(
    vocab_size=int(total), initial_alphabet=sorted(byte_characters()), show_progress=False
)
tokenizer.train_from_iterator((line for path in paths for line in read_lines(path)), trainer)
""",
    "ffbpe": """
import sys
from ffbpe import train_bpe
total, *paths = sys.argv[1:]
train_bpe((line for path in paths for line in open(path, encoding="utf-8")), vocab_size=int(total))
""",
    "sentencepiece": """
import sys, sentencepiece
total, *paths = sys.argv[1:]
sentencepiece.SentencePieceTrainer.train(
    input=paths, model_prefix="trained", vocab_size=int(total), num_threads=1,
    train_extremely_large_corpus=True, minloglevel=2,
)
""",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts", nargs="+", metavar="LANG=TEXT")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--megabytes", default="100")
    parser.add_argument("--commands", default="bpe,joint,ladder")
    parser.add_argument("--memory", default="none", help="MB, or none for no limit")
    parser.add_argument("--total", type=int, default=100_000)
    options = parser.parse_args()
    texts = dict(text.split("=", 1) for text in options.texts)
    table = options.output / "scale.tsv"
    rows = (
        pd.read_csv(table, sep="\t", dtype={"memory": str}, keep_default_na=False).to_dict(
            "records"
        )
        if table.exists()
        else []
    )
    for megabytes in map(int, options.megabytes.split(",")):
        corpora = make_corpora(options.output, texts, megabytes)
        for command in options.commands.split(","):
            limits = options.memory.split(",") if command not in THEIRS else ["none"]
            for memory in limits:
                spoken = list(texts)[:1] if command == "ladder" else list(texts)
                values = (command, ",".join(spoken), megabytes, memory)
                if any(tuple(row.values())[: len(values)] == values for row in rows):
                    continue
                if command == "pieces":
                    make_vocabularies(corpora, spoken)
                words = words_of(command, corpora, spoken, options.total, memory)
                found = measure(words, options.output)
                rows.append(dict(zip(COLUMNS, (*values, *found), strict=True)))
                pd.DataFrame(rows).to_csv(table, sep="\t", index=False)
    print(pd.DataFrame(rows).to_string(index=False))


def make_corpora(output: Path, texts: dict[str, str], megabytes: int) -> Path:
    """The folder with {language}/train.txt and weights.tsv, made unless it is there."""
    folder = output.absolute() / f"corpora-{megabytes}"
    weights = folder / "weights.tsv"
    if weights.exists():
        return folder
    for language, text in texts.items():
        (folder / language).mkdir(parents=True, exist_ok=True)
        size = str(megabytes / len(texts))
        made = [str(HERE / "made_text.py"), text, size, "-o", str(folder / language / "train.txt")]
        subprocess.run([sys.executable, *made], check=True)
    lines = {language: count_lines(folder / language / "train.txt") for language in texts}
    rows = "".join(f"{language}\t{count}\n" for language, count in lines.items())
    weights.write_text("language\tn\n" + rows, "utf-8")
    return folder


def make_vocabularies(corpora: Path, languages: list[str]) -> None:
    """The folder vocabularies/{language} in that of the corpora, made unless it is there."""
    for language in languages:
        folder = corpora / "vocabularies" / language
        if not (folder / "curve.tsv").exists():
            train = str(corpora / language / "train.txt")
            words = [
                "ladder",
                train,
                "--sizes",
                "1000,10000",
                "-o",
                str(folder),
                "--memory",
                "3000",
            ]
            subprocess.run([*VOCAP, *words], check=True, stdout=subprocess.DEVNULL)


def count_lines(path: Path) -> int:
    with open(path, "rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def words_of(
    command: str, corpora: Path, languages: list[str], total: int, memory: str
) -> list[str]:
    """The command line that trains on the corpora, with files in the working folder."""
    trains = [str(corpora / language / "train.txt") for language in languages]
    if command in THEIRS:
        return [sys.executable, "-c", THEIRS[command], str(total), *trains]
    limit = [] if memory == "none" else ["--memory", memory]
    if command == "ladder":
        return [*VOCAP, "ladder", trains[0], "--sizes", "1000:50000:1000", "-o", "made", *limit]
    given = ["--corpora", str(corpora), "--weights", str(corpora / "weights.tsv")]
    if command == "pieces":
        given += ["--vocabularies", str(corpora / "vocabularies"), *limit]
        trunk = [*VOCAP, "trunk", *given, "--largest", str(total), "-o", "trunk.npz"]
        rule = ["--rule", "pieces", "--trunk", "trunk.npz", "--total", str(total), "-o", "made"]
        return [
            "sh",
            "-c",
            f"{shlex.join(trunk)} && {shlex.join([*VOCAP, 'allocate', *given, *rule])}",
        ]
    return [*VOCAP, command, *given, "--total", str(total), "-o", "made", *limit]


def measure(words: list[str], output: Path) -> tuple[float, ...]:
    """Run a command line in a folder that is removed; the last four of `COLUMNS`."""
    used()
    with tempfile.TemporaryDirectory(dir=output) as folder:
        environment = {**os.environ, "TMPDIR": folder, "RAYON_NUM_THREADS": "1"}
        began, peak, disk = time.perf_counter(), 0, 0
        process = subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
        while process.poll() is None:
            processes = family(process.pid)
            peak = max(peak, sum(map(anonymous_kb, processes)))
            disk = max(disk, stored_bytes(Path(folder), processes))
            time.sleep(0.1)
        seconds = time.perf_counter() - began
    if process.returncode:
        sys.exit(f"{' '.join(words[:4])}: status {process.returncode}")
    return peak // 1000, disk // 10**6, used(), round(seconds)


def used() -> float:
    """Processor seconds of the processes that have ended since the last call."""
    times = os.times()
    total = times.children_user + times.children_system
    found, used.before = total - used.before, total
    return round(found, 1)


used.before = 0.0


def family(process: int) -> list[int]:
    """A process and all that it has started."""
    found = [process]
    for one in found:
        for task in Path("/proc", str(one), "task").glob("*/children"):
            try:
                found += map(int, task.read_text().split())
            except OSError:  # it has ended
                continue
    return found


def stored_bytes(folder: Path, processes: list[int]) -> int:
    """The space of the files in a folder, and of those of it without a name that processes
    hold open.
    """
    found = {}
    held = (path for one in processes for path in Path("/proc", str(one), "fd").glob("*"))
    for path in (*folder.rglob("*"), *held):
        try:
            if path.is_relative_to(folder) or str(folder) in os.readlink(path):
                status = path.stat()
                found[status.st_ino] = status.st_blocks * 512
        except OSError:  # it is closed, or gone
            continue
    return sum(found.values())


def anonymous_kb(process: int) -> int:
    """Anonymous memory of a process; 0 when it has ended."""
    try:
        status = Path("/proc", str(process), "status").read_text()
    except OSError:
        return 0
    return int(status.partition("RssAnon:")[2].split()[0]) if "RssAnon:" in status else 0


if __name__ == "__main__":
    main()
