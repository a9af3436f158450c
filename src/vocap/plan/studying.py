"""The jobs of the correlation study, priced as those of pre-training and fine-tuning that do the same."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from vocap.config import Settings
from vocap.correlation.files import own_files
from vocap.correlation.planning import Study
from vocap.finetuning.grid import Setting, input_length, settings_of
from vocap.finetuning.tasks import SPLITS, TASKS
from vocap.plan.jobs import Job
from vocap.plan.texts import MB, Text
from vocap.plan.training import PFLOP, encoder_operations, training_features
from vocap.plan.tuning import BYTES_PER_ROW, BYTES_PER_TOKEN, SCORED, unpacked, unpacked_before
from vocap.pretraining.memory import count_parameters

TRAIN_ROWS = 20_000  # of a training file in another language than English, if it is not there: PAN-X of many


def correlation_jobs(
    settings: Settings,
    texts: Mapping[str, Text],
    pretraining_texts: Mapping[str, Text],
    gpu: bool,
    holes: Mapping[str, Sequence[int]],
    study: Study,
) -> Iterator[Job]:
    """A tokenizer, its text and a model for each vocabulary; inputs, runs and a choice for each task; the points.

    The texts and `gpu` are as of `pretraining_jobs`; `holes`: sizes that a language's text is known not to reach.
    """
    scored: list[str] = []
    known = "correlation/sizes"
    if study.languages:
        curves = tuple(f"vocabularies/{lang}/curve" for lang in study.languages)
        made = ("correlation/sizes.tsv",)
        yield Job("studied_sizes", known, {}, curves, made, local=True, like="average")
    for lang in study.languages:
        files = f"correlation/{lang}/own-files"
        if lang in study.tasks:
            made = (f"correlation/{lang}/xtreme",)
            before = unpacked_before(study.supply, map(Path, study.files.get(lang, ())))
            yield Job("own_files", files, {}, before, made, local=True, like="average")
        read_mb = pretraining_texts[lang].read_mb + texts[lang].heldout_mb
        for size in settings.correlation.sizes:
            if size in holes.get(lang, ()):
                continue
            jobs = list(_model_jobs(settings, study, lang, size, read_mb, files, gpu))
            scored += [job.name for job in jobs if job.rule == "studied_score"]
            yield from jobs
    if study.tasks:
        outputs = ("correlation/points.tsv", "correlation/correlations.tsv")
        name = "correlation/correlate"
        yield Job("correlate", name, {}, (*scored, known), outputs, local=True, like="average")


def _model_jobs(
    settings: Settings, study: Study, lang: str, size: int, read_mb: float, files: str, gpu: bool
) -> Iterator[Job]:
    own, folder, rows = settings.correlation, f"correlation/{lang}/{size}", size + 2
    total_k = {"total_k": rows / 1000}
    before = (f"vocabularies/{lang}/curve", "correlation/sizes")  # no model is begun before all holes are known
    tokenizer, text, model = (f"{folder}/{name}" for name in ("tokenizer", "tokenize", "pretrain"))
    made = (f"{folder}/tokenizer",)
    yield Job("studied_tokenizer", tokenizer, total_k, before, made, local=True, like="adopt")
    before = (tokenizer, f"corpora/sample-{lang}", *_download(settings, lang))
    made = (f"{folder}/tokens/{lang}",)
    yield Job("studied_text", text, {"read_mb": read_mb, **total_k}, before, made, like="tokenize")
    threads = 1 if gpu else settings.pretraining.threads
    features = training_features(own.model, rows, settings.pretraining.block, 1, gpu)
    made = (f"{folder}/pretrained",)
    yield Job("studied_model", model, features, (tokenizer, text), made, threads, like="pretrain")
    for task in study.tasks.get(lang, ()):
        recipe = getattr(settings.finetuning.recipes, task)
        sizes = _file_sizes(settings, task, lang)
        name = f"{task}-{input_length(recipe, own.model.shape.positions)}"
        inputs = f"{folder}/encode-{name}"
        features = {"encoded_mb": sum(sizes.values()) / MB}
        made = (f"{folder}/inputs/{name}",)
        yield Job("studied_inputs", inputs, features, (files, tokenizer), made, like="encode")
        runs = []
        for run in settings_of(recipe, own.seeds):
            runs.append(f"{folder}/{task}/{run.name}")
            features = _run_features(settings, task, run, rows, sizes, gpu)
            made = (f"{folder}/{task}/runs/{run.name}",)
            threads = 1 if gpu else settings.finetuning.threads
            yield Job("studied_run", runs[-1], features, (model, inputs), made, threads, like="finetune")
        features = {"scored_mb": (sizes["dev"] + sizes["test"]) * len(runs) / MB}
        made = tuple(f"{folder}/{task}/{table}" for table in SCORED)
        yield Job("studied_score", f"{folder}/score-{task}", features, tuple(runs), made, like="score")


def _file_sizes(settings: Settings, task: str, lang: str) -> dict[str, float]:
    """Bytes of a language's files by split; of those that are planned by their known rows, TRAIN_ROWS a guess."""
    found = own_files(Path(settings.finetuning.xtreme), task, lang)
    rows = {split: TASKS[task].rows[split].get(lang, TRAIN_ROWS) for split in SPLITS}
    return {
        split: unpacked(found[split]) if split in found else rows[split] * BYTES_PER_ROW[task] for split in SPLITS
    }


def _run_features(
    settings: Settings, task: str, run: Setting, rows: int, sizes: Mapping[str, float], gpu: bool
) -> dict[str, float]:
    """`sizes`: bytes of the files by split."""
    recipe, shape = getattr(settings.finetuning.recipes, task), settings.correlation.model.shape
    parameters = count_parameters(shape, rows)
    examples = sizes["train"] / BYTES_PER_ROW[task]
    share = min(1.0, (recipe.train_examples or examples) / max(examples, 1.0))
    steps = max(1.0, run.epochs * share * examples / recipe.batch)
    looks = run.epochs + (steps // recipe.evaluate_every if recipe.evaluate_every else 0)
    tokens = {split: size / BYTES_PER_TOKEN for split, size in sizes.items()}
    predicted = (looks + 1) * tokens["dev"] + tokens["test"]
    operation = encoder_operations(shape, input_length(recipe, shape.positions)) / PFLOP
    prefix = "gpu_" if gpu else ""
    return {
        f"{prefix}tuned_pflop": run.epochs * share * tokens["train"] * operation,
        f"{prefix}predicted_pflop": predicted * operation / 3,
        f"{prefix}updated_gparameters": steps * parameters / 1e9,
        f"{prefix}kpasses": steps / 1000,
        "gpu": float(gpu),
        "mparameters": parameters / 1e6,
    }


def _download(settings: Settings, lang: str) -> tuple[str, ...]:
    """The job that brings the pre-training text, where it has a source of its own."""
    source = settings.pretraining_sources().get(lang)
    if source is None:
        return ()
    if source.starter:
        return ("corpora/starter-merge",)
    return (f"pretraining/download-{source.name}-{lang}",) if source.url else ()
