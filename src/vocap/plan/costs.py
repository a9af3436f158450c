"""The cost model: a job costs a sum of coefficient times feature; `costs.yaml` holds the coefficients, by rule."""

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources

import yaml
from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveFloat, ValidationError

from vocap.errors import UsageError
from vocap.plan.jobs import Job
from vocap.plan.texts import Text
from vocap.yaml_file import read_yaml

Coefficients = dict[str, NonNegativeFloat]  # feature ("job" is 1 for every job) to coefficient


class Rule(BaseModel):
    """What a job of one rule costs."""

    model_config = ConfigDict(extra="forbid")

    cpu_s: Coefficients = Field({}, description="seconds of one processor core")
    wait_s: Coefficients = Field({}, description="seconds in which it waits, for a network")
    gpu_s: Coefficients = Field({}, description="seconds of one GPU")
    memory_mb: Coefficients = Field({}, description="peak resident memory, as Snakemake's benchmark counts it")
    disk_mb: Coefficients = Field({}, description="what it leaves on the disk")
    seen: Coefficients = Field({}, description="the largest value of each feature among the jobs of the fit")
    cores: PositiveFloat = Field(1.0, description="processor seconds a second, of a rule of several threads")


class Reach(BaseModel):
    """The largest vocabulary that a text can give: scale x megabytes ^ power."""

    model_config = ConfigDict(extra="forbid")

    scale: PositiveFloat
    power: PositiveFloat


class Overhead(BaseModel):
    """What Snakemake itself takes: to start, for each job of the plan, and around each job that runs."""

    model_config = ConfigDict(extra="forbid")

    start_s: NonNegativeFloat = 0
    planning_s: NonNegativeFloat = Field(0, description="for each job of the plan, before the first starts")
    job_s: NonNegativeFloat = Field(description="around each job, while its core or place waits")
    job_cpu_s: NonNegativeFloat = Field(0, description="of processor time for each job, beside its own")
    submit_s: NonNegativeFloat = Field(0, description="between two submissions to a cluster")


class Costs(BaseModel):
    """The whole of `costs.yaml`."""

    model_config = ConfigDict(extra="forbid")

    fitted_on: list[str] = Field(description="the runs, and the machine, that the coefficients come from")
    features: dict[str, str] = Field(description="what each feature is, and its unit")
    reach: Reach
    overhead: dict[str, Overhead] = Field(description="local, slurm")
    rules: dict[str, Rule]


@dataclass(frozen=True)
class Cost:
    """Of one job, or of many: seconds, and megabytes (millions of bytes); `memory_mb` is the largest job's."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    gpu_s: float = 0.0
    memory_mb: float = 0.0
    disk_mb: float = 0.0


def read_costs(path: str | os.PathLike | None = None) -> Costs:
    """The coefficients of a file, or those that ship with the package.

    Raises UsageError, naming the file and the key, for what is no table of coefficients.
    """
    path = resources.files("vocap.plan") / "costs.yaml" if path is None else path
    try:
        return Costs.model_validate(read_yaml(path))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise UsageError(f"{path}: {key}: {first['msg']}; make it again with: vocap plan --refit") from None


def weigh(coefficients: Mapping[str, float], features: Mapping[str, float]) -> float:
    """Sum of coefficient times feature; a feature that the job lacks is 0.

    >>> weigh({"job": 2.0, "train_mb": 0.5}, {"train_mb": 10.0, "points": 50})
    7.0
    """
    return sum(value * (1.0 if name == "job" else features.get(name, 0.0)) for name, value in coefficients.items())


def cost_of(job: Job, costs: Costs) -> Cost:
    """What one job takes; raises UsageError for a rule without coefficients."""
    rule = costs.rules.get(job.priced_as)
    if rule is None:
        raise UsageError(f"the cost model has no rule {job.priced_as!r}; fit it again with: vocap plan --refit")
    cpu_s, gpu_s = weigh(rule.cpu_s, job.features), weigh(rule.gpu_s, job.features)
    return Cost(
        # a GPU and the process that drives it work at the same time; what several say to each other is not counted
        wall_s=max(cpu_s / min(rule.cores, job.threads), gpu_s) / job.gpus + weigh(rule.wait_s, job.features),
        cpu_s=cpu_s,
        gpu_s=gpu_s,
        memory_mb=weigh(rule.memory_mb, job.features),
        disk_mb=weigh(rule.disk_mb, job.features),
    )


def total(costs: Iterable[Cost]) -> Cost:
    """Sums, and of the memory the largest."""
    costs = list(costs)
    return Cost(
        math.fsum(cost.wall_s for cost in costs),
        math.fsum(cost.cpu_s for cost in costs),
        math.fsum(cost.gpu_s for cost in costs),
        max((cost.memory_mb for cost in costs), default=0.0),
        math.fsum(cost.disk_mb for cost in costs),
    )


def reach_of(texts: Mapping[str, Text], costs: Costs) -> dict[str, float]:
    """The largest vocabulary of each language, in pieces: known, or by the model's power law."""
    return {
        lang: text.reach if text.reach is not None else costs.reach.scale * text.train_mb**costs.reach.power
        for lang, text in texts.items()
    }


def as_yaml(costs: Costs) -> str:
    """The text of a `costs.yaml`."""
    header = (
        "# Written by `vocap plan --refit`, see docs/plan.md. Units are in the names: _s seconds, _mb megabytes.\n"
    )
    content = costs.model_dump(exclude_defaults=True)
    words = {name: content.pop(name) for name in ("fitted_on", "features")}
    style = {"sort_keys": False, "allow_unicode": True, "width": 113}
    return header + yaml.safe_dump(words, **style) + yaml.safe_dump(content, default_flow_style=None, **style)
