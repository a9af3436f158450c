"""The training loop and its surroundings: checkpoints, optimiser, process groups,
random state, choice of GPUs.

Here are the types of settings that pre-training and fine-tuning share; reading them
imports no torch.
"""

import os
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field

from vocap.section import ConfigSection

Precision = Literal["auto", "bf16", "fp16", "fp32"]
Entry = TypeVar("Entry")


def _distinct(values: list[Entry]) -> list[Entry]:
    if len(set(values)) < len(values):
        raise ValueError("duplicate entry")
    return values


Distinct = Annotated[list[Entry], AfterValidator(_distinct)]
Beta = Annotated[float, Field(ge=0, lt=1)]
Betas = Annotated[
    tuple[Beta, Beta],
    BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value),
]


class TrainingJob(ConfigSection):
    """How a training runs, beside the settings that decide its result."""

    threads: int = Field(2, ge=1, le=1024, description="number of threads on a CPU")
    keep_checkpoints: bool = Field(False, description="keep the checkpoints after a complete run")


def prepare_torch(threads: int) -> None:
    """Set threads and memory, before torch starts."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    # waiting threads that spin take the cores of other jobs: with ten times as many
    # threads as cores a step took 14 s, with this 3 s
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # the first touch of fresh memory is a tenth of a k-NN head's time on a CPU; of huge
    # pages there are fewer
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
