"""The `finetuning` section of the configuration."""

import json
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from vocap.errors import UsageError
from vocap.finetuning.selection import Rule
from vocap.finetuning.tasks import TASKS, TRAININGS
from vocap.paths import PlainPath
from vocap.pretraining.settings import Betas

Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Number = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]  # what torch takes too
OF_INPUTS = {"max_length", "question_length", "stride"}


class Recipe(BaseModel):
    """How one model is fine-tuned on one training; every rate is tried with every number of epochs and seed."""

    model_config = ConfigDict(extra="forbid", strict=True)

    learning_rates: list[Rate] = Field(min_length=1, description="highest values of the rate, each tried")
    epochs: list[Number] = Field(min_length=1, description="passes over the training file, each number tried")
    batch: Number = Field(32, description="inputs of an update")
    warmup: float = Field(
        0.0, ge=0, lt=1, description="share of the steps in which the rate rises; after them it falls to 0"
    )
    max_length: int = Field(ge=16, description="ids of an input; fewer where the model reads fewer")
    question_length: Number = Field(64, description="ids of a question; at most a third of max_length")
    stride: Number = Field(
        128, description="ids from the start of one window of a context to the next; at most a third of max_length"
    )
    pooling: Literal["mean", "first", "sum"] = Field(
        "first", description="what stands for a word of several subwords, where words are tagged"
    )
    evaluate_every: Number | None = Field(
        None, description="steps from one look at the development sets to the next, besides that after each epoch"
    )
    train_examples: Number | None = Field(None, description="of the training file the first so many; null: all")
    dev_examples: Number | None = Field(
        None, description="of each development file that chooses, the first so many; null: all"
    )
    betas: Betas = Field((0.9, 0.999), description="of Adam")
    epsilon: float = Field(1e-8, gt=0, description="of Adam")
    weight_decay: float = Field(0.0, ge=0, description="decoupled, on every parameter")
    clip: float = Field(1.0, gt=0, description="highest norm of the gradient")
    precision: Literal["auto", "bf16", "fp16", "fp32"] = Field(
        "auto",
        description="of the layers' products; auto: bf16 on a GPU, fp16 on one without it; else fp32",
    )

    @field_validator("learning_rates", "epochs")
    @classmethod
    def _each_once(cls, values: list) -> list:
        if len(set(values)) < len(values):  # the runs of both would be one
            raise ValueError("one stands twice")
        return values

    def of_inputs(self) -> dict[str, Any]:
        """What the inputs depend on."""
        return self.model_dump(mode="json", include=OF_INPUTS)

    def of_a_run(self) -> dict[str, Any]:
        """What a run depends on besides its inputs, rate and epochs."""
        return self.model_dump(mode="json", exclude={*OF_INPUTS, "learning_rates", "epochs"})

    @property
    def window(self) -> tuple[int, int]:
        """Ids of a question and from window to window, as far as `max_length` leaves room for them."""
        third = self.max_length // 3
        return min(self.question_length, third), min(self.stride, third)


_PAIRS = {"learning_rates": [7e-6, 1e-5], "epochs": [10], "max_length": 256}
_TAGS = {"learning_rates": [1e-5, 2e-5], "epochs": [10], "max_length": 128, "warmup": 0.1}
_SPANS = {"learning_rates": [2e-5, 3e-5], "max_length": 384, "warmup": 0.1}

# The paper's grid; what it does not say, from the scripts of xTune, the code base that it names.
PAPER = {
    "xnli": {**_PAIRS, "evaluate_every": 5000},
    "pawsx": {**_PAIRS, "evaluate_every": 1000},
    "udpos": {**_TAGS, "evaluate_every": 500, "pooling": "mean"},
    "panx": {**_TAGS, "evaluate_every": 1000},
    "squad": {**_SPANS, "epochs": [4]},
    "tydiqa": {**_SPANS, "epochs": [6, 8]},
}


class Recipes(BaseModel):
    """The recipe of each training; what a configuration says of one stands over the paper's."""

    model_config = ConfigDict(extra="forbid", strict=True)

    xnli: Recipe = Recipe(**PAPER["xnli"])
    pawsx: Recipe = Recipe(**PAPER["pawsx"])
    udpos: Recipe = Recipe(**PAPER["udpos"])
    panx: Recipe = Recipe(**PAPER["panx"])
    squad: Recipe = Recipe(**PAPER["squad"])
    tydiqa: Recipe = Recipe(**PAPER["tydiqa"])

    @field_validator("*", mode="before")
    @classmethod
    def _over_the_paper(cls, value, info):
        return {**PAPER[info.field_name], **value} if isinstance(value, dict) else value


class Tuned(BaseModel):
    """One entry of `finetuning: models`; with nothing said, the model of `pretraining` of the same name."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: str | None = Field(None, min_length=1, description="name of an entry of pretraining: models")
    step: Number | None = Field(None, description="one of its export_steps; null: the trained model")
    path: PlainPath | None = Field(
        None, description="folder of any Hugging Face masked language model, with its tokenizer"
    )
    weights: Literal["pretrained", "random"] = Field(
        "pretrained", description="random: the same model, untrained, to see what pre-training is worth"
    )
    tasks: list[str] | None = Field(
        None, min_length=1, description="those of finetuning.tasks that it is fine-tuned on; null: all of them"
    )

    @model_validator(mode="after")
    def _one_origin(self) -> "Tuned":
        if unknown := [task for task in self.tasks or [] if task not in TASKS]:
            raise ValueError(f"tasks: no task {unknown[0]!r}; there are {', '.join(TASKS)}")
        if self.path is not None and (self.model is not None or self.step is not None):
            raise ValueError("path names a model from elsewhere; model and step one of pretraining; keep one")
        return self


def _all_is_none(value: object) -> object:
    return None if value == "all" else value


class Finetuning(BaseModel):
    """Which models are fine-tuned, on what."""

    model_config = ConfigDict(extra="forbid", strict=True)

    xtreme: PlainPath | None = Field(
        None, description="the download/ folder of XTREME's scripts, or xTune's; null: nothing runs"
    )
    download: bool = Field(
        False, description="fetch the files of that folder that are not there and are free (docs/xtreme.md)"
    )
    models: Annotated[dict[str, Tuned] | None, BeforeValidator(_all_is_none)] = Field(
        None, description="the models, by name; all, or none said: every model of pretraining"
    )
    tasks: Annotated[list[str] | None, BeforeValidator(_all_is_none)] = Field(
        None, description=f"of {', '.join(TASKS)}; all, or none said: all of them"
    )
    seeds: list[Seed] = Field([1, 2, 3, 4, 5], min_length=1, description="one run each; scores are their mean")
    selection: Rule = Field(
        "paper",
        description="what chooses checkpoint, rate and epochs: paper, the mean over all languages' development "
        "sets (of tydiqa, the English test file); english-dev, English alone, and never a test file",
    )
    threads: Number = Field(2, description="of one job on a CPU; another number gives slightly other sums")
    checkpoint_every: Number = Field(500, description="steps from one checkpoint to the next")
    stand_ins: dict[str, str] = Field(
        {},
        description="files that take the place of missing ones, in trials: xnli/train: xnli/dev:1/2 (its first "
        "half), squad/train: tydiqa/train; said in every output",
    )
    recipes: Recipes = Recipes()

    @model_validator(mode="after")
    def _consistent(self) -> "Finetuning":
        if self.tasks is not None:
            if unknown := [task for task in self.tasks if task not in TASKS]:
                raise ValueError(f"tasks: no task {unknown[0]!r}; there are {', '.join(TASKS)}")
            if not self.tasks:
                raise ValueError("tasks: the list is empty; name at least one, or write: tasks: all")
        for name, values in (("tasks", self.tasks or []), ("seeds", self.seeds)):
            if len(set(values)) < len(values):
                raise ValueError(f"{name}: one stands twice")
        return self

    def tuned(self, own: Iterable[str]) -> dict[str, Tuned]:
        """The models, of which `own` are those of pretraining."""
        return {name: Tuned() for name in own} if self.models is None else self.models

    def chosen(self) -> list[str]:
        """The tasks of this run, in the paper's order."""
        return [task for task in TASKS if self.tasks is None or task in self.tasks]

    def trainings(self) -> list[str]:
        """What is trained for them."""
        return [name for name, tasks in TRAININGS.items() if set(tasks) & set(self.chosen())]


def read_recipe(training: str, text: str) -> Recipe:
    """The paper's recipe of a training with the keys of a JSON text over it.

    Raises UsageError, naming the key, for a training that is none, and for settings that cannot be used.
    """
    if training not in PAPER:
        raise UsageError(f"--training: no training {training!r}; there are {', '.join(PAPER)}")
    try:
        values = json.loads(text)
        return getattr(Recipes.model_validate({training: values}), training)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"][1:])) or "settings"
        raise UsageError(f"--settings-json: {key}: {first['msg'].removeprefix('Value error, ')}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--settings-json: not JSON: {error}") from None
