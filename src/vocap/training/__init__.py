"""The training loop and its surroundings: checkpoints, optimiser, process groups, random state, choice of GPUs.

Here are the types of settings that pre-training and fine-tuning share; reading them imports no torch.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

MAX_SEED = 2**63 - 1  # an int64, which torch and NumPy take
Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]
Precision = Literal["auto", "bf16", "fp16", "fp32"]
Beta = Annotated[float, Field(ge=0, lt=1)]
Betas = Annotated[
    tuple[Beta, Beta], BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value)
]
