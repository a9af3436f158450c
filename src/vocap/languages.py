"""The table of languages: names, scripts, families, and facts of the paper."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from vocap.errors import UsageError
from vocap.files.io import read_tsv

# of a language: a folder's name, and a part of a comma-separated list
CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
COLUMNS = ("language", "name")  # that a table must have, and the cells of a shortest row
RESOURCES = ("low", "mid", "high")  # the paper's groups, by size on CommonCrawl
UNICODE_SCRIPTS = {  # of the letters, where ISO 15924 has one name for several scripts
    "Jpan": ("Hira", "Kana", "Hani"),
    "Kore": ("Hang", "Hani"),
    "Hans": ("Hani",),
    "Hant": ("Hani",),
}
# groups of text that is no natural language; `languages: all` is without them
DOMAINS = (
    "code",
    "math",
    "chat",
)


@dataclass(frozen=True)
class Language:
    """A row of `config/languages.tsv`; `facts` holds every column as text, those that a
    user adds too.
    """

    code: str
    name: str
    script: str  # ISO 15924, "Hans", "Jpan" and "Kore" included; empty if it is not given
    resource: str  # of RESOURCES, or of DOMAINS
    facts: dict[str, str]


def default_table() -> Path:
    """The table that ships with the package (a copy of `config/languages.tsv`)."""
    packaged = Path(str(resources.files("vocap"))) / "languages.tsv"
    if packaged.exists():
        return packaged
    return Path(__file__).parents[2] / "config" / "languages.tsv"  # an editable install


def read_languages(path: str | Path | None = None) -> dict[str, Language]:
    """Read the table, in its own order, by code; raises UsageError for a duplicate code,
    an empty name or an unknown group.

    Cells behind the name may be missing or empty: no script, and the group low.
    """
    table = {}
    path = path or default_table()
    for row in read_tsv(path, COLUMNS, shortest=len(COLUMNS)):
        code, group = row["language"], row.get("resource") or RESOURCES[0]
        if not (code and row["name"] and code not in table and group in (*RESOURCES, *DOMAINS)):
            raise UsageError(
                f"{path}: {code!r} has the name {row['name']!r} and the resource {group!r}; give "
                "each language once, with a code, a name, and a resource of "
                f"{', '.join([*RESOURCES, *DOMAINS])}"
            )
        table[code] = Language(code, row["name"], row.get("script", ""), group, row)
    return table


def natural(table: Mapping[str, Language]) -> dict[str, Language]:
    """The rows of a table that are natural languages: all groups but `DOMAINS`."""
    return {code: language for code, language in table.items() if language.resource not in DOMAINS}


def select(table: dict[str, Language], codes: Iterable[str]) -> list[Language]:
    """The rows of `codes`, in their order; raises UsageError for a code the table does
    not have.
    """
    codes = list(codes)
    unknown = [code for code in codes if code not in table]
    if unknown:
        raise UsageError(
            f"unknown language code {', '.join(map(repr, unknown))}; "
            "config/languages.tsv lists the known ones: add a row there for a new language"
        )
    return [table[code] for code in codes]
