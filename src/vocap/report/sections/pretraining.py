"""Pre-trained models: the exact loss over training, and the measures at the last step."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from vocap.pretraining.loss_kinds import LOSSES
from vocap.report.data import find
from vocap.report.data.models import Model
from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, Fold, Section, Text, counted, not_run, without_results
from vocap.report.page.figures import WIDTH, Figure, chart, line_scales
from vocap.report.page.tables import Column, Table, language_columns

RESTRICTED = [kind for kind, loss in LOSSES.items() if loss.restricted]
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
            "Models trained with any loss are measured by the exact softmax over the whole "
            "vocabulary on held-out text that no model sees. Bits per byte put tokenizers of all sizes on one "
            "axis; losses in training do not compare: each sampled one leaves other words out."
        )
    )
    if sampled := [model for model in models if _kind(model) in RESTRICTED]:
        blocks.append(Text(_why_higher(sampled)))
    blocks += without_results(results.absent("pretraining", results.models))
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
    """An explanation of the high exact loss of models whose training normalises over few words."""
    listed = ", ".join(f"{model.name} ({model.loss}, {model.rows[-1]['step']:,} steps)" for model in sampled)
    return (
        f"Trained over a sample of the vocabulary: {listed}. Such a loss normalises over the candidates V’ of a "
        "batch only: no gradient pushes down the words outside V’, and the exact softmax counts them all. After "
        "few steps they hold much of the probability, so bits per byte are higher than after as many steps with "
        "the full softmax, though the order of the words in use (right at first, reciprocal rank) can be as good. "
        "The sample is a bias that more steps alone do not remove, and adds variance from batch to batch. "
        "Training the last tenth of the steps with the full softmax (finish: 0.1), or uniform words in V’ "
        "(uniform: n), removes most of it, as docs/pretraining.md measures."
    )


def _figure(models: list[Model], against: str, name: str, title: str, ends: str) -> Figure:
    return Figure(
        f"exact-loss-{name}",
        f"Exact loss over {name}",
        "Exact cross-entropy of masked tokens in bits, times the tokens of the text, over its UTF-8 bytes, on the "
        "same held-out blocks of every language at every point; lower is better. From "
        "results/pretraining/{name}/metrics.jsonl.",
        f"Line chart of {counted(len(models), 'model')}; bits per byte at the end: {ends}.",
        lambda: curves(models, against, title),
        table="models",
    )


def _models(models: list[Model]) -> Table:
    def last(key: str, title: str, digits: int | None, name: str = "", share: bool = False) -> Column:
        """A number of the last line of metrics, `name` there."""
        name = name or key
        return Column(key, title, "number", digits, share=share, value=lambda model: model.rows[-1].get(name))

    def stated(key: str, title: str, kind: str = "text") -> Column:
        return Column(key, title, kind, value=lambda model: model.setting(key))

    def millions(model: Model) -> float | None:
        parameters = model.setting("parameters")
        return parameters / 2**20 if parameters else None

    columns = [
        Column("model", "Model", value=lambda model: model.name),
        stated("tokenizer", "Tokenizer"),
        Column("loss", "Loss"),
        stated("parameters", "Parameters", "number"),
        Column("parameters_mi", "in 2^20", "number", 1, value=millions),
        last("steps", "Steps", None, "step"),
        last("training_loss", "Loss in training", 3, "loss"),
        last("exact_loss", "Exact loss", 3),
        last("bits_per_byte", "Bits per byte", 3),
        last("accuracy", "Right at first", None, share=True),
        last("mrr", "Reciprocal rank", 3),
        last("tokens_per_s", "Tokens per second", 0),
        last("candidates", "Candidates", 0),
        Column("minutes", "Minutes", "number", 1, value=_minutes),
        last("memory_mb", "Memory, MB", 0),
        stated("device", "Device"),
    ]
    caption = (
        "Losses in nats per masked token: in training by the model’s own loss, exact by the softmax over the "
        "whole vocabulary without special tokens. Right at first: masked tokens whose highest score is the right "
        "one; reciprocal rank: its mean over them. Candidates: mean rows of the output layer in a loss (|V’|). "
        "Speed and candidates are of the steps since the line of metrics before the last. The paper counts "
        "parameters in 2^20. From results/pretraining/{name}/metrics.jsonl and description.json."
    )
    return Table.of("models", "The models at their last step", caption, columns, models)


def _minutes(model: Model) -> float | None:
    seconds = model.rows[-1].get("seconds")
    return seconds / 60 if seconds is not None else None


def _languages(results: Results, models: list[Model]) -> Table:
    """Bits per byte of every language, a column a model."""
    codes = [code for code in results.languages if any(code in _by_language(model) for model in models)]
    columns = language_columns(results) + [
        Column(
            f"bits_per_byte_{model.name}",
            model.name,
            "number",
            3,
            value=lambda code, model=model: find(_by_language(model), code, "bits_per_byte"),
        )
        for model in models
    ]
    caption = (
        "Bits per byte of each language’s held-out blocks at the last step, by the exact loss. Scripts differ in "
        "bytes per character: compare along a row. From results/pretraining/{name}/metrics.jsonl."
    )
    title = "Each language at the last step"
    return Table.of("models-languages", title, caption, columns, codes, folded=True)


def _by_language(model: Model) -> dict:
    return model.rows[-1].get("languages") or {}


def curve_rows(models: Sequence[Model]) -> list[dict[str, Any]]:
    """Bits per byte of every line of metrics, with its step and minutes."""
    return [
        {
            "model": model.name,
            "step": row["step"],
            "minutes": round(row.get("seconds", 0.0) / 60, 4),
            "bits": round(row["bits_per_byte"], 5),
            "exact": round(row["exact_loss"], 4),
            "sampled": round(row["loss"], 4) if row.get("loss") is not None else None,
        }
        for model in models
        for row in model.rows
        if row["bits_per_byte"] is not None and row["exact_loss"] is not None
    ]


def curves(models: Sequence[Model], against: str, title: str) -> alt.LayerChart:
    """Exact held-out bits per byte against `against` (step or minutes), a line a model, named at its end."""
    rows = curve_rows(models)
    names = [model.name for model in models]
    ends = {row["model"]: row for row in rows}
    axis = alt.Axis(grid=True, tickCount=8, format=",~r")
    x = alt.X(f"{against}:Q", title=title, axis=axis)
    y = alt.Y("bits:Q", title="exact loss (bits per byte)", scale=alt.Scale(zero=False))
    colours, dashes = line_scales(names)
    legend = alt.Legend(title=None, columns=4, symbolType="stroke")
    lines = chart(rows).mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=18))
    lines = lines.encode(
        x=x,
        y=y,
        color=alt.Color("model:N", scale=colours, legend=legend),
        strokeDash=alt.StrokeDash("model:N", scale=dashes, legend=legend),
        tooltip=[
            "model:N",
            alt.Tooltip("step:Q", format=",d"),
            alt.Tooltip("minutes:Q", format=",.2f"),
            alt.Tooltip("bits:Q", title="bits per byte", format=",.4f"),
            alt.Tooltip("exact:Q", title="nats per token, exact", format=",.3f"),
            alt.Tooltip("sampled:Q", title="nats per token, in training", format=",.3f"),
        ],
    )
    labels = chart([ends[name] for name in names if name in ends]).mark_text(align="left", dx=6, fontSize=11)
    labels = labels.encode(x=x, y=y, text="model:N", color=alt.Color("model:N", scale=colours, legend=legend))
    shown = alt.layer(lines, labels) if len(names) <= 6 else lines
    return shown.properties(width=WIDTH, height=280)
