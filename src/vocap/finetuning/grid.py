"""What a configuration can run: models, trainings, tasks, and the runs of each; what is absent is named."""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from vocap.errors import VocapError
from vocap.finetuning.datasets import DataSet, choosing_sets, predicted_sets, training_set
from vocap.finetuning.examples import is_labelled
from vocap.finetuning.reading import StandIns, locate, parse, read
from vocap.finetuning.settings import Finetuning, Recipe, Tuned
from vocap.finetuning.tasks import ENGLISH, TASKS, TRAININGS
from vocap.model_folder import CONFIG, longest_input, read_config

RUNS = "runs"


@dataclass(frozen=True, order=True)
class Setting:
    """What differs from run to run of one model and training."""

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


def settings_of(recipe: Recipe, seeds: Collection[int]) -> list[Setting]:
    """Every run of one model on one training.

    >>> from vocap.finetuning.settings import Recipes
    >>> len(settings_of(Recipes().tydiqa, range(5)))  # 2 rates, 6 or 8 epochs
    20
    """
    return [
        Setting(rate, epochs, seed) for rate in recipe.learning_rates for epochs in recipe.epochs for seed in seeds
    ]


def run_folder(model: str, training: str, setting: Setting) -> str:
    """Where a run lies, under `results/finetuning`."""
    return str(PurePosixPath(model, training, RUNS, setting.name))


@dataclass(frozen=True)
class Grid:
    """What a configuration can run: its models, trainings and tasks of which the files are there.

    `files`: of each training, the files of the XTREME folder that it reads. `left_out`: what lacks, and why.
    """

    xtreme: Path | None
    models: dict[str, Tuned] = field(default_factory=dict)
    files: dict[str, list[Path]] = field(default_factory=dict)
    tasks: list[str] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)

    def tasks_for(self, model: str) -> list[str]:
        """The tasks that a model is fine-tuned on."""
        wanted = self.models[model].tasks
        return [task for task in self.tasks if wanted is None or task in wanted]

    def trainings_for(self, model: str) -> list[str]:
        """What a model is trained for them."""
        wanted = {TASKS[task].training for task in self.tasks_for(model)}
        return [training for training in self.files if training in wanted]


def make_grid(settings: Finetuning, own: Collection[str]) -> Grid:
    """What there is to run; `own`: the models of the pretraining stage that are made.

    Raises UsageError for stand-ins that are none.
    """
    stand_ins = parse(settings.stand_ins)
    wanted = settings.tuned(own)
    if not wanted:
        return Grid(None)
    if settings.xtreme is None or not Path(settings.xtreme).is_dir():
        why = "finetuning.xtreme names none" if settings.xtreme is None else f"no folder {settings.xtreme}"
        return Grid(None, left_out=[("fine-tuning", f"{why}; bring XTREME's download/ folder")])
    xtreme, left_out = Path(settings.xtreme), []
    models = {}
    for name, entry in wanted.items():
        if why := _absent(name, entry, own):
            left_out.append((f"fine-tuning of {name}", why))
        else:
            models[name] = entry
    files, tasks = {}, []
    for training in settings.trainings():
        if why := _untrainable(xtreme, training, settings, stand_ins):
            left_out.append((f"fine-tuning on {training}", why))
            continue
        learnt = DataSet(training_set(training).task, "train", ENGLISH)
        paths = [_file(xtreme, found, stand_ins) for found in (learnt, *predicted_sets(training))]
        files[training] = sorted({path for path in paths if path is not None})
        for task in TRAININGS[training]:
            tested = [
                language
                for language in TASKS[task].languages
                if _file(xtreme, DataSet(TASKS[task], "test", language), stand_ins)
            ]
            if task in settings.chosen() and tested:
                tasks.append(task)
            elif task in settings.chosen():
                left_out.append((f"task {task}", f"no test file in {xtreme}"))
    files = {training: paths for training, paths in files.items() if set(TRAININGS[training]) & set(tasks)}
    tasks = [task for task in TASKS if task in tasks]
    for name, entry in list(models.items()):
        if entry.tasks is not None and not set(entry.tasks) & set(tasks):
            left_out.append((f"fine-tuning of {name}", f"none of its tasks, {', '.join(entry.tasks)}, can run"))
            del models[name]
    return Grid(xtreme, models, files, tasks, left_out)


def _absent(name: str, entry: Tuned, own: Collection[str]) -> str | None:
    """Why a model cannot be fine-tuned, if it cannot."""
    if entry.path is not None:
        there = Path(entry.path, CONFIG).is_file()
        return None if there else f"no {CONFIG} in {entry.path}; bring the model, or change its path"
    origin = entry.model or name
    return None if origin in own else f"model {origin} of pretraining is left out"


def _untrainable(xtreme: Path, training: str, settings: Finetuning, stand_ins: StandIns) -> str | None:
    """Why a training cannot run, if it cannot: no file to learn from, or none that can choose."""
    learnt = DataSet(training_set(training).task, "train", ENGLISH)
    if _file(xtreme, learnt, stand_ins) is None:
        return f"no file {learnt.name} in {xtreme}; bring it, or name another under finetuning.stand_ins"
    names = {found.name for found in predicted_sets(training) if _file(xtreme, found, stand_ins)}
    names.add(DataSet(training_set(training).task, "heldout", ENGLISH).name)
    choosing = choosing_sets(training, settings.selection, names)
    if not choosing:
        return f"no development file to choose by in {xtreme}; bring one, or change finetuning.selection"
    if blank := next((found for found in choosing if _is_blank(xtreme, found, stand_ins)), None):
        return (
            f"{blank.name}, which chooses by the paper's rule, keeps its labels back in {xtreme}; bring xTune's "
            "files, or write finetuning: selection: english-dev"
        )
    return None


def _is_blank(xtreme: Path, found: DataSet, stand_ins: StandIns) -> bool:
    """Whether a test file's labels are kept back; not of a file that cannot be read, which its own job names."""
    if found.split != "test":
        return False
    try:
        examples = read(xtreme, found.task, found.split, found.language, stand_ins)
    except VocapError:
        return False
    return not all(map(is_labelled, examples))


def _file(xtreme: Path, found: DataSet, stand_ins: StandIns) -> Path | None:
    return locate(xtreme, found.task, found.split, found.language, stand_ins)


def input_length(recipe: Recipe, longest: int | None) -> int:
    """Ids of an input: the recipe's, or fewer where the model reads fewer."""
    return recipe.max_length if longest is None else min(recipe.max_length, longest)


def longest_of(path: str) -> int | None:
    """How many ids a model from elsewhere reads. Raises VocapError for a folder that holds no model."""
    return longest_input(read_config(Path(path)))
