"""The models of a run, told apart as the paper tells its own apart."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from vocap.report.finetuned import Finetuned
from vocap.report.models import Model
from vocap.report.results import Results, Tokenizer

PAPER_BETA = 0.7
PAPER_STEPS = {"xtreme": 1_000_000, "sampling": 500_000, "k": 500_000, "beta": 500_000}
PAPER_TOTAL = 500_000  # of Tables 2 to 4


@dataclass(frozen=True)
class Run:
    """One pre-trained model. What is not known is None or empty."""

    name: str
    tokenizer: str  # its name
    kind: str  # of the tokenizer: vocap, joint, mono, file
    total: int | None  # T
    beta: float | None  # of the tokenizer's allocation
    loss: str  # its kind
    k: int | None
    half: bool
    steps: int
    parameters: int | None
    tokens_per_s: float | None  # the median over the lines of metrics
    machine: tuple[Any, Any]  # device and processes: speeds compare on one alone
    scores: dict[tuple[str, str], float] = field(default_factory=dict)  # (task, metric) to the mean over languages
    seeds: dict[str, int] = field(default_factory=dict)  # by task
    languages: dict[str, int] = field(default_factory=dict)  # scored, by task
    average: float | None = None  # of Table 1
    missing: tuple[str, ...] = ()  # tasks without a score
    stand_ins: dict[str, str] = field(default_factory=dict)  # files that stood in for others: TASK/SPLIT to file

    @property
    def size(self) -> str:
        """T as the paper writes it, empty where it is not known."""
        if self.total is None:
            return ""
        return f"{round(self.total / 1000)}K" if self.total >= 10_000 else f"{self.total:,}"


def runs(results: Results) -> list[Run]:
    """Every pre-trained model of the results that has metrics, with what its last state reached on XTREME."""
    tuned = final_states(results)
    return [_run(results, model, tuned.get(model.name)) for model in results.models.values() if model.rows]


def final_states(results: Results) -> dict[str, Finetuned]:
    """What each pre-trained model reached from its last state, by the name of the model."""
    return {place.model: results.finetuned[name] for name, place in origins(results).items() if place.step is None}


@dataclass(frozen=True)
class Origin:
    """Which model of `pretraining` was fine-tuned, and after how many steps; None: at its end."""

    model: str
    step: int | None


def origins(results: Results) -> dict[str, Origin]:
    """Of each fine-tuned model that comes from pre-training here, by name; a later name of one origin is left out.

    The configuration's `finetuning: models` say it; without one a model has the name of its origin.
    """
    section = results.settings.get("finetuning")
    named = section.get("models") if isinstance(section, dict) else None
    found: dict[str, Origin] = {}
    for name in results.finetuned:
        entry = (named or {}).get(name) or {}
        origin = Origin(entry.get("model") or name, entry.get("step"))
        elsewhere = entry.get("path") or entry.get("weights") == "random" or origin.model not in results.models
        if not elsewhere and origin not in found.values():
            found[name] = origin
    return found


def _run(results: Results, model: Model, tuned: Finetuned | None) -> Run:
    name = model.setting("tokenizer") or ""
    tokenizer = results.tokenizers.get(name)
    allocation = results.allocation_of(tokenizer) if tokenizer and tokenizer.kind == "vocap" else None
    settings = allocation.summary.get("settings") if allocation else None
    loss = model.setting("settings", "loss") or {}
    embedding = model.setting("settings", "shape", "embedding_size")
    speeds = [row["tokens_per_s"] for row in model.rows if row.get("tokens_per_s")]
    return Run(
        name=model.name,
        tokenizer=name,
        kind=_kind(results, tokenizer),
        total=model.setting("vocabulary") or (tokenizer.total if tokenizer else None),
        beta=settings.get("beta") if isinstance(settings, dict) else None,
        loss=loss.get("kind", "") if isinstance(loss, dict) else "",
        k=loss.get("k") if isinstance(loss, dict) else None,
        half=embedding is not None and embedding != model.setting("settings", "shape", "hidden"),
        steps=model.rows[-1]["step"],
        parameters=model.setting("parameters"),
        tokens_per_s=statistics.median(speeds) if speeds else None,
        machine=(model.setting("device"), model.setting("processes")),
        scores=tuned.scores if tuned else {},
        seeds=tuned.seeds if tuned else {},
        languages=tuned.languages if tuned else {},
        average=tuned.average if tuned and not tuned.missing else None,
        missing=tuned.missing if tuned else (),
        stand_ins=tuned.stand_ins if tuned else {},
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
    """Whether its allocation has the paper's beta, as far as that is known."""
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
