"""Fine-tuned models: Table 1 with seeds and deviations, the chosen settings, scores by language."""

from collections.abc import Iterator

from vocap.finetuning.tasks import TASKS
from vocap.report.data import find
from vocap.report.data.models import Finetuned, Reached
from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, Note, Section, Text, not_run, without_results
from vocap.report.page.tables import Column, Table
from vocap.report.paper.published import METRIC_NAMES, TASK_NAMES, paper_languages

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
    if stand_ins := _stand_ins(models):
        blocks.append(
            Note(
                f"Other files stood in for files of the data sets: {stand_ins}. Scores of the tasks concerned "
                "compare with no published number.",
                "warning",
            )
        )
    if tested := _chosen_on_tests(models):
        blocks.append(Note(f"{tested}: that file is part of the score, as in the paper."))
    blocks += without_results(results.absent("finetuning", results.finetuned))
    blocks += [_scores(results, models), _choices(results, models), _languages(results, models)]
    return blocks + ([_ceilings(results)] if results.ceilings else [])


def _stand_ins(models: list[Finetuned]) -> str:
    pairs = {f"{value} for {key}" for model in models for key, value in model.stand_ins.items()}
    return "; ".join(sorted(pairs))


def _chosen_on_tests(models: list[Finetuned]) -> str:
    """The tasks whose setting was chosen on a test file, with the label of that choice."""
    labels = {
        f"{TASK_NAMES[task]}, {reached.selection.get('label')}"
        for model in models
        for task, reached in model.tasks.items()
        if find(reached.selection, "development", "split") == "test"
    }
    return "; ".join(sorted(labels))


def _scores(results: Results, models: list[Finetuned]) -> Table:
    """A row a model, as Table 1."""

    def missing(model: Finetuned) -> str:
        return ", ".join(TASK_NAMES.get(task, task) for task in model.missing)

    absent = results.absent("finetuning", results.finetuned)
    rows = models + [Finetuned(name, {}, None, None, ()) for name in absent]
    columns = [
        Column("model", "Model", value=lambda model: model.name),
        Column("seeds", "Seeds", value=lambda model: model.seed_range),
        *(
            Column(
                f"{task}_{metric}",
                f"{TASK_NAMES[task]} {METRIC_NAMES[metric]}",
                value=lambda model, task=task, metric=metric: _cell(model.tasks.get(task), metric),
            )
            for task in _tasks(results, models)
            for metric in TASKS[task].metrics
        ),
        Column("average", "Avg.", "number", 1),
        Column("average_std", "± (Avg.)", "number", 1),
        Column("missing", "Avg. without", value=missing),
    ]
    caption = (
        "Mean over languages and seeds ± sample standard deviation of the seeds’ means, in the columns of the "
        "paper’s Table 1. Avg.: the mean over tasks, of a question task (F1 + EM) / 2; where tasks are missing it "
        "is that of the others and compares with no printed number. From "
        "results/finetuning/{model}/{task}/summary.tsv, which has every digit, and {model}/average.json."
    )
    return Table.of("finetuning", "Scores of the fine-tuned models", caption, columns, rows)


def _tasks(results: Results, models: list[Finetuned]) -> list[str]:
    """The tasks with results or in the configuration, in the paper's order; all without a configuration."""
    asked = results.section("finetuning").get("tasks")
    asked = asked if isinstance(asked, list) else list(TASKS)
    return [task for task in TASKS if task in asked or any(task in model.tasks for model in models)]


def _cell(reached: Reached | None, metric: str) -> str:
    """The mean of a measure over languages, with its deviation where there are several seeds: `70.1 ± 0.5`."""
    if reached is not None and not reached.overall:
        return "labels withheld"
    measured = reached.overall.get(metric) if reached else None
    if measured is None:
        return NOT_RUN
    return f"{measured.mean:.1f}" + ("" if measured.std is None else f" ± {measured.std:.1f}")


def _choices(results: Results, models: list[Finetuned]) -> Table:
    """A row a model and task, those not run among them."""
    absent = (NOT_RUN, *[None] * 10)
    rows = [
        (model.name, TASK_NAMES[task], *(_choice(model.tasks[task]) if task in model.tasks else absent))
        for model in models
        for task in _tasks(results, models)
    ]
    columns = [
        Column("model", "Model"),
        Column("task", "Task"),
        Column("chosen_by", "Setting"),
        Column("learning_rate", "Learning rate"),
        Column("epochs", "Epochs", "number"),
        Column("settings", "of settings", "number"),
        Column("seeds", "Seeds", "number"),
        Column("languages", "Languages", "number"),
        Column("absent", "Languages without file or predictions"),
        Column("blank", "Labels withheld"),
        Column("outside", "Outside the table of languages"),
        Column("not_choosing", "Absent in the choice"),
        Column("stand_ins", "Stand-ins"),
    ]
    caption = (
        "The chosen setting, the files of the choice, and the number of test languages; a score is the mean over "
        "those. From results/finetuning/{model}/{task}/selection.json."
    )
    return Table("finetuning-choices", "Chosen settings and absent files", caption, columns, rows)


def _choice(reached: Reached) -> Iterator:
    said = reached.selection
    rate = said.get("learning_rate")
    yield f"{said.get('label', '')} (rule: {said.get('rule', '')})"
    yield f"{rate:g}" if isinstance(rate, int | float) else None
    yield said.get("epochs")
    yield len(said.get("settings") or ())
    yield len(said["seeds"])
    yield len(said["languages"])
    for names in (said.get("absent"), said.get("blank"), said.get("outside"), find(said, "development", "absent")):
        yield ", ".join(names or ())
    yield "; ".join(f"{value} for {key}" for key, value in said["stand_ins"].items())


def _languages(results: Results, models: list[Finetuned]) -> Table:
    """A row a task, measure and language; two columns a model."""
    rows = []
    for task in _tasks(results, models):
        tables = [model.tasks[task].languages if task in model.tasks else {} for model in models]
        for metric in TASKS[task].metrics:
            for code in (code for code in TASKS[task].languages if any(code in table for table in tables)):
                found = [table.get(code, {}).get(metric) for table in tables]
                values = [value for one in found for value in ((one.mean, one.std) if one else (None, None))]
                rows.append((TASK_NAMES[task], METRIC_NAMES[metric], code, _name(results, code), *values))
    columns = [
        Column("task", "Task"),
        Column("metric", "Measure"),
        Column("language", "Code"),
        Column("name", "Language"),
    ]
    for model in models:
        columns.append(Column(model.name, model.name, "number", 1))
        columns.append(Column(f"{model.name}_std", "±", "number", 1))
    caption = (
        "Each test language: mean over seeds and sample standard deviation, in percent. From "
        "results/finetuning/{model}/{task}/summary.tsv."
    )
    return Table("finetuning-languages", "Scores by language", caption, columns, rows, folded=True)


def _ceilings(results: Results) -> Table:
    """A row a tokenizer and file of questions."""
    columns = [
        Column("tokenizer", "Tokenizer"),
        Column("task", "Task", value=lambda row: TASK_NAMES.get(row["task"], row["task"])),
        Column("split", "Split"),
        Column("language", "Code"),
        Column("name", "Language", value=lambda row: _name(results, row["language"])),
        Column("questions", "Questions", "number"),
        Column("pieces_exact_match", "Pieces: EM", "number", 1),
        Column("pieces_f1", "Pieces: F1", "number", 1),
        Column("exact_match", "EM", "number", 1),
        Column("f1", "F1", "number", 1),
    ]
    caption = (
        "The score of a model that is always right, in percent: gold answers converted to subwords and back, "
        "with the bounds of pieces alone, and (EM, F1) with windows and the limit of 30 subwords too. From "
        "results/finetuning/ceilings/."
    )
    title = "Upper bounds of span extraction"
    return Table.of("finetuning-ceilings", title, caption, columns, results.ceilings, folded=True)


def _name(results: Results, code: str) -> str:
    """Of a language of the run, else of the paper's; the code of any other."""
    known = None if code in results.languages else paper_languages().get(code)
    return known.name if known else results.name(code)
