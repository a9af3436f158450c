"""The shape of a model, as the configuration gives it."""

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Shape(BaseModel):
    """A masked language model; the defaults are XLM-R base."""

    model_config = ConfigDict(extra="forbid", strict=True)

    layers: int = Field(12, ge=1, description="transformer layers")
    hidden: int = Field(768, ge=1, description="width of the transformer layers")
    heads: int = Field(12, ge=1, description="attention heads; they divide hidden")
    intermediate: int = Field(3072, ge=1, description="width of the feed-forward layers")
    embedding_size: int | None = Field(
        None,
        ge=1,
        description="width of the tied embedding table; null: hidden. Another width (384 at hidden 768: the half "
        "embeddings of section 3.2) makes a model in ELECTRA's layout",
    )
    positions: int = Field(512, ge=8, description="the longest block that the model reads, in tokens")
    deviation: float = Field(
        0.02,
        gt=0,
        allow_inf_nan=False,
        description="of the initial weights; 0.02 is BERT's for 768 units: in few units it passes on little",
    )
    dropout: float = Field(0.1, ge=0, lt=1, description="dropout of hidden states and of attention")

    @model_validator(mode="after")
    def _check(self):
        if self.hidden % self.heads:
            raise ValueError(f"hidden {self.hidden} is not a multiple of heads {self.heads}; change one of them")
        return self

    @property
    def width(self) -> int:
        """d: the width of the embedding table and of the rows that the output layer takes."""
        return self.embedding_size or self.hidden
