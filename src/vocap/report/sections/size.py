"""The size T of the vocabulary: tokens per byte, and the costs of models, by T."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
from pydantic import ValidationError

from vocap.pretraining.settings import Shape
from vocap.report.data import find
from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, Fold, Note, Section, Text, slider
from vocap.report.page.figures import Figure, line_chart, tooltips
from vocap.report.page.tables import Column, Table, language_columns
from vocap.size.forecast import STEP, Forecast, ModelCosts, cheapest, forecast, limit
from vocap.tables.sampling_probabilities import sampling_probabilities
from vocap.tables.size_table import Sizes

# of common models, in the forms of ModelCosts; the run's own come before them
MODELS = {
    "XLM-R base": ModelCosts(Shape()),
    "XLM-R large": ModelCosts(Shape(layers=24, hidden=1024, heads=16, intermediate=4096)),
    "GPT-2 small": ModelCosts(Shape(positions=1024), causal=True),
    "causal, 32 layers of 4096": ModelCosts(
        Shape(layers=32, hidden=4096, heads=32, intermediate=16384, positions=4096), causal=True, untied=True
    ),
}


@dataclass(frozen=True)
class SizeCurve:
    """The points of one descent: the tokenizers taken from it, and a forecast by model for each T."""

    tokenizers: list[str]
    sizes: Sizes
    weighted: bool  # costs are of the mix that the run trains on; else of the mean of the languages
    forecasts: dict[str, list[Forecast]]


def section(results: Results) -> Section:
    """A slider, a figure and tables for each curve over T."""
    curves = size_curves(results)
    missing = "No curve over T: a JOINT tokenizer of the ladder has one (sizes.tsv), or vocap joint --curve."
    about = (
        "A larger T needs fewer tokens for the same text, while embeddings and softmax grow. Tokens and ALP are "
        "measured on held-out text; costs are formulas, which say nothing about the quality of a model "
        "(docs/size.md)."
    )
    blocks: list[Block] = [Text(about), *_one(results, curves[0])] if curves else [Note(missing)]
    blocks += [Fold(f"The same for {', '.join(one.tokenizers)}", _one(results, one)) for one in curves[1:]]
    return Section("size", "Size of the vocabulary", "Size", blocks)


def _one(results: Results, curve: SizeCurve) -> list[Block]:
    name = f"size-{curve.tokenizers[0]}"
    text = "the mix that the run trains on" if curve.weighted else "the mean of the languages"
    caption = (
        f"Held-out text: {text}. The descent of {', '.join(curve.tokenizers)}, {len(curve.sizes)} values of T."
    )
    choices = {model: [_facts(row) for row in rows] for model, rows in curve.forecasts.items()}
    return [
        slider(f"{name}-slider", "T", [f"{total:,}" for total in curve.sizes], choices),
        _models(name, curve),
        Figure(
            name,
            "Training operations per byte of text by T",
            f"Over the fewest of each model (1). {caption}",
            f"Chart of {len(choices)} models at {len(curve.sizes)} values of T. The numbers are in the table.",
            lambda: _chart(curve),
            table=f"{name}-costs",
        ),
        _costs(name, curve, caption),
        _languages(results, name, curve),
    ]


def _models(name: str, curve: SizeCurve) -> Table:
    """The T of least cost for each model, and that from which more ids save nothing."""
    columns, rows = [Column("model", "Model")], []
    for stage in ("training", "inference"):
        columns.append(Column(f"{stage}_fewest", f"Fewest, {stage}: T", "number"))
        columns.append(Column(f"{stage}_end", f"End, {stage}: T", "number"))
    for model, found in curve.forecasts.items():
        row = {"model": model, "embedding_share": cheapest(found).embedding_share}
        for stage in ("training", "inference"):
            row |= {f"{stage}_fewest": cheapest(found, stage).total, f"{stage}_end": limit(found, stage)}
        rows.append(row)
    columns.append(Column("embedding_share", "Embeddings at the fewest in training", "number", share=True))
    caption = (
        "Operations per byte of text, by the formulas of vocap size. Fewest: the T of the least cost. End: the "
        f"smallest T from which {STEP:,} more ids save nothing; empty where the measured T do not show it."
    )
    return Table.of(f"{name}-models", "Where more ids stop paying", caption, columns, rows)


def _facts(row: Forecast) -> list[tuple[str, str]]:
    """Names and values of one point, for the slider."""

    def change(value: float | None) -> str:
        return "–" if value is None else f"{value:+.1f} %"

    before = "" if row.compared_with is None else f", from T = {row.compared_with:,}"
    facts = [
        ("mean ALP (nats per line)", f"{row.alp if row.mix_alp is None else row.mix_alp:.2f}"),
        ("tokens per byte", f"{row.used_tokens_per_byte:.4f}"),
        (f"most, {row.worst}", f"{row.worst_tokens_per_byte:.4f}"),
        ("embeddings", f"{row.embedding_mparameters:,.1f} M of {row.mparameters:,.1f} M parameters"),
        ("memory in training, without activations", f"{row.training_gb:,.2f} GB"),
        ("memory in inference", f"{row.inference_gb:,.2f} GB"),
        ("training, 10⁶ operations per byte", f"{row.training_mflop_per_byte:,.4g}"),
        ("inference, 10⁶ operations per byte", f"{row.inference_mflop_per_byte:,.4g}"),
        (f"tokens{before}", change(row.tokens_percent)),
        (f"training{before}", change(row.training_percent)),
    ]
    if row.cache_bytes_per_byte:
        facts.append(("cache of keys and values", f"{row.cache_bytes_per_byte:,.0f} bytes per byte"))
    return [(name, value.replace("-", "−")) for name, value in facts]


def _costs(name: str, curve: SizeCurve, caption: str) -> Table:
    rows = [{"model": model, **vars(row)} for model, found in curve.forecasts.items() for row in found]
    columns = [
        Column("model", "Model"),
        Column("total", "T", "number"),
        Column("alp", "ALP", "number", 2),
        Column("mix_alp", "ALP, by q", "number", 2),
        Column("tokens_per_byte", "Tokens per byte", "number", 4),
        Column("mix_tokens_per_byte", "of the mix", "number", 4),
        Column("embedding_mparameters", "Embeddings, 10⁶", "number", 1),
        Column("embedding_share", "Share", "number", share=True),
        Column("training_gb", "Training, GB", "number", 2),
        Column("training_mflop_per_byte", "Training, 10⁶ operations per byte", "number"),
        Column("inference_mflop_per_byte", "Inference", "number"),
        Column("compared_with", "From T", "number"),
        Column("alp_gain", "ALP", "number", 2),
        Column("tokens_percent", "Tokens, %", "number", 1),
        Column("training_percent", "Training, %", "number", 1),
        Column("inference_percent", "Inference, %", "number", 1),
    ]
    note = f" The last columns: changes from the largest T that is {STEP:,} or more below."
    return Table.of(f"{name}-costs", "Costs of models by T", caption + note, columns, rows, folded=True)


def _languages(results: Results, name: str, curve: SizeCurve) -> Table:
    columns = language_columns(results)
    for total, found in curve.sizes.items():
        tokens = {code: row.tokens_per_byte for code, row in found.items()}
        columns.append(Column(f"tokens_per_byte_{total}", f"T = {total:,}", "number", 4, value=tokens.get))
    codes = sorted(next(iter(curve.sizes.values())), key=results.rank)
    title = "Tokens per byte of each language by T"
    caption = "On held-out lines. Bytes of UTF-8 differ between scripts: compare along a row."
    return Table.of(f"{name}-languages", title, caption, columns, codes, folded=True)


def _chart(curve: SizeCurve) -> alt.LayerChart:
    rows = []
    for model, found in curve.forecasts.items():
        least = cheapest(found).training_mflop_per_byte
        ratios = {row.total: round(row.training_mflop_per_byte / least, 4) for row in found}
        rows += [{"model": model, "T": total, "ratio": ratio} for total, ratio in ratios.items()]
    axes = (("T", "T"), ("ratio", "operations per byte over the fewest"))
    return line_chart(rows, *axes, tooltips(model="", T=",", ratio=".3f|over the fewest"), height=300)


def size_curves(results: Results) -> list[SizeCurve]:
    """One for each different table, in the order of the configuration."""
    shared: list[tuple[list[str], Sizes]] = []
    for name in results.configured("tokenizers", results.sizes):
        same = [names for names, known in shared if known == results.sizes[name]]
        if same:
            same[0].append(name)
        else:
            shared.append(([name], results.sizes[name]))
    models = {**_own_models(results), **MODELS}
    curves = []
    for names, sizes in shared:
        shares = _shares(results, names[0], list(next(iter(sizes.values()))))
        rows = {model: forecast(sizes, costs, shares) for model, costs in models.items()}
        curves.append(SizeCurve(names, sizes, shares is not None, rows))
    return curves


def _own_models(results: Results) -> dict[str, ModelCosts]:
    """The shapes that the configuration trains; positions beyond its blocks are not filled."""
    own = {}
    for model in results.section("pretraining", "models").values():
        try:
            shape = Shape.model_validate(find(model, "shape"))
        except (ValidationError, TypeError):
            continue
        if shape.width == shape.hidden:
            own[f"this run’s, {shape.layers} layers of {shape.hidden}"] = ModelCosts(shape)
    return own


def _shares(results: Results, tokenizer: str, languages: Sequence[str]) -> dict[str, float] | None:
    """q of the text that the tokenizer is trained on; None where the weights lack a language."""
    n = [float(results.weights.get(code, {}).get("n") or 0) for code in languages]
    alpha = find(results.tokenizers[tokenizer].description, "text", "alpha")
    if not all(n) or not isinstance(alpha, float | int):
        return None
    return dict(zip(languages, sampling_probabilities(n, alpha).tolist(), strict=True))
