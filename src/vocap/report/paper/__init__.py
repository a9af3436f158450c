"""The numbers that the paper prints, read from the package's own files.

Tables 1 to 4 and the appendix's correlations and data sets are `*.tsv` beside this
module; the sizes by language (CommonCrawl, Wikipedia, allocated) are columns of the
table of languages that ships with vocap.
"""

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import pandas

from vocap.finetuning.tasks import TASKS
from vocap.languages import Language, default_table, natural, read_languages
from vocap.tables.frames import records

SOURCE = (
    "Zheng et al., Allocating Large Vocabulary Capacity for Cross-lingual Language Model "
    "Pre-training, EMNLP 2021, arXiv 2109.07306"
)
FILES = Path(str(resources.files("vocap.report.paper")))
TASK_NAMES = {name: task.label for name, task in TASKS.items()}
METRIC_NAMES = {"acc": "accuracy", "f1": "F1", "exact_match": "EM"}


@cache
def printed(name: str) -> tuple[dict[str, Any], ...]:
    """The rows of a printed table (xtreme, sampling, k, beta, correlation or datasets):
    texts, numbers, yes and no as such, None for an empty cell.

    >>> printed("k")[4]["k"], printed("k")[4]["speed"]
    (50.0, 1.64)
    """
    table = pandas.read_csv(
        FILES / f"{name}.tsv", sep="\t", true_values=["yes"], false_values=["no"]
    )
    return tuple(records(table))


@cache
def paper_languages() -> dict[str, Language]:
    """The 86 languages of the appendix's three tables, in their order."""
    return natural(read_languages(default_table()))


def paper_size(code: str, column: str) -> float | None:
    """A number of the appendix: paper_cc_gb, paper_wikipedia_gb or
    paper_allocated_thousands; None for others.

    >>> paper_size("en", "paper_cc_gb"), paper_size("xx", "paper_cc_gb")
    (731.6, None)
    """
    language = paper_languages().get(code)
    return float(language.facts[column]) if language else None
