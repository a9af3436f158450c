"""The models of a run with the properties that distinguish the paper's models."""

import statistics
from dataclasses import dataclass, field
from typing import Any

from vocap.report.data.results import Finetuned, Model, Results

PAPER_BETA = 0.7
PAPER_TOTAL = 500_000  # of Tables 2 to 4
PAPER_K = 50  # where a table has one k


@dataclass(frozen=True)
class Run:
    """One pre-trained model. Unknown values are None or empty."""

    name: str
    tokenizer: str  # its name
    kind: str  # of the tokenizer, or the name of a rule that reads text, which the paper does not have
    total: int | None  # T
    beta: float | None  # of the tokenizer's allocation
    loss: str  # its kind
    k: int | None
    half: bool  # embeddings of half the width
    steps: int
    parameters: int | None
    tokens_per_s: float | None  # the median over the lines of metrics
    machine: tuple[Any, Any]  # device and processes: speeds compare only on the same
    tuned: Finetuned = field(default_factory=lambda: Finetuned(""))  # the scores of its last state

    @property
    def size(self) -> str:
        """T as the paper writes it, empty where it is not known."""
        if self.total is None:
            return ""
        return f"{self.thousands}K" if self.total >= 10_000 else f"{self.total:,}"

    @property
    def thousands(self) -> int | None:
        return None if self.total is None else round(self.total / 1000)

    @property
    def paper_beta(self) -> bool:
        """Whether its allocation has the paper's beta, or an unknown one."""
        return self.beta is None or abs(self.beta - PAPER_BETA) < 1e-9


def runs(results: Results) -> list[Run]:
    """Every pre-trained model of the results, with the XTREME scores of its last state."""
    tuned = {model: name for name, (model, step) in origins(results).items() if step is None}
    return [
        _run(results, model, results.finetuned[tuned[name]] if name in tuned else Finetuned(""))
        for name, model in results.models.items()
    ]


def origins(results: Results) -> dict[str, tuple[str, int | None]]:
    """The pre-trained model and its step (None: the last) of each fine-tuned model that comes from one here.

    The configuration's `finetuning: models` gives them; without these a model has the name of its origin. A later
    name of one origin is left out.
    """
    found: dict[str, tuple[str, int | None]] = {}
    for name in results.finetuned:
        entry = results.section("finetuning", "models", name)
        origin = (entry.get("model") or name, entry.get("step"))
        elsewhere = entry.get("path") or entry.get("weights") == "random" or origin[0] not in results.models
        if not elsewhere and origin not in found.values():
            found[name] = origin
    return found


def _run(results: Results, model: Model, tuned: Finetuned) -> Run:
    name = model.setting("tokenizer") or ""
    tokenizer = results.tokenizers.get(name)
    allocation = results.allocation_of(tokenizer) if tokenizer and tokenizer.kind == "vocap" else None
    by_text = allocation is not None and allocation.rule is not None and allocation.rule.needs_text
    embedding = model.setting("settings", "shape", "embedding_size")
    speeds = [row["tokens_per_s"] for row in model.rows if row.get("tokens_per_s")]
    return Run(
        name=model.name,
        tokenizer=name,
        kind=allocation.rule.name if by_text else tokenizer.kind if tokenizer else "",
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
