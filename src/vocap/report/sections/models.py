"""Pre-trained models with their exact loss over training, and fine-tuned models with their scores."""

from collections.abc import Sequence
from typing import Any

from vocap.finetuning.tasks import TASKS
from vocap.pretraining.loss_kinds import LOSSES
from vocap.report.data import find
from vocap.report.data.results import Finetuned, Model, Results, TaskScores
from vocap.report.page.blocks import Block, Fold, Note, Section, Text, counted, not_run, without_results
from vocap.report.page.figures import Figure, line_chart, tooltips
from vocap.report.page.tables import Column, Table, caption, specified
from vocap.report.paper.published import METRIC_NAMES, TASK_NAMES

NOT_RUN = "not run"
MINUTES = "minutes of training, validation and checkpoints left out"
WHY_HIGHER = (
    "Trained over a sample of the vocabulary: {}. No gradient pushes down the words outside the sample, and the "
    "exact softmax counts them all: after few steps bits per byte are higher than with the full softmax. A last "
    "tenth of the steps with the full softmax (finish: 0.1) removes most of it; docs/pretraining.md has the "
    "measurements."
)


def pretraining(results: Results) -> Section:
    """Curves over steps and over time, a table of the models, and one of their languages."""
    return Section("models", "Pre-training", "Models", _pretraining(results, list(results.models.values())))


def _pretraining(results: Results, models: list[Model]) -> list[Block]:
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
    return [*blocks, specified("models", map(_last, models)), _bits_by_language(results, models)]


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


def _bits_by_language(results: Results, models: list[Model]) -> Table:
    """Bits per byte of every language, a column a model."""
    rows = []
    last = {model.name: model.rows[-1].get("languages") or {} for model in models}
    for code in results.languages:
        bits = {f"bits_per_byte_{name}": find(scores, code, "bits_per_byte") for name, scores in last.items()}
        if any(value is not None for value in bits.values()):
            rows.append({**results.about(code), **bits})
    more = [Column(f"bits_per_byte_{name}", name, "number", 3) for name in last]
    return specified("models-languages", rows, more)


def finetuning(results: Results) -> Section:
    """Notes on stand-ins for data, then the table like the paper's, the chosen settings, and the languages."""
    return Section(
        "finetuning", "Fine-tuning", "Fine-tuning", _finetuning(results, list(results.finetuned.values()))
    )


def _finetuning(results: Results, models: list[Finetuned]) -> list[Block]:
    if not models:
        reason = "No model has been fine-tuned; the tasks need the user’s own XTREME folder (finetuning: xtreme)."
        return [not_run("finetuning", reason)]
    blocks: list[Block] = [
        Text(
            "Each model learns each task from English examples alone and is tested in all its languages. A task’s "
            "score is the mean over languages, then over seeds; learning rate and epochs are those with the "
            "highest mean on the files of the choice. Measures are the official scripts’, in percent."
        )
    ]
    stand_ins = {f"{value} for {key}" for model in models for key, value in model.stand_ins.items()}
    if stand_ins:
        said = f"Other files stood in for files of the data sets: {'; '.join(sorted(stand_ins))}."
        blocks.append(Note(f"{said} Scores of the tasks concerned compare with no published number.", "warning"))
    tested = {
        f"{TASK_NAMES[task]}, {scores.selection.get('label')}"
        for model in models
        for task, scores in model.tasks.items()
        if find(scores.selection, "development", "split") == "test"
    }
    if tested:
        blocks.append(Note(f"{'; '.join(sorted(tested))}: that file is part of the score, as in the paper."))
    asked = results.section("finetuning").get("tasks") or list(TASKS)
    tasks = [task for task in TASKS if task in asked or any(task in model.tasks for model in models)]
    absent = results.absent("finetuning", results.finetuned)
    tables = [_scores(models, absent, tasks), _choices(models, tasks), _scores_by_language(results, models, tasks)]
    return [*blocks, *without_results(absent), *tables]


def _scores(models: list[Finetuned], absent: list[str], tasks: list[str]) -> Table:
    """A row a model, as Table 1."""
    measures = [(task, metric) for task in tasks for metric in TASKS[task].metrics]
    rows = []
    for model in models + [Finetuned(name) for name in absent]:
        row = {"model": model.name, "seeds": model.seed_range, "average": model.average}
        row |= {f"{task}_{metric}": _cell(model.tasks.get(task), metric) for task, metric in measures}
        row |= {"average_std": model.average_std, "missing": ", ".join(TASK_NAMES[task] for task in model.missing)}
        rows.append(row)
    scores = (
        Column(f"{task}_{metric}", f"{TASK_NAMES[task]} {METRIC_NAMES[metric]}") for task, metric in measures
    )
    average = Column("average", "Avg.", "number", 1), Column("average_std", "± (Avg.)", "number", 1)
    return specified("finetuning", rows, [*scores, *average, Column("missing", "Avg. without")])


def _cell(scores: TaskScores | None, metric: str) -> str:
    """The mean of a measure over languages, with its deviation where there are several seeds: `70.1 ± 0.5`."""
    if scores is not None and not scores.overall:
        return "labels withheld"
    measured = scores.overall.get(metric) if scores else None
    if measured is None:
        return NOT_RUN
    return f"{measured['mean']:.1f}" + ("" if measured["std"] is None else f" ± {measured['std']:.1f}")


def _choices(models: list[Finetuned], tasks: list[str]) -> Table:
    """A row a model and task, those not run among them."""
    rows = []
    for model in models:
        for task in tasks:
            row = {"model": model.name, "task": TASK_NAMES[task], "chosen_by": NOT_RUN}
            if task in model.tasks:
                said = model.tasks[task].selection
                row |= {key: len(said[key]) for key in ("settings", "seeds", "languages")}
                row |= {key: ", ".join(said[key]) for key in ("absent", "blank", "outside")}
                row["chosen_by"] = f"{said['label']} (rule: {said['rule']})"
                row |= {"learning_rate": f"{said['learning_rate']:g}", "epochs": said["epochs"]}
                row["not_choosing"] = ", ".join(find(said, "development", "absent") or ())
                row["stand_ins"] = "; ".join(f"{value} for {key}" for key, value in said["stand_ins"].items())
            rows.append(row)
    return specified("finetuning-choices", rows)


def _scores_by_language(results: Results, models: list[Finetuned], tasks: list[str]) -> Table:
    """A row a task, measure and language; two columns a model."""
    rows = []
    for task in tasks:
        tables = {model.name: model.tasks[task].languages for model in models if task in model.tasks}
        codes = [code for code in TASKS[task].languages if any(code in table for table in tables.values())]
        for metric in TASKS[task].metrics:
            about = {"task": TASK_NAMES[task], "metric": METRIC_NAMES[metric]}
            for code in codes:
                means = {name: find(table, code, metric, "mean") for name, table in tables.items()}
                spread = {f"{name}_std": find(table, code, metric, "std") for name, table in tables.items()}
                rows.append({**about, **results.about(code), **means, **spread})
    more = []
    for model in models:
        more += [Column(model.name, model.name, "number", 1), Column(f"{model.name}_std", "±", "number", 1)]
    return specified("finetuning-languages", rows, more)
