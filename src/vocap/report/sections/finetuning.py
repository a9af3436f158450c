"""Fine-tuned models: Table 1 with seeds and deviations, the chosen settings, scores by language."""

from vocap.finetuning.tasks import TASKS
from vocap.report.data import find
from vocap.report.data.results import Finetuned, Results, TaskScores
from vocap.report.page.blocks import Block, Note, Section, Text, not_run, without_results
from vocap.report.page.tables import Column, Table, specified
from vocap.report.paper.published import METRIC_NAMES, TASK_NAMES

NOT_RUN = "not run"


def section(results: Results) -> Section:
    """Notes on stand-ins for data, then the table like the paper's, the chosen settings, and the languages."""
    return Section("finetuning", "Fine-tuning", "Fine-tuning", _blocks(results, list(results.finetuned.values())))


def _blocks(results: Results, models: list[Finetuned]) -> list[Block]:
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
    tables = [_scores(models, absent, tasks), _choices(models, tasks), _languages(results, models, tasks)]
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


def _languages(results: Results, models: list[Finetuned], tasks: list[str]) -> Table:
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
