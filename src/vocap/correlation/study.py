"""The correlation study: its settings, the part that can run, points and coefficients."""

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field

from vocap.errors import VocapError
from vocap.files.written import written_by
from vocap.finetuning.settings import Finetuning, Supply
from vocap.finetuning.tasks import SPLITS, TASKS, DataSet
from vocap.pretraining.loss_kinds import Full
from vocap.pretraining.settings import Recipe
from vocap.section import ConfigSection, Seed
from vocap.tables.curve import parse_sizes, read_points
from vocap.training import Distinct

FEWEST_POINTS = 3  # points of a correlation: with two it is 1 or -1
StudyTask = Literal["udpos", "panx"]


def _unweighted(model: Recipe) -> Recipe:
    if model.weights == "corpora":
        raise ValueError("weights: a model of one language has none to weigh; leave it out")
    if model.causal:
        raise ValueError(
            "objective: the study fine-tunes its models, which must be masked; leave it out"
        )
    return model


class Correlation(ConfigSection):
    """Section 2.1: a model for each of a language's vocabularies, and its scores in
    that language.
    """

    languages: Distinct[str] = Field(
        [], description="the paper's: [hi, fa, it, ru]; none: nothing runs"
    )
    sizes: Annotated[list[int], BeforeValidator(parse_sizes)] = Field(
        list(range(1000, 31000, 1000)),
        description="sizes of the study, out of vocabularies.sizes; the default is the paper's",
    )
    tasks: Distinct[StudyTask] = Field(
        ["udpos", "panx"],
        min_length=1,
        description="that a model is fine-tuned on, with finetuning.recipes",
    )
    seeds: Distinct[Seed] = Field(
        [1], min_length=1, description="seeds of fine-tuning; scores are their mean"
    )
    model: Annotated[Recipe, AfterValidator(_unweighted)] = Field(
        Recipe(loss=Full()),
        description="how each is pre-trained, on its language alone: as pretraining: models",
    )


@dataclass(frozen=True)
class Study:
    """The runnable part of the study: models of `languages`, and the tasks of each.

    `files`: of each language those present or to be fetched (`supply`). `left_out`:
    (part, reason).
    """

    languages: list[str] = field(default_factory=list)
    tasks: dict[str, list[str]] = field(default_factory=dict)
    files: dict[str, list[str]] = field(default_factory=dict)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    supply: Supply | None = None


def plan_study(
    settings: Correlation, finetuning: Finetuning, languages: Iterable[str], assume: bool
) -> Study:
    """The runnable part of the study, by the files of the XTREME folder and the
    languages with text.

    Models are pre-trained without these files. With `assume`, a task without its folder
    is planned as if its files existed.
    """
    # the languages with text
    chosen = [language for language in settings.languages if language in set(languages)]
    absent = [language for language in settings.languages if language not in chosen]
    left_out = [(f"correlation.languages: {language}", "it has no text") for language in absent]
    if not chosen:
        return Study(left_out=left_out)
    if reason := finetuning.folder_lacks(assume):
        waiting = f"its {len(chosen) * len(settings.sizes)} models are pre-trained and wait for it"
        left_out.append(("POS and NER of the correlation study", f"{reason}; {waiting}"))
        return Study(chosen, left_out=left_out)

    # the tasks of each with all of their files
    assert finetuning.xtreme is not None  # else folder_lacks has a reason
    xtreme = Path(finetuning.xtreme)
    supply = Supply(xtreme, finetuning.download)
    study = Study(chosen, left_out=left_out, supply=supply)
    for language in chosen:
        for task in settings.tasks:
            granted = assume and not (xtreme / task).is_dir()  # nothing of it is brought yet
            sets = {split: DataSet(TASKS[task], split, language) for split in SPLITS}
            found = {split: supply.find(one, granted) for split, one in sets.items()}
            if missing := [split for split, path in found.items() if path is None]:
                path = xtreme / task / f"{missing[0]}-{language}.tsv"
                reason = f"no {path}, nor one with .xz; its models wait for it"
                left_out.append((f"correlation study: {task} in {language}", reason))
            else:
                study.tasks.setdefault(language, []).append(task)
                made = [str(path) for path in found.values() if path and supply.is_made(path)]
                study.files.setdefault(language, []).extend(made)
    return study


def unreached(
    vocabularies: Path, languages: Iterable[str], sizes: Sequence[int]
) -> dict[str, list[int]]:
    """The sizes that a language's text does not reach, by its curve; a language without
    one is left out.
    """
    holes: dict[str, list[int]] = {}
    for language in languages:
        path = vocabularies / language / "curve.tsv"
        points = read_points(path) if path.exists() else []
        if failed := [point.size for point in points if point.size in sizes and not point.ok]:
            holes[language] = failed
    return holes


class StudyPoint(NamedTuple):
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
    """Pearson's coefficients over the sizes of one language and task; None where they
    are not defined.
    """

    language: str
    task: str
    sizes: int
    holes: int  # sizes that the language's text does not reach, so no part of the coefficients
    rho_alp: float | None  # of ALP with F1
    rho_size: float | None  # of the vocabulary's size with F1


def correlations(
    points: Iterable[StudyPoint], holes: Mapping[str, Sequence[int]]
) -> list[Coefficients]:
    """A row for each language and task, in order of first appearance.

    `holes`: the requested sizes of a language without a vocabulary.
    """
    groups: dict[tuple[str, str], list[StudyPoint]] = {}
    for point in points:
        groups.setdefault((point.language, point.task), []).append(point)
    found = []
    for key, group in groups.items():
        f1, alps, sizes = zip(*((one.f1, one.alp, one.size) for one in group), strict=True)
        counts = (len(group), len(holes.get(key[0], ())))
        found.append(Coefficients(*key, *counts, pearson(alps, f1), pearson(sizes, f1)))
    return found


def pearson(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Pearson's correlation; None for fewer than three pairs, or where all of one side
    are equal.

    >>> pearson([1, 2, 3], [2, 4, 6]), pearson([1, 1, 1], [1, 2, 3])
    (1.0, None)
    """
    if len(x) < FEWEST_POINTS or len(set(x)) == 1 or len(set(y)) == 1:
        return None
    return statistics.correlation(x, y)


def measure_model(folder: Path, vocabularies: Path) -> StudyPoint:
    """The point of a folder LANGUAGE/SIZE/TASK that `vocap score` wrote, with
    LANGUAGE/SIZE/pretrained beside it.

    F1 is that of the chosen setting on the test file, or on the development file where
    the test labels are withheld; ALP is that of LANGUAGE/curve.tsv under
    `vocabularies`. Raises VocapError for a folder without a score, and for one of a
    size that has no ALP.
    """
    # pandas, which rules do without
    from vocap.finetuning.scores import (
        chosen_scores,
        read_selection,
    )

    language, size, task = ("", "", "", *folder.absolute().parts)[-3:]
    curve = vocabularies / language / "curve.tsv"
    alps = (
        {str(point.size): point.alp for point in read_points(curve)}
        if language and curve.exists()
        else {}
    )
    if (alp := alps.get(size)) is None:
        raise VocapError(
            f"{folder}: not LANGUAGE/SIZE/TASK, of a size that has an ALP; leave the folder out"
        )
    scores = chosen_scores(folder, read_selection(folder)).query("metric == 'f1'")
    splits = scores.groupby("split")["value"].apply(list)
    split = next((split for split in ("test", "dev") if split in splits), None)
    if split is None:
        raise VocapError(f"{folder}: no F1 of the chosen setting; score again")
    metrics = folder.parent / "pretrained" / "metrics.jsonl"
    with written_by("pretrain", metrics):
        steps = int(json.loads(metrics.read_text("utf-8").splitlines()[-1])["step"])
    values = splits[split]
    return StudyPoint(
        language, int(size), alp, task, split, sum(values) / len(values), len(values), steps
    )


def correlate_scores(
    scored: Iterable[Path], vocabularies: Path, sizes: Sequence[int]
) -> tuple[list[StudyPoint], list[Coefficients]]:
    """The points of folders LANGUAGE/SIZE/TASK as of `measure_model`, by language, task
    and size, and their coefficients.

    `vocabularies` holds LANGUAGE/curve.tsv; `sizes`: those of the study. Raises
    VocapError as `measure_model`.
    """
    points = sorted(
        (measure_model(folder, vocabularies) for folder in scored),
        key=lambda one: (one.language, one.task, one.size),
    )
    holes = unreached(vocabularies, {point.language for point in points}, sizes)
    return points, correlations(points, holes)
