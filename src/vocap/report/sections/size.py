"""The size T of the vocabulary: tokens per byte, and the costs of models, by T."""

import altair as alt

from vocap.report.data.results import Results
from vocap.report.data.sizes import SizeCurve, size_curves
from vocap.report.page.blocks import Block, Fold, Note, Section, Text, Widget, slider
from vocap.report.page.figures import WIDTH, Figure, chart, line_scales
from vocap.report.page.tables import Column, Table, language_columns
from vocap.size.forecast import STEP, Forecast, cheapest, limit


def section(results: Results) -> Section:
    """A slider, a figure and tables for each curve over T."""
    title, short = "Size of the vocabulary", "Size"
    curves = size_curves(results)
    if not curves:
        note = Note(
            "No curve over T: a JOINT tokenizer of the ladder has one (sizes.tsv), or vocap joint --curve."
        )
        return Section("size", title, short, [note])
    blocks: list[Block] = [
        Text(
            "A larger T needs fewer tokens for the same text, while embeddings and softmax grow. The operations "
            "of a byte of text are tokens per byte times operations per token; above the T where they are fewest, "
            "more ids cost more than the tokens that they save. Tokens and ALP are measured on held-out text; "
            "costs are formulas, which say nothing about the quality of a model (docs/size.md, with a check)."
        ),
        *_one(results, curves[0]),
    ]
    blocks += [Fold(f"The same for {', '.join(one.tokenizers)}", _one(results, one)) for one in curves[1:]]
    return Section("size", title, short, blocks)


def _one(results: Results, curve: SizeCurve) -> list[Block]:
    name = f"size-{curve.tokenizers[0]}"
    models = [{"model": model, "rows": rows} for model, rows in curve.forecasts.items()]
    text = "the mix that the run trains on" if curve.weighted else "the mean of the languages"
    caption = (
        f"Held-out text: {text}. The descent of {', '.join(curve.tokenizers)}, {len(curve.sizes)} values of T."
    )
    figure = Figure(
        name,
        "Training operations per byte of text by T",
        f"Over the fewest of each model (1). {caption}",
        f"Chart of {len(models)} models at {len(curve.sizes)} values of T. The numbers are in the table.",
        lambda: _chart(curve),
        table=f"{name}-costs",
    )
    return [
        _slider(name, curve),
        Table.of(f"{name}-models", "Where more ids stop paying", _MODELS, _model_columns(), models),
        figure,
        _costs(name, curve, caption),
        _languages(results, name, curve),
    ]


_MODELS = (
    "Operations per byte of text, by the formulas of vocap size. Fewest: the T of the least cost. End: the "
    f"smallest T from which {STEP:,} more ids save nothing; empty where the measured T do not show it."
)


def _model_columns() -> list[Column]:
    columns = [Column("model", "Model")]
    for stage in ("training", "inference"):
        columns += [
            Column(
                f"{stage}_fewest",
                f"Fewest, {stage}: T",
                "number",
                value=lambda one, stage=stage: cheapest(one["rows"], stage).total,
            ),
            Column(
                f"{stage}_end",
                f"End, {stage}: T",
                "number",
                value=lambda one, stage=stage: limit(one["rows"], stage),
            ),
        ]
    share = Column(
        "embedding_share",
        "Embeddings at the fewest in training",
        "number",
        share=True,
        value=lambda one: cheapest(one["rows"]).embedding_share,
    )
    return [*columns, share]


def _facts(row: Forecast) -> list[tuple[str, str]]:
    """Names and values of one point, for the slider."""

    def change(value: float | None) -> str:
        text = "–" if value is None else f"{value:+.1f} %"
        return text.replace("-", "−")

    before = "" if row.compared_with is None else f", from T = {row.compared_with:,}"
    alp = row.alp if row.mix_alp is None else row.mix_alp
    facts = [
        ("mean ALP (nats per line)", f"{alp:.2f}".replace("-", "−")),
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
    return facts


def _slider(name: str, curve: SizeCurve) -> Widget:
    choices = {model: [_facts(row) for row in rows] for model, rows in curve.forecasts.items()}
    return slider(f"{name}-slider", "T", [f"{total:,}" for total in curve.sizes], choices)


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
        columns.append(
            Column(
                f"tokens_per_byte_{total}",
                f"T = {total:,}",
                "number",
                4,
                value=lambda code, found=found: found[code].tokens_per_byte,
            )
        )
    codes = sorted(next(iter(curve.sizes.values())), key=results.rank)
    title = "Tokens per byte of each language by T"
    caption = "On held-out lines. Bytes of UTF-8 differ between scripts: compare along a row."
    return Table.of(f"{name}-languages", title, caption, columns, codes, folded=True)


def _chart(curve: SizeCurve) -> alt.Chart:
    rows = []
    for model, found in curve.forecasts.items():
        least = cheapest(found).training_mflop_per_byte
        rows += [
            {"model": model, "T": row.total, "ratio": round(row.training_mflop_per_byte / least, 4)}
            for row in found
        ]
    colours, dashes = line_scales(list(curve.forecasts))
    legend = alt.Legend(title=None, columns=2, labelLimit=240)
    return (
        chart(rows)
        .mark_line(point=True, strokeWidth=2)
        .encode(
            x=alt.X("T:Q", title="T", axis=alt.Axis(tickCount=6, format="~s")),
            y=alt.Y(
                "ratio:Q",
                title="operations per byte over the fewest",
                scale=alt.Scale(type="log", nice=False, padding=8),
                axis=alt.Axis(values=[1, 1.1, 1.2, 1.5, 2, 3, 4, 6, 8], format=".2~f"),
            ),
            color=alt.Color("model:N", scale=colours, legend=legend),
            strokeDash=alt.StrokeDash("model:N", scale=dashes, legend=legend),
            tooltip=[
                alt.Tooltip("model:N", title="model"),
                alt.Tooltip("T:Q", format=","),
                alt.Tooltip("ratio:Q", title="over the fewest", format=".3f"),
            ],
        )
        .properties(width=WIDTH, height=300)
    )
