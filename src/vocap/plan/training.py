"""The jobs of pre-training, and the floating-point operations that decide their time."""

from collections.abc import Iterator, Mapping

from vocap.config import Settings
from vocap.plan.jobs import XLMR_ROWS, Job, fetch_job, is_absent
from vocap.plan.texts import MB, Text
from vocap.pretraining.loss_settings import Full, Knn, Target
from vocap.pretraining.masking import SHARE
from vocap.pretraining.memory import count_parameters, estimate_memory
from vocap.pretraining.settings import Model, Recipe
from vocap.pretraining.shapes import Shape
from vocap.tokenizers.settings import File

PFLOP = 1e15


def pretraining_jobs(
    settings: Settings,
    texts: Mapping[str, Text],
    pretraining_texts: Mapping[str, Text],
    gpu: bool,
    assume: bool = True,
) -> Iterator[Job]:
    """Downloads, adopted tokenizers, blocks of ids, and one job a model.

    `pretraining_texts`: the text of each language that models read; `gpu`: models are trained on one GPU.
    """
    models = made_models(settings, assume)
    if not models:
        return
    sources = settings.pretraining_sources()
    text_jobs: dict[str, tuple[str, ...]] = {}
    for lang in texts:
        source = sources.get(lang)
        text_jobs[lang] = ("corpora/starter-merge",) if source and source.starter else ()
        if source and source.url:
            name = f"pretraining/download-{source.name}-{lang}"
            path = f"pretraining/downloads/{source.name}/{lang}"
            text_jobs[lang] = (name,)
            features = {"stored_mb": pretraining_texts[lang].stored_mb}
            yield Job("download_pretraining", name, features, outputs=(path, f"{path}.json"), local=True)
    for tokenizer in sorted({model.tokenizer for model in models.values()}):
        yield from _tokenizer_jobs(settings, tokenizer, texts, pretraining_texts, text_jobs)
    for name, model in models.items():
        yield _model_job(settings, name, model, list(texts), gpu)


def made_models(settings: Settings, assume: bool = True) -> dict[str, Model]:
    """The models of which the tokenizer is there, or will be; `assume`: its user brings it."""

    def absent(name: str) -> bool:
        entry = settings.tokenizers[name]
        return isinstance(entry, File) and is_absent(entry, assume)

    return {name: model for name, model in settings.pretraining.models.items() if not absent(model.tokenizer)}


def _tokenizer_jobs(
    settings: Settings,
    tokenizer: str,
    texts: Mapping[str, Text],
    pretraining_texts: Mapping[str, Text],
    text_jobs: Mapping[str, tuple[str, ...]],
) -> Iterator[Job]:
    """One tokenizer's blocks of every language; a tokenizer from elsewhere is laid out first."""
    made = made_jobs(settings, tokenizer)
    entry = settings.tokenizers[tokenizer]
    if isinstance(entry, File):
        features = {"total_k": rows(settings, tokenizer) / 1000}
        before = (fetch_job(settings, entry.download).name,) if entry.download else ()
        yield Job("adopt", made[0], features, before, (f"pretraining/tokenizers/{tokenizer}",), local=True)
    for lang, text in texts.items():
        read_mb = pretraining_texts[lang].read_mb
        yield Job(
            "tokenize",
            f"pretraining/tokenize-{tokenizer}-{lang}",
            {"read_mb": read_mb + text.heldout_mb, "total_k": rows(settings, tokenizer) / 1000},
            (*made[:1], f"corpora/sample-{lang}", *text_jobs[lang]),
            (f"pretraining/tokens/{tokenizer}/{lang}",),
        )


def made_jobs(settings: Settings, tokenizer: str) -> tuple[str, ...]:
    """The jobs that write the tokenizer: the model first, then its export."""
    entry = settings.tokenizers[tokenizer]
    if isinstance(entry, File):
        return (f"pretraining/adopt-{tokenizer}",)
    rule = "fit" if entry.kind == "vocap" else entry.kind
    if entry.kind == "joint" and settings.vocabularies.engine == "ladder":
        rule = "pick_joint"
    return f"tokenizers/{tokenizer}/{rule}", f"tokenizers/{tokenizer}/export"


def rows(settings: Settings, tokenizer: str) -> int:
    """T of a tokenizer: rows of the embedding table."""
    entry = settings.tokenizers[tokenizer]
    if entry.kind == "vocap":
        return settings.allocation[entry.allocation].total
    return getattr(entry, "total", XLMR_ROWS) if entry.kind != "mono" else entry.size + 2


def _model_job(settings: Settings, name: str, model: Model, languages: list[str], gpu: bool) -> Job:
    blocks = tuple(f"pretraining/tokenize-{model.tokenizer}-{lang}" for lang in languages)
    return Job(
        "pretrain",
        f"pretraining/{name}",
        training_features(model, rows(settings, model.tokenizer), settings.pretraining.block, len(languages), gpu),
        (*made_jobs(settings, model.tokenizer), *blocks, "corpora/weigh"),
        (f"pretraining/{name}",),
        threads=1 if gpu else settings.pretraining.threads,
    )


def training_features(model: Recipe, vocabulary: int, block: int, languages: int, gpu: bool) -> dict[str, float]:
    """What decides the cost of one pre-training."""
    work = operations(model, vocabulary, block, languages)
    prefix = "gpu_" if gpu else ""
    parameters = count_parameters(model.shape, vocabulary)
    masked = round(SHARE * model.micro_batch * block)
    batch = {"sequences": model.micro_batch, "length": block, "masked": masked}
    held = estimate_memory(model.shape, vocabulary, model.loss, **batch, half=_in_16_bits(model, gpu))
    return {
        **{f"{prefix}{part}": value for part, value in work.items()},
        "gpu": float(gpu),
        # On a GPU the host holds the weights once more, for checkpoints.
        "held_mb": (held["weights"] if gpu else sum(held.values())) / MB,
        "gpu_memory_mb": sum(held.values()) / MB if gpu else 0.0,
        "exported_mparameters": parameters * (1 + len(model.export_steps)) / 1e6,
        "mparameters": parameters / 1e6,
    }


def _in_16_bits(model: Recipe, gpu: bool) -> bool:
    """Whether products run in bf16 or fp16, which take the same memory: auto does on a GPU."""
    return model.precision in ("bf16", "fp16") or (gpu and model.precision == "auto")


def operations(model: Recipe, vocabulary: int, block: int, languages: int) -> dict[str, float]:
    """Work of a whole training: 10^15 floating-point operations by part, 10^9 parameters updated, 10^3 passes.

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
    parts = {
        "encoder_pflop": tokens * encoder / PFLOP,
        "head_pflop": tokens * head / PFLOP,
        "validation_pflop": checked * (encoder / 3 + 2 * SHARE * shape.width * vocabulary) / PFLOP,
        "index_pflop": 0.0,
        "kpasses": model.steps * -(-model.batch // model.micro_batch) / 1000,
        "updated_gparameters": model.steps * count_parameters(shape, vocabulary) / 1e9,
    }
    if isinstance(model.loss, Knn):
        sampled_steps = model.steps - round(model.loss.finish * model.steps)
        refreshes = -(-sampled_steps // model.loss.every)
        parts["index_pflop"] = refreshes * 2 * vocabulary**2 * shape.width / PFLOP
    return parts


def encoder_operations(shape: Shape, block: int) -> float:
    """Of one token, forward and backward, without embeddings and head.

    >>> round(encoder_operations(Shape(), 512) / 1e6)  # XLM-R base: 510 for its weights, 57 for attention
    567
    """
    layer = 4 * shape.hidden**2 + 2 * shape.hidden * shape.intermediate
    return 6 * shape.layers * layer + 12 * shape.layers * block * shape.hidden


def candidates(model: Recipe, vocabulary: int, block: int) -> float:
    """Words that take part in the loss of a micro-batch, the mean over the steps; those of a finish take them all.

    |V'| of k-NN: about 2 D k^0.75 for D distinct targets, as the paper's table over k reads (10K at k = 5, 88K at
    100, if 1,543 of 2,458 are distinct); D is taken as 0.63 of the targets.
    """
    loss, targets = model.loss, SHARE * model.micro_batch * block
    if isinstance(loss, Full):
        return vocabulary
    if isinstance(loss, Knn):
        taken = 2 * 0.63 * targets * loss.k**0.75 + loss.uniform
    elif isinstance(loss, Target):
        taken = max(loss.tau, targets)
    else:
        taken = loss.negatives + targets
    return loss.finish * vocabulary + (1 - loss.finish) * min(float(vocabulary), taken)
