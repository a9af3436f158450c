"""The jobs of the workflow, from Snakemake's own dry run (`rules/internals.smk` writes
them), and their features.

Features decide the cost of a job: one function for each rule. A new rule needs a
function here, and coefficients in `costs.yaml`.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from vocap.config import Settings
from vocap.corpora.settings import resolve_all
from vocap.errors import UsageError, VocapError
from vocap.finetuning.published import ARCHIVES
from vocap.finetuning.settings import Grid, input_length, settings_of
from vocap.finetuning.tasks import (
    ENGLISH,
    SPLITS,
    TASKS,
    DataSet,
    choosing_sets,
    first_task,
    predicted_sets,
)
from vocap.forecast.texts import MB, LanguageText
from vocap.pretraining.settings import Recipe, count_parameters, encoder_operations, estimate_memory
from vocap.stages import STAGES
from vocap.tokenizers.parity import lines_of_each
from vocap.tokenizers.settings import BytePair, File, Joint
from vocap.workflow.tuned import studied_model, tuned_model

VARIABLE = "VOCAP_JOBS"  # names the file that the dry run writes, one line of JSON for each job
CORES = 1_000_000  # Snakemake limits a job's threads to the cores that it is given
SHOWN_LINES = 20  # of Snakemake's output, where the dry run fails
PFLOP = 1e15
UNPACKED = (
    4.0  # bytes of a file whose name ends in .xz, for each byte stored (measured on XTREME's files)
)
BYTES_PER_TOKEN = 4.0
CODED_LINES = 500  # of a file, whose code length is measured
# of question answering: a context is read with each of its questions, and in several
# windows
WINDOWED = 2.0
TRAIN_ROWS = (
    20_000  # of a training file in another language than English, if it is not there: PAN-X of many
)


@dataclass(frozen=True)
class PlannedJob:
    """One job: `name` is the path of its benchmark file under the folder of benchmarks,
    without `.tsv`.

    `with_features` adds the rest: `features` multiply the coefficients of `costs.yaml`
    of the rule `priced_as`.
    """

    rule: str
    name: str
    features: Mapping[str, float] = field(default_factory=dict)
    threads: int = 1
    priced_as: str = ""
    wildcards: Mapping[str, str] = field(default_factory=dict)

    @property
    def stage(self) -> str:
        return self.name.partition("/")[0]


def read_jobs(configfiles: Sequence[Path]) -> list[PlannedJob]:
    """Every job of the workflow in the current folder, done or not, in the order of
    stages and names.

    `configfiles`: those of `--configfile`; none for the default configuration. Raises
    VocapError where the dry run fails, and ModuleNotFoundError without Snakemake.
    """
    if find_spec("snakemake") is None:
        raise ModuleNotFoundError("No module named 'snakemake'", name="snakemake")
    # the graph of rules takes all jobs, as a dry run does, and prints none
    command = [sys.executable, "-m", "snakemake", "--rulegraph", "--forceall"]
    command += [
        "--cores",
        str(CORES),
        "--quiet",
        "all",
        "--profile",
        "none",
        "--workflow-profile",
        "none",
    ]
    if configfiles:
        command += ["--configfile", *map(str, configfiles)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "jobs.jsonl")
        run = subprocess.run(
            command,
            env={**os.environ, VARIABLE: str(path)},
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if run.returncode or not path.exists():
            shown = "\n".join(run.stdout.strip().splitlines()[-SHOWN_LINES:])
            raise VocapError(f"Snakemake's dry run failed; correct its cause:\n{shown}")
        records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    jobs = [
        PlannedJob(
            rule=record["rule"],
            name=record["name"],
            threads=record["threads"],
            wildcards=record["wildcards"],
        )
        for record in records
    ]
    return sorted(jobs, key=lambda job: (STAGES.index(job.stage), job.name))


@dataclass(frozen=True)
class FeatureInputs:
    """The data that features are computed from.

    `texts`: of the run's languages; `read`: those of pre-training; `reached`: the sizes
    that each language's text is expected to give; `gpu`: models are trained on a GPU.
    """

    settings: Settings
    texts: Mapping[str, LanguageText]
    read: Mapping[str, LanguageText]
    reached: Mapping[str, Sequence[int]]
    grid: Grid
    gpu: bool
    # of XTREME's files, computed at their first use
    sizes: dict[tuple[str, str | None], dict[DataSet, float]] = field(default_factory=dict)

    @cached_property
    def compared_klines(self) -> float:
        """Thousands of lines that parity compares."""
        return (
            sum(min(text.kept, lines_of_each(len(self.texts))) for text in self.texts.values())
            / 1000
        )

    @cached_property
    def heldout_mb(self) -> float:
        return sum(text.heldout_mb for text in self.texts.values())

    @cached_property
    def train_mb(self) -> float:
        return sum(text.train_mb for text in self.texts.values())

    @cached_property
    def mix_mb(self) -> float:
        """Megabytes of the multilingual text: all training lines, or a sample of lines
        of mean length.
        """
        sentences = self.settings.corpora.mix.sentences
        if sentences == "all" or not self.texts:
            return self.train_mb
        return (
            sentences * sum(text.line_bytes for text in self.texts.values()) / len(self.texts) / MB
        )


Function = Callable[[PlannedJob, FeatureInputs], dict[str, float]]
FEATURES: dict[str, Function] = {}  # by rule of Snakemake
PRICED_AS: dict[str, str] = {}  # rule: the rule whose coefficients it shares


def features(*rules: str, like: str = "") -> Callable[[Function], Function]:
    """Register the function of some rules; `like`: the rule whose coefficients they
    share, if not their own.
    """

    def register(function: Function) -> Function:
        FEATURES.update(dict.fromkeys(rules, function))
        PRICED_AS.update({rule: like or rule for rule in rules})
        return function

    return register


def with_features(job: PlannedJob, inputs: FeatureInputs) -> PlannedJob:
    """The job with its features. Raises UsageError for a rule that has no function."""
    if job.rule not in FEATURES:
        raise UsageError(
            f"vocap plan has no features of the rule {job.rule!r}; add them to vocap.forecast.jobs"
        )
    return replace(job, features=FEATURES[job.rule](job, inputs), priced_as=PRICED_AS[job.rule])


@features("fetch_starter", "extract_starter", "merge_starter")
def _packages(job: PlannedJob, inputs: FeatureInputs) -> dict[str, float]:
    one = job.wildcards.get("package")
    names = [one] if one else inputs.settings.corpora.starter.packages
    return {f"package {name}": 1.0 for name in names}


@features("list_files", "list_files_pretraining", like="list_files")
def _list_files(job: PlannedJob, inputs: FeatureInputs) -> dict[str, float]:
    return {}


@features("fetch_file")
def _fetch_file(job: PlannedJob, inputs: FeatureInputs) -> dict[str, float]:
    return {"stored_mb": (inputs.settings.downloads[job.wildcards["download"]].bytes or 0) / MB}


@features("sample", "ladder", "curve", "train")
def _language(job: PlannedJob, inputs: FeatureInputs) -> dict[str, float]:
    """One language's text, the sizes asked for, and the pieces of those that its text
    gives.
    """
    text, reached = inputs.texts[job.wildcards["lang"]], inputs.reached[job.wildcards["lang"]]
    size = int(job.wildcards.get("size", 0))
    return {
        "stored_mb": text.stored_mb,
        "read_mb": text.read_mb,
        "kept_mb": text.kept * text.line_bytes / MB,
        "kept_klines": text.kept / 1000,
        "train_mb": text.train_mb,
        "train_mchars": text.train_mchars,
        "reached_mchars": len(reached) * text.train_mchars,
        "points": len(inputs.settings.vocabularies.sizes),
        "pieces_k": sum(reached) / 1000,
        "size_k": size / 1000 if size in reached else 0.0,
    }


@features("compile", "weigh", "mix", "joint_descent", "bpe_training", "report")
def _all_languages(job: PlannedJob, inputs: FeatureInputs) -> dict[str, float]:
    """The text of all languages together, and the points of their curves."""
    settings, count = inputs.settings, len(inputs.texts)
    return {
        "languages": count,
        "train_mb": inputs.train_mb,
        "heldout_mb": inputs.heldout_mb,
        "mix_mb": inputs.mix_mb,
        "total_k": _trained_totals(job, settings) / 1000,
        "points": count * len(settings.vocabularies.sizes),
    }


def _trained_totals(job: PlannedJob, settings: Settings) -> int:
    """T of the tokenizers that one job trains: the sum of a descent, or the largest of
    byte-pair encoding.
    """
    alpha = job.wildcards.get("descent", "").partition("-")[0]
    kind = job.wildcards.get("training", "").rpartition("-")[0]
    entries = settings.tokenizers.values()
    joint = {
        entry.total for entry in entries if isinstance(entry, Joint) and str(entry.alpha) == alpha
    }
    return sum(joint) or max((entry.total for entry in entries if entry.kind == kind), default=0)


@features("trunk", "allocate", "allocate_pieces")
def _allocation(job: PlannedJob, inputs: FeatureInputs) -> dict[str, float]:
    """Pieces and text of the languages of an allocation."""
    entries = inputs.settings.allocation
    if "name" in job.wildcards:
        entry = entries[job.wildcards["name"]]
    else:
        entry = next(entry for entry in entries.values() if entry.trunk == job.wildcards["trunk"])
    taking = [lang for lang in inputs.texts if lang not in entry.without]
    train_mb = sum(inputs.texts[lang].train_mb for lang in taking)
    return {
        "pieces_k": sum(sum(inputs.reached[lang]) for lang in taking) / 1000,
        "train_mb": train_mb,
        "again_mb": train_mb if entry.token_fairness and job.rule != "trunk" else 0.0,
        "total_k": entry.total / 1000,
    }


@features("fit", "pick_joint", "pick_bpe", "mono", "export", "export_bpe", "evaluate")
def _tokenizer(job: PlannedJob, inputs: FeatureInputs) -> dict[str, float]:
    name = job.wildcards.get("name", "")
    entry = inputs.settings.tokenizers.get(name)
    if isinstance(entry, File) and entry.path is not None and Path(entry.path).exists():
        total = Path(entry.path).stat().st_size / 20  # bytes a piece
    else:
        total = inputs.settings.rows(name) if entry else 0
    return {
        "total_k": total / 1000,
        "mix_mb": inputs.mix_mb,
        "compared_klines": inputs.compared_klines,
        "heldout_mb": inputs.heldout_mb,
        "train_mb": inputs.train_mb,
        "merged_mb": inputs.train_mb if isinstance(entry, BytePair) else 0.0,
    }


def _rows(job: PlannedJob, inputs: FeatureInputs) -> int:
    """Rows of the tokenizer of a job: a configured one, or one of the correlation
    study.
    """
    return (
        int(job.wildcards["size"]) + 2
        if "size" in job.wildcards
        else inputs.settings.rows(job.wildcards["tokenizer"])
    )


@features("adopt", "studied_tokenizer", like="adopt")
def _adopt(job: PlannedJob, inputs: FeatureInputs) -> dict[str, float]:
    return {"total_k": _rows(job, inputs) / 1000}


@features("tokenize", "studied_text", like="tokenize")
def _tokenize(job: PlannedJob, inputs: FeatureInputs) -> dict[str, float]:
    lang = job.wildcards["lang"]
    return {
        **_adopt(job, inputs),
        "read_mb": inputs.read[lang].read_mb + inputs.texts[lang].heldout_mb,
    }


@features("sample_starter", "ladder_starter", "tokenize_starter")
def _together(job: PlannedJob, inputs: FeatureInputs) -> dict[str, float]:
    """Sums over the languages of the starter corpus, and their number."""
    one = _tokenize if job.rule == "tokenize_starter" else _language
    sources = resolve_all(inputs.settings.corpora, inputs.settings.selected())
    together = [lang for lang in inputs.texts if sources[lang].source.folder]
    sums = Counter({"languages": len(together)})
    for lang in together:
        sums.update(one(replace(job, wildcards={**job.wildcards, "lang": lang}), inputs))
    return dict(sums)


@features("pretrain")
def _pretrain(job: PlannedJob, inputs: FeatureInputs) -> dict[str, float]:
    own = inputs.settings.pretraining
    model = own.models[job.wildcards["name"]]
    vocabulary = inputs.settings.rows(model.tokenizer)
    return training_features(model, vocabulary, own.block, len(inputs.texts), inputs.gpu)


@features("studied_model", like="pretrain")
def _studied_model(job: PlannedJob, inputs: FeatureInputs) -> dict[str, float]:
    settings = inputs.settings
    model, block = settings.correlation.model, settings.pretraining.block
    return training_features(model, _rows(job, inputs), block, 1, inputs.gpu)


@features("code_length", like="pretrain")
def _code_length(job: PlannedJob, inputs: FeatureInputs) -> dict[str, float]:
    model = inputs.settings.pretraining.models[job.wildcards["name"]]
    vocabulary = inputs.settings.rows(model.tokenizer)
    # held-out and parallel ones
    lines = 2 * sum(min(text.heldout, CODED_LINES) for text in inputs.texts.values())
    size = sum(text.line_bytes for text in inputs.texts.values()) / max(1, len(inputs.texts))
    operation = encoder_operations(model.shape, 1, True) / 3 + 2 * model.shape.width * vocabulary
    parameters = count_parameters(model.shape, vocabulary, True)
    return {
        "validation_pflop": lines * size / BYTES_PER_TOKEN * operation / PFLOP,
        "held_mb": 4 * parameters / MB,
    }


def training_features(
    model: Recipe, vocabulary: int, block: int, languages: int, gpu: bool
) -> dict[str, float]:
    """The features of one pre-training."""
    work = operations(model, vocabulary, block, languages)
    prefix = "gpu_" if gpu else ""
    parameters = count_parameters(model.shape, vocabulary, model.causal)
    # both take the same memory
    half = model.precision in ("bf16", "fp16") or (gpu and model.precision == "auto")
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
    """Work of a training: 10^15 floating-point operations by part, 10^9 parameters
    updated, 10^3 passes.

    Forward and backward take 6 for each weight and token, and 12 x layers x length x
    width for attention (Kaplan et al. 2020, 2.1); the head takes 6 for each predicted
    token and word that takes part; an index of neighbours 2 V^2 d. Validation is
    forward only: a third, with the whole vocabulary.
    """
    shape = model.shape
    tokens = model.steps * model.batch * block
    encoder = encoder_operations(shape, block, model.causal)
    head = 6 * model.predicted * shape.width * candidate_words(model, vocabulary, block)
    logs = -(-model.steps // model.log_every)  # the last step is logged too
    checked = logs * languages * model.heldout_blocks * block
    return {
        "encoder_pflop": tokens * encoder / PFLOP,
        "head_pflop": tokens * head / PFLOP,
        "validation_pflop": checked
        * (encoder / 3 + 2 * model.predicted * shape.width * vocabulary)
        / PFLOP,
        "index_pflop": model.loss.index_operations(vocabulary, shape.width, model.steps) / PFLOP,
        "kpasses": model.steps * -(-model.batch // model.micro_batch) / 1000,
        "updated_gparameters": model.steps
        * count_parameters(shape, vocabulary, model.causal)
        / 1e9,
    }


def candidate_words(model: Recipe, vocabulary: int, block: int) -> float:
    """Words that take part in the loss of a micro-batch: the mean over all steps."""
    loss, targets = model.loss, model.predicted * model.micro_batch * block
    share = loss.full_softmax_fraction
    return share * vocabulary + (1 - share) * loss.mean_candidates(vocabulary, targets)


@features(
    "average",
    "studied_sizes",
    "own_files",
    "correlate",
    *(f"unpack_{collection}" for collection in ARCHIVES),
    like="average",
)
def _light(job: PlannedJob, inputs: FeatureInputs) -> dict[str, float]:
    return {}


def _studied(job: PlannedJob) -> str | None:
    """The language of a model, or of inputs, of the correlation study; None for
    others.
    """
    stage, language, *_ = job.wildcards.get("tuned", job.wildcards.get("inputs", "")).split("/")
    return language if stage == "correlation" else None


@features("encode")
def _encode(job: PlannedJob, inputs: FeatureInputs) -> dict[str, float]:
    training = job.wildcards["training"]
    sizes = sizes_of(inputs, training, _studied(job))
    return {"encoded_mb": _windows(training) * sum(sizes.values()) / MB}


@features("score")
def _score(job: PlannedJob, inputs: FeatureInputs) -> dict[str, float]:
    settings, task = inputs.settings, TASKS[job.wildcards["task"]]
    seeds = settings.correlation.seeds if _studied(job) else settings.finetuning.seeds
    runs = settings_of(settings.finetuning.recipes[task.training], seeds)
    sizes = sizes_of(inputs, task.training, _studied(job))
    predicted = [
        size
        for found, size in sizes.items()
        if found.task.name == task.name and found.split != "train"
    ]
    return {"scored_mb": sum(predicted) * len(runs) / MB}


@features("finetune")
def _finetune(job: PlannedJob, inputs: FeatureInputs) -> dict[str, float]:
    own, training, epochs = (
        inputs.settings.finetuning,
        job.wildcards["training"],
        int(job.wildcards["epochs"]),
    )
    recipe = own.recipes[training]
    _, name, *size = job.wildcards["tuned"].split("/")
    model = (
        studied_model(inputs.settings, name, int(*size))
        if size
        else tuned_model(inputs.settings, name)
    )
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
    operation = (
        tokens * encoder_operations(model.shape, input_length(recipe, model.longest)) / PFLOP
    )
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


def sizes_of(
    inputs: FeatureInputs, training: str, language: str | None = None
) -> dict[DataSet, float]:
    """Bytes, unpacked, of the files of a training; of one `language` in the correlation study.

    Files that are planned have their known rows; those that will not be there have 0.
    """
    if (training, language) in inputs.sizes:
        return inputs.sizes[training, language]
    # the files that are there
    task, tuning = first_task(training), inputs.settings.finetuning
    sets = [DataSet(task, "train", ENGLISH), *predicted_sets(training)]
    if language:
        sets = [DataSet(task, split, language) for split in SPLITS]
    assert tuning.xtreme is not None  # without the folder there is no job of fine-tuning
    xtreme = Path(tuning.xtreme)
    paths = {one: one.file(xtreme) for one in sets}
    # their sizes
    sizes = inputs.sizes[training, language] = {}
    for one, path in paths.items():
        planned = language or one in inputs.grid.planned
        if path:
            unpacked = UNPACKED if path.suffix == ".xz" else 1.0
            sizes[one] = path.stat().st_size * unpacked
        elif planned:
            known = one.task.rows[one.split]  # type: ignore[index]  # one of SPLITS, if planned
            sizes[one] = known.get(one.language, TRAIN_ROWS) * one.task.bytes_per_row
        else:
            sizes[one] = 0.0
    return sizes
