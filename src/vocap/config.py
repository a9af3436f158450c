"""The configuration: one typed section a stage, checked as a whole before anything runs."""

import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vocap.allocation.settings import Allocation
from vocap.corpora.settings import Corpora
from vocap.errors import UsageError
from vocap.languages import Language, read_languages, select
from vocap.report.settings import Report
from vocap.tokenizers.settings import Tokenizer
from vocap.vocabularies.settings import Vocabularies

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Pretraining(BaseModel):
    """Models to pre-train; the stage itself is not built yet."""

    model_config = ConfigDict(extra="forbid", strict=True)
    models: dict[str, dict] = Field({}, max_length=0, description="no model can be pre-trained yet")


class Finetuning(BaseModel):
    """XTREME fine-tuning; the stage itself is not built yet."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Settings(BaseModel):
    """The whole configuration, `config/config.yaml` with what `--configfile` merged into it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    seed: int = Field(1, ge=0, description="of every random choice: samples, held-out lines, shuffles")
    languages: Literal["all"] | list[str] = Field("all", description="codes of corpora.table, or all of them")
    corpora: Corpora
    vocabularies: Vocabularies
    allocation: dict[str, Allocation] = {}
    tokenizers: dict[str, Tokenizer] = {}
    pretraining: Pretraining = Pretraining()
    finetuning: Finetuning = Finetuning()
    report: Report = Report()

    def selected(self) -> list[Language]:
        """The languages of this run, in the order in which the configuration names them."""
        table = read_languages(self.corpora.table)
        return select(table, table if self.languages == "all" else self.languages)


def load(config: Mapping[str, Any]) -> Settings:
    """Check a merged configuration; entries that a later file set to null are gone.

    Raises UsageError with one line for every mistake: the key, what is wrong, and what would be right.
    """
    config = _without_nulls(config)
    mistakes = list(_yaml_booleans(config))
    if not mistakes:
        try:
            settings = Settings.model_validate(config)
        except ValidationError as error:
            mistakes = [_mistake(detail) for detail in error.errors()]
        else:
            mistakes = list(_loose_ends(settings))
    if mistakes:
        raise UsageError("the configuration cannot be used:\n" + "\n".join(f"  {line}" for line in mistakes))
    return settings


def _without_nulls(value: Any) -> Any:
    """Drop `NAME: null` entries of named maps, which is how a file merged later removes one."""
    if isinstance(value, Mapping):
        return {key: _without_nulls(entry) for key, entry in value.items() if entry is not None}
    return value


def _yaml_booleans(config: Mapping[str, Any]) -> list[str]:
    """YAML reads an unquoted `no` as false: Norwegian, in a list or as a key."""
    mistakes = []
    remedy = 'YAML reads an unquoted no, yes, on or off as true or false; write "no" in quotes'
    languages = config.get("languages")
    if isinstance(languages, list):
        for number, code in enumerate(languages, start=1):
            if isinstance(code, bool):
                mistakes.append(f"languages: entry {number} is {str(code).lower()}, not a code: {remedy}")

    def keys(path: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, entry in value.items():
                if isinstance(key, bool):
                    mistakes.append(f"{path}: a key is {str(key).lower()}, not a name: {remedy}")
                keys(f"{path}.{key}" if path else str(key), entry)
        elif isinstance(value, list) and path.endswith("without"):
            for code in value:
                if isinstance(code, bool):
                    mistakes.append(f"{path}: {str(code).lower()} is not a code: {remedy}")

    keys("", config)
    return mistakes


def _mistake(detail: Mapping[str, Any]) -> str:
    """One line for one finding of pydantic."""
    path = list(detail["loc"])
    if path[0] == "tokenizers" and len(path) > 2:
        del path[2]  # pydantic's own: which kind of tokenizer it was reading
    key = ".".join(map(str, path))
    kind, message = detail["type"], detail["msg"].removeprefix("Value error, ")
    if kind == "extra_forbidden":
        message = "no such key here; check its spelling and its indentation"
    elif kind == "missing":
        message = "this key is missing"
    elif kind in ("union_tag_invalid", "union_tag_not_found"):
        message = "kind must be one of vocap, joint, mono, file"
    else:
        message = f"{message[:1].lower()}{message[1:]}, not {detail['input']!r}"[:400]
    return f"{key}: {message}"


def _loose_ends(settings: Settings) -> list[str]:
    """What no section can know alone: names that must fit together."""
    table = read_languages(settings.corpora.table)
    chosen = list(table) if settings.languages == "all" else settings.languages
    where = settings.corpora.table
    mistakes = []
    if not chosen:
        mistakes.append("languages: the list is empty; name at least one, or write: languages: all")
    for code in chosen:
        if code not in table:
            mistakes.append(
                f"languages: unknown code {code!r}; {where} lists the known ones, add a row for a new one"
            )
        elif chosen.count(code) > 1:
            mistakes.append(f"languages: {code!r} stands {chosen.count(code)} times; keep one")
    for code, source in settings.corpora.languages.items():
        if code not in table:
            mistakes.append(f"corpora.languages.{code}: unknown code; {where} lists the known ones")
        if source not in settings.corpora.sources:
            mistakes.append(f"corpora.languages.{code}: no source {source!r} under corpora.sources")
    if settings.corpora.source not in settings.corpora.sources:
        known = ", ".join(settings.corpora.sources)
        mistakes.append(f"corpora.source: no source {settings.corpora.source!r} under corpora.sources ({known})")
    for section in ("allocation", "tokenizers"):
        for name in getattr(settings, section):
            if not NAME.fullmatch(name):
                mistakes.append(f"{section}.{name}: names become folders: use letters, digits, dots, - and _")
    for name, entry in settings.allocation.items():
        for code in entry.without:
            if code not in chosen:
                mistakes.append(f"allocation.{name}.without: {code!r} is not among the languages of this run")
    for name, entry in settings.tokenizers.items():
        if entry.kind == "vocap" and entry.allocation not in settings.allocation:
            mistakes.append(f"tokenizers.{name}.allocation: no allocation is named {entry.allocation!r}")
        if entry.kind == "mono":
            if entry.language not in chosen:
                mistakes.append(
                    f"tokenizers.{name}.language: {entry.language!r} is not among the languages of this run"
                )
            if entry.size not in settings.vocabularies.sizes:
                mistakes.append(f"tokenizers.{name}.size: {entry.size} is not among vocabularies.sizes")
    return list(dict.fromkeys(mistakes))
