"""The training loop and its surroundings: checkpoints, optimiser, process groups,
random state, choice of GPUs.

Here are the types of settings that pre-training and fine-tuning share; reading them
imports no torch.
"""

from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field

MAX_SEED = 2**63 - 1  # an int64, which torch and NumPy take
Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]
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
