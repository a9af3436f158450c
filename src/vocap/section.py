"""The base class of the configuration's sections."""

from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)

from vocap.files.io import as_number


class Section(BaseModel):
    """Keys of known names and types; a number may be written as 1e5, which YAML 1.1
    reads as a text.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="wrap")
    @classmethod
    def _with_numbers(cls, values: Any, check: ModelWrapValidatorHandler[Any]) -> Any:
        try:
            return check(values)
        except ValidationError as error:
            found = [(one["type"], one["loc"]) for one in error.errors()]
            keys = {loc[0] for kind, loc in found if kind in ("int_type", "float_type")}
            if not keys:
                raise
        return check({**values, **{key: as_number(values[key]) for key in keys}})
