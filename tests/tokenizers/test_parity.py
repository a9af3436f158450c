"""Parity finds what is wrong with a broken export, and nothing with a sound one."""

import json
import random
import shutil

import numpy as np
import pytest
from tokenizers import Tokenizer

from tests import commands
from tests.made_text import write_lines
from vocap.errors import VocapError
from vocap.files.io import read_tsv
from vocap.tokenizer_files.encoders import HuggingFaceEncoder
from vocap.tokenizer_files.export import export_unigram
from vocap.tokenizers.commands import parity
from vocap.tokenizers.parity import (
    PARITY_COLUMNS,
    TokenizerForms,
    choose_lines,
    lines_of_each,
    sampled_blocks,
)

from .scripts import make_lines, model


@pytest.fixture(scope="module")
def tokenizer_folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("tokenizer")
    (made / "sentencepiece.model").write_bytes(model().SerializeToString(deterministic=True))
    export_unigram(made / "sentencepiece.model", made / "huggingface")
    return made


@pytest.fixture
def folder(tmp_path, tokenizer_folder):
    """A tokenizer's folder and corpora of two languages, beside each other."""
    shutil.copytree(tokenizer_folder, tmp_path / "tokenizer")
    lines = sorted({line for line in make_lines(600, seed=3) if "<" not in line})
    for language, part in (("aa", lines[:200]), ("bb", lines[200:])):
        for name, kept in (("heldout", part[:50]), ("train", part[50:])):
            path = tmp_path / "corpora" / language / f"{name}.txt"
            write_lines(path, kept)
    return tmp_path


def run(folder, *options):
    arguments = ["--tokenizer", str(folder / "tokenizer"), "--corpora", str(folder / "corpora")]
    commands.run(parity, *arguments, "-o", folder / "parity.tsv", *options)
    return list(read_tsv(folder / "parity.tsv", PARITY_COLUMNS))


def change(folder, edit):
    path = folder / "tokenizer" / "huggingface" / "tokenizer.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    edit(content)
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def test_a_sound_export(folder):
    rows = run(folder)
    lines = {row["language"]: sum(1 for _ in all_lines(folder, row["language"])) for row in rows}
    assert lines == {"aa": 200, "bb": int(rows[1]["lines"])}
    assert [(row["identical"], row["share"], row["example"]) for row in rows] == [
        (row["lines"], "1.0", "") for row in rows
    ]


def all_lines(folder, language):
    for name in ("heldout", "train"):
        yield from (
            (folder / "corpora" / language / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        )


def only_precompiled(content):
    content["normalizer"]["normalizers"] = [
        step
        for step in content["normalizer"]["normalizers"]
        if step["type"] in ("Precompiled", "Prepend") or step.get("content") == "▁"
    ]


def other_scores(content):
    rng = random.Random(1)
    content["model"]["vocab"] = [
        [piece, score - 9 * rng.random()] for piece, score in content["model"]["vocab"]
    ]


@pytest.mark.parametrize(
    ("edit", "kind"), [(only_precompiled, "normaliser"), (other_scores, "score")]
)
def test_a_broken_export(folder, edit, kind):
    change(folder, edit)
    rows = run(folder)
    other = Tokenizer.from_file(str(folder / "tokenizer" / "huggingface" / "tokenizer.json"))
    own = TokenizerForms.load(folder / "tokenizer").processor
    for row in rows:
        lines = [line for line in all_lines(folder, row["language"]) if line]
        same = [
            own.encode(line) == other.encode(line, add_special_tokens=False).ids for line in lines
        ]
        assert int(row["lines"]) == len(lines) and int(row["identical"]) == sum(same) < len(lines)
        assert float(row["share"]) == sum(same) / len(lines)
        assert f"{kind} " in row["example"] and " | " in row["example"]
        example = next(line for line, equal in zip(lines, same, strict=True) if not equal)
        assert example[:60] in row["example"]


def test_kinds():
    proto = model()
    from vocap.tokenizer_files.export import build_tokenizer

    pair = TokenizerForms(proto, HuggingFaceEncoder(build_tokenizer(proto), 3))
    ids = pair.processor.encode("the café")
    assert pair.kind("the café", ids, [0, *ids]) == "special token"
    assert pair.kind("the café", ids, [*ids, 3]) == "unknown"
    assert pair.kind("the café", ids, ids[::-1]) == "tie"
    assert pair.kind("the café", ids, ids[:-1]) == "score"
    shown = pair.show("the café", ids, ids[:-1])
    assert shown.startswith("“the café”: ") and " | " in shown


def test_an_export_of_another_size(folder):
    change(folder, lambda content: content["model"]["vocab"].append(["extra", -9.0]))
    with pytest.raises(
        VocapError, match=r"the export has .* ids, the model .*; run vocap export again"
    ):
        run(folder)
    assert not (folder / "parity.tsv").exists()


def test_no_export(folder):
    (folder / "tokenizer" / "huggingface" / "tokenizer.json").unlink()
    with pytest.raises(VocapError, match=r"tokenizer.json: no such file; run vocap export first"):
        run(folder)


def test_a_language_without_lines(folder):
    for name in ("heldout", "train"):
        (folder / "corpora" / "aa" / f"{name}.txt").write_text("")
    assert run(folder, "--languages", "aa") == [
        {"language": "aa", "lines": "0", "identical": "0", "share": "", "example": ""}
    ]


def test_the_sample(tmp_path):
    folder = tmp_path / "xx"
    folder.mkdir()
    (folder / "heldout.txt").write_text("".join(f"h{number}\n" for number in range(30)))
    (folder / "train.txt").write_text("".join(f"t{number}\n" for number in range(500)))

    def lines(sample, seed=1):
        return [line for block in sampled_blocks(folder, sample, seed) for line in block]

    everything = [*(f"h{number}" for number in range(30)), *(f"t{number}" for number in range(500))]
    drawn = lines(130)
    assert (
        len(set(drawn)) == 130 == len(drawn)
        and [line for line in everything if line in drawn] == drawn
    )
    assert {line[0] for line in drawn} == {"h", "t"}
    assert lines(130) == drawn != lines(130, seed=2)
    assert lines(530) == lines(10_000) == everything
    assert [lines_of_each(number) for number in (1, 4, 9, 10, 86)] == [
        10_000,
        2500,
        1111,
        1000,
        1000,
    ]


def test_chosen_lines_are_uniform():
    counts = np.zeros(20)
    for seed in range(2000):
        counts[choose_lines(20, 5, seed, "xx")] += 1
    assert abs(counts - 500).max() < 5 * (2000 * 0.25 * 0.75) ** 0.5
    assert list(choose_lines(5, 9, 0, "xx")) == [0, 1, 2, 3, 4]
    assert list(choose_lines(100, 9, 0, "xx")) != list(choose_lines(100, 9, 0, "yy"))
