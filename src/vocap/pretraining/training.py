"""Pre-training of one model: the run with its lock and exported models, its steps,
validation and metrics.
"""

import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.utils import clip_grad_norm_
from transformers.utils.logging import disable_progress_bar

from vocap.errors import UsageError, listed, log
from vocap.files.io import locked
from vocap.pretraining import data as text
from vocap.pretraining.losses import build_loss, exact_loss
from vocap.pretraining.model import LanguageModel, build_language_model, export_model
from vocap.pretraining.settings import PretrainingJob, Recipe, paper_parameters, parse_recipe
from vocap.result import Result
from vocap.tables.bits_per_byte import CODE_LENGTH, model_bits_per_byte
from vocap.tokenizer_files.encoders import is_lossless, load_encoder
from vocap.training import checkpoints, distributed
from vocap.training.distributed import products_in, rank, summed, world_size
from vocap.training.loop import (
    Loop,
    Metrics,
    TrainingProgress,
    build_optimizer,
    device_name,
    peak_memory_mb,
    seed_dropout,
    versions,
)

# settings that do not change the weights; the seed is beside them
WITHOUT_EFFECT = {
    "tokenizer",
    "log_every",
    "heldout_blocks",
    "checkpoint_every",
    "export_steps",
    "seed",
}


@dataclass
class PretrainingProgress(TrainingProgress):
    """Fields below `tokens` count the steps since the last line of metrics; `masked`:
    tokens predicted.
    """

    tokens: int = 0
    nats: float = 0.0
    masked: int = 0
    candidates: float = 0.0
    calls: int = 0
    refresh_s: float = 0.0
    recent_tokens: int = 0


class Training(Loop):
    """One run: model, loss, optimizer and data, from a checkpoint of `folder` or from
    the start.
    """

    model: LanguageModel
    progress: PretrainingProgress

    def __init__(
        self, recipe: Recipe, seed: int, data: text.Data, folder: Path, device: torch.device
    ) -> None:
        super().__init__(folder, recipe.steps, recipe.checkpoint_every)
        self.recipe, self.seed, self.data = recipe, seed, data
        self.set_precision(recipe.precision, device)
        torch.manual_seed(seed)
        self.model = build_language_model(
            recipe.shape, data.vocabulary, data.special, recipe.causal
        ).to(device)
        # the loss, and the output bias that it starts from
        special = data.special.never_predicted(recipe.causal)
        unigram = recipe.output_bias == "unigram"
        counts = text.unigram_counts(data) if recipe.loss.weighed or unigram else None
        self.loss = build_loss(
            recipe.loss,
            data.vocabulary,
            special,
            counts=counts,
            seed=seed,
            steps=recipe.steps,
            device=device,
        )
        with torch.no_grad():
            self.model.decoder_bias.fill_(self.loss.initial_bias)
            if unigram and counts is not None:
                self.model.decoder_bias.copy_(log_frequencies(counts, special))
        distributed.agree(self.model.parameters())
        # optimizer and data
        self.optimizer = build_optimizer(self.model, recipe.learning_rate, recipe)
        ids = text.Vocabulary(data.vocabulary, data.special)
        self.batches = text.TrainingBatches(
            languages=data.train,
            q=data.q,
            vocabulary=ids,
            seed=seed,
            batch=recipe.batch,
            micro_batch=recipe.micro_batch,
            rank=rank(),
            ranks=world_size(),
            causal=recipe.causal,
        )
        self.validation = Validation(data, recipe.heldout_blocks, recipe.micro_batch, recipe.causal)
        self.progress = PretrainingProgress()

    def fingerprint(self) -> dict[str, Any]:
        """Settings and data that a checkpoint must match to resume."""
        return {
            **self.recipe.model_dump(mode="json", exclude=WITHOUT_EFFECT),
            **self.data.fingerprint,
            "seed": self.seed,
            "precision": str(self.dtype),
        }

    def further_tensors(self) -> dict[str, dict[str, torch.Tensor]]:
        return {"loss": self.loss.state_dict()}

    def load_further(self, load: Callable[[str], dict[str, torch.Tensor]]) -> None:
        self.loss.load_state_dict(load("loss"))

    def run(
        self,
        stop: distributed.StopRequest,
        export: Callable[[int], None],
        watch: Callable[[dict[str, Any]], None] = lambda row: None,
    ) -> Metrics | None:
        """Train to the end; the lines of metrics, on the first rank.

        `export` is called on the first rank after each of `export_steps`, `watch` with
        each line of metrics. Raises as `Loop.train`.
        """
        recipe, progress = self.recipe, self.progress
        metrics = Metrics(self.folder, progress.step) if rank() == 0 else None

        def after_step(last: bool) -> None:
            if progress.step % recipe.log_every == 0 or last:
                row = self._row()
                watch(row)
                if metrics is not None:
                    metrics.add(row)
            if progress.step in recipe.export_steps and rank() == 0:
                # before the checkpoint: a resumed run exports later steps only
                export(progress.step)

        self.train(stop, after_step)
        return metrics

    def take_step(self, batches: list[text.BlockBatch], stop: bool) -> tuple[float, bool]:
        """The loss is that of the predicted tokens, in nats."""
        recipe, progress = self.recipe, self.progress
        masked, tokens, stopping = summed(
            [
                sum(len(batch.targets) for batch in batches),
                sum(batch.tokens for batch in batches),
                stop,
            ],
            self.device,
        )
        self.begin_step(recipe.learning_rate, recipe.warmup)
        nats = self.gradients(batches, progress.step, masked)
        norm = clip_grad_norm_(self.model.parameters(), recipe.clip)
        if self.update(nats, norm):
            progress.nats += nats
            progress.masked += int(masked)
        progress.tokens += int(tokens)
        progress.recent_tokens += int(tokens)
        return nats / max(1.0, masked), bool(stopping)

    def gradients(self, batches: list[text.BlockBatch], step: int, masked: float) -> float:
        """Leave in every parameter the gradient of the mean loss over the `masked`
        tokens of all ranks' batches.

        Returns the sum of their losses in nats.
        """
        progress = self.progress
        progress.refresh_s += self.loss.start(step, self.model.decoder_weight)
        nats = candidates = 0.0
        for number, batch in zip(self.batches.micro_batches, batches, strict=True):
            seed_dropout(self.seed, step, number)
            with products_in(self.dtype, self.device):
                hidden = hidden_states(self.model, batch, self.device)
                targets = torch.from_numpy(batch.targets).to(self.device)
                output = self.loss(
                    hidden, self.model.decoder_weight, self.model.decoder_bias, targets
                )
            self.scaler.scale(output.loss / max(1.0, masked)).backward()
            nats += output.loss.item()
            candidates += output.candidates
            progress.refresh_s += output.refresh_s
        distributed.sum_gradients(self.model.parameters())
        self.scaler.unscale_(self.optimizer)  # of the sum: all ranks find the same overflow
        nats, candidates, calls = summed([nats, candidates, len(batches)], self.device)
        progress.candidates += candidates
        progress.calls += int(calls)
        return nats

    def batch_named(self, step: int) -> str:
        pairs = zip(*self.batches.members(step), strict=True)
        return listed(
            [f"{self.data.languages[language]} block {block}" for language, block in pairs], 8
        )

    def _row(self) -> dict[str, Any]:
        """The next line of metrics, on every rank."""
        progress = self.progress
        exact = self.validation.measure(self.model, self.device, self.dtype)
        row = {
            "step": progress.step,
            "loss": progress.nats / progress.masked if progress.masked else None,
            "exact_loss": exact.pop("exact_loss"),
            "bits_per_byte": exact.pop("bits_per_byte"),
            "tokens_per_s": progress.recent_tokens / max(progress.recent_seconds, 1e-9),
            "candidates": progress.candidates / max(1, progress.calls),
            "refresh_s": progress.refresh_s,
            "memory_mb": peak_memory_mb(self.device),
            "learning_rate": self.optimizer.param_groups[0]["lr"],
            "tokens": progress.tokens,
            "seconds": progress.seconds,
            "skipped": progress.skipped,
            **exact,
        }
        progress.nats = progress.candidates = progress.refresh_s = progress.recent_seconds = 0.0
        progress.masked = progress.calls = progress.recent_tokens = 0
        return row


def log_frequencies(counts: np.ndarray, special: Sequence[int]) -> torch.Tensor:
    """ln of (count + 1) / sum for `counts` [V], float32; the ids `special`, never a
    target, as if never seen.
    """
    smoothed = np.asarray(counts, np.float64) + 1
    smoothed[special] = 1
    return torch.from_numpy(np.log(smoothed / smoothed.sum())).float()


class Validation:
    """The fixed held-out batch of a run; this process measures the batches `rank`,
    `rank + ranks`, ...
    """

    def __init__(self, data: text.Data, blocks: int, micro_batch: int, causal: bool) -> None:
        chosen = text.heldout_blocks(data.heldout, blocks)
        self.languages, self.special = data.languages, data.special.never_predicted(causal)
        ids = text.Vocabulary(data.vocabulary, data.special)
        self._batches = []  # with the language of each masked token
        for start in range(rank() * micro_batch, len(chosen), world_size() * micro_batch):
            part = chosen[start : start + micro_batch]
            batch = text.heldout_batch(part, ids, causal)
            self._batches.append((batch, np.array([block.language for block in part])[batch.rows]))
        # tokens, bytes, and bytes paid beside tokens
        self._text = np.zeros((3, len(data.languages)))
        for block in chosen:
            tokens = len(block.ids) - 1 if causal else ids.ordinary(block.ids).sum()
            paid = block.unknown_bytes if causal else 0
            self._text[:, block.language] += tokens, block.size_bytes, paid

    @torch.no_grad()
    def measure(
        self, model: LanguageModel, device: torch.device, dtype: torch.dtype
    ) -> dict[str, Any]:
        """Validation entries of a line of metrics.jsonl; a collective call with equal
        results on every rank.
        """
        sums = np.zeros((4, len(self.languages)))
        model.eval()
        for batch, languages in self._batches:
            with products_in(dtype, device):
                hidden = hidden_states(model, batch, device)
            targets = torch.from_numpy(batch.targets).to(device)
            found = exact_loss(
                hidden, model.decoder_weight, model.decoder_bias, targets, self.special
            )
            nats, ranked = (values.double().cpu().numpy() for values in found)
            columns = (nats, np.ones(len(ranked)), ranked == 1, 1 / ranked)
            sums += [np.bincount(languages, values, len(self.languages)) for values in columns]
        model.train()
        total = np.array(summed(sums.ravel(), device)).reshape(sums.shape)
        each = np.vstack([total, self._text]).T
        own = {name: scores(row[None]) for name, row in zip(self.languages, each, strict=True)}
        return {**scores(each), "languages": own}


def hidden_states(
    model: LanguageModel, batch: text.BlockBatch, device: torch.device
) -> torch.Tensor:
    """h [m, d] at the positions of a batch."""
    ids, attention, positions = (
        torch.from_numpy(array).to(device, non_blocking=True)
        for array in (batch.input_ids, batch.attention, batch.positions)
    )
    return model(ids, None if batch.attention.all() else attention, positions)


def scores(languages: np.ndarray) -> dict[str, float | None]:
    """Nats per predicted token, accuracy, mean reciprocal rank and bits per byte of
    some languages together.

    `languages` [n, 7]: sums over the predicted tokens of a language (nats, count,
    correct, reciprocal ranks), then the tokens of its held-out text that can be
    predicted, its bytes, and the bytes of its unknown characters (`model_bits_per_byte`).
    None where nothing was predicted, or no finite number.
    """
    nats, count, correct, reciprocals, tokens, size, unknown = languages[languages[:, 1] > 0].T
    names = ("exact_loss", "accuracy", "mrr", "bits_per_byte")
    if not len(nats):
        return dict.fromkeys(names)
    found = [sums.sum() / count.sum() for sums in (nats, correct, reciprocals)]
    found.append(model_bits_per_byte(nats, count, tokens, size, unknown))
    return {
        name: float(value) if math.isfinite(value) else None
        for name, value in zip(names, found, strict=True)
    }


@dataclass(frozen=True, repr=False)
class PretrainedModel(Result):
    """A model that has been trained: its Hugging Face folder, the lines of
    metrics.jsonl, and the content of description.json.
    """

    folder: Path
    metrics: list[dict[str, Any]]
    description: dict[str, Any]


def pretrain_model(
    tokenizer: str | Path,
    tokens: str | Path,
    output: str | Path,
    *,
    settings: Recipe | Mapping[str, Any],
    languages: Sequence[str] | None = None,
    weights: str | Path | None = None,
    **fields: object,
) -> PretrainedModel | None:
    """Pre-train one language model, and write `model/`, `model-{step}/`,
    `metrics.jsonl` and `description.json`.

    The call goes on from a checkpoint of an equal call where there is one. SIGTERM,
    SIGURG and Ctrl-C leave a checkpoint.

    Parameters
    ----------
    tokenizer : folder of a tokenizer: its file, and huggingface/
    tokens : folder that holds {language}/, blocks of `tokenize_language`
    output : folder to write
    settings : a `Recipe`, or its keys
    languages : codes; all of `tokens` unless given
    weights : table with language and n, where the settings weigh by corpora
    fields : those of `PretrainingJob`: seed (where the settings have none), threads (on a
        CPU), checkpoint_every (steps, instead of the settings'), keep_checkpoints

    Returns
    -------
    The model, on the first of several processes (torchrun); None on the others.

    Raises
    ------
    UsageError, VocapError : before anything is trained where that can be known
    Stopped : on request, after a checkpoint
    """
    recipe = settings if isinstance(settings, Recipe) else parse_recipe(settings)
    job = PretrainingJob.given(None, **fields)
    if job.checkpoint_every:
        recipe = recipe.model_copy(update={"checkpoint_every": job.checkpoint_every})
    tokenizer, tokens, output = Path(tokenizer), Path(tokens), Path(output)
    there = sorted(path.parent.name for path in tokens.glob(f"*/{text.DESCRIPTION}"))
    if not there:
        raise UsageError(f"{tokens}: no language's blocks there; make them with: vocap tokenize")
    torch.set_num_threads(job.threads)
    disable_progress_bar()  # of transformers, in the middle of ours
    data = text.load_data(
        tokens, languages or there, tokenizer, recipe.alpha, recipe.weights, weights
    )
    folder = output / "checkpoints"
    with (
        distributed.own_device() as device,
        distributed.StopRequest() as stop,
        distributed.process_group(device),
    ):
        check(recipe, data)
        with locked(folder / "lock") if rank() == 0 else nullcontext():
            if rank() == 0:
                checkpoints.clean(folder)
            own = job.seed if recipe.seed is None else recipe.seed
            training = Training(recipe, own, data, folder, device)
            training.restore()
            if rank() == 0:
                _begin(training, output)
            exported = tokenizer / text.EXPORT
            metrics = training.run(
                stop, lambda at: export_model(training.model, exported, output / f"model-{at}")
            )
            if metrics is None:
                return None
            export_model(training.model, exported, output / "model")
            description = describe_training(training, tokenizer)
            lines = metrics.publish(output, text.DESCRIPTION, description, job.keep_checkpoints)
    return PretrainedModel(output / "model", lines, description)


def check(recipe: Recipe, data: text.Data) -> None:
    """Raise UsageError for settings that do not fit the data, or the number of
    processes.
    """
    special = data.special
    lacking = [
        role for role in ("bos", "pad", "eos", "unk", "mask") if getattr(special, role) is None
    ]
    if lacking and not recipe.causal:
        raise UsageError(
            "objective: masked needs special tokens of every role, and the tokenizer has none of "
            f"role {', '.join(lacking)}; make it with a layout that has them, or write objective: "
            "causal"
        )
    if data.longest > recipe.shape.positions:
        raise UsageError(
            f"shape.positions is {recipe.shape.positions}, but blocks have up to {data.longest} "
            "tokens; make it larger, or tokenize to shorter blocks"
        )
    micro_batches = -(-recipe.batch // recipe.micro_batch)
    if micro_batches % world_size():
        raise UsageError(
            f"batch {recipe.batch} is {micro_batches} micro-batches of {recipe.micro_batch}, which "
            f"{world_size()} processes cannot share evenly; change micro_batch"
        )


def _begin(training: Training, output: Path) -> None:
    """Say what is trained, and remove models of an earlier run in `output`, which no
    workflow declares.
    """
    recipe, data, step = training.recipe, training.data, training.progress.step
    count = paper_parameters(recipe.shape, data.vocabulary, recipe.causal)
    log.info(
        "%s parameters (%.0f Mi), V = %s, %s languages, on %s in %s, %s process(es)",
        f"{count:,}", count / 2**20, f"{data.vocabulary:,}", len(data.languages),
        training.device, str(training.dtype).removeprefix("torch."), world_size(),
    )  # fmt: skip
    if not step:
        for path in output.glob("model-*"):
            if path.name.removeprefix("model-").isdigit():
                shutil.rmtree(path)
    past = (at for at in recipe.export_steps if at <= step)
    if missing := [at for at in past if not (output / f"model-{at}").exists()]:
        log.warning(
            "export_steps: this run is at step %d already and will not export step %s; for "
            "these models too, stop it and delete %s: it then trains from the start",
            step, ", ".join(map(str, missing)), training.folder,
        )  # fmt: skip


def describe_training(training: Training, tokenizer: Path) -> dict[str, Any]:
    """The content of description.json: settings, size, device and versions."""
    recipe = training.recipe
    parameters = paper_parameters(recipe.shape, training.data.vocabulary, recipe.causal)
    measure = {}
    if recipe.causal:
        measure["bits_per_byte"] = CODE_LENGTH[is_lossless(load_encoder(tokenizer / text.EXPORT))]
    return {
        "tokenizer": tokenizer.name,
        "tokenizer_sha256": training.data.fingerprint["tokenizer"],
        "vocabulary": training.data.vocabulary,
        "languages": training.data.languages,
        "parameters": parameters,
        "parameters_mi": round(parameters / 2**20, 2),
        "settings": recipe.model_dump(mode="json", exclude={"tokenizer", "seed"}),
        "seed": training.seed,
        "precision": str(training.dtype).removeprefix("torch."),
        **measure,
        "device": device_name(training.device),
        "processes": world_size(),
        "versions": versions(),
    }
