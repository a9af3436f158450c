"""The `vocabularies` section of the configuration."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from vocap.section import ConfigSection
from vocap.tables.curve import parse_sizes
from vocap.unigram.text_settings import COVERAGE
from vocap.unigram.training_settings import Memory, UnigramTraining


class Vocabularies(ConfigSection):
    """One model for every language and size."""

    engine: Literal["ladder", "sentencepiece"] = Field(
        "ladder",
        description="all sizes of a language in one descent, or one SentencePiece training a size",
    )
    sizes: Annotated[list[int], BeforeValidator(parse_sizes)] = Field(
        list(range(1000, 51_000, 1000)),
        description="ids of each model, the three meta pieces included: a list, or "
        '"1000:50000:1000"',
    )
    coverage: float = Field(
        COVERAGE, ge=0.98, le=1, description="share of the characters that must be pieces"
    )


class LadderTraining(UnigramTraining, Vocabularies):
    """The settings of `train_ladder`: those of section vocabularies, threads, the text."""

    memory: Memory = None
