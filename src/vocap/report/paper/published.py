"""The numbers that the paper prints, read from the package's own files.

Tables 1 to 4 and the appendix's correlations and data sets are `*.tsv` beside this module; the sizes by language
(CommonCrawl, Wikipedia, allocated) are columns of the table of languages that ships with vocap.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from vocap.files.tsv import read_tsv
from vocap.finetuning.tasks import TASKS
from vocap.languages import default_table, natural, read_languages

SOURCE = (
    "Zheng et al., Allocating Large Vocabulary Capacity for Cross-lingual Language Model Pre-training, "
    "EMNLP 2021, arXiv 2109.07306"
)
TASK_NAMES = {name: task.label for name, task in TASKS.items()}
METRIC_NAMES = {"acc": "accuracy", "f1": "F1", "exact_match": "EM"}
_TEXT = ("method", "tokenizer", "loss", "half", "task", "kind", "language")  # columns that are no numbers


@dataclass(frozen=True)
class PaperLanguage:
    """One language in the appendix: GB of text, thousands of pieces allocated at T = 500K."""

    name: str
    resource: str
    cc_gb: float
    wikipedia_gb: float
    allocated_thousands: float


@cache
def printed(name: str) -> tuple[dict[str, str | float | None], ...]:
    """The rows of a printed table (xtreme, sampling, k, beta, correlation or datasets), numbers as such.

    >>> printed("k")[4]["k"], printed("k")[4]["speed"]
    (50.0, 1.64)
    """
    path = Path(str(resources.files("vocap.report.paper"))) / f"{name}.tsv"
    return tuple(
        {key: cell if key in _TEXT else float(cell) if cell else None for key, cell in row.items()}
        for row in read_tsv(path)
    )


def measures(name: str) -> list[tuple[str, str]]:
    """The scores that a printed table has, as (task, metric), in its order.

    >>> measures("beta")
    [('xnli', 'acc'), ('udpos', 'f1'), ('panx', 'f1'), ('mlqa', 'f1'), ('mlqa', 'exact_match')]
    """
    found = [column.partition("_") for column in printed(name)[0]]
    return [(task, metric) for task, _, metric in found if task in TASK_NAMES and metric in METRIC_NAMES]


@cache
def paper_languages() -> dict[str, PaperLanguage]:
    """The 86 languages of the appendix's three tables, in their order."""
    columns = ("paper_cc_gb", "paper_wikipedia_gb", "paper_allocated_thousands")
    return {
        code: PaperLanguage(one.name, one.resource, *(float(one.facts[column]) for column in columns))
        for code, one in natural(read_languages(default_table())).items()
    }


def on_paper_languages(codes: Iterable[str]) -> bool:
    """Whether `codes` hold at least half of the paper's 86: sizes of fewer do not compare with its own.

    >>> on_paper_languages(["en", "de"]), on_paper_languages([*paper_languages(), "yo"])
    (False, True)
    """
    return 2 * len(paper_languages().keys() & set(codes)) >= len(paper_languages())
