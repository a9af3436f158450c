"""What `rule: pieces` takes as the texts grow, and as the languages do.

    python benchmarks/pieces_growth.py FOLDER -o OUT [--lines
        125000,250000,500000,1000000] [--languages 8]
        [--per-language 5800] [--threads 2]

FOLDER holds {language}.txt (long ones: benchmarks/made_text.py). For each number of
lines the beginnings of the first texts become the corpora, T is `--per-language` times
the languages (500,000 / 86 = 5,800), and `vocap trunk` and `vocap allocate` run on them
in processes of their own; the curves are those of the first 20,000 lines. Prints, and
writes to OUT/growth.tsv, for each number of lines: MB of text, and of both commands
processor seconds, elapsed seconds and peak MB. Rows that are there are not made again.
Linux only.
"""

import argparse
import os
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import pandas as pd

CURVE_LINES, CURVE_SIZES = 20_000, "1000:5000:1000"
CALL = [sys.executable, "-c", "from vocap.command import main; main()"]


def timed(*words: object) -> dict[str, float]:
    """Processor and elapsed seconds, and peak MB, of a command."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [*CALL, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    said = process.stderr.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(said)
    processor = used.ru_utime + used.ru_stime
    return {"cpu_s": processor, "s": time.perf_counter() - began, "mb": used.ru_maxrss / 1024}


def corpora(texts: list[Path], lines: int, folder: Path) -> int:
    """The first lines of every text as {language}/train.txt, and weights.tsv; bytes of
    them.
    """
    size = 0
    for text in texts:
        train = folder / text.stem / "train.txt"
        train.parent.mkdir(parents=True, exist_ok=True)
        with open(text, "rb") as source, open(train, "wb") as target:
            target.writelines(islice(source, lines))
        size += train.stat().st_size
    rows = "".join(f"{text.stem}\t{lines}\tlines\n" for text in texts)
    (folder / "weights.tsv").write_text("language\tn\tsource\n" + rows, encoding="utf-8")
    return size


def curves(texts: list[Path], out: Path) -> Path:
    """A curve of a little text for every language, without its table of characters: it
    is of another text.
    """
    corpora(texts, CURVE_LINES, out / "little")
    for text in texts:
        folder = out / "vocabularies" / text.stem
        if not (folder / "curve.tsv").exists():
            timed(
                "ladder",
                out / "little" / text.stem / "train.txt",
                "-o",
                folder,
                "--sizes",
                CURVE_SIZES,
            )
            (folder / "characters.tsv").unlink(missing_ok=True)
    return out / "vocabularies"


def measure(texts: list[Path], lines: int, options: argparse.Namespace) -> dict:
    out = options.output
    vocabularies = curves(texts, out)
    size = corpora(texts, lines, out / "corpora")
    trunk = out / "trunk.npz"
    inputs = ("--vocabularies", vocabularies, "--weights", out / "corpora" / "weights.tsv")
    inputs += ("--corpora", out / "corpora", "--threads", options.threads)
    row = {"languages": len(texts), "lines": lines, "mb_of_text": size / 1e6}
    row |= {f"trunk_{name}": value for name, value in timed("trunk", *inputs, "-o", trunk).items()}
    total = options.per_language * len(texts)
    call = (
        "allocate",
        *inputs,
        "--rule",
        "pieces",
        "--trunk",
        trunk,
        "--total",
        total,
        "-o",
        out / "allocation",
    )
    return (
        row | {"total": total} | {f"branch_{name}": value for name, value in timed(*call).items()}
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lines", default="125000,250000,500000,1000000")
    parser.add_argument("--languages", type=int, default=8)
    parser.add_argument("--per-language", type=int, default=5800, help="ids")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    texts = sorted(options.folder.glob("*.txt"))[: options.languages]
    table = options.output / "growth.tsv"
    options.output.mkdir(parents=True, exist_ok=True)
    found = pd.read_csv(table, sep="\t").to_dict("records") if table.exists() else []
    for lines in map(int, options.lines.split(",")):
        if not any((row["languages"], row["lines"]) == (len(texts), lines) for row in found):
            found.append(measure(texts, lines, options))
            pd.DataFrame(found).round(1).to_csv(table, sep="\t", index=False)
    print(pd.DataFrame(found).round(1).to_string(index=False))


if __name__ == "__main__":
    main()
