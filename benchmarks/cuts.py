"""Bytes a token by the cut before merging: a training a cut, measured on other text by
language.

    python benchmarks/cuts.py TEXT HELDOUT --languages en,hi,... [--total 20000]
        [--digits 1]

TEXT and HELDOUT are folders with a {language}.txt.xz each. Languages have equal
weights. Prints a row a language, and the mean of each group: Latin script; scripts with
vowel signs (marks are 5 percent of the characters); scripts without spaces; others.
"""

import argparse
import lzma
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path
from statistics import fmean

from vocap.tokenizer_files import SPLITS
from vocap.tokenizer_files.encoders import load_encoder

GROUPS = ("Latin", "vowel signs", "no spaces", "others")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("text", type=Path)
    parser.add_argument("heldout", type=Path)
    parser.add_argument("--languages", required=True)
    parser.add_argument("--total", type=int, default=20_000)
    parser.add_argument("--digits")
    options = parser.parse_args()
    codes = options.languages.split(",")
    heldout = {code: read(options.heldout / f"{code}.txt.xz") for code in codes}
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = ["language\tn"]
        for code in codes:
            (folder / code).mkdir()
            lines = read(options.text / f"{code}.txt.xz")
            (folder / code / "train.txt").write_text("\n".join(lines) + "\n", "utf-8", newline="\n")
            rows.append(f"{code}\t1000")
        (folder / "weights.tsv").write_text("\n".join(rows) + "\n", "utf-8")
        for split in SPLITS:
            command = [
                "bpe",
                "--corpora",
                folder,
                "--weights",
                folder / "weights.tsv",
                "--preset",
                "lossless",
            ]
            command += ["--total", options.total, "--split", split, "-o", folder / split]
            command += ["--digits", options.digits] if options.digits else []
            call = (sys.executable, "-m", "vocap", *map(str, command))
            subprocess.run(call, check=True, stderr=subprocess.DEVNULL)
            encoder = load_encoder(folder / split)
            for code, lines in heldout.items():
                size = sum(len(line.encode()) for line in lines)
                found[split, code] = size / sum(map(len, encoder.encode_batch(lines)))
    # a row a language, then the groups
    print("language\tgroup", *SPLITS, sep="\t")
    groups = {code: group_of(lines) for code, lines in heldout.items()}
    for code in sorted(codes, key=lambda code: (GROUPS.index(groups[code]), code)):
        print(code, groups[code], *(f"{found[split, code]:.3f}" for split in SPLITS), sep="\t")
    for group in GROUPS:
        inside = [code for code in codes if groups[code] == group]
        if inside:
            means = (fmean(found[split, code] for code in inside) for split in SPLITS)
            print(f"mean of {len(inside)}", group, *(f"{mean:.3f}" for mean in means), sep="\t")


def read(path: Path) -> list[str]:
    """The lines of an xz file."""
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


def group_of(lines: list[str]) -> str:
    """One of GROUPS, by the characters of the text."""
    text = "".join(lines)
    if sum(unicodedata.category(one).startswith("M") for one in text) > 0.05 * len(text):
        return "vowel signs"
    letters = [one for one in text if one.isalpha()]
    if sum(unicodedata.name(one, "").startswith("LATIN") for one in letters) > 0.5 * len(letters):
        return "Latin"
    return "no spaces" if text.count(" ") < 0.05 * len(text) else "others"


if __name__ == "__main__":
    main()
