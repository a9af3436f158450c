"""Paths in the configuration: those that a workflow can take as they are."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

PATHVAR = re.compile(r"<[a-z][a-z0-9_]*>")  # Snakemake's own path variables, as <results>


def check_path(value: str) -> str:
    """The path itself; raises ValueError for one that Snakemake or a command line would read as something else.

    Snakemake replaces `{name}` and `<name>` in every input file, with no way to quote them.

    >>> check_path("my text/it's $HOME.txt")
    "my text/it's $HOME.txt"
    """
    if brace := re.search(r"[{}]", value):
        raise ValueError(
            f"Snakemake takes {brace[0]} in a path for the start or end of a wildcard; rename the file or folder"
        )
    if variable := PATHVAR.search(value):
        raise ValueError(f"Snakemake takes {variable[0]} in a path for a variable; rename the file or folder")
    if control := re.search(r"[\x00-\x1f\x7f]", value):
        raise ValueError(f"{control[0]!r} is a control character; rename the file or folder")
    if value.startswith("-"):
        raise ValueError("a path that begins with - looks like an option; write the absolute path")
    return value


PlainPath = Annotated[str, Field(min_length=1), AfterValidator(check_path)]
