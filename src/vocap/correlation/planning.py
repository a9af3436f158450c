"""The part of the correlation study that can run, and the sizes of its vocabularies."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from vocap.correlation.settings import Correlation
from vocap.errors import VocapError
from vocap.files.tsv import read_tsv
from vocap.finetuning.grid import Supply
from vocap.finetuning.settings import Finetuning
from vocap.finetuning.tasks import SPLITS, TASKS
from vocap.tables.curve import OK, read_points


@dataclass(frozen=True)
class Study:
    """The runnable part of the study: models of `languages`, and the tasks of each.

    `files`: of each language those present or to be fetched (`supply`). `left_out`: (part, reason).
    """

    languages: list[str] = field(default_factory=list)
    tasks: dict[str, list[str]] = field(default_factory=dict)
    files: dict[str, list[str]] = field(default_factory=dict)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    supply: Supply | None = None


def plan_study(
    settings: Correlation, finetuning: Finetuning, languages: Iterable[str], assume: bool = False
) -> Study:
    """The runnable part of the study, by the files of the XTREME folder and the languages with text.

    Models are pre-trained without these files. With `assume`, a task without its folder is planned as if its
    files existed.
    """
    present = set(languages)
    chosen = [language for language in settings.languages if language in present]
    absent = [language for language in settings.languages if language not in present]
    left_out = [(f"correlation.languages: {language}", "it has no text") for language in absent]
    if not chosen:
        return Study(left_out=left_out)
    if finetuning.xtreme is None or not (finetuning.download or assume or Path(finetuning.xtreme).is_dir()):
        reason = "no finetuning.xtreme" if finetuning.xtreme is None else f"no folder {finetuning.xtreme}"
        waiting = f"its {len(chosen) * len(settings.sizes)} models are pre-trained and wait for it"
        left_out.append(("POS and NER of the correlation study", f"{reason}; {waiting}"))
        return Study(chosen, left_out=left_out)
    xtreme = Path(finetuning.xtreme)
    study = Study(chosen, left_out=left_out, supply=Supply(xtreme, download=finetuning.download))
    for language in chosen:
        for task in settings.tasks:
            granted = assume and not (xtreme / task).is_dir()  # nothing of it is brought yet
            found = {split: study.supply.find(TASKS[task], split, language, granted) for split in SPLITS}
            if missing := next((split for split, path in found.items() if path is None), None):
                path = xtreme / task / f"{missing}-{language}.tsv"
                reason = f"no {path}, nor one with .xz; its models wait for it"
                left_out.append((f"correlation study: {task} in {language}", reason))
            else:
                study.tasks.setdefault(language, []).append(task)
                made = [str(path) for path in found.values() if study.supply.is_made(path)]
                study.files.setdefault(language, []).extend(made)
    return study


class Size(NamedTuple):
    """A size of the study: the ALP of its vocabulary, or in `status` the reason for a missing one."""

    language: str
    size: int  # as its curve counts it
    alp: float | None  # of the training text, nats per line (Equation 1)
    status: str  # ok, or the reason, as in the curve


def find_sizes(vocabularies: Path, languages: Iterable[str], sizes: Sequence[int]) -> list[Size]:
    """The points of LANGUAGE/curve.tsv under `vocabularies` at these sizes; VocapError for a missing one."""
    found = []
    for language in languages:
        path = vocabularies / language / "curve.tsv"
        curve = {point.size: point for point in read_points(path)}
        if missing := [size for size in sizes if size not in curve]:
            remedy = "add it to vocabularies.sizes, or take it out of the study"
            raise VocapError(f"{path}: no size {missing[0]}; {remedy}")
        found += [Size(language, size, curve[size].alp, curve[size].status) for size in sizes]
    return found


def read_records(path: str | Path, kind: type) -> list:
    """The rows of a table whose columns are the fields of the named tuple `kind`.

    Raises VocapError, with file and line, for a malformed number.
    """
    parsers = {name: {int: int, str: str}.get(one, float) for name, one in kind.__annotations__.items()}
    found = []
    for line, row in enumerate(read_tsv(path, kind._fields), start=2):
        try:
            found.append(kind(*(parse(row[name]) if row[name] else None for name, parse in parsers.items())))
        except ValueError as error:
            raise VocapError(f"{path}, line {line}: {error}; delete the file and run its stage again") from None
    return found


def holes(sizes: Iterable[Size]) -> dict[str, list[int]]:
    """The sizes that a language's text does not reach; a language without one is left out."""
    found: dict[str, list[int]] = {}
    for size in sizes:
        if size.status != OK:
            found.setdefault(size.language, []).append(size.size)
    return found


def reached_sizes(path: str, languages: Iterable[str], sizes: Sequence[int]) -> list[tuple[str, int]]:
    """The pairs of these languages and sizes but the holes of the table `path`; all where there is none yet."""
    absent: Mapping[str, list[int]] = holes(read_records(path, Size)) if Path(path).exists() else {}
    return [(language, size) for language in languages for size in sizes if size not in absent.get(language, ())]
