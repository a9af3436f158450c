"""config/paper.yaml, resolved, against the settings of the paper: no default may change what
it says.
"""

from pathlib import Path

import pytest

from tests.cases import read_cases
from vocap.config import load, read_files
from vocap.finetuning.settings import settings_of
from vocap.unigram.text_settings import XLM_R

ROOT = Path(__file__).parents[1]
PAPER_FILES = ["config/sources.yaml", "config/paper.yaml"]
PAPER = read_cases(__file__)
MODELS, STEPS = PAPER["models"], PAPER["exported"]


@pytest.fixture
def paper(monkeypatch):
    monkeypatch.chdir(ROOT)
    return load(read_files(PAPER_FILES))


def plain(settings) -> dict:
    """A section with lists for tuples, as YAML has them."""
    return settings.model_dump(mode="json")


def loss_of(kind: str | int) -> dict:
    if isinstance(kind, int):
        return {**PAPER["losses"]["knn"], "k": kind}
    return PAPER["losses"][kind]


def test_models_are_those_of_the_tables(paper):
    assert list(paper.pretraining.models.keys() - MODELS.keys()) == []
    for name, (tokenizer, loss, half, steps, place) in MODELS.items():
        shape = {**PAPER["shape"], "embedding_size": 384 if half else None}
        exported = STEPS if "Figure 5" in place else []
        expected = {"tokenizer": tokenizer, "steps": steps, "export_steps": exported}
        expected |= {**PAPER["recipe"], "shape": shape, "loss": loss_of(loss)}
        assert plain(paper.pretraining.models[name]) == expected, name
    assert paper.pretraining.corpus == "wikipedia"  # section 2.1.1, appendix D
    assert paper.pretraining.block == 512  # InfoXLM


def test_vocabularies_and_text_are_those_of_section_2(paper):
    assert PAPER["corpora"].items() <= paper.corpora.model_dump().items()
    assert paper.corpora.mix.sentences == 20_000_000  # the authors' script
    used = {paper.corpora.source, *paper.corpora.languages.values(), paper.pretraining.corpus}
    assert used == {"cc100", "wikipedia"}
    # Equation 1: sentences
    assert all(paper.corpora.sources[name].split_sentences for name in used)
    assert len(paper.selected()) == 86  # section 2.2.2
    sizes = [1000 * size for size in range(1, 51)]  # section 2.2.1: 1K to 50K
    expected = {"engine": PAPER["engine"], "sizes": sizes, "coverage": PAPER["coverage"]}
    assert plain(paper.vocabularies) == expected
    assert list(paper.allocation) == list(PAPER["allocations"])
    for name, (total, beta) in PAPER["allocations"].items():
        expected = {**PAPER["allocation"], "total": total, "beta": beta}
        assert plain(paper.allocation[name]) == expected, name
    made = {name: entry.model_dump(exclude={"export"}) for name, entry in paper.tokenizers.items()}
    assert paper.text.settings == XLM_R
    extras = {"byte_fallback": None, "user_defined_symbols": None}  # as the text's: none
    xlm_r = {"kind": "file", "path": None, "download": "xlm-r", "split": None}  # Table 1
    assert made.pop("xlm-r") == xlm_r
    for total in (250_000, 500_000):  # Table 1, section 2.2.2
        name = f"joint-{total // 1000}k"
        assert made.pop(name) == {
            "kind": "joint",
            "total": total,
            "alpha": 0.7,
            "per": None,
            **extras,
        }
    assert made == {
        name: {"kind": "vocap", "allocation": name, **extras} for name in PAPER["allocations"]
    }


def test_fine_tuning_is_that_of_appendix_c(paper):
    own = paper.finetuning
    assert own.seeds == [1, 2, 3, 4, 5]  # section 4.1: five random seeds
    assert own.selection == "paper" and own.tasks is None and own.download
    recipes = {name: plain(recipe) for name, recipe in own.recipes.items()}
    assert recipes == {name: {**PAPER["tuning"], **row} for name, row in PAPER["trainings"].items()}
    runs = {name: len(settings_of(recipe, own.seeds)) for name, recipe in own.recipes.items()}
    assert sum(runs.values()) == 70 and runs["tydiqa"] == 20


def test_fine_tuned_models_are_those_of_tables_and_figures(paper):
    tuned = {
        name: (one.model or name, one.step, one.tasks)
        for name, one in paper.finetuning.models.items()
    }
    # columns of Tables 2 and 3, and 4
    three, four = ["xnli", "udpos", "mlqa"], ["xnli", "udpos", "panx", "mlqa"]
    for name, (*_, place) in MODELS.items():
        tasks = None if place.startswith("Table 1") else four if "4" in place else three
        assert tuned.pop(name) == (name, None, tasks), name
    exported = [name for name, row in MODELS.items() if "Figure 5" in row[-1]]
    assert tuned == {
        f"{name}-{step // 1000}k": (name, step, ["xnli", "mlqa"])  # Figure 5: its caption
        for name in exported
        for step in STEPS
    }
    assert {entry.weights for entry in paper.finetuning.models.values()} == {"pretrained"}


def test_the_correlation_study_is_that_of_section_2_1(paper):
    own = paper.correlation
    # section 2.1.1
    assert (own.languages, own.tasks) == (["hi", "fa", "it", "ru"], ["udpos", "panx"])
    # section 2.1.1: thirty, from 1K to 30K
    assert own.sizes == [1000 * size for size in range(1, 31)]
    assert own.seeds == [1, 2, 3, 4, 5]  # section 4.1: all fine-tuning results
    expected = {
        **PAPER["recipe"],
        "shape": PAPER["shape"],
        "loss": loss_of("full"),
        "weights": "lines",
    }
    # steps: ours
    assert plain(own.model) == {**expected, "steps": 100_000, "export_steps": []}
