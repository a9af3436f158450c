"""The `vocabularies` section of the configuration."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator

from vocap.bpe import MODELS, SPLITS, UNITS
from vocap.tables.curve import parse_sizes
from vocap.unigram import COVERAGE


class Vocabularies(BaseModel):
    """One model for every language and size."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: Literal[MODELS] = Field(
        "unigram",
        description="unigram, which allocations and tokenizers of kind vocap, joint and mono are made of, or bpe: "
        "byte-pair encoding, all sizes from one training",
    )
    unit: Literal[UNITS] = Field("bytes", description="of model bpe: as of tokenizers of kind bpe")
    split: Literal[SPLITS] = Field("words", description="of model bpe: as of tokenizers of kind bpe")
    engine: Literal["ladder", "sentencepiece"] = Field(
        "ladder", description="all sizes of a language in one descent, or one SentencePiece training a size"
    )
    seeds: Literal["classic", "words"] = Field(
        "classic",
        description="pieces that the ladder begins with: as SentencePiece 0.1.99 to 0.2.1 finds them, or, whole "
        "words among them, as 0.2.2 does; those of JOINT are always classic",
    )
    sizes: Annotated[list[int], BeforeValidator(parse_sizes)] = Field(
        list(range(1000, 51_000, 1000)),
        description='ids of each model, the three meta pieces included: a list, or "1000:50000:1000"',
    )
    coverage: float = Field(COVERAGE, ge=0.98, le=1, description="share of the characters that must be pieces")
    arithmetic: Literal["exact", "fast"] = Field(
        "exact",
        description="of the ladder: every bit as in SentencePiece, or near it in less time; JOINT is always exact",
    )

    @field_validator("seeds")
    @classmethod
    def _seeds_of_the_engine(cls, seeds: str, info: ValidationInfo) -> str:
        if seeds == "words" and info.data.get("engine") == "sentencepiece":
            raise ValueError(
                "engine: sentencepiece calls SentencePiece 0.2.1, which knows no other seeds than classic; "
                "write classic or engine: ladder"
            )
        return seeds

    @field_validator("arithmetic")
    @classmethod
    def _arithmetic_of_the_engine(cls, arithmetic: str, info: ValidationInfo) -> str:
        if arithmetic == "fast" and info.data.get("engine") == "sentencepiece":
            raise ValueError("engine: sentencepiece has its own arithmetic; write exact or engine: ladder")
        return arithmetic
