"""The training loop and its surroundings: checkpoints, optimiser, process groups,
random state, choice of GPUs.

Here are the types of settings that pre-training and fine-tuning share; reading them
imports no torch.
"""

from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

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


def first_mistake(error: ValidationError) -> str:
    """The key of the first mistake in settings, without the kind of a loss, and what is
    wrong.
    """
    first = error.errors()[0]
    keys = [str(key) for key in first["loc"]]
    if keys[:1] == ["loss"]:
        del keys[1:2]  # which pydantic adds
    return f"{'.'.join(keys) or 'settings'}: {first['msg'].removeprefix('Value error, ')}"
