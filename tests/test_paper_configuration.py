"""config/paper.yaml, resolved, against a table of the paper: no default may change what
it says.

Each value stands with its place in the paper (its LaTeX, arXiv 2109.07306), or in the
source that the paper names: InfoXLM's recipe of masked language models from scratch,
xTune's scripts, the authors' own (VoCapXLM); "ours" where none of them says anything.
"""

from pathlib import Path

import pytest

from vocap.config import load, read_files
from vocap.finetuning.settings import settings_of
from vocap.unigram.text_settings import XLM_R

ROOT = Path(__file__).parents[1]

SHAPE = {
    "layers": (12, "section 4.1: 12 layers"),
    "hidden": (768, "section 4.1: 768 hidden dimension size"),
    "heads": (12, "section 4.1: base model of XLM-R"),
    "kv_heads": (None, "of causal models alone"),
    "intermediate": (3072, "section 4.1: base model of XLM-R"),
    "embedding_size": (None, "section 4.1: as hidden; halved in section 3.2"),
    "positions": (512, "InfoXLM: blocks of 512"),
    "deviation": (0.02, "fairseq, which InfoXLM uses"),
    "dropout": (0.1, "InfoXLM"),
}
RECIPE = {
    "objective": ("masked", "section 4.1: masked language modelling"),
    "batch": (256, "section 4.1: batch size of 256"),
    "micro_batch": (32, "section 4.1: eight GPUs, so 32 blocks each"),
    "learning_rate": (1e-4, "section 4.1: peak learning rate 0.0001"),
    "warmup": (10_000, "section 4.1: 10K warmup steps"),
    "betas": ((0.9, 0.98), "InfoXLM"),
    "epsilon": (1e-6, "InfoXLM"),
    "weight_decay": (0.01, "InfoXLM"),
    "clip": (1.0, "InfoXLM"),
    "output_bias": ("constant", "fairseq, which InfoXLM uses"),
    "precision": ("auto", "InfoXLM: fp16; bf16 where a GPU has it"),
    "seed": (None, "ours: the configuration's"),
    "alpha": (0.7, "section 2.2.2: alpha = 0.7 for JOINT's text; taken for every q"),
    "weights": ("corpora", "Equation 3: one q, that of allocation"),
    "log_every": (1000, "ours"),
    "heldout_blocks": (4, "ours"),
    "checkpoint_every": (1000, "ours"),
}
KNN = {
    "kind": ("knn", "Equations 4 to 6"),
    "k": (50, "section 4.1: k = 50"),
    "every": (1000, "section 4.1: every 1,000 training steps"),
    "group": (None, "Algorithm 2: of a mini-batch; ours, of one micro-batch"),
    "uniform": (0, "Equation 5: neighbours alone"),
    "finish": (0.0, "Algorithm 2: to the end"),
}
FULL = {
    "kind": ("full", "section 3.1: the original objective"),
    "chunk": (1024, "ours: the same loss"),
}
SAMPLED = {
    "target": {"kind": ("target", "Table 2"), "tau": (50_000, "section 4.3: 50,000 per batch")},
    "nce": {
        "kind": ("nce", "Table 2"),
        "negatives": (50_000, "section 4.3"),
        "power": (1.0, "section 3.1"),
    },
    "neg": {
        "kind": ("neg", "Table 2"),
        "negatives": (50_000, "section 4.3"),
        "power": (1.0, "section 3.1"),
    },
}
STEPS = [200_000, 400_000, 600_000, 800_000]
# model: tokenizer, loss, half embeddings, steps, exported steps, place
MODELS = {
    "xlm-r-250k": ("xlm-r", "full", False, 1_000_000, [], "Table 1"),
    "joint-250k": ("joint-250k", "full", False, 1_000_000, STEPS, "Table 1, Figure 5"),
    "joint-500k": ("joint-500k", "full", False, 1_000_000, STEPS, "Table 1, Figure 5"),
    "vocap-250k": ("vocap-250k", "full", False, 1_000_000, STEPS, "Table 1, Figure 5"),
    "vocap-500k": ("vocap-500k", "full", False, 1_000_000, STEPS, "Table 1, Figure 5"),
    "vocap-500k-knn": ("vocap-500k", 50, False, 1_000_000, STEPS, "Table 1, Figure 5"),
    "vocap-500k-half": ("vocap-500k", "full", True, 1_000_000, STEPS, "Table 1, Figure 5"),
    "vocap-500k-knn-half": ("vocap-500k", 50, True, 1_000_000, STEPS, "Table 1, Figure 5"),
    "full-0.5m": ("vocap-500k", "full", False, 500_000, [], "Tables 2, 3 and 4"),
    "knn50-0.5m": ("vocap-500k", 50, False, 500_000, [], "Tables 2 and 3"),
    "target-0.5m": ("vocap-500k", "target", False, 500_000, [], "Table 2"),
    "nce-0.5m": ("vocap-500k", "nce", False, 500_000, [], "Table 2"),
    "neg-0.5m": ("vocap-500k", "neg", False, 500_000, [], "Table 2"),
    "knn5-0.5m": ("vocap-500k", 5, False, 500_000, [], "Table 3"),
    "knn10-0.5m": ("vocap-500k", 10, False, 500_000, [], "Table 3"),
    "knn25-0.5m": ("vocap-500k", 25, False, 500_000, [], "Table 3"),
    "knn100-0.5m": ("vocap-500k", 100, False, 500_000, [], "Table 3"),
    "beta0-0.5m": ("vocap-500k-beta0", "full", False, 500_000, [], "Table 4"),
    "beta0.3-0.5m": ("vocap-500k-beta0.3", "full", False, 500_000, [], "Table 4"),
    "beta1-0.5m": ("vocap-500k-beta1", "full", False, 500_000, [], "Table 4"),
}
# allocation: T, beta, place
ALLOCATIONS = {
    "vocap-250k": (250_000, 0.7, "Table 1; beta: section 4.3"),
    "vocap-500k": (500_000, 0.7, "Table 1; beta: section 4.3"),
    "vocap-500k-beta0": (500_000, 0.0, "Table 4"),
    "vocap-500k-beta0.3": (500_000, 0.3, "Table 4"),
    "vocap-500k-beta1": (500_000, 1.0, "Table 4"),
}
EQUATION_2 = {
    "alpha": (0.7, "section 2.2.2: alpha = 0.7 for JOINT's text; taken for every q"),
    "fairness": (0.0, "Equation 2"),
    "token_fairness": (0.0, "Equation 2"),
    "core": (None, "of rule pieces alone"),
    "rule": ("paper", "Algorithm 1"),
    "per": ("line", "Equation 1: per sentence"),
    "without": ([], "section 2.2.2: all 86"),
    "special_tokens": (5, "XLM-R's"),
    "other_rows": (0, "section 2.2.2: no byte fallback, no symbols"),
}
# training: rates, epochs, length, warm-up, steps between looks, pooling
TRAININGS = {
    "xnli": ([7e-6, 1e-5], [10], 256, 0.0, 5000, "first"),
    "pawsx": ([7e-6, 1e-5], [10], 256, 0.0, 1000, "first"),
    "udpos": ([1e-5, 2e-5], [10], 128, 0.1, 500, "mean"),
    "panx": ([1e-5, 2e-5], [10], 128, 0.1, 1000, "first"),
    "squad": ([2e-5, 3e-5], [4], 384, 0.1, None, "first"),
    "tydiqa": ([2e-5, 3e-5], [6, 8], 384, 0.1, None, "first"),
}
TRAINING_KEYS = {
    "learning_rates": "appendix C",
    "epochs": "appendix C",
    "max_length": "xTune",
    "warmup": "xTune; of run_cls.py, which takes -1 as it is, none",
    "evaluate_every": "xTune",
    "pooling": "appendix C: average pooling for POS; the first subword of xTune else",
}
TUNING = {
    "batch": (32, "xTune"),
    "question_length": (64, "xTune"),
    "stride": (128, "xTune"),
    "train_examples": (None, "Table 6: all"),
    "dev_examples": (None, "appendix C: all"),
    "betas": ((0.9, 0.999), "xTune"),
    "epsilon": (1e-8, "xTune"),
    "weight_decay": (0.0, "xTune"),
    "clip": (1.0, "xTune"),
    "precision": ("auto", "xTune: fp16"),
}
CORPORA = {
    "source": ("cc100", "appendix D: reconstructed CommonCrawl; CC-100 is nearest"),
    "max_sentences": (1_000_000, "the authors' script"),
    "max_characters": (None, "the authors' script: no such limit"),
    "scan_bytes": (5_000_000_000, "ours"),
    "weights": ("paper_cc_gb", "Equation 3; published lang_prob_wiki.json"),
}
VOCABULARIES = {
    "engine": ("ladder", "ours: SentencePiece's models, byte for byte"),
    "sizes": ([1000 * size for size in range(1, 51)], "section 2.2.1: 1K to 50K"),
    "coverage": (0.9995, "the authors' script"),
}


def values(table: dict) -> dict:
    """A table without its places."""
    return {key: value for key, (value, _) in table.items()}


@pytest.fixture
def paper(monkeypatch):
    monkeypatch.chdir(ROOT)
    return load(read_files(PAPER_FILES))


PAPER_FILES = ["config/sources.yaml", "config/paper.yaml"]


def loss_of(kind: str | int) -> dict:
    if kind == "full":
        return values(FULL)
    if isinstance(kind, int):
        return {**values(KNN), "k": kind}
    return {**values(SAMPLED[kind]), "finish": 0.0}


def test_models_are_those_of_the_tables(paper):
    assert list(paper.pretraining.models.keys() - MODELS.keys()) == []
    for name, (tokenizer, loss, half, steps, exported, _) in MODELS.items():
        shape = {**values(SHAPE), "embedding_size": 384 if half else None}
        expected = {
            **values(RECIPE),
            "tokenizer": tokenizer,
            "steps": steps,
            "export_steps": exported,
        }
        expected |= {"shape": shape, "loss": loss_of(loss)}
        assert paper.pretraining.models[name].model_dump() == expected, name
    assert paper.pretraining.corpus == "wikipedia"  # section 2.1.1, appendix D
    assert paper.pretraining.block == 512  # InfoXLM


def test_vocabularies_and_text_are_those_of_section_2(paper):
    own = paper.corpora.model_dump()
    assert {key: own[key] for key in CORPORA} == values(CORPORA)
    assert paper.corpora.mix.sentences == 20_000_000  # the authors' script
    used = {paper.corpora.source, *paper.corpora.languages.values(), paper.pretraining.corpus}
    assert used == {"cc100", "wikipedia"}
    # Equation 1: sentences
    assert all(paper.corpora.sources[name].split_sentences for name in used)
    assert len(paper.selected()) == 86  # section 2.2.2
    assert paper.vocabularies.model_dump() == values(VOCABULARIES)
    assert list(paper.allocation) == list(ALLOCATIONS)
    for name, (total, beta, _) in ALLOCATIONS.items():
        expected = {**values(EQUATION_2), "total": total, "beta": beta}
        assert paper.allocation[name].model_dump() == expected, name
    made = {name: entry.model_dump() for name, entry in paper.tokenizers.items()}
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
    assert made == {name: {"kind": "vocap", "allocation": name, **extras} for name in ALLOCATIONS}


def test_fine_tuning_is_that_of_appendix_c(paper):
    own = paper.finetuning
    assert own.seeds == [1, 2, 3, 4, 5]  # section 4.1: five random seeds
    assert own.selection == "paper" and own.tasks is None and own.download
    for training, row in TRAININGS.items():
        expected = {**values(TUNING), **dict(zip(TRAINING_KEYS, row, strict=True))}
        assert own.recipes[training].model_dump() == expected, training
    assert set(own.recipes) == set(TRAININGS)
    runs = {name: len(settings_of(own.recipes[name], own.seeds)) for name in TRAININGS}
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
    exported = [name for name, row in MODELS.items() if row[4]]
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
    expected = {**values(RECIPE), "shape": values(SHAPE), "loss": values(FULL), "weights": "lines"}
    # steps: ours
    assert own.model.model_dump() == {**expected, "steps": 100_000, "export_steps": []}
