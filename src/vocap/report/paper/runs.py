"""The models of a run with the properties that distinguish the paper's models."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from vocap.report.data.models import Finetuned, Model
from vocap.report.data.results import Results, Tokenizer

PAPER_BETA = 0.7
PAPER_STEPS = {"xtreme": 1_000_000, "sampling": 500_000, "k": 500_000, "beta": 500_000}
PAPER_TOTAL = 500_000  # of Tables 2 to 4
NOT_TUNED = Finetuned("", {}, None, None, ())


@dataclass(frozen=True)
class Run:
    """One pre-trained model. Unknown values are None or empty."""

    name: str
    tokenizer: str  # its name
    kind: str  # of the tokenizer, or its rule (`_kind`)
    total: int | None  # T
    beta: float | None  # of the tokenizer's allocation
    loss: str  # its kind
    k: int | None
    half: bool
    steps: int
    parameters: int | None
    tokens_per_s: float | None  # the median over the lines of metrics
    machine: tuple[Any, Any]  # device and processes: speeds compare only on the same
    tuned: Finetuned = NOT_TUNED  # the scores of its last state

    @property
    def size(self) -> str:
        """T as the paper writes it, empty where it is not known."""
        if self.total is None:
            return ""
        return f"{round(self.total / 1000)}K" if self.total >= 10_000 else f"{self.total:,}"


def runs(results: Results) -> list[Run]:
    """Every pre-trained model of the results that has metrics, with the XTREME scores of its last state."""
    tuned = final_states(results)
    return [
        _run(results, model, tuned.get(model.name, NOT_TUNED)) for model in results.models.values() if model.rows
    ]


def final_states(results: Results) -> dict[str, Finetuned]:
    """The scores of each pre-trained model's last state, by the name of the model."""
    return {place.model: results.finetuned[name] for name, place in origins(results).items() if place.step is None}


@dataclass(frozen=True)
class Origin:
    """The model of `pretraining` that was fine-tuned, and its steps; None: the last state."""

    model: str
    step: int | None


def origins(results: Results) -> dict[str, Origin]:
    """Of each fine-tuned model that comes from pre-training here, by name; a later name of one origin is left out.

    It is given by the configuration's `finetuning: models`; without these a model has the name of its origin.
    """
    found: dict[str, Origin] = {}
    for name in results.finetuned:
        entry = results.section("finetuning", "models", name)
        origin = Origin(entry.get("model") or name, entry.get("step"))
        elsewhere = entry.get("path") or entry.get("weights") == "random" or origin.model not in results.models
        if not elsewhere and origin not in found.values():
            found[name] = origin
    return found


def _run(results: Results, model: Model, tuned: Finetuned) -> Run:
    name = model.setting("tokenizer") or ""
    tokenizer = results.tokenizers.get(name)
    allocation = results.allocation_of(tokenizer) if tokenizer and tokenizer.kind == "vocap" else None
    embedding = model.setting("settings", "shape", "embedding_size")
    speeds = [row["tokens_per_s"] for row in model.rows if row.get("tokens_per_s")]
    return Run(
        name=model.name,
        tokenizer=name,
        kind=_kind(results, tokenizer),
        total=model.setting("vocabulary") or (tokenizer.total if tokenizer else None),
        beta=allocation.setting("beta") if allocation else None,
        loss=model.setting("settings", "loss", "kind") or "",
        k=model.setting("settings", "loss", "k"),
        half=embedding is not None and embedding != model.setting("settings", "shape", "hidden"),
        steps=model.rows[-1]["step"],
        parameters=model.setting("parameters"),
        tokens_per_s=statistics.median(speeds) if speeds else None,
        machine=(model.setting("device"), model.setting("processes")),
        tuned=tuned,
    )


def _kind(results: Results, tokenizer: Tokenizer | None) -> str:
    """The kind of tokenizer; of an allocation that is not by sizes, which the paper does not have, its rule."""
    rule = results.rule_of(tokenizer) if tokenizer else None
    return rule.name if rule and rule.needs_text else tokenizer.kind if tokenizer else ""


def nearest(candidates: Iterable[Run], key: Callable[[Run], float | None], wanted: float) -> Run | None:
    """The run whose `key` is nearest to `wanted` (one without it last), the first by name among equals."""

    def distance(run: Run) -> tuple[float, str]:
        value = key(run)
        return (float("inf") if value is None else abs(value - wanted), run.name)

    return min(candidates, key=distance, default=None)


def of_paper_beta(run: Run) -> bool:
    """Whether its allocation has the paper's beta, or an unknown one."""
    return run.beta is None or abs(run.beta - PAPER_BETA) < 1e-9


def one_tokenizer(candidates: Sequence[Run], variety: Callable[[Run], Any]) -> list[Run]:
    """The runs of the VOCAP tokenizer with most different values of `variety`; of equals the T nearest to 500K."""
    groups: dict[str, list[Run]] = {}
    for run in candidates:
        groups.setdefault(run.tokenizer, []).append(run)

    def order(group: list[Run]) -> tuple[int, float, str]:
        away = abs((group[0].total or 0) - PAPER_TOTAL)
        return -len({variety(run) for run in group}), away, group[0].tokenizer

    return min(groups.values(), key=order, default=[])
