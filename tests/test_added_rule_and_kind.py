"""A rule of allocation and a kind of tokenizer from outside the package, each one
entry, run by the commands.
"""

import json
import subprocess
import sys

import pytest

from tests.tokenizers.factories import make_lines
from vocap.files.io import read_object, read_tsv, write_tsv
from vocap.report.page.figures import PALETTE

# Runs commands, each a line of JSON, after a user's module has added its entries.
PROGRAM = '''
import json, shutil, sys
from typing import Literal

from pydantic import Field

from vocap.allocation.algorithm_1 import SizeChoice, Union
from vocap.allocation.rules import RULES, Rule
from vocap.tokenizers.settings import KINDS, Kind


def second_size(problem, settings):
    ranks = (1,) * len(problem.curves)
    size = Union(problem, ranks).size
    return SizeChoice(ranks, size, ranks, size, None)


RULES["uniform"] = Rule(
    "uniform", "uniform", "the second size of every language", choose=second_size
)


class Characters(Kind):
    """The characters of a text, each as likely as its share."""

    label = "characters"
    colour = "accent"
    shape = "cross"
    kind: Literal["characters"]
    total: int = Field(ge=6, description="T, special tokens included")

    @classmethod
    def regime(cls, settings):
        return "single characters"

    @classmethod
    def selection(cls, settings, weights):
        return ("the most frequent characters",)

    def rows(self, settings):
        return self.total

    def mistakes(self, settings, languages):
        if not languages:
            yield ".total: there is no text"

    def build(self, text, out):
        import numpy as np

        from vocap.tokenizer_files.layout import write_as_trained
        from vocap.tokenizer_files.layout import Contents, build_model, round_scores
        from vocap.unigram.sentencepiece_trainer import train
        from vocap.unigram.training_text import count_characters
        from sentencepiece import sentencepiece_model_pb2

        counts, _ = count_characters(text)
        best = [character for character, _ in counts.most_common(self.total - 5)]
        scores = round_scores(np.log([counts[character] / counts.total() for character in best]))
        normalizer = sentencepiece_model_pb2.ModelProto.FromString(train(["a"], 5)).normalizer_spec
        write_as_trained(out, self.kind, build_model(Contents(best, scores), normalizer), {})


KINDS["characters"] = Characters

from vocap.cli import run

for line in sys.stdin:
    sys.argv = json.loads(line)
    if sys.argv[0] == "build":
        Characters(kind="characters", total=60).build(*sys.argv[1:])
    elif sys.argv[0] == "copy":
        shutil.copytree(*sys.argv[1:], dirs_exist_ok=True)
    elif sys.argv[0] == "load":
        from vocap.config import load
        settings = load(json.loads(sys.argv[1]))
        entry = settings.tokenizers["c"]
        rule = settings.allocation["u"].rule
        print(json.dumps([entry.rows(settings), entry.label, rule]))
    elif run():
        sys.exit(1)
'''


def run_extended(*commands: list) -> str:
    """Standard output of the commands, in a Python that has the entries."""
    lines = "".join(json.dumps(list(map(str, command))) + "\n" for command in commands)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=lines, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def corpora(tmp_path):
    for language, seed in (("en", 1), ("ka", 2)):
        folder = tmp_path / "corpora" / language
        folder.mkdir(parents=True)
        for name, lines in (("train", 300), ("heldout", 40)):
            text = "".join(f"{line}\n" for line in make_lines(language, lines, seed))
            (folder / f"{name}.txt").write_text(text, "utf-8")
    write_tsv(tmp_path / "weights.tsv", ("language", "n"), [("en", 3), ("ka", 1)])
    return tmp_path / "corpora"


def test_a_rule_from_outside_is_run_by_the_commands(corpora, tmp_path):
    shared = [f"--vocabularies={tmp_path}/v", f"--weights={tmp_path}/weights.tsv"]
    ladders = [
        [
            "vocap",
            "ladder",
            f"{corpora}/{code}/train.txt",
            "-o",
            f"{tmp_path}/v/{code}",
            "--sizes=60,100,140",
        ]
        for code in ("en", "ka")
    ]
    printed = run_extended(
        *ladders,
        [
            "vocap",
            "allocate",
            "--rule=uniform",
            *shared,
            "--total=210",
            "-o",
            f"{tmp_path}/uniform",
        ],
        ["vocap", "allocate", "--rule=paper", *shared, "--total=210", "-o", f"{tmp_path}/paper"],
        ["vocap", "fit", f"--allocation={tmp_path}/uniform", *shared, "-o", f"{tmp_path}/t"],
    )
    assert {
        row["size"]
        for row in read_tsv(tmp_path / "uniform" / "allocation.tsv", ("language", "size"))
    } == {"100"}
    assert "uniform: F = " in printed and "rule uniform instead: F = " in printed
    summary = read_object(tmp_path / "paper" / "summary.json", "run again")
    assert [other["rule"] for other in summary["other_rules"]] == ["uniform"]
    assert read_object(tmp_path / "t" / "description.json", "run again")["total"] <= 210


def test_a_kind_from_outside_is_configured_run_and_reported(corpora, tmp_path):
    made = tmp_path / "results" / "tokenizers" / "c"
    model = made / "sentencepiece.model"
    config = {
        "languages": ["en", "ka"],
        "corpora": {
            "source": "own",
            "sources": {"own": {"path": str(corpora / "{lang}" / "train.txt")}},
        },
        "allocation": {"u": {"total": 300, "rule": "uniform"}},
        "tokenizers": {"c": {"kind": "characters", "total": 60}},
    }
    printed = run_extended(
        ["load", json.dumps(config)],
        ["build", corpora / "en" / "train.txt", model.parent],
        ["vocap", "export", model, "-o", model.parent / "huggingface"],
        [
            "vocap",
            "evaluate",
            "--tokenizer",
            model.parent,
            "--corpora",
            corpora,
            "--tables",
            tmp_path / "tables",
        ],
        ["copy", tmp_path / "tables" / "c", made],
        ["copy", made, made.with_name("d")],
        [
            "vocap",
            "report",
            f"--results={tmp_path}/results",
            '--settings-json={"languages": ["en", "ka"]}',
            f"--output={tmp_path}/report",
        ],
    )
    assert json.loads(printed.splitlines()[0]) == [60, "characters", "uniform"]
    rows = list(
        read_tsv(
            tmp_path / "tables" / "c" / "evaluation.tsv",
            ("language", "chars_per_token", "unk_rate"),
        )
    )
    assert [row["language"] for row in rows] == ["en", "ka"]
    assert float(rows[0]["unk_rate"]) < 0.1 < float(rows[1]["unk_rate"])
    # the report asks the class alone
    row = next(read_tsv(tmp_path / "report/tables/comparison.tsv"))
    assert (row["kind"], row["regime"]) == ("characters", "single characters")
    row = next(read_tsv(tmp_path / "report/tables/tokenizers.tsv"))
    assert row["method"] == "the most frequent characters"
    figures = (tmp_path / "report/figures").glob("comparison-*-tokens-per-sentence.svg")
    assert PALETTE["accent"][0] in next(figures).read_text()
