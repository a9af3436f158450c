"""The `text` section of the configuration: a preset, and single keys under SentencePiece's names."""

from dataclasses import fields
from typing import Any, Literal

from pydantic import ConfigDict, Field, create_model, model_validator

from vocap.errors import UsageError
from vocap.unigram.text_settings import PRESETS, TextSettings, text_settings


def _keys() -> dict[str, Any]:
    """`preset`, and the fields of `TextSettings`; a key that is not given has the value of the preset."""
    preset = Field("xlm-r", description="settings that the other keys change")
    found: dict[str, Any] = {"preset": (Literal[tuple(PRESETS)], preset)}
    for one in fields(TextSettings):
        kind = list[str] if one.default == () else one.type
        help = one.metadata["help"]
        found[one.name] = (kind | None, Field(None, description=f"{help[0].lower()}{help[1:-1]}"))
    return found


class Text(create_model("TextKeys", __config__=ConfigDict(extra="forbid", strict=True), **_keys())):
    """How text is normalised and cut, of all languages and stages.

    >>> Text(preset="lossless", split_digits=False).settings.changed()["normalization"]
    'identity'
    """

    @model_validator(mode="after")
    def _usable(self) -> "Text":
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
