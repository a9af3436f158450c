"""The tokenizers of the clients' matrix, made by the commands of `vocap`, and the lines
on which clients are compared.
"""

import lzma
import os
import random
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from tests.commands import run
from tests.made_text import draw_sentences, write_lines
from vocap.adapt.commands import extend, trim
from vocap.bpe.model_file import is_bpe
from vocap.errors import VocapError
from vocap.tokenizer_files.hard_strings import HARD
from vocap.tokenizers.commands import bpe, export, joint

HERE = Path(__file__).parent
SETTINGS: dict[str, Any] = yaml.safe_load((HERE / "tokenizers.yaml").read_text("utf-8"))
COMMANDS = {"joint": joint, "bpe": bpe}
NAMES = list(SETTINGS["tokenizers"])
VARIANTS = ("made", "trimmed", "extended")

TRAINED, COMPARED = 400, 50  # lines of a language that tokenizers learn, and that clients read

LETTERS, YOUNG = SETTINGS["letters"], SETTINGS["young"]


def languages() -> list[str]:
    """The languages whose text tokenizers learn, without the one that is added."""
    if os.environ.get("VOCAP_DATA"):
        return SETTINGS["languages"]
    return [code for code in LETTERS if code != SETTINGS["extended"]]


def text_of(language: str) -> list[str]:
    """Lines of a language: FLORES where VOCAP_DATA has it, else made text."""
    if folder := os.environ.get("VOCAP_DATA"):
        path = Path(folder, "text", "flores", f"{language}.txt.xz")
        with lzma.open(path, "rt", encoding="utf-8") as file:
            return file.read().splitlines()
    space = "" if language in ("ja", "zh", "th") else " "
    sentences = draw_sentences(language, LETTERS[language], space)
    return list(islice(sentences, TRAINED + COMPARED))


def compared_lines() -> list[str]:
    """The hard strings, lines that no tokenizer has learnt, of all languages, and letters of
    younger versions of Unicode.
    """
    rng = random.Random(0)
    codes = [*languages(), SETTINGS["extended"]]
    text = [line for code in codes for line in text_of(code)[TRAINED : TRAINED + COMPARED]]
    pieces = [piece for piece in HARD if piece]
    mixed = ["".join(rng.choices(pieces, k=rng.randint(2, 5))) for _ in range(100)]
    return [*HARD, *mixed, *text, *YOUNG]


def make_all(folder: Path) -> dict[str, dict[str, str]]:
    """Every tokenizer of the matrix, made in `folder`: its name, and the files of each
    form (huggingface, sentencepiece, tiktoken, gguf) that it has.
    """
    codes = languages()
    for code in codes:
        # merges of young letters show where a client cuts them otherwise
        young = YOUNG * TRAINED if code == codes[0] else []
        lines = [*text_of(code)[:TRAINED], *young]
        write_lines(folder / "corpora" / code / "train.txt", lines)
        write_lines(folder / "corpora" / code / "heldout.txt", text_of(code)[TRAINED:][:COMPARED])
    added = write_lines(folder / "added.txt", text_of(SETTINGS["extended"])[:TRAINED])
    weights = [f"{code}\t{TRAINED}" for code in codes]
    write_lines(folder / "weights.tsv", ["language\tn", *weights])
    made = {}
    for name in NAMES:
        for path in (make(folder, name), *adapted(folder, name, added)):
            made[path.name] = forms_of(path)
    return made


def make(folder: Path, name: str) -> Path:
    """The tokenizer `name` of the configuration, and its export."""
    entry, out = SETTINGS["tokenizers"][name], folder / name
    words = ["--corpora", folder / "corpora", "--weights", folder / "weights.tsv"]
    run(
        COMMANDS[entry["command"]],
        *words,
        *("--total", entry["total"], *entry.get("options", ()), "-o", out),
    )
    options = entry.get("options", [])
    layout = options[options.index("--layout") :][:2] if "--layout" in options else []
    run(export, trained_file(out), *layout, "-o", out / "huggingface")
    return out


def adapted(folder: Path, name: str, added: Path) -> tuple[Path, Path]:
    """The tokenizer, cut to half of the languages, and with one language more."""
    kept = languages()[::2]
    trimmed, extended = folder / f"{name}-trimmed", folder / f"{name}-extended"
    corpora = ["--corpora", folder / "corpora"]
    run(trim, folder / name, "--languages", ",".join(kept), *corpora, "-o", trimmed)
    words = ["--language", SETTINGS["extended"], "--train", added, "--pieces", 200]
    run(extend, folder / name, *words, *corpora, "-o", extended)
    return trimmed, extended


def trained_file(folder: Path) -> Path:
    """The file of a tokenizer's folder that holds its ids: of SentencePiece or of merges."""
    definition = folder / "tokenizer.json"
    return definition if is_bpe(folder) else folder / "sentencepiece.model"


def forms_of(folder: Path) -> dict[str, str]:
    """The forms of a tokenizer, those that `vocap export` writes for other programs
    among them: it refuses tokenizers that a form cannot hold.
    """
    model = trained_file(folder)
    forms = {"huggingface": str(folder / "huggingface")}
    if model.suffix == ".model":
        forms["sentencepiece"] = str(model)
    for form in ("tiktoken", "gguf"):
        out = folder / form
        with suppress(VocapError):
            run(export, model, "--format", form, "-o", out)
            forms[form] = str(out)
    return forms
