"""The size T of the vocabulary by its costs; pre-trained models by their exact loss;
fine-tuned ones by scores.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
import pandas

from vocap.finetuning.tasks import TASKS
from vocap.pretraining.loss_kinds import LOSSES
from vocap.pretraining.settings import Shape, count_parameters
from vocap.report.data.results import Finetuned, ModelResults, Results, look_up
from vocap.report.page.blocks import (
    Fold,
    Note,
    PageBlock,
    Paragraph,
    first_open,
    without_results,
)
from vocap.report.page.figures import line_figure
from vocap.report.page.rendering import sentence
from vocap.report.page.tables import Column, Table, caption, columns_of, specification, specified
from vocap.report.paper import METRIC_NAMES, TASK_NAMES
from vocap.size.forecast import STAGES, STEP, ModelCosts, cheapest, forecast, limit
from vocap.tables.bits_per_byte import bits_per_byte
from vocap.tables.curve import Sizes
from vocap.tables.frames import records
from vocap.tables.line_bits import PARTS, paired_differences
from vocap.tables.sampling_probabilities import language_shares

NOT_RUN = "not run"


@dataclass(frozen=True)
class SizeCurve:
    """The points of one descent: the tokenizers taken from it, and a forecast by model
    for each T.
    """

    tokenizers: list[str]
    sizes: Sizes
    weighted: bool  # costs are of the mix that the run trains on; else of the mean of the languages
    costs: pandas.DataFrame  # of `forecast`, one `model` after the other


def vocabulary_size(results: Results) -> list[PageBlock]:
    """Tables and a figure for each curve over T."""
    curves = size_curves(results)
    missing = (
        "No curve over T: a JOINT tokenizer of the ladder has one (sizes.tsv), or vocap "
        "joint --curve."
    )
    about = (
        "A larger T needs fewer tokens for the same text, while embeddings and softmax grow. "
        "Tokens and ALP are measured on held-out text; costs are formulas, which say nothing about "
        "the quality of a model (docs/commands.md)."
    )
    if not curves:
        return [Note(missing)]
    parts = [(f"The same for {', '.join(one.tokenizers)}", _size(results, one)) for one in curves]
    return [Paragraph(about), *first_open(parts)]


def _size(results: Results, curve: SizeCurve) -> list[PageBlock]:
    name = curve.tokenizers[0]
    text = "the mix that the run trains on" if curve.weighted else "the mean of the languages"
    about = (
        f"Held-out text: {text}. The descent of {', '.join(curve.tokenizers)}, "
        f"{len(curve.sizes)} values of T."
    )
    costs = curve.costs
    operations = costs.training_mflop_per_byte
    ratio = (operations / operations.groupby(costs.model).transform("min")).round(4)
    points = records(pandas.DataFrame({"model": costs.model, "T": costs.total, "ratio": ratio}))
    figure = line_figure("size", points, name, about=about, count=len(curve.sizes))
    # the T of least cost for each model, and that from which more ids save nothing
    least = []
    for model, found in costs.groupby("model", sort=False):
        row = {"model": model, "embedding_share": cheapest(found).embedding_share}
        for stage in STAGES:
            row[f"{stage}_fewest"] = cheapest(found, stage).total
            row[f"{stage}_end"] = limit(found, stage)
        least.append(row)
    tokens = {}
    for total, sizes in curve.sizes.items():
        column = Column(f"tokens_per_byte_{total}", f"T = {total:,}", "number", 4)
        tokens[column] = {code: row.tokens_per_byte for code, row in sizes.items()}
    return [
        specified("size-models", least, of=name, step=STEP),
        Fold("Operations by T", [figure]),
        specified("size-costs", records(costs), of=name, step=STEP, about=about),
        specified("size-languages", results.rows(tokens), [*tokens], of=name),
    ]


def size_curves(results: Results) -> list[SizeCurve]:
    """One for each different table, in the order of the configuration."""
    curves: list[SizeCurve] = []
    models = _own_models(results)  # come first
    for name, costs in specification()["size-models"]["models"].items():
        models[name] = ModelCosts(**costs)
    for name in results.configured("tokenizers", results.sizes):
        sizes = results.sizes[name]
        if same := [one for one in curves if one.sizes == sizes]:
            same[0].tokenizers.append(name)
            continue
        shares = _shares(results, name, list(next(iter(sizes.values()))))
        rows = [forecast(sizes, of, shares).assign(model=model) for model, of in models.items()]
        found = pandas.concat(rows, ignore_index=True)
        curves.append(SizeCurve([name], sizes, shares is not None, found))
    return curves


def _own_models(results: Results) -> dict[str, ModelCosts]:
    """The models that the configuration trains."""
    own = {}
    for model in results.section("pretraining", "models").values():
        if told := look_up(model, "shape"):
            shape, causal = Shape(**told), look_up(model, "objective") == "causal"
            kind = "causal, " if causal else ""
            name = f"this run’s, {kind}{shape.layers} layers of {shape.hidden}"
            own[name] = ModelCosts(count_parameters(shape, 0, causal), shape.width, causal)
    return own


def _shares(results: Results, tokenizer: str, languages: Sequence[str]) -> dict[str, float] | None:
    """q of the text that the tokenizer is trained on; None where the weights lack a
    language.
    """
    n = results.line_counts
    alpha = results.tokenizers[tokenizer].text.get("alpha")
    if alpha is None or not n.keys() >= set(languages):
        return None
    return language_shares({code: n[code] for code in languages}, alpha)


def pretraining(results: Results) -> list[PageBlock]:
    """A table of the models, one of their languages, and curves over steps and over
    time.
    """
    models = list(results.models.values())
    blocks: list[PageBlock] = [
        Paragraph(
            "Models trained with any loss are measured by the exact softmax over the whole "
            "vocabulary on held-out text that no model sees. Bits per byte put tokenizers of all "
            "sizes on one axis; losses in training do not compare: each sampled one leaves other "
            "words out."
        )
    ]
    blocks += without_results(results.absent(results.models, "pretraining", "models"))
    blocks += [
        specified("models", map(_last, models)),
        *code_length_table(models),
        _bits_by_language(results, models),
    ]
    folded: list[PageBlock] = []
    if rows := curve_rows(models):
        ends = {row["model"]: row["bits"] for row in rows}
        said = "; ".join(f"{model} {bits:.3f}" for model, bits in ends.items())
        folded += [
            line_figure("exact-loss-steps", rows, said=said),
            line_figure("exact-loss-time", rows, said=said),
        ]
    names = [
        f"{model.name} ({_loss(model)}, {model.rows[-1]['step']:,} steps)"
        for model in models
        if (loss := LOSSES.get(model.setting("settings", "loss", "kind"))) and loss.restricted
    ]
    if names:
        folded.append(Paragraph(caption("models-sampled", models=", ".join(names))))
    if folded:
        blocks.append(Fold("Exact loss over steps and over time", folded))
    return blocks


def code_length_table(models: Sequence[ModelResults]) -> list[PageBlock]:
    """A table of causal models by tokenizer and settings, a row for held-out and one
    for parallel lines.

    Models of several seeds are one: bits of a line are their mean, of which a bootstrap
    over the lines is made.
    """
    causal = [one for one in models if one.objective == "causal" and any(one.bits.values())]
    # the models of each tokenizer and settings, in which a seed does not stand
    groups: dict[str, list[ModelResults]] = {}
    for model in causal:
        key = f"{model.setting('tokenizer')} {model.setting('settings')}"
        groups.setdefault(key, []).append(model)
    rows = []
    for part in PARTS if causal else ():
        # languages that all have
        found = [model.bits.get(part, {}) for model in causal]
        common = set.intersection(*map(set, found))
        shared = [code for code in found[0] if code in common]
        lines = {}
        for key, group in groups.items():
            bits = [model.bits[part] for model in group] if shared else []
            lines[key] = {code: np.mean(list(map(itemgetter(code), bits)), 0) for code in shared}
        for key, (mean, low, high) in paired_differences(lines).items():
            group = groups[key]
            each = [_mean_bits(model.bits[part], shared) for model in group]
            rows.append(
                {
                    "tokenizer": group[0].setting("tokenizer"),
                    "models": ", ".join(model.name for model in group),
                    "part": {"heldout": "held-out"}.get(part, part),
                    "measure": group[0].setting("bits_per_byte"),
                    "languages": len(shared),
                    "bits_per_byte": mean,
                    "deviation": float(np.std(each, ddof=1)) if len(each) > 1 else None,
                    "above": f"{low:.4f} to {high:.4f}" if high else "",
                }
            )
    return [specified("models-causal", rows)] if rows else []


def _mean_bits(lengths: dict[str, Any], languages: Sequence[str]) -> float:
    """Bits per byte, the mean of the languages."""
    return float(np.mean([bits_per_byte(lengths[code]) for code in languages]))


def _loss(model: ModelResults) -> str:
    """The kind of its loss, with the settings that distinguish two of a kind."""
    return sentence("loss", loss=model.setting("settings", "loss") or {"kind": ""}).unescape()


def curve_rows(models: Sequence[ModelResults]) -> list[dict[str, Any]]:
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


def _last(model: ModelResults) -> dict[str, Any]:
    """The row of a model in the table: its last line of metrics, and its
    description.
    """
    last = model.rows[-1]
    return {
        **last,
        **{key: model.setting(key) for key in ("tokenizer", "parameters", "device")},
        "model": model.name,
        "objective": model.objective,
        "loss": _loss(model),
        "parameters_mi": model.parameters_mi,
        "steps": last["step"],
        "training_loss": last.get("loss"),
        "minutes": last["seconds"] / 60 if "seconds" in last else None,
    }


def _bits_by_language(results: Results, models: list[ModelResults]) -> Table:
    """Bits per byte of every language, a column a model."""
    bits = {}
    for model in models:
        column = Column(f"bits_per_byte_{model.name}", model.name, "number", 3)
        last = model.rows[-1].get("languages") or {}
        bits[column] = {code: look_up(scores, "bits_per_byte") for code, scores in last.items()}
    return specified("models-languages", results.rows(bits), [*bits])


def finetuning(results: Results) -> list[PageBlock]:
    """The table like the paper's, the chosen settings, and the languages."""
    models = list(results.finetuned.values())
    blocks: list[PageBlock] = [
        Paragraph(
            "Each model learns each task from English examples alone and is tested in all its "
            "languages. A task’s score is the mean over languages, then over seeds; learning rate "
            "and epochs are those with the highest mean on the files of the choice. Measures are "
            "the official scripts’, in percent."
        )
    ]
    chosen = [item for model in models for item in model.selections.items()]
    tested = {
        f"{TASK_NAMES[task]}, {said.get('label')}"
        for task, said in chosen
        if look_up(said, "development", "split") == "test"
    }
    if tested:
        blocks.append(
            Note(f"{'; '.join(sorted(tested))}: that file is part of the score, as in the paper.")
        )
    asked = results.section("finetuning").get("tasks") or list(TASKS)
    tasks = [task for task in TASKS if task in {*asked, *dict(chosen)}]
    absent = results.absent(results.finetuned, "finetuning", "models")
    tables = [
        _scores(models, absent, tasks),
        _choices(models, tasks),
        _scores_by_language(results, models, tasks),
    ]
    return [*blocks, *without_results(absent), *tables]


def _scores(models: list[Finetuned], absent: list[str], tasks: list[str]) -> Table:
    """A row a model, as Table 1: means with their deviation where there are several seeds,
    `70.1 ± 0.5`.
    """
    rows = []
    columns = {
        f"{task}_{metric}": f"{TASK_NAMES[task]} {METRIC_NAMES[metric]}"
        for task in tasks
        for metric in TASKS[task].metrics
    }
    for model in [*models, *map(Finetuned, absent)]:
        row: dict[str, Any] = dict.fromkeys(columns, NOT_RUN)
        for task in model.selections.keys() - set(model.scores.task):
            row |= {f"{task}_{metric}": "labels withheld" for metric in TASKS[task].metrics}
        for one in model.overall.itertuples():
            spread = "" if pandas.isna(one.std) else f" ± {one.std:.1f}"
            row[f"{one.task}_{one.metric}"] = f"{one.mean:.1f}{spread}"
        row |= {
            "model": model.name,
            "seeds": model.seed_range,
            "average": model.average,
            "average_std": model.average_std,
            "missing": ", ".join(TASK_NAMES[task] for task in model.missing),
        }
        rows.append(row)
    scores = [Column(key, title) for key, title in columns.items()]
    return specified("finetuning", rows, [*scores, *columns_of("finetuning-average")])


def _choices(models: list[Finetuned], tasks: list[str]) -> Table:
    """A row a model and task, those not run among them."""
    rows = []
    for model in models:
        for task in tasks:
            row: dict[str, Any]
            row = {"model": model.name, "task": TASK_NAMES[task], "chosen_by": NOT_RUN}
            if said := model.selections.get(task):
                row |= {key: len(said[key]) for key in ("settings", "seeds", "languages")}
                row |= {key: ", ".join(said[key]) for key in ("absent", "blank", "outside")}
                row |= {
                    "chosen_by": f"{said['label']} (rule: {said['rule']})",
                    "learning_rate": f"{said['learning_rate']:g}",
                    "epochs": said["epochs"],
                    "not_choosing": ", ".join(look_up(said, "development", "absent") or ()),
                }
            rows.append(row)
    return specified("finetuning-choices", rows)


def _scores_by_language(results: Results, models: list[Finetuned], tasks: list[str]) -> Table:
    """A row a task, measure and language; two columns a model."""
    keys = ["task", "metric", "language"]
    index = [
        (task, metric, code)
        for task in tasks
        for metric in TASKS[task].metrics
        for code in TASKS[task].languages
    ]
    wide = pandas.DataFrame(index=pandas.MultiIndex.from_tuples(index, names=keys))
    more = []
    for model in models:
        own = model.scores.set_index(keys)
        wide[model.name], wide[f"{model.name}_std"] = own["mean"], own["std"]
        more.append(Column(model.name, model.name, "number", 1))
        more.append(Column(f"{model.name}_std", "±", "number", 1))
    rows = results.with_names(wide.dropna(how="all").reset_index())
    for row in rows:
        row |= {"task": TASK_NAMES[row["task"]], "metric": METRIC_NAMES[row["metric"]]}
    return specified("finetuning-languages", rows, more)
