"""The `vocabularies` section of the configuration."""

import itertools
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator

from vocap.vocabularies import COVERAGE


def parse_sizes(value: object) -> object:
    """Sizes as a list, or as the text `first:last:step` (both ends included).

    >>> parse_sizes("1000:3000:1000")
    [1000, 2000, 3000]

    Raises ValueError for sizes that are out of order, repeated, or too small to hold a piece.
    """
    if isinstance(value, str):
        try:
            first, last, step = (int(number) for number in value.split(":"))
        except ValueError:
            raise ValueError(f'write "first:last:step", as in "1000:50000:1000", not {value!r}') from None
        if step < 1 or last < first:
            raise ValueError(f"{value!r} names no size: last below first, or step below 1")
        value = list(range(first, last + 1, step))
    if not isinstance(value, list) or not value:
        raise ValueError('give a list such as [1000, 2000], or "1000:50000:1000"')
    for size in value:
        if isinstance(size, bool) or not isinstance(size, int):
            raise ValueError(f"{size!r} is not a whole number")
        if size < 5:
            raise ValueError(f"{size} is too small: three ids are <unk>, <s> and </s>")
    for lower, upper in itertools.pairwise(value):
        if lower == upper:
            raise ValueError(f"{upper} stands twice; remove one")
        if lower > upper:
            raise ValueError(f"{upper} comes after {lower}; sizes must rise")
    return value


class Vocabularies(BaseModel):
    """One unigram model for every language and size."""

    model_config = ConfigDict(extra="forbid", strict=True)

    engine: Literal["ladder", "sentencepiece"] = Field(
        "ladder", description="all sizes of a language in one descent, or one SentencePiece training a size"
    )
    seeds: Literal["classic", "words"] = Field(
        "classic",
        description="pieces that the ladder begins with: as SentencePiece 0.1.99 to 0.2.1 finds them, or, whole "
        "words among them, as 0.2.2 does",
    )
    sizes: Annotated[list[int], BeforeValidator(parse_sizes)] = Field(
        description='ids of each model, the three meta pieces included: a list, or "1000:50000:1000"'
    )
    coverage: float = Field(COVERAGE, ge=0.98, le=1, description="share of the characters that must be pieces")
    arithmetic: Literal["exact", "fast"] = Field(
        "exact", description="of the ladder: every bit as in SentencePiece, or near it in less time"
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
