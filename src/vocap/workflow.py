"""What rules ask besides the configuration: names of trainings, models, the owner of
results, SLURM's jobs.
"""

import getpass
import hashlib
import json
import logging
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from vocap.config import Settings
from vocap.errors import UsageError, VocapError, listed, log
from vocap.files.io import read_tsv, write_text
from vocap.model_folder import CONFIG, longest_input, read_config, refuse_causal
from vocap.pretraining.settings import Shape, count_parameters
from vocap.tokenizer_files import XLMR_ROWS
from vocap.tokenizers.settings import Bpe, BytePair, Joint

FILES = ("sentencepiece.model", "pieces.tsv", "description.json")  # of a unigram tokenizer's folder
BYTE_PAIR_FILES = (BytePair.file, "tokenizer_config.json", *FILES[1:])
# in the folder of the results: the configuration files of the run, a line each
RECORD = "configfiles.txt"
SHOWN = 12  # tokenizers, and warnings of a kind
PARITY = 0.999  # share of lines with equal ids below which a tokenizer's two forms differ
PATIENCE_S = 120  # for cancelled jobs to end; SLURM gives them 30 s (KillWait) before it kills


def descent_name(entry: Joint, *further: object) -> str:
    """A name that all entries share which one descent gives: alpha, and a hash of the
    other settings but T.

    `further`: settings outside of the entry that decide its content.
    """
    own = (
        entry.byte_fallback or False,
        entry.user_defined_symbols or [],
        *filter(None, [entry.per]),
    )
    return f"{entry.alpha}-{_hash(*own, *further)}"


def training_name(entry: BytePair, *further: object) -> str:
    """A name that all entries share which one training of byte-pair encoding gives.

    It is their kind, and a hash of the other settings but T. Weights that follow
    parallel text depend on T, so it is one of their settings.
    """
    apart = isinstance(entry, Bpe) and entry.fairness
    own = entry.model_dump(exclude=set() if apart else {"total"}, exclude_none=True)
    return f"{entry.kind}-{_hash(own, *further)}"


def _hash(*settings: object) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]


class TunedModel(NamedTuple):
    """A model that is fine-tuned: its folder, the files that say it is made, and its size.

    `inputs`: the folder of its inputs under the results, which models with one
    tokenizer share; `tokenizer`: a folder; `longest`: the most ids of an input.
    """

    folder: str
    made: list[str]
    inputs: str
    tokenizer: str
    longest: int | None
    shape: Shape
    parameters: float


def tuned_model(settings: Settings, name: str) -> TunedModel:
    """An entry of finetuning.models. Raises VocapError for a folder that holds no
    model.
    """
    entry = settings.finetuning.tuned(settings.pretraining.masked)[name]
    if entry.path is not None:
        config = refuse_causal(Path(entry.path), read_config(Path(entry.path)))
        shape = Shape(
            layers=config.get("num_hidden_layers", 12),
            hidden=config.get("hidden_size", 768),
            heads=1,
            intermediate=config.get("intermediate_size", 3072),
        )
        weights = sorted(map(str, Path(entry.path).glob("*.safetensors")))
        return TunedModel(
            entry.path,
            [str(Path(entry.path, CONFIG)), *weights],
            f"finetuning/inputs/models/{name}",
            entry.path,
            longest_input(config),
            shape,
            count_parameters(shape, config.get("vocab_size", XLMR_ROWS)),
        )
    source = entry.model or name
    model = settings.pretraining.models[source]
    stage = (
        "pretraining/tokenizers"
        if settings.tokenizers[model.tokenizer].kind == "file"
        else "tokenizers"
    )
    folder = f"{settings.results}/pretraining/{source}/model"
    # the models of export_steps are not declared; metrics.jsonl comes after them
    made = (
        folder if entry.step is None else f"{settings.results}/pretraining/{source}/metrics.jsonl"
    )
    return TunedModel(
        folder if entry.step is None else f"{folder}-{entry.step}",
        [made],
        f"finetuning/inputs/tokenizers/{model.tokenizer}",
        f"{settings.results}/{stage}/{model.tokenizer}/huggingface",
        model.shape.positions,
        model.shape,
        count_parameters(model.shape, settings.rows(model.tokenizer)),
    )


def studied_model(settings: Settings, language: str, size: int) -> TunedModel:
    """The model of the correlation study with one of a language's vocabularies."""
    place = f"correlation/{language}/{size}"
    shape = settings.correlation.model.shape
    folder = f"{settings.results}/{place}/pretrained/model"
    tokenizer = f"{settings.results}/{place}/tokenizer/huggingface"
    parameters = count_parameters(shape, size + 2)  # <pad> and <mask> beside the vocabulary
    return TunedModel(
        folder, [folder], f"{place}/inputs", tokenizer, shape.positions, shape, parameters
    )


def check_owner(results: str | Path, configfiles: Sequence[str | Path]) -> None:
    """Raise UsageError where the results are those of another configuration that is
    still there.

    Files given after the recorded ones extend that run, and so do the first of them. A
    recorded file that is gone, as after a move, does not count.
    """
    record = Path(results, RECORD)
    if not record.is_file():
        return
    recorded = record.read_text("utf-8").splitlines()
    given = _names(configfiles)
    shared = min(len(recorded), len(given))
    if recorded[:shared] == given[:shared] or not all(map(os.path.exists, recorded)):
        return
    theirs, ours = " ".join(recorded), " ".join(given)
    raise UsageError(
        f"{results}: holds the run of {theirs}, which a run of {ours} would undo where they "
        "differ; give "
        f"{given[-1]} a folder of its own (`results: FOLDER` at its top), or delete {record} to "
        "replace that run"
    )


def record_owner(results: str | Path, configfiles: Sequence[str | Path]) -> None:
    """Note the configuration of a run that begins; that of a run which `check_owner`
    lets extend stays.
    """
    record = Path(results, RECORD)
    recorded = record.read_text("utf-8").splitlines() if record.is_file() else []
    names = _names(configfiles)
    if not recorded or recorded != names[: len(recorded)]:
        write_text(record, "".join(f"{name}\n" for name in names))


def _names(configfiles: Sequence[str | Path]) -> list[str]:
    """Absolute paths; of files below the working directory, as results are, the paths
    from there.
    """
    here = Path.cwd()
    paths = [Path(os.path.abspath(path)) for path in configfiles]
    return [str(path.relative_to(here) if path.is_relative_to(here) else path) for path in paths]


def summarize(settings: Settings) -> list[str]:
    """Lines for the terminal; empty where a run made neither a tokenizer nor the report.

    Only entries of the configuration count.
    """
    # tokenizers and the report
    results = Path(settings.results)
    page = Path(settings.results, "report", "index.html")
    made = {name: results / "tokenizers" / name for name in settings.tokenizers}
    made = {
        name: folder
        for name, folder in made.items()
        if (folder / "huggingface" / "tokenizer.json").exists()
    }
    width, lines, short, differing = max(map(len, made), default=0), [], [], []
    for name, folder in made.items():
        total = _read(folder / "description.json").get("total", 0)
        asked = settings.tokenizers[name].rows(settings)
        lines.append(f"  {name:{width}}  {f'{total:,} ids':>11}  {folder}")
        if asked and total < asked:
            short.append(f"{name} has {total:,} of the {asked:,} ids asked for")
        parity = folder / "parity.tsv"
        shares = [row["share"] for row in read_tsv(parity, ("share",))] if parity.exists() else []
        if any(float(share) < PARITY for share in shares if share):
            differing.append(name)
    if made:
        more = (
            [f"  and {len(made) - SHOWN} more in {results / 'tokenizers'}"]
            if len(made) > SHOWN
            else []
        )
        first = next(iter(made.values())) / "huggingface"
        load = f'Load one: transformers.AutoTokenizer.from_pretrained("{first}")'
        lines = ["Tokenizers:", *lines[:SHOWN], *more, load]
    lines += [f"Report: {page}"] if page.exists() else []
    # warnings
    stats = {
        language.code: results / "corpora" / language.code / "stats.json"
        for language in settings.selected()
    }
    empty = [code for code, path in stats.items() if path.exists() and not _read(path).get("kept")]
    warnings = {
        "the text has too few different pieces; bring more text, or lower T": listed(
            short, SHOWN, "; "
        ),
        "ids of SentencePiece and Hugging Face differ; see parity.tsv": listed(differing),
        "languages without text": listed(empty),
    }
    uneven: dict[str, list[str]] = {}
    for name in settings.allocation:
        for warning in _read(results / "allocation" / name / "summary.json").get("warnings", ()):
            uneven.setdefault(warning, []).append(name)
    said = [f"{what}: {names}" for what, names in warnings.items() if names]
    said += [f"allocation {listed(names, 4)}: {warning}" for warning, names in uneven.items()]
    return lines + [f"Warning: {text}" for text in said if lines]


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def jobs_of(folder: Path) -> dict[str, str]:
    """Id to comment of this user's queued and running jobs that a Snakemake in `folder`
    submitted.

    Raises VocapError where squeue fails.
    """
    command = ["squeue", "--noheader", "--user", getpass.getuser(), "--format", "%i|%k|%Z"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise VocapError(f"squeue failed: {run.stderr.strip() or run.returncode}")
    rows = [line.split("|", 2) for line in run.stdout.splitlines()]
    return {
        job: comment
        for job, comment, working in rows
        if comment.startswith("rule_") and Path(working).resolve() == folder.resolve()
    }


def cancel_leftovers(folder: Path, submits: bool = True) -> int:
    """Cancel what an earlier run of `folder`, killed since, left in the queue, and wait
    for their end.

    The caller holds the folder's lock: then no other run owns these jobs, and their
    outputs are made again. Returns their number: 0 without SLURM, or where another run
    has a lock as well. A run that submits nothing logs a failing squeue at debug level:
    SLURM's client may not be set up. Raises VocapError for jobs that do not end.
    """
    locks = list((folder / ".snakemake" / "locks").glob("*.output.lock"))
    if shutil.which("squeue") is None or len(locks) != 1:
        return 0
    try:
        left = jobs_of(folder)
    except VocapError as error:
        level = logging.WARNING if submits else logging.DEBUG
        log.log(level, "%s; jobs of an earlier run in this folder may still be running", error)
        return 0
    if not left:
        return 0
    log.warning(
        "cancelling %d jobs that an earlier run left: %s", len(left), ", ".join(left.values())
    )
    subprocess.run(["scancel", *left], check=False)
    end = time.monotonic() + PATIENCE_S
    while remaining := left.keys() & jobs_of(folder).keys():
        if time.monotonic() > end:
            raise VocapError(
                f"jobs {', '.join(sorted(remaining))} do not end after scancel; see squeue, then "
                "run again"
            )
        time.sleep(1)
    return len(left)


def prepend_to_path(folder: Path) -> None:
    """Put `folder` first in PATH, for this process and its jobs."""
    first = str(folder.resolve())
    entries = [
        entry for entry in os.environ.get("PATH", os.defpath).split(os.pathsep) if entry != first
    ]
    os.environ["PATH"] = os.pathsep.join([first, *entries])
