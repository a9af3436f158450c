"""The base class of settings: sections of the configuration, and the settings of functions."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from vocap.errors import SettingError, UsageError
from vocap.files.io import as_number

NO_NUMBER = ("int_type", "float_type")  # errors of pydantic
UNKNOWN = "unknown_key"  # the type of the error of a key that a section does not have
Code = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]  # of a language
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]  # an int64, which torch and NumPy take
Alpha = Annotated[
    float,
    Field(
        ge=0,
        le=10,
        description="exponent alpha of the share q_i = n_i^alpha / sum of a language (Equation 3)",
    ),
]


class ConfigSection(BaseModel):
    """Keys of known names and types; a number may be written as 1e5, which YAML 1.1
    reads as a text.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @model_validator(mode="wrap")
    @classmethod
    def _with_numbers_and_near_keys(cls, values: Any, check: ModelWrapValidatorHandler[Any]) -> Any:
        try:
            return check(values)
        except ValidationError as error:
            wrong = [one["loc"] for one in error.errors() if one["type"] in NO_NUMBER]
        # an error may be of a default
        numbers = {key: as_number(values[key]) for key, *_ in wrong if key in values}
        try:
            return check({**values, **numbers} if numbers else values)
        except ValidationError as error:
            raise suggest_keys(error, cls) from None

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

    @classmethod
    def given(cls, settings: "ConfigSection | None", /, **fields: Any) -> Self:
        """The settings of a call: those of an object, of this class or of one whose fields this
        one has, with `fields` in their place. Raises UsageError, naming the field, for a
        value that is wrong and for a field that this class lacks.
        """
        if settings is not None and not isinstance(settings, ConfigSection):
            kind = type(settings).__name__
            raise SettingError(
                "settings", f"a {kind}; give a {cls.__name__}, or its fields by name"
            )
        own = {name: getattr(settings, name) for name in getattr(settings, "model_fields_set", ())}
        try:
            return cls.model_validate({**own, **fields})
        except ValidationError as error:
            first = error.errors()[0]
        reason = first["msg"].removeprefix("Value error, ")
        if not first["loc"]:
            raise UsageError(reason)
        name, *keys = map(str, first["loc"])
        if not keys and first["type"] not in ("value_error", UNKNOWN):
            reason = f"{reason}, not {first['input']!r}"
        raise SettingError(name, ": ".join([*keys[:1], reason]))


def words_of(settings: ConfigSection, *without: str) -> list[str]:
    """The options that give these settings to a command: those of the values that differ
    from the defaults, but of the fields in `without`.
    """
    found = []
    for name, field in type(settings).model_fields.items():
        value, flag = getattr(settings, name), (field.alias or name).replace("_", "-")
        if name in without or value == field.default:
            continue
        if isinstance(value, bool):
            found.append(f"--{flag}" if value else f"--no-{flag}")
            continue
        if isinstance(value, ConfigSection):
            value = value.model_dump_json(exclude_defaults=True)
        elif isinstance(value, list):
            value = ",".join(map(_csv_cell, value))
        found.append(f"--{flag}={value}")
    return found


def _csv_cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"') else text


def suggest_keys(error: ValidationError, section: type[BaseModel]) -> ValidationError:
    """The errors of a section: one of a key that it does not have names the nearest one,
    and that one is not missing, too.
    """
    known = [field.alias or name for name, field in section.model_fields.items()]
    errors = error.errors()
    # those within the section are UNKNOWN already
    keys = [str(one["loc"][0]) for one in errors if one["type"] == "extra_forbidden"]
    near = {key: get_close_matches(key, known, n=1) for key in keys}
    meant = [tuple(names) for names in near.values()]
    found: list[InitErrorDetails] = []
    for one in errors:
        kind, message, loc = one["type"], one["msg"], one["loc"]
        if kind == "missing" and loc in meant:
            continue
        if kind == "extra_forbidden":
            names = near[str(loc[0])]
            remedy = f"did you mean {names[0]}?" if names else f"known are {', '.join(known)}"
            kind, message = UNKNOWN, f"no such key here; {remedy}"
        said = PydanticCustomError(kind, message)
        found.append({"type": said, "loc": loc, "input": one["input"]})
    return ValidationError.from_exception_data(section.__name__, found)
