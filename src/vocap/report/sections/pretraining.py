"""Pre-trained models: the exact loss over training, and the measures at the last step."""

from collections.abc import Sequence
from typing import Any

from vocap.pretraining.loss_kinds import LOSSES
from vocap.report.data import find
from vocap.report.data.results import Model, Results
from vocap.report.page.blocks import Block, Fold, Section, Text, counted, not_run, without_results
from vocap.report.page.figures import Figure, line_chart, tooltips
from vocap.report.page.tables import Column, Table, caption, specified

MINUTES = "minutes of training, validation and checkpoints left out"
WHY_HIGHER = (
    "Trained over a sample of the vocabulary: {}. No gradient pushes down the words outside the sample, and the "
    "exact softmax counts them all: after few steps bits per byte are higher than with the full softmax. A last "
    "tenth of the steps with the full softmax (finish: 0.1) removes most of it; docs/pretraining.md has the "
    "measurements."
)


def section(results: Results) -> Section:
    """Curves over steps and over time, a table of the models, and one of their languages."""
    return Section("models", "Pre-training", "Models", _blocks(results, list(results.models.values())))


def _blocks(results: Results, models: list[Model]) -> list[Block]:
    if not models:
        return [not_run("pretraining", "No model has been pre-trained with these tokenizers.")]
    blocks: list[Block] = [
        Text(
            "Models trained with any loss are measured by the exact softmax over the whole vocabulary on "
            "held-out text that no model sees. Bits per byte put tokenizers of all sizes on one axis; losses in "
            "training do not compare: each sampled one leaves other words out."
        )
    ]
    restricted = [kind for kind, loss in LOSSES.items() if loss.restricted]
    sampled = [model for model in models if model.setting("settings", "loss", "kind") in restricted]
    if sampled:
        names = (f"{model.name} ({model.loss}, {model.rows[-1]['step']:,} steps)" for model in sampled)
        blocks.append(Text(WHY_HIGHER.format(", ".join(names))))
    blocks += without_results(results.absent("pretraining", results.models))
    if rows := curve_rows(models):
        over_time = Fold("The same over time", [_figure(rows, "minutes", "time", MINUTES)])
        blocks += [_figure(rows, "step", "steps", "steps"), over_time]
    return [*blocks, specified("models", map(_last, models)), _languages(results, models)]


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


def _figure(rows: list[dict[str, Any]], against: str, name: str, title: str) -> Figure:
    ends = {row["model"]: row["bits"] for row in rows}
    said = "; ".join(f"{model} {bits:.3f}" for model, bits in ends.items())
    shown = tooltips(
        model="",
        step=",d",
        minutes=",.2f",
        bits=",.4f|bits per byte",
        exact=",.3f|nats per token, exact",
        sampled=",.3f|nats per token, in training",
    )
    return Figure(
        f"exact-loss-{name}",
        f"Exact loss over {name}",
        caption("exact-loss"),
        f"Line chart of {counted(len(ends), 'model')}; bits per byte at the end: {said}.",
        lambda: line_chart(rows, (against, title), ("bits", "exact loss (bits per byte)"), shown, height=280),
        table="models",
    )


def _last(model: Model) -> dict[str, Any]:
    """The row of a model in the table: its last line of metrics, and its description."""
    last, parameters = model.rows[-1], model.setting("parameters")
    return {
        **last,
        **{key: model.setting(key) for key in ("tokenizer", "parameters", "device")},
        "model": model.name,
        "loss": model.loss,
        "parameters_mi": parameters and parameters / 2**20,
        "steps": last["step"],
        "training_loss": last.get("loss"),
        "minutes": last["seconds"] / 60 if "seconds" in last else None,
    }


def _languages(results: Results, models: list[Model]) -> Table:
    """Bits per byte of every language, a column a model."""
    rows = []
    last = {model.name: model.rows[-1].get("languages") or {} for model in models}
    for code in results.languages:
        bits = {f"bits_per_byte_{name}": find(scores, code, "bits_per_byte") for name, scores in last.items()}
        if any(value is not None for value in bits.values()):
            rows.append({**results.about(code), **bits})
    more = [Column(f"bits_per_byte_{name}", name, "number", 3) for name in last]
    return specified("models-languages", rows, more)
