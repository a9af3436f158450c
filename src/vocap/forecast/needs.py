"""What a job needs: the table `needs.tsv`, which `vocap plan` adds up and the rules ask for.

A row is of one rule or several. A cell is a fixed number and a factor of an amount, as
`330 + 13 text`; behind a bar stands the memory that a job needs at least where the key
`memory` of the configuration limits it. Amounts are in millions:

- `text`: bytes of text that the job reads. A forecast estimates them; a request takes the
  size of the input files.
- `sentences`: lines of a sample, at most
- `ids`: rows of the job's tokenizer, T of an allocation
- `parameters`: of the model that is trained
- of disk alone, which no rule asks for: `kept`, bytes of the sampled lines; `pieces`, of
  all models of a language; `exported`, parameters of all models that a training writes
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from vocap.config import Settings
from vocap.files.io import read_tsv
from vocap.pretraining.settings import Recipe, count_parameters
from vocap.workflow.tuned import TunedModel, studied_model, tuned_model

MILLION = 1e6


@dataclass(frozen=True)
class Need:
    """A fixed number, and a factor of an amount."""

    fixed: float
    factor: float = 0.0
    amount: str = ""

    @classmethod
    def parse(cls, cell: str) -> "Need":
        """
        >>> Need.parse("330 + 13 text")
        Need(fixed=330.0, factor=13.0, amount='text')
        """
        fixed, _, more = cell.partition(" + ")
        factor, _, amount = more.partition(" ")
        return cls(float(fixed), float(factor or 0), amount)

    def of(self, amount: Callable[[str], float]) -> float:
        """The number, where `amount` gives the amount of a name."""
        return self.fixed + (self.factor * amount(self.amount) if self.amount else 0.0)


@dataclass(frozen=True)
class Needs:
    """Of one job: processor seconds besides those of a training, and millions of bytes."""

    seconds: Need
    memory_mb: Need
    disk_mb: Need
    least_mb: Need

    def memory(self, limit: int | None, amount: Callable[[str], float]) -> float:
        """Millions of bytes of memory, with a `limit` of the configuration."""
        most = self.memory_mb.of(amount)
        return most if limit is None else min(most, max(limit, self.least_mb.of(amount)))


@cache
def read_needs() -> dict[str, Needs]:
    """The table, by rule."""
    path = Path(str(resources.files("vocap.forecast"))) / "needs.tsv"
    found: dict[str, Needs] = {}
    for row in read_tsv(path):
        memory, _, least = row["memory_mb"].partition(" | ")
        cells = row["seconds"], memory, row["disk_mb"], least or memory
        found |= dict.fromkeys(row["rules"].split(), Needs(*map(Need.parse, cells)))
    return found


def needs_of(rule: str) -> Needs:
    """The row of a rule, which each rule has."""
    return read_needs()[rule]


def known_amount(name: str, rule: str, wildcards: Mapping[str, str], settings: Settings) -> float:
    """An amount of a job that the configuration decides alone: `sentences`, `ids` or
    `parameters`, in millions.
    """
    if name == "sentences":
        corpora = settings.corpora
        most = corpora.mix.sentences if rule == "mix" else corpora.max_sentences
        return float(most) / MILLION
    if name == "ids":
        return tokenizer_rows(rule, wildcards, settings) / MILLION
    if "tuned" in wildcards:
        return model_of_job(wildcards, settings).parameters / MILLION
    model, rows = recipe_of(rule, wildcards, settings)
    return count_parameters(model.shape, rows, model.causal) / MILLION


def recipe_of(rule: str, wildcards: Mapping[str, str], settings: Settings) -> tuple[Recipe, int]:
    """The settings of a pre-training, and the rows of its tokenizer."""
    if rule == "studied_model":
        return settings.correlation.model, tokenizer_rows(rule, wildcards, settings)
    model = settings.pretraining.models[wildcards["name"]]
    return model, settings.rows(model.tokenizer)


def tokenizer_rows(rule: str, wildcards: Mapping[str, str], settings: Settings) -> int:
    """T of the tokenizer or the allocation of a job; of the correlation study the size,
    <pad> and <mask>.
    """
    if "size" in wildcards:
        return int(wildcards["size"]) + 2
    if rule.startswith("allocate"):
        return settings.allocation[wildcards["name"]].total
    names = (wildcards.get(key) for key in ("tokenizer", "name", "a"))
    return settings.rows(next(filter(None, names)))


def model_of_job(wildcards: Mapping[str, str], settings: Settings) -> TunedModel:
    """The model of a job of fine-tuning."""
    _, name, *size = wildcards["tuned"].split("/")
    return studied_model(settings, name, int(*size)) if size else tuned_model(settings, name)
