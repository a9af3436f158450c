"""The parameters that results were made with, in a file beside those of each stage.

Snakemake records them in `.snakemake`, by paths: results that were moved, copied, or left
alone by a lost `.snakemake` have none there.
"""

import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from os.path import commonprefix
from pathlib import Path
from typing import NamedTuple

from vocap import __version__
from vocap.errors import UsageError, VocapError
from vocap.files.io import read_tsv, write_text
from vocap.stages import STAGES

NAME = "parameters.jsonl"  # in the folder of a stage: a line of JSON for each job
VERSION_FILE = "version.txt"  # in that of the results: the version of the run that began last
SHOWN = 12  # differences that are named
LONGEST = 70  # characters of a value that is shown


class Made(NamedTuple):
    """What a job of a run made, as paths below the results: with which parameters, by name
    and as text, and by which version, None where it is not known.
    """

    outputs: Sequence[str]
    version: str | None
    parameters: Mapping[str, str]


class Change(NamedTuple):
    """A parameter of a rule that differs from the one which results were made with."""

    rule: str
    name: str
    before: str
    now: str
    version: str | None = None


def as_text(value: object, results: str) -> str:
    """A parameter as text in which the folder of the results, and the one that it lies
    in, have other names: they may be moved.

    >>> as_text("--corpora=runs/a/corpora --per line", "runs/a")
    '--corpora=<results>/corpora --per line'
    """
    text = value if isinstance(value, str) else repr(value)
    folders = _names_of_folders(results)
    named = [folder for folder in folders if folder in text]
    if named and isinstance(value, str):
        with suppress(ValueError):  # no words of a command
            text = " ".join(shlex.split(text))  # whether a word has quotes depends on the folder
    for folder in sorted(named, key=len, reverse=True):
        name = re.escape(folder)
        path = rf"(?:^|(?<=[\s=:,'\"(\[])){name}(?=/)"
        alone = rf"^{name}$|(?<=[='\"]){name}(?=$|[\s'\"])"
        text = re.sub(f"{path}|{alone}", folders[folder], text)
    return text


@cache
def _names_of_folders(results: str) -> dict[str, str]:
    parent = os.path.dirname(results)
    folders = {os.path.abspath(results): "<results>", results: "<results>"}
    return folders | {os.path.abspath(parent): "<run>"} | ({parent: "<run>"} if parent else {})


def read_parameters(results: str | Path) -> list[Made]:
    """What the results of each job were made with. Raises UsageError for a file of another
    form.
    """
    found = []
    for path in (Path(results, stage, NAME) for stage in STAGES):
        lines = path.read_text("utf-8").splitlines() if path.is_file() else []
        try:
            found += [Made(**json.loads(line)) for line in lines]
        except (ValueError, TypeError):
            raise UsageError(
                f"{path}: not as a run writes it; delete it, and what it tells of these results "
                "is unknown"
            ) from None
    return found


def write_parameters(results: str | Path, made: Sequence[Made], known: Iterable[Made]) -> None:
    """Write what was made with which parameters; what was `known` before and is not made
    again stays.
    """
    again = {output for one in made for output in one.outputs}
    kept = [one for one in known if again.isdisjoint(one.outputs)]
    lines: dict[str, list[str]] = {}
    for one in sorted([*kept, *made], key=lambda one: list(one.outputs)):
        line = json.dumps(one._asdict(), ensure_ascii=False)
        lines.setdefault(one.outputs[0].partition("/")[0], []).append(f"{line}\n")
    for stage, those in lines.items():
        path = Path(results, stage, NAME)
        if path.parent.is_dir():
            write_text(path, "".join(those))


def stage_of(output: str) -> str | None:
    """The stage of a path below the results; None of one elsewhere."""
    stage, _, name = output.partition("/")
    return stage if name and stage in STAGES else None


def find_changes(rule: str, made: Made, now: Mapping[str, str]) -> list[Change]:
    """The parameters that a rule's job has now and that differ from those of its
    results; one that it had, or did not have, is empty.
    """
    before = made.parameters
    return [
        Change(rule, name, before.get(name, ""), now.get(name, ""), made.version)
        for name in sorted(before.keys() | now.keys())
        if before.get(name) != now.get(name)
    ]


def lost_models(output: str) -> list[str]:
    """The models of a curve, or of a point of it, that are no longer beside it. No rule
    declares them, as a size that the text does not reach has none.
    """
    path = Path(output)
    is_point = path.parent.name == "points" and path.suffix == ".tsv"
    if not (is_point or path.name == "curve.tsv") or not path.exists():
        return []
    folder = path.parents[int(is_point)] / "models"
    try:
        rows = list(read_tsv(path, ("size", "status")))
    except VocapError:
        return []  # the job that reads it says why
    models = [folder / f"{row['size']}.model" for row in rows if row["status"] == "ok"]
    return [str(model) for model in models if not model.exists()]


def describe_changes(changes: Iterable[Change]) -> Iterator[str]:
    """A line for each parameter that differs, with the number of its jobs."""
    counts = Counter(changes)
    for change, count in counts.most_common(SHOWN):
        jobs = "1 job" if count == 1 else f"{count} jobs"
        by = f", made by {change.version}" if change.version not in (None, __version__) else ""
        values = " -> ".join(excerpts(change.before, change.now))
        yield f"made again: {change.rule}, {jobs}{by}: {change.name}: {values}"
    if len(counts) > SHOWN:
        yield f"and {len(counts) - SHOWN} more parameters"


def excerpts(before: str, now: str) -> list[str]:
    """Two texts from shortly before their first difference on.

    >>> excerpts("--beta=0.7", "")
    ['--beta=0.7', 'none']
    """
    start = max(len(commonprefix([before, now])) - LONGEST // 2, 0)  # noqa: RUF071 - characters
    cut = [text[start : start + LONGEST] for text in (before, now)]
    return [f"{'...' if start else ''}{' '.join(text.split()) or 'none'}" for text in cut]
