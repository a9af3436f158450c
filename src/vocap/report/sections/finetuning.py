"""Fine-tuned models: Table 1 with seeds and deviations, each task's choice, each language; what is not run."""

from collections.abc import Iterator

from vocap.finetuning.metrics import MEASURES
from vocap.finetuning.tasks import TASKS
from vocap.report.blocks import Block, Note, Section, Text, not_run
from vocap.report.finetuned import Finetuned, Measured, Reached
from vocap.report.paper.published import METRIC_NAMES, TASK_NAMES, paper_languages
from vocap.report.results import Results
from vocap.report.tables import Column, Table

NOT_RUN = "not run"


def section(results: Results) -> Section:
    """What stands in for data comes first, then the table like the paper's, the choices, and the languages."""
    models = list(results.finetuned.values())
    blocks: list[Block] = []
    if not models:
        what = "No model has been fine-tuned; the tasks need the user’s own XTREME folder (finetuning: xtreme)."
        return Section("finetuning", "Fine-tuning", "Fine-tuning", [not_run("finetuning", what)])
    blocks.append(
        Text(
            "Each model learns each task from English examples alone and is tested in all its languages. A task’s "
            "score is the mean over languages, then over seeds; learning rate and epochs are those with the "
            "highest mean on the files that choose. Measures are the official scripts’, in percent."
        )
    )
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
    if absent := results.absent("finetuned", results.finetuned):
        blocks.append(Note(f"In the configuration, but without results here: {', '.join(absent)}."))
    return Section(
        "finetuning",
        "Fine-tuning",
        "Fine-tuning",
        [
            *blocks,
            _scores(results, models),
            _choices(results, models),
            _languages(results, models),
            *([_ceilings(results)] if results.ceilings else []),
        ],
    )


def _stand_ins(models: list[Finetuned]) -> str:
    pairs = {f"{value} for {key}" for model in models for key, value in model.stand_ins.items()}
    return "; ".join(sorted(pairs))


def _chosen_on_tests(models: list[Finetuned]) -> str:
    """Tasks whose setting a test file chose, with the label of that choice."""
    labels = {
        f"{TASK_NAMES[task]}, {reached.selection.get('label')}"
        for model in models
        for task, reached in model.tasks.items()
        if (reached.selection.get("development") or {}).get("split") == "test"
    }
    return "; ".join(sorted(labels))


def _cell(measured: Measured | None) -> str:
    """
    >>> _cell(Measured(70.123, 0.456, 5)), _cell(Measured(70.123, None, 1)), _cell(None)
    ('70.1 ± 0.5', '70.1', 'not run')
    """
    if measured is None:
        return NOT_RUN
    return f"{measured.mean:.1f}" + ("" if measured.std is None else f" ± {measured.std:.1f}")


def _scores(results: Results, models: list[Finetuned]) -> Table:
    """A row a model, as Table 1."""
    tasks = _tasks(results, models)
    names = [*results.finetuned, *results.absent("finetuned", results.finetuned)]
    rows = []
    for name in names:
        model = results.finetuned.get(name, Finetuned(name, {}, None, None, ()))
        cells = [_cell_of(model.tasks.get(task), metric) for task in tasks for metric in MEASURES[task]]
        missing = ", ".join(TASK_NAMES.get(task, task) for task in model.missing)
        rows.append((name, _seeds(model), *cells, model.average, model.average_std, missing))
    columns = [
        Column("model", "Model"),
        Column("seeds", "Seeds"),
        *(
            Column(f"{task}_{metric}", f"{TASK_NAMES[task]} {METRIC_NAMES[metric]}")
            for task in tasks
            for metric in MEASURES[task]
        ),
        Column("average", "Avg.", "number", 1),
        Column("average_std", "± (Avg.)", "number", 1),
        Column("missing", "Avg. without"),
    ]
    caption = (
        "Mean over languages and seeds ± sample standard deviation of the seeds’ means, in the columns of the "
        "paper’s Table 1. Avg.: the mean over tasks, of a question task (F1 + EM) / 2; where tasks are missing it "
        "is that of the others and compares with no printed number. From "
        "results/finetuning/{model}/{task}/summary.tsv, which has every digit, and {model}/average.json."
    )
    return Table("finetuning", "Scores of the fine-tuned models", caption, columns, rows)


def _tasks(results: Results, models: list[Finetuned]) -> list[str]:
    """The tasks that are asked for or there, in the paper's order; all where the configuration does not say."""
    section = results.settings.get("finetuning")
    asked = section.get("tasks") if isinstance(section, dict) else None
    asked = asked if isinstance(asked, list) else list(MEASURES)
    return [task for task in MEASURES if task in asked or any(task in model.tasks for model in models)]


def _cell_of(reached: Reached | None, metric: str) -> str:
    if reached is not None and not reached.overall:
        return "labels kept back"
    return _cell(reached.overall.get(metric) if reached else None)


def _seeds(model: Finetuned) -> str:
    counts = sorted(set(model.seeds.values()))
    return " to ".join(map(str, counts[:1] + counts[1:][-1:]))


def _choices(results: Results, models: list[Finetuned]) -> Table:
    """A row a model and task, those not run among them."""
    rows = []
    for model in models:
        for task in _tasks(results, models):
            reached = model.tasks.get(task)
            if reached is None:
                rows.append((model.name, TASK_NAMES[task], *([NOT_RUN] + [None] * 10)))
            else:
                rows.append((model.name, TASK_NAMES[task], *_choice(reached)))
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
        Column("blank", "Labels kept back"),
        Column("outside", "Outside the table of languages"),
        Column("not_choosing", "Absent where it was chosen"),
        Column("stand_ins", "Stand-ins"),
    ]
    caption = (
        "What was chosen, by which files, and in how many test languages it was scored; a score is the mean over "
        "those. From results/finetuning/{model}/{task}/selection.json."
    )
    return Table("finetuning-choices", "What was chosen, and what is absent", caption, columns, rows)


def _choice(reached: Reached) -> Iterator:
    said = reached.selection
    rate = said.get("learning_rate")
    development = said.get("development") or {}
    yield f"{said.get('label', '')} (rule: {said.get('rule', '')})"
    yield f"{rate:g}" if isinstance(rate, int | float) else None
    yield said.get("epochs")
    yield len(said.get("settings") or ())
    yield len(said["seeds"])
    yield len(said["languages"])
    for names in (said.get("absent"), said.get("blank"), said.get("outside"), development.get("absent")):
        yield ", ".join(names or ())
    yield "; ".join(f"{value} for {key}" for key, value in said["stand_ins"].items())


def _languages(results: Results, models: list[Finetuned]) -> Table:
    """A row a task, measure and language; two columns a model."""
    rows = []
    for task in _tasks(results, models):
        tables = [model.tasks[task].languages if task in model.tasks else {} for model in models]
        for metric in MEASURES[task]:
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
    rows = [
        (
            one.tokenizer,
            TASK_NAMES.get(one.task, one.task),
            one.split,
            one.language,
            _name(results, one.language),
            one.questions,
            one.pieces_exact_match,
            one.pieces_f1,
            one.exact_match,
            one.f1,
        )
        for one in results.ceilings
    ]
    columns = [
        Column("tokenizer", "Tokenizer"),
        Column("task", "Task"),
        Column("split", "Split"),
        Column("language", "Code"),
        Column("name", "Language"),
        Column("questions", "Questions", "number"),
        Column("pieces_exact_match", "Pieces: EM", "number", 1),
        Column("pieces_f1", "Pieces: F1", "number", 1),
        Column("exact_match", "EM", "number", 1),
        Column("f1", "F1", "number", 1),
    ]
    caption = (
        "What a model that is always right would score, in percent: gold answers after their way to subwords and "
        "back, by the bounds of pieces alone, and (EM, F1) with windows and the limit of 30 subwords too. From "
        "results/finetuning/ceilings/."
    )
    return Table("finetuning-ceilings", "What pieces let answers reach", caption, columns, rows, folded=True)


def _name(results: Results, code: str) -> str:
    """Of a language of the run, else of the paper's; the code of any other."""
    known = None if code in results.languages else paper_languages().get(code)
    return known.name if known else results.name(code)
