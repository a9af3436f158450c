"""The `pretraining` section of the configuration, and the parameters and memory of its
models.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from vocap.pretraining.data import SHARE, SHORTEST
from vocap.pretraining.loss_kinds import AnyLoss, Full, Knn
from vocap.section import Alpha, ConfigSection, Seed
from vocap.training import Betas, Precision, TrainingJob

FLOAT = 4  # bytes
# bytes a token, layer and unit of the hidden width in 16 bits (Korthikanti et al. 2022,
# 4.1)
ACTIVATIONS = 34
Steps = Annotated[int, Field(ge=1)]


class Shape(ConfigSection):
    """A language model; the defaults are XLM-R base. A causal one has Llama's
    layers.
    """

    layers: int = Field(12, ge=1, description="transformer layers")
    hidden: int = Field(768, ge=1, description="width of the transformer layers")
    heads: int = Field(12, ge=1, description="attention heads; they divide hidden")
    kv_heads: int | None = Field(
        None,
        ge=1,
        description="heads of keys and values in a causal model, a divisor of heads; null: heads",
    )
    intermediate: int = Field(3072, ge=1, description="width of the feed-forward layers")
    embedding_size: int | None = Field(
        None,
        ge=1,
        description="width of the tied embedding table; null: hidden. Another width (384 at "
        "hidden 768: the half "
        "embeddings of section 3.2) makes a masked model in ELECTRA's layout; a causal one is "
        "exported at hidden",
    )
    positions: int = Field(
        512, ge=8, description="the longest block that the model reads, in tokens"
    )
    deviation: float = Field(
        0.02,
        gt=0,
        allow_inf_nan=False,
        description="standard deviation of the initial weights; 0.02 is BERT's, for 768 units",
    )
    dropout: float = Field(
        0.1,
        ge=0,
        lt=1,
        description="share of hidden states and of attention that is dropped; in a causal model of "
        "attention alone, and 0 unless given",
    )

    @model_validator(mode="after")
    def _check(self) -> "Shape":
        if self.hidden % self.heads:
            raise ValueError(
                f"hidden {self.hidden} is not a multiple of heads {self.heads}; change one of them"
            )
        if self.heads % self.key_heads:
            raise ValueError(
                f"heads {self.heads} is not a multiple of kv_heads {self.kv_heads}; change one of "
                "them"
            )
        return self

    @property
    def key_heads(self) -> int:
        """Heads of keys and values."""
        return self.kv_heads or self.heads

    @property
    def width(self) -> int:
        """d: the width of the embedding table and of the rows that the output layer
        takes.
        """
        return self.embedding_size or self.hidden


class Recipe(ConfigSection):
    """The training of one model; the defaults are the paper's, and InfoXLM's where the
    paper refers to it.
    """

    objective: Literal["masked", "causal"] = Field(
        "masked",
        description="masked: tokens are predicted from both sides (an encoder); causal: each "
        "from those before it "
        "(a model that writes, in Llama's form)",
    )
    loss: AnyLoss = Field(
        Knn(), description="loss of the output layer, as a kind or as its settings"
    )
    shape: Shape = Field(Shape(), description="sizes of the model, see below")
    steps: Steps = Field(1_000_000, description="number of updates")
    batch: Steps = Field(256, description="blocks in an update, summed over all processes")
    micro_batch: Steps = Field(
        32,
        description="blocks that a device works on at a time; k-NN's V' is that of one micro-batch",
    )
    learning_rate: float = Field(
        1e-4, gt=0, allow_inf_nan=False, description="peak of the schedule"
    )
    warmup: int = Field(
        10_000,
        ge=0,
        description="steps in which the rate rises to it; after them it falls to 0, both "
        "linearly. Unless given, "
        "a tenth of the steps where these are 10,000 or fewer",
    )
    betas: Betas = Field((0.9, 0.98), description="decay rates of Adam's two averages")
    epsilon: float = Field(1e-6, gt=0, description="term that Adam adds to its denominator")
    weight_decay: float = Field(0.01, ge=0, description="decoupled, on every parameter")
    clip: float = Field(1.0, gt=0, description="highest norm of the gradient")
    output_bias: Literal["constant", "unigram"] = Field(
        "constant",
        description="initial output bias: 0 (nce: minus the log of the number of words), or the "
        "log "
        "of the words' frequencies, which saves a short run the steps for learning them (masked "
        "models alone: "
        "Llama's form has no such bias)",
    )
    precision: Precision = Field(
        "auto",
        description="number format of the layers' products; auto: bf16 on a GPU, fp16 on a "
        "GPU without it, fp32 on a CPU",
    )
    seed: Seed | None = Field(
        None,
        description="seed of weights, order, masks, dropout, negatives; null: the configuration's",
    )
    alpha: Alpha = 0.7
    weights: Literal["lines", "bytes", "corpora"] = Field(
        "lines",
        description="n_i: lines or bytes of the pre-training text, or those of corpora.weights",
    )
    log_every: Steps = Field(1000, description="steps from one line of metrics.jsonl to the next")
    heldout_blocks: Steps = Field(
        4, description="held-out blocks of each language, for the exact loss"
    )
    checkpoint_every: Steps = Field(1000, description="steps from one checkpoint to the next")
    export_steps: list[Steps] = Field(
        [], description="steps after which the model is exported, as model-STEP"
    )

    @model_validator(mode="after")
    def _consistent(self) -> "Recipe":
        if self.warmup >= self.steps and "warmup" not in self.model_fields_set:
            object.__setattr__(self, "warmup", self.steps // 10)  # the section is frozen
        if self.warmup >= self.steps:
            raise ValueError(
                f"warmup {self.warmup} leaves none of {self.steps} steps; make it smaller"
            )
        if self.micro_batch > self.batch:
            raise ValueError(
                f"micro_batch {self.micro_batch} is above batch {self.batch}; make it smaller"
            )
        if late := [step for step in self.export_steps if step > self.steps]:
            raise ValueError(f"export_steps has {late[0]}, but steps is {self.steps}")
        if self.causal:
            self._check_causal()
        elif self.shape.kv_heads:
            raise ValueError(
                "shape.kv_heads is of causal models; leave it out, or write objective: causal"
            )
        return self

    def _check_causal(self) -> None:
        """Raise ValueError for what Llama's form cannot hold; without a dropout of its
        own it has none.
        """
        if self.output_bias == "unigram":
            raise ValueError("output_bias: a causal model has no output bias; leave it out")
        if self.shape.hidden // self.shape.heads % 2:
            raise ValueError(
                f"shape.heads: {self.shape.hidden} units in {self.shape.heads} heads are an odd "
                "number in each, which rotary positions cannot turn; change one of them"
            )
        if "dropout" not in self.shape.model_fields_set:
            shape = self.shape.model_copy(update={"dropout": 0.0})
            object.__setattr__(self, "shape", shape)

    @property
    def causal(self) -> bool:
        """Whether each token is predicted from those before it."""
        return self.objective == "causal"

    @property
    def predicted(self) -> float:
        """The share of the tokens that are predicted in training."""
        return 1.0 if self.causal else SHARE


class ModelSettings(Recipe):
    """One entry of `pretraining: models`."""

    tokenizer: str = Field(min_length=1, description="name of an entry of the tokenizers section")


class Pretraining(ConfigSection):
    """The models to pre-train, and their text."""

    corpus: str | None = Field(
        None,
        description="name of the source of the pre-training text, which is read to its end; "
        "null: the files of "
        "the vocabularies' text",
    )
    languages: dict[str, str] = Field(
        {}, description="language: name of its source, where corpus is another"
    )
    block: int = Field(512, ge=SHORTEST, le=1 << 16, description="tokens of a block, at most")
    threads: int = Field(
        2,
        ge=1,
        description="threads of one job on a CPU; another number gives slightly other sums",
    )
    models: dict[str, ModelSettings] = Field({}, description="the models, by name")

    @property
    def masked(self) -> dict[str, ModelSettings]:
        """The models that can be fine-tuned."""
        return {name: model for name, model in self.models.items() if not model.causal}

    @model_validator(mode="after")
    def _consistent(self) -> "Pretraining":
        if self.languages and self.corpus is None:
            raise ValueError(
                "languages needs corpus: the source of the languages that it leaves out"
            )
        for name, model in self.models.items():
            if model.shape.positions < self.block:
                raise ValueError(
                    f"models.{name}: shape.positions {model.shape.positions} is below block "
                    f"{self.block}"
                )
        return self


class PretrainingJob(TrainingJob):
    """How `pretrain_model` runs, beside its recipe."""

    seed: Seed = Field(1, description="seed of all random choices, where the settings have none")
    checkpoint_every: int | None = Field(
        None,
        ge=1,
        description="number of steps between checkpoints, in place of that of the settings",
    )


def parse_recipe(values: Mapping[str, Any], where: str = "settings") -> Recipe:
    """The training of the keys of an entry of `pretraining: models`; a tokenizer among
    them is skipped.

    Raises UsageError, naming the key and `where` it is given.
    """
    keys = {key: value for key, value in values.items() if key != "tokenizer"}
    return Recipe.parsed(keys, where)


def estimate_memory(
    recipe: Recipe, vocabulary: int, length: int, half: bool = False
) -> dict[str, int]:
    """Bytes by part, of one device: weights, gradients, moments, activations, head, index.

    `length`: tokens of a block; `half`: products run in 16 bits. Weights, gradients and
    both moments of Adam are float32. The head's share is its logits and the rows of W
    that it copies, with a finish the larger of both losses'. A rough figure.
    """
    shape, loss, blocks = recipe.shape, recipe.loss, recipe.micro_batch
    parameters = count_parameters(shape, vocabulary, recipe.causal)
    width = 2 if half else FLOAT
    masked = int(recipe.predicted * blocks * length) + blocks
    heads = [loss, Full()] if loss.full_softmax_fraction else [loss]
    return {
        "weights": parameters * FLOAT,
        "gradients": (parameters + vocabulary * shape.width) * FLOAT,
        "moments": 2 * parameters * FLOAT,
        "activations": ACTIVATIONS * shape.hidden * shape.layers * blocks * length * width // 2,
        "head": max(head.head_bytes(vocabulary, shape.width, masked, half) for head in heads),
        "index": loss.index_bytes(vocabulary),
    }


def count_parameters(shape: Shape, vocabulary: int, causal: bool = False) -> int:
    """Parameters of `build_model(shape, vocabulary)`, tied ones once; `causal`: of a
    causal one.
    """
    hidden, width, layers = shape.hidden, shape.width, shape.layers
    products = layers * _product_weights(shape, causal)
    if causal:
        projections = 2 * width * hidden if width != hidden else 0
        return vocabulary * width + projections + products + (2 * layers + 1) * hidden
    biases_and_norms = layers * (9 * hidden + shape.intermediate)
    # two more positions, or the projection into the layers
    beside = 2 * width if width == hidden else (width + 1) * hidden
    head = (hidden + 1) * width + 2 * width
    embeddings = vocabulary * (width + 1) + (shape.positions + 3) * width + beside
    return embeddings + products + biases_and_norms + head


def _product_weights(shape: Shape, causal: bool) -> int:
    """Weights of one layer that its input is multiplied by."""
    hidden, wide = shape.hidden, shape.intermediate
    if causal:
        keys = hidden // shape.heads * shape.key_heads
        return 2 * hidden * (hidden + keys) + 3 * hidden * wide
    return 4 * hidden**2 + 2 * hidden * wide


def paper_parameters(shape: Shape, vocabulary: int, causal: bool = False) -> int:
    """Parameters without the row of token types, which Hugging Face adds to XLM-R;
    "265M" is 265 * 2**20.
    """
    return count_parameters(shape, vocabulary, causal) - (0 if causal else shape.width)


def encoder_operations(shape: Shape, block: int, causal: bool = False) -> float:
    """Operations of one token, forward and backward, without embeddings and head.

    >>> # XLM-R base: 510 for its weights, 57 for attention
    >>> round(encoder_operations(Shape(), 512) / 1e6)
    566
    """
    return shape.layers * (6 * _product_weights(shape, causal) + 12 * block * shape.hidden)
