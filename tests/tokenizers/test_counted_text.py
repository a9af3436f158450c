"""Trainings on counts of a text give the bytes of trainings on the text itself."""

from pathlib import Path

import pytest

from tests.bpe.texts import CODE
from tests.commands import caller
from tests.made_text import write_lines
from tests.tokenizers.factories import make_lines

ODD = [*CODE, "<s>a</s>", "a <unk> b", "x\u2581y \u2581", "das <date> da", "\u2585", "", "b" * 5000]
LANGUAGES = {"en": 3, "ka": 1, "zh": 2}
LOSSLESS = "--preset lossless --user-defined-symbols <date>"
LADDER = "ladder {tmp}/{lang}/train.txt --heldout {tmp}/{lang}/heldout.txt --sizes 200,300"
MERGED = "--corpora {tmp} --weights {tmp}/weights.tsv --total"
PIECES = "--vocabularies {tmp}/ladders --corpora {tmp} --weights {tmp}/weights.tsv"
CALLS = {
    "ladder": [f"{LADDER} --coverage 0.98 -o OUT"],
    "ladder of symbols": [f"{LADDER} --coverage 1 {LOSSLESS} -o OUT"],
    "joint": [f"joint {MERGED} 700 --per character --characters {{tmp}} --coverage 0.99 -o OUT"],
    "joint of symbols": [f"joint {MERGED} 1000 {LOSSLESS} -o OUT"],
    "words": [f"bpe {MERGED} 900 --per character {LOSSLESS} -o OUT"],
    "spaces": [f"bpe {MERGED} 900 --split spaces -o OUT"],
    "gpt2": [f"bpe {MERGED} 900 --split gpt2 --preset lossless -o OUT"],
    "expression": [f"bpe {MERGED} 900 --regex \\S+|\\s+ --preset lossless -o OUT"],
    "parity": [f"bpe {MERGED} 900 --parity --development {{tmp}}/{{{{lang}}}}/heldout.txt -o OUT"],
    "pieces": [
        f"trunk {PIECES} --coverage 1 --largest 900 -o OUT.npz",
        f"allocate {PIECES} --coverage 1 --rule pieces --total 800 --trunk OUT.npz -o OUT",
    ],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Texts of three languages, and their ladders."""
    tmp = tmp_path_factory.mktemp("text")
    rows = [f"{code}\t{n}" for code, n in LANGUAGES.items()]
    write_lines(tmp / "weights.tsv", ["language\tn", *rows])
    for code in LANGUAGES:
        odd = [line.replace("\u2028", "") for line in ODD]
        write_lines(tmp / code / "train.txt", make_lines(code, 300) + odd)
        write_lines(tmp / code / "heldout.txt", make_lines(code, 40, seed=2) + odd[:-1])
        caller(tmp=tmp, lang=code)(f"{LADDER} --coverage 1 -o {{tmp}}/ladders/{code}")
    return tmp


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("name", CALLS)
def test_counts_give_the_bytes_of_the_text(folder, name):
    text = next(filter(CALLS[name][0].__contains__, [LOSSLESS, "--preset lossless"]), "")
    for code in LANGUAGES:
        caller(tmp=folder, lang=code)(
            "count {tmp}/{lang}/train.txt --heldout {tmp}/{lang}/heldout.txt"
            f" {text} -o {{tmp}}/{{lang}}/counts.npy"
        )
    call = caller(tmp=folder, lang="en" if name.startswith("ladder") else "{lang}")
    made = []
    for counts in ("", " --counts {tmp}/{lang}/counts.npy"):
        out = folder / "made" / f"{name.replace(' ', '-')}{len(counts)}"
        for line in CALLS[name]:
            call(line.replace("OUT", str(out)) + counts)
        made.append(files(out))
    assert made[0] == made[1]
    assert made[0]
