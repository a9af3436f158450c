"""Types of settings that pre-training and fine-tuning share."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

MAX_SEED = 2**63 - 1  # an int64, which torch and NumPy take
Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]
Precision = Literal["auto", "bf16", "fp16", "fp32"]


def _as_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


Beta = Annotated[float, Field(ge=0, lt=1)]
Betas = Annotated[tuple[Beta, Beta], BeforeValidator(_as_tuple)]
