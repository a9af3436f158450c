"""Weights of rule pieces that follow tokens on parallel text: by definition, their
effect, and bad input.
"""

import json

import pytest
import sentencepiece

from tests.allocation.test_pieces_command import TOTALS, allocate, files_of, inputs
from tests.cases import read_cases, spoil
from tests.commands import ended
from tests.made_text import write_lines
from tests.vocabularies.factories import make_text
from vocap.allocation.inputs import gather
from vocap.allocation.language_state import LanguageStore
from vocap.allocation.pieces import (
    CORE,
    ROUNDS,
    DescentSource,
    branch,
    make_trunk,
    settle,
    texts_of_corpora,
)
from vocap.allocation.settings import Allocation
from vocap.files.io import read_tsv
from vocap.tables.sampling_probabilities import read_weights

pytestmark = pytest.mark.xdist_group("allocate-pieces")  # one worker trains the models of `trained`
POWER = 2.0


@pytest.fixture
def parallel(folder):
    """Lines by language; bb has no second one, so only its others count."""
    lines = {
        "aa": make_text("latin", 40, 7),
        "bb": make_text("latin", 40, 8),
        "cc": make_text("kana", 40, 9),
    }
    lines["bb"][1] = ""
    for code, text in lines.items():
        write_lines(folder / f"dev-{code}.txt", text)
    return lines


def fairly(folder, *options, output="fair"):
    development = ("--development", folder / "dev-{lang}.txt")
    return allocate(folder, "--token-fairness", POWER, *development, *options, output=output)


def rates(parallel, models):
    """Tokens a byte of the reference: aa, the first of those with the most lines."""
    found = {}
    for code, lines in parallel.items():
        pairs = [(line, other) for line, other in zip(lines, parallel["aa"], strict=True) if line]
        processor = sentencepiece.SentencePieceProcessor(model_proto=models[code])
        tokens = sum(len(processor.encode(line)) for line, _ in pairs)
        found[code] = tokens / sum(len(other.encode()) for _, other in pairs)
    return found


def models_in(folder):
    return {
        path.name: next((path / "models").iterdir()).read_bytes()
        for path in (folder / "vocabularies").iterdir()
    }


def weights_in(folder):
    return {row["language"]: float(row["weight"]) for row in read_tsv(folder / "allocation.tsv")}


def descended(source, entry, weights, folder):
    """The languages' models after one descent with these weights."""
    folder.mkdir()
    trunk = make_trunk(source, entry, weights)
    texts, store = texts_of_corpora(source, heldout=True), LanguageStore(folder, 0)
    chosen = branch(trunk, entry.capacity, CORE, texts, weights, store)
    _, models = settle(chosen, store, source.coverage)
    return {code: model.model for code, model in models.items()}


def test_weights_by_definition(folder, parallel, tmp_path):
    allocate(folder)
    fairly(folder)
    weights, models = weights_in(folder / "out"), models_in(folder / "out")
    entry = Allocation(total=TOTALS[0], rule="pieces")
    source = DescentSource(
        gather(folder / "v", read_weights(folder / "w.tsv")), folder / "corpora", 0.9995, tmp_path
    )
    for number in range(ROUNDS):
        needed = rates(parallel, models)
        mean = sum(needed.values()) / len(needed)
        weights = {
            code: weight * (needed[code] / mean) ** POWER for code, weight in weights.items()
        }
        models = descended(source, entry, weights, tmp_path / f"round-{number}")
    assert weights_in(folder / "fair") == pytest.approx(weights, rel=1e-9)
    assert models_in(folder / "fair") == models
    summary = json.loads((folder / "fair" / "summary.json").read_text())
    alp = {row["language"]: row for row in read_tsv(folder / "fair" / "allocation.tsv")}
    objective = sum(
        weights[code]
        * float(next(iter(read_tsv(folder / "fair" / "vocabularies" / code / "curve.tsv")))["alp"])
        for code in alp
    )
    assert summary["chosen"]["objective"] == pytest.approx(objective)


def test_power_0_changes_no_byte_and_a_trunk_is_shared(folder, parallel):
    allocate(folder)
    allocate(folder, "--token-fairness", "0", output="zero")
    assert files_of(folder / "zero") == files_of(folder / "out")
    most = max(TOTALS)
    for largest in (most, most - 1):
        ended("trunk", *inputs(folder), "--largest", largest, "-o", folder / f"{largest}.npz")
    refused = allocate(folder, "--trunk", folder / f"{most - 1}.npz", total=most, status=2)
    assert f"vocap trunk --largest {most}" in refused.stderr
    fairly(folder)
    fairly(folder, "--trunk", folder / f"{most}.npz", "--threads", "3", output="again")
    assert files_of(folder / "again") == files_of(folder / "fair")


def test_a_language_without_text_keeps_its_weight_and_is_named(folder, parallel):
    (folder / "dev-cc.txt").unlink()
    allocate(folder)
    done = fairly(folder)
    assert "no parallel text" in done.stderr
    assert "no text in en; the reference is aa" in done.stderr
    before, after = weights_in(folder / "out"), weights_in(folder / "fair")
    assert after["cc"] == before["cc"] and after["aa"] != before["aa"]
    warnings = json.loads((folder / "fair" / "summary.json").read_text())["warnings"]
    assert [line for line in warnings if line.endswith("by token_fairness: cc")]


CASES = read_cases(__file__)


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_one_message(folder, parallel, name):
    options, status, message, *content = CASES[name]
    spoil(folder, {f"dev-{code}.txt": one for code in parallel for one in content})
    done = allocate(folder, *options.format(root=folder, lang="{lang}").split(), status=status)
    (line,) = (line for line in done.stderr.splitlines() if "error:" in line)
    assert message in line
    assert not (folder / "out").exists()
