"""Pre-trained models: the exact loss as training went on, and what each ended with."""

from vocap.report import model_charts
from vocap.report.blocks import Block, Fold, Note, Section, Text, counted, not_run
from vocap.report.figures import Figure
from vocap.report.models import Model
from vocap.report.results import Results
from vocap.report.tables import Column, Table

RESTRICTED = ("knn", "target", "uniform")  # losses that normalise over the words of V' only
MINUTES = "minutes of training, validation and checkpoints left out"


def section(results: Results) -> Section:
    """Curves over steps and over time, a table of the models, and one of their languages."""
    models = [model for model in results.models.values() if model.rows]
    blocks: list[Block] = []
    if not models:
        blocks.append(not_run("pretraining", "No model has been pre-trained with these tokenizers."))
        return Section("models", "Pre-training", "Models", blocks)
    blocks.append(
        Text(
            "Whatever loss a model is trained with, it is measured by the exact softmax over the whole "
            "vocabulary on held-out text that no model sees. Bits per byte put tokenizers of all sizes on one "
            "axis; losses in training do not compare: each sampled one leaves other words out."
        )
    )
    if sampled := [model for model in models if _kind(model) in RESTRICTED]:
        blocks.append(Text(_why_higher(sampled)))
    if absent := results.absent("models", results.models):
        blocks.append(Note(f"In the configuration, but without results here: {', '.join(absent)}."))
    if any(row["bits_per_byte"] is not None for model in models for row in model.rows):
        ends = "; ".join(
            f"{model.name} {model.rows[-1]['bits_per_byte']:.3f}"
            for model in models
            if model.rows[-1]["bits_per_byte"] is not None
        )
        blocks += [
            _figure(models, "step", "steps", "steps", ends),
            Fold("The same over time", [_figure(models, "minutes", "time", MINUTES, ends)]),
        ]
    return Section("models", "Pre-training", "Models", [*blocks, _models(models), _languages(results, models)])


def _kind(model: Model) -> str:
    return str(model.setting("settings", "loss", "kind") or "")


def _why_higher(sampled: list[Model]) -> str:
    """Why the exact loss of a model is high whose training normalises over few words, and what lowers it."""
    listed = ", ".join(f"{model.name} ({model.loss}, {model.rows[-1]['step']:,} steps)" for model in sampled)
    return (
        f"Trained over a sample of the vocabulary: {listed}. Such a loss normalises over the candidates V’ of a "
        "batch only: no gradient pushes down the words outside V’, and the exact softmax counts them all. After "
        "few steps they hold much of the probability, so bits per byte are higher than after as many steps with "
        "the full softmax, though the order of the words in use (right at first, reciprocal rank) can be as good. "
        "The sample is a bias that more steps alone do not remove, and adds variance from batch to batch. "
        "Training the last tenth of the steps with the full softmax (finish: 0.1), or uniform words in V’ "
        "(uniform: n), removes most of it, as docs/pretraining-losses.md measures."
    )


def _figure(models: list[Model], against: str, name: str, title: str, ends: str) -> Figure:
    return Figure(
        f"exact-loss-{name}",
        f"Exact loss over {name}",
        "Exact cross-entropy of masked tokens in bits, times the tokens of the text, over its UTF-8 bytes, on the "
        "same held-out blocks of every language at every point; lower is better. From "
        "results/pretraining/{name}/metrics.jsonl.",
        f"Line chart of {counted(len(models), 'model')}; bits per byte at the end: {ends}.",
        lambda: model_charts.curves(models, against, title),
        table="models",
    )


def _models(models: list[Model]) -> Table:
    rows = []
    for model in models:
        last = model.rows[-1]
        parameters = model.setting("parameters")
        rows.append(
            (
                model.name,
                model.setting("tokenizer"),
                model.loss,
                parameters,
                parameters / 2**20 if parameters else None,
                last["step"],
                last.get("loss"),
                last["exact_loss"],
                last["bits_per_byte"],
                last.get("accuracy"),
                last.get("mrr"),
                last.get("tokens_per_s"),
                last.get("candidates"),
                _minutes(last),
                last.get("memory_mb"),
                model.setting("device"),
            )
        )
    columns = [
        Column("model", "Model"),
        Column("tokenizer", "Tokenizer"),
        Column("loss", "Loss"),
        Column("parameters", "Parameters", "number"),
        Column("parameters_mi", "in 2^20", "number", 1),
        Column("steps", "Steps", "number"),
        Column("training_loss", "Loss in training", "number", 3),
        Column("exact_loss", "Exact loss", "number", 3),
        Column("bits_per_byte", "Bits per byte", "number", 3),
        Column("accuracy", "Right at first", "number", share=True),
        Column("mrr", "Reciprocal rank", "number", 3),
        Column("tokens_per_s", "Tokens per second", "number", 0),
        Column("candidates", "Candidates", "number", 0),
        Column("minutes", "Minutes", "number", 1),
        Column("memory_mb", "Memory, MB", "number", 0),
        Column("device", "Device"),
    ]
    caption = (
        "Losses in nats per masked token: in training by the model’s own loss, exact by the softmax over the "
        "whole vocabulary without special tokens. Right at first: masked tokens whose highest score is the right "
        "one; reciprocal rank: its mean over them. Candidates: mean rows of the output layer in a loss (|V’|). "
        "Speed and candidates are of the steps since the line of metrics before the last. The paper counts "
        "parameters in 2^20. From results/pretraining/{name}/metrics.jsonl and description.json."
    )
    return Table("models", "The models at their last step", caption, columns, rows)


def _minutes(row: dict) -> float | None:
    seconds = row.get("seconds")
    return seconds / 60 if seconds is not None else None


def _languages(results: Results, models: list[Model]) -> Table:
    """Bits per byte of every language, a column a model."""
    codes = [code for code in results.languages if any(code in _by_language(model) for model in models)]
    rows = [
        (
            code,
            results.name(code),
            results.resource(code),
            *((_by_language(model).get(code) or {}).get("bits_per_byte") for model in models),
        )
        for code in codes
    ]
    columns = [
        Column("language", "Code"),
        Column("name", "Language"),
        Column("resource", "Group"),
        *(Column(f"bits_per_byte_{model.name}", model.name, "number", 3) for model in models),
    ]
    caption = (
        "Bits per byte of each language’s held-out blocks at the last step, by the exact loss. Scripts differ in "
        "bytes per character: compare along a row. From results/pretraining/{name}/metrics.jsonl."
    )
    title = "Each language at the last step"
    return Table("models-languages", title, caption, columns, rows, folded=True)


def _by_language(model: Model) -> dict:
    return model.rows[-1].get("languages") or {}
