"""The `loss` of a model in the configuration: one entry, told apart by `kind`; `loss: knn` is `{kind: knn}`."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Finish = Annotated[
    float, Field(ge=0, le=1, description="share of the steps, the last ones, that train with the full softmax")
]
Negatives = Annotated[int, Field(ge=1, description="words drawn anew for every batch, shared by all its targets")]


class Full(BaseModel):
    """The exact softmax over the whole vocabulary."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["full"] = "full"
    kernel: Literal["auto", "torch", "chunked", "compiled", "eager", "cce"] = Field(
        "auto",
        description="how it is computed: torch's own chunked linear cross-entropy, ours in chunks, ours compiled "
        "(GPU), all logits at once, Cut Cross-Entropy (GPU, an extra package). auto: on a GPU ours compiled, "
        "else torch's where the installed torch has it, else ours",
    )
    chunk: int = Field(1024, ge=1, description="masked positions whose logits are held at once")


class Knn(BaseModel):
    """k-NN target sampling (Equations 4 to 6, Algorithm 2)."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["knn"] = "knn"
    k: int = Field(50, ge=1, description="neighbours of each target")
    every: int = Field(1000, ge=1, description="n: steps from one refresh of the index to the next")
    refresh: Literal["auto", "burst", "rolling", "lazy"] = Field(
        "auto",
        description="all rows every n steps (burst, as in the paper), 1/n of them every step (rolling), or a row "
        "when it is first needed after every n-th step (lazy). auto: burst on a GPU, lazy on a CPU",
    )
    group: int | None = Field(
        None,
        ge=1,
        description="targets that share a V'; null: those of one micro-batch of one device. The paper's speeds "
        "fit 2458",
    )
    uniform: int = Field(0, ge=0, description="uniform negatives that are mixed into every V'")
    finish: Finish = 0.0


class Target(BaseModel):
    """Target sampling (Jean et al. 2015): the last tau distinct targets as V'."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["target"] = "target"
    tau: int = Field(50_000, ge=1, description="distinct words in V'")
    finish: Finish = 0.0


class Uniform(BaseModel):
    """The control: the targets and uniform negatives as V', without a correction."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["uniform"] = "uniform"
    negatives: Negatives = 50_000
    finish: Finish = 0.0


class Sampled(BaseModel):
    """Sampled softmax with the logQ correction."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["sampled"] = "sampled"
    negatives: Negatives = 50_000
    power: float = Field(1.0, ge=0, le=1, description="negatives are drawn by frequency to this power")
    finish: Finish = 0.0


class Nce(BaseModel):
    """Noise contrastive estimation."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["nce"] = "nce"
    negatives: Negatives = 50_000
    power: float = Field(1.0, ge=0, le=1, description="noise is drawn by frequency to this power")
    finish: Finish = 0.0


class Neg(BaseModel):
    """Negative sampling, as in word2vec."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["neg"] = "neg"
    negatives: Negatives = 50_000
    power: float = Field(0.75, ge=0, le=1, description="negatives are drawn by frequency to this power")
    finish: Finish = 0.0


def _by_name(value):
    return {"kind": value} if isinstance(value, str) else value


LossSettings = Annotated[
    Full | Knn | Target | Uniform | Sampled | Nce | Neg,
    Field(discriminator="kind"),
    BeforeValidator(_by_name),
]
