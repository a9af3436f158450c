"""The features of pre-training's and fine-tuning's jobs: floating-point operations, sizes of XTREME's files."""

from pathlib import Path

from vocap.finetuning.grid import input_length, settings_of
from vocap.finetuning.published import ARCHIVES
from vocap.finetuning.reading import DataSet, choosing_sets, parse, predicted_sets
from vocap.finetuning.tasks import ENGLISH, SPLITS, TASKS, first_task
from vocap.plan.features import Inputs, features
from vocap.plan.jobs import Job
from vocap.plan.texts import MB
from vocap.pretraining.data import SHARE
from vocap.pretraining.settings import Recipe, Shape, count_parameters, estimate_memory
from vocap.workflow import studied_model, tuned_model

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
    half = model.precision in ("bf16", "fp16") or (gpu and model.precision == "auto")  # both take the same memory
    held = estimate_memory(model, vocabulary, block, half)
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
    return {"checked_mb": sum(sizes_of(inputs, job.wildcards["training"]).values()) / MB}


def _studied(job: Job) -> str | None:
    """The language of a model, or of inputs, of the correlation study; None for others."""
    stage, language, *_ = job.wildcards.get("tuned", job.wildcards.get("inputs", "")).split("/")
    return language if stage == "correlation" else None


@features("encode")
def _encode(job: Job, inputs: Inputs) -> dict[str, float]:
    training = job.wildcards["training"]
    sizes = sizes_of(inputs, training, _studied(job))
    return {"encoded_mb": _windows(training) * sum(sizes.values()) / MB}


@features("score")
def _score(job: Job, inputs: Inputs) -> dict[str, float]:
    settings, task = inputs.settings, TASKS[job.wildcards["task"]]
    seeds = settings.correlation.seeds if _studied(job) else settings.finetuning.seeds
    runs = settings_of(settings.finetuning.recipes[task.training], seeds)
    sizes = sizes_of(inputs, task.training, _studied(job))
    predicted = [size for found, size in sizes.items() if found.task.name == task.name and found.split != "train"]
    return {"scored_mb": sum(predicted) * len(runs) / MB}


@features("finetune")
def _finetune(job: Job, inputs: Inputs) -> dict[str, float]:
    own, training, epochs = inputs.settings.finetuning, job.wildcards["training"], int(job.wildcards["epochs"])
    recipe = own.recipes[training]
    _, name, *size = job.wildcards["tuned"].split("/")
    model = studied_model(inputs.settings, name, int(*size)) if size else tuned_model(inputs.settings, name)
    # tokens of its training file, of each evaluation, and of the predictions at its end
    sizes = sizes_of(inputs, training, _studied(job))
    learnt = sum(size for found, size in sizes.items() if found.split == "train")
    names = [found.name for found, size in sizes.items() if found.split != "train" and size]
    choosing = {found.name for found in choosing_sets(training, own.selection, names)}
    if _studied(job):
        choosing = {found.name for found in sizes if found.split == "dev"}
    looked = sum(size for found, size in sizes.items() if found.name in choosing)
    tokens = _windows(training) / BYTES_PER_TOKEN
    # steps and work
    examples = learnt / first_task(training).bytes_per_row
    share = min(1.0, (recipe.train_examples or examples) / max(examples, 1.0))
    steps = max(1.0, epochs * share * examples / recipe.batch)
    looks = epochs + (steps // recipe.evaluate_every if recipe.evaluate_every else 0)
    operation = tokens * encoder_operations(model.shape, input_length(recipe, model.longest)) / PFLOP
    prefix = "gpu_" if inputs.gpu else ""
    return {
        f"{prefix}tuned_pflop": epochs * share * learnt * operation,
        f"{prefix}predicted_pflop": (looks * looked + sum(sizes.values()) - learnt) * operation / 3,
        f"{prefix}updated_gparameters": steps * model.parameters / 1e9,
        f"{prefix}kpasses": steps / 1000,
        "gpu": float(inputs.gpu),
        "mparameters": model.parameters / 1e6,
    }


def _windows(training: str) -> float:
    return WINDOWED if first_task(training).kind == "spans" else 1.0


def sizes_of(inputs: Inputs, training: str, language: str | None = None) -> dict[DataSet, float]:
    """Bytes, unpacked, of the files of a training; of one `language` in the correlation study.

    Files that are planned have their known rows; those that will not be there have 0.
    """
    if (training, language) in inputs.sizes:
        return inputs.sizes[training, language]
    # the files that are there
    task, tuning = first_task(training), inputs.settings.finetuning
    if language:
        sets, stand_ins = [DataSet(task, split, language) for split in SPLITS], {}
    else:
        sets, stand_ins = [DataSet(task, "train", ENGLISH), *predicted_sets(training)], parse(tuning.stand_ins)
    paths = {one: one.file(Path(tuning.xtreme), stand_ins) for one in sets}
    # their sizes
    sizes = inputs.sizes[training, language] = {}
    for one, path in paths.items():
        planned = language or one in inputs.grid.planned
        rows = one.task.rows[one.split].get(one.language, TRAIN_ROWS) if planned and not path else 0
        unpacked = UNPACKED if path and path.suffix == ".xz" else 1.0
        sizes[one] = path.stat().st_size * unpacked if path else rows * one.task.bytes_per_row
    return sizes
