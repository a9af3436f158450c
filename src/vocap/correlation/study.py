"""The correlation study: the part that can run, the sizes of its vocabularies, its points and coefficients."""

import json
import statistics
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


FEWEST = 3  # points of a correlation: with two it is 1 or -1


class Measured(NamedTuple):
    """The score of a model with one monolingual vocabulary in its language."""

    language: str
    size: int  # of the vocabulary, as its curve counts it
    alp: float  # of its training text, nats per line (Equation 1)
    task: str
    split: str  # test, or dev where the test file keeps its labels back
    f1: float  # percent, mean over seeds
    seeds: int
    steps: int  # of pre-training


class Coefficients(NamedTuple):
    """Pearson's coefficients over the sizes of one language and task; None where they are not defined."""

    language: str
    task: str
    sizes: int
    holes: int  # sizes that the language's text does not reach, so no part of the coefficients
    rho_alp: float | None  # of ALP with F1
    rho_size: float | None  # of the vocabulary's size with F1


def correlations(points: Iterable[Measured], holes: Mapping[str, Sequence[int]]) -> list[Coefficients]:
    """A row for each language and task, in order of first appearance.

    `holes`: the requested sizes of a language without a vocabulary.
    """
    groups: dict[tuple[str, str], list[Measured]] = {}
    for point in points:
        groups.setdefault((point.language, point.task), []).append(point)
    found = []
    for key, group in groups.items():
        f1, alps, sizes = ([float(getattr(one, name)) for one in group] for name in ("f1", "alp", "size"))
        counts = (len(group), len(holes.get(key[0], ())))
        found.append(Coefficients(*key, *counts, pearson(alps, f1), pearson(sizes, f1)))
    return found


def pearson(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Pearson's correlation; None for fewer than three pairs, or where all of one side are equal.

    >>> pearson([1, 2, 3], [2, 4, 6]), pearson([1, 1, 1], [1, 2, 3])
    (1.0, None)
    """
    if len(x) < FEWEST or len(set(x)) == 1 or len(set(y)) == 1:
        return None
    return statistics.correlation(x, y)


def measure(sizes: Iterable[Size], folders: Iterable[Path]) -> list[Measured]:
    """The points of the study, from folders LANGUAGE/SIZE/TASK that `vocap score` wrote.

    F1 is that of the chosen setting on the test file, or on the development file where the test labels are
    withheld; ALP is that of `sizes`. Raises VocapError for a folder without a score, and for one of a size that
    has no ALP.
    """
    from vocap.finetuning.outcome import chosen_scores, read_selection  # pandas, which rules do without

    alps = {(size.language, str(size.size)): size.alp for size in sizes}
    points = []
    for folder in folders:
        language, size, task = ("", "", "", *folder.absolute().parts)[-3:]
        if (alp := alps.get((language, size))) is None:
            raise VocapError(f"{folder}: not LANGUAGE/SIZE/TASK, of a size that has an ALP; leave the folder out")
        scores = chosen_scores(folder, read_selection(folder)).query("metric == 'f1'")
        splits = scores.groupby("split")["value"].apply(list)
        split = next((split for split in ("test", "dev") if split in splits), None)
        if split is None:
            raise VocapError(f"{folder}: no F1 of the chosen setting; score again")
        values, steps = splits[split], _steps(folder.parent / "pretrained" / "metrics.jsonl")
        f1 = sum(values) / len(values)
        points.append(Measured(language, int(size), alp, task, split, f1, len(values), steps))
    return sorted(points, key=lambda point: (point.language, point.task, point.size))


def _steps(path: Path) -> int:
    """The steps of a model's pre-training, from the last line of its metrics."""
    try:
        return int(json.loads(path.read_text("utf-8").splitlines()[-1])["step"])
    except (LookupError, TypeError, ValueError):
        raise VocapError(f"{path}: its last line names no step; delete it and pre-train the model again") from None
