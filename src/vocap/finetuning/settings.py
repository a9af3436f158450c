"""The `finetuning` section of the configuration, and its models, trainings and tasks
that can run.
"""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product, starmap
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import pydantic
from pydantic import AfterValidator, BeforeValidator, Field

from vocap.errors import UsageError, VocapError
from vocap.files.paths import PlainPath
from vocap.finetuning import tasks
from vocap.finetuning.examples import HELD_OUT, is_labelled
from vocap.finetuning.published import collection_of
from vocap.finetuning.tasks import ENGLISH, TASKS, TRAININGS, DataSet, Selection, first_task
from vocap.model_folder import CONFIG
from vocap.section import ConfigSection, Seed
from vocap.training import Betas, Distinct, Precision, TrainingJob


def _known_task(name: str) -> str:
    if name not in TASKS:
        raise ValueError(f"no task {name!r}; there are {', '.join(TASKS)}")
    return name


Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Number = Annotated[int, Field(ge=1)]
TaskName = Annotated[str, AfterValidator(_known_task)]
OF_INPUTS = {"max_length", "question_length", "stride"}


class TuningRecipe(ConfigSection):
    """How one model is fine-tuned on one training; every rate is tried with every
    number of epochs and seed.
    """

    learning_rates: Distinct[Rate] = Field(
        min_length=1, description="peaks of the schedule, each tried"
    )
    epochs: Distinct[Number] = Field(
        min_length=1, description="passes over the training file, each tried"
    )
    batch: Number = Field(32, description="inputs of an update")
    warmup: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="share of the steps in which the rate rises; after them it falls to 0",
    )
    max_length: int = Field(ge=16, description="ids of an input; fewer where the model reads fewer")
    question_length: Number = Field(
        64, description="ids of a question; at most a third of max_length"
    )
    stride: Number = Field(
        128,
        description="ids from the start of one window of a context to the next; at most a third "
        "of max_length",
    )
    pooling: Literal["mean", "first", "sum"] = Field(
        "first", description="representation of a word of several subwords, where words are tagged"
    )
    evaluate_every: Number | None = Field(
        None,
        description="steps between evaluations of the development sets, besides that after each "
        "epoch",
    )
    train_examples: Number | None = Field(
        None, description="number of examples of the training file, from its start; null: all"
    )
    dev_examples: Number | None = Field(
        None,
        description="number of examples of each selecting development file, from its start; "
        "null: all",
    )
    betas: Betas = Field((0.9, 0.999), description="decay rates of Adam's two averages")
    epsilon: float = Field(1e-8, gt=0, description="term that Adam adds to its denominator")
    weight_decay: float = Field(0.0, ge=0, description="decoupled, on every parameter")
    clip: float = Field(1.0, gt=0, description="highest norm of the gradient")
    precision: Precision = Field(
        "auto",
        description="number format of the layers' products; auto: bf16 on a GPU, fp16 on one "
        "without it; else fp32",
    )

    def of_inputs(self) -> dict[str, Any]:
        """The settings that inputs depend on."""
        return self.model_dump(mode="json", include=OF_INPUTS)

    def of_a_run(self) -> dict[str, Any]:
        """The settings that a run depends on besides its inputs, rate and epochs."""
        return self.model_dump(mode="json", exclude={*OF_INPUTS, "learning_rates", "epochs"})

    @property
    def window(self) -> tuple[int, int]:
        """Ids of a question, and the stride of windows, limited by `max_length`."""
        third = self.max_length // 3
        return min(self.question_length, third), min(self.stride, third)


def _over_the_paper(values: Any) -> Any:
    """The recipe of each training; keys that a configuration gives replace the
    paper's.
    """
    if not isinstance(values, dict):
        return values
    if unknown := [name for name in values if name not in TRAININGS]:
        raise ValueError(f"no training {unknown[0]!r}; there are {', '.join(TRAININGS)}")
    # those that are registered by now
    given = {training: values.get(training, {}) for training in TRAININGS}
    return {
        training: {**first_task(training).recipe, **keys} if isinstance(keys, dict) else keys
        for training, keys in given.items()
    }


Recipes = Annotated[dict[str, TuningRecipe], BeforeValidator(_over_the_paper)]


class Tuned(ConfigSection):
    """One entry of `finetuning: models`; an empty one is the model of `pretraining` of
    the same name.
    """

    model: str | None = Field(
        None, min_length=1, description="name of an entry of pretraining: models"
    )
    step: Number | None = Field(
        None, description="one of its export_steps; null: the trained model"
    )
    path: PlainPath | None = Field(
        None, description="folder of any Hugging Face masked language model, with its tokenizer"
    )
    weights: Literal["pretrained", "random"] = Field(
        "pretrained",
        description="random: the same model, untrained, to measure the benefit of pre-training",
    )
    tasks: list[TaskName] | None = Field(
        None,
        min_length=1,
        description="those of finetuning.tasks that it is fine-tuned on; null: all of them",
    )

    @pydantic.model_validator(mode="after")
    def _one_origin(self) -> "Tuned":
        if self.path is not None and (self.model is not None or self.step is not None):
            raise ValueError(
                "path names a model from elsewhere; model and step one of pretraining; keep one"
            )
        return self


def _all_is_none(value: object) -> object:
    return None if value == "all" else value


class Finetuning(ConfigSection):
    """The models to fine-tune, and their tasks."""

    xtreme: PlainPath | None = Field(
        None, description="the download/ folder of XTREME's scripts, or xTune's; null: nothing runs"
    )
    download: bool = Field(
        False,
        description="fetch the files of that folder that are not there and are free "
        "(docs/finetuning.md)",
    )
    models: Annotated[dict[str, Tuned] | None, BeforeValidator(_all_is_none)] = Field(
        None, description="the models, by name; null or all: every model of pretraining"
    )
    tasks: Annotated[Distinct[TaskName] | None, BeforeValidator(_all_is_none)] = Field(
        None, min_length=1, description=f"of {', '.join(TASKS)}; null or all: all of them"
    )
    seeds: Distinct[Seed] = Field(
        [1, 2, 3, 4, 5], min_length=1, description="one run each; scores are their mean"
    )
    selection: Selection = Field(
        "paper",
        description="selects checkpoint, rate and epochs: paper, the mean over all languages' "
        "development "
        "sets (of tydiqa, the English test file); english-dev, English alone, and never a test "
        "file",
    )
    threads: Number = Field(
        2, description="threads of one job on a CPU; another number gives slightly other sums"
    )
    checkpoint_every: Number = Field(500, description="steps from one checkpoint to the next")
    recipes: Recipes = Field({}, validate_default=True)

    def folder_lacks(self, assume: bool) -> str | None:
        """Why nothing can be read from the XTREME folder, if so; with `assume`, one
        that is not there will be.
        """
        if self.xtreme is None:
            return "no finetuning.xtreme"
        there = self.download or assume or Path(self.xtreme).is_dir()
        return None if there else f"no folder {self.xtreme}"

    def tuned(self, own: Iterable[str]) -> dict[str, Tuned]:
        """The models, of which `own` are those of pretraining."""
        return {name: Tuned() for name in own} if self.models is None else self.models

    def chosen(self) -> list[str]:
        """The tasks of this run, in the paper's order."""
        return [task for task in TASKS if self.tasks is None or task in self.tasks]

    def trainings(self) -> list[str]:
        """The trainings of the chosen tasks."""
        return [name for name, tasks in TRAININGS.items() if set(tasks) & set(self.chosen())]


class TuningJob(TrainingJob):
    """Which run of a recipe `finetune_model` makes, and how."""

    learning_rate: float = Field(gt=0, allow_inf_nan=False, description="peak of the learning rate")
    epochs: int = Field(ge=1, description="number of passes over the training file")
    seed: Seed = Field(
        description="seed of the head's weights, of the order of examples and of dropout"
    )
    selection: Selection = Field(
        "paper", description="which development files select the state to keep"
    )
    random_weights: bool = Field(False, description="use the model's shape with random weights")
    checkpoint_every: int = Field(500, ge=1, description="number of steps between checkpoints")


def parse_tuning_recipe(
    training: str, values: Mapping[str, Any], where: str = "settings"
) -> TuningRecipe:
    """The paper's recipe of a training with `values` over it.

    Raises UsageError, naming the key and `where` they are given, for a training that is
    none, and for settings that cannot be used.
    """
    if training not in TRAININGS:
        raise UsageError(f"no training {training!r}; there are {', '.join(TRAININGS)}")
    return TuningRecipe.parsed({**first_task(training).recipe, **values}, where)


@dataclass
class Supply:
    """The files of one XTREME folder; missing files are recorded, as paths under the folder.

    `download`: free files are fetched. `fetched`: files to fetch; `assumed`: files that
    a plan assumes.
    """

    xtreme: Path
    download: bool
    fetched: set[str] = field(default_factory=set)
    assumed: set[str] = field(default_factory=set)

    def find(self, wanted: DataSet, assume: bool = False) -> Path | None:
        """The present or future path of a file; None where nothing provides it.

        With `assume`, files that the user has to provide are assumed to exist.
        """
        if path := wanted.file(self.xtreme):
            return path
        name = next(iter(wanted.candidates()), None)
        if name and self.download and collection_of(name):
            self.fetched.add(name)
        elif name and assume:
            self.assumed.add(name)
        else:
            return None
        return self.xtreme / name

    def to_bring(self) -> list[str]:
        """The folders under `xtreme` that the user has to provide."""
        return sorted({path.partition("/")[0] for path in self.assumed})

    def is_made(self, path: Path) -> bool:
        """Whether a file exists, or a job fetches it."""
        return path.exists() or str(path.relative_to(self.xtreme)) in self.fetched


class Setting(NamedTuple):
    """The hyper-parameters that distinguish the runs of one model and training."""

    learning_rate: float
    epochs: int
    seed: int

    @property
    def name(self) -> str:
        """The run's folder; a rate has all its digits, and 1e-5 and 0.00001 are one.

        >>> Setting(1e-5, 10, 3).name
        '1e-05-10-3'
        """
        return f"{self.learning_rate!r}-{self.epochs}-{self.seed}"


def settings_of(recipe: TuningRecipe, seeds: Collection[int]) -> list[Setting]:
    """Every run of one model on one training.

    >>> len(settings_of(Finetuning().recipes["tydiqa"], range(5)))  # 2 rates, 6 or 8 epochs
    20
    """
    return list(starmap(Setting, product(recipe.learning_rates, recipe.epochs, seeds)))


@dataclass(frozen=True)
class Grid:
    """The runnable part of a configuration: models, trainings, and tasks with files.

    `files`: of each training, the files of the XTREME folder that it reads, those that
    are fetched too; `planned`: missing sets that are fetched or assumed (see `supply`).
    `left_out`: (part, reason).
    """

    xtreme: Path | None
    models: dict[str, Tuned] = field(default_factory=dict)
    files: dict[str, list[Path]] = field(default_factory=dict)
    tasks: list[str] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    planned: set[DataSet] = field(default_factory=set)
    supply: Supply | None = None

    def tasks_for(self, model: str) -> list[str]:
        """The tasks that a model is fine-tuned on."""
        wanted = self.models[model].tasks
        return [task for task in self.tasks if wanted is None or task in wanted]


def make_grid(settings: Finetuning, own: Collection[str], assume: bool = False) -> Grid:
    """The runnable part of a configuration; `own`: the models of the pretraining stage.

    With `assume`, the plan of a run: a training without its training file is planned
    from the table of tasks, as if all its files existed.
    """
    wanted = settings.tuned(own)
    if not wanted:
        return Grid(None)
    if (why := settings.folder_lacks(assume)) or settings.xtreme is None:
        return Grid(None, left_out=[("fine-tuning", f"{why}; bring XTREME's download/ folder")])
    xtreme = Path(settings.xtreme)
    supply = Supply(xtreme, settings.download)
    grid = Grid(xtreme, supply=supply)

    # models that are there, or made by this run
    for name, entry in wanted.items():
        if entry.path is not None and not Path(entry.path, CONFIG).is_file():
            why = f"no {CONFIG} in {entry.path}; bring the model, or change its path"
        elif entry.path is None and (entry.model or name) not in own:
            why = f"model {entry.model or name} of pretraining is left out"
        else:
            grid.models[name] = entry
            continue
        grid.left_out.append((f"fine-tuning of {name}", why))

    # trainings with their files, and their tasks that can be tested
    for training in settings.trainings():
        learnt = tasks.training_set(training)
        absent = supply.find(learnt) is None  # so nothing of it is brought yet
        sets = [learnt, *tasks.predicted_sets(training)]
        paths = {one: supply.find(one, assume and absent) for one in sets}
        found = {one: path for one, path in paths.items() if path is not None}
        if why := _untrainable(supply, training, settings, found):
            grid.left_out.append((f"fine-tuning on {training}", why))
            continue
        tested = {each.task.name for each in found if each.split == "test"}
        for task in filter(settings.chosen().__contains__, TRAININGS[training]):
            if task in tested:
                grid.tasks.append(task)
                grid.files[training] = sorted(filter(supply.is_made, set(found.values())))
            else:
                grid.left_out.append((f"task {task}", f"no test file in {xtreme}"))
        grid.planned.update(each for each, path in found.items() if not path.exists())
    grid.tasks.sort(key=list(TASKS).index)

    # models without any of their tasks
    for name, entry in list(grid.models.items()):
        if entry.tasks is not None and not grid.tasks_for(name):
            grid.left_out.append(
                (f"fine-tuning of {name}", f"none of its tasks, {', '.join(entry.tasks)}, can run")
            )
            del grid.models[name]
    return grid


def _untrainable(
    supply: Supply, training: str, settings: Finetuning, found: Mapping[DataSet, Path]
) -> str | None:
    """Why a training cannot run, if it cannot: no file to learn from, or none that can
    choose.
    """
    learnt = tasks.training_set(training)
    if learnt not in found:
        return f"no file {learnt.name} in {supply.xtreme}; bring it"
    names = {each.name for each in [*found, DataSet(learnt.task, HELD_OUT, ENGLISH)]}
    development = tasks.development(training, settings.selection)
    choosing = [each for each in development.sets if each.name in names]
    if not choosing:
        return (
            f"no development file to choose by in {supply.xtreme}; bring one, or change "
            "finetuning.selection"
        )
    for each in choosing:
        if each.split != "test" or each not in found:
            continue
        with suppress(VocapError):  # of an unreadable file, which the job of its inputs reports
            if not all(map(is_labelled, each.read(supply.xtreme))):
                return (
                    f"{each.name}, on which the paper's rule selects, lacks its labels in "
                    f"{supply.xtreme}; bring xTune's files, or write finetuning: selection: "
                    "english-dev"
                )
    return None


def input_length(recipe: TuningRecipe, longest: int | None) -> int:
    """Ids of an input: the recipe's, or fewer where the model reads fewer."""
    return recipe.max_length if longest is None else min(recipe.max_length, longest)
