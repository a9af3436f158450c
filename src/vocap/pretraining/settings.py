"""The `pretraining` section of the configuration."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from vocap.pretraining.loss_settings import Knn, LossSettings
from vocap.pretraining.packing import SHORTEST
from vocap.pretraining.shapes import Shape

Steps = Annotated[int, Field(ge=1)]
SEEDS = 2**63 - 1  # at most: an int64, which torch and NumPy take


def _betas(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


Beta = Annotated[float, Field(ge=0, lt=1)]
Betas = Annotated[tuple[Beta, Beta], BeforeValidator(_betas)]


class Recipe(BaseModel):
    """How one model is trained; the defaults are the paper's, and InfoXLM's where the paper refers to it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    loss: LossSettings = Field(Knn(), description="how the output layer is trained: a kind, or its settings")
    shape: Shape = Field(Shape(), description="of the model; see below")
    steps: Steps = Field(1_000_000, description="updates")
    batch: Steps = Field(256, description="blocks of an update, of all processes together")
    micro_batch: Steps = Field(
        32, description="blocks that a device works on at a time; k-NN's V' is that of one micro-batch"
    )
    learning_rate: float = Field(1e-4, gt=0, allow_inf_nan=False, description="its highest value")
    warmup: int = Field(
        10_000, ge=0, description="steps in which the rate rises to it; after them it falls to 0, both linearly"
    )
    betas: Betas = Field((0.9, 0.98), description="of Adam")
    epsilon: float = Field(1e-6, gt=0, description="of Adam")
    weight_decay: float = Field(0.01, ge=0, description="decoupled, on every parameter")
    clip: float = Field(1.0, gt=0, description="highest norm of the gradient")
    output_bias: Literal["constant", "unigram"] = Field(
        "constant",
        description="what the output bias starts with: 0 (nce: minus the log of the number of words), or the log "
        "of the words' frequencies, which a short run would spend its steps on learning",
    )
    row_gradients: bool = Field(
        False, description="the table's gradient holds only the rows of a batch; one process, a sampled loss"
    )
    lazy: bool = Field(
        False, description="with row_gradients: Adam moves only the rows of a batch, which is not quite Adam"
    )
    precision: Literal["auto", "bf16", "fp16", "fp32"] = Field(
        "auto",
        description="of the layers' products; auto: bf16 on a GPU, fp16 on one without it; else fp32",
    )
    seed: int | None = Field(
        None, ge=0, le=SEEDS, description="of weights, order, masks, dropout, negatives; null: the configuration's"
    )
    alpha: float = Field(0.7, ge=0, le=10, allow_inf_nan=False, description="q_i = n_i^alpha / sum (Equation 3)")
    weights: Literal["lines", "bytes", "corpora"] = Field(
        "lines", description="n_i: lines or bytes of the pre-training text, or what corpora.weights says"
    )
    log_every: Steps = Field(1000, description="steps from one line of metrics.jsonl to the next")
    heldout_blocks: Steps = Field(4, description="held-out blocks of each language that the exact loss is of")
    checkpoint_every: Steps = Field(1000, description="steps from one checkpoint to the next")
    export_steps: list[Steps] = Field(
        [], description="steps after which the model is also exported, as model-STEP"
    )

    @model_validator(mode="after")
    def _consistent(self) -> "Recipe":
        if self.warmup >= self.steps:
            raise ValueError(f"warmup {self.warmup} leaves none of {self.steps} steps; make it smaller")
        if self.micro_batch > self.batch:
            raise ValueError(f"micro_batch {self.micro_batch} is above batch {self.batch}; make it smaller")
        if late := [step for step in self.export_steps if step > self.steps]:
            raise ValueError(f"export_steps has {late[0]}, but steps is {self.steps}")
        if self.lazy and not self.row_gradients:
            raise ValueError("lazy needs row_gradients: true")
        if self.lazy and getattr(self.loss, "finish", 0):
            raise ValueError("lazy has no finish: the full softmax moves every row; leave one of them out")
        if self.row_gradients and self.loss.kind == "full":
            raise ValueError("row_gradients needs a sampled loss; the full softmax has a gradient for every row")
        return self


class Model(Recipe):
    """One entry of `pretraining: models`."""

    tokenizer: str = Field(min_length=1, description="name of an entry of the tokenizers section")


class Pretraining(BaseModel):
    """What models are trained on, and which."""

    model_config = ConfigDict(extra="forbid", strict=True)

    corpus: str | None = Field(
        None,
        description="name of the source of the pre-training text, all of which is read; null: the files that the "
        "vocabularies are learnt on a sample of",
    )
    languages: dict[str, str] = Field({}, description="language: name of its source, where corpus is another")
    block: int = Field(512, ge=SHORTEST, le=1 << 16, description="tokens of a block, at most")
    threads: int = Field(
        2, ge=1, description="of one job on a CPU; a setting, since another number gives slightly other sums"
    )
    models: dict[str, Model] = Field({}, description="the models, by name")

    @model_validator(mode="after")
    def _consistent(self) -> "Pretraining":
        if self.languages and self.corpus is None:
            raise ValueError("languages needs corpus: the source of the languages that it leaves out")
        for name, model in self.models.items():
            if model.shape.positions < self.block:
                raise ValueError(
                    f"models.{name}: shape.positions {model.shape.positions} is below block {self.block}"
                )
        return self
