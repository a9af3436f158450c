"""Settings that trainings share: how text is read, and how a unigram model of it is made."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from vocap.section import ConfigSection
from vocap.unigram.text_settings import COVERAGE, XLM_R, TextSettings, text_settings


def as_text_settings(value: Any) -> Any:
    """The settings of the text of a preset's name, or of keys by name; others unchanged.

    >>> as_text_settings({"preset": "lossless", "split_digits": False}).normalization
    'identity'
    """
    if isinstance(value, str):
        return text_settings(value)
    return text_settings(**value) if isinstance(value, dict) else value


CountsPath = Annotated[
    Path | str | None,
    Field(
        description="file of vocap count with the counts of the text, in which {lang} stands for "
        "a language, so that the text is not read again"
    ),
]
Memory = Annotated[
    int | None,
    Field(
        ge=1,
        description="megabytes of memory that the training may take, as far as it can. The results "
        "are the same; with less memory it takes more time, or space for temporary files "
        "(TMPDIR). By default memory has no limit",
    ),
]
RunText = Annotated[TextSettings, BeforeValidator(as_text_settings)]


class UnigramTraining(ConfigSection):
    """How a function trains unigram models of a text."""

    coverage: float = Field(
        COVERAGE,
        ge=0.98,
        le=1,
        description="share of the characters of the text that must be pieces",
    )
    threads: int = Field(
        1, ge=1, le=1024, description="number of threads. The results do not depend on it"
    )
    text: RunText = Field(XLM_R, description="how text is read, and the rows besides pieces")
    counts: CountsPath = None
