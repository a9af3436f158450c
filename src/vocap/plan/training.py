"""The features of pre-training's and fine-tuning's jobs: floating-point operations, sizes of XTREME's files."""

from collections.abc import Collection, Mapping
from pathlib import Path

from vocap.correlation.planning import own_files
from vocap.finetuning import settings as finetuning_settings
from vocap.finetuning.grid import input_length, settings_of
from vocap.finetuning.published import ARCHIVES
from vocap.finetuning.reading import locate, parse
from vocap.finetuning.selection import DataSet, choosing_sets, predicted_sets
from vocap.finetuning.tasks import ENGLISH, SPLITS, TASKS, first_task
from vocap.plan.features import Inputs, features
from vocap.plan.jobs import Job
from vocap.plan.texts import MB
from vocap.pretraining.batches import SHARE
from vocap.pretraining.memory import count_parameters, estimate_memory
from vocap.pretraining.settings import Recipe, Shape
from vocap.tuned_models import tuned_model

PFLOP = 1e15
UNPACKED = 4.0  # bytes of a file whose name ends in .xz, for each byte stored (measured on XTREME's files)
BYTES_PER_TOKEN = 4.0
WINDOWED = 2.0  # of question answering: a context is read with each of its questions, and in several windows
TRAIN_ROWS = 20_000  # of a training file in another language than English, if it is not there: PAN-X of many


@features("download_pretraining")
def _download(job: Job, inputs: Inputs) -> dict[str, float]:
    return {"stored_mb": inputs.read[job.wildcards["lang"]].stored_mb}


def _rows(job: Job, inputs: Inputs) -> int:
    """Rows of the tokenizer of a job: a configured one, or one of the correlation study."""
    return (
        int(job.wildcards["size"]) + 2
        if "size" in job.wildcards
        else inputs.settings.rows(job.wildcards["tokenizer"])
    )


@features("adopt", "studied_tokenizer", like="adopt")
def _adopt(job: Job, inputs: Inputs) -> dict[str, float]:
    return {"total_k": _rows(job, inputs) / 1000}


@features("tokenize", "studied_text", like="tokenize")
def _tokenize(job: Job, inputs: Inputs) -> dict[str, float]:
    lang = job.wildcards["lang"]
    return {**_adopt(job, inputs), "read_mb": inputs.read[lang].read_mb + inputs.texts[lang].heldout_mb}


@features("pretrain")
def _pretrain(job: Job, inputs: Inputs) -> dict[str, float]:
    own = inputs.settings.pretraining
    model = own.models[job.wildcards["name"]]
    vocabulary = inputs.settings.rows(model.tokenizer)
    return training_features(model, vocabulary, own.block, len(inputs.texts), inputs.gpu)


@features("studied_model", like="pretrain")
def _studied_model(job: Job, inputs: Inputs) -> dict[str, float]:
    settings = inputs.settings
    model, block = settings.correlation.model, settings.pretraining.block
    return training_features(model, _rows(job, inputs), block, 1, inputs.gpu)


def training_features(model: Recipe, vocabulary: int, block: int, languages: int, gpu: bool) -> dict[str, float]:
    """The features of one pre-training."""
    work = operations(model, vocabulary, block, languages)
    prefix = "gpu_" if gpu else ""
    parameters = count_parameters(model.shape, vocabulary)
    masked = round(SHARE * model.micro_batch * block)
    batch = {"sequences": model.micro_batch, "length": block, "masked": masked}
    half = model.precision in ("bf16", "fp16") or (gpu and model.precision == "auto")  # both take the same memory
    held = estimate_memory(model.shape, vocabulary, model.loss, **batch, half=half)
    return {
        **{f"{prefix}{part}": value for part, value in work.items()},
        "gpu": float(gpu),
        # on a GPU the host holds the weights once more, for checkpoints.
        "held_mb": (held["weights"] if gpu else sum(held.values())) / MB,
        "gpu_memory_mb": sum(held.values()) / MB if gpu else 0.0,
        "exported_mparameters": parameters * (1 + len(model.export_steps)) / 1e6,
        "mparameters": parameters / 1e6,
    }


def operations(model: Recipe, vocabulary: int, block: int, languages: int) -> dict[str, float]:
    """Work of a training: 10^15 floating-point operations by part, 10^9 parameters updated, 10^3 passes.

    Forward and backward take 6 for each weight and token, and 12 x layers x length x width for attention
    (Kaplan et al. 2020, 2.1); the head takes 6 for each masked token and word that takes part; an index of
    neighbours 2 V^2 d. Validation is forward only: a third, with the whole vocabulary.
    """
    shape = model.shape
    tokens = model.steps * model.batch * block
    encoder = encoder_operations(shape, block)
    head = 6 * SHARE * shape.width * candidates(model, vocabulary, block)
    logs = -(-model.steps // model.log_every)  # the last step is logged too
    checked = logs * languages * model.heldout_blocks * block
    return {
        "encoder_pflop": tokens * encoder / PFLOP,
        "head_pflop": tokens * head / PFLOP,
        "validation_pflop": checked * (encoder / 3 + 2 * SHARE * shape.width * vocabulary) / PFLOP,
        "index_pflop": model.loss.index_operations(vocabulary, shape.width, model.steps) / PFLOP,
        "kpasses": model.steps * -(-model.batch // model.micro_batch) / 1000,
        "updated_gparameters": model.steps * count_parameters(shape, vocabulary) / 1e9,
    }


def encoder_operations(shape: Shape, block: int) -> float:
    """Operations of one token, forward and backward, without embeddings and head.

    >>> round(encoder_operations(Shape(), 512) / 1e6)  # XLM-R base: 510 for its weights, 57 for attention
    567
    """
    layer = 4 * shape.hidden**2 + 2 * shape.hidden * shape.intermediate
    return 6 * shape.layers * layer + 12 * shape.layers * block * shape.hidden


def candidates(model: Recipe, vocabulary: int, block: int) -> float:
    """Words that take part in the loss of a micro-batch: the mean over all steps."""
    loss, targets = model.loss, SHARE * model.micro_batch * block
    share = loss.full_softmax_fraction
    return share * vocabulary + (1 - share) * loss.mean_candidates(vocabulary, targets)


@features(
    *("average", "studied_sizes", "own_files", "correlate"),
    *(f"unpack_{collection}" for collection in ARCHIVES),
    like="average",
)
def _light(job: Job, inputs: Inputs) -> dict[str, float]:
    return {}


@features("check_xtreme")
def _check(job: Job, inputs: Inputs) -> dict[str, float]:
    return {"checked_mb": _read_mb(inputs, job.wildcards["training"])}


@features("ceiling")
def _ceiling(job: Job, inputs: Inputs) -> dict[str, float]:
    trainings = [training for training in inputs.grid.files if _windows(training) > 1]
    return {"encoded_mb": WINDOWED * sum(_read_mb(inputs, training) for training in trainings)}


@features("encode")
def _encode(job: Job, inputs: Inputs) -> dict[str, float]:
    training = job.wildcards["training"]
    return {"encoded_mb": _windows(training) * _read_mb(inputs, training)}


@features("finetune")
def _finetune(job: Job, inputs: Inputs) -> dict[str, float]:
    own, training = inputs.settings.finetuning, job.wildcards["training"]
    model = tuned_model(inputs.settings, job.wildcards["model"])
    present = [found for found in predicted_sets(training) if _size_mb(inputs, found)]
    choosing = choosing_sets(training, own.selection, [found.name for found in present])
    return _run_features(
        getattr(own.recipes, training),
        int(job.wildcards["epochs"]),
        model.shape,
        model.parameters,
        model.longest,
        examples=_size_mb(inputs, _learnt(training)) * MB / first_task(training).bytes_per_row,
        learnt_tokens=_tokens(inputs, [_learnt(training)]),
        look_tokens=_tokens(inputs, choosing),
        final_tokens=_tokens(inputs, present),
        gpu=inputs.gpu,
    )


@features("score")
def _score(job: Job, inputs: Inputs) -> dict[str, float]:
    own, task = inputs.settings.finetuning, TASKS[job.wildcards["task"]]
    runs = settings_of(getattr(own.recipes, task.training), own.seeds)
    predicted = [found for found in predicted_sets(task.training) if found.task.name == task.name]
    return {"scored_mb": sum(_size_mb(inputs, found) for found in predicted) * len(runs)}


@features("studied_inputs", like="encode")
def _studied_inputs(job: Job, inputs: Inputs) -> dict[str, float]:
    return {"encoded_mb": sum(_own_sizes(job, inputs, job.wildcards["training"]).values()) / MB}


@features("studied_run", like="finetune")
def _studied_run(job: Job, inputs: Inputs) -> dict[str, float]:
    task, shape = job.wildcards["training"], inputs.settings.correlation.model.shape
    sizes = _own_sizes(job, inputs, task)
    tokens = {split: size / BYTES_PER_TOKEN for split, size in sizes.items()}
    return _run_features(
        getattr(inputs.settings.finetuning.recipes, task),
        int(job.wildcards["epochs"]),
        shape,
        count_parameters(shape, int(job.wildcards["size"]) + 2),
        shape.positions,
        examples=sizes["train"] / TASKS[task].bytes_per_row,
        learnt_tokens=tokens["train"],
        look_tokens=tokens["dev"],
        final_tokens=tokens["dev"] + tokens["test"],
        gpu=inputs.gpu,
    )


@features("studied_score", like="score")
def _studied_score(job: Job, inputs: Inputs) -> dict[str, float]:
    task, settings = job.wildcards["task"], inputs.settings
    sizes = _own_sizes(job, inputs, task)
    runs = settings_of(getattr(settings.finetuning.recipes, task), settings.correlation.seeds)
    return {"scored_mb": (sizes["dev"] + sizes["test"]) * len(runs) / MB}


def _run_features(
    recipe: finetuning_settings.Recipe,
    epochs: int,
    shape: Shape,
    parameters: float,
    longest: int | None,
    examples: float,
    learnt_tokens: float,
    look_tokens: float,
    final_tokens: float,
    gpu: bool,
) -> dict[str, float]:
    """Features of one run; tokens: of its training file, of each evaluation, of the predictions at its end."""
    share = min(1.0, (recipe.train_examples or examples) / max(examples, 1.0))
    steps = max(1.0, epochs * share * examples / recipe.batch)
    looks = epochs + (steps // recipe.evaluate_every if recipe.evaluate_every else 0)
    operation = encoder_operations(shape, input_length(recipe, longest)) / PFLOP
    prefix = "gpu_" if gpu else ""
    return {
        f"{prefix}tuned_pflop": epochs * share * learnt_tokens * operation,
        f"{prefix}predicted_pflop": (looks * look_tokens + final_tokens) * operation / 3,
        f"{prefix}updated_gparameters": steps * parameters / 1e9,
        f"{prefix}kpasses": steps / 1000,
        "gpu": float(gpu),
        "mparameters": parameters / 1e6,
    }


def _windows(training: str) -> float:
    return WINDOWED if first_task(training).kind == "spans" else 1.0


def _learnt(training: str) -> DataSet:
    return DataSet(first_task(training), "train", ENGLISH)


def _read_mb(inputs: Inputs, training: str) -> float:
    """Megabytes of all files of a training."""
    return sum(_size_mb(inputs, found) for found in (_learnt(training), *predicted_sets(training)))


def _tokens(inputs: Inputs, sets: Collection[DataSet]) -> float:
    return sum(_windows(found.task.training) * _size_mb(inputs, found) * MB / BYTES_PER_TOKEN for found in sets)


def _size_mb(inputs: Inputs, found: DataSet) -> float:
    """Megabytes of a file, unpacked; by its known rows where it is planned; 0 where there will be none."""
    if found not in inputs.set_mb:
        stand_ins = parse(inputs.settings.finetuning.stand_ins)
        path = locate(inputs.grid.xtreme, found.task, found.split, found.language, stand_ins)
        rows = found.task.rows[found.split][found.language] if not path and found in inputs.grid.planned else 0
        size = _unpacked(path) if path else rows * found.task.bytes_per_row
        inputs.set_mb[found] = size / MB
    return inputs.set_mb[found]


def _own_sizes(job: Job, inputs: Inputs, task: str) -> Mapping[str, float]:
    """Bytes of a language's files by split; of those that are planned by their known rows, TRAIN_ROWS a guess."""
    lang = job.wildcards["lang"]
    found = own_files(Path(inputs.settings.finetuning.xtreme), task, lang)
    rows = {split: TASKS[task].rows[split].get(lang, TRAIN_ROWS) for split in SPLITS}
    return {
        split: _unpacked(found[split]) if split in found else rows[split] * TASKS[task].bytes_per_row
        for split in SPLITS
    }


def _unpacked(path: Path) -> float:
    """Bytes of a file, unpacked where its name ends in .xz."""
    return path.stat().st_size * (UNPACKED if path.suffix == ".xz" else 1.0)
