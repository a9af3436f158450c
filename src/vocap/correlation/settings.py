"""The `correlation` section of the configuration."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from vocap.pretraining.loss_kinds import Full
from vocap.pretraining.settings import Recipe
from vocap.tables.curve import parse_sizes
from vocap.training import Seed

TaskName = Literal["udpos", "panx"]


class Correlation(BaseModel):
    """Section 2.1: a model for each of a language's vocabularies, and its scores in that language."""

    model_config = ConfigDict(extra="forbid", strict=True)

    languages: list[str] = Field([], description="the paper's: [hi, fa, it, ru]; none: nothing runs")
    sizes: Annotated[list[int], BeforeValidator(parse_sizes)] = Field(
        list(range(1000, 31000, 1000)), description="of vocabularies.sizes; the default is the paper's"
    )
    tasks: list[TaskName] = Field(
        ["udpos", "panx"], min_length=1, description="that a model is fine-tuned on, with finetuning.recipes"
    )
    seeds: list[Seed] = Field([1], min_length=1, description="of fine-tuning; scores are their mean")
    model: Recipe = Field(
        Recipe(loss=Full()), description="how each is pre-trained, on its language alone: as pretraining: models"
    )

    @model_validator(mode="after")
    def _consistent(self) -> "Correlation":
        for name in ("languages", "tasks", "seeds"):
            values = getattr(self, name)
            if len(set(values)) < len(values):
                raise ValueError(f"{name}: duplicate entry")
        if self.model.weights == "corpora":
            raise ValueError("model.weights: a model of one language has none to weigh; leave it out")
        return self
