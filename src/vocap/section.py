"""The base class of the configuration's sections."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)

from vocap.errors import UsageError
from vocap.files.io import as_number


class ConfigSection(BaseModel):
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
        given = keys & values.keys()  # an error may be of a default
        return check({**values, **{key: as_number(values[key]) for key in given}})

    @classmethod
    def parsed(cls, values: Mapping[str, Any], where: str) -> Self:
        """The section of these keys. Raises UsageError with `where` they are given, the key
        of the first mistake, without the kind of a loss, and what is wrong.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
        keys = list(map(str, first["loc"]))
        if keys[:1] == ["loss"]:
            del keys[1:2]  # which pydantic adds
        reason = first["msg"].removeprefix("Value error, ")
        raise UsageError(": ".join(filter(None, (where, ".".join(keys), reason))))
