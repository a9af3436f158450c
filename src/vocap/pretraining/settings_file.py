"""The settings of one model, from a file or a text, checked like those of the configuration."""

import json
from pathlib import Path

from pydantic import ValidationError

from vocap.errors import UsageError
from vocap.pretraining.settings import Recipe


def read_recipe(path: Path | None, text: str | None) -> Recipe:
    """The keys of an entry of `pretraining: models` as YAML or JSON; a tokenizer among them is passed over.

    Raises UsageError, naming the key, for settings that cannot be used.
    """
    if (path is None) == (text is None):
        raise UsageError("give either --settings or --settings-json")
    where = "--settings-json" if path is None else str(path)
    try:
        if path is None:
            values = json.loads(text)
        else:
            from vocap.yaml_file import read_yaml

            values = read_yaml(path)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: neither JSON nor YAML: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict):
        raise UsageError(f"{where}: not keys and values")
    values.pop("tokenizer", None)
    try:
        return Recipe.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        path = list(first["loc"])
        if path[:1] == ["loss"]:
            del path[1:2]  # pydantic's own: which kind it was reading
        key = ".".join(map(str, path)) or "settings"
        raise UsageError(f"{where}: {key}: {first['msg'].removeprefix('Value error, ')}") from None
