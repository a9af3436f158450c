"""Tables 6 to 9 of the paper, on data and allocated sizes, with this run's numbers beside them."""

from vocap.report.paper.published import TASK_NAMES, on_paper_languages, paper_languages, printed
from vocap.report.paper.runs import Run
from vocap.report.results import Results
from vocap.report.tables import Column, Table

GB = 1e9
_LANGUAGE = (Column("language", "Code"), Column("name", "Language"), Column("resource", "Group"))


def data_tables(results: Results, runs: list[Run]) -> list[Table]:
    """Those of Tables 6 to 9 that the run has numbers for; the last three only on the paper's languages."""
    tables = [_datasets(runs)] if any(run.scores for run in runs) else []
    if on_paper_languages(results.languages):
        tables += [_vocabulary_text(results)] if results.corpora else []
        tables += [_training_text(results)] if results.training_bytes else []
        tables += [_allocated(results)] if results.allocations else []
    return tables


def _named(results: Results, code: str) -> tuple[str, str, str]:
    return code, results.name(code), results.resource(code)


def _sum(column: str) -> str:
    """
    >>> _sum("cc_gb")
    '2,077.5'
    """
    return f"{sum(getattr(language, column) for language in paper_languages().values()):,.5g}"


def _datasets(runs: list[Run]) -> Table:
    rows = []
    for row in printed("datasets"):
        task = row["task"]
        models = [run.name for run in runs if any(one == task for one, _ in run.scores)]
        languages = max((run.languages.get(task, 0) for run in runs), default=0) or None
        said = ", ".join(models[:4]) + (f" and {len(models) - 4} more" if len(models) > 4 else "")
        rows.append(
            (
                TASK_NAMES[task],
                row["kind"],
                int(row["train_examples"]),
                int(row["languages"]),
                languages,
                said or "not run",
            )
        )
    columns = [
        Column("task", "Task"),
        Column("kind", "Kind"),
        Column("paper_train_examples", "English training examples, the paper", "number"),
        Column("paper_languages", "Languages, the paper", "number"),
        Column("languages", "Languages scored in this run", "number"),
        Column("models", "Models of this run"),
    ]
    caption = (
        "The seven tasks, as the paper’s appendix counts them (in thousands), and in how many languages this run "
        "has test scores."
    )
    return Table("paper-data-sets", "Table 6: data sets of XTREME", caption, columns, rows)


def _vocabulary_text(results: Results) -> Table:
    rows = []
    for code in results.languages:
        paper, stats = paper_languages().get(code), results.corpora.get(code, {})
        read = stats.get("bytes") if stats.get("kept") else None
        rows.append(
            (
                *_named(results, code),
                paper.cc_gb if paper else None,
                read / GB if isinstance(read, int) else None,
                results.lines(code) if read else None,
                _source(stats.get("source")),
            )
        )
    columns = [
        *_LANGUAGE,
        Column("paper_cc_gb", "CommonCrawl in the paper, GB", "number"),
        Column("read_gb", "Read in this run, GB", "number"),
        Column("lines", "Lines sampled of it", "number"),
        Column("source", "Source"),
    ]
    caption = (
        f"Text that vocabularies are learnt on: in the paper CommonCrawl of this size ({_sum('cc_gb')} GB in all "
        "86), of which its authors’ scripts sample a million lines a language; in this run what it read. From "
        "results/corpora/{language}/stats.json."
    )
    title = "Table 7: CommonCrawl sizes, beside the text of the vocabularies"
    return Table("paper-text-vocabularies", title, caption, columns, rows, folded=True)


def _training_text(results: Results) -> Table:
    rows = []
    for code in results.languages:
        paper, read = paper_languages().get(code), results.training_bytes.get(code)
        rows.append(
            (*_named(results, code), paper.wikipedia_gb if paper else None, None if read is None else read / GB)
        )
    columns = [
        *_LANGUAGE,
        Column("paper_wikipedia_gb", "Wikipedia in the paper, GB", "number"),
        Column("trained_gb", "Pre-training text of this run, GB", "number"),
    ]
    caption = (
        f"Text that models are pre-trained on: Wikipedia in the paper ({_sum('wikipedia_gb')} GB in all 86); in "
        "this run all usable lines of what pretraining.corpus names, held-out lines left out. From "
        f"results/pretraining/tokens/{{tokenizer}}/{{language}}/description.json."
    )
    title = "Table 8: Wikipedia sizes, beside the text of pre-training"
    return Table("paper-text-pretraining", title, caption, columns, rows, folded=True)


def _allocated(results: Results) -> Table:
    sizes = {
        name: {share.language: share.size for share in entry.shares if share.size is not None}
        for name, entry in results.allocations.items()
    }
    rows = []
    for code in results.languages:
        paper = paper_languages().get(code)
        found = (sizes[name].get(code) for name in sizes)
        thousands = (None if size is None else size / 1000 for size in found)
        rows.append((*_named(results, code), paper.allocated_thousands if paper else None, *thousands))
    columns = [
        *_LANGUAGE,
        Column("paper_thousands", "The paper, T = 500K", "number"),
        *(Column(f"thousands_{name}", name, "number") for name in sizes),
    ]
    caption = (
        "Thousand pieces of each language’s vocabulary, before merging: the paper’s at T = 500K "
        f"({_sum('allocated_thousands')} in all 86), and those of each allocation of this run. From "
        "results/allocation/{name}/allocation.tsv."
    )
    return Table("paper-allocated-sizes", "Table 9: allocated sizes", caption, columns, rows, folded=True)


def _source(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {entry}" for key, entry in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "")
