"""Settings that trainings share: how text is read, which the section `text` of the
configuration and options say, and how a unigram model of it is made.
"""

from dataclasses import fields
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, create_model, model_validator

from vocap.errors import UsageError
from vocap.section import ConfigSection, words_of
from vocap.unigram.text_settings import COVERAGE, PRESETS, XLM_R, TextSettings, text_settings


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


def _text_keys() -> dict[str, Any]:
    """`preset`, and the fields of `TextSettings`; a key that is not given has the value
    of the preset.
    """
    preset = Field(
        "xlm-r",
        description="settings of the text. The other keys, under SentencePiece's names, change "
        "single ones",
    )
    found: dict[str, Any] = {"preset": (Literal[tuple(PRESETS)], preset)}
    for one in fields(TextSettings):
        kind: Any = list[str] if one.default == () else one.type
        help = one.metadata["help"]
        found[one.name] = (kind | None, Field(None, description=f"{help[0].lower()}{help[1:-1]}"))
    return found


class TextSection(  # its keys are those of `TextSettings`
    create_model(  # type: ignore[misc]
        "TextKeys", __base__=ConfigSection, **_text_keys()
    )
):
    """How text is normalised and cut, of all languages and stages.

    >>> TextSection(preset="lossless", split_digits=False).settings.changed()["normalization"]
    'identity'
    """

    @model_validator(mode="after")
    def _usable(self) -> "TextSection":
        try:
            self.settings  # noqa: B018 - raises for values that contradict each other
        except UsageError as error:
            raise ValueError(str(error)) from None
        return self

    @property
    def settings(self) -> TextSettings:
        """The preset with the given keys."""
        given = self.model_dump(exclude={"preset"}, exclude_none=True)
        lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
        return text_settings(self.preset, **{**given, **lists})


def text_words(settings: TextSettings) -> list[str]:
    """The options that give these settings; none for those of preset xlm-r.

    >>> text_words(text_settings("lossless", split_digits=False, control_symbols=("<a>", "b,c")))
    ['--preset=lossless', '--no-split-digits', '--control-symbols=<a>,"b,c"']
    """
    written = []
    for name, preset in PRESETS.items():
        own = {one.name: getattr(settings, one.name) for one in fields(TextSettings)}
        changed = {key: value for key, value in own.items() if value != getattr(preset, key)}
        lists = {key: list(value) for key, value in changed.items() if isinstance(value, tuple)}
        written.append((len(changed), words_of(TextSection(preset=name, **changed | lists))))
    return min(written, key=itemgetter(0))[1]  # with the fewest keys; of several the first
