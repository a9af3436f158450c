"""New entries written outside the package, in one place each, and run: a source, a
loss, a fine-tuning task.
"""

import json
from typing import ClassVar, Literal

import pytest
from click.testing import CliRunner
from pydantic import Field

from vocap.config import Settings
from vocap.corpora.settings import resolve_all
from vocap.corpora.sources import SOURCE_KINDS, Source, register_source
from vocap.finetuning.tasks import TASKS, TRAININGS, Task, register_task
from vocap.languages import default_table
from vocap.pretraining.loss_kinds import LOSSES, LossSettings, register_loss
from vocap.section import words_of

torch = pytest.importorskip("torch")


@pytest.fixture
def beside():
    """A source whose files have the name of a folder and that of the language."""

    @register_source
    class Beside(Source):
        beside: str
        key: ClassVar[str] = "beside"

        def paths_of(self, code):
            return [f"{self.beside}/{code}.txt"]

    yield Beside
    del SOURCE_KINDS["beside"]


def test_a_source_from_outside_is_planned_and_sampled(beside, tmp_path):
    from vocap.corpora.commands import sample
    from vocap.forecast.texts import estimate_texts

    (tmp_path / "deu.txt").write_text(
        "".join(f"Zeile {number} von vielen\n" for number in range(200))
    )
    source = {"beside": str(tmp_path), "codes": {"de": "deu"}}
    settings = configuration(corpora={"source": "mine", "sources": {"mine": source}})
    found = resolve_all(settings.corpora, settings.selected())["de"]
    assert isinstance(found.source, beside)
    text = estimate_texts(settings)["de"]
    assert (text.basis, text.lines) == ("files", pytest.approx(200, rel=0.02))
    outputs = [f"--{name}={tmp_path / name}" for name in ("train", "heldout", "stats")]
    words = [f"--language={found.language}", *words_of(found.sampling()), *outputs]
    words += found.texts(found.inputs("results"))
    assert CliRunner().invoke(sample, words, catch_exceptions=False).exit_code == 0
    assert json.loads((tmp_path / "stats").read_text("utf-8"))["read"] == 200


@pytest.fixture
def first_words():
    """A softmax over the targets and the first words of the vocabulary."""

    @register_loss
    class FirstWords(LossSettings):
        kind: Literal["first"] = "first"
        words: int = Field(20, ge=1)
        label: ClassVar[str] = "first words"

        def candidates(self, vocabulary, targets):
            return min(vocabulary, self.words + targets)

        def build(self, vocabulary, excluded, **common):
            from vocap.pretraining.losses.candidates import CandidateLoss

            class FirstWordsSoftmax(CandidateLoss):
                def candidates(self, targets, weight):
                    return torch.unique(torch.cat([targets, self.words[: self.settings.words]]))

            return FirstWordsSoftmax(self, vocabulary, excluded, **common)

    yield FirstWords
    del LOSSES["first"]


def configuration(**sections) -> Settings:
    corpora = {"sources": {"starter": {"starter": True}}, **sections.pop("corpora", {})}
    corpora["table"] = str(default_table())
    return Settings.model_validate({"languages": ["de"], "corpora": corpora, **sections})


def test_a_loss_from_outside_trains_a_model(first_words, tmp_path):
    from tests.pretraining.factories import LENGTH, RECIPE, make_blocks, make_tokenizer
    from vocap.forecast.jobs import candidate_words
    from vocap.pretraining.settings import Recipe
    from vocap.pretraining.training import pretrain_model

    recipe = Recipe.model_validate(RECIPE | {"loss": {"kind": "first", "words": 30}, "steps": 6})
    tokenizer = make_tokenizer(tmp_path / "tokenizer")
    tokens = make_blocks(tmp_path, tokenizer, {"de": 200})
    pretrain_model(tokenizer, tokens, tmp_path / "model", settings=recipe, threads=1)
    description = json.loads((tmp_path / "model" / "description.json").read_text("utf-8"))
    assert description["settings"]["loss"] == {"kind": "first", "words": 30}
    last = json.loads((tmp_path / "model" / "metrics.jsonl").read_text("utf-8").splitlines()[-1])
    masked = 0.15 * RECIPE["micro_batch"] * LENGTH
    assert 30 < last["candidates"] <= 30 + masked + RECIPE["micro_batch"]
    assert candidate_words(recipe, 400, LENGTH) == 30 + masked
    settings = configuration(
        tokenizers={"j": {"kind": "joint", "total": 1000}},
        pretraining={"models": {"m": {"tokenizer": "j", "loss": "first"}}},
    )
    assert settings.pretraining.models["m"].loss == first_words()


@pytest.fixture
def capitals():
    """A tagging task: whether a word begins with a capital letter."""
    recipe = {"learning_rates": [1e-3], "epochs": [2], "max_length": 48}
    yield register_task(
        Task("capitals", "tags", ("en", "de"), ("en",), labels=("C", "O"), recipe=recipe)
    )
    del TASKS["capitals"], TRAININGS["capitals"]


def test_a_task_from_outside_is_trained_and_scored(capitals, tmp_path):
    from tests.finetuning.factories import write
    from tests.finetuning.tiny_models import make_model
    from vocap.finetuning.encoding import encode_training
    from vocap.finetuning.run import finetune_model
    from vocap.finetuning.scores import average, score_task
    from vocap.finetuning.settings import make_grid

    xtreme = tmp_path / "xtreme"
    for split, language in (("train", "en"), ("dev", "en"), ("test", "en"), ("test", "de")):
        write(
            xtreme, f"capitals/{split}-{language}.tsv", "Anna\tC\nist\tO\n\nin\tO\nBonn\tC\n\n" * 4
        )
    settings = configuration(finetuning={"xtreme": str(xtreme), "tasks": ["capitals"]})
    assert make_grid(settings.finetuning, ["knn"]).tasks == ["capitals"]

    recipe = settings.finetuning.recipes["capitals"]
    model = make_model(tmp_path)
    encode_training(xtreme, "capitals", model, recipe, tmp_path / "inputs")
    run = finetune_model(
        model,
        "capitals",
        tmp_path / "run",
        xtreme=xtreme,
        inputs=tmp_path / "inputs",
        learning_rate=1e-3,
        epochs=2,
        seed=1,
        settings=recipe,
        threads=1,
    )
    assert (run.predictions / "capitals" / "test-de.tsv").is_file()
    written = json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))
    assert run.description == written and run.metrics[-1]["step"] == written["steps"]
    outcome = score_task(xtreme, "capitals", [tmp_path / "run"], tmp_path / "scored")
    scores = {(row.split, row.language, row.metric) for row in outcome.scores}
    assert {("test", "de", "f1"), ("test", "en", "f1"), ("dev", "en", "f1")} <= scores
    assert average([tmp_path / "scored"])["average"] is None  # none of Table 1's tasks
