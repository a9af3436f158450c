"""The jobs of the workflow, from Snakemake's own dry run (`rules/internals.smk` writes
them), and what they read and compute.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from vocap.config import Settings
from vocap.corpora.settings import resolve_all
from vocap.errors import VocapError
from vocap.finetuning.settings import Grid, input_length
from vocap.finetuning.tasks import (
    ENGLISH,
    SPLITS,
    TASKS,
    DataSet,
    development,
    first_task,
    predicted_sets,
)
from vocap.forecast.needs import known_amount, model_of_job, needs_of, recipe_of
from vocap.forecast.texts import MB, LanguageText
from vocap.pretraining.settings import Recipe, count_parameters, encoder_operations, estimate_memory
from vocap.stages import STAGES

VARIABLE = "VOCAP_JOBS"  # names the file that the dry run writes, one line of JSON for each job
SHOWN_LINES = 20  # of Snakemake's output, where the dry run fails
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
# time of an operation over that in pre-training: inputs are short, updates frequent
FINETUNING = 4.0
PRETRAINING = ("pretrain", "studied_model")


@dataclass(frozen=True)
class PlannedJob:
    """One job: `name` is the path of its benchmark file under the folder of benchmarks,
    without `.tsv`.
    """

    rule: str
    name: str
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
    command = [sys.executable, "-m", "snakemake", "--rulegraph", "--forceall", "--cores", "1"]
    command += ["--quiet", "all", "--profile", "none", "--workflow-profile", "none"]
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
        jobs = [PlannedJob(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]
    return sorted(jobs, key=lambda job: (STAGES.index(job.stage), job.name))


@dataclass(frozen=True)
class Workload:
    """What the jobs of one run read and compute.

    `texts`: of the run's languages; `read`: those of pre-training; `reached`: the sizes
    that each language's text is expected to give.
    """

    settings: Settings
    texts: Mapping[str, LanguageText]
    read: Mapping[str, LanguageText]
    reached: Mapping[str, Sequence[int]]
    grid: Grid
    # of XTREME's files, computed at their first use
    sizes: dict[tuple[str, str | None], dict[DataSet, float]] = field(default_factory=dict)

    @cached_property
    def starter_languages(self) -> list[str]:
        """Those whose text is of the starter corpus: one job serves them."""
        sources = resolve_all(self.settings.corpora, self.settings.selected())
        return [lang for lang in self.texts if sources[lang].source.folder]

    def amount(self, job: PlannedJob, name: str) -> float:
        """An amount of `vocap.forecast.needs`, of one job."""
        if name == "text":
            return self._text_mb(job)
        if name == "kept":
            if job.rule == "mix":
                return self._mix_mb
            return sum(self.texts[lang].kept_mb for lang in self._languages(job))
        if name == "pieces":
            return sum(sum(self.reached[lang]) for lang in self._languages(job)) / MB
        if name == "exported":
            # a training writes the models of `export_steps` too
            model, rows = self._recipe(job)
            each = count_parameters(model.shape, rows, model.causal)
            return each * (1 + len(model.export_steps)) / MB
        return known_amount(name, job.rule, job.wildcards, self.settings)

    def _languages(self, job: PlannedJob) -> list[str]:
        if "lang" in job.wildcards:
            return [job.wildcards["lang"]]
        return self.starter_languages if job.rule.endswith("_starter") else list(self.texts)

    @property
    def _mix_mb(self) -> float:
        """The multilingual text: a sample of lines of mean length."""
        each = [text.line_bytes for text in self.texts.values()]
        return float(self.settings.corpora.mix.sentences) * sum(each) / max(1, len(each)) / MB

    def _text_mb(self, job: PlannedJob) -> float:
        """The text that a job reads: of downloads, of fine-tuning, or of languages."""
        if job.rule == "fetch_file":
            return (self.settings.downloads[job.wildcards["download"]].bytes or 0) / MB
        if job.rule in ("encode", "score"):
            training = job.wildcards.get("training") or TASKS[job.wildcards["task"]].training
            sizes = self.sizes_of(training, studied_language(job))
            return _windows(training) * sum(sizes.values()) / MB
        texts = [self.texts[lang] for lang in self._languages(job)]
        if job.rule.startswith(("sample", "merge")):
            return sum(text.read_mb for text in texts)
        if job.rule in ("tokenize", "tokenize_starter", "studied_text"):
            return sum(text.heldout_mb + self.read[text.language].read_mb for text in texts)
        if job.rule == "joint_descent" and self.settings.corpora.mix.sentences != "all":
            return self._mix_mb + sum(text.heldout_mb for text in texts)
        return sum(text.kept_mb for text in texts)

    def fetched_mb(self, job: PlannedJob) -> float:
        """What a job reads from other machines; each tokenizing reads its text anew."""
        if job.rule in ("fetch_file", "fetch_starter"):
            return needs_of(job.rule).disk_mb.of(lambda name: self.amount(job, name))
        if job.rule not in ("sample", "tokenize", "studied_text"):
            return 0.0
        text = (self.texts if job.rule == "sample" else self.read)[job.wildcards["lang"]]
        return text.stored_mb * text.remote

    def _recipe(self, job: PlannedJob) -> tuple[Recipe, int]:
        """The settings of a pre-training, and the rows of its tokenizer."""
        return recipe_of(job.rule, job.wildcards, self.settings)

    def gpu_memory_mb(self, job: PlannedJob) -> float:
        """What a pre-training holds on a GPU; 0 of other jobs."""
        if job.rule not in PRETRAINING:
            return 0.0
        model, rows = self._recipe(job)
        half = model.precision != "fp32"
        held = estimate_memory(model, rows, self.settings.pretraining.block, half)
        return sum(held.values()) / MB

    def operations(self, job: PlannedJob) -> float:
        """Floating-point operations of a training, as pre-training spends them; 0 of
        other jobs.
        """
        if job.rule in PRETRAINING:
            return operations(*self._recipe(job), self.settings.pretraining.block)
        if job.rule == "code_length":
            return self._coding_operations(job)
        return FINETUNING * self._tuning_operations(job) if job.rule == "finetune" else 0.0

    def _coding_operations(self, job: PlannedJob) -> float:
        """Forward, of held-out and parallel lines, and the whole output layer."""
        model, rows = self._recipe(job)
        texts = self.texts.values()
        size = 2 * sum(min(text.heldout, CODED_LINES) * text.line_bytes for text in texts)
        operation = encoder_operations(model.shape, 1, True) / 3 + 2 * model.shape.width * rows
        return size / BYTES_PER_TOKEN * operation

    def _tuning_operations(self, job: PlannedJob) -> float:
        """Tokens of the training file in all epochs, and a third of the operations for
        those of each evaluation and of the predictions at the end.
        """
        own, training = self.settings.finetuning, job.wildcards["training"]
        recipe, model = own.recipes[training], model_of_job(job.wildcards, self.settings)
        studied, epochs = studied_language(job), int(job.wildcards["epochs"])
        sizes = self.sizes_of(training, studied)
        learnt = sum(size for found, size in sizes.items() if found.split == "train")
        chosen = {one.name for one in development(training, own.selection).sets}
        looked = sum(
            size
            for found, size in sizes.items()
            if (found.split == "dev" if studied else found.name in chosen)
        )
        # steps, and evaluations on the way
        examples = learnt / first_task(training).bytes_per_row
        share = min(1.0, (recipe.train_examples or examples) / max(examples, 1.0))
        steps = epochs * share * examples / recipe.batch
        looks = epochs + (steps // recipe.evaluate_every if recipe.evaluate_every else 0)
        read = epochs * share * learnt + (looks * looked + sum(sizes.values()) - learnt) / 3
        operation = encoder_operations(model.shape, input_length(recipe, model.longest))
        return _windows(training) * read / BYTES_PER_TOKEN * operation

    def sizes_of(self, training: str, language: str | None = None) -> dict[DataSet, float]:
        """Bytes, unpacked, of the files of a training; of one `language` in the
        correlation study.

        Files that are planned have their known rows; those that will not be there have 0.
        """
        if (training, language) in self.sizes:
            return self.sizes[training, language]
        task, tuning = first_task(training), self.settings.finetuning
        sets = [DataSet(task, "train", ENGLISH), *predicted_sets(training)]
        if language:
            sets = [DataSet(task, split, language) for split in SPLITS]
        assert tuning.xtreme is not None  # without the folder there is no job of fine-tuning
        xtreme = Path(tuning.xtreme)
        sizes = self.sizes[training, language] = {}
        for one in sets:
            if path := one.file(xtreme):
                unpacked = UNPACKED if path.suffix == ".xz" else 1.0
                sizes[one] = path.stat().st_size * unpacked
            elif language or one in self.grid.planned:
                known = one.task.rows[one.split]  # type: ignore[index]  # one of SPLITS, if planned
                sizes[one] = known.get(one.language, TRAIN_ROWS) * one.task.bytes_per_row
            else:
                sizes[one] = 0.0
        return sizes


def operations(model: Recipe, vocabulary: int, block: int) -> float:
    """Floating-point operations of a pre-training, forward and backward.

    6 for each weight of the layers and token, and 12 x layers x length x width for
    attention (Kaplan et al. 2020, 2.1); 6 for each predicted token, word that takes part
    in the loss and unit of its row; and an index of neighbours.
    """
    shape, tokens = model.shape, model.steps * model.batch * block
    head = 6 * model.predicted * shape.width * candidate_words(model, vocabulary, block)
    index = model.loss.index_operations(vocabulary, shape.width, model.steps)
    return tokens * (encoder_operations(shape, block, model.causal) + head) + index


def candidate_words(model: Recipe, vocabulary: int, block: int) -> float:
    """Words that take part in the loss of a micro-batch: the mean over all steps."""
    loss, targets = model.loss, model.predicted * model.micro_batch * block
    share = loss.full_softmax_fraction
    return share * vocabulary + (1 - share) * loss.mean_candidates(vocabulary, targets)


def studied_language(job: PlannedJob) -> str | None:
    """The language of a model, or of inputs, of the correlation study; None for
    others.
    """
    stage, language, *_ = job.wildcards.get("tuned", job.wildcards.get("inputs", "")).split("/")
    return language if stage == "correlation" else None


def _windows(training: str) -> float:
    return WINDOWED if first_task(training).kind == "spans" else 1.0
