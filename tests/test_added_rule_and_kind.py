"""A rule of allocation and a kind of tokenizer from outside the package, each one
entry, run by the commands.
"""

import json

import pytest

from tests.commands import run_python
from tests.made_text import write_lines
from tests.tokenizers.factories import make_lines
from vocap.files.io import read_object, read_tsv, write_tsv
from vocap.report.page.figures import PALETTE

# Runs commands, each a line, after a user's module has added its entries.
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

        from vocap.tokenizer_files.layout import Contents, build_model, round_scores
        from vocap.tokenizers.trained import as_trained
        from vocap.unigram.sentencepiece_trainer import train
        from vocap.unigram.training_text import count_characters
        from sentencepiece import sentencepiece_model_pb2

        counts, _ = count_characters(text)
        best = [character for character, _ in counts.most_common(self.total - 5)]
        scores = round_scores(np.log([counts[character] / counts.total() for character in best]))
        normalizer = sentencepiece_model_pb2.ModelProto.FromString(train(["a"], 5)).normalizer_spec
        as_trained(self.kind, build_model(Contents(best, scores), normalizer), {}).write(out)


KINDS["characters"] = Characters

from vocap.cli import run

for line in sys.stdin:
    sys.argv = line.split()
    if sys.argv[0] == "build":
        Characters(kind="characters", total=60).build(*sys.argv[1:])
    elif sys.argv[0] == "copy":
        shutil.copytree(*sys.argv[1:], dirs_exist_ok=True)
    elif sys.argv[0] == "load":
        from vocap.config import load, read_files
        settings = load(read_files(sys.argv[1:]))
        entry = settings.tokenizers["c"]
        rule = settings.allocation["u"].rule
        print(json.dumps([entry.rows(settings), entry.label, rule]))
    elif run():
        sys.exit(1)
'''


def run_extended(folder, commands: str) -> str:
    """Standard output of command lines, run in a folder by a Python that has the entries."""
    return run_python(PROGRAM, commands, folder).stdout


@pytest.fixture
def folder(tmp_path):
    for language, seed in (("en", 1), ("ka", 2)):
        for name, lines in (("train", 300), ("heldout", 40)):
            path = tmp_path / "corpora" / language / f"{name}.txt"
            write_lines(path, make_lines(language, lines, seed))
    write_tsv(tmp_path / "weights.tsv", ("language", "n"), [("en", 3), ("ka", 1)])
    return tmp_path


def test_a_rule_from_outside_is_run_by_the_commands(folder):
    commands = """\
vocap ladder corpora/en/train.txt -o v/en --sizes=60,100,140
vocap ladder corpora/ka/train.txt -o v/ka --sizes=60,100,140
vocap allocate --rule=uniform --vocabularies=v --weights=weights.tsv --total=210 -o uniform
vocap allocate --rule=paper --vocabularies=v --weights=weights.tsv --total=210 -o paper
vocap fit --allocation=uniform --vocabularies=v --weights=weights.tsv -o t
"""
    printed = run_extended(folder, commands)
    assert {row["size"] for row in read_tsv(folder / "uniform/allocation.tsv")} == {"100"}
    assert "uniform: F = " in printed and "rule uniform instead: F = " in printed
    summary = read_object(folder / "paper" / "summary.json", "run again")
    assert [other["rule"] for other in summary["other_rules"]] == ["uniform"]
    assert read_object(folder / "t" / "description.json", "run again")["total"] <= 210


CONFIGURATION = """\
languages: [en, ka]
corpora: {source: own, sources: {own: {path: "corpora/{lang}/train.txt"}}}
allocation: {u: {total: 300, rule: uniform}}
tokenizers: {c: {kind: characters, total: 60}}
"""


def test_a_kind_from_outside_is_configured_run_and_reported(folder):
    (folder / "own.yaml").write_text(CONFIGURATION, "utf-8")
    commands = """\
load own.yaml
build corpora/en/train.txt results/tokenizers/c
vocap export results/tokenizers/c/sentencepiece.model -o results/tokenizers/c/huggingface
vocap evaluate --tokenizer results/tokenizers/c --corpora corpora --tables tables
copy tables/c results/tokenizers/c
copy results/tokenizers/c results/tokenizers/d
vocap report --results=results --settings-json={"languages":["en","ka"]} --output=report
"""
    printed = run_extended(folder, commands)
    assert json.loads(printed.splitlines()[0]) == [60, "characters", "uniform"]
    rows = list(read_tsv(folder / "tables/c/evaluation.tsv"))
    assert [row["language"] for row in rows] == ["en", "ka"]
    assert float(rows[0]["unk_rate"]) < 0.1 < float(rows[1]["unk_rate"])
    # the report asks the class alone
    row = next(read_tsv(folder / "report/tables/comparison.tsv"))
    assert (row["kind"], row["regime"]) == ("characters", "single characters")
    row = next(read_tsv(folder / "report/tables/tokenizers.tsv"))
    assert row["method"] == "the most frequent characters"
    figures = (folder / "report/figures").glob("comparison-*-tokens-per-sentence.svg")
    assert PALETTE["accent"][0] in next(figures).read_text()
