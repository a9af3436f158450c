"""The jobs of fine-tuning: their work is estimated from the sizes of the XTREME folder's files."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from vocap.config import Settings
from vocap.finetuning.datasets import DataSet, choosing_sets, predicted_sets
from vocap.finetuning.grid import Grid, Setting, input_length, run_folder, settings_of
from vocap.finetuning.published import ARCHIVES, collection_of
from vocap.finetuning.reading import locate, parse
from vocap.finetuning.settings import Tuned
from vocap.finetuning.supply import Supply
from vocap.finetuning.tasks import ENGLISH, TASKS, TRAININGS
from vocap.model_folder import longest_input, read_config
from vocap.plan.jobs import Job, fetch_job
from vocap.plan.texts import MB
from vocap.plan.training import PFLOP, encoder_operations, made_jobs, rows
from vocap.pretraining.memory import count_parameters
from vocap.pretraining.shapes import Shape

UNPACKED = 4.0  # bytes of a file whose name ends in .xz, for each byte stored (measured on ../shared/data/xtreme)
BYTES_PER_TOKEN = 4.0
SCORED = ("scores.tsv", "summary.tsv", "selection.json", "predictions")
WINDOWED = 2.0  # of question answering: a context is read with each of its questions, and in several windows
# of a row, in a training file (measured; of squad and xnli, from their known rows and sizes)
BYTES_PER_ROW = {"xnli": 190, "pawsx": 240, "udpos": 180, "panx": 75, "squad": 346, "tydiqa": 812}


def finetuning_jobs(settings: Settings, grid: Grid, gpu: bool) -> Iterator[Job]:
    """Inputs, runs, scores and averages of a grid."""
    if not grid.tasks:
        return
    tuned = {name: _Tuned(settings, name, entry) for name, entry in grid.models.items()}
    encoded: dict[str, Job] = {}
    runs: list[Job] = []
    for model in tuned.values():
        for training in grid.trainings_for(model.name):
            inputs = model.inputs(training)
            if inputs not in encoded:
                encoded[inputs] = _encode_job(settings, grid, model, training, inputs)
            recipe = getattr(settings.finetuning.recipes, training)
            for setting in settings_of(recipe, settings.finetuning.seeds):
                runs.append(_run_job(settings, grid, model, training, setting, encoded[inputs], gpu))
    yield from _check_jobs(settings, grid)
    yield from _ceiling_jobs(settings, grid, list(tuned.values()))
    yield from encoded.values()
    yield from runs
    for name in tuned:
        scored = []
        for task in grid.tasks_for(name):
            training = TASKS[task].training
            before = tuple(job.name for job in runs if job.name.startswith(f"finetuning/{name}/{training}/"))
            predicted_mb = sum(
                _size_mb(grid, settings, found) for found in predicted_sets(training) if found.task.name == task
            )
            scored.append(f"finetuning/{name}/score-{task}")
            folder = f"finetuning/{name}/{task}"
            yield Job(
                "score",
                scored[-1],
                {"scored_mb": predicted_mb * len(before)},
                before,
                tuple(f"{folder}/{made}" for made in SCORED),
            )
        average = f"finetuning/{name}/average"
        yield Job("average", average, {}, tuple(scored), (f"{average}.json",), local=True)


class _Tuned:
    """An entry of finetuning.models: its shape, and where its inputs lie."""

    def __init__(self, settings: Settings, name: str, entry: Tuned) -> None:
        self.settings, self.name = settings, name
        if entry.path is not None:
            config = read_config(Path(entry.path))
            self.made: tuple[str, ...] = ()
            self.tokenizer_jobs: tuple[str, ...] = ()
            self.origin, self.longest = f"models/{name}", longest_input(config)
            self.shape = Shape(
                layers=config.get("num_hidden_layers", 12),
                hidden=config.get("hidden_size", 768),
                heads=1,
                intermediate=config.get("intermediate_size", 3072),
            )
            self.parameters = count_parameters(self.shape, config.get("vocab_size", 250_002))
            return
        source = entry.model or name
        model = settings.pretraining.models[source]
        self.made = (f"pretraining/{source}",)
        self.tokenizer_jobs = made_jobs(settings, model.tokenizer)
        self.origin, self.longest, self.shape = f"tokenizers/{model.tokenizer}", model.shape.positions, model.shape
        self.parameters = count_parameters(model.shape, rows(settings, model.tokenizer))

    def inputs(self, training: str) -> str:
        """The folder of its inputs, under results/finetuning/inputs."""
        recipe = getattr(self.settings.finetuning.recipes, training)
        return f"{self.origin}/{training}-{input_length(recipe, self.longest)}"


def _check_name(training: str) -> str:
    return f"finetuning/check/{training}"


def download_jobs(settings: Settings, supplies: Iterable[Supply]) -> Iterator[Job]:
    """XTREME's files that are free: downloads, and what takes the files from them."""
    paths = {path for supply in supplies for path in supply.fetched}
    for collection in ARCHIVES:
        made = tuple(sorted(path for path in paths if collection_of(path) == collection))
        if made:
            fetched = [fetch_job(settings, name) for name in ARCHIVES[collection]]
            yield from fetched
            before = tuple(job.name for job in fetched)
            name = unpack_name(collection)
            yield Job(f"unpack_{collection}", name, {}, before, (), local=True, like="average")


def unpack_name(collection: str) -> str:
    """The job that takes a collection's files from its archives."""
    return f"finetuning/unpack/{collection}"


def unpacked_before(supply: Supply | None, paths: Iterable[Path]) -> tuple[str, ...]:
    """The jobs that bring some of these files."""
    if supply is None:
        return ()
    under = [str(path.relative_to(supply.xtreme)) for path in paths]
    return tuple(dict.fromkeys(unpack_name(collection_of(path)) for path in under if path in supply.fetched))


def _check_jobs(settings: Settings, grid: Grid) -> Iterator[Job]:
    for training, paths in grid.files.items():
        made = (f"finetuning/checks/{training}.tsv",)
        features = {"checked_mb": _read_mb(grid, settings, training)}
        yield Job("check_xtreme", _check_name(training), features, unpacked_before(grid.supply, paths), made)


def _read_mb(grid: Grid, settings: Settings, training: str) -> float:
    """Megabytes of all files of a training."""
    learnt = DataSet(TASKS[TRAININGS[training][0]], "train", ENGLISH)
    return sum(_size_mb(grid, settings, found) for found in (learnt, *predicted_sets(training)))


def _ceiling_jobs(settings: Settings, grid: Grid, models: list[_Tuned]) -> Iterator[Job]:
    trainings = [training for training in grid.files if TASKS[TRAININGS[training][0]].kind == "spans"]
    read_mb = sum(_read_mb(grid, settings, training) for training in trainings)
    checks = tuple(_check_name(training) for training in trainings)
    for origin, model in {model.origin: model for model in models}.items() if trainings else ():
        made = (f"finetuning/ceilings/{origin}.tsv",)
        features = {"encoded_mb": WINDOWED * read_mb}
        yield Job("ceiling", f"finetuning/ceiling/{origin}", features, (*model.tokenizer_jobs, *checks), made)


def _encode_job(settings: Settings, grid: Grid, model: _Tuned, training: str, inputs: str) -> Job:
    read_mb = _read_mb(grid, settings, training)
    windowed = WINDOWED if TASKS[TRAININGS[training][0]].kind == "spans" else 1.0
    return Job(
        "encode",
        f"finetuning/encode/{inputs}",
        {"encoded_mb": windowed * read_mb},
        (*model.tokenizer_jobs, _check_name(training)),
        (f"finetuning/inputs/{inputs}",),
    )


def _run_job(
    settings: Settings, grid: Grid, model: _Tuned, training: str, setting: Setting, encoded: Job, gpu: bool
) -> Job:
    own = settings.finetuning
    recipe = getattr(own.recipes, training)
    learnt = DataSet(TASKS[TRAININGS[training][0]], "train", ENGLISH)
    examples = _size_mb(grid, settings, learnt) * MB / BYTES_PER_ROW[training]
    share = min(1.0, (recipe.train_examples or examples) / max(examples, 1.0))
    steps = max(1.0, setting.epochs * share * examples / recipe.batch)
    looks = setting.epochs + (steps // recipe.evaluate_every if recipe.evaluate_every else 0)
    present = [found for found in predicted_sets(training) if _size_mb(grid, settings, found)]
    choosing = choosing_sets(training, own.selection, [found.name for found in present])
    look_tokens = sum(_tokens(grid, settings, found) for found in choosing)
    final_tokens = sum(_tokens(grid, settings, found) for found in present)
    operation = encoder_operations(model.shape, input_length(recipe, model.longest)) / PFLOP
    prefix = "gpu_" if gpu else ""
    return Job(
        "finetune",
        f"finetuning/{model.name}/{training}/{setting.name}",
        {
            f"{prefix}tuned_pflop": setting.epochs * share * _tokens(grid, settings, learnt) * operation,
            f"{prefix}predicted_pflop": (looks * look_tokens + final_tokens) * operation / 3,
            f"{prefix}updated_gparameters": steps * model.parameters / 1e9,
            f"{prefix}kpasses": steps / 1000,
            "gpu": float(gpu),
            "mparameters": model.parameters / 1e6,
        },
        (*model.made, encoded.name),
        (f"finetuning/{run_folder(model.name, training, setting)}",),
        threads=1 if gpu else own.threads,
    )


def _tokens(grid: Grid, settings: Settings, found: DataSet) -> float:
    windowed = WINDOWED if found.task.kind == "spans" else 1.0
    return windowed * _size_mb(grid, settings, found) * MB / BYTES_PER_TOKEN


def _size_mb(grid: Grid, settings: Settings, found: DataSet) -> float:
    """Megabytes of a file, unpacked; by its known rows where it is planned; 0 where there will be none."""
    path = locate(grid.xtreme, found.task, found.split, found.language, parse(settings.finetuning.stand_ins))
    if path:
        return unpacked(path) / MB
    rows = found.task.rows[found.split][found.language] if found in grid.planned else 0
    return rows * BYTES_PER_ROW[found.task.training] / MB


def unpacked(path: Path) -> float:
    """Bytes of a file, unpacked as far as its name says."""
    return path.stat().st_size * (UNPACKED if path.suffix == ".xz" else 1.0)
